//! The operation log: every device operation as a line of CSV, described in `docs/op-log.md`.

use super::new_file::{cannot_write, Finish, NewFile};
use crate::control::Phase;
use crate::error::LabError;
use flate2::write::GzEncoder;
use flate2::Compression;
use nandlab_nand::traced::{OpRecord, OpSink};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A log being written; shared between the reporting device and the run, which closes it.
///
/// The lines go to a temporary file beside the target, renamed at the end; a log dropped earlier leaves nothing
/// behind.
#[derive(Clone)]
pub struct OpLog(Arc<Mutex<State>>);

/// What the device and the run share.
pub struct State {
    /// Where the lines go; none once the log is closed.
    pub writer: Option<Box<dyn Finish>>,
    file: NewFile,
    phase: Phase,
    /// The first error; later lines are not written.
    failed: Option<io::Error>,
}

impl OpLog {
    /// Starts a log for `target`; compressed if the name ends in `.gz`.
    ///
    /// # Errors
    /// [`LabError::Io`]: the name does not end in `.csv` or `.csv.gz`, or the file cannot be created.
    pub fn create(target: &Path) -> Result<Self, LabError> {
        let what = "an operation log is a .csv or .csv.gz file";
        let (new, file) = NewFile::create(target, &[".csv", ".csv.gz"], what)?;
        let is_gzip = target.extension().is_some_and(|extension| extension == "gz");
        let mut writer: Box<dyn Finish> = if is_gzip {
            Box::new(BufWriter::with_capacity(1 << 16, GzEncoder::new(file, Compression::fast())))
        } else {
            Box::new(BufWriter::with_capacity(1 << 16, file))
        };
        let failed = writeln!(writer, "phase,{}", OpRecord::CSV_HEADER).err();
        let state = State { writer: Some(writer), file: new, phase: Phase::Opening, failed };
        Ok(Self(Arc::new(Mutex::new(state))))
    }

    /// A panic while the log is locked ends the run; the lines so far remain.
    #[doc(hidden)]
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sink for a device.
    #[doc(hidden)]
    pub fn sink(&self) -> Box<dyn OpSink> {
        Box::new(self.clone())
    }

    /// Assigns the following lines to `phase`; lines before the first call belong to the mount.
    #[doc(hidden)]
    pub fn enter(&self, phase: Phase) {
        self.lock().phase = phase;
    }

    /// Reports any write error so far.
    #[doc(hidden)]
    pub fn state(&self) -> Result<(), LabError> {
        let state = self.lock();
        state.failed.as_ref().map_or(Ok(()), |error| Err(cannot_write(state.file.target(), error)))
    }

    /// Ends the log and renames it to its target.
    #[doc(hidden)]
    pub fn close(&self) -> Result<(), LabError> {
        self.state()?;
        let mut state = self.lock();
        let Some(writer) = state.writer.take() else { return Ok(()) };
        let ended = writer.finish();
        state.file.close(ended)
    }
}

impl OpSink for OpLog {
    fn record(&mut self, record: &OpRecord) {
        let mut state = self.lock();
        if state.failed.is_some() {
            return;
        }
        // During opening, only the mount reaches the device; at the end, only the remount.
        let phase = match state.phase {
            Phase::Opening => "mount",
            Phase::CleaningUp | Phase::Done => "remount",
            Phase::Precondition | Phase::Workload | Phase::SavingState => state.phase.name(),
        };
        let Some(writer) = &mut state.writer else { return };
        if let Err(error) = writeln!(writer, "{phase},{record}") {
            state.failed = Some(error);
        }
    }
}

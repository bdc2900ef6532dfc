//! The operation log: every device operation as a line of CSV, described in `docs/op-log.md`.

use crate::control::Phase;
use crate::error::LabError;
use flate2::write::GzEncoder;
use flate2::Compression;
use nandlab_nand::traced::{OpRecord, OpSink};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A log being written; shared between the reporting device and the run, which closes it.
///
/// The lines go to a temporary file beside the target, renamed at the end; a log dropped earlier leaves nothing
/// behind.
#[derive(Clone)]
pub struct OpLog(Arc<Mutex<State>>);

/// What the device and the run share.
pub struct State {
    target: PathBuf,
    part: PathBuf,
    /// Where the lines go; none once the log is closed.
    pub writer: Option<Box<dyn Finish>>,
    phase: Phase,
    /// The first error; later lines are not written.
    failed: Option<io::Error>,
}

/// A writer with an end.
pub trait Finish: Write + Send {
    /// Ends the output, with everything on disk.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Finish for BufWriter<File> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

impl Finish for BufWriter<GzEncoder<File>> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?.sync_all()
    }
}

impl OpLog {
    /// Starts a log for `target`; compressed if the name ends in `.gz`.
    ///
    /// # Errors
    /// [`LabError::Io`]: the name does not end in `.csv` or `.csv.gz`, or the file cannot be created.
    pub fn create(target: &Path) -> Result<Self, LabError> {
        // The finished log replaces an existing file, but it must not replace a device or a pipe.
        if target.exists() && !target.is_dir() && !target.is_file() {
            return Err(LabError::Io(format!("{}: this is not a regular file", target.display())));
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if ![".csv", ".csv.gz"].iter().any(|ending| name.ends_with(ending)) && !target.is_dir() {
            return Err(LabError::Io(format!("{}: an operation log is a .csv or .csv.gz file", target.display())));
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = target.with_file_name(name);
        if target.file_name().is_none() || target.is_dir() {
            return Err(LabError::Io(format!("{}: this is a folder, expected the name of a file", target.display())));
        }
        let file = File::create_new(&part).map_err(|error| cannot_write(target, &error))?;
        let is_gzip = target.extension().is_some_and(|extension| extension == "gz");
        let mut writer: Box<dyn Finish> = if is_gzip {
            Box::new(BufWriter::with_capacity(1 << 16, GzEncoder::new(file, Compression::fast())))
        } else {
            Box::new(BufWriter::with_capacity(1 << 16, file))
        };
        let failed = writeln!(writer, "phase,{}", OpRecord::CSV_HEADER).err();
        let state = State { target: target.to_owned(), part, writer: Some(writer), phase: Phase::Opening, failed };
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
        state.failed.as_ref().map_or(Ok(()), |error| Err(cannot_write(&state.target, error)))
    }

    /// Ends the log and renames it to its target.
    #[doc(hidden)]
    pub fn close(&self) -> Result<(), LabError> {
        self.state()?;
        let mut state = self.lock();
        let Some(writer) = state.writer.take() else { return Ok(()) };
        let ended = writer.finish().and_then(|()| std::fs::rename(&state.part, &state.target));
        ended.map_err(|error| {
            let _ = std::fs::remove_file(&state.part);
            cannot_write(&state.target, &error)
        })
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

impl Drop for State {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            drop(writer);
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// The error for a log that `target` cannot take.
pub fn cannot_write(target: &Path, error: &io::Error) -> LabError {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "the folder does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "you may not write there".to_owned(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
        _ => error.to_string(),
    };
    LabError::Io(format!("{} cannot be written: {why}", target.display()))
}

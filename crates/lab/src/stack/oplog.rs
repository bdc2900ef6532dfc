//! The operation log: every device operation as a line of CSV, described in `docs/outputs.md`.

use super::new_file::{cannot_write, Finish, NewFile};
use crate::control::Phase;
use crate::error::LabError;
use flate2::write::GzEncoder;
use flate2::Compression;
use nandlab_nand::traced::{OpRecord, OpSink};
use nandlab_nand::work::Work;
use std::collections::{HashMap, VecDeque};
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
    lines: Lines,
}

/// Lines waiting for their operations' ends, or for earlier lines.
#[derive(Default)]
struct Lines {
    waiting: VecDeque<Line>,
    /// The first one's number.
    first: u64,
    /// By device operation: its line's number, and whether it is the line's first.
    operations: HashMap<u64, (u64, bool)>,
}

struct Line {
    phase: &'static str,
    record: OpRecord,
    /// Its device operations under way: a copy between dies is a read and a program.
    under_way: u32,
}

impl Lines {
    /// Adds a line for an operation just issued.
    fn add(&mut self, phase: &'static str, record: &OpRecord, work: &[Work]) {
        let line = self.first + self.waiting.len() as u64;
        let mut under_way = 0;
        for one in work {
            if let Work::Issued { number, .. } = *one {
                self.operations.insert(number, (line, under_way == 0));
                under_way += 1;
            }
        }
        self.waiting.push_back(Line { phase, record: *record, under_way });
        self.take(work);
    }

    /// Takes the ended operations' times.
    fn take(&mut self, work: &[Work]) {
        for one in work {
            let Work::Ended { number, ready, end } = *one else { continue };
            let Some((line, is_first)) = self.operations.remove(&number) else { continue };
            let Line { record, under_way, .. } = &mut self.waiting[(line - self.first) as usize];
            *under_way -= 1;
            if is_first {
                (record.ready_ns, record.end_ns) = (ready, end);
            }
            record.end_ns = record.end_ns.max(end);
        }
    }

    /// The next line, if all its times are known.
    fn next(&mut self) -> Option<Line> {
        if self.waiting.front()?.under_way > 0 {
            return None;
        }
        self.first += 1;
        self.waiting.pop_front()
    }
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
        let state = State { writer: Some(writer), file: new, phase: Phase::Opening, failed, lines: Lines::default() };
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

    /// The workload has ended; `work` has the news since the last operation.
    pub(crate) fn end(&self, work: &[Work]) {
        let mut state = self.lock();
        state.lines.take(work);
        state.write();
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

impl State {
    /// Writes all lines with known times, in issue order.
    fn write(&mut self) {
        while let Some(Line { phase, record, .. }) = self.lines.next() {
            let Some(writer) = self.writer.as_mut().filter(|_| self.failed.is_none()) else { continue };
            self.failed = writeln!(writer, "{phase},{record}").err();
        }
    }
}

impl OpSink for OpLog {
    fn record(&mut self, record: &OpRecord) {
        self.record_work(record, &[]);
    }

    fn record_work(&mut self, record: &OpRecord, work: &[Work]) {
        let mut state = self.lock();
        // During opening, only the mount reaches the device; at the end, only the remount.
        let phase = match state.phase {
            Phase::Opening => "mount",
            Phase::CleaningUp | Phase::Done => "remount",
            Phase::Precondition | Phase::Workload | Phase::SavingState => state.phase.name(),
        };
        state.lines.add(phase, record, work);
        state.write();
    }
}

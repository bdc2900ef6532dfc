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

struct State {
    target: PathBuf,
    part: PathBuf,
    writer: Option<Box<dyn Finish>>,
    phase: Phase,
    /// The first error; later lines are not written.
    failed: Option<io::Error>,
}

/// A writer with an end.
trait Finish: Write + Send {
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
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sink for a device.
    pub(crate) fn sink(&self) -> Box<dyn OpSink> {
        Box::new(self.clone())
    }

    /// Assigns the following lines to `phase`; lines before the first call belong to the mount.
    pub(crate) fn enter(&self, phase: Phase) {
        self.lock().phase = phase;
    }

    /// Reports any write error so far.
    pub(crate) fn state(&self) -> Result<(), LabError> {
        let state = self.lock();
        state.failed.as_ref().map_or(Ok(()), |error| Err(cannot_write(&state.target, error)))
    }

    /// Ends the log and renames it to its target.
    pub(crate) fn close(&self) -> Result<(), LabError> {
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
            Phase::Precondition | Phase::Workload => state.phase.name(),
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

fn cannot_write(target: &Path, error: &io::Error) -> LabError {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "the folder does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "you may not write there".to_owned(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
        _ => error.to_string(),
    };
    LabError::Io(format!("{} cannot be written: {why}", target.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::operation::Operation;
    use nandlab_nand::{BlockId, Cause, Origin};
    use std::io::Read;

    fn record() -> OpRecord {
        OpRecord {
            ready_ns: 1,
            end_ns: 2,
            operation: Operation::Erase,
            die: 0,
            block: BlockId(3),
            page: None,
            from: None,
            lpn: None,
            origin: Origin::HOST,
            cause: Cause::Gc,
            result: Ok(()),
            delayed_ns: None,
        }
    }

    fn files(folder: &tempfile::TempDir) -> Vec<String> {
        let names = std::fs::read_dir(folder.path()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_closed_log_is_whole_and_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ops.csv", "ops.csv.gz"] {
            let target = folder.path().join(name);
            let log = OpLog::create(&target).unwrap();
            let mut sink = log.sink();
            (0..1000).for_each(|_| sink.record(&record()));
            assert!(!target.exists());
            log.close().unwrap();
            let bytes = std::fs::read(&target).unwrap();
            let mut text = String::new();
            if name.ends_with("gz") {
                flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
            } else {
                text = String::from_utf8(bytes).unwrap();
            }
            assert_eq!(text.lines().count(), 1001);
            assert!(text.ends_with("mount,1,2,erase,0,3,,,,host,gc,ok,\n"), "{text}");
        }
        assert_eq!(files(&folder).len(), 2);
    }

    #[test]
    fn lines_tell_their_phase() {
        let folder = tempfile::tempdir().unwrap();
        let log = OpLog::create(&folder.path().join("ops.csv")).unwrap();
        let mut sink = log.sink();
        sink.record(&record());
        for phase in [Phase::Precondition, Phase::Workload] {
            log.enter(phase);
            sink.record(&record());
        }
        log.close().unwrap();
        let text = std::fs::read_to_string(folder.path().join("ops.csv")).unwrap();
        let first: Vec<_> = text.lines().map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(first, ["phase", "mount", "precondition", "workload"]);
    }

    #[test]
    fn a_log_that_is_not_closed_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let log = OpLog::create(&folder.path().join("ops.csv")).unwrap();
        let mut sink = log.sink();
        sink.record(&record());
        assert_eq!(files(&folder).len(), 1);
        drop((log, sink));
        assert!(files(&folder).is_empty());
    }

    /// A disk with room for this many bytes.
    struct Small(usize);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Finish for Small {
        fn finish(self: Box<Self>) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn a_full_disk_is_a_sentence_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        // Full in the middle, and full when the last buffered bytes are written.
        for room in [500, 1_000_000] {
            let log = OpLog::create(&folder.path().join("ops.csv")).unwrap();
            log.lock().writer = Some(Box::new(Small(room)));
            let mut sink = log.sink();
            (0..100).for_each(|_| sink.record(&record()));
            assert_eq!(log.state().is_err(), room == 500);
            let error = log.close().unwrap_err().to_string();
            assert!(error.ends_with("ops.csv cannot be written: the disk is full"), "{error}");
            drop((log, sink));
            assert!(files(&folder).is_empty(), "{:?}", files(&folder));
        }
    }

    #[test]
    fn what_cannot_be_written_gets_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let error = |path: PathBuf| OpLog::create(&path).map(|_| ()).unwrap_err().to_string();
        assert!(error(folder.path().join("no/such/ops.csv")).ends_with("cannot be written: the folder does not exist"));
        assert!(error(folder.path().to_owned()).ends_with("expected the name of a file"));
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(cannot_write(Path::new("a.csv"), &full).to_string(), "a.csv cannot be written: the disk is full");
    }
}

//! Tests of `src/stack/oplog.rs`.

use nandlab_lab::inside::{cannot_write, Finish};
use nandlab_lab::stack::OpLog;
use nandlab_lab::Phase;
use nandlab_nand::operation::Operation;
use nandlab_nand::traced::OpRecord;
use nandlab_nand::{BlockId, Cause, Origin};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

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
        assert!(text.ends_with("mount,1,2,erase,0,3,,,,host,gc,ok\n"), "{text}");
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

//! A firmware as an experiment runs it: each command is told, each failure has its sentence.

use crate::support::{cc, libraries, root};
use nandlab::hosted::{open, open_files};
use nandlab_block::firmware::{About, Block, Command, Told};
use nandlab_nand::operation::Operation;
use nandlab_nand::{Cause, Geometry, Ppa, ProgramOrder, Rules, Shape, Time};
use std::path::{Path, PathBuf};

#[derive(Default)]
struct Heard(Vec<Command>);

impl Told for Heard {
    fn command(&mut self, command: &Command) {
        self.0.push(*command);
    }

    fn now(&mut self) -> Time {
        77
    }
}

fn built(folder: &Path, source: &str, arguments: &[&str]) -> PathBuf {
    let to = folder.join("firmware.so");
    cc(&[&["-shared", "-fPIC"], arguments].concat(), &[root().join(source)], &to);
    to
}

fn library() -> PathBuf {
    libraries().join("libnandlab.so")
}

fn about<'a>(path: &'a Path, options: &'a str, blocks: u32) -> About<'a> {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: blocks,
        pages_per_block: 8,
        page_bytes: 512,
        spare_bytes: 16,
    };
    let rules =
        Rules { program_order: ProgramOrder::AscendingDense, partial_programs: 3, endurance: 1000, ..Rules::default() };
    About { path, options, geometry: Geometry::new(shape).expect("the shape is one"), rules }
}

fn opened(path: &Path, options: &str, told: &mut Heard) -> Result<Box<dyn Block>, String> {
    open(&library(), &about(path, options, 16), told)
}

#[test]
fn each_command_is_told_with_its_page_its_bytes_and_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = built(folder.path(), "crates/firmware/tests/c/probe.c", &[]);
    let mut heard = Heard::default();
    let mut probe = opened(&path, "", &mut heard).unwrap();
    probe.write(0, &[1; 512], &mut heard).unwrap();
    let (map, gc) = (Some(Cause::Map), Some(Cause::Gc));
    let told = |operation, at, from, bytes, cause| Command { operation, at: Ppa(at), from: Ppa(from), bytes, cause };
    assert_eq!(
        heard.0,
        [
            told(Operation::SpareRead, 8, 8, 1, None),
            told(Operation::Read, 0, 0, 512, None),
            told(Operation::Program, 0, 0, 260, map),
            told(Operation::Program, 0, 0, 256, map),
            told(Operation::SpareProgram, 0, 0, 2, map),
            told(Operation::Read, 0, 0, 100, map),
            told(Operation::SpareRead, 0, 0, 8, map),
            told(Operation::Copy, 1, 0, 512, gc),
            told(Operation::Erase, 0, 0, 0, gc),
            told(Operation::Retire, 8, 8, 1, gc),
        ]
    );
    let before = heard.0.len();
    assert_eq!(probe.trim(0, &mut heard), Ok(false));
    probe.sync(&mut heard).unwrap();
    assert_eq!(heard.0.len(), before);
}

#[test]
fn two_runs_share_no_variables() {
    let folder = tempfile::tempdir().unwrap();
    let path = built(folder.path(), "crates/firmware/tests/c/probe.c", &[]);
    let mut heard = Heard::default();
    let first = opened(&path, "", &mut heard).unwrap();
    let second = opened(&path, "", &mut heard).unwrap();
    assert_eq!((first.sectors(), second.sectors()), (1, 1), "the probe has as many sectors as mounts");
}

#[test]
fn a_failure_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = built(folder.path(), "crates/firmware/tests/c/probe.c", &[]);
    let mut heard = Heard::default();
    let why = |opened: Result<Box<dyn Block>, String>| opened.map(drop).unwrap_err();
    assert_eq!(why(opened(&path, "fails", &mut heard)), "mounts no chip of this shape: it was told to");
    let mut refuses = opened(&path, "refuses", &mut heard).unwrap();
    let sentence = "the firmware refused the read of sector 0: -9, a reason";
    assert_eq!(refuses.read(0, &mut [0; 512], &mut heard), Err(sentence.to_owned()));
    let mut breaks = opened(&path, "breaks", &mut heard).unwrap();
    let sentence =
        "the firmware broke a rule of the chip: program of page 1: this chip programs without gaps, page 0 is next";
    assert_eq!(breaks.write(0, &[0; 512], &mut heard), Err(sentence.to_owned()));
    assert!(heard.0.is_empty(), "a refused command counts nothing");

    let missing = why(opened(&folder.path().join("none.so"), "", &mut heard));
    assert!(missing.starts_with("cannot be read: No such file"), "{missing}");
    std::fs::write(folder.path().join("text.so"), "text").unwrap();
    let text = why(opened(&folder.path().join("text.so"), "", &mut heard));
    assert!(text.starts_with("cannot be loaded: "), "{text}");
    let old = why(opened(&built(folder.path(), "crates/firmware/tests/c/probe.c", &["-DSIZE=8"]), "", &mut heard));
    assert!(old.starts_with("is of another version: nl_block.size is 8"), "{old}");
    let files = why(opened(&built(folder.path(), "crates/firmware/tests/c/files.c", &[]), "", &mut heard));
    assert_eq!(files, "has no nl_block, the table of a block firmware");
}

#[test]
fn a_file_firmware_keeps_its_chip_over_a_second_mount() {
    let folder = tempfile::tempdir().unwrap();
    let path = built(folder.path(), "crates/firmware/tests/c/files.c", &[]);
    let (mut heard, told) = (Heard::default(), &mut Heard::default());
    // Half of a chip of this size holds a snapshot.
    let about = about(&path, "", 32);
    let mut files = open_files(&library(), &about, &mut heard).unwrap();
    let file = files.open("a", true, told).unwrap();
    files.write(file, 0, b"kept", told).unwrap();
    files.sync(file, told).unwrap();
    files.write(file, 4, b" or not", told).unwrap();
    assert!(files.mkdir("d", told).unwrap());
    files.rename("a", "d/a", told).unwrap();
    let programs = told.0.iter().filter(|command| command.operation == Operation::Program).count();
    assert_eq!(programs % 3, 0, "three snapshots");
    let file = files.open("d/a", false, told).unwrap();
    files.write(file, 0, b"gone", told).unwrap();

    files.mount_again(told).unwrap();
    assert_eq!(files.list("", told).unwrap(), ["d"]);
    assert_eq!(files.list("d", told).unwrap(), ["a"]);
    let file = files.open("d/a", false, told).unwrap();
    let mut read = [0; 20];
    assert_eq!(files.read(file, 0, &mut read, told), Ok(11));
    assert_eq!(&read[..11], b"kept or not");
    files.close(file, told).unwrap();
    files.remove("d/a", told).unwrap();
    assert_eq!(files.list("d", told).unwrap(), Vec::<String>::new());
    let missing = files.open("d/a", false, told).unwrap_err();
    assert_eq!(missing, "the firmware refused to open 'd/a'");
}

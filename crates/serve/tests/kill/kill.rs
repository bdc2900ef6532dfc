//! kill -9 on a process that serves an image, at random points under writes: no flushed data is lost.
//!
//! `NANDLAB_KILLS=N` sets the kills for each stack (3 without it, 200 with `NANDLAB_LONG=1`), `NANDLAB_KILL_SEED` another
//! seed than 7. A failure names both.

use crate::support::{act, create, ftls, open, Act, Acts, Model, NVRAM_BUFFERS, SECTOR};
use nandlab_nand::random::Random;
use nandlab_serve::Export;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The other process's image, seed and start number.
const CHILD: &str = "NANDLAB_KILLED";

pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Kills for each stack.
pub fn kills() -> u64 {
    let usual = if std::env::var_os("NANDLAB_LONG").is_some() { 200 } else { 3 };
    number("NANDLAB_KILLS").unwrap_or(usual)
}

/// The process to kill: it reports each begun act, and each answered flush. A normal test run skips it.
#[test]
fn writes_until_it_is_killed() {
    let Ok(args) = std::env::var(CHILD) else { return };
    let (seed, image) = args.split_once(' ').unwrap();
    let disk = open(Path::new(image));
    let mut acts = Acts::new(seed.parse().unwrap(), disk.size() / SECTOR as u64);
    let mut out = std::io::stdout();
    for number in 1.. {
        let next = acts.next();
        // Before it is done, so the other side knows about possible effects.
        out.write_all(format!("begin {number}\n").as_bytes()).unwrap();
        act(&disk, next, number).unwrap();
        if next == Act::Flush {
            out.write_all(b"flushed\n").unwrap();
        }
    }
}

/// Runs the other process on `image` until it has reported `lines` lines, kills it, and follows its acts in `model`.
fn run_and_kill(image: &Path, seed: u64, lines: u64, model: &mut Model) {
    // The seed makes write numbers differ between sessions.
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writes_until_it_is_killed", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{seed} {}", image.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acts = Acts::new(seed, model.may_hold.len() as u64);
    let mut said = 0;
    let mut number = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        // The test runner says things, too.
        if let Some(at) = line.find("begin ") {
            assert_eq!(line[at + 6..].parse(), Ok(number + 1));
            number += 1;
            model.begin(acts.next(), number);
        } else if line.ends_with("flushed") {
            model.flushed();
        }
        said += 1;
        if said == lines {
            // std sends SIGKILL. All output before its death is read.
            child.kill().unwrap();
        }
    }
    assert!(said >= lines, "the other process ended by itself");
    child.wait().unwrap();
}

fn survives(ftl: &str, sets: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let from = number("NANDLAB_KILL_SEED").unwrap_or(7);
    let mut random = Random::new(from);
    for round in 0..kills().div_ceil(10).max(1) {
        let image = directory.path().join(format!("image{round}"));
        create(&image, ftl, sets);
        let mut model = Model::new(open(&image).size() / SECTOR as u64);
        for kill in 0..kills().min(10) {
            let lines = 1 + random.below(if kill == 0 { 3_000 } else { 600 });
            let what = format!("{ftl} {sets:?}, seed {from}, round {round}, kill {kill} after {lines} lines");
            run_and_kill(&image, from << 16 | round << 8 | kill, lines, &mut model);
            let disk = open(&image);
            model.compare(&disk, &what);
            let checked = disk.check().unwrap();
            assert!(checked.is_sound(), "{what}: {checked:?}");
            // The present contents are the next session's start.
            settle(&disk, &mut model);
        }
    }
}

/// Writes every sector, so the next session starts from known contents.
fn settle(disk: &nandlab_serve::Disk, model: &mut Model) {
    for sector in (0..model.may_hold.len() as u64).step_by(64) {
        let every = Act::Write { sector, sectors: 64 };
        act(disk, every, 1 << 31).unwrap();
        model.begin(every, 1 << 31);
    }
    disk.flush().unwrap();
    model.flushed();
    disk.close().unwrap();
}

#[test]
fn every_ftl_keeps_what_was_flushed() {
    for ftl in ftls() {
        survives(ftl, &[]);
    }
}

/// A controller's write buffer loses everything behind the last flush, unless it is protected from power cuts.
#[test]
fn controllers_keep_what_was_flushed() {
    for protected in [false, true] {
        let controller =
            format!("device.controller={{ write_buffer_bytes = 131072, write_buffer_protected = {protected} }}");
        survives("page", &[&controller]);
    }
}

#[test]
fn buffers_keep_what_was_flushed_or_is_in_nvram() {
    let volatile = &["buffer=lru", "buffer.lru.size=128KiB"][..];
    for buffer in std::iter::once(volatile).chain(NVRAM_BUFFERS) {
        survives("page", buffer);
    }
}

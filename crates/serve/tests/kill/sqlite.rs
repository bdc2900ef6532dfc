//! kill -9 on a process that serves a disk while SQLite writes to it: each committed transaction is there.
//!
//! SQLite runs in `sqlite.py`, with its files in regions of the disk: no file system or cache stands between it and the
//! device. `NANDLAB_PYTHON` names a Python with the package apsw. Without `NANDLAB_KILLS` or `NANDLAB_LONG` few stacks are
//! killed, once each.

use crate::fio::serve;
use crate::kill::{kills, number};
use crate::support::{create, ftls, open};
use nandlab_nand::random::Random;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn python() -> Command {
    Command::new(std::env::var_os("NANDLAB_PYTHON").unwrap_or_else(|| "python3".into()))
}

fn sqlite(todo: &str, folder: &Path, journal: &str) -> Command {
    let mut command = python();
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kill/sqlite.py"));
    command.arg(todo).arg(folder.join("socket")).arg(journal).stdout(Stdio::piped());
    command
}

/// Kills the server after SQLite committed some transactions and did a part of the next; returns the last one.
fn write_and_kill(folder: &Path, journal: &str, random: &mut Random) -> u64 {
    let mut server = serve(folder);
    let mut writer = sqlite("write", folder, journal).stderr(Stdio::null()).spawn().unwrap();
    let (most, mut seen, mut last) = (1 + random.below(40), 0, 0);
    for line in BufReader::new(writer.stdout.take().unwrap()).lines() {
        last = line.unwrap().strip_prefix("committed ").unwrap().parse().unwrap();
        seen += 1;
        if seen == most {
            std::thread::sleep(Duration::from_micros(random.below(20_000)));
            // std sends SIGKILL. All lines before SQLite's end are read.
            server.kill().unwrap();
        }
    }
    assert!(seen >= most, "SQLite ended by itself after {seen} transactions");
    server.wait().unwrap();
    writer.wait().unwrap();
    last
}

/// The last transaction in the database, which SQLite checked.
fn check(folder: &Path, journal: &str, what: &str) -> u64 {
    let mut server = serve(folder);
    let checked = sqlite("check", folder, journal).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    // The check is a writer, too: it rolls back what was not committed.
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(checked.status.success(), "{what}: {}", String::from_utf8_lossy(&checked.stderr));
    String::from_utf8_lossy(&checked.stdout).trim().parse().unwrap()
}

fn survives(ftl: &str, sets: &[&str], journal: &str, kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    let from = number("NANDLAB_KILL_SEED").unwrap_or(7);
    let all: Vec<&str> = ["device.capacity=32MiB"].iter().chain(sets).copied().collect();
    create(&folder.path().join("image"), ftl, &all);
    let mut random = moments(from, &[&[ftl, journal], sets].concat());
    let mut last = 0;
    for kill in 1..=kills {
        let what = format!("{ftl} {sets:?} {journal}, NANDLAB_KILL_SEED={from}, kill {kill} of NANDLAB_KILLS={kills}");
        let committed = write_and_kill(folder.path(), journal, &mut random);
        let found = check(folder.path(), journal, &what);
        // One more may be committed without an answer.
        assert!((committed..=committed + 1).contains(&found) && committed > last, "{what}: {found} of {committed}");
        last = found;
        let checked = open(&folder.path().join("image")).check().unwrap();
        assert!(checked.is_sound(), "{what}: {checked:?}");
    }
    println!("{ftl} {sets:?} {journal}: {kills} kills under SQLite, {last} transactions");
}

/// Every FTL, every buffer in NVRAM, and a controller's memory with and without protection.
#[test]
fn what_sqlite_committed_is_there_after_a_kill() {
    let has_apsw = python().args(["-c", "import apsw"]).stderr(Stdio::null()).status().is_ok_and(|done| done.success());
    if !has_apsw {
        eprintln!("skipped: no Python with apsw is installed");
        return;
    }
    let is_long = std::env::var_os("NANDLAB_LONG").is_some() || number("NANDLAB_KILLS").is_some();
    let kills = if is_long { kills() } else { 1 };
    for (ftl, sets) in stacks(is_long) {
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        // Each journal gets half of the kills.
        survives(ftl, &sets, "delete", kills.div_ceil(2));
        survives(ftl, &sets, "wal", kills.div_ceil(2));
    }
}

/// Random numbers for one stack: each is killed at moments of its own.
pub fn moments(seed: u64, names: &[&str]) -> Random {
    let mix = |mixed: u64, byte: u8| mixed.wrapping_mul(31).wrapping_add(byte.into());
    Random::new(names.concat().bytes().fold(seed, mix))
}

/// The stacks on which third-party programs write; few of them unless `is_long`.
pub fn stacks(is_long: bool) -> Vec<(&'static str, Vec<String>)> {
    let wanted = ftls().into_iter().filter(|ftl| is_long || ["page", "fast", "dftl"].contains(ftl));
    let mut stacks: Vec<_> = wanted.map(|ftl| (ftl, Vec::new())).collect();
    for buffer in ["hybrid_lru", "clock_dnv", "cbm", "wap_lru"].into_iter().take(if is_long { 4 } else { 1 }) {
        let place = |kind: &str, size: &str| format!("buffer.{buffer}.{kind}={size}");
        let mut sets = vec![format!("buffer={buffer}"), place("dram", "64KiB"), place("nvram", "256KiB")];
        sets.extend((buffer == "wap_lru").then(|| place("thresholds", "online")));
        stacks.push(("page", sets));
    }
    for protected in [false, true].into_iter().take(if is_long { 2 } else { 1 }) {
        let memory = format!("write_buffer_bytes = 131072, write_buffer_protected = {protected}");
        stacks.push(("page", vec![format!("device.controller={{ {memory} }}")]));
    }
    stacks
}

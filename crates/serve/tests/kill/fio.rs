//! kill -9 on a process that serves a disk by NBD while fio writes to it: each flushed sector has fio's bytes.
//!
//! fio keeps a log with its writes and flushes. It has one request outstanding. fio 3.33 goes on after a flush that
//! failed and ends after a write that failed, so a flush was answered if the write behind it was, too. fio's pattern has
//! the session's number and the block's offset, so an older block is told from a newer one.
//! Without `NANDLAB_KILLS` or `NANDLAB_LONG` few stacks are killed, once each.

use crate::kill::{kills, number};
use crate::sqlite::{moments, stacks};
use crate::support::{create, open, SECTOR};
use nandlab_nand::random::Random;
use nandlab_serve::{nbd, Disk, Export};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The other process's image and socket.
const CHILD: &str = "NANDLAB_SERVED";
const BLOCK: usize = 4096;

/// The process to kill. A normal test run skips it.
#[test]
fn serves_until_it_is_killed() {
    let Ok(args) = std::env::var(CHILD) else { return };
    let (image, socket) = args.split_once(' ').unwrap();
    let _server = nbd::Server::start(Path::new(socket), Arc::new(open(Path::new(image)))).unwrap();
    std::io::stdout().write_all(b"serves\n").unwrap();
    loop {
        std::thread::park();
    }
}

pub fn serve(folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "fio::serves_until_it_is_killed", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{} {}", folder.join("image").display(), folder.join("socket").display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("serves")), "the other process ended by itself");
    child
}

/// A block's bytes after fio wrote it in a session; zeros for session 0.
fn block(at: usize, session: u32) -> Vec<u8> {
    if session == 0 {
        return vec![0; BLOCK];
    }
    let offset = ((at * BLOCK) as u64).to_le_bytes();
    session.to_be_bytes().into_iter().chain(offset).cycle().take(BLOCK).collect()
}

/// By sector: the sessions whose bytes it may hold, the flushed one first. A kill may leave a part of a block written.
type Sectors = Vec<Vec<u32>>;

/// Follows fio's log of a session.
fn follow(log: &str, session: u32, held: &mut Sectors) -> u64 {
    let mut flushes = 0;
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(" write ") || line.contains(" sync ")).collect();
    for (at, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        if words[2] == "write" {
            let first = words[3].parse::<usize>().unwrap() / SECTOR;
            held[first..first + BLOCK / SECTOR].iter_mut().for_each(|may_hold| may_hold.push(session));
        } else if at + 2 < lines.len() {
            // Answered: two lines behind it, so the write behind it did not fail.
            held.iter_mut().for_each(|may_hold| drop(may_hold.drain(..may_hold.len() - 1)));
            flushes += 1;
        }
    }
    flushes
}

/// Lets fio write to a served disk until the server is killed; returns fio's log.
fn write_and_kill(folder: &Path, session: u32, random: &mut Random) -> String {
    let mut server = serve(folder);
    let log = folder.join("log");
    let _ = std::fs::remove_file(&log);
    let mut fio = Command::new("fio")
        .current_dir(folder)
        .args(["--name=job", "--ioengine=nbd", "--rw=randwrite", "--norandommap", "--bs=4k", "--iodepth=1"])
        .args(["--verify=pattern", "--do_verify=0", "--time_based", "--runtime=60", "--write_iolog=log"])
        .arg(format!("--verify_pattern=0x{session:08x}%o"))
        .arg(format!("--uri=nbd+unix:///?socket={}", folder.join("socket").display()))
        .arg(format!("--randseed={session}"))
        .arg(format!("--fsync={}", 1 + random.below(64)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !log.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(20 + random.below(900)));
    assert!(server.try_wait().unwrap().is_none() && fio.try_wait().unwrap().is_none(), "both work until the kill");
    // std sends SIGKILL.
    server.kill().unwrap();
    server.wait().unwrap();
    fio.wait().unwrap();
    std::fs::read_to_string(log).unwrap()
}

fn compare(disk: &Disk, held: &mut Sectors, what: &str) {
    let mut found = vec![0; BLOCK];
    for (at, held) in held.chunks_mut(BLOCK / SECTOR).enumerate() {
        disk.read((at * BLOCK) as u64, &mut found).unwrap_or_else(|error| panic!("{what}: {error}"));
        for (sector, (may_hold, found)) in held.iter_mut().zip(found.chunks_exact(SECTOR)).enumerate() {
            let fits = |&session: &u32| block(at, session)[sector * SECTOR..][..SECTOR] == *found;
            let holds = may_hold.iter().copied().find(fits);
            let holds = holds.unwrap_or_else(|| {
                panic!("{what}: sector {sector} of block {at} has the bytes of none of {may_hold:?}")
            });
            // The present contents are the next session's start.
            *may_hold = vec![holds];
        }
    }
}

/// Kills beyond those asked for, until something was flushed.
const MORE_KILLS: u64 = 20;

fn survives(ftl: &str, sets: &[&str], kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    let from = number("NANDLAB_KILL_SEED").unwrap_or(7);
    let all: Vec<&str> = ["device.capacity=32MiB"].iter().chain(sets).copied().collect();
    create(&folder.path().join("image"), ftl, &all);
    let size = open(&folder.path().join("image")).size();
    let mut held: Sectors = vec![vec![0]; size as usize / SECTOR];
    let (mut random, mut flushes) = (moments(from, &[&[ftl], sets].concat()), 0);
    // On a busy machine a kill may come before the first flush, and shows less then.
    let more = |kill: u64, flushes: u64| kill <= kills || flushes == 0 && kill <= kills + MORE_KILLS;
    let mut kill = 0;
    while more(kill + 1, flushes) {
        kill += 1;
        let what = format!("{ftl} {sets:?}, NANDLAB_KILL_SEED={from}, kill {kill} of NANDLAB_KILLS={kills}");
        let log = write_and_kill(folder.path(), kill as u32, &mut random);
        flushes += follow(&log, kill as u32, &mut held);
        let disk = open(&folder.path().join("image"));
        compare(&disk, &mut held, &what);
        let checked = disk.check().unwrap();
        assert!(checked.is_sound(), "{what}: {checked:?}");
        disk.close().unwrap();
    }
    println!("{ftl} {sets:?}: {kill} kills under fio, {flushes} flushes");
    assert!(flushes > 0, "{ftl} {sets:?}: fio flushed nothing");
}

/// Every FTL, every buffer in NVRAM, and a controller's memory with and without protection.
#[test]
fn what_fio_flushed_is_there_after_a_kill() {
    if Command::new("fio").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: fio is not installed");
        return;
    }
    let is_long = std::env::var_os("NANDLAB_LONG").is_some() || number("NANDLAB_KILLS").is_some();
    let kills = if is_long { kills() } else { 1 };
    for (ftl, sets) in stacks(is_long) {
        survives(ftl, &sets.iter().map(String::as_str).collect::<Vec<_>>(), kills);
    }
}

#[test]
fn a_flush_at_the_kill_counts_as_unanswered() {
    let log = "583 job.0.0 open\n587 job.0.0 write 0 4096\n600 job.0.0 sync 0 0\n690 job.0.0 write 4096 4096\n";
    let mut held: Sectors = vec![vec![0]; 2 * BLOCK / SECTOR];
    assert_eq!(follow(log, 1, &mut held), 0);
    assert_eq!((&held[0], &held[BLOCK / SECTOR]), (&vec![0, 1], &vec![0, 1]));
    let more = format!("{log}790 job.0.0 sync 4096 0\n");
    assert_eq!(follow(&more, 2, &mut held), 1);
    assert_eq!((&held[0], &held[BLOCK / SECTOR]), (&vec![2], &vec![1, 2]));
}

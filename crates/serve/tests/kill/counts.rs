//! kill -9 on a process that serves an image: the counts since the image was made equal an unkilled run's.

use crate::support::{act, create, ftls, open, Act, Acts};
use nandlab_lab::served::Served;
use nandlab_nand::random::Random;
use nandlab_serve::Disk;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Tells the other process its image, its seed, and how many acts it does before it waits for its end; 0 for any number.
const CHILD: &str = "NANDLAB_COUNTED";

/// Host bytes that may have been written after the last save.
const MOST_UNSAVED: u64 = 1 << 20;

const BUFFER: [&str; 3] = ["buffer=hybrid_lru", "buffer.hybrid_lru.dram=64KiB", "buffer.hybrid_lru.nvram=256KiB"];

/// Counts since an image was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    programs: u64,
    erases: u64,
    written_bytes: u64,
}

impl Counts {
    fn of(disk: &Disk) -> Self {
        let all = disk.lifetime();
        let flash = all.flash();
        Self { programs: flash.programs, erases: flash.erases, written_bytes: all.host.written_sectors * 512 }
    }

    /// Asserts that a killed process's counts lie between two moments in an unkilled run.
    fn assert_between(self, before: Self, after: Self, what: &str) {
        assert!((before.programs..=after.programs).contains(&self.programs), "{what}: {self:?}, {before:?}, {after:?}");
        assert!((before.erases..=after.erases).contains(&self.erases), "{what}: {self:?}, {before:?}, {after:?}");
        let least = before.written_bytes.saturating_sub(MOST_UNSAVED);
        assert!((least..=after.written_bytes).contains(&self.written_bytes), "{what}: {self:?}, {before:?}, {after:?}");
    }
}

/// Acts with few flushes, so much is written between two.
fn acts(seed: u64, disk: &Disk) -> impl Iterator<Item = Act> {
    let mut acts = Acts::new(seed, nandlab_serve::Export::size(disk) / 512);
    let mut flushes = 0;
    std::iter::from_fn(move || Some(acts.next())).filter(move |next| {
        flushes += u32::from(*next == Act::Flush);
        *next != Act::Flush || flushes % 16 == 0
    })
}

/// The process to kill. A normal test run skips it.
#[test]
fn works_until_it_is_killed() {
    let Ok(args) = std::env::var(CHILD) else { return };
    let mut args = args.splitn(3, ' ');
    let (seed, stop): (u64, u64) = (args.next().unwrap().parse().unwrap(), args.next().unwrap().parse().unwrap());
    let disk = open(Path::new(args.next().unwrap()));
    let mut out = std::io::stdout();
    for (number, next) in (1_u64..).zip(acts(seed, &disk)) {
        out.write_all(format!("begin {number}\n").as_bytes()).unwrap();
        act(&disk, next, number).unwrap();
        if number == stop {
            let Counts { programs, erases, written_bytes } = Counts::of(&disk);
            out.write_all(format!("counts {programs} {erases} {written_bytes}\n").as_bytes()).unwrap();
            loop {
                std::thread::park();
            }
        }
    }
}

/// Kills the other process after `lines` lines, or once it reported its counts; returns its last begun act, and the
/// counts.
fn run_and_kill(image: &Path, seed: u64, stop: u64, lines: u64) -> (u64, Option<Counts>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "counts::works_until_it_is_killed", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{seed} {stop} {}", image.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut begun, mut said, mut counts) = (0, 0, None);
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(at) = line.find("begin ") {
            begun = line[at + 6..].parse().unwrap();
        } else if let Some(found) = line.strip_prefix("counts ") {
            let found: Vec<u64> = found.split(' ').map(|count| count.parse().unwrap()).collect();
            counts = Some(Counts { programs: found[0], erases: found[1], written_bytes: found[2] });
        }
        said += 1;
        if said == lines || counts.is_some() {
            // std sends SIGKILL. All output before its death is read.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    (begun, counts)
}

/// An unkilled run's counts, after each act up to the last one.
fn not_killed(image: &Path, seed: u64, last: u64) -> Vec<Counts> {
    let disk = open(image);
    let mut counts = vec![Counts::of(&disk)];
    for (number, next) in (1..=last).zip(acts(seed, &disk)) {
        act(&disk, next, number).unwrap();
        counts.push(Counts::of(&disk));
    }
    counts
}

/// The image's own information when no process has it open.
fn info(image: &Path) -> serde_json::Value {
    loop {
        let info = Served::info(image).unwrap();
        // A program started by another test has the lock until it runs.
        if info["in_use"] == false {
            return info;
        }
    }
}

#[test]
fn counts_are_those_of_a_run_that_was_not_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(11);
    let subjects = ftls().into_iter().map(|ftl| (ftl, &[][..])).chain([("page", &BUFFER[..])]);
    for (at, (ftl, sets)) in subjects.enumerate() {
        let place = |name: &str| directory.path().join(format!("{name}{at}"));
        create(&place("killed"), ftl, sets);
        create(&place("whole"), ftl, sets);
        let lines = 5 + random.below(1_500);
        let (begun, _) = run_and_kill(&place("killed"), at as u64, 0, lines);
        let whole = not_killed(&place("whole"), at as u64, begun);
        let what = format!("{ftl} {sets:?}, killed in act {begun}");
        let found = Counts::of(&open(&place("killed")));
        found.assert_between(whole[begun.saturating_sub(1) as usize], whole[begun as usize], &what);
    }
}

#[test]
fn counts_are_exact_after_every_kill_between_two_requests() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(13);
    for (ftl, sets) in ftls().into_iter().map(|ftl| (ftl, &[][..])).chain([("page", &BUFFER[..])]) {
        let image = directory.path().join(format!("{ftl}{}", sets.len()));
        create(&image, ftl, sets);
        for kill in 1..=3 {
            let stop = 1 + random.below(800);
            let (_, said) = run_and_kill(&image, kill, stop, 0);
            let said = said.expect("it was killed when it had said its counts");
            let what = format!("{ftl} {sets:?}, kill {kill} after act {stop}");
            let info = info(&image);
            let found = Counts::of(&open(&image));
            found.assert_between(said, said, &what);
            let all = &info["in_all"];
            assert_eq!(
                (all["sessions"].as_u64(), all["unsaved"]["kills"].as_u64()),
                (Some(kill), Some(kill)),
                "{what}"
            );
            assert_eq!(all["unsaved"]["written_bytes_at_most"], kill << 20);
            assert_eq!(all["flash"]["programs"].as_u64(), Some(found.programs), "{what}: info agrees with a mount");
            assert_eq!(all["flash"]["erases"].as_u64(), Some(found.erases), "{what}: info agrees with a mount");
        }
    }
}

#[test]
fn a_close_leaves_nothing_unknown() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("image");
    create(&image, "page", &[]);
    for session in 1..=2 {
        let disk = open(&image);
        acts(session, &disk).take(500).for_each(|next| act(&disk, next, session).unwrap());
        let counts = Counts::of(&disk);
        disk.close().unwrap();
        let last = disk.lifetime();
        drop(disk);
        let info = info(&image);
        assert_eq!(info["in_all"], last.told());
        assert_eq!((last.sessions, last.unsaved.kills, last.unsaved.flash.programs), (session, 0, 0));
        assert!(last.host.written_sectors * 512 == counts.written_bytes && last.flash().programs >= counts.programs);
    }
}

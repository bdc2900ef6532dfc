//! One call for the image's file fails: the requests concerned fail, and nothing flushed is lost or wrong.
//!
//! For each stack and kind of fault, a small workload runs once for each place of the fault (some places without
//! NANDLAB_LONG). A copy of the file at the first error stands for a kill at that moment.

use crate::support::{act, contents, create, ftls, open, Act, Acts, Model, SECTOR};
use nandlab_lab::served::Access;
use nandlab_nand::backed::{Call, Fault, Faults};
use nandlab_nand::random::Random;
use nandlab_serve::{Disk, Export, Options};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

const EIO: i32 = 5;
const EINTR: i32 = 4;
const ENOSPC: i32 = 28;
const ACTS: u64 = 60;

/// A call that fails, and how.
#[derive(Clone, Copy, Debug)]
struct Kind {
    call: Call,
    fault: Fault,
    /// How many calls in a row fail.
    calls: u64,
    /// Whether a request may notice.
    is_felt: bool,
}

const fn kind(call: Call, fault: Fault, calls: u64, is_felt: bool) -> Kind {
    Kind { call, fault, calls, is_felt }
}

const KINDS: [Kind; 13] = [
    kind(Call::Read, Fault::Error(EIO), 2, false),
    kind(Call::Read, Fault::Error(EIO), 9, true),
    kind(Call::Read, Fault::Error(EINTR), 3, false),
    kind(Call::Read, Fault::Short(700), 3, false),
    kind(Call::Write, Fault::Error(EIO), 1, true),
    kind(Call::Write, Fault::Error(EIO), 7, true),
    kind(Call::Write, Fault::Error(EINTR), 3, false),
    kind(Call::Write, Fault::Short(700), 3, false),
    kind(Call::Write, Fault::Error(ENOSPC), 20, true),
    kind(Call::Write, Fault::Torn(700, EIO), 1, true),
    kind(Call::Sync, Fault::Error(EIO), 1, true),
    kind(Call::Sync, Fault::Error(EIO), 3, true),
    kind(Call::Punch, Fault::Error(EIO), 5, false),
];

/// The host under an image.
#[derive(Debug, Default)]
struct Host(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The fault, and the number of the first call for it.
    planned: Option<(Kind, u64)>,
    /// By kind of call: how many there were.
    calls: [u64; 4],
    hits: u64,
    /// Sectors written since the last success of a sync.
    dirty: BTreeSet<u64>,
    /// Sectors which a failed sync left off the disk, though the kernel counts them as written.
    lost: BTreeSet<u64>,
    /// Syncs that succeeded over lost sectors.
    lies: u64,
}

impl Host {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl Faults for Host {
    fn next(&self, call: Call, place: u64, length: usize) -> Option<Fault> {
        let mut state = self.state();
        let number = state.calls[call as usize];
        state.calls[call as usize] += 1;
        let fault = state.planned.and_then(|(kind, first)| {
            (kind.call == call && (first..first + kind.calls).contains(&number)).then_some(kind.fault)
        });
        state.hits += u64::from(fault.is_some());
        let sectors = place / SECTOR as u64..(place + length as u64).div_ceil(SECTOR as u64);
        match (call, fault) {
            (Call::Write, None | Some(Fault::Torn(..))) => {
                // A torn write is repeated as a whole.
                sectors.for_each(|sector| {
                    state.lost.remove(&sector);
                    state.dirty.insert(sector);
                });
            }
            (Call::Punch, None) => sectors.for_each(|sector| {
                state.lost.remove(&sector);
                state.dirty.remove(&sector);
            }),
            (Call::Sync, Some(Fault::Error(number))) if number != EINTR => {
                let dirty = std::mem::take(&mut state.dirty);
                state.lost.extend(dirty);
            }
            (Call::Sync, _) => {
                state.lies += u64::from(!state.lost.is_empty());
                state.dirty.clear();
            }
            _ => {}
        }
        fault
    }
}

/// What a disk may hold if some requests failed.
struct Kept {
    model: Model,
    /// Sectors whose last write failed: it may have been done or not.
    unsure: BTreeSet<u64>,
    trimmed: BTreeSet<u64>,
}

impl Kind {
    /// The host cannot read a page, so the FTL loses it if it must move it just then. The NVRAM's end is the disk's.
    fn may_lose(self) -> bool {
        self.is_felt && self.call == Call::Read
    }
}

impl Kept {
    fn begin(&mut self, next: Act, number: u64) {
        self.model.begin(next, number);
        match next {
            Act::Write { sector, sectors } => self.unsure.extend(sector..sector + sectors),
            Act::Trim { sector, sectors } => self.trimmed.extend(sector..sector + sectors),
            Act::Flush => {}
        }
    }

    fn succeeded(&mut self, next: Act) {
        match next {
            Act::Write { sector, sectors } => (sector..sector + sectors).for_each(|at| {
                self.unsure.remove(&at);
                self.trimmed.remove(&at);
            }),
            Act::Flush => {
                let unsure: Vec<_> =
                    self.unsure.iter().map(|&at| (at, self.model.may_hold[at as usize].clone())).collect();
                self.model.flushed();
                unsure.into_iter().for_each(|(at, holds)| self.model.may_hold[at as usize] = holds);
            }
            Act::Trim { .. } => {}
        }
    }

    /// Compares `sectors` with the last answered writes.
    fn compare_now(&self, found: &[u8], first: u64, what: &str) {
        for (at, found) in (first..).zip(found.chunks_exact(SECTOR)) {
            let holds = &self.model.may_hold[at as usize];
            let is_right = match self.unsure.contains(&at) || self.trimmed.contains(&at) {
                true => self.trimmed.contains(&at) || holds.iter().any(|&write| contents(at, write) == found),
                false => contents(at, *holds.last().unwrap()) == found,
            };
            assert!(is_right, "{what}: sector {at} does not hold the last write among {holds:?}");
        }
    }

    /// The same for the whole disk; what cannot be read is right if it `may_fail`.
    fn compare_all(&self, disk: &Disk, may_fail: bool, what: &str) {
        let mut bytes = vec![0; 8 * SECTOR];
        for first in (0..self.model.may_hold.len()).step_by(8) {
            match disk.read((first * SECTOR) as u64, &mut bytes) {
                Ok(_) => self.compare_now(&bytes, first as u64, what),
                Err(error) => assert!(may_fail, "{what}: {error}"),
            }
        }
    }
}

/// A stack's image, and the contents of its disk.
struct Stack<'a> {
    name: String,
    folder: &'a Path,
    sectors: u64,
    access: Access,
}

/// Blocks are collected in it, because much was written before.
fn stack<'a>(folder: &'a Path, ftl: &str, sets: &[&str]) -> Stack<'a> {
    let all: Vec<&str> = ["device.capacity=4MiB"].iter().chain(sets).copied().collect();
    create(&folder.join("first"), ftl, &all);
    let disk = open(&folder.join("first"));
    let sectors = disk.size() / SECTOR as u64;
    for round in 0..2 {
        for sector in (0..sectors).step_by(64) {
            act(&disk, Act::Write { sector, sectors: 64.min(sectors - sector) }, 1 << 20 | round).unwrap();
        }
    }
    disk.close().unwrap();
    Stack { name: format!("{ftl} {sets:?}"), folder, sectors, access: Access::Write }
}

impl Stack<'_> {
    fn opened(&self) -> (Disk, Kept) {
        let image = self.folder.join("image");
        std::fs::copy(self.folder.join("first"), &image).unwrap();
        let mut model = Model::new(self.sectors);
        model.begin(Act::Write { sector: 0, sectors: self.sectors }, 1 << 20 | 1);
        model.flushed();
        let disk = Disk::open(&image, Options { access: self.access, ..Options::default() }).unwrap();
        (disk, Kept { model, unsure: BTreeSet::new(), trimmed: BTreeSet::new() })
    }

    /// The image as a kill would leave it now.
    fn compare_killed(&self, kept: &Kept, what: &str) {
        let killed = self.folder.join("killed");
        std::fs::copy(self.folder.join("image"), &killed).unwrap();
        let disk = open(&killed);
        kept.model.compare(&disk, &format!("{what}, killed"));
        assert!(disk.check().unwrap().is_sound(), "{what}, killed");
    }

    /// Runs the workload with a fault; returns the calls of each kind, and how many requests failed.
    fn run(&self, planned: Option<(Kind, u64)>, what: &str) -> ([u64; 4], u64) {
        let (disk, mut kept) = self.opened();
        let host = Arc::new(Host::default());
        host.state().planned = planned;
        disk.image().set_faults(host.clone());
        let (mut acts, mut random, mut failed) = (Acts::new(3, self.sectors), Random::new(4), 0);
        for number in 1..=ACTS {
            let next = if number == ACTS / 2 { Act::Flush } else { acts.next() };
            kept.begin(next, number);
            let hits = host.state().hits;
            let done = act(&disk, next, number);
            if done.is_ok() {
                kept.succeeded(next);
            } else if failed == 0 && !planned.is_some_and(|(kind, _)| kind.may_lose()) {
                self.compare_killed(&kept, what);
            }
            let sector = random.below(self.sectors - 16);
            let mut found = [0; 16 * SECTOR];
            let read = disk.read(sector * SECTOR as u64, &mut found);
            if read.is_ok() {
                kept.compare_now(&found, sector, what);
            }
            let errors = u64::from(done.is_err()) + u64::from(read.is_err());
            let since = if planned.is_some_and(|(kind, _)| kind.may_lose()) { 0 } else { hits };
            let felt = planned.is_some_and(|(kind, _)| kind.is_felt) && host.state().hits > since;
            assert!(errors == 0 || felt, "{what}, act {number} {next:?}: {done:?} {read:?}");
            failed += errors;
        }
        host.state().planned = None;
        self.compare_end(disk, kept, planned.is_some_and(|(kind, _)| kind.may_lose()), what);
        let state = host.state();
        assert_eq!(state.lies, 0, "{what}: a sync succeeded without what a failed one lost");
        (state.calls, failed)
    }

    /// The fault is over: the disk goes on, and has everything when it is opened again.
    fn compare_end(&self, disk: Disk, mut kept: Kept, may_lose: bool, what: &str) {
        match act(&disk, Act::Flush, 0) {
            Ok(()) => {
                kept.succeeded(Act::Flush);
                kept.compare_all(&disk, may_lose, what);
                assert!(disk.check().unwrap().is_sound(), "{what}");
            }
            Err(error) => assert!(may_lose, "{what}: the fault is over: {error}"),
        }
        if !may_lose {
            self.compare_killed(&kept, what);
            disk.close().unwrap();
        }
        drop(disk);
        let disk = open(&self.folder.join("image"));
        kept.compare_all(&disk, may_lose, &format!("{what}, opened again"));
        assert!(disk.check().unwrap().is_sound(), "{what}, opened again");
    }
}

/// The stacks whose faults differ: maps in memory and on flash, logs, NVRAM, a controller's memory.
fn stacks() -> Vec<(&'static str, &'static [&'static str])> {
    let buffers: [(&str, &[&str]); 2] = [
        ("page", &["buffer=hybrid_lru", "buffer.hybrid_lru.dram=64KiB", "buffer.hybrid_lru.nvram=256KiB"]),
        ("page", &["device.controller={ write_buffer_bytes = 131072, write_buffer_protected = false }"]),
    ];
    let is_long = std::env::var_os("NANDLAB_LONG").is_some();
    let ftls = ftls().into_iter().filter(|ftl| is_long || ["page", "bast", "fast", "dftl"].contains(ftl));
    ftls.map(|ftl| (ftl, &[][..])).chain(buffers).collect()
}

/// Every kind of fault in `most` places.
fn every_fault(stack: &Stack<'_>, most: u64) {
    let (calls, _) = stack.run(None, &stack.name);
    for kind in KINDS {
        let places = calls[kind.call as usize];
        let step = places.div_ceil(most).max(1);
        let mut failed = 0;
        for first in (0..places).step_by(step as usize) {
            let what = format!("{}, {kind:?} from call {first} on", stack.name);
            failed += stack.run(Some((kind, first)), &what).1;
        }
        // One refused write or a sync before an erase is repeated in its request, and a page that cannot be read need not
        // be asked for.
        let is_once = kind.calls == 1 && (kind.call == Call::Write || stack.access == Access::WriteDurably);
        let must_be_felt = kind.is_felt && kind.call != Call::Read && !is_once;
        assert!(places == 0 || !must_be_felt || failed > 0, "{}, {kind:?}: no request failed", stack.name);
    }
}

#[test]
fn a_fault_costs_its_requests_and_nothing_that_was_flushed() {
    let most = if std::env::var_os("NANDLAB_LONG").is_some() { 30 } else { 3 };
    for (ftl, sets) in stacks() {
        let folder = tempfile::tempdir().unwrap();
        every_fault(&stack(folder.path(), ftl, sets), most);
    }
    // Each erase waits for the host's disk.
    let folder = tempfile::tempdir().unwrap();
    let durable = Stack { access: Access::WriteDurably, ..stack(folder.path(), "page", &[]) };
    every_fault(&durable, most);
}

/// A host without room refuses writes with its own error and serves reads; with room, everything goes on.
#[test]
fn a_full_host_disk_serves_reads_and_goes_on_when_there_is_room() {
    let full = kind(Call::Write, Fault::Error(ENOSPC), u64::MAX, true);
    for (ftl, sets) in stacks() {
        let folder = tempfile::tempdir().unwrap();
        let stack = stack(folder.path(), ftl, sets);
        let (disk, mut kept) = stack.opened();
        let host = Arc::new(Host::default());
        disk.image().set_faults(host.clone());
        let mut acts = Acts::new(5, stack.sectors);
        for number in 1..=120 {
            host.state().planned = (20..80).contains(&number).then_some((full, 0));
            let next = acts.next();
            kept.begin(next, number);
            match act(&disk, next, number) {
                Ok(()) => kept.succeeded(next),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::StorageFull, "{}, act {number}", stack.name);
                    assert!((20..80).contains(&number), "{}, act {number}: {error}", stack.name);
                }
            }
            if number % 10 == 0 {
                kept.compare_all(&disk, false, &stack.name);
            }
        }
        let refused = act(&disk, Act::Flush, 0);
        assert!(refused.is_ok() && host.state().hits > 0, "{}: there is room again", stack.name);
        kept.succeeded(Act::Flush);
        stack.compare_killed(&kept, &stack.name);
    }
}

//! Carries out operations on files, and measures them.

use super::hands::{self, Hands};
use super::{Below, Device, Left, Place, Played};
use crate::error::LabError;
use crate::latency::LatencyMeter;
use crate::record::us;
use crate::record::{
    busy_us, FlashCounts, FsBlocks, FsCollections, FsPhase, FsPhases, FsRecord, FsSample, HostCounts, Merges,
    SpeedPhases, StopReason, Stopped,
};
use crate::run::contents::Contents;
use crate::run::mark::sample;
use crate::run::mark::{begin_timeline, Mark};
use crate::stack::Door;
use nandlab_block::{Blank, Completion, Error, Mirror, Op, RamUse, Request};
use nandlab_fs::{FileSystem, FsConfig, FsError};
use nandlab_nand::profile::Profile;
use nandlab_nand::{Cell as Counts, Time, SECTOR_BYTES};
use nandlab_workload::files::FileOp;
use std::time::Instant;

/// Carries out operations, and counts them.
pub(super) struct Player<'a, 'd> {
    pub(super) below: Device<'d>,
    pub(super) profile: &'a Profile,
    hands: Hands,
    keeps_time: bool,
    pub(super) record: FsRecord,
    pub(super) phases: FsPhases,
    /// Where the measured part began.
    pub(super) since: Since,
    part: Part,
    /// When this part began, and how long earlier parts took, on this machine.
    began: Instant,
    wall: SpeedPhases,
    latency: Option<LatencyMeter>,
    /// Transactions between samples.
    every: u64,
    /// Whether samples include each block's live pages.
    pub(super) with_blocks: bool,
    /// Whether to trace the longest request's waits.
    pub(super) explain_longest: bool,
    /// Expected file contents, on bare flash with bytes.
    pub(super) contents: Option<Contents>,
    ram: RamUse,
    pub(super) is_cancelled: bool,
}

/// The separately measured parts in a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Includes formatting and mounting.
    SetUp,
    Transactions,
    CleanUp,
}

/// Counters at one moment.
#[derive(Default)]
pub(super) struct Since {
    mark: Mark,
    host: HostCounts,
    operations: u64,
    /// The host's clock.
    time: Time,
}

impl<'a, 'd> Player<'a, 'd> {
    pub(super) fn new(below: &Device<'d>, profile: &'a Profile, seed: u64, keeps_time: bool, every: u64) -> Self {
        Self {
            below: below.clone(),
            profile,
            hands: Hands::new(seed),
            keeps_time,
            record: FsRecord::default(),
            phases: FsPhases::default(),
            since: Since::now(below, 0),
            part: Part::SetUp,
            began: Instant::now(),
            wall: SpeedPhases::default(),
            latency: keeps_time.then(LatencyMeter::default),
            every,
            with_blocks: false,
            contents: None,
            explain_longest: false,
            ram: RamUse::default(),
            is_cancelled: false,
        }
    }

    /// Begins the measurement, after format and mount.
    pub(super) fn begin(&mut self) {
        self.phases.mount = self.phase();
        let below = &mut *self.below.0.borrow_mut();
        below.meter.restart();
        if self.explain_longest {
            below.engine.look_for_stalls();
        }
        below.start = Mark::of(below.engine);
        begin_timeline(below.engine, below.meter, &below.start);
        below.now = below.start.time;
        self.since.time = below.now;
        self.since.host = HostCounts::default();
    }

    /// Ends a part and returns its cost; the next part begins.
    pub(super) fn phase(&mut self) -> FsPhase {
        let now = Since::now(&self.below, self.record.operations.total);
        let since = std::mem::replace(&mut self.since, now);
        let now = &self.since;
        let counted = now.mark.matrix.since(&since.mark.matrix).total();
        let slc = now.mark.slc_since(&since.mark).map(|slc| slc.total());
        let (events, before) = (&now.mark.events, &since.mark.events);
        FsPhase {
            operations: now.operations - since.operations,
            requests: now.host.requests - since.host.requests,
            read_sectors: now.host.read_sectors - since.host.read_sectors,
            written_sectors: now.host.written_sectors - since.host.written_sectors,
            flash: FlashCounts::of(&counted),
            merges: Merges::between(before, events),
            migrations: events.migrations - before.migrations,
            busy_us: busy_us(self.profile, &counted, slc.as_ref()),
            time_us: self.keeps_time.then(|| us(now.time - since.time)),
        }
    }

    /// Goes on to the run's next part.
    fn enter(&mut self, part: Part) {
        let ended = self.phase();
        let wall_s = self.began.elapsed().as_secs_f64();
        let (phases, wall) = (&mut self.phases, &mut self.wall);
        let (phase, took_s) = match self.part {
            Part::SetUp => (&mut phases.set_up, &mut wall.set_up_s),
            Part::Transactions => (&mut phases.transactions, &mut wall.transactions_s),
            Part::CleanUp => (&mut phases.clean_up, &mut wall.clean_up_s),
        };
        (*phase, *took_s) = (ended, wall_s);
        (self.part, self.began) = (part, Instant::now());
    }

    pub(super) fn carry_out(&mut self, place: &mut Place<'_>, op: &FileOp) -> Result<(), FsError> {
        match op {
            FileOp::Transaction => {
                if self.part == Part::SetUp {
                    self.enter(Part::Transactions);
                } else {
                    self.watch();
                    if self.record.transactions % self.every == 0 {
                        self.sample();
                    }
                }
                self.record.transactions += 1;
                return Ok(());
            }
            FileOp::CleanUp => {
                self.watch();
                self.sample();
                self.enter(Part::CleanUp);
                return Ok(());
            }
            _ => {}
        }
        let start = self.below.0.borrow().now;
        let kind = match place {
            Place::Over(fs) => self.on_files(&mut **fs, op)?,
            Place::Within => self.on_engine(op)?,
        };
        self.record.operations.add(op);
        if let Some(latency) = &mut self.latency {
            let completion = Completion { arrival: start, done: self.below.0.borrow().now };
            latency.add(&Request::new(kind, 0, 0), &completion);
        }
        Ok(())
    }

    /// Carries out an operation on the engine itself, measured as a host request.
    fn on_engine(&mut self, op: &FileOp) -> Result<Op, FsError> {
        let below = self.below.clone();
        let Below { engine, meter, start, now } = &mut *below.0.borrow_mut();
        let (arrival, asked) = (*now, asked(op));
        if let Some(timeline) = &meter.timeline {
            timeline.outside(asked.is_none());
        }
        let done = self.on_files(engine.on_files().files(), op);
        *now = engine.now();
        let is_lost = matches!(done, Err(FsError::Device(Error::Unreadable { .. })));
        if is_lost {
            engine.on_files().count_unreadable();
        }
        if let Some(request) = asked.filter(|_| done.is_ok() || is_lost) {
            let failed = if is_lost { &[0][..] } else { &[] };
            meter.add(&[request], &[Completion { arrival, done: *now }], failed);
            if meter.series.is_due(meter.host.requests) {
                sample(*engine, meter, start);
            }
        }
        if let (Some(contents), Ok(_)) = (&mut self.contents, &done) {
            contents.follow(op, self.hands.bytes());
        }
        done
    }

    /// Carries out an operation, and returns its latency category.
    fn on_files(&mut self, fs: &mut dyn FileSystem, op: &FileOp) -> Result<Op, FsError> {
        let kind = self.hands.carry_out(fs, op)?;
        (self.record.read_bytes, self.record.written_bytes) = (self.hands.read_bytes, self.hands.written_bytes);
        Ok(kind)
    }

    /// Notes events on their first occurrence, at a transaction's end.
    pub(super) fn watch(&mut self) {
        let (Some(first), Part::Transactions) = (&mut self.record.first, self.part) else { return };
        let below = &mut *self.below.0.borrow_mut();
        let number = Some(self.record.transactions);
        let collected = below.engine.collections().zip(self.since.mark.collections);
        if let Some(gc) = collected.map(|(now, before)| FsCollections::between(&before, &now)) {
            first.passive = first.passive.or(number.filter(|_| gc.passive > 0));
            first.aggressive = first.aggressive.or(number.filter(|_| gc.aggressive > 0));
        }
        if first.all_used.is_none() {
            let blocks = below.engine.on_files().blocks();
            let unused = blocks.map(|blocks| FsBlocks::unused(&blocks, below.engine.chip().pe_cycles()));
            first.all_used = number.filter(|_| unused == Some(0));
        }
    }

    /// Adds a sample to the transactions' series.
    pub(super) fn sample(&mut self) {
        let is_new = self.record.samples.last().is_none_or(|last| last.transactions < self.record.transactions);
        if self.part != Part::Transactions || !is_new {
            return;
        }
        let below = &mut *self.below.0.borrow_mut();
        let counted: Counts = below.engine.matrix().since(&self.since.mark.matrix).total();
        let slc = below.engine.slc().zip(self.since.mark.slc.as_ref()).map(|(now, since)| now.since(since).total());
        let (host, flash) = (&below.meter.host, FlashCounts::of(&counted));
        let time = below.now - self.since.time;
        let collected = below.engine.collections().zip(self.since.mark.collections);
        let blocks = match below.engine.door() {
            Door::Files(files) => files.blocks(),
            Door::Requests(_) => None,
        };
        let pe_cycles = below.engine.chip().pe_cycles();
        self.record.samples.push(FsSample {
            transactions: self.record.transactions,
            requests: host.requests - self.since.host.requests,
            written_sectors: host.written_sectors - self.since.host.written_sectors,
            reads: flash.reads,
            programs: flash.programs,
            copies: flash.copies,
            erases: flash.erases,
            busy_us: busy_us(self.profile, &counted, slc.as_ref()),
            time_us: self.keeps_time.then(|| us(time)),
            gc: collected.map(|(now, before)| FsCollections::between(&before, &now)),
            blocks: blocks.map(|blocks| FsBlocks::of(&blocks, pe_cycles, self.with_blocks)),
        });
    }

    /// Notes the file system's memory and free space at the end.
    pub(super) fn look(&mut self, fs: &mut dyn FileSystem) {
        self.ram = fs.ram();
        self.record.volume.free_bytes = fs.space().ok().map(|space| space.free_bytes);
    }

    fn stopped(&self, why: StopReason, what: &str) -> Stopped {
        let operations = self.record.operations.total;
        let what = if what.is_empty() { String::new() } else { format!(": {what}") };
        let place = match self.part {
            Part::SetUp => "before the first transaction".to_owned(),
            Part::Transactions => format!("in transaction {}", self.record.transactions),
            Part::CleanUp => "in the clean-up after the last transaction".to_owned(),
        };
        let s = if operations == 1 { "" } else { "s" };
        Stopped { why, message: format!("after {operations} operation{s} on files, {place}{what}") }
    }

    pub(super) fn cancelled(&self) -> Stopped {
        self.stopped(StopReason::Cancelled, "")
    }

    /// How the run ends after `error`: with a partial record, or none.
    pub(super) fn stop(&self, fs: &FsConfig, error: FsError) -> Result<Stopped, LabError> {
        let (why, what) = hands::reason(fs, error)?;
        Ok(self.stopped(why, &what))
    }

    /// The result; work since the last part began belongs to it, including the unmount.
    pub(super) fn played(mut self, stopped: Option<Stopped>, volume: Option<Mirror<Blank>>) -> Played {
        self.enter(Part::CleanUp);
        self.record.phases = self.phases;
        self.record.latency_us = self.latency.as_ref().map(LatencyMeter::summary);
        let below = &mut *self.below.0.borrow_mut();
        // Operations that are no requests count, too.
        below.meter.answered = below.meter.answered.max(below.now);
        let start = std::mem::replace(&mut below.start, Mark::of(below.engine));
        Played { stopped, start, left: Left { fs: self.record, ram: self.ram, wall: self.wall, volume } }
    }
}

/// The workload's request to a file system directly on the engine, in file sectors.
fn asked(op: &FileOp) -> Option<Request> {
    let sectors = |kind, at: u64, bytes: u32| {
        let sector = at / u64::from(SECTOR_BYTES);
        let end = (at + u64::from(bytes)).div_ceil(SECTOR_BYTES.into());
        Request::new(kind, sector, (end - sector) as u32)
    };
    match *op {
        FileOp::Read { at, bytes, .. } => Some(sectors(Op::Read, at, bytes)),
        FileOp::Write { at, bytes, .. } => Some(sectors(Op::Write, at, bytes)),
        FileOp::Sync(_) => Some(Request::new(Op::Flush, 0, 0)),
        _ => None,
    }
}

impl Since {
    fn now(below: &Device<'_>, operations: u64) -> Self {
        let below = &mut *below.0.borrow_mut();
        Self { mark: Mark::of(below.engine), host: below.meter.host, operations, time: below.now }
    }
}

//! Plays a file workload: a file system over the engine, operation by operation.

use crate::config::key_and_message;
use crate::control::Phase;
use crate::engine::Engine;
use crate::error::{ConfigError, LabError};
use crate::latency::LatencyMeter;
use crate::meter::Meter;
use crate::oplog::OpLog;
use crate::record::{
    FlashCounts, FsPhase, FsPhases, FsRecord, FsSample, HostCounts, Merges, StopReason, Stopped, VolumeRecord,
};
use crate::run::{sample, us, Mark, Run, BATCH};
use nandlab_block::{BlockDevice, Completion, Error, Mirror, Op, Payload, RamUse, Request};
use nandlab_fs::{FileSystem, FsConfig, FsError, Handle};
use nandlab_nand::profile::Profile;
use nandlab_nand::random::Random;
use nandlab_nand::{Cell as Counts, Time};
use nandlab_workload::files::{FileOp, FileWorkload, Slot};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Stream of the experiment's seed that the contents of files are drawn from.
const CONTENTS_STREAM: u64 = 5;

/// Samples of a run, where the experiment does not say how many transactions make one.
const MOST_SAMPLES: u64 = 100;

/// The engine as the device of a file system, measured. The player looks at it between operations.
struct Below<'a> {
    engine: &'a mut dyn Engine,
    meter: &'a mut Meter,
    start: Mark,
    /// The end of the latest request.
    now: Time,
}

#[derive(Clone)]
struct Device<'a>(Rc<RefCell<Below<'a>>>);

impl BlockDevice for Device<'_> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let Below { engine, meter, start, now } = &mut *self.0.borrow_mut();
        // What came before the measurement is over.
        let request = Request { time: request.time.max(start.time), ..*request };
        let submitted = engine.submit_one(&request, data);
        match &submitted {
            Ok(completion) => {
                *now = completion.done.max(*now);
                meter.add(&[request], &[*completion], &[]);
            }
            Err(Error::Unreadable { .. }) => {
                *now = engine.now().max(request.time);
                meter.add(&[request], &[Completion { arrival: request.time, done: *now }], &[0]);
            }
            Err(_) => {}
        }
        if meter.series.is_due(meter.host.requests) {
            sample(*engine, meter, start);
        }
        submitted
    }

    fn sectors(&self) -> u64 {
        self.0.borrow().engine.sectors()
    }
}

/// What a file workload came to.
pub(crate) struct Played {
    pub(crate) stopped: Option<Stopped>,
    pub(crate) fs: FsRecord,
    pub(crate) ram: RamUse,
    /// When the volume was mounted: the record begins there.
    pub(crate) start: Mark,
}

/// Plays `ops`, of about `total` transactions, on a file system that is made for it.
pub(crate) fn play(
    run: &mut Run<'_>,
    ops: &mut dyn FileWorkload,
    total: u64,
    meter: &mut Meter,
) -> Result<Played, LabError> {
    let Run { experiment, control, log, .. } = *run;
    let fs = experiment.fs.as_ref().expect("an experiment with a file workload was checked to have a file system");
    let (keeps_time, has_bytes) = (run.keeps_time(), run.has_bytes());
    let every = match experiment.host.sample_transactions {
        0 => total.div_ceil(MOST_SAMPLES).max(1),
        every => every,
    };
    let start = run.mark();
    let now = start.time;
    let below = Device(Rc::new(RefCell::new(Below { engine: run.engine(), meter, start, now })));
    let mut mirror = if has_bytes { Mirror::comparing(below.clone()) } else { Mirror::new(below.clone()) };
    let mut player = Player::new(&below, &experiment.device.profile, experiment.seed, keeps_time, every);
    let mut ended = Ok(());
    enter(log, Phase::Precondition);
    let formatted = fs.format(&mut mirror);
    player.phases.format = player.phase();
    match formatted {
        Err(error) => ended = Err(error),
        Ok(volume) => {
            player.record.volume =
                VolumeRecord { unit_bytes: volume.unit_bytes, units: volume.units, free_bytes: None };
            let mounted = fs.mounted(&mut mirror, |fs| {
                player.begin();
                enter(log, Phase::Workload);
                loop {
                    if player.record.operations.total % BATCH == 0 {
                        control.set_done(player.record.transactions);
                        log.map_or(Ok(()), OpLog::state)?;
                    }
                    if control.is_cancelled() {
                        return Ok(true);
                    }
                    let Some(op) = ops.next() else { break };
                    ended = player.carry_out(fs, &op.map_err(|error| experiment.explain(error))?);
                    if ended.is_err() {
                        break;
                    }
                }
                player.look(fs);
                Ok::<bool, LabError>(false)
            });
            match mounted {
                Ok(is_cancelled) => {
                    player.is_cancelled = is_cancelled?;
                }
                Err(error) => ended = ended.and(Err(error)),
            }
        }
    }
    control.set_done(player.record.transactions);
    log.map_or(Ok(()), OpLog::state)?;
    let stopped = match ended {
        Err(error) => Some(player.stop(fs, error)?),
        Ok(()) => player.is_cancelled.then(|| player.cancelled()),
    };
    Ok(player.played(stopped))
}

/// Names in the operation log what the operations from now on are for.
fn enter(log: Option<&OpLog>, phase: Phase) {
    if let Some(log) = log {
        log.enter(phase);
    }
}

/// What carries out operations, and counts them.
struct Player<'a, 'd> {
    below: Device<'d>,
    profile: &'a Profile,
    random: Random,
    keeps_time: bool,
    open: BTreeMap<Slot, Handle>,
    bytes: Vec<u8>,
    record: FsRecord,
    phases: FsPhases,
    /// Where the part of the run that is being measured began.
    since: Since,
    part: Part,
    latency: Option<LatencyMeter>,
    /// Transactions between samples.
    every: u64,
    ram: RamUse,
    is_cancelled: bool,
}

/// The parts of a run that are measured apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Formatting and mounting, too.
    SetUp,
    Transactions,
    CleanUp,
}

/// The counters at one moment.
struct Since {
    mark: Mark,
    host: HostCounts,
    operations: u64,
}

impl<'a, 'd> Player<'a, 'd> {
    fn new(below: &Device<'d>, profile: &'a Profile, seed: u64, keeps_time: bool, every: u64) -> Self {
        Self {
            below: below.clone(),
            profile,
            random: Random::stream(seed, CONTENTS_STREAM),
            keeps_time,
            open: BTreeMap::new(),
            bytes: Vec::new(),
            record: FsRecord::default(),
            phases: FsPhases::default(),
            since: Since::now(below, 0),
            part: Part::SetUp,
            latency: keeps_time.then(LatencyMeter::default),
            every,
            ram: RamUse::default(),
            is_cancelled: false,
        }
    }

    /// Begins the measurement: what came before was format and mount.
    fn begin(&mut self) {
        self.phases.mount = self.phase();
        let below = &mut *self.below.0.borrow_mut();
        below.meter.restart();
        below.start = Mark::of(below.engine);
        below.now = below.start.time;
        self.since.host = HostCounts::default();
    }

    /// What the part that ends here cost; the next one begins.
    fn phase(&mut self) -> FsPhase {
        let now = Since::now(&self.below, self.record.operations.total);
        let since = std::mem::replace(&mut self.since, now);
        let now = &self.since;
        let counted = now.mark.matrix.since(&since.mark.matrix).total();
        let (events, before) = (&now.mark.events, &since.mark.events);
        FsPhase {
            operations: now.operations - since.operations,
            requests: now.host.requests - since.host.requests,
            read_sectors: now.host.read_sectors - since.host.read_sectors,
            written_sectors: now.host.written_sectors - since.host.written_sectors,
            flash: FlashCounts::of(&counted),
            merges: Merges {
                switch: events.switch_merges - before.switch_merges,
                partial: events.partial_merges - before.partial_merges,
                full: events.full_merges - before.full_merges,
            },
            migrations: events.migrations - before.migrations,
            busy_us: us(self.profile.busy_ns(&counted)),
            time_us: self.keeps_time.then(|| us(now.mark.time - since.mark.time)),
        }
    }

    /// Goes on to the next part of the run.
    fn enter(&mut self, part: Part) {
        let ended = self.phase();
        match self.part {
            Part::SetUp => self.phases.set_up = ended,
            Part::Transactions => self.phases.transactions = ended,
            Part::CleanUp => self.phases.clean_up = ended,
        }
        self.part = part;
    }

    fn carry_out(&mut self, fs: &mut dyn FileSystem, op: &FileOp) -> Result<(), FsError> {
        match op {
            FileOp::Transaction => {
                if self.part == Part::SetUp {
                    self.enter(Part::Transactions);
                } else if self.record.transactions % self.every == 0 {
                    self.sample();
                }
                self.record.transactions += 1;
                return Ok(());
            }
            FileOp::CleanUp => {
                self.sample();
                self.enter(Part::CleanUp);
                return Ok(());
            }
            _ => {}
        }
        let start = self.below.0.borrow().now;
        let kind = self.on_files(fs, op)?;
        self.record.operations.add(op);
        if let Some(latency) = &mut self.latency {
            let completion = Completion { arrival: start, done: self.below.0.borrow().now };
            latency.add(&Request::new(kind, 0, 0), &completion);
        }
        Ok(())
    }

    /// Carries out an operation, and says under what it is measured.
    fn on_files(&mut self, fs: &mut dyn FileSystem, op: &FileOp) -> Result<Op, FsError> {
        let opened = |open: &BTreeMap<Slot, Handle>, file: Slot| {
            *open.get(&file).unwrap_or_else(|| panic!("the workload uses slot {file} for no open file"))
        };
        match op {
            FileOp::Transaction | FileOp::CleanUp => unreachable!("these are no operations on files"),
            FileOp::Mkdir(path) => fs.mkdir(path)?,
            FileOp::Rmdir(path) => fs.rmdir(path)?,
            FileOp::Create { file, path } => drop(self.open.insert(*file, fs.create(path)?)),
            FileOp::Open { file, path } => {
                self.open.insert(*file, fs.open(path)?);
                return Ok(Op::Read);
            }
            FileOp::Close(file) => {
                fs.close(opened(&self.open, *file))?;
                self.open.remove(file);
            }
            FileOp::Read { file, at, bytes } => {
                self.bytes.resize(*bytes as usize, 0);
                self.record.read_bytes += fs.read(opened(&self.open, *file), *at, &mut self.bytes)? as u64;
                return Ok(Op::Read);
            }
            FileOp::Write { file, at, bytes } => {
                self.draw(*bytes as usize);
                fs.write(opened(&self.open, *file), *at, &self.bytes)?;
                self.record.written_bytes += u64::from(*bytes);
            }
            FileOp::Truncate { file, bytes } => fs.truncate(opened(&self.open, *file), *bytes)?,
            FileOp::Sync(file) => {
                fs.sync(opened(&self.open, *file))?;
                return Ok(Op::Flush);
            }
            FileOp::Rename { from, to } => fs.rename(from, to)?,
            FileOp::Unlink(path) => fs.unlink(path)?,
        }
        Ok(Op::Write)
    }

    /// Makes the contents of the next write.
    fn draw(&mut self, bytes: usize) {
        self.bytes.clear();
        while self.bytes.len() < bytes {
            self.bytes.extend_from_slice(&self.random.next_u64().to_le_bytes());
        }
        self.bytes.truncate(bytes);
    }

    /// Adds to the course of the transactions.
    fn sample(&mut self) {
        let is_new = self.record.samples.last().is_none_or(|last| last.transactions < self.record.transactions);
        if self.part != Part::Transactions || !is_new {
            return;
        }
        let below = &mut *self.below.0.borrow_mut();
        let counted: Counts = below.engine.matrix().since(&self.since.mark.matrix).total();
        let (host, flash) = (&below.meter.host, FlashCounts::of(&counted));
        let time = below.engine.now() - self.since.mark.time;
        self.record.samples.push(FsSample {
            transactions: self.record.transactions,
            requests: host.requests - self.since.host.requests,
            written_sectors: host.written_sectors - self.since.host.written_sectors,
            reads: flash.reads,
            programs: flash.programs,
            copies: flash.copies,
            erases: flash.erases,
            busy_us: us(self.profile.busy_ns(&counted)),
            time_us: self.keeps_time.then(|| us(time)),
        });
    }

    /// Notes at the end what the file system needed and has left.
    fn look(&mut self, fs: &mut dyn FileSystem) {
        self.sample();
        self.ram = fs.ram();
        self.record.volume.free_bytes = fs.space().ok().map(|space| space.free_bytes);
    }

    fn stopped(&self, why: StopReason, what: &str) -> Stopped {
        let (transactions, operations) = (self.record.transactions, self.record.operations.total);
        let what = if what.is_empty() { String::new() } else { format!(": {what}") };
        Stopped { why, message: format!("after {operations} operations on files, in transaction {transactions}{what}") }
    }

    fn cancelled(&self) -> Stopped {
        self.stopped(StopReason::Cancelled, "")
    }

    /// What becomes of the run after `error`: a partial record, or none.
    fn stop(&self, fs: &FsConfig, error: FsError) -> Result<Stopped, LabError> {
        match error {
            FsError::Device(Error::PowerLost) => Err(LabError::PowerLost),
            FsError::Device(Error::WornOut(_)) => Ok(self.stopped(StopReason::WornOut, &error.to_string())),
            FsError::Device(Error::Unreadable { .. }) => {
                let what = format!("{error}; the file system cannot go on without it");
                Ok(self.stopped(StopReason::Unreadable, &what))
            }
            FsError::Full { .. } => {
                let what = format!("{error}; a larger device.capacity has more, or the workload needs less");
                Ok(self.stopped(StopReason::FsFull, &what))
            }
            FsError::Option { .. } => {
                let (key, message) = key_and_message(fs.name(), &error);
                Err(ConfigError { message, key: Some(key), ..Default::default() }.into())
            }
            other => panic!("a workload names only what it made, on a volume that was made for it: {other}"),
        }
    }

    /// The record; what was done since the last part began, the unmount included, belongs to that.
    fn played(mut self, stopped: Option<Stopped>) -> Played {
        self.enter(Part::CleanUp);
        self.record.phases = self.phases;
        self.record.latency_us = self.latency.as_ref().map(LatencyMeter::summary);
        let below = &mut *self.below.0.borrow_mut();
        let start = std::mem::replace(&mut below.start, Mark::of(below.engine));
        Played { stopped, fs: self.record, ram: self.ram, start }
    }
}

impl Since {
    fn now(below: &Device<'_>, operations: u64) -> Self {
        let below = &mut *below.0.borrow_mut();
        Self { mark: Mark::of(below.engine), host: below.meter.host, operations }
    }
}

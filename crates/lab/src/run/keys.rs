//! Plays a key workload operation by operation: an index over the engine.

mod below;
mod left;

use crate::control::Control;
use crate::error::{ConfigError, LabError};
use crate::latency::LatencyMeter;
use crate::record::{IndexRecord, OperationCounts, StopReason, Stopped};
use crate::run::mark::{begin_timeline, Mark};
use crate::run::meter::Meter;
use crate::run::session::{Run, BATCH};
use crate::stack::{OpLog, Timeline};
use below::Below;
use nandlab_block::{BlockDevice, Completion, Error, HostClock, Mirror, Op, PathTimes, Request, Switch};
use nandlab_index::{AnyIndex, Index, IndexConfig, IndexError, Options};
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::Time;
use nandlab_workload::keys::{Action, KeyOp, KeyOptions, KeySetting, KeyWorkload};
use nandlab_workload::WorkloadError;
use std::iter::Peekable;

/// A key workload's result.
pub(crate) struct Played {
    pub(crate) stopped: Option<Stopped>,
    pub(crate) index: IndexRecord,
}

/// Plays `ops` on a new index.
pub(crate) fn play(
    run: &mut Run<'_>,
    ops: &mut dyn KeyWorkload,
    meter: &mut Meter,
    start: &Mark,
) -> Result<Played, LabError> {
    let Run { experiment, control, log, timeline, .. } = *run;
    let index = experiment.index.as_ref().expect("an experiment with a key workload was checked to have an index");
    let (seed, keeps_time, has_bytes) = (experiment.seed, run.keeps_time(), run.has_bytes());
    if experiment.host.explain_longest {
        run.engine().look_for_stalls();
    }
    begin_timeline(run.engine(), meter, start);
    // A device without times has no order of events: its jobs run in the foreground.
    let clock = (index.has_jobs() && run.engine().follow_events())
        .then(|| HostClock::open_loop().follow_events(&PathTimes::default(), start.time));
    meter.by_events = clock.is_some();
    if let (Some(timeline), Some(_)) = (timeline, &clock) {
        timeline.follow_events();
    }
    let below = Below { engine: run.engine(), meter, start, clock, begun: 0 };
    let mut mirror = if has_bytes { Mirror::comparing(below) } else { Mirror::new(below) };
    let switch = mirror.switch();
    let explain = |error| experiment.explain(error);
    let between = || {
        log.map_or(Ok(()), OpLog::state)?;
        timeline.map_or(Ok(()), Timeline::state)
    };
    let loaded = || ();
    let host = Host {
        index,
        seed,
        keeps_time,
        control,
        between: &between,
        explain: &explain,
        load: None,
        loaded: &loaded,
        room: "device.capacity",
    };
    host.play(&mut mirror, &switch, ops)
}

/// Who plays operations on keys.
pub(super) struct Host<'a> {
    pub(super) index: &'a IndexConfig,
    pub(super) seed: u64,
    pub(super) keeps_time: bool,
    /// Hears how many operations are done, and ends them.
    pub(super) control: &'a Control,
    /// Called now and then between operations.
    pub(super) between: &'a dyn Fn() -> Result<(), LabError>,
    /// What an error of the workload means.
    pub(super) explain: &'a dyn Fn(WorkloadError) -> LabError,
    /// The operations of a load that is no part of what is measured, a bulk load among them.
    pub(super) load: Option<u64>,
    /// Called behind the load.
    pub(super) loaded: &'a dyn Fn(),
    /// What would give the index more room.
    pub(super) room: &'a str,
}

impl Host<'_> {
    /// Plays `ops` on a new index on `device`, whose `switch` takes the device below off at the end.
    pub(super) fn play(
        &self,
        device: &mut dyn BlockDevice,
        switch: &Switch,
        ops: &mut dyn KeyWorkload,
    ) -> Result<Played, LabError> {
        let Self { index, control, .. } = *self;
        let (tree, created) = match AnyIndex::create(device, index) {
            Ok(tree) => (Some(tree), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let mut player = Player::new(index, self.seed, (self.keeps_time, self.room), control);
        let mut stopped = match created {
            Ok(()) => None,
            Err(error) => Some(player.stop(index, error)?),
        };
        let Some(mut tree) = tree else {
            return Ok(Played { stopped, index: player.record(None, switch) });
        };
        let mut ops = ops.peekable();
        if let Err(error) = player.load(tree.as_dyn(), &mut ops) {
            stopped = Some(player.stop(index, error)?);
        }
        let mut load = self.load;
        while stopped.is_none() {
            if load.take_if(|load| player.done >= *load).is_some() {
                (self.loaded)();
                player.begin(tree.as_dyn());
            }
            if player.done % BATCH == 0 {
                control.set_done(player.done);
                (self.between)()?;
            }
            if control.is_cancelled() {
                stopped = Some(player.cancelled());
                break;
            }
            let Some(op) = ops.next() else { break };
            let op = op.map_err(self.explain)?;
            if let Err(error) = player.operation(tree.as_dyn(), op) {
                stopped = Some(player.stop(index, error)?);
            }
        }
        if stopped.is_none() {
            if let Err(error) = compact_at_end(&mut tree, index) {
                stopped = Some(player.stop(index, error)?);
            }
        }
        if let Err(error) = end_jobs(&mut tree) {
            let why = player.stop(index, error)?;
            stopped.get_or_insert(why);
        }
        if load.is_some() {
            // It ended in its load, so nothing was measured.
            player.begin(tree.as_dyn());
        }
        control.set_done(player.done);
        (self.between)()?;
        Ok(Played { stopped, index: player.record(Some(&mut tree), switch) })
    }
}

/// A key workload's operations; a trace is read through, so its errors appear before the run.
pub(crate) fn count(
    options: &dyn KeyOptions,
    setting: &KeySetting<'_>,
    watch: &dyn Fn(u64) -> bool,
) -> Result<u64, WorkloadError> {
    if let Some(operations) = options.operations() {
        return Ok(operations);
    }
    let mut operations = 0;
    for op in options.open(setting)? {
        op?;
        operations += 1;
        if operations % BATCH == 0 && !watch(operations) {
            break;
        }
    }
    Ok(operations)
}

/// The compactions that an LSM tree with `compact_at_end` ends with.
fn compact_at_end(tree: &mut AnyIndex<'_>, index: &IndexConfig) -> Result<(), IndexError> {
    match (tree, index) {
        (AnyIndex::Lsm(tree), IndexConfig::Lsm(options)) if options.compact_at_end => tree.compact_top(),
        _ => Ok(()),
    }
}

/// Lets the jobs in the background end, unless the index cannot go on.
fn end_jobs(tree: &mut AnyIndex<'_>) -> Result<(), IndexError> {
    match tree {
        AnyIndex::Btree(_) => Ok(()),
        AnyIndex::Lsm(tree) => match tree.end_jobs() {
            Err(IndexError::Broken) => Ok(()),
            ended => ended,
        },
    }
}

/// Carries out operations, and counts them.
struct Player<'a> {
    config: &'a IndexConfig,
    control: &'a Control,
    room: &'a str,
    random: Random,
    value: Vec<u8>,
    /// Operations in all; the counts below begin with what is measured.
    done: u64,
    counts: OperationCounts,
    user_bytes: u64,
    scanned_records: u64,
    absent: u64,
    present: u64,
    flushes: u64,
    /// What the index wrote before.
    written_before: u64,
    latency: Option<LatencyMeter>,
}

impl<'a> Player<'a> {
    fn new(config: &'a IndexConfig, seed: u64, (keeps_time, room): (bool, &'a str), control: &'a Control) -> Self {
        Self {
            config,
            control,
            room,
            random: Random::of(seed, Stream::IndexValues),
            value: Vec::new(),
            done: 0,
            counts: OperationCounts::default(),
            user_bytes: 0,
            scanned_records: 0,
            absent: 0,
            present: 0,
            flushes: 0,
            written_before: 0,
            latency: keeps_time.then(LatencyMeter::default),
        }
    }

    /// What is measured begins here.
    fn begin(&mut self, tree: &dyn Index) {
        self.counts = OperationCounts::default();
        (self.user_bytes, self.scanned_records, self.absent, self.present, self.flushes) = (0, 0, 0, 0, 0);
        self.written_before = tree.written_bytes();
        self.latency = self.latency.take().map(|_| LatencyMeter::default());
    }

    /// Carries out the stream's initial bulk load.
    fn load(&mut self, tree: &mut dyn Index, ops: &mut Peekable<&mut dyn KeyWorkload>) -> Result<(), IndexError> {
        let is_load = |op: &Result<KeyOp, _>| matches!(op, Ok(KeyOp { action: Action::Load, .. }));
        if !ops.peek().is_some_and(is_load) {
            return Ok(());
        }
        let fill = self.config.load_fill();
        let mut records = std::iter::from_fn(|| {
            if self.done % BATCH == 0 {
                self.control.set_done(self.done);
                if self.control.is_cancelled() {
                    return None;
                }
            }
            let op = ops.next_if(is_load)?.ok()?;
            self.done += 1;
            self.counts.load += 1;
            self.counts.total += 1;
            self.draw_value();
            let key = key(self.config, op);
            self.user_bytes += (key.len() + self.value.len()) as u64;
            Some((key, self.value.clone()))
        });
        tree.bulk_load(&mut records, fill)?;
        if self.config.flush_every() > 0 {
            self.flush(tree)?;
        }
        Ok(())
    }

    /// Carries out one operation, and the flush due after it.
    fn operation(&mut self, tree: &mut dyn Index, op: KeyOp) -> Result<(), IndexError> {
        let start = tree.now();
        match self.carry_out(tree, op) {
            // The index keeps the last flush's pages until the next one.
            Err(IndexError::Full { shadow: true, .. }) => {
                self.flush(tree)?;
                self.carry_out(tree, op)?;
            }
            done => done?,
        }
        if self.control.is_cancelled() {
            // The run ended inside it.
            return Ok(());
        }
        let is_read = matches!(op.action, Action::Read | Action::Scan(_));
        self.took(tree, if is_read { Op::Read } else { Op::Write }, start);
        self.done += 1;
        self.counts.add(op.action);
        if self.config.flush_every() > 0 && self.done % self.config.flush_every() == 0 {
            self.flush(tree)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, tree: &mut dyn Index, op: KeyOp) -> Result<(), IndexError> {
        let key = key(self.config, op);
        if matches!(op.action, Action::Insert | Action::Update | Action::Put | Action::ReadModifyWrite) {
            self.draw_value();
        }
        let record_bytes = (key.len() + self.value.len()) as u64;
        let mut changed = 0;
        match op.action {
            Action::Load => unreachable!("a bulk load comes first, and was carried out"),
            Action::Insert if tree.insert(&key, &self.value)? => changed = record_bytes,
            Action::Insert => self.present += 1,
            Action::Update if tree.update(&key, &self.value)? => changed = record_bytes,
            Action::Update => self.absent += 1,
            Action::Put => {
                tree.put(&key, &self.value)?;
                changed = record_bytes;
            }
            Action::Read => self.absent += u64::from(!tree.contains(&key)?),
            Action::ReadModifyWrite => {
                tree.contains(&key)?;
                if tree.update(&key, &self.value)? {
                    changed = record_bytes;
                } else {
                    self.absent += 1;
                }
            }
            Action::Scan(records) => self.scan(tree, &key, records)?,
            Action::Delete => {
                let was_there = tree.delete(&key)?;
                self.absent += u64::from(was_there == Some(false));
                changed = if was_there == Some(false) { 0 } else { key.len() as u64 };
            }
        }
        self.user_bytes += changed;
        Ok(())
    }

    fn scan(&mut self, tree: &mut dyn Index, from: &[u8], records: u32) -> Result<(), IndexError> {
        let control = self.control;
        let mut goes_on = |n: u64| n < u64::from(records) && !(n % BATCH == 0 && control.is_cancelled());
        self.scanned_records += tree.scan(from, &mut goes_on)?;
        Ok(())
    }

    fn flush(&mut self, tree: &mut dyn Index) -> Result<(), IndexError> {
        let start = tree.now();
        tree.flush()?;
        self.flushes += 1;
        self.took(tree, Op::Flush, start);
        Ok(())
    }

    fn took(&mut self, tree: &dyn Index, op: Op, start: Time) {
        if let Some(latency) = &mut self.latency {
            let completion = Completion { arrival: start, done: tree.now() };
            latency.add(&Request::new(op, 0, 0), &completion);
        }
    }

    /// Draws the next value.
    fn draw_value(&mut self) {
        let (least, longest) = self.config.value_bytes();
        let bytes =
            u64::from(least) + if least < longest { self.random.below(u64::from(longest - least) + 1) } else { 0 };
        self.value.clear();
        while (self.value.len() as u64) < bytes {
            self.value.extend_from_slice(&self.random.next_u64().to_le_bytes());
        }
        self.value.truncate(bytes as usize);
    }

    fn stopped(&self, why: StopReason, what: &str) -> Stopped {
        let total = self.done;
        let message = if what.is_empty() {
            format!("after {total} operations")
        } else {
            format!("after {total} operations: {what}")
        };
        Stopped { why, message }
    }

    fn cancelled(&self) -> Stopped {
        if self.done > 0 {
            return self.stopped(StopReason::Cancelled, "");
        }
        let message = "before the first operation: nothing of the workload was measured".to_owned();
        Stopped { why: StopReason::Cancelled, message }
    }

    /// How the run ends after `error`: with a partial record, or none.
    fn stop(&self, index: &IndexConfig, error: IndexError) -> Result<Stopped, LabError> {
        match error {
            IndexError::Device(Error::PowerLost) => Err(LabError::PowerLost),
            IndexError::Device(Error::WornOut(_)) => Ok(self.stopped(StopReason::WornOut, &error.to_string())),
            IndexError::Device(Error::Unreadable { .. }) => {
                Ok(self.stopped(StopReason::Unreadable, &format!("{error}; the index cannot go on without it")))
            }
            IndexError::Full { pages, .. } => {
                let IndexConfig::Btree(Options { page_bytes, .. }) = index else {
                    unreachable!("only the B+tree counts pages")
                };
                let what = format!(
                    "the index is full: it needs more than the {pages} pages of {page_bytes} bytes that the device has; \
                     a larger {} has more",
                    self.room
                );
                Ok(self.stopped(StopReason::IndexFull, &what))
            }
            IndexError::NoSpace { .. } => {
                let what = format!("{error}; a larger {} has more", self.room);
                Ok(self.stopped(StopReason::IndexFull, &what))
            }
            IndexError::Option { key, .. } => {
                let name = index.name();
                let message = format!("index.{name}.{error}");
                Err(ConfigError { message, key: Some(format!("index.{name}.{key}")), ..Default::default() }.into())
            }
            other => panic!("the index is used by one, with options that were checked: {other}"),
        }
    }

    /// The record; the walk over the tree bypasses the device, so nothing is counted for it.
    fn record(self, tree: Option<&mut AnyIndex<'_>>, switch: &Switch) -> IndexRecord {
        let mut record = IndexRecord {
            operations: self.counts,
            scanned_records: self.scanned_records,
            absent: self.absent,
            present: self.present,
            flushes: self.flushes,
            user_bytes: self.user_bytes,
            latency_us: self.latency.as_ref().map(LatencyMeter::summary),
            ..IndexRecord::default()
        };
        let Some(tree) = tree else { return record };
        record.written_bytes = tree.as_dyn().written_bytes() - self.written_before;
        record.waf_index = (self.user_bytes > 0).then(|| record.written_bytes as f64 / self.user_bytes as f64);
        switch.detach();
        match tree {
            AnyIndex::Btree(tree) => left::of_btree(tree, &mut record),
            AnyIndex::Lsm(tree) => left::of_lsm(tree, &mut record),
        }
        record
    }
}

/// An operation's key, in the index's form.
fn key(config: &IndexConfig, op: KeyOp) -> Vec<u8> {
    const LONGEST: usize = 64;
    op.bytes::<LONGEST>()[LONGEST - usize::from(config.key_bytes())..].to_vec()
}

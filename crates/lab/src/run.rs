//! Runs an experiment and measures it.

mod outcome;

use crate::build::{with_engine, Start};
use crate::config::{Arrival, Experiment, Model, Sizing};
use crate::control::{Control, Phase};
use crate::engine::{assert_conservation, BufferCounts, Engine, NvramState};
use crate::error::{ConfigError, LabError};
use crate::files;
use crate::fitted::fitted;
use crate::keys;
use crate::latency::RecordedMeter;
use crate::memory::refuse_too_large;
use crate::meter::Meter;
use crate::oplog::OpLog;
use crate::precondition::{Preconditioned, Preconditioning};
use crate::record::{Record, Speed, StopReason, Stopped};
use crate::series::sample;
use crate::source::Source;
use crate::state::{Begun, State};
use nandlab_block::{Completion, Error, HostClock, Op, Request};
use nandlab_fs::parts::collector::Counts as Collections;
use nandlab_ftl::Events;
use nandlab_nand::aging::AgingCounts;
use nandlab_nand::{Matrix, Time};
use nandlab_workload::trace::Took;
use nandlab_workload::Workload;
use outcome::rate;
use std::cell::RefCell;
use std::path::Path;
use std::time::Instant;

pub(crate) use outcome::{us, waf};

/// Requests or operations between two looks at the clock of the caller.
pub(crate) const BATCH: u64 = 1024;

/// Sectors that are issued at most between two such looks, but for a single longer request.
const PIECE_SECTORS: u64 = 1 << 19;

const NS_PER_DAY: f64 = 86_400e9;

/// Simulated times are below this many ns: whoever compares two of them may take their difference as a signed number.
const LAST_TIME: Time = Time::MAX / 2;

/// Files that a run writes beside its record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outputs<'a> {
    /// Every operation of the device.
    pub op_log: Option<&'a Path>,
    /// The device after its preconditioning, for `precondition.from_state` of other runs.
    pub save_state: Option<&'a Path>,
}

/// Runs `experiment`; relative paths start at `base`.
///
/// A run that [`Control::cancel`] stops, or that wears the device out, gives a record all the same, marked partial.
///
/// # Errors
/// [`LabError`]; nothing half-written is left behind.
///
/// # Panics
/// Where the FTL or the simulator is wrong: with the invariant that broke.
pub fn run(experiment: &Experiment, base: &Path, control: &Control, outputs: Outputs<'_>) -> Result<Record, LabError> {
    carry_out(experiment, base, control, outputs).map_err(|error| experiment.located(error))
}

fn carry_out(
    experiment: &Experiment,
    base: &Path,
    control: &Control,
    Outputs { op_log, save_state }: Outputs<'_>,
) -> Result<Record, LabError> {
    control.enter(Phase::Opening, 0, 0);
    let sizing = experiment.sizing()?;
    refuse_too_large(experiment, &sizing)?;
    if op_log.is_some() && experiment.is_in_directory() {
        let message = "an operation log has the operations of a device, and a real directory (fs.posix) has none";
        return Err(ConfigError { message: message.to_owned(), ..Default::default() }.into());
    }
    // Who stops a run before it began removes its files without waiting for it.
    let log = op_log.filter(|_| !control.is_cancelled()).map(OpLog::create).transpose()?;
    let recorded = RefCell::new(RecordedMeter::default());
    let took = |op, took| recorded.borrow_mut().add(op, took);
    // Without the recorded arrivals the two would not be of the same load.
    let is_recorded = experiment.host.arrival == Arrival::Recorded;
    let told: Option<&dyn Fn(Op, Took)> = if is_recorded { Some(&took) } else { None };
    let mut source = Source::open(experiment, &sizing, base, control, told)?;
    experiment.refuse_endless_warm_up(source.total()).map_err(ConfigError::of_key)?;
    let fitted = fitted(experiment, &sizing, base, control)?;
    let on_engine = fitted.as_ref().unwrap_or(experiment);
    let state = match (save_state, &experiment.precondition.from_state) {
        (Some(file), _) => {
            let state = State::make((on_engine, experiment), &sizing, control, planned(experiment, &sizing, &source))?;
            if let Some(state) = &state {
                state.write(file)?;
            }
            state
        }
        (None, Some(file)) => Some(State::read(&base.join(file), experiment, &sizing)?),
        (None, None) => None,
    };
    let begun = state.as_ref().map_or_else(Begun::default, State::begun);
    let start = state.map_or(Start::Erased, State::start);
    control.enter(Phase::Opening, 0, 0);
    let record = with_engine(on_engine, &sizing, log.as_ref(), start, |engine| {
        Run { log: log.as_ref(), begun, ..Run::new(experiment, &sizing, control, engine) }.measure(&mut source)
    });
    control.enter(Phase::Done, 0, 0);
    let recorded = recorded.borrow();
    record.map(|record| Record {
        recorded_latency_us: recorded.latencies(),
        recorded_service_us: recorded.services(),
        recorded_latency_histogram: recorded.histograms(),
        ..record
    })
}

/// Sectors of a request, or what takes as long.
fn sectors_each(source: &Source, sizing: &Sizing) -> u64 {
    // What is shorter than a page costs as much as one.
    let page = u64::from(sizing.geometry.sectors_per_page());
    source.sectors().map_or(0, |sectors| sectors / source.total().max(1)).max(page)
}

/// Sectors that a run touches, with those that are written before it and not in a state; 0 where these tell nothing of how
/// long the workload takes, since it asks an index or a file system.
fn planned(experiment: &Experiment, sizing: &Sizing, source: &Source) -> u64 {
    let page = u64::from(sizing.geometry.sectors_per_page());
    let before = match &experiment.precondition.from_state {
        Some(_) => 0,
        None => Preconditioning::of(experiment, sizing).requests(),
    };
    if before > 0 && !matches!(source, Source::Requests(_)) {
        return 0;
    }
    source.total().saturating_mul(sectors_each(source, sizing)).saturating_add(before.saturating_mul(page))
}

/// An experiment on its engine.
pub(crate) struct Run<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) sizing: &'a Sizing,
    pub(crate) control: &'a Control,
    pub(crate) log: Option<&'a OpLog>,
    engine: &'a mut dyn Engine,
    /// What was done to the device before.
    pub(crate) begun: Begun,
    /// Recorded time of the last request of the workload that came before the measurement.
    played: Time,
    /// When the workload started.
    epoch: Option<Time>,
}

/// The counters of an engine at one moment.
#[derive(Default)]
pub(crate) struct Mark {
    pub(crate) matrix: Matrix,
    /// What of it was in blocks of one bit a cell.
    pub(crate) slc: Option<Matrix>,
    pub(crate) time: Time,
    pub(crate) events: Events,
    /// Programs that shared the array time of another plane's.
    joined_programs: u64,
    /// Reads for which an erase or a program gave way.
    reads_ahead: u64,
    /// The number of the next recycling that the FTL keeps.
    recyclings: u64,
    /// By block.
    pe_cycles: Vec<u32>,
    buffer: Option<BufferCounts>,
    unreadable: u64,
    /// Garbage collection of a file system on bare flash.
    pub(crate) collections: Option<Collections>,
    pub(crate) nvram: Option<NvramState>,
    pub(crate) aging: Option<AgingCounts>,
}

impl Mark {
    pub(crate) fn of(engine: &mut dyn Engine) -> Self {
        Self {
            matrix: engine.matrix().clone(),
            slc: engine.slc().cloned(),
            time: engine.now(),
            events: engine.events(),
            joined_programs: engine.joined_programs(),
            reads_ahead: engine.reads_ahead(),
            recyclings: engine.recyclings().last().map_or(0, |last| last.number + 1),
            pe_cycles: engine.chip().pe_cycles().to_vec(),
            buffer: engine.buffer(),
            unreadable: engine.unreadable(),
            collections: engine.collections(),
            nvram: engine.nvram(),
            aging: engine.chip().aging(),
        }
    }

    /// What was done in blocks of one bit a cell since `start`.
    pub(crate) fn slc_since(&self, start: &Self) -> Option<Matrix> {
        self.slc.as_ref().zip(start.slc.as_ref()).map(|(now, start)| now.since(start))
    }
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        sizing: &'a Sizing,
        control: &'a Control,
        engine: &'a mut dyn Engine,
    ) -> Self {
        Self { experiment, sizing, control, log: None, engine, begun: Begun::default(), played: 0, epoch: None }
    }

    pub(crate) fn engine(&mut self) -> &mut dyn Engine {
        self.engine
    }

    /// What measures a workload of about `total` requests.
    pub(crate) fn meter(&self, total: u64) -> Meter {
        Meter::new(total, self.keeps_time(), self.sizing.geometry.sectors_per_page())
    }

    fn measure(mut self, source: &mut Source) -> Result<Record, LabError> {
        let mount = self.mount_record();
        let total = source.total();
        let each = sectors_each(source, self.sizing);
        self.control.plan(planned(self.experiment, self.sizing, source));
        let Preconditioned { record: precondition, mut stopped, played, .. } = self.precondition(source.requests())?;
        self.played = played;
        self.lie();
        let total = total.saturating_sub(self.experiment.precondition.warm_up);
        let mut start = self.mark();
        // An operation on keys or files may be no request, or many.
        let requests = if matches!(source, Source::Requests(_)) { total } else { 0 };
        let mut meter = self.meter(requests);
        let mut wall_s = 0.0;
        let (mut index, mut fs, mut phases, mut volume) = (None, None, None, None);
        if stopped.is_none() {
            if !matches!(source, Source::Requests(_)) {
                self.control.plan_anew(total.saturating_mul(each));
            }
            self.enter(Phase::Workload, total, each);
            let wall = Instant::now();
            stopped = match source {
                Source::Requests(workload) => self.play(&mut **workload, &mut meter, &start)?,
                Source::Keys(ops, _) => {
                    let played = keys::play(&mut self, &mut **ops, &mut meter, &start)?;
                    sample(self.engine, &mut meter, &start);
                    index = Some(played.index);
                    played.stopped
                }
                Source::Files(ops, _) => {
                    let mut played = files::play(&mut self, &mut **ops, total, &mut meter)?;
                    start = played.start;
                    sample(self.engine, &mut meter, &start);
                    let stopped = played.stopped.take();
                    phases = Some(played.wall);
                    volume = played.volume;
                    fs = Some((played.fs, played.ram));
                    stopped
                }
            };
            wall_s = wall.elapsed().as_secs_f64();
        }
        assert_conservation(self.engine, self.sizing.geometry.pages_per_block(), self.begun);
        let mut record = self.record(meter, &start, mount, precondition);
        let goes_on = |stopped: &Stopped| !matches!(stopped.why, StopReason::WornOut | StopReason::Unreadable);
        if stopped.as_ref().is_none_or(goes_on) {
            self.remount(&mut record, volume);
        }
        self.log.map_or(Ok(()), OpLog::close)?;
        record.notices.extend(self.clean_up());
        record.index = index;
        if let Some((fs, ram)) = fs {
            record.fs = Some(fs);
            record.ram = self.ram(ram);
        }
        if let Source::Requests(workload) = source {
            record.notices.extend(workload.notices());
            record.name_origins(&workload.origins());
        }
        record.partial = stopped.is_some();
        record.stopped = stopped;
        record.speed = Speed {
            wall_s,
            phases,
            requests_per_s: rate(record.host.requests as f64, wall_s),
            programs_per_s: rate(record.flash.programs as f64, wall_s),
        };
        Ok(record)
    }

    /// Lets the device lie for as long as the experiment says.
    fn lie(&mut self) {
        let days = self.experiment.precondition.shelf_days;
        self.engine.lie((days * NS_PER_DAY) as Time);
    }

    pub(crate) fn enter(&self, phase: Phase, total: u64, sectors_each: u64) {
        self.control.enter(phase, total, sectors_each);
        if let Some(log) = self.log {
            log.enter(phase);
        }
    }

    /// A workload that paces itself begins anew.
    pub(crate) fn forget_epoch(&mut self) {
        self.epoch = None;
    }

    pub(crate) fn keeps_time(&self) -> bool {
        self.experiment.device.model != Model::Counting
    }

    pub(crate) fn has_bytes(&self) -> bool {
        self.experiment.device.model == Model::Bytes
    }

    pub(crate) fn mark(&mut self) -> Mark {
        Mark::of(self.engine)
    }

    /// A clock for requests that come from `start` on.
    pub(crate) fn clock(&self, closed: bool, start: Time) -> HostClock {
        if !closed {
            return self.with_firmware(HostClock::open_loop());
        }
        self.closed_loop(self.experiment.host.think_ns(), start)
    }

    /// A closed loop of the host's queue depth from `start` on, each slot of which thinks for `think`.
    pub(crate) fn closed_loop(&self, think: Time, start: Time) -> HostClock {
        self.with_firmware(HostClock::thinking(self.experiment.host.queue_depth, think, start))
    }

    fn with_firmware(&self, clock: HostClock) -> HostClock {
        let host = &self.experiment.host;
        clock.with_firmware(host.firmware_ns(), host.lookup_ns())
    }

    /// Fills `batch`; false at the end of the workload, or where the run is to stop.
    pub(crate) fn next_batch(
        &mut self,
        workload: &mut dyn Workload,
        batch: &mut Vec<Request>,
        room: u64,
    ) -> Result<bool, LabError> {
        batch.clear();
        if self.control.is_cancelled() {
            return Ok(false);
        }
        let made = workload.fill(batch, room as usize).map_err(|error| self.experiment.explain(error))?;
        Ok(made > 0)
    }

    /// Carries out `batch`. Where the device wears out on the way, why; `done` then ends before the request that failed.
    pub(crate) fn submit(
        &mut self,
        batch: &[Request],
        clock: &mut HostClock,
        done: &mut Vec<Completion>,
    ) -> Result<Option<String>, LabError> {
        done.clear();
        let worn_out = match self.engine.requests().submit(batch, clock, done) {
            Ok(()) => None,
            Err(error @ Error::WornOut(_)) => Some(error.to_string()),
            Err(Error::PowerLost) => return Err(LabError::PowerLost),
            Err(error @ (Error::OutOfRange { .. } | Error::Unreadable { .. })) => {
                panic!("the workload was opened for this device, and the engine passes over lost data: {error}")
            }
        };
        self.log.map_or(Ok(()), OpLog::state)?;
        // Requests that read nothing take no operation. None comes so late that twice the time would be passed in one batch.
        if self.engine.now().max(done.last().map_or(0, |last| last.done)) > LAST_TIME {
            return Err(LabError::OutOfTime);
        }
        Ok(worn_out)
    }

    /// Puts requests of a workload that paces itself in the time of the device, no earlier than `least`.
    pub(crate) fn place_in_time(&mut self, batch: &mut [Request], least: Time) {
        let epoch = *self.epoch.get_or_insert(least);
        batch.iter_mut().for_each(|request| request.time = (request.time + epoch).max(least));
    }

    /// Tells a workload that paces itself how its requests went.
    pub(crate) fn tell(&self, workload: &mut dyn Workload, done: &mut [Completion]) {
        let epoch = self.epoch.unwrap_or(0);
        for completion in &mut *done {
            completion.arrival -= epoch;
            completion.done -= epoch;
        }
        workload.completed(done);
    }

    /// Plays the workload; what stopped it before its end.
    pub(crate) fn play(
        &mut self,
        workload: &mut dyn Workload,
        meter: &mut Meter,
        start: &Mark,
    ) -> Result<Option<Stopped>, LabError> {
        let recorded = self.experiment.host.arrival == Arrival::Recorded;
        if self.experiment.host.explain_longest {
            self.engine.look_for_stalls();
        }
        let paces_itself = self.experiment.paces_itself();
        let mut clock = self.clock(!recorded && !paces_itself, start.time);
        let room = meter.series.every().clamp(1, BATCH);
        let (mut batch, mut done, mut worn_out) = (Vec::new(), Vec::new(), None);
        while worn_out.is_none() && self.next_batch(workload, &mut batch, room)? {
            if recorded {
                // What came before the measurement must not stand in its way.
                let played = self.played;
                batch.iter_mut().for_each(|request| request.time = request.time.saturating_sub(played) + start.time);
            } else if paces_itself {
                self.place_in_time(&mut batch, start.time);
            }
            let mut left = &batch[..];
            while !left.is_empty() && worn_out.is_none() && !self.control.is_cancelled() {
                let (piece, rest) = left.split_at(piece_length(left));
                worn_out = self.submit(piece, &mut clock, &mut done)?;
                meter.add(&piece[..done.len()], &done, self.engine.failed());
                if recorded {
                    meter.add_pace(&done);
                } else if paces_itself {
                    self.tell(workload, &mut done);
                }
                left = rest;
            }
            self.control.set_done(meter.host.requests);
            if meter.series.is_due(meter.host.requests) {
                sample(self.engine, meter, start);
            }
        }
        sample(self.engine, meter, start);
        let requests = meter.host.requests;
        let noun = if requests == 1 { "request" } else { "requests" };
        let stopped = |why, message| Some(Stopped { why, message });
        Ok(match worn_out {
            Some(why) => stopped(StopReason::WornOut, format!("after {requests} {noun}: {why}")),
            None if !self.control.is_cancelled() => None,
            None if requests == 0 => {
                stopped(StopReason::Cancelled, "before the first request: nothing of the workload was measured".into())
            }
            None => stopped(StopReason::Cancelled, format!("after {requests} {noun}")),
        })
    }
}

/// How many requests of `batch` are issued at a time.
pub(crate) fn piece_length(batch: &[Request]) -> usize {
    let mut sectors = 0;
    let longer = batch.iter().position(|request| {
        sectors += u64::from(request.sectors);
        sectors > PIECE_SECTORS
    });
    longer.map_or(batch.len(), |length| length.max(1))
}

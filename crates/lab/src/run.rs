//! Runs an experiment and measures it.

mod above;
mod begun;
pub(crate) mod contents;
mod files;
mod fitted;
mod foreseen;
mod inspect;
mod keys;
mod loads;
mod mark;
pub(crate) mod meter;
mod mounts;
pub(crate) mod notices;
mod outcome;
mod own_zones;
mod play;
pub(crate) mod precondition;
mod queued;
mod sample;
pub(crate) mod series;
pub(crate) mod session;
mod source;
pub(crate) mod state;
pub(crate) mod steady;
mod tenants;
mod turns;
mod windows;

use crate::config::footprint::refuse_too_large;
use crate::config::{Arrival, Experiment, Model, Sizing};
use crate::control::{Control, Phase};
use crate::error::{ConfigError, LabError};
use crate::latency::RecordedMeter;
use crate::record::{rate, IndexRecord, Record, Speed, SpeedPhases, StopReason, Stopped};
use crate::stack::timeline::Window;
use crate::stack::{self, Logs, OpLog, Parts, Start, Timeline};
use begun::{assert_conservation, Begun};
use fitted::fitted;
pub use inspect::inspect;
pub(crate) use mark::{sample, Mark};
pub(crate) use meter::Meter;
use nandlab_block::{Blank, Mirror, Op};
use nandlab_nand::profile::PlaneOverlap;
use nandlab_nand::Time;
use nandlab_workload::trace::{Sharing, Took};
use precondition::{Preconditioned, Preconditioning};
pub(crate) use session::Run;
use source::Source;
use state::State;
use std::cell::RefCell;
use std::path::Path;
use std::time::Instant;

/// Optional files written by a run beside its record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outputs<'a> {
    /// Log with every device operation.
    pub op_log: Option<&'a Path>,
    /// The device after its preconditioning, for `precondition.from_state` in later runs.
    pub save_state: Option<&'a Path>,
    /// Timeline for Perfetto.
    pub timeline: Option<&'a Path>,
    /// Its part of the workload.
    pub window: Window,
}

/// Runs `experiment`; relative paths start at `base`.
///
/// A run stopped by [`Control::cancel`] or by a worn-out device still returns a record, marked partial.
///
/// # Errors
/// [`LabError`]; no half-written file remains.
///
/// # Panics
/// If the FTL or the simulator has a bug: with the broken invariant.
pub fn run(experiment: &Experiment, base: &Path, control: &Control, outputs: Outputs<'_>) -> Result<Record, LabError> {
    // Thresholds, a steady device and the best placement need passes of their own: they read a trace once, too.
    let _sharing = Sharing::begin();
    carry_out(experiment, base, control, outputs).map_err(|error| experiment.located(error))
}

fn carry_out(
    experiment: &Experiment,
    base: &Path,
    control: &Control,
    outputs: Outputs<'_>,
) -> Result<Record, LabError> {
    let Outputs { op_log, save_state, .. } = outputs;
    control.enter(Phase::Opening, 0, 0);
    let sizing = experiment.sizing()?;
    refuse_too_large(experiment, &sizing)?;
    if let Some(future) = foreseen::foreseen(experiment, base, control, &outputs)? {
        let record = carry_out(&foreseen::with(experiment, future.clone()), base, control, outputs)?;
        return foreseen::refuse_strayed(&future).map(|()| record);
    }
    if op_log.is_some() && experiment.is_in_directory() {
        let message = "an operation log has the operations of a device, and a real directory (fs.posix) has none";
        return Err(ConfigError { message: message.to_owned(), ..Default::default() }.into());
    }
    refuse_timeline(experiment, outputs)?;
    // A run cancelled before it began must not create its log: the canceller removes files without waiting.
    let log = op_log.filter(|_| !control.is_cancelled()).map(OpLog::create).transpose()?;
    let timeline = outputs.timeline.filter(|_| !control.is_cancelled());
    let timeline = timeline.map(|target| Timeline::create(target, outputs.window, parts_of(experiment, &sizing)));
    let timeline = timeline.transpose()?;
    let logs = Logs { log: log.as_ref(), timeline: timeline.as_ref() };
    let recorded = RefCell::new(RecordedMeter::default());
    let took = |op, took| recorded.borrow_mut().add(op, took);
    // Without recorded arrivals, the trace and the run would have different loads.
    let is_recorded = experiment.host.arrival == Arrival::Recorded;
    let told: Option<&dyn Fn(Op, Took)> = if is_recorded { Some(&took) } else { None };
    let mut source = Source::open(experiment, &sizing, base, control, told)?;
    experiment.refuse_endless_warm_up(source.total())?;
    let fitted = fitted(experiment, &sizing, base, control)?;
    let on_engine = fitted.as_ref().unwrap_or(experiment);
    let state = match (save_state, &experiment.precondition.from_state) {
        (Some(file), _) => {
            let sectors = planned(experiment, &sizing, &source);
            State::make((on_engine, experiment), &sizing, control, (sectors, file))?
        }
        (None, Some(file)) => Some(State::read(&base.join(file), experiment, &sizing)?),
        (None, None) => None,
    };
    let begun = state.as_ref().map_or_else(Begun::default, State::begun);
    let start = state.map_or(Start::Erased, State::start);
    control.enter(Phase::Opening, 0, 0);
    let mut engine = stack::open(on_engine, &sizing, logs, start)?;
    let run =
        Run { log: logs.log, timeline: logs.timeline, begun, ..Run::new(experiment, &sizing, control, &mut *engine) };
    let record = run.measure(&mut source);
    control.enter(Phase::Done, 0, 0);
    let recorded = recorded.borrow();
    record.map(|record| Record {
        recorded_latency_us: recorded.latencies(),
        recorded_service_us: recorded.services(),
        recorded_latency_histogram: recorded.histograms(),
        ..record
    })
}

/// Refuses a timeline of a run without a device, or without time.
fn refuse_timeline(experiment: &Experiment, outputs: Outputs<'_>) -> Result<(), LabError> {
    let why = match outputs.timeline {
        None => return Ok(()),
        Some(_) if experiment.is_in_directory() => "a real directory (fs.posix) has none",
        Some(_) if experiment.device.model == Model::Counting => "device.model = \"counting\" keeps no time",
        Some(_) => return Ok(()),
    };
    let message = format!("a timeline has the times of a device's operations, and {why}");
    Err(ConfigError { message, ..Default::default() }.into())
}

/// The device's parts, for a timeline.
fn parts_of(experiment: &Experiment, sizing: &Sizing) -> Parts {
    let timing = &experiment.device.profile.timing;
    Parts {
        geometry: sizing.geometry,
        units_are_planes: timing.plane_overlap == PlaneOverlap::Independent,
        has_cache: timing.read_cache,
    }
}

/// Sectors per request, or an operation's equivalent in sectors.
fn sectors_each(source: &Source, sizing: &Sizing) -> u64 {
    // A request shorter than a page costs a whole page.
    let page = u64::from(sizing.geometry.sectors_per_page());
    source.sectors().map_or(0, |sectors| sectors / source.total().max(1)).max(page)
}

/// Sectors touched by a run, including its own preconditioning; 0 if they say nothing about the duration,
/// because the workload uses an index or a file system, or a time ends it.
fn planned(experiment: &Experiment, sizing: &Sizing, source: &Source) -> u64 {
    let page = u64::from(sizing.geometry.sectors_per_page());
    let before = match &experiment.precondition.from_state {
        Some(_) => 0,
        None => Preconditioning::of(experiment, sizing).requests(),
    };
    if before > 0 && !matches!(source, Source::Requests(..)) || source.total() == 0 {
        return 0;
    }
    let warm_up = experiment.precondition.warm_up.min(source.total());
    let total = warm_up + experiment.simulated(source.total() - warm_up);
    total.saturating_mul(sectors_each(source, sizing)).saturating_add(before.saturating_mul(page))
}

/// What a workload leaves for the record, beside its requests.
enum Left {
    Nothing,
    Index(Box<IndexRecord>),
    Files(Box<files::Left>),
}

impl Left {
    /// The volume's bytes, if there is one over a device.
    fn take_volume(&mut self) -> Option<Mirror<Blank>> {
        match self {
            Self::Files(files) => files.volume.take(),
            Self::Nothing | Self::Index(_) => None,
        }
    }
}

const NS_PER_DAY: f64 = 86_400e9;

/// Why the run ended. Below a firmware nothing wears out, so the sentence is the firmware's.
fn told(experiment: &Experiment, stopped: Stopped) -> Stopped {
    match stopped.why {
        StopReason::WornOut if experiment.runs_firmware() => Stopped { why: StopReason::FirmwareFailed, ..stopped },
        _ => stopped,
    }
}

impl Run<'_> {
    fn measure(mut self, source: &mut Source) -> Result<Record, LabError> {
        let mount = self.mount_record();
        let total = source.total();
        let each = sectors_each(source, self.sizing);
        self.control.plan(planned(self.experiment, self.sizing, source));
        let mut before = self.precondition(source.requests())?;
        if let Source::Requests(_, above) = source {
            before = self.load(above, before)?;
        }
        let Preconditioned { record: precondition, mut stopped, played, notices, .. } = before;
        self.played = played;
        self.lie();
        let total = total.saturating_sub(self.experiment.precondition.warm_up);
        let follows_events = self.engine.follow_events();
        if self.log.is_some() {
            self.engine.keep_work();
        }
        let mut start = self.mark();
        // An operation on keys or files may make no request, or many.
        let simulated = self.experiment.simulated(total);
        let requests = if matches!(source, Source::Requests(..)) { simulated } else { 0 };
        let mut meter = self.meter(requests);
        meter.by_events = follows_events && matches!(source, Source::Requests(..));
        let mut wall_s = 0.0;
        let mut left = Left::Nothing;
        if stopped.is_none() {
            if !matches!(source, Source::Requests(..)) {
                self.control.plan_anew(total.saturating_mul(each));
            }
            self.enter(Phase::Workload, simulated, each);
            let wall = Instant::now();
            (stopped, left) = self.play_source(source, total, &mut meter, &mut start)?;
            wall_s = wall.elapsed().as_secs_f64();
        }
        self.end_workload();
        assert_conservation(self.engine, self.sizing.geometry.pages_per_block(), self.begun);
        let mut record = self.record(meter, &start, (mount, precondition));
        let goes_on = |stopped: &Stopped| !matches!(stopped.why, StopReason::WornOut | StopReason::Unreadable);
        if stopped.as_ref().is_none_or(goes_on) {
            self.remount(&mut record, left.take_volume());
        }
        self.log.map_or(Ok(()), OpLog::close)?;
        record.notices.extend(notices);
        record.notices.extend(self.close_timeline()?);
        record.notices.extend(self.clean_up());
        let phases = self.add_left(&mut record, left);
        if let Source::Requests(workload, above) = source {
            self.add_above(&mut record, above)?;
            record.notices.extend(workload.notices());
            record.name_origins(&workload.origins());
        }
        record.partial = stopped.is_some();
        record.stopped = stopped.map(|stopped| told(self.experiment, stopped));
        record.speed = Speed {
            wall_s,
            phases,
            requests_per_s: rate(record.host.requests as f64, wall_s),
            programs_per_s: rate(record.flash.programs as f64, wall_s),
        };
        Ok(record)
    }

    /// Adds what an index or a file system leaves to the record; returns the wall time by phase, if there are phases.
    fn add_left(&self, record: &mut Record, left: Left) -> Option<SpeedPhases> {
        match left {
            Left::Nothing => None,
            Left::Index(mut index) => {
                index.waf_total = index.waf_index.zip(record.waf).map(|(index, device)| index * device);
                record.index = Some(*index);
                None
            }
            Left::Files(files) => {
                record.fs = Some(files.fs);
                record.ram = self.ram(files.ram);
                Some(files.wall)
            }
        }
    }

    /// Plays what is measured; `start` moves to the mount of a volume, if there is one.
    fn play_source(
        &mut self,
        source: &mut Source,
        total: u64,
        meter: &mut Meter,
        start: &mut Mark,
    ) -> Result<(Option<Stopped>, Left), LabError> {
        match source {
            Source::Requests(workload, _) => {
                Ok((self.play_requests(&mut **workload, total, meter, start)?, Left::Nothing))
            }
            Source::Keys(ops, _) => {
                let keys::Played { stopped, index } = keys::play(self, &mut **ops, meter, start)?;
                sample(self.engine, meter, start);
                Ok((stopped, Left::Index(Box::new(index))))
            }
            Source::Files(ops, _) => {
                let files::Played { stopped, start: mounted, left } = files::play(self, &mut **ops, total, meter)?;
                *start = mounted;
                sample(self.engine, meter, start);
                Ok((stopped, Left::Files(Box::new(left))))
            }
        }
    }

    /// All operations under way end, and the outputs get them.
    fn end_workload(&mut self) {
        self.engine.leave_events();
        let work = self.engine.take_work();
        if let Some(log) = self.log {
            log.end(&work);
        }
        if let Some(timeline) = self.timeline {
            timeline.end(&work);
        }
    }

    /// Ends the timeline; a notice if it shows nothing.
    fn close_timeline(&self) -> Result<Option<String>, LabError> {
        let Some(timeline) = self.timeline else { return Ok(None) };
        timeline.close()?;
        let is_empty = !timeline.has_requests();
        Ok(is_empty.then(|| "the timeline shows no request: none is in its window".to_owned()))
    }

    /// Leaves the device idle for the experiment's shelf time.
    fn lie(&mut self) {
        let days = self.experiment.precondition.shelf_days;
        self.engine.lie((days * NS_PER_DAY) as Time);
    }
}

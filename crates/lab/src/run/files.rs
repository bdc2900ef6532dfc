//! Plays a file workload operation by operation: a file system over the engine.

pub(super) mod hands;
mod player;

use crate::config::Experiment;
use crate::control::{Control, Phase};
use crate::error::LabError;
use crate::record::{FsFirst, FsRecord, SpeedPhases, Stopped, VolumeRecord};
use crate::run::contents::Contents;
use crate::run::mark::sample;
use crate::run::mark::Mark;
use crate::run::meter::Meter;
use crate::run::session::{Run, BATCH};
use crate::stack::Engine;
use crate::stack::{OpLog, Timeline};
use nandlab_block::{Blank, BlockDevice, Completion, Error, Mirror, Payload, RamUse, Request};
use nandlab_fs::{FileSystem, FsConfig, FsError, Over};
use nandlab_nand::Time;
use nandlab_workload::files::FileWorkload;
use player::{Player, Since};
use std::cell::RefCell;
use std::rc::Rc;

/// Samples per run, unless the experiment sets the transactions per sample.
const MOST_SAMPLES: u64 = 100;

/// The engine as a file system's device, measured. The player inspects it between operations.
struct Below<'a> {
    engine: &'a mut dyn Engine,
    meter: &'a mut Meter,
    start: Mark,
    /// When the latest request ended.
    now: Time,
}

#[derive(Clone)]
struct Device<'a>(Rc<RefCell<Below<'a>>>);

impl BlockDevice for Device<'_> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let Below { engine, meter, start, now } = &mut *self.0.borrow_mut();
        // The workload starts after the preconditioning.
        let request = Request { time: request.time.max(start.time), ..*request };
        let submitted = engine.requests().submit_one(&request, data);
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

/// A file workload's result.
pub(crate) struct Played {
    pub(crate) stopped: Option<Stopped>,
    /// Counters at the volume's mount: the record begins there.
    pub(crate) start: Mark,
    pub(crate) left: Left,
}

/// What a file workload leaves for the record.
pub(crate) struct Left {
    pub(crate) fs: FsRecord,
    pub(crate) ram: RamUse,
    /// How long each part took on this machine.
    pub(crate) wall: SpeedPhases,
    /// The volume's bytes, if it is over a device.
    pub(crate) volume: Option<Mirror<Blank>>,
}

/// Plays `ops`, about `total` transactions, on a new file system.
pub(crate) fn play(
    run: &mut Run<'_>,
    ops: &mut dyn FileWorkload,
    total: u64,
    meter: &mut Meter,
) -> Result<Played, LabError> {
    let Run { experiment, control, log, timeline, .. } = *run;
    let fs = experiment.fs.as_ref().expect("an experiment with a file workload was checked to have a file system");
    let (keeps_time, has_bytes) = (run.keeps_time(), run.has_bytes());
    let with_blocks = experiment.host.sample_blocks;
    let every = match experiment.host.sample_transactions {
        0 => total.div_ceil(MOST_SAMPLES).max(1),
        every => every,
    };
    let start = run.mark();
    let now = start.time;
    let below = Device(Rc::new(RefCell::new(Below { engine: run.engine(), meter, start, now })));
    let mut player = Player::new(&below, &experiment.device.profile, experiment.seed, keeps_time, every);
    player.explain_longest = experiment.host.explain_longest;
    let mut session = Session { experiment, control, log, timeline, ops };
    let mut volume = None;
    let ended = match fs.over() {
        Over::Device => {
            let sectors = below.sectors();
            let mut mirror = if has_bytes { Mirror::comparing(below) } else { Mirror::new(below) };
            let ended = session.over_device(&mut player, fs, &mut mirror)?;
            volume = Some(mirror.onto(Blank::new(sectors)));
            ended
        }
        Over::Flash => {
            player.contents = has_bytes.then(Contents::default);
            player.with_blocks = with_blocks;
            session.within(&mut player)?
        }
        Over::Directory => session.within(&mut player)?,
    };
    control.set_done(player.record.transactions);
    log.map_or(Ok(()), OpLog::state)?;
    let stopped = match ended {
        Err(error) => Some(player.stop(fs, error)?),
        Ok(()) => player.is_cancelled.then(|| player.cancelled()),
    };
    Ok(player.played(stopped, volume))
}

/// An operation stream, and its observers.
struct Session<'a> {
    experiment: &'a Experiment,
    control: &'a Control,
    log: Option<&'a OpLog>,
    timeline: Option<&'a Timeline>,
    ops: &'a mut dyn FileWorkload,
}

/// Where the file system is.
enum Place<'a> {
    /// Over the engine.
    Over(&'a mut dyn FileSystem),
    /// It is itself the engine.
    Within,
}

impl Session<'_> {
    /// Makes a volume on a device, and plays the workload on it.
    fn over_device(
        &mut self,
        player: &mut Player<'_, '_>,
        fs: &FsConfig,
        device: &mut dyn BlockDevice,
    ) -> Result<Result<(), FsError>, LabError> {
        enter(self.log, Phase::Precondition);
        let formatted = fs.format(device);
        player.phases.format = player.phase();
        let volume = match formatted {
            Ok(volume) => volume,
            Err(error) => return Ok(Err(error)),
        };
        player.record.volume = VolumeRecord { unit_bytes: volume.unit_bytes, units: volume.units, free_bytes: None };
        let mut worked = Ok(Ok(()));
        let mounted = fs.mounted(device, |fs| {
            player.begin();
            worked = self.work(player, &mut Place::Over(fs));
            if !player.is_cancelled {
                player.sample();
                player.look(fs);
            }
        });
        Ok(worked?.and(mounted))
    }

    /// Plays on a file system that is itself the engine. It exists already: its mount formatted an erased
    /// device, or it is a directory.
    fn within(&mut self, player: &mut Player<'_, '_>) -> Result<Result<(), FsError>, LabError> {
        player.since = Since::default();
        player.record.first = self.experiment.is_bare().then(FsFirst::default);
        player.begin();
        let worked = self.work(player, &mut Place::Within)?;
        player.watch();
        player.sample();
        let below = player.below.clone();
        let mut below = below.0.borrow_mut();
        let fs = below.engine.on_files().files();
        player.look(fs);
        if let Ok(space) = fs.space() {
            let unit_bytes = u64::from(player.profile.shape.page_bytes);
            player.record.volume =
                VolumeRecord { unit_bytes, units: space.total_bytes / unit_bytes, ..player.record.volume };
        }
        let ended = match worked {
            Err(error @ FsError::Device(_)) => Err(error),
            // Equivalent to an unmount.
            worked => worked.and(fs.sync_all()),
        };
        below.now = below.engine.now();
        Ok(ended)
    }

    /// Carries out the operations until they end, one fails, or the run must stop.
    fn work(&mut self, player: &mut Player<'_, '_>, place: &mut Place<'_>) -> Result<Result<(), FsError>, LabError> {
        enter(self.log, Phase::Workload);
        loop {
            if player.record.operations.total % BATCH == 0 {
                self.control.set_done(player.record.transactions);
                self.log.map_or(Ok(()), OpLog::state)?;
                self.timeline.map_or(Ok(()), Timeline::state)?;
            }
            if self.control.is_cancelled() {
                player.is_cancelled = true;
                return Ok(Ok(()));
            }
            let Some(op) = self.ops.next() else { return Ok(Ok(())) };
            if let Err(error) = player.carry_out(place, &op.map_err(|error| self.experiment.explain(error))?) {
                return Ok(Err(error));
            }
        }
    }
}

/// Names the next operations' phase in the operation log.
fn enter(log: Option<&OpLog>, phase: Phase) {
    if let Some(log) = log {
        log.enter(phase);
    }
}

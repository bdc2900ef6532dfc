//! Tenants with an index or a file system.

use super::files::hands::{reason, Hands};
use super::keys::{count, Host};
use super::own_zones::OwnZones;
use super::turns::{Gate, Seat, Turns};
use crate::control::Control;
use crate::error::LabError;
use crate::latency::LatencyMeter;
use crate::record::{IndexRecord, Stopped, TenantFiles, VolumeRecord};
use crate::stack::Engine;
use nandlab_block::{Completion, Mirror, Request};
use nandlab_fs::{FileSystem, FsConfig, FsError};
use nandlab_index::IndexConfig;
use nandlab_nand::Time;
use nandlab_workload::files::{FileOp, FileSetting, FileWorkload};
use nandlab_workload::keys::{KeySetting, KeyWorkload};
use nandlab_workload::tenants::Above;
use nandlab_workload::{Kind, Workload, WorkloadError};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// What such a tenant leaves for its row.
pub(crate) struct Left {
    pub(super) index: Option<IndexRecord>,
    pub(super) files: Option<TenantFiles>,
    pub(super) stopped: Option<Stopped>,
}

/// The tenants with an index or a file system.
#[derive(Default)]
pub(crate) struct AllAbove {
    /// By their places in the list.
    all: Vec<(usize, Turns<Result<Left, LabError>>)>,
    /// The requests of their loads, if these come before the run.
    loads: Option<Box<dyn Workload>>,
}

impl AllAbove {
    /// Opens one, to be played.
    pub(super) fn open(
        &mut self,
        above: &Above<'_>,
        watch: &(dyn Fn(u64) -> bool + Sync),
        (control, has_gate): (Control, bool),
    ) -> Result<Box<dyn Workload>, WorkloadError> {
        let Above { tenant, at, first, sectors, zones, seed, base } = *above;
        let turns = match (tenant.workload.kind(), &tenant.index, &tenant.fs) {
            (Kind::Keys(keys), Some(index), _) => {
                let setting = KeySetting { seed, base, largest_key: index.largest_key() };
                let total = count(keys, &setting, watch)?;
                let (ops, index) = (keys.open(&setting)?, index.clone());
                let load = keys.load();
                let play = move |seat| play_keys(&index, (ops, load), seed, seat);
                Turns::new(&tenant.name, (sectors, above.has_jobs(), has_gate), (total, control), play)
            }
            (Kind::Files(files), _, Some(fs)) => {
                let (ops, fs) = (files.open(&FileSetting { seed, base })?, fs.clone());
                let play = move |seat| play_files(&fs, ops, seed, seat);
                Turns::new(&tenant.name, (sectors, false, has_gate), (files.transactions().unwrap_or(0), control), play)
            }
            _ => unreachable!("a tenant was checked to have what its workload asks"),
        };
        if let Some(shape) = zones {
            turns.set_zones(OwnZones::new(shape, (first, sectors)));
        }
        self.all.push((at, turns.same()));
        Ok(Box::new(turns))
    }

    /// One for its load: the same that is played, or one that is never let through its gate, if another tenant runs alone.
    pub(super) fn open_load(
        &mut self,
        above: &Above<'_>,
        watch: &(dyn Fn(u64) -> bool + Sync),
        control: Control,
    ) -> Result<Box<dyn Workload>, WorkloadError> {
        match self.all.iter().find(|(place, _)| *place == above.at) {
            Some((_, turns)) => Ok(Box::new(turns.same())),
            None => self.open(above, watch, (control, true)),
        }
    }

    /// Their loads are `loads`.
    pub(super) fn set_loads(&mut self, loads: Box<dyn Workload>) {
        self.loads = Some(loads).filter(|_| !self.all.is_empty());
    }

    /// The requests of their loads, once.
    pub(super) fn take_loads(&mut self) -> Option<Box<dyn Workload>> {
        self.loads.take()
    }

    /// Shows them the zones of their parts as they are before the first request.
    pub(super) fn see_zones(&self, engine: &dyn Engine) {
        self.all.iter().for_each(|(_, turns)| turns.see_zones(engine));
    }

    /// The loads are done: the run's clock begins anew, and all go on. Says which have ended already, and why if they could not
    /// go on.
    pub(super) fn open_gates(&self) -> Vec<(usize, Option<Stopped>)> {
        let ended = |(at, turns): &(usize, Turns<Result<Left, LabError>>)| {
            turns.open_gate();
            turns.see(|left| (*at, left.as_ref().ok().and_then(|left| left.stopped.clone())))
        };
        self.all.iter().filter_map(ended).collect()
    }

    /// Ends them all; what each leaves that has begun, with its place in the list.
    pub(super) fn finish(&self) -> Result<Vec<(usize, Left)>, LabError> {
        let left = self.all.iter().filter_map(|(at, turns)| Some((*at, turns.finish()?)));
        left.map(|(at, left)| left.map(|left| (at, left))).collect()
    }
}

/// A tenant's own end: what comes after the run's end is nothing of the run.
fn own(stopped: Option<Stopped>, control: &Control) -> Option<Stopped> {
    stopped.filter(|_| !control.is_cancelled())
}

/// An error of a tenant's operations.
fn explain(error: WorkloadError) -> LabError {
    LabError::from_workload(error, "tenants")
}

fn play_keys(
    index: &IndexConfig,
    (mut ops, load): (Box<dyn KeyWorkload>, u64),
    seed: u64,
    seat: Seat,
) -> Result<Left, LabError> {
    let (control, gate) = (seat.control(), seat.gate());
    let mut mirror = Mirror::new(seat);
    let switch = mirror.switch();
    let loaded = || gate.pass();
    let load = gate.is_there().then_some(load);
    let between = || Ok(());
    let host = Host {
        index,
        seed,
        keeps_time: true,
        control: &control,
        between: &between,
        explain: &explain,
        load,
        loaded: &loaded,
        room: "part",
    };
    let played = host.play(&mut mirror, &switch, &mut *ops)?;
    Ok(Left { index: Some(played.index), files: None, stopped: own(played.stopped, &control) })
}

fn play_files(fs: &FsConfig, ops: Box<dyn FileWorkload>, seed: u64, seat: Seat) -> Result<Left, LabError> {
    let mut player = FilesPlayer {
        control: seat.control(),
        now: seat.clock(),
        gate: Some(seat.gate()),
        hands: Hands::new(seed),
        record: TenantFiles::default(),
        latency: LatencyMeter::default(),
    };
    let mut mirror = Mirror::new(seat);
    let ended = match fs.format(&mut mirror) {
        Ok(volume) => {
            let (unit_bytes, units) = (volume.unit_bytes, volume.units);
            player.record.volume = VolumeRecord { unit_bytes, units, free_bytes: None };
            let mut worked = Ok(Ok(()));
            let mounted = fs.mounted(&mut mirror, |fs| worked = player.work(fs, ops));
            worked?.and(mounted)
        }
        Err(error) => Err(error),
    };
    let stopped = match ended {
        Ok(()) => None,
        Err(error) => {
            let (why, what) = reason(fs, error)?;
            let message = format!("after {} operations on files: {what}", player.record.operations.total);
            Some(Stopped { why, message })
        }
    };
    let stopped = own(stopped, &player.control);
    let Hands { read_bytes, written_bytes, .. } = player.hands;
    let latency_us = Some(player.latency.summary());
    let record = TenantFiles { read_bytes, written_bytes, latency_us, ..player.record };
    Ok(Left { index: None, files: Some(record), stopped })
}

/// Carries out a tenant's operations on files, and counts them.
struct FilesPlayer {
    control: Arc<Control>,
    now: Rc<Cell<Time>>,
    /// Behind the set-up.
    gate: Option<Gate>,
    hands: Hands,
    record: TenantFiles,
    latency: LatencyMeter,
}

impl FilesPlayer {
    /// What is measured begins here.
    fn begin(&mut self) {
        let VolumeRecord { unit_bytes, units, .. } = self.record.volume;
        self.record =
            TenantFiles { volume: VolumeRecord { unit_bytes, units, free_bytes: None }, ..TenantFiles::default() };
        (self.hands.read_bytes, self.hands.written_bytes) = (0, 0);
        self.latency = LatencyMeter::default();
    }

    fn work(&mut self, fs: &mut dyn FileSystem, ops: Box<dyn FileWorkload>) -> Result<Result<(), FsError>, LabError> {
        for op in ops {
            let op = op.map_err(explain)?;
            match op {
                FileOp::Transaction => {
                    if let Some(gate) = self.gate.take().filter(Gate::is_there) {
                        gate.pass();
                        self.begin();
                    }
                    if self.control.is_cancelled() {
                        break;
                    }
                    self.control.set_done(self.record.transactions);
                    self.record.transactions += 1;
                    continue;
                }
                FileOp::CleanUp => continue,
                _ => {}
            }
            let arrival = self.now.get();
            let kind = match self.hands.carry_out(fs, &op) {
                Ok(kind) => kind,
                Err(error) => return Ok(Err(error)),
            };
            if self.control.is_cancelled() {
                // The run ended inside it.
                break;
            }
            self.record.operations.add(&op);
            self.latency.add(&Request::new(kind, 0, 0), &Completion { arrival, done: self.now.get() });
        }
        self.record.volume.free_bytes = fs.space().ok().map(|space| space.free_bytes);
        Ok(Ok(()))
    }
}

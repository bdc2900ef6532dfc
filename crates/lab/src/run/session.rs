//! An experiment on its engine: request batches, the host's clock, and wear-out.

use super::begun::Begun;
use super::mark::Mark;
use super::meter::Meter;
use super::queued::TenantsMeter;
use crate::config::{Experiment, Model, Sizing};
use crate::control::{Control, Phase};
use crate::error::LabError;
use crate::stack::Engine;
use crate::stack::{OpLog, Timeline};
use nandlab_block::{Completion, Error, HostClock, Request};
use nandlab_nand::Time;
use nandlab_workload::Workload;

/// Requests or operations between two checks for cancellation.
pub(crate) const BATCH: u64 = 1024;

/// Most sectors issued between two such checks; a single longer request may exceed it.
const PIECE_SECTORS: u64 = 1 << 19;

/// Simulated times stay below this many ns, so the difference between two times fits a signed number.
const LAST_TIME: Time = Time::MAX / 2;

/// An experiment on its engine.
pub(crate) struct Run<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) sizing: &'a Sizing,
    pub(crate) control: &'a Control,
    pub(crate) log: Option<&'a OpLog>,
    pub(crate) timeline: Option<&'a Timeline>,
    pub(super) engine: &'a mut dyn Engine,
    /// The device's history before the run.
    pub(crate) begun: Begun,
    /// Recorded time for the last workload request before the measurement.
    pub(super) played: Time,
    /// Workload start.
    pub(super) epoch: Option<Time>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        sizing: &'a Sizing,
        control: &'a Control,
        engine: &'a mut dyn Engine,
    ) -> Self {
        let (begun, played, epoch) = (Begun::default(), 0, None);
        Self { experiment, sizing, control, log: None, timeline: None, engine, begun, played, epoch }
    }

    pub(crate) fn engine(&mut self) -> &mut dyn Engine {
        self.engine
    }

    /// A meter for a workload with about `total` requests.
    pub(crate) fn meter(&self, total: u64) -> Meter {
        let mut meter = Meter::new(total, self.keeps_time(), &self.sizing.geometry);
        meter.timeline = self.timeline.cloned();
        meter.tenants = self.experiment.tenants().map(|_| TenantsMeter::default());
        meter
    }

    pub(crate) fn enter(&self, phase: Phase, total: u64, sectors_each: u64) {
        self.control.enter(phase, total, sectors_each);
        if let Some(log) = self.log {
            log.enter(phase);
        }
    }

    /// Lets a self-paced workload begin anew.
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

    /// A clock for requests from `start` on.
    pub(crate) fn clock(&self, closed: bool, start: Time) -> HostClock {
        if !closed {
            return self.with_firmware(HostClock::open_loop());
        }
        self.closed_loop(self.experiment.host.think_ns(), start)
    }

    /// A closed loop from `start` on, with the host's queue depth; each slot thinks for `think`.
    pub(crate) fn closed_loop(&self, think: Time, start: Time) -> HostClock {
        self.with_firmware(HostClock::thinking(self.experiment.host.queue_depth, think, start))
    }

    fn with_firmware(&self, clock: HostClock) -> HostClock {
        let host = &self.experiment.host;
        clock.with_firmware(host.firmware_ns(), host.lookup_ns())
    }

    /// Fills `batch`; false when the workload ends, or if the run must stop.
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

    /// Carries out `batch`. If the device wears out, returns the reason; `done` then ends before the failed
    /// request.
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
            Err(error @ (Error::OutOfRange { .. } | Error::Unreadable { .. } | Error::Zone { .. })) => {
                panic!("the workload was opened for this device, and the engine passes over lost data and what zones refuse: {error}")
            }
        };
        self.log.map_or(Ok(()), OpLog::state)?;
        self.timeline.map_or(Ok(()), Timeline::state)?;
        // Reading empty pages takes no flash operation. No single batch can pass twice this time.
        if self.engine.now().max(done.last().map_or(0, |last| last.done)) > LAST_TIME {
            return Err(LabError::OutOfTime);
        }
        Ok(worn_out)
    }

    /// Converts a self-paced workload's request times to device time, no earlier than `least`.
    pub(crate) fn place_in_time(&mut self, batch: &mut [Request], least: Time) {
        let epoch = *self.epoch.get_or_insert(least);
        batch.iter_mut().for_each(|request| request.time = (request.time + epoch).max(least));
    }

    /// Reports completions to a self-paced workload.
    pub(crate) fn tell(&self, workload: &mut dyn Workload, done: &mut [Completion]) {
        let epoch = self.epoch.unwrap_or(0);
        for completion in &mut *done {
            completion.arrival -= epoch;
            completion.done -= epoch;
        }
        workload.completed(done);
    }
}

/// How many requests in `batch` to issue at once.
pub(crate) fn piece_length(batch: &[Request]) -> usize {
    let mut sectors = 0;
    let longer = batch.iter().position(|request| {
        sectors += u64::from(request.sectors);
        sectors > PIECE_SECTORS
    });
    longer.map_or(batch.len(), |length| length.max(1))
}

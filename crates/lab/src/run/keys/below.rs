//! The engine as an index's device.

use crate::run::mark::{sample, Mark};
use crate::run::meter::Meter;
use crate::stack::Engine;
use nandlab_block::{
    BlockDevice, Completion, Ended, Error, HostClock, Payload, Queued, Request, ZoneReport, ZoneShape,
};
use nandlab_nand::Time;

/// The engine, measured.
pub(super) struct Below<'a> {
    pub(super) engine: &'a mut dyn Engine,
    pub(super) meter: &'a mut Meter,
    pub(super) start: &'a Mark,
    /// The clock of requests side by side, and how many there were, if the index has jobs in the background.
    pub(super) clock: Option<HostClock>,
    pub(super) begun: u64,
}

impl BlockDevice for Below<'_> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        // The workload starts after the preconditioning.
        let request = Request { time: request.time.max(self.start.time), ..*request };
        let submitted = self.engine.requests().submit_one(&request, data);
        match &submitted {
            Ok(completion) => self.meter.add(&[request], &[*completion], &[]),
            Err(Error::Unreadable { .. }) => {
                let completion = Completion { arrival: request.time, done: self.engine.now().max(request.time) };
                self.meter.add(&[request], &[completion], &[0]);
            }
            Err(_) => {}
        }
        self.sample();
        submitted
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        self.engine.zone_shape()
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        self.engine.zone_at(sector)
    }

    fn sectors(&self) -> u64 {
        self.engine.sectors()
    }

    fn queued(&mut self) -> Option<&mut dyn Queued> {
        self.clock.is_some().then_some(self as &mut dyn Queued)
    }
}

impl Below<'_> {
    fn sample(&mut self) {
        if self.meter.series.is_due(self.meter.host.requests) {
            sample(self.engine, self.meter, self.start);
        }
    }
}

impl Queued for Below<'_> {
    fn begin(&mut self, request: &Request, data: Payload<'_>) -> Result<u64, Error> {
        let request = Request { time: request.time.max(self.start.time), ..*request };
        let clock = self.clock.as_mut().expect("there are requests side by side");
        let completion = self.engine.requests().begin(&request, data, clock)?;
        self.meter.add(&[request], &[completion], &[]);
        self.sample();
        self.begun += 1;
        Ok(self.begun - 1)
    }

    fn step(&mut self, limit: Time, ended: &mut Vec<Ended>) -> bool {
        let Some(clock) = &mut self.clock else { return false };
        let goes_on = self.engine.requests().step(clock, limit);
        let news = clock.take_ended();
        self.meter.add_ended(&news);
        ended.extend(news);
        goes_on
    }

    fn now(&mut self) -> Time {
        self.engine.now()
    }
}

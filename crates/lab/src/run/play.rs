//! Plays a request workload.

use super::mark::{begin_timeline, count, sample, Mark};
use super::meter::Meter;
use super::sample::see;
use super::session::{piece_length, Run, BATCH};
use crate::config::Arrival;
use crate::error::LabError;
use crate::record::{StopReason, Stopped};
use nandlab_block::{Completion, HostClock};
use nandlab_nand::Time;
use nandlab_workload::Workload;

impl Run<'_> {
    /// Plays the workload; returns the reason for an early end.
    pub(crate) fn play(
        &mut self,
        workload: &mut dyn Workload,
        meter: &mut Meter,
        start: &Mark,
    ) -> Result<Option<Stopped>, LabError> {
        let recorded = self.experiment.host.arrival == Arrival::Recorded;
        self.begin_to_watch(meter, start);
        let paces_itself = self.experiment.paces_itself();
        let mut clock = self.clock(!recorded && !paces_itself, start.time);
        if meter.by_events {
            clock = self.follow_events(workload, clock, start.time);
        }
        let room = meter.series.every().clamp(1, BATCH);
        let (mut batch, mut done, mut worn_out) = (Vec::new(), Vec::new(), None);
        while worn_out.is_none() {
            if paces_itself && meter.by_events {
                self.follow(workload, &mut clock, meter, start.time);
            }
            if !self.next_batch(workload, &mut batch, room)? {
                // A job on a zoned drive may wait for its requests under way, and a tenant's jobs may ask later than they said.
                let may_ask = paces_itself && meter.by_events && !self.control.is_cancelled();
                if may_ask && (workload.next_time().is_some() || self.engine.requests().step(&mut clock, Time::MAX)) {
                    continue;
                }
                break;
            }
            if recorded {
                // Shifts request times past the preconditioning.
                let played = self.played;
                batch.iter_mut().for_each(|request| request.time = request.time.saturating_sub(played) + start.time);
            } else if paces_itself {
                self.place_in_time(&mut batch, start.time);
                meter.note_wait(workload.waited());
            }
            let mut left = &batch[..];
            while !left.is_empty() && worn_out.is_none() && !self.control.is_cancelled() {
                let (piece, rest) = left.split_at(piece_length(left));
                worn_out = self.submit(piece, &mut clock, &mut done)?;
                meter.note_refused(piece, self.engine.refused());
                meter.add(&piece[..done.len()], &done, self.engine.failed());
                if paces_itself && self.engine.failed().last().is_some_and(|&at| at + 1 == piece.len()) {
                    workload.failed();
                }
                self.report(workload, meter, &mut clock, &mut done);
                left = rest;
            }
            count(self.engine, meter, start);
            see(self.engine, meter, start);
            self.control.set_done(meter.host.requests);
            workload.done_share().into_iter().for_each(|share| self.control.set_share(share));
            if meter.series.is_due(meter.host.requests) {
                sample(self.engine, meter, start);
            }
        }
        if meter.by_events {
            while self.engine.requests().step(&mut clock, Time::MAX) {}
            meter.add_ended(&clock.take_ended());
            meter.series.end(meter.host.requests, meter.answered.saturating_sub(start.time));
        }
        meter.held_up = clock.held_up();
        meter.path_waits = clock.path_waits();
        meter.path = self.experiment.has_path().then(|| clock.path_use());
        sample(self.engine, meter, start);
        Ok(self.ending(meter.host.requests, worn_out))
    }

    /// Why the workload ended before its last request, if it did.
    fn ending(&self, requests: u64, worn_out: Option<String>) -> Option<Stopped> {
        let noun = if requests == 1 { "request" } else { "requests" };
        let stopped = |why, message| Some(Stopped { why, message });
        match worn_out {
            Some(why) => stopped(StopReason::WornOut, format!("after {requests} {noun}: {why}")),
            None if !self.control.is_cancelled() => None,
            None if requests == 0 => {
                stopped(StopReason::Cancelled, "before the first request: nothing of the workload was measured".into())
            }
            None => stopped(StopReason::Cancelled, format!("after {requests} {noun}")),
        }
    }

    /// Begins to watch the device for the record and the timeline.
    fn begin_to_watch(&mut self, meter: &Meter, start: &Mark) {
        if self.experiment.host.explain_longest {
            self.engine.look_for_stalls();
        }
        begin_timeline(self.engine, meter, start);
    }

    /// The device's clock from `start` on, by events.
    fn follow_events(&self, workload: &mut dyn Workload, clock: HostClock, start: Time) -> HostClock {
        workload.tells_later();
        if let Some(timeline) = self.timeline {
            timeline.follow_events();
        }
        clock.follow_events(&self.experiment.device.path_times(), start)
    }

    /// Tells the ends of requests to the meter, and to a self-paced workload.
    fn report(&self, workload: &mut dyn Workload, meter: &mut Meter, clock: &mut HostClock, done: &mut [Completion]) {
        match (self.experiment.paces_itself(), meter.by_events) {
            // `follow` tells them before the next request.
            (true, true) => {}
            (true, false) => self.tell(workload, done),
            (false, _) => {
                meter.add_ended(&clock.take_ended());
                if self.experiment.host.arrival == Arrival::Recorded {
                    meter.add_pace(done);
                }
            }
        }
    }

    /// Lets a self-paced workload know the ends of its requests, until it has a request that comes before the next event.
    fn follow(&mut self, workload: &mut dyn Workload, clock: &mut HostClock, meter: &mut Meter, start: Time) {
        let epoch = *self.epoch.get_or_insert(start);
        loop {
            // A write buffer has answered at once: the next request may come before any event.
            let ended = clock.take_ended();
            for one in &ended {
                workload.ended(one.number, one.completion.done - epoch);
            }
            meter.add_ended(&ended);
            let next = workload.next_time().map_or(Time::MAX, |time| (time + epoch).max(start));
            if !self.engine.requests().step(clock, next) {
                return;
            }
        }
    }
}

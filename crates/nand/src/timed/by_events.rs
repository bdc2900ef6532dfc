//! Operations in the order of events ([`crate::timeline`]).

use super::Timed;
use crate::context::Time;
use crate::nand::{Done, Nand};
use crate::profile::{Order, PlaneOverlap, Timing};
use crate::timeline::{Rules, Steps, Timeline};

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Prepares the order of events, if the profile asks for it.
    pub(super) fn keep_events(&mut self, timing: &Timing) {
        if timing.order == Order::Events {
            let channel_of = self.units.iter().map(|unit| unit.channel);
            let timeline = Timeline::new(rules(timing), channel_of, self.channels.len() as u32);
            self.inner.ctx().set_timeline(timeline);
        }
    }

    /// Issues an operation; returns its estimated end, under which others refer to it.
    pub(super) fn issue(&mut self, unit: usize, from: Time, steps: Steps) -> Time {
        self.issue_any(unit, from, steps, false)
    }

    /// Issues an erase; returns its estimated end.
    pub(super) fn issue_erase(&mut self, unit: usize, erase: Time) -> Done {
        let from = self.inner.ctx().ready();
        let end = self.issue_any(unit, from, Steps { before: 0, transfer: 0, after: erase }, true);
        self.complete(end)
    }

    /// Issues a program that joins the one before on its unit; `None` if it cannot.
    pub(super) fn issue_joined(&mut self, unit: usize, program: Time, transfer: Time) -> Option<Time> {
        let state = &mut self.units[unit];
        let steps = Steps { before: 0, transfer, after: program };
        let name = self.inner.ctx().issue_joined(unit as u32, steps, state.free + transfer)?;
        state.busy += transfer;
        self.channels[state.channel as usize].busy += transfer;
        state.free += transfer;
        Some(name)
    }

    fn issue_any(&mut self, unit: usize, from: Time, steps: Steps, is_erase: bool) -> Time {
        let state = &mut self.units[unit];
        state.busy += steps.total();
        self.channels[state.channel as usize].busy += steps.transfer;
        state.free = state.free.max(from) + steps.total();
        let estimate = state.free;
        self.inner.ctx().issue(unit as u32, from, steps, is_erase, estimate)
    }
}

fn rules(timing: &Timing) -> Rules {
    let ns = |us: f64| (us * 1000.0).round() as Time;
    let suspend = timing.suspend;
    Rules {
        read_cache: timing.read_cache,
        read_first: timing.read_first,
        suspend: suspend.map_or(0, |suspend| ns(suspend.suspend_us)),
        resume: suspend.map_or(0, |suspend| ns(suspend.resume_us)),
        most_reads: suspend.map_or(0, |suspend| suspend.most_reads),
        slice: suspend.and_then(|suspend| suspend.slice_us).map(ns),
        stops_erases: suspend.is_some(),
        stops_programs: suspend.is_some_and(|suspend| suspend.programs),
        joins_planes: timing.plane_overlap == PlaneOverlap::MultiPlane,
    }
}

//! When an operation takes place.
//!
//! While the device follows events, its [`crate::timeline`] knows. Outside events the times are sums: a unit does one
//! operation after the other, a channel one transfer after the other, and an operation has ended when both have done the
//! work so far. So one die takes exactly the times of its data sheet; where dies share a channel, the last end is right
//! to within an operation, whichever of them is the bottleneck.

use super::Timed;
use crate::context::Time;
use crate::nand::Nand;
use crate::profile::{PlaneOverlap, Timing};
use crate::timeline::{Rules, Steps};

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Issues an operation on `unit`, no earlier than `from`; returns its end. By events it is an estimate, under which
    /// others refer to the operation.
    #[inline]
    pub(super) fn issue(&mut self, unit: usize, from: Time, steps: Steps) -> Time {
        self.issue_any(unit, from, steps, false)
    }

    /// As [`Self::issue`] for an erase.
    #[inline]
    pub(super) fn issue_erase(&mut self, unit: usize, from: Time, erase: Time) -> Time {
        self.issue_any(unit, from, Steps { before: 0, transfer: 0, after: erase }, true)
    }

    #[inline]
    fn issue_any(&mut self, unit: usize, from: Time, steps: Steps, is_erase: bool) -> Time {
        let (total, follows) = (steps.total(), self.inner.ctx().follows_events());
        if follows != self.follows {
            self.change_clock(follows);
        }
        let state = &mut self.units[unit];
        let channel = &mut self.channels[state.channel as usize];
        state.busy += total;
        state.free = state.free.max(from) + total;
        channel.busy += steps.transfer;
        let estimate = state.free;
        if follows {
            return self.inner.ctx().issue(unit as u32, from, steps, is_erase, estimate);
        }
        if steps.transfer > 0 {
            channel.free = channel.free.max(self.inner.ctx().arrival()) + steps.transfer;
        }
        estimate.max(channel.free)
    }

    /// The device begins to follow events, or has ended doing so: the estimates so far are no bound then.
    #[cold]
    fn change_clock(&mut self, follows: bool) {
        self.follows = follows;
        let last = self.inner.ctx().horizon();
        for unit in &mut self.units {
            unit.free = unit.free.min(last);
        }
        for channel in &mut self.channels {
            channel.free = channel.free.min(last);
        }
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

    /// Takes the time of reading every spare area, if nothing was ever programmed and no operation came before; false
    /// otherwise. It stands for as many reads one by one.
    pub(super) fn time_all_spare_reads(&mut self) -> bool {
        let is_new = self.units.iter().all(|unit| unit.free == 0) && self.inner.ctx().ready() == 0;
        if EXTRAS || !is_new || self.inner.ctx().follows_events() || !self.inner.read_untouched() {
            return false;
        }
        let pages = Time::from(self.geometry.pages()) / self.units.len() as Time;
        let (read, transfer) = (self.times.spare_read, self.times.spare_transfer);
        for unit in 0..self.units.len() {
            let end = self.issue(unit, 0, Steps { before: pages * read, transfer: pages * transfer, after: 0 });
            self.complete(end);
        }
        true
    }
}

pub(super) fn rules(timing: &Timing) -> Rules {
    let ns = |us: f64| (us * 1000.0).round() as Time;
    let suspend = timing.suspend;
    Rules {
        read_cache: timing.read_cache,
        read_first: timing.read_first || suspend.is_some(),
        suspend: suspend.map_or(0, |suspend| ns(suspend.suspend_us)),
        resume: suspend.map_or(0, |suspend| ns(suspend.resume_us)),
        most_reads: suspend.map_or(0, |suspend| suspend.most_reads),
        slice: suspend.and_then(|suspend| suspend.slice_us).map(ns),
        stops_erases: suspend.is_some(),
        stops_programs: suspend.is_some_and(|suspend| suspend.programs),
        joins_planes: timing.plane_overlap == PlaneOverlap::MultiPlane,
    }
}

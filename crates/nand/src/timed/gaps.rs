//! Idle times in front of reads that wait for other operations.
//!
//! A data page's read is issued together with the read of its map page, and takes its unit from the time when the map
//! page is there. Reads that come later and are ready earlier use the unit until then.
//!
//! ```text
//! unit 0  |-- map page --|= =|
//! unit 1  |....... gap ......|-- data page --|= =|
//!            |-- another read --|= =|                    would end too late
//!            |- spare area -|=|                          fits
//! ```
//!
//! Only reads leave and use gaps. Everything else closes the gaps before it, so no read goes ahead of the program of
//! its own page, or behind the erase of its block.

use super::Timed;
use crate::context::Time;
use crate::nand::{Done, Nand};

/// When a unit is idle, though it has later operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gap {
    from: Time,
    until: Time,
}

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Remembers that `unit` is idle until a read that waits for another operation. In the order of events, reads join
    /// their queue later instead.
    #[cold]
    pub(super) fn leave_gap(&mut self, unit: usize, from: Time, until: Time) {
        if self.inner.ctx().follows_events() {
            return;
        }
        let arrival = self.inner.ctx().arrival();
        let (state, gaps) = (&mut self.units[unit], &mut self.gaps[unit]);
        if state.idle_until == 0 {
            gaps.clear();
        }
        gaps.retain(|gap| gap.until > arrival);
        gaps.push(Gap { from: from.max(arrival), until });
        state.idle_until = until;
    }

    /// Reads in the first sufficient gap of `unit`; `None` if there is none.
    #[cold]
    pub(super) fn read_in_gap(&mut self, unit: usize, ready: Time, (array, transfer): (Time, Time)) -> Option<Done> {
        if self.inner.ctx().follows_events() {
            return None;
        }
        for at in 0..self.gaps[unit].len() {
            let Gap { from, until } = self.gaps[unit][at];
            let start = ready.max(from);
            let Some(end) = self.transfer_until(unit, start + array, transfer, until) else { continue };
            let rest = [Gap { from, until: start }, Gap { from: end, until }];
            self.gaps[unit].splice(at..=at, rest.into_iter().filter(|gap| gap.from < gap.until));
            let free = self.units[unit].free;
            self.hold(unit, (start, end), array, (array, transfer));
            let state = &mut self.units[unit];
            state.free = free;
            state.idle_until = self.gaps[unit].last().map_or(0, |gap| gap.until);
            return Some(self.complete_after((ready, start), array + transfer, end));
        }
        None
    }

    /// As [`Self::transfer`], in front of the unit's later transfers; `None` if it would end after `until`.
    fn transfer_until(&mut self, unit: usize, from: Time, ns: Time, until: Time) -> Option<Time> {
        if from + ns > until {
            return None;
        }
        if ns == 0 {
            return Some(from);
        }
        let (channel, lane) = (self.units[unit].channel as usize, self.units[unit].lane as usize);
        if self.channels[channel].is_full(lane) {
            self.forget_past(channel);
        }
        self.channels[channel].take_until(lane, from, ns, until)
    }

    /// Drops a channel's transfers beyond the reach of later operations.
    #[cold]
    pub(super) fn forget_past(&mut self, channel: usize) {
        // A transfer starts after its request's arrival, and after its unit is free.
        let of_channel = (0..self.units.len()).filter(|&unit| self.units[unit].channel as usize == channel);
        let (first_free, has_gaps) = of_channel
            .map(|unit| self.first_free(unit))
            .reduce(|(first, has_gaps), (free, has_gap)| (first.min(free), has_gaps || has_gap))
            .unwrap_or((0, false));
        let arrival = self.inner.ctx().arrival();
        // A read does not wait for the operation it suspends.
        let past = if EXTRAS { arrival } else { first_free.max(arrival) };
        self.channels[channel].forget(past, has_gaps);
    }

    /// The earliest time at which `unit` may take another operation, and whether later ones stand behind it.
    fn first_free(&self, unit: usize) -> (Time, bool) {
        let state = &self.units[unit];
        match self.gaps[unit].first().filter(|_| state.idle_until > 0) {
            Some(gap) => (gap.from, true),
            None => (state.free, false),
        }
    }
}

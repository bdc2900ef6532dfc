//! Erases and programs that give way to reads.
//!
//! If the host waits for a read while its unit erases, the read suspends the erase: the array stops within
//! `suspend`, the read takes place, and the erase continues after `resume` from the point of interruption. A
//! read that comes before an erase has begun goes in front of it. Programs in the background do the same if the
//! profile says so.
//!
//! ```text
//! unit |--- erase ---| suspend |-- read --|= transfer =| resume |--- rest of the erase ---|
//!                    ^ the read comes
//! ```
//!
//! Only the last issued operation of a unit can be suspended, because operations behind it already have their
//! times. Also, nobody may wait for its end, because the device reported this time when it issued the
//! operation. So programs of a request are not suspended.

use super::Timed;
use crate::address::BlockId;
use crate::context::{Time, Waits};
use crate::nand::{Done, Nand};
use crate::profile::Suspend;

/// Each unit's suspendable operation.
#[derive(Clone, Debug)]
pub(super) struct Suspending {
    suspend: Time,
    resume: Time,
    most_reads: u32,
    pub(super) programs: bool,
    tails: Vec<Tail>,
}

/// A unit's last operation, if it can be suspended.
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    /// If it has not begun and needs no bus: the time when the unit is free for reads in front of it.
    before: Option<Time>,
    /// While it is suspended: when the interrupting reads end.
    paused: Option<Time>,
    /// Its array time, or the rest.
    from: Time,
    end: Time,
    /// Reads that have interrupted it.
    reads: u32,
}

/// Time slot for a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub(super) start: Time,
    /// Array time left for the operation afterwards.
    left: Time,
    /// The operation's earliest start, and its delay after the read.
    next: (Time, Time),
    is_in_front: bool,
}

impl Suspending {
    pub(super) fn new(times: &Suspend, units: usize) -> Self {
        let ns = |us: f64| (us * 1000.0).round() as Time;
        Self {
            suspend: ns(times.suspend_us),
            resume: ns(times.resume_us),
            most_reads: times.most_reads,
            programs: times.programs,
            tails: vec![Tail::default(); units],
        }
    }

    /// Makes the last operation of `unit`, in the array between two times, suspendable. If it needs no bus, `before`
    /// is when the unit became free: from then on a read may go in front of it.
    pub(super) fn offer(&mut self, unit: usize, before: Option<Time>, (from, end): (Time, Time)) {
        self.tails[unit] = Tail { before, paused: None, from, end, reads: 0 };
    }

    /// The slot for a read at `ready`, on `unit` (busy until `free`); `None` if the read must wait.
    pub(super) fn slot(&self, unit: usize, ready: Time, free: Time) -> Option<Slot> {
        let tail = &self.tails[unit];
        // Another operation was issued since, or the last one is over.
        if tail.end != free || ready >= free || tail.reads == self.most_reads {
            return None;
        }
        let whole = tail.end - tail.from;
        if let Some(before) = tail.before.filter(|_| ready <= tail.from) {
            return Some(Slot { start: ready.max(before), left: whole, next: (tail.from, 0), is_in_front: true });
        }
        let next = (0, self.resume);
        if let Some(paused) = tail.paused.filter(|&paused| ready <= paused) {
            return Some(Slot { start: paused, left: whole, next, is_in_front: false });
        }
        let at = ready.max(tail.from);
        let start = at + self.suspend;
        (start < tail.end).then_some(Slot { start, left: tail.end - at, next, is_in_front: false })
    }

    /// Ends the read in `slot` at `end`; returns when the operation stopped, and when it goes on.
    pub(super) fn take(&mut self, unit: usize, slot: Slot, end: Time) -> (Time, Time) {
        let tail = &mut self.tails[unit];
        let cut = tail.end - slot.left;
        let (least, later) = slot.next;
        tail.from = (end + later).max(least);
        tail.end = tail.from + slot.left;
        tail.reads += 1;
        (tail.before, tail.paused) = if slot.is_in_front { (Some(end), None) } else { (None, Some(end)) };
        (cut, tail.from)
    }
}

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Serves a read at once by suspending or delaying an operation; `None` if no operation can give way.
    /// Returns the end of the read.
    pub(super) fn read_early(&mut self, unit: usize, ready: Time, (array, transfer): (Time, Time)) -> Option<Time> {
        if self.inner.ctx().follows_events() {
            return None;
        }
        let free = self.units[unit].free;
        let suspending = self.suspending.as_ref().filter(|_| self.inner.ctx().goes_first())?;
        let slot = suspending.slot(unit, ready, free)?;
        let end = self.transfer(unit, slot.start + array, transfer);
        self.hold(unit, (slot.start, end), array, (array, transfer));
        let waits = Waits { unit: slot.start - ready, channel: end - slot.start - array - transfer };
        self.inner.ctx().count_waits(waits);
        let (cut, from) = self.suspending.as_mut().map_or((end, end), |suspending| suspending.take(unit, slot, end));
        let put_off = from + slot.left;
        self.units[unit].free = put_off;
        let ctx = self.inner.ctx();
        ctx.moved(unit as u32, cut, (from, put_off));
        ctx.put_off(put_off);
        ctx.go_ahead(put_off - free);
        Some(end)
    }

    /// Erases a block so that reads may interrupt it, unless a request waits for the erase.
    pub(super) fn erase_suspendably(&mut self, block: BlockId, erase: Time) -> Done {
        let unit = self.unit_of(block);
        if self.inner.ctx().follows_events() {
            return self.issue_erase(unit, erase);
        }
        let before = self.units[unit].free;
        let Done(end) = self.time_write(block, erase, 0);
        self.offer(unit, Some(before), (end - erase, end));
        Done(end)
    }

    /// Makes the last operation of `unit`, in the array between two times, suspendable if no request waits for
    /// it.
    fn offer(&mut self, unit: usize, before: Option<Time>, array: (Time, Time)) {
        let is_waited_for = self.inner.ctx().is_waited_for();
        if let Some(suspending) = self.suspending.as_mut().filter(|_| !is_waited_for) {
            suspending.offer(unit, before, array);
        }
    }

    /// Makes the last program of `block`, up to `end`, suspendable.
    pub(super) fn offer_program(&mut self, block: BlockId, end: Time) {
        if self.suspending.as_ref().is_some_and(|suspending| suspending.programs) {
            let times = self.times_in(block);
            let whole = times.copy_inside.unwrap_or(times.program);
            let start = end - times.program.min(whole);
            self.offer(self.unit_of(block), None, (start, end));
        }
    }
}

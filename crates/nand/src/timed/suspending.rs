//! Erases and programs that give way to reads.
//!
//! A read that the host waits for and that comes while its unit erases suspends the erase: the array stops within
//! `suspend`, the read takes place, and the erase goes on after `resume` from where it was. A read that comes before an
//! erase has begun goes in front of it. Programs in the background do the same where the profile says so.
//!
//! ```text
//! unit |--- erase ---| suspend |-- read --|= transfer =| resume |--- rest of the erase ---|
//!                    ^ the read comes
//! ```
//!
//! Only the operation that was issued last to a unit can be suspended: what waits behind it has its times already. Nobody
//! may wait for its end either, since that was told when it was issued: so programs of a request are not suspended.

use crate::context::Time;
use crate::profile::Suspend;

/// What is suspended, on each unit.
#[derive(Clone, Debug)]
pub(super) struct Suspending {
    suspend: Time,
    resume: Time,
    most_reads: u32,
    pub(super) programs: bool,
    tails: Vec<Tail>,
}

/// The last operation of a unit, where it can be suspended.
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    /// Where it has not begun and needs no bus: when the unit is free for what goes in front of it.
    before: Option<Time>,
    /// While it is suspended: when the reads in its way end.
    paused: Option<Time>,
    /// Its array time, or what is left of it.
    from: Time,
    end: Time,
    /// Reads that it gave way to.
    reads: u32,
}

/// Where a read takes place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub(super) start: Time,
    /// Array time that is left of the operation afterwards.
    left: Time,
    /// The operation starts no earlier, and so long after the read.
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

    /// The last operation of `unit` works in the array between two times and can be suspended; `before`, the unit was
    /// free for what needs no bus.
    pub(super) fn offer(&mut self, unit: usize, before: Option<Time>, (from, end): (Time, Time)) {
        self.tails[unit] = Tail { before, paused: None, from, end, reads: 0 };
    }

    /// Where a read that comes at `ready` takes place on `unit`, which is busy until `free`; `None` where it waits for that.
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

    /// The read in `slot` ends at `end`; returns when the operation does.
    pub(super) fn take(&mut self, unit: usize, slot: Slot, end: Time) -> Time {
        let tail = &mut self.tails[unit];
        let (least, later) = slot.next;
        tail.from = (end + later).max(least);
        tail.end = tail.from + slot.left;
        tail.reads += 1;
        (tail.before, tail.paused) = if slot.is_in_front { (Some(end), None) } else { (None, Some(end)) };
        tail.end
    }
}

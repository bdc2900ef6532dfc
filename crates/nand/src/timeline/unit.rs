//! A die (or a plane, if planes work independently) in the order of events.
//!
//! An operation's end is known as soon as its channel takes it, unless reads may stop it. So most operations are one event
//! for their unit: the moment when they ask for the channel. A unit chooses its next operation as soon as nothing can go ahead
//! anymore.

use super::names::Names;
use super::ops::{Flags, Op, Queue, NONE};
use super::{Timeline, NEVER};
use crate::time::Time;
use crate::waits::Waits;

#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) channel: u32,
    /// Reads that go ahead, and everything else, each in the order of issue.
    pub(super) reads: Queue,
    pub(super) others: Queue,
    pub(super) names: Names,
    /// When the array and its page register are free.
    free: Time,
    /// When the cache register is free.
    cache_free: Time,
    state: State,
    /// An operation giving way to reads.
    paused: Option<Paused>,
}

#[derive(Clone, Copy, Debug)]
struct Paused {
    op: u32,
    /// Array time left.
    left: Time,
    /// Reads in this pause.
    reads: u32,
}

/// The unit's next event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It looks for its next operation.
    Looking,
    /// The operation asks for the channel; it was ready at `since`.
    Asking { op: u32, since: Time },
    /// The array, at work since `since`, ends its step at `end` and leaves `left`, or is told to stop for a read.
    Working { op: u32, since: Time, end: Time, left: Time },
    /// The array has stopped and leaves `left`.
    Stopping { op: u32, left: Time },
}

impl Unit {
    pub(super) fn new(channel: u32) -> Self {
        Self {
            channel,
            reads: Queue::EMPTY,
            others: Queue::EMPTY,
            names: Names::default(),
            free: 0,
            cache_free: 0,
            state: State::Looking,
            paused: None,
        }
    }
}

/// Behind the numbers of all operations.
const LAST: u64 = 1 << 40;

impl Timeline {
    /// The unit's next event takes place at `now`.
    #[inline]
    pub(super) fn unit_event(&mut self, unit: u32, now: Time) {
        match self.units[unit as usize].state {
            State::Asking { op, since } => {
                if self.transfer(unit, op, (since, now)) {
                    self.plan(unit);
                }
            }
            State::Looking => self.plan(unit),
            State::Working { op, since, end, left } if now < end => {
                self.stop(unit, op, (since, now), left + (end - now));
            }
            State::Working { op, since, end, left } => self.end_step(unit, op, (since, end), left),
            State::Stopping { op, left } => {
                let state = &mut self.units[unit as usize];
                (state.state, state.paused) = (State::Looking, Some(Paused { op, left, reads: 0 }));
                self.plan(unit);
            }
        }
    }

    /// When a queue's first operation may start; [`NEVER`] if unknown.
    #[inline]
    fn ready(&self, queue: Queue) -> Time {
        if queue.first() == NONE {
            NEVER
        } else {
            self.ops[queue.first()].ready
        }
    }

    /// Plans the unit's next event anew, after its queues or its array have changed.
    #[inline]
    pub(super) fn look_for_work(&mut self, unit: u32) {
        match self.units[unit as usize].state {
            State::Looking => self.plan(unit),
            State::Working { op, since, end, .. } => self.plan_stop(unit, op, (since, end)),
            State::Asking { .. } | State::Stopping { .. } => {}
        }
    }

    /// Begins the next operation, or plans to decide when it can begin.
    #[inline]
    fn plan(&mut self, unit: u32) {
        while self.next_operation(unit) {}
    }

    /// Begins the next operation, if nothing can go ahead of it anymore, and plans to decide otherwise; true if the unit looks
    /// for another one.
    #[inline]
    fn next_operation(&mut self, unit: u32) -> bool {
        let Unit { free, reads, others, paused, state, .. } = &self.units[unit as usize];
        if *state != State::Looking {
            // A follower has begun.
            return false;
        }
        let other = self.ready(*others);
        let start = match paused {
            Some(_) => *free,
            None => other.min(self.ready(*reads)).max(*free),
        };
        if start == NEVER {
            self.events.clear(unit);
            return false;
        }
        let (op, is_paused) = (others.first(), paused.is_some());
        if is_paused || self.rules.read_first || self.ops[op].may_be_passed() {
            if start > self.now {
                let next = if op == NONE { reads.first() } else { op };
                match is_paused {
                    // What has given way goes on behind reads that come at this time.
                    true => self.events.set_in_order(unit, start, LAST),
                    false => self.ask_at(unit, next, start),
                }
                return false;
            }
            return self.decide(unit, start);
        }
        self.ops.pop(&mut self.units[unit as usize].others);
        self.begin(unit, op, start)
    }

    /// Plans the unit's next event, for an operation. At equal times the operation issued first comes first.
    #[inline]
    fn ask_at(&mut self, unit: u32, op: u32, time: Time) {
        self.events.set_in_order(unit, time, self.ops[op].number);
    }

    /// The array is free: the unit takes its next operation, if one is ready; as [`Self::next_operation`].
    fn decide(&mut self, unit: u32, now: Time) -> bool {
        let state = &self.units[unit as usize];
        let read = Some(state.reads.first()).filter(|_| self.ready(state.reads) <= now);
        let other = Some(state.others.first()).filter(|_| self.ready(state.others) <= now);
        if let Some(paused) = state.paused {
            return self.go_on(unit, paused, read, now);
        }
        let state = &mut self.units[unit as usize];
        let (op, queue) = match (read, other) {
            (Some(op), _) => (op, &mut state.reads),
            (None, Some(op)) => (op, &mut state.others),
            (None, None) => return true,
        };
        self.ahead += u64::from(read.is_some() && other.is_some());
        self.ops.pop(queue);
        self.begin(unit, op, now)
    }

    /// A read, or the rest after the reads; as [`Self::next_operation`].
    fn go_on(&mut self, unit: u32, paused: Paused, read: Option<u32>, now: Time) -> bool {
        let most = self.rules.most_reads;
        let rare = self.ops.rare(paused.op);
        let so_far = if self.rules.slice.is_some() { paused.reads } else { rare.reads };
        let state = &mut self.units[unit as usize];
        if let Some(read) = read.filter(|_| so_far < most) {
            rare.reads += 1;
            self.ahead += 1;
            state.paused = Some(Paused { reads: paused.reads + 1, ..paused });
            self.ops.pop(&mut state.reads);
            return self.begin(unit, read, now);
        }
        state.paused = None;
        let resume = if paused.reads > 0 { self.rules.resume } else { 0 };
        self.work(unit, paused.op, (now, paused.left), resume);
        false
    }

    /// The unit begins an operation at `start`; true if its end is known, so the unit looks for the next one.
    #[inline]
    fn begin(&mut self, unit: u32, op: u32, start: Time) -> bool {
        let Op { steps, ready, flags, .. } = self.ops[op];
        self.waited(op, Waits { unit: start - ready, channel: 0 }, flags.has(Flags::IS_HOST));
        if self.history.is_some() || self.works.is_some() {
            self.tell_of_start(op, start);
        }
        let since = start + steps.before;
        if steps.before > 0 {
            self.worked(op, (start, since), false);
        }
        if steps.transfer == 0 {
            return self.last_step(unit, op, since);
        }
        let state = &mut self.units[unit as usize];
        let asks = since.max(state.cache_free);
        if asks <= self.now {
            return self.transfer(unit, op, (since, asks));
        }
        state.state = State::Asking { op, since };
        self.ask_at(unit, op, asks);
        false
    }

    /// The operation asks for the channel at `now`, and nobody can go ahead of it there; as [`Self::begin`].
    #[inline]
    fn transfer(&mut self, unit: u32, op: u32, (since, now): (Time, Time)) -> bool {
        let steps = self.ops[op].steps;
        let caches = self.rules.read_cache && steps.is_read();
        let state = &mut self.units[unit as usize];
        let free = &mut self.channels[state.channel as usize];
        let start = now.max(*free);
        let end = start + steps.transfer;
        *free = end;
        self.waited(op, Waits { unit: 0, channel: start - since }, false);
        self.worked(op, (start, end), true);
        if caches {
            let state = &mut self.units[unit as usize];
            (state.free, state.cache_free, state.state) = (now, end, State::Looking);
            self.end(op, end);
            return true;
        }
        self.last_step(unit, op, end)
    }

    /// The array's work after the transfer, from `start` on; as [`Self::begin`].
    #[inline]
    fn last_step(&mut self, unit: u32, op: u32, start: Time) -> bool {
        let Op { steps, flags, .. } = self.ops[op];
        if flags.has(Flags::GIVES_WAY) {
            self.work(unit, op, (start, steps.after), 0);
            return false;
        }
        let end = start + steps.after;
        if steps.after > 0 {
            self.worked(op, (start, end), false);
        }
        self.free_array(unit, op, end);
        true
    }

    #[inline]
    fn free_array(&mut self, unit: u32, op: u32, end: Time) {
        let state = &mut self.units[unit as usize];
        (state.free, state.state) = (end, State::Looking);
        self.end(op, end);
    }

    /// The array works on the rest (or a slice) for an operation giving way to reads.
    fn work(&mut self, unit: u32, op: u32, (since, whole): (Time, Time), resume: Time) {
        let now = self.rules.slice.map_or(whole, |slice| slice.min(whole));
        let end = since + resume + now;
        self.ops.rare(op).resume += resume;
        self.units[unit as usize].state = State::Working { op, since, end, left: whole - now };
        self.plan_stop(unit, op, (since, end));
    }

    /// Plans the end of the array's step, or its stop for a read.
    fn plan_stop(&mut self, unit: u32, op: u32, (since, end): (Time, Time)) {
        let ready = self.ready(self.units[unit as usize].reads);
        let at = ready.max(since);
        let may_stop = self.rules.slice.is_none() && ready < end && self.ops.rare(op).reads < self.rules.most_reads;
        let stops = may_stop && at + self.rules.suspend < end;
        self.ask_at(unit, op, if stops { at } else { end });
    }

    /// The array is told to stop.
    fn stop(&mut self, unit: u32, op: u32, (since, now): (Time, Time), left: Time) {
        let free = now + self.rules.suspend;
        self.keep_piece(op, (since, free), false);
        if self.works.is_some() {
            self.tell_of(op, (since, now), false);
        }
        let state = &mut self.units[unit as usize];
        (state.free, state.state) = (free, State::Stopping { op, left });
        self.ask_at(unit, op, free);
    }

    fn end_step(&mut self, unit: u32, op: u32, (since, end): (Time, Time), left: Time) {
        self.worked(op, (since, end), false);
        if left == 0 {
            self.free_array(unit, op, end);
            return self.plan(unit);
        }
        let state = &mut self.units[unit as usize];
        (state.free, state.state, state.paused) = (end, State::Looking, Some(Paused { op, left, reads: 0 }));
        self.plan(unit);
    }
}

//! A die (or a plane, if planes work independently) in the order of events.

use super::events::What;
use super::{Op, Timeline, NEVER};
use crate::time::Time;
use crate::waits::Waits;
use crate::work::Work;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) channel: u32,
    /// Reads that go ahead, and everything else, each in the order of issue.
    pub(super) reads: VecDeque<u32>,
    pub(super) others: VecDeque<u32>,
    array: Array,
    /// The operation in the cache register, which waits for the channel or uses it.
    cache: Option<u32>,
    /// An operation that gives way to reads.
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

/// What the array and its page register do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Array {
    Free,
    /// The step before the transfer ends at the unit's next event.
    Before(u32),
    /// The page register is full, and the cache register, too.
    Full(u32),
    /// It waits for the channel, or uses it.
    OnChannel(u32),
    /// A step after the transfer: it ends at `end`, the unit's next event, and leaves `left`.
    After {
        op: u32,
        end: Time,
        left: Time,
    },
    /// It stops for reads at the unit's next event, and leaves `left`.
    Stopping {
        op: u32,
        left: Time,
    },
}

impl Unit {
    pub(super) fn new(channel: u32) -> Self {
        Self { channel, reads: VecDeque::new(), others: VecDeque::new(), array: Array::Free, cache: None, paused: None }
    }

    /// The operation that uses the channel.
    pub(super) fn on_channel(&self) -> u32 {
        match (self.cache, self.array) {
            (Some(op), _) | (None, Array::OnChannel(op)) => op,
            (None, array) => unreachable!("{array:?} needs no channel"),
        }
    }
}

impl Timeline {
    /// The unit's next event is at `time`; an earlier plan is void.
    fn unit_at(&mut self, unit: u32, time: Time) {
        self.at(time, What::Unit(unit));
    }

    /// The unit's step ends, or an operation is ready for it.
    pub(super) fn unit_event(&mut self, unit: u32) {
        match self.units[unit as usize].array {
            Array::Before(op) => self.after_first_step(unit, op),
            Array::After { op, left, .. } => self.after_last_step(unit, op, left),
            Array::Stopping { op, left } => {
                self.worked(op, self.ops[op as usize].since, false);
                let state = &mut self.units[unit as usize];
                state.paused = Some(Paused { op, left, reads: 0 });
                state.array = Array::Free;
                self.look_for_work(unit);
            }
            Array::Free => self.look_for_work(unit),
            Array::Full(_) | Array::OnChannel(_) => {}
        }
    }

    /// Whether the first of `queue` may start now; otherwise when, if that is known.
    fn first_of(&self, queue: &VecDeque<u32>) -> Result<u32, Time> {
        let &op = queue.front().ok_or(NEVER)?;
        let ready = self.ops[op as usize].ready;
        if ready <= self.now {
            Ok(op)
        } else {
            Err(ready)
        }
    }

    /// Starts the unit's next step if its array is free, or stops its operation for a read.
    pub(super) fn look_for_work(&mut self, unit: u32) {
        let state = &self.units[unit as usize];
        let read = self.first_of(&state.reads);
        match state.array {
            Array::Free => {}
            Array::After { op, end, left } => {
                match read {
                    Ok(_) => self.stop(unit, op, end, left),
                    // Nothing else wakes a unit that is at work.
                    Err(ready) if ready < end && self.rules.slice.is_none() && self.may_stop(op) => {
                        self.at(ready, What::Wake(unit));
                    }
                    Err(_) => {}
                }
                return;
            }
            _ => return,
        }
        if let Some(paused) = state.paused {
            self.go_on(unit, paused, read.ok());
            return;
        }
        let other = self.first_of(&state.others);
        match (read, other) {
            (Ok(op), _) => {
                self.units[unit as usize].reads.pop_front();
                self.start(unit, op);
            }
            (Err(_), Ok(op)) => {
                self.units[unit as usize].others.pop_front();
                self.start(unit, op);
            }
            (Err(first), Err(second)) => {
                let ready = first.min(second);
                if ready < NEVER {
                    self.unit_at(unit, ready);
                }
            }
        }
    }

    fn may_stop(&self, op: u32) -> bool {
        let op = &self.ops[op as usize];
        op.gives_way && op.reads < self.rules.most_reads
    }

    /// Stops an operation for a read, unless it only stops between slices.
    fn stop(&mut self, unit: u32, op: u32, end: Time, left: Time) {
        let free = self.now + self.rules.suspend;
        if self.rules.slice.is_some() || !self.may_stop(op) || free >= end {
            return;
        }
        let left = left + (end - self.now);
        self.tell_of(op, (self.ops[op as usize].since, self.now), false);
        self.units[unit as usize].array = Array::Stopping { op, left };
        self.unit_at(unit, free);
    }

    /// A read, or the rest of the operation that gave way to reads.
    fn go_on(&mut self, unit: u32, paused: Paused, read: Option<u32>) {
        let most = self.rules.most_reads;
        let op = &mut self.ops[paused.op as usize];
        let so_far = if self.rules.slice.is_some() { paused.reads } else { op.reads };
        if let Some(read) = read.filter(|_| so_far < most) {
            op.reads += 1;
            let state = &mut self.units[unit as usize];
            state.paused = Some(Paused { reads: paused.reads + 1, ..paused });
            state.reads.pop_front();
            self.start(unit, read);
            return;
        }
        self.units[unit as usize].paused = None;
        let resume = if paused.reads > 0 { self.rules.resume } else { 0 };
        self.slice(unit, paused.op, paused.left, resume);
    }

    /// The next slice of an operation's last step.
    fn slice(&mut self, unit: u32, op: u32, whole: Time, resume: Time) {
        let slice = self.rules.slice.filter(|_| self.ops[op as usize].gives_way);
        let now = slice.map_or(whole, |slice| slice.min(whole));
        let end = self.now + resume + now;
        let state = &mut self.ops[op as usize];
        (state.since, state.resume) = (self.now, state.resume + resume);
        self.units[unit as usize].array = Array::After { op, end, left: whole - now };
        self.unit_at(unit, end);
        if slice.is_none() {
            self.look_for_work(unit);
        }
    }

    fn start(&mut self, unit: u32, op: u32) {
        let Op { steps, ready, is_host, .. } = self.ops[op as usize];
        self.waited(op, Waits { unit: self.now - ready, channel: 0 }, is_host);
        let (number, has_waited) = (self.ops[op as usize].number, self.now > ready);
        self.tell(|| Work::Started { number, has_waited });
        if let Some(history) = &mut self.history {
            history.began(self.ops[op as usize].past, self.now);
        }
        if steps.before > 0 {
            self.units[unit as usize].array = Array::Before(op);
            self.unit_at(unit, self.now + steps.before);
        } else {
            self.ops[op as usize].since = self.now;
            self.move_data(unit, op);
        }
    }

    fn after_first_step(&mut self, unit: u32, op: u32) {
        let start = self.now - self.ops[op as usize].steps.before;
        self.worked(op, start, false);
        self.tell_of(op, (start, self.now), false);
        self.ops[op as usize].since = self.now;
        self.move_data(unit, op);
    }

    /// Moves the operation on to the channel, or to its last step if it needs none.
    fn move_data(&mut self, unit: u32, op: u32) {
        let steps = self.ops[op as usize].steps;
        if steps.transfer == 0 {
            self.last_step(unit, op);
            return;
        }
        let caches = self.rules.read_cache && steps.is_read();
        let state = &mut self.units[unit as usize];
        if state.cache.is_some() {
            state.array = Array::Full(op);
            return;
        }
        if caches {
            (state.cache, state.array) = (Some(op), Array::Free);
        } else {
            state.array = Array::OnChannel(op);
        }
        self.ask_for_channel(unit);
        if caches {
            self.look_for_work(unit);
        }
    }

    /// The transfer of the unit's operation ends.
    pub(super) fn after_transfer(&mut self, unit: u32) {
        let state = &mut self.units[unit as usize];
        if let Some(op) = state.cache.take() {
            let waiting = state.array;
            self.end(op);
            if let Array::Full(op) = waiting {
                self.move_data(unit, op);
            }
            return;
        }
        let op = state.on_channel();
        self.last_step(unit, op);
    }

    fn last_step(&mut self, unit: u32, op: u32) {
        let after = self.ops[op as usize].steps.after;
        if after > 0 {
            self.slice(unit, op, after, 0);
            return;
        }
        self.free_array(unit, op);
    }

    fn after_last_step(&mut self, unit: u32, op: u32, left: Time) {
        let start = self.ops[op as usize].since;
        self.worked(op, start, false);
        self.tell_of(op, (start, self.now), false);
        if left == 0 {
            self.free_array(unit, op);
            return;
        }
        let state = &mut self.units[unit as usize];
        state.array = Array::Free;
        state.paused = Some(Paused { op, left, reads: 0 });
        self.look_for_work(unit);
    }

    fn free_array(&mut self, unit: u32, op: u32) {
        self.units[unit as usize].array = Array::Free;
        self.end(op);
        self.look_for_work(unit);
    }
}

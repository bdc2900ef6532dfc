//! A device's time by the order of events.
//!
//! [`crate::timed::Timed`] gives each operation its times when it is issued. So a later operation cannot go ahead on a
//! shared bus, and no read can pass a queue of programs. A timeline keeps the issued operations instead, and carries
//! them out one event after the other: the bus goes to the unit whose data was ready first, reads go ahead, programs
//! stop for them.
//!
//! ```text
//! issue --> [queue of a unit] --> array --> [queue of the channel] --> transfer --> array --> end
//!                                 (tR)                                              (tPROG)
//! ```
//!
//! Ends are known later than issues. So each operation is issued with an *estimated end*, under which the software above
//! refers to it: an operation that must wait for another has its estimated end as its earliest start.
//!
//! A read that must wait for another operation, as a data page's read for its map page, joins its unit's queue when that
//! operation has ended; until then the unit serves others. A program or an erase keeps its place in the queue while it
//! waits, because a block's pages are programmed in order.

mod history;
mod joining;
mod names;
mod ops;
mod requests;
mod unit;
mod watching;

pub use requests::Answer;

use crate::cause::Cause;
use crate::stall::Stall;
use crate::time::Time;
use crate::tournament::{Key, Tournament};
use crate::waits::Waits;
use crate::work::Work;
use history::History;
use names::Known;
use ops::{Flags, Op, Ops};
use requests::Requests;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use unit::Unit;

/// An operation's times, in ns; those that it does not need are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Steps {
    /// In the array, before its transfer.
    pub(crate) before: Time,
    /// On the channel.
    pub(crate) transfer: Time,
    /// In the array, after its transfer.
    pub(crate) after: Time,
}

impl Steps {
    #[inline]
    pub(crate) fn total(&self) -> Time {
        self.before + self.transfer + self.after
    }

    #[inline]
    fn is_read(&self) -> bool {
        self.before > 0 && self.after == 0
    }
}

/// Whose operation it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Part {
    /// Whether the host waits for it.
    pub(crate) is_waited_for: bool,
    /// Whether it belongs to the request's own data, even if the host does not wait.
    pub(crate) is_own: bool,
}

/// It belongs to another request, or to none.
const JOINED: Part = Part { is_waited_for: true, is_own: false };

const NEVER: Time = Time::MAX;

/// How a unit's operations may overlap and give way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rules {
    pub(crate) read_cache: bool,
    pub(crate) read_first: bool,
    /// Time until an array that is told to stop is free, and time until it goes on.
    pub(crate) suspend: Time,
    pub(crate) resume: Time,
    pub(crate) most_reads: u32,
    /// Length of a step of an operation that stops between steps only.
    pub(crate) slice: Option<Time>,
    pub(crate) stops_erases: bool,
    pub(crate) stops_programs: bool,
    /// Whether planes may program together.
    pub(crate) joins_planes: bool,
}

/// A device's operations in the order of events.
#[derive(Clone, Debug)]
pub struct Timeline {
    now: Time,
    /// End of the last operation.
    last: Time,
    rules: Rules,
    units: Vec<Unit>,
    /// By channel: the end of its last transfer.
    channels: Vec<Time>,
    ops: Ops,
    /// Programs open to others in their request, with their units.
    held: Vec<(u32, u32)>,
    /// Units by the time of their next event.
    events: Tournament,
    /// Reads whose wait for another operation is over at a time to come.
    arrivals: BinaryHeap<Reverse<(Key, u32)>>,
    requests: Requests,
    /// By operation, the requests that wait for it and that it is no part of.
    joined: BTreeMap<u32, Vec<u32>>,
    history: Option<Box<History>>,
    /// The estimate and the name of the last operation.
    named: (Time, Time),
    /// Operations so far.
    issued: u64,
    /// Reads so far that went ahead of others on their unit.
    ahead: u64,
    /// News about operations, until somebody takes them.
    works: Option<Vec<Work>>,
}

impl Timeline {
    /// An idle device; `channel_of` has each unit's channel.
    pub(crate) fn new(rules: Rules, channel_of: impl Iterator<Item = u32>, channels: u32) -> Self {
        let units: Vec<Unit> = channel_of.map(Unit::new).collect();
        let mut ops = Ops::new();
        if rules.stops_erases || rules.stops_programs || rules.joins_planes {
            ops.keep_rare();
        }
        Self {
            now: 0,
            last: 0,
            rules,
            events: Tournament::new(units.len() as u32),
            arrivals: BinaryHeap::new(),
            units,
            channels: vec![0; channels as usize],
            ops,
            held: Vec::new(),
            requests: Requests::default(),
            joined: BTreeMap::new(),
            history: None,
            named: (0, 0),
            issued: 0,
            ahead: 0,
            works: None,
        }
    }

    /// Time of the last event or answer.
    pub fn now(&self) -> Time {
        self.now
    }

    /// End of the last operation whose end is known.
    pub fn last(&self) -> Time {
        self.last
    }

    /// Begins anew at `start`, when the device is idle.
    pub(crate) fn restart(&mut self, start: Time) {
        assert!(self.is_idle(), "operations are under way");
        (self.now, self.last) = (start, start);
    }

    /// Whether the end of every operation is known.
    pub fn is_idle(&self) -> bool {
        self.ops.is_empty()
    }

    /// The operations that follow belong to the request with this number; numbers are consecutive.
    #[inline]
    pub fn open(&mut self, request: u64) {
        self.requests.open(request, request);
    }

    /// The next operations belong to a request with the next number, as a part for the host's request `host`.
    pub(crate) fn open_next(&mut self, host: u64) {
        self.requests.open(self.requests.next_number(), host);
    }

    /// Whether the next operations belong to a request.
    pub(crate) fn is_open(&self) -> bool {
        self.requests.current().is_some()
    }

    /// The host has the answer to the open request already.
    pub fn answer_early(&mut self) {
        self.requests.answer_early();
    }

    /// The controller works for the open request until `at`, beside the flash.
    pub(crate) fn control_until(&mut self, at: Time) {
        self.requests.control_until(at);
    }

    /// Until when the controller works for the open request, beside the flash; 0 if it does not.
    #[inline]
    pub fn controlled_until(&self) -> Time {
        self.requests.controlled_until()
    }

    /// All operations of the open request are issued, and it ends at `earliest` or later; returns its number.
    #[inline]
    pub fn close(&mut self, earliest: Time) -> u64 {
        if !self.held.is_empty() {
            self.release_held();
        }
        self.requests.close(earliest)
    }

    /// The open request began at `begun` and ends so long after its operations as `done` lies behind their estimated ends:
    /// other memories work, too.
    #[inline]
    pub fn answer_behind(&mut self, begun: Time, done: Time) {
        self.requests.answer_behind(begun, done);
    }

    /// Goes on until a request ends, but not beyond `limit`; `None` if none ends by then.
    #[inline]
    pub fn step(&mut self, limit: Time) -> Option<Answer> {
        loop {
            let next = self.next_event();
            if let Some(answer) = self.requests.next(limit.min(next.time())) {
                self.now = self.now.max(answer.at);
                return Some(answer);
            }
            if next.time() > limit || next == Key::NONE {
                return None;
            }
            self.now = self.now.max(next.time());
            self.carry_out(next);
        }
    }

    /// The next event's time.
    #[inline]
    fn next_event(&self) -> Key {
        let first = self.events.first();
        if self.arrivals.is_empty() {
            return first;
        }
        self.arrivals.peek().map_or(first, |&Reverse((key, _))| key.min(first))
    }

    #[inline]
    fn carry_out(&mut self, event: Key) {
        if self.arrivals.peek().is_none_or(|&Reverse((key, _))| key != event) {
            return self.unit_event(self.events.winner(), event.time());
        }
        if let Some(Reverse((_, op))) = self.arrivals.pop() {
            self.queue_late(op);
            self.look_for_work(self.ops[op].unit);
        }
    }

    /// Issues an operation on `unit` no earlier than `ready`; returns its name, an estimated end near `estimate`.
    ///
    /// If `ready` names an operation that is under way, this one follows it; names of ended operations are no bound.
    #[inline]
    pub(crate) fn issue(
        &mut self,
        unit: u32,
        (arrival, ready): (Time, Time),
        steps: Steps,
        (part, is_erase, cause): (Part, bool, Cause),
        estimate: Time,
    ) -> Time {
        if !self.held.is_empty() {
            self.release_held_of(unit);
        }
        let leader = if ready > arrival { self.known(ready, arrival) } else { None };
        let gives_way = if is_erase { self.rules.stops_erases } else { self.rules.stops_programs };
        let names = &mut self.units[unit as usize].names;
        let mut op = Op::new(unit, names.next(), steps, arrival);
        op.flags.set(Flags::GIVES_WAY, gives_way && steps.after > 0);
        op.flags.set(Flags::IS_HOST, cause == Cause::Host);
        op.flags.set(Flags::GOES_FIRST, self.rules.read_first && steps.is_read() && part.is_waited_for);
        op.flags.set(Flags::FOLLOWS, leader.is_some());
        op.join_request(self.requests.add(part), part);
        op.number = self.issued;
        self.issued += 1;
        match leader {
            None => {}
            Some(Known::Op(_)) => op.ready = NEVER,
            Some(Known::End(end, _)) => op.ready = end,
        }
        let ready = op.ready;
        let at = self.ops.add(op);
        if self.history.is_some() || self.works.is_some() {
            self.watch(at, cause, leader);
        }
        let name = self.name(at, unit, estimate, arrival);
        if let Some(Known::Op(leader)) = leader {
            self.ops.follow(leader, at);
        }
        if self.rules.joins_planes && leader.is_none() && self.is_held(unit, at, is_erase) {
            return name;
        }
        if leader.is_none() || !steps.is_read() {
            self.queue(at);
            self.look_for_work(unit);
        } else if ready != NEVER {
            self.arrive(at, ready);
        }
        name
    }

    /// Names an operation.
    #[inline(always)]
    fn name(&mut self, op: u32, unit: u32, estimate: Time, arrival: Time) -> Time {
        let units = self.units.len().next_power_of_two() as u32;
        // Of equal estimates, that of the later operation is the later name.
        let (least, most) = self.named;
        let from = if (least..=most).contains(&estimate) { most + 1 } else { estimate };
        let name = self.units[unit as usize].names.name(from, (unit, units), op, arrival.min(self.now));
        self.named = (estimate, name);
        if self.ops[op].flags.has(Flags::IS_WAITED_FOR) {
            self.requests.expect(name);
        }
        name
    }

    /// What is known of the operation with this name, if it has not ended by `now`.
    fn known(&self, name: Time, now: Time) -> Option<Known> {
        let units = self.units.len().next_power_of_two() as Time;
        let unit = self.units.get((name & (units - 1)) as usize)?;
        unit.names.get(name).filter(|known| !matches!(known, Known::End(end, _) if *end <= now))
    }

    /// Queues an operation for its unit.
    #[inline]
    fn queue(&mut self, op: u32) {
        let Op { unit, flags, .. } = self.ops[op];
        let unit = &mut self.units[unit as usize];
        self.ops.push(if flags.has(Flags::GOES_FIRST) { &mut unit.reads } else { &mut unit.others }, op);
    }

    /// A read joins its unit's queue at `ready`.
    fn arrive(&mut self, op: u32, ready: Time) {
        if ready <= self.now {
            self.queue_late(op);
            return self.look_for_work(self.ops[op].unit);
        }
        let Op { unit, number, .. } = self.ops[op];
        self.arrivals.push(Reverse((self.events.key(unit, ready, number), op)));
    }

    /// Queues a read whose wait is over: before operations that still wait, because one of them may wait for it, as the
    /// program of a page waits for the read of its older part.
    fn queue_late(&mut self, op: u32) {
        let Op { unit, flags, .. } = self.ops[op];
        if flags.has(Flags::GOES_FIRST) {
            return self.queue(op);
        }
        let now = self.now;
        let queue = &mut self.units[unit as usize].others;
        self.ops.insert(queue, op, |other| other.may_be_passed() && other.ready >= now);
    }

    /// Makes the open request wait for the operation of this name, too.
    pub(crate) fn wait_for(&mut self, name: Time) {
        self.requests.expect(name);
        match self.known(name, self.now) {
            None => {}
            Some(Known::End(end, past)) => {
                if let (Some(history), Some(host)) = (&mut self.history, self.requests.current_host()) {
                    history.ended(host, past, end);
                }
                self.requests.answer_no_earlier(end);
            }
            Some(Known::Op(op)) => {
                if let Some(request) = self.requests.add(JOINED) {
                    self.ops[op].flags.set(Flags::IS_AWAITED_BY_OTHERS, true);
                    self.joined.entry(op).or_default().push(request as u32);
                }
            }
        }
    }

    /// Waits of answered requests for flash.
    pub(crate) fn waits(&self) -> Waits {
        self.requests.waits()
    }

    /// Reads so far that went ahead of an operation on their unit: it was suspended, or had come before them.
    pub(crate) fn reads_ahead(&self) -> u64 {
        self.ahead
    }

    /// An operation waited; `is_host` counts a page for the host, once.
    #[inline]
    fn waited(&mut self, op: u32, waits: Waits, is_host: bool) {
        let Op { request, flags, .. } = self.ops[op];
        if flags.has(Flags::HAS_REQUEST) && flags.has(Flags::IS_WAITED_FOR) && flags.has(Flags::IS_OWN) {
            self.requests.waited(request, waits, is_host);
        }
    }

    /// An operation ends at `at`, which may be ahead.
    #[inline]
    fn end(&mut self, number: u32, at: Time) {
        self.last = self.last.max(at);
        let Op { unit, place, request, flags, .. } = self.ops[number];
        let past = if self.history.is_some() { self.ops.rare(number).past } else { 0 };
        let names = &mut self.units[unit as usize].names;
        if !flags.has(Flags::IS_JOINED) {
            names.end(place, at, past);
        }
        if flags.has(Flags::JOINS) {
            let joined = self.ops.rare(number).joined;
            (1..=joined).for_each(|before| names.end(place.wrapping_sub(before), at, past));
        }
        if self.works.is_some() {
            self.tell_of_end(number, at);
        }
        if flags.has(Flags::HAS_REQUEST) {
            self.end_in((request, flags.part()), past, at);
        }
        if flags.has(Flags::IS_AWAITED_BY_OTHERS) {
            for request in self.joined.remove(&number).unwrap_or_default() {
                self.end_in((request, JOINED), past, at);
            }
        }
        let next = self.ops.first_follower(number);
        self.ops.remove(number);
        if next != ops::NONE {
            self.release(next, at);
        }
    }

    /// The operation that these wait for, `next` and those behind it, ends at `at`.
    #[cold]
    fn release(&mut self, mut next: u32, at: Time) {
        while next != ops::NONE {
            let follower = next;
            next = self.ops.next_follower(follower);
            let op = &mut self.ops[follower];
            op.ready = at;
            let (unit, is_read) = (op.unit, op.steps.is_read());
            if is_read {
                self.arrive(follower, at);
            } else {
                self.look_for_work(unit);
            }
        }
    }

    /// An operation ends, for which a request waits.
    #[inline]
    fn end_in(&mut self, (request, part): (u32, Part), past: u64, at: Time) {
        if let Some(history) = self.history.as_mut().filter(|_| part.is_waited_for) {
            history.ended(self.requests.host(request), past, at);
        }
        self.requests.end(request, part, at);
    }
}

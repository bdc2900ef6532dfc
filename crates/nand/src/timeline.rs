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

mod events;
mod history;
mod names;
mod requests;
mod unit;

pub use requests::Answer;

use crate::cause::Cause;
use crate::stall::Stall;
use crate::time::Time;
use crate::waits::Waits;
use crate::work::Work;
use events::{Events, What};
use history::History;
use names::Names;
use requests::Requests;
use std::collections::{BTreeMap, VecDeque};
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
    pub(crate) fn total(&self) -> Time {
        self.before + self.transfer + self.after
    }

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

/// An issued operation.
#[derive(Clone, Copy, Debug)]
struct Op {
    unit: u32,
    steps: Steps,
    /// No start before this; [`NEVER`] while it waits for another operation.
    ready: Time,
    /// Estimated end, its name.
    name: Time,
    /// Whether it stops for reads.
    gives_way: bool,
    /// Reads that it gave way to.
    reads: u32,
    /// Whether it moves a page for the host.
    is_host: bool,
    /// Whether it goes ahead of others on its unit.
    goes_first: bool,
    /// The request that it is a part of.
    request: Option<(u64, Part)>,
    /// Whether other requests wait for it, too.
    is_joined: bool,
    /// The first and the last operation that wait for it; [`NO_OP`] if none does.
    followers: (u32, u32),
    /// The next one that waits for the same operation, or [`NO_OP`].
    next_follower: u32,
    /// When it was ready for the channel; then, when its step after the transfer began or went on.
    since: Time,
    /// Its number in the history.
    past: u64,
    /// Its number among all operations.
    number: u64,
    /// Time to resume it that is still ahead.
    resume: Time,
}

const NEVER: Time = Time::MAX;
const NO_OP: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
struct Channel {
    /// Units that wait for the channel: first come, first served.
    waiting: VecDeque<u32>,
    current: Option<u32>,
}

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
}

/// A device's operations in the order of events.
#[derive(Clone, Debug)]
pub struct Timeline {
    now: Time,
    /// End of the last operation.
    last: Time,
    rules: Rules,
    units: Vec<Unit>,
    channels: Vec<Channel>,
    ops: Vec<Op>,
    unused: Vec<u32>,
    by_name: Names,
    events: Events,
    requests: Requests,
    /// By operation, the requests that wait for it and that it is no part of.
    joined: BTreeMap<u32, Vec<u64>>,
    history: Option<Box<History>>,
    /// Operations so far.
    issued: u64,
    /// News about operations, until somebody takes them.
    works: Option<Vec<Work>>,
}

impl Timeline {
    /// An idle device; `channel_of` has each unit's channel.
    pub(crate) fn new(rules: Rules, channel_of: impl Iterator<Item = u32>, channels: u32) -> Self {
        let units: Vec<Unit> = channel_of.map(Unit::new).collect();
        Self {
            now: 0,
            last: 0,
            rules,
            events: Events::new(units.len() as u32, channels),
            units,
            channels: vec![Channel::default(); channels as usize],
            ops: Vec::new(),
            unused: Vec::new(),
            by_name: Names::default(),
            requests: Requests::default(),
            joined: BTreeMap::new(),
            history: None,
            issued: 0,
            works: None,
        }
    }

    /// Time of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// End of the last operation that ended.
    pub fn last(&self) -> Time {
        self.last
    }

    /// Begins anew at `start`, when the device is idle.
    pub(crate) fn restart(&mut self, start: Time) {
        assert!(self.by_name.is_empty(), "operations are under way");
        (self.now, self.last) = (start, start);
    }

    /// Whether no operation is under way.
    pub fn is_idle(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The operations that follow belong to the request with this number; numbers are consecutive.
    pub fn open(&mut self, request: u64) {
        self.requests.open(request);
    }

    /// The host has the answer to the open request already.
    pub fn answer_early(&mut self) {
        self.requests.answer_early();
    }

    /// The open request ends at `at` or later.
    pub(crate) fn answer_no_earlier(&mut self, at: Time) {
        self.requests.answer_no_earlier(at);
    }

    /// All operations of the open request are issued, and it ends at `earliest` or later.
    pub fn close(&mut self, earliest: Time) {
        self.requests.close(earliest);
    }

    /// Goes on until a request ends, but not beyond `limit`; `None` if none ends by then.
    pub fn step(&mut self, limit: Time) -> Option<Answer> {
        loop {
            if let Some(answer) = self.requests.next(self.now.max(limit.min(self.events.next()))) {
                return Some(answer);
            }
            match self.events.take(limit, &mut self.now)? {
                What::Unit(unit) => self.unit_event(unit),
                What::Wake(unit) => self.look_for_work(unit),
                What::Channel(channel) => self.transferred(channel),
            }
        }
    }

    /// Issues an operation on `unit` no earlier than `ready`; returns its name, an estimated end near `estimate`.
    ///
    /// If `ready` names an operation that is under way, this one follows it; names of ended operations are no bound.
    pub(crate) fn issue(
        &mut self,
        unit: u32,
        (arrival, ready): (Time, Time),
        steps: Steps,
        (part, is_erase, cause): (Part, bool, Cause),
        estimate: Time,
    ) -> Time {
        let leader = if ready > arrival { self.by_name.get(ready) } else { None };
        let place = self.unused.last().copied().unwrap_or(self.ops.len() as u32);
        let name = self.by_name.name(estimate, place);
        let gives_way = if is_erase { self.rules.stops_erases } else { self.rules.stops_programs };
        let request = self.requests.add(part);
        let owner = self.requests.current();
        let past_leader = leader.map(|leader| self.ops[leader as usize].past);
        let past = self.history.as_mut().map_or(0, |history| history.issue(unit, cause, owner, past_leader));
        let op = Op {
            unit,
            steps,
            ready: if leader.is_some() { NEVER } else { arrival.max(self.now) },
            name,
            gives_way: gives_way && steps.after > 0,
            reads: 0,
            is_host: cause == Cause::Host,
            goes_first: self.rules.read_first && steps.is_read() && part.is_waited_for,
            request,
            is_joined: false,
            followers: (NO_OP, NO_OP),
            next_follower: NO_OP,
            since: 0,
            past,
            number: self.issued,
            resume: 0,
        };
        self.issued += 1;
        self.tell(|| Work::Issued { number: op.number, request: owner, unit });
        let number = self.store(op);
        if let Some(leader) = leader {
            self.follow(leader, number);
        }
        if leader.is_none() || !steps.is_read() {
            self.queue(number);
        }
        self.look_for_work(unit);
        name
    }

    /// Makes an operation wait for another one.
    fn follow(&mut self, leader: u32, number: u32) {
        let (first, last) = &mut self.ops[leader as usize].followers;
        let before = std::mem::replace(last, number);
        if *first == NO_OP {
            *first = number;
        } else {
            self.ops[before as usize].next_follower = number;
        }
    }

    /// Queues an operation for its unit.
    fn queue(&mut self, number: u32) {
        let Op { unit, goes_first, .. } = self.ops[number as usize];
        let unit = &mut self.units[unit as usize];
        if goes_first { &mut unit.reads } else { &mut unit.others }.push_back(number);
    }

    /// Queues a read whose wait is over: before operations that still wait, because one of them may wait for it, as the
    /// program of a page waits for the read of its older part.
    fn queue_late(&mut self, number: u32) {
        let Op { unit, goes_first, .. } = self.ops[number as usize];
        if goes_first {
            return self.queue(number);
        }
        let queue = &mut self.units[unit as usize].others;
        let is_waiting = |&other: &u32| self.ops[other as usize].ready == NEVER;
        let place = queue.iter().position(is_waiting).unwrap_or(queue.len());
        queue.insert(place, number);
    }

    /// Makes the open request wait for the operation of this name, too.
    pub(crate) fn wait_for(&mut self, name: Time) {
        let Some(op) = self.by_name.get(name) else { return };
        if let Some((request, _)) = self.requests.add(JOINED) {
            self.ops[op as usize].is_joined = true;
            self.joined.entry(op).or_default().push(request);
        }
    }

    fn store(&mut self, op: Op) -> u32 {
        match self.unused.pop() {
            Some(number) => {
                self.ops[number as usize] = op;
                number
            }
            None => {
                self.ops.push(op);
                self.ops.len() as u32 - 1
            }
        }
    }

    /// Looks for the longest request from now on.
    pub(crate) fn look_for_stalls(&mut self) {
        let channel_of = self.units.iter().map(|unit| unit.channel).collect();
        self.history = Some(Box::new(History::new(channel_of)));
    }

    /// A request that came at `arrival` was answered at `done`.
    #[inline]
    pub fn answered(&mut self, request: u64, arrival: Time, done: Time) {
        if let Some(history) = &mut self.history {
            history.answered(request, arrival, done);
        }
    }

    /// The longest request's breakdown; `None` if none took time, or nobody looks for it.
    pub(crate) fn longest_stall(&mut self) -> Option<&Stall> {
        self.history.as_mut().and_then(|history| history.stall())
    }

    /// Waits of answered requests for flash.
    pub(crate) fn waits(&self) -> Waits {
        self.requests.waits()
    }

    /// An operation waited; `is_host` counts a page for the host, once.
    fn waited(&mut self, op: u32, waits: Waits, is_host: bool) {
        let request = self.ops[op as usize].request;
        if let Some((request, _)) = request.filter(|(_, part)| part.is_waited_for && part.is_own) {
            self.requests.waited(request, waits, is_host);
        }
    }

    /// An operation worked from `start` until now.
    #[inline]
    fn worked(&mut self, op: u32, start: Time, is_transfer: bool) {
        if let Some(history) = &mut self.history {
            history.worked(self.ops[op as usize].past, start, self.now, is_transfer);
        }
    }

    /// Keeps how operations use the device from now on.
    pub(crate) fn keep_work(&mut self) {
        self.works = Some(Vec::new());
    }

    /// News since they were last taken.
    pub(crate) fn works(&mut self) -> Option<&mut Vec<Work>> {
        self.works.as_mut()
    }

    #[inline]
    fn tell(&mut self, work: impl FnOnce() -> Work) {
        if let Some(works) = &mut self.works {
            works.push(work());
        }
    }

    /// Tells that an operation worked from `start` to `end`, without the time to resume it.
    fn tell_of(&mut self, op: u32, (start, end): (Time, Time), is_transfer: bool) {
        let op = &mut self.ops[op as usize];
        let resumed = op.resume.min(end - start);
        op.resume -= resumed;
        let (number, start) = (op.number, start + resumed);
        if start < end {
            self.tell(|| Work::Worked { number, start, end, is_transfer });
        }
    }

    fn at(&mut self, time: Time, what: What) {
        self.events.plan(time, what);
    }

    /// Queues a unit for its channel.
    fn ask_for_channel(&mut self, unit: u32) {
        let number = self.units[unit as usize].channel;
        let channel = &mut self.channels[number as usize];
        channel.waiting.push_back(unit);
        if channel.current.is_none() {
            self.next_transfer(number);
        }
    }

    fn next_transfer(&mut self, number: u32) {
        let channel = &mut self.channels[number as usize];
        channel.current = channel.waiting.pop_front();
        if let Some(unit) = channel.current {
            let op = self.units[unit as usize].on_channel();
            let Op { since, steps, .. } = self.ops[op as usize];
            let end = self.now + steps.transfer;
            self.waited(op, Waits { unit: 0, channel: self.now - since }, false);
            self.at(end, What::Channel(number));
        }
    }

    fn transferred(&mut self, number: u32) {
        let unit = self.channels[number as usize].current.take().expect("a transfer ends");
        let op = self.units[unit as usize].on_channel();
        let start = self.now - self.ops[op as usize].steps.transfer;
        self.worked(op, start, true);
        self.tell_of(op, (start, self.now), true);
        self.next_transfer(number);
        self.after_transfer(unit);
    }

    /// Ends an operation now.
    fn end(&mut self, number: u32) {
        self.last = self.now;
        let op = self.ops[number as usize];
        self.by_name.remove(op.name);
        self.unused.push(number);
        self.tell(|| Work::Ended { number: op.number });
        if let Some((request, part)) = op.request {
            self.end_in(request, part, op.past);
        }
        if op.is_joined {
            for request in self.joined.remove(&number).unwrap_or_default() {
                self.end_in(request, JOINED, op.past);
            }
        }
        let (mut next, _) = op.followers;
        while next != NO_OP {
            let follower = next;
            let op = &mut self.ops[follower as usize];
            (op.ready, next) = (self.now, op.next_follower);
            let (unit, is_read) = (op.unit, op.steps.is_read());
            if is_read {
                self.queue_late(follower);
            }
            self.look_for_work(unit);
        }
    }

    /// An operation ends, for which a request waits.
    fn end_in(&mut self, request: u64, part: Part, past: u64) {
        if let Some(history) = self.history.as_mut().filter(|_| part.is_waited_for) {
            history.ended(request, past, self.now);
        }
        self.requests.end(request, part, self.now);
    }
}

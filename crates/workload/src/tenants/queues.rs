//! Submission queues in time: when commands come into them, and when the controller takes them out.

use super::limit::Buckets;
use super::reserve::Due;
use super::Until;
use crate::{Workload, WorkloadError};
use nandlab_block::{Arbiter, Completion, Op, Priority, Queues, Request};
use nandlab_nand::{Origin, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Requests made at a time by a tenant's generator.
const AHEAD: usize = 64;

/// What a tenant's next command waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// The end of another one.
    Closed,
    /// Its own time.
    Open,
    /// What its workload says, which hears of each end.
    Own,
}

/// The most and the least that a tenant gets.
pub(super) struct Rates {
    pub(super) buckets: Option<Buckets>,
    pub(super) due: Option<Due>,
}

/// A tenant at work.
pub(super) struct Asker {
    source: Box<dyn Workload>,
    origin: Origin,
    /// The first sector of its part.
    first: u64,
    /// Its queues.
    queues: Range<usize>,
    pace: Pace,
    rates: Rates,
    /// With buckets, of a closed loop: the places for a command and the times since when they wait for one.
    asks: VecDeque<(Time, usize)>,
    /// The queue that gets its next open command, if there is room.
    turn: usize,
    /// Requests that did not come yet.
    ahead: VecDeque<Request>,
    batch: Vec<Request>,
    /// Commands that came, those taken, and those that ended.
    came: u64,
    taken: u64,
    ended: u64,
}

impl Asker {
    pub(super) fn new(
        source: Box<dyn Workload>,
        (origin, first): (Origin, u64),
        queues: Range<usize>,
        (pace, rates): (Pace, Rates),
    ) -> Result<Self, WorkloadError> {
        let turn = queues.start;
        let mut asker = Self {
            source,
            origin,
            first,
            queues,
            pace,
            rates,
            asks: VecDeque::new(),
            turn,
            ahead: VecDeque::new(),
            batch: Vec::new(),
            came: 0,
            taken: 0,
            ended: 0,
        };
        if pace != Pace::Own {
            asker.make(AHEAD)?;
        }
        Ok(asker)
    }

    /// Makes the next requests if there is none.
    fn make(&mut self, most: usize) -> Result<(), WorkloadError> {
        if self.ahead.is_empty() {
            self.batch.clear();
            self.source.fill(&mut self.batch, most)?;
            self.ahead.extend(self.batch.drain(..));
        }
        Ok(())
    }

    /// Whether its commands come at their own times.
    fn is_open(&self) -> bool {
        self.pace != Pace::Closed
    }

    /// Whether a command comes as soon as there is a place for it.
    fn comes_at_once(&self) -> bool {
        self.pace == Pace::Closed && self.rates.buckets.is_none()
    }

    /// No command comes earlier, whatever it waits for.
    fn opens(&self) -> Time {
        self.rates.buckets.as_ref().map_or(0, Buckets::opens)
    }

    /// Its next request, in its part of the device.
    fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        let Some(request) = self.ahead.pop_front() else { return Ok(None) };
        if self.pace != Pace::Own {
            self.make(AHEAD)?;
        }
        self.came += 1;
        // A change of a zone names its first sector, and has no sectors; a flush names none.
        let has_place = request.sectors > 0 || matches!(request.op, Op::Zone(_));
        let sector = request.sector + if has_place { self.first } else { 0 };
        Ok(Some(Request { sector, origin: self.origin, ..request }))
    }

    /// Whether the controller took its last request. A workload that paces itself may go on while one of its requests is
    /// under way.
    fn is_over(&self) -> bool {
        self.ahead.is_empty()
            && self.taken == self.came
            && (self.pace != Pace::Own || self.source.next_time().is_none() && self.ended == self.came)
    }
}

/// A submission queue.
#[derive(Debug)]
pub(super) struct Queue {
    /// Its tenant.
    asker: usize,
    priority: Priority,
    /// Commands that may come before another one ends.
    room: u32,
    /// Waiting commands, each with the time it came and its number at its tenant.
    waiting: VecDeque<(Time, u64, Request)>,
}

impl Queue {
    pub(super) fn new(asker: usize, depth: u32, priority: Priority) -> Self {
        Self { asker, priority, room: depth, waiting: VecDeque::new() }
    }
}

/// By a request's number: its queue, and its number at its tenant.
type UnderWay = BTreeMap<u64, (usize, u64)>;

/// The controller and all tenants.
pub(super) struct Controller {
    askers: Vec<Asker>,
    queues: Vec<Queue>,
    arbiter: Arbiter,
    /// Commands that it may still take before another one ends.
    free: u64,
    /// Known ends that did not take place yet: the time, a number for their order, and the queue.
    ends: BTreeSet<(Time, u64, usize)>,
    numbered: u64,
    /// No command was taken before this time.
    now: Time,
    /// The queue of the request handed out last and its number at its tenant, if nobody told its end.
    waits_for: Option<(usize, u64)>,
    /// The wait of the request handed out last, and its tenant.
    waited: Time,
    last: usize,
    /// Its number at its tenant.
    last_number: u64,
    /// If ends are told later: the requests under way by their number, as in `waits_for`, and the requests since then.
    later: Option<(UnderWay, u64)>,
    names: Vec<(Origin, String)>,
    until: Until,
}

impl Controller {
    pub(super) fn new(
        options: &Queues,
        askers: Vec<Asker>,
        queues: Vec<Queue>,
        (names, until): (Vec<(Origin, String)>, Until),
    ) -> Result<Self, WorkloadError> {
        let priorities: Vec<_> = queues.iter().map(|queue| queue.priority).collect();
        let mut all = Self {
            askers,
            queues,
            arbiter: Arbiter::new(options, &priorities),
            free: options.commands.map_or(u64::MAX, u64::from),
            ends: BTreeSet::new(),
            numbered: 0,
            now: 0,
            waits_for: None,
            waited: 0,
            last: 0,
            last_number: 0,
            later: None,
            names,
            until,
        };
        for queue in 0..all.queues.len() {
            for _ in 0..all.queues[queue].room {
                if !all.ask(queue, 0)? {
                    break;
                }
            }
        }
        Ok(all)
    }

    /// A place in `queue` is free from `at` on: a closed loop asks for its next command. False if none comes by that.
    fn ask(&mut self, queue: usize, at: Time) -> Result<bool, WorkloadError> {
        let asker = &mut self.askers[self.queues[queue].asker];
        if asker.comes_at_once() {
            return self.enter(queue, at);
        }
        if asker.is_open() {
            return Ok(false);
        }
        asker.asks.push_back((at, queue));
        Ok(true)
    }

    /// The tenant's next command comes into `queue`; false if it has none.
    fn enter(&mut self, queue: usize, at: Time) -> Result<bool, WorkloadError> {
        let into = &mut self.queues[queue];
        let asker = &mut self.askers[into.asker];
        let Some(request) = asker.next()? else { return Ok(false) };
        if let Some(buckets) = &mut asker.rates.buckets {
            buckets.take(&request, at);
        }
        if let Some(due) = asker.rates.due.as_mut().filter(|_| asker.taken + 1 == asker.came) {
            due.wake(at);
        }
        let came = match asker.asks.pop_front() {
            _ if asker.is_open() => request.time,
            Some((since, _)) => since,
            None => at,
        };
        into.room -= 1;
        into.waiting.push_back((came, asker.came - 1, request));
        self.arbiter.push(queue);
        Ok(true)
    }

    /// A queue with room for an open tenant's next command.
    fn open_queue(&self, asker: &Asker) -> Option<usize> {
        let (first, count) = (asker.queues.start, asker.queues.len());
        let places = (0..count).map(|step| first + (asker.turn - first + step) % count);
        places.into_iter().find(|&queue| self.queues[queue].room > 0)
    }

    /// The next command that comes at a time of its own and finds room, or that a limit lets come: the time, the tenant and
    /// the queue. A workload that paces itself may have none when its time comes.
    fn next_open(&self) -> Option<(Time, usize, usize)> {
        let coming = |(at, asker): (usize, &Asker)| {
            let (time, queue) = match (asker.pace, asker.ahead.front()) {
                (Pace::Closed, Some(_)) => *asker.asks.front()?,
                (Pace::Closed, None) => return None,
                (_, Some(request)) => (request.time, self.open_queue(asker)?),
                (Pace::Own, None) => (asker.source.next_time()?, asker.turn),
                (Pace::Open, None) => return None,
            };
            Some((time.max(asker.opens()), at, queue))
        };
        self.askers.iter().enumerate().filter_map(coming).min()
    }

    /// When the first known end lets a command come into an empty set of queues.
    fn end_that_lets_ask(&self) -> Option<Time> {
        let asks = |&(time, _, queue): &(Time, u64, usize)| {
            let asker = &self.askers[self.queues[queue].asker];
            let next = asker.ahead.front()?;
            let time = time.max(asker.opens());
            Some(if asker.is_open() { time.max(next.time) } else { time })
        };
        // An open tenant's command may come later than its end, so the first one found need not be the earliest.
        let mut earliest = Time::MAX;
        for end in self.ends.iter() {
            if end.0 >= earliest {
                break;
            }
            earliest = asks(end).map_or(earliest, |time| earliest.min(time));
        }
        (earliest < Time::MAX).then_some(earliest)
    }

    /// When the controller takes the next command, as far as ends are known.
    fn next_take(&self) -> Option<Time> {
        if self.is_over() {
            return None;
        }
        let is_free = if self.free > 0 { self.now } else { self.ends.first()?.0 };
        let waits = match self.arbiter.is_empty() {
            false => self.now,
            true => {
                let open = self.next_open().map(|(time, ..)| time);
                open.into_iter().chain(self.end_that_lets_ask()).min()?
            }
        };
        Some(self.now.max(is_free).max(waits))
    }

    /// Whether no more commands are taken.
    fn is_over(&self) -> bool {
        match self.until {
            Until::First => self.askers.iter().any(Asker::is_over),
            Until::Last => self.askers.iter().all(Asker::is_over),
        }
    }

    /// Lets everything known up to `to` take place.
    fn advance(&mut self, to: Time) -> Result<(), WorkloadError> {
        loop {
            let end = self.ends.first().copied().filter(|&(time, ..)| time <= to);
            let open = self.next_open().filter(|&(time, ..)| time <= to);
            match (end, open) {
                (Some(end), open) if open.is_none_or(|open| end.0 <= open.0) => {
                    self.ends.remove(&end);
                    let (time, _, queue) = end;
                    self.free = self.free.saturating_add(1);
                    self.queues[queue].room += 1;
                    self.ask(queue, time)?;
                }
                (_, Some((time, at, queue))) => {
                    let asker = &mut self.askers[at];
                    if asker.ahead.is_empty() {
                        asker.make(1)?;
                        continue;
                    }
                    self.enter(queue, time)?;
                    let asker = &mut self.askers[at];
                    asker.turn = if queue + 1 == asker.queues.end { asker.queues.start } else { queue + 1 };
                }
                (_, None) => return Ok(()),
            }
        }
    }

    /// Takes a command: the one that was due first to a tenant with a reservation, or else one by arbitration.
    fn take(&mut self) -> Option<usize> {
        let oldest = |asker: &Asker| {
            let heads = asker.queues.clone().filter_map(|queue| Some((self.queues[queue].waiting.front()?, queue)));
            heads.map(|((came, number, _), queue)| (*came, *number, queue)).min()
        };
        let due = |(at, asker): (usize, &Asker)| {
            let due = asker.rates.due.as_ref()?;
            let (.., queue) = oldest(asker)?;
            let (.., request) = self.queues[queue].waiting.front()?;
            if !due.counts(request) {
                return None;
            }
            Some((due.at(), at, queue)).filter(|&(time, ..)| time <= self.now)
        };
        match self.askers.iter().enumerate().filter_map(due).min() {
            Some((.., queue)) => {
                self.arbiter.take_from(queue);
                Some(queue)
            }
            None => self.arbiter.take(),
        }
    }

    /// A command from `queue` with this number at its tenant ends at `end`.
    fn end(&mut self, (queue, number): (usize, u64), end: Time) {
        self.ends.insert((end, self.numbered, queue));
        self.numbered += 1;
        let asker = &mut self.askers[self.queues[queue].asker];
        asker.ended += 1;
        if asker.pace == Pace::Own {
            asker.source.ended(number, end);
        }
    }
}

impl Workload for Controller {
    /// One command at a time: the next one depends on its end. If nobody tells the end, it ends when it is taken.
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        if let Some(last) = self.waits_for.take() {
            self.end(last, self.now);
        }
        let queue = loop {
            let Some(time) = self.next_take().filter(|_| room > 0) else { return Ok(0) };
            self.advance(time)?;
            self.now = time;
            match self.take() {
                Some(queue) => break queue,
                // A workload that paces itself had no command after all. Ends that nobody told may come before the next one.
                None if self.later.is_some() => return Ok(0),
                None => {}
            }
        };
        let from = &mut self.queues[queue];
        let Some((came, number, request)) = from.waiting.pop_front() else {
            unreachable!("the arbiter counts what waits")
        };
        (self.last, self.last_number) = (from.asker, number);
        let asker = &mut self.askers[from.asker];
        asker.taken += 1;
        if let Some(due) = &mut asker.rates.due {
            due.take(&request, self.now);
        }
        self.free -= 1;
        self.waited = self.now - came;
        batch.push(Request { time: self.now, ..request });
        match &mut self.later {
            Some((under_way, next)) => {
                under_way.insert(*next, (queue, number));
                *next += 1;
            }
            None => self.waits_for = Some((queue, number)),
        }
        Ok(1)
    }

    fn waited(&self) -> Time {
        self.waited
    }

    fn completed(&mut self, done: &[Completion]) {
        if let Some(last) = done.last() {
            if let Some(handed_out) = self.waits_for.take() {
                self.end(handed_out, last.done);
            }
        }
    }

    fn tells_later(&mut self) {
        if let Some(last) = self.waits_for.take() {
            self.end(last, self.now);
        }
        self.later = Some((BTreeMap::new(), 0));
    }

    fn next_time(&self) -> Option<Time> {
        self.next_take()
    }

    fn ended(&mut self, number: u64, end: Time) {
        if let Some(one) = self.later.as_mut().and_then(|(under_way, _)| under_way.remove(&number)) {
            self.end(one, end);
        }
    }

    fn failed(&mut self) {
        let asker = &mut self.askers[self.last];
        if asker.pace == Pace::Own {
            asker.source.lost(self.last_number);
        }
    }

    fn origins(&self) -> Vec<(Origin, String)> {
        self.names.clone()
    }

    fn notices(&self) -> Vec<String> {
        let name = |asker: &Asker| self.names.iter().find(|(origin, _)| *origin == asker.origin).map(|(_, name)| name);
        let of = |asker: &Asker| {
            let name = name(asker).map_or("", String::as_str).to_owned();
            asker.source.notices().into_iter().map(move |notice| format!("tenant {name}: {notice}"))
        };
        self.askers.iter().flat_map(of).collect()
    }

    /// Unknown if the first tenant that is done ends the run.
    fn len_hint(&self) -> Option<u64> {
        match self.until {
            Until::First if self.askers.len() > 1 => None,
            Until::First | Until::Last => self.askers.iter().map(|asker| asker.source.len_hint()).sum(),
        }
    }

    fn done_share(&self) -> Option<f64> {
        if self.len_hint().is_some() {
            return None;
        }
        let counted = |asker: &Asker| Some(asker.taken as f64 / asker.source.len_hint()?.max(1) as f64);
        let share = |asker: &Asker| asker.source.done_share().or_else(|| counted(asker));
        self.askers.iter().filter_map(share).reduce(f64::max)
    }
}

//! Submission queues in time: when commands come into them, and when the controller takes them out.

use super::Until;
use crate::{Workload, WorkloadError};
use nandlab_block::{Arbiter, Completion, Priority, Queues, Request};
use nandlab_nand::{Origin, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Requests made at a time by a tenant's generator.
const AHEAD: usize = 64;

/// A tenant at work.
pub(super) struct Asker {
    source: Box<dyn Workload>,
    origin: Origin,
    /// The first sector of its part.
    first: u64,
    /// Its queues.
    queues: Range<usize>,
    /// Whether its commands come at their own times.
    is_open: bool,
    /// The queue that gets its next open command, if there is room.
    turn: usize,
    /// Requests that did not come yet.
    ahead: VecDeque<Request>,
    batch: Vec<Request>,
    /// Commands that came, and those taken.
    came: u64,
    taken: u64,
}

impl Asker {
    pub(super) fn new(
        source: Box<dyn Workload>,
        (origin, first): (Origin, u64),
        queues: Range<usize>,
        is_open: bool,
    ) -> Result<Self, WorkloadError> {
        let (ahead, batch, turn) = (VecDeque::new(), Vec::new(), queues.start);
        let mut asker = Self { source, origin, first, queues, is_open, turn, ahead, batch, came: 0, taken: 0 };
        asker.look_ahead()?;
        Ok(asker)
    }

    fn look_ahead(&mut self) -> Result<(), WorkloadError> {
        if self.ahead.is_empty() {
            self.batch.clear();
            self.source.fill(&mut self.batch, AHEAD)?;
            self.ahead.extend(self.batch.drain(..));
        }
        Ok(())
    }

    /// Its next request, in its part of the device.
    fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        let Some(request) = self.ahead.pop_front() else { return Ok(None) };
        self.look_ahead()?;
        self.came += 1;
        let sector = request.sector + if request.sectors > 0 { self.first } else { 0 };
        Ok(Some(Request { sector, origin: self.origin, ..request }))
    }

    /// Whether the controller took its last request.
    fn is_over(&self) -> bool {
        self.ahead.is_empty() && self.taken == self.came
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
    /// Waiting commands, each with the time it came.
    waiting: VecDeque<(Time, Request)>,
}

impl Queue {
    pub(super) fn new(asker: usize, depth: u32, priority: Priority) -> Self {
        Self { asker, priority, room: depth, waiting: VecDeque::new() }
    }
}

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
    /// The queue of the request handed out last, if nobody told its end.
    waits_for: Option<usize>,
    /// The wait of the request handed out last.
    waited: Time,
    /// If ends are told later: the queues of requests under way by their number, and the requests since then.
    later: Option<(BTreeMap<u64, usize>, u64)>,
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
            later: None,
            names,
            until,
        };
        for queue in 0..all.queues.len() {
            while !all.askers[all.queues[queue].asker].is_open && all.queues[queue].room > 0 {
                if !all.enter(queue, 0)? {
                    break;
                }
            }
        }
        Ok(all)
    }

    /// The tenant's next command comes into `queue`; false if it has none.
    fn enter(&mut self, queue: usize, at: Time) -> Result<bool, WorkloadError> {
        let into = &mut self.queues[queue];
        let asker = &mut self.askers[into.asker];
        let Some(request) = asker.next()? else { return Ok(false) };
        let came = if asker.is_open { request.time } else { at };
        into.room -= 1;
        into.waiting.push_back((came, request));
        self.arbiter.push(queue);
        Ok(true)
    }

    /// A queue with room for an open tenant's next command.
    fn open_queue(&self, asker: &Asker) -> Option<usize> {
        let (first, count) = (asker.queues.start, asker.queues.len());
        let places = (0..count).map(|step| first + (asker.turn - first + step) % count);
        places.into_iter().find(|&queue| self.queues[queue].room > 0)
    }

    /// The next command that comes at a time of its own and finds room: the time, the tenant and the queue.
    fn next_open(&self) -> Option<(Time, usize, usize)> {
        let coming = |(at, asker): (usize, &Asker)| {
            let request = asker.ahead.front().filter(|_| asker.is_open)?;
            Some((request.time, at, self.open_queue(asker)?))
        };
        self.askers.iter().enumerate().filter_map(coming).min()
    }

    /// When the first known end lets a command come into an empty set of queues.
    fn end_that_lets_ask(&self) -> Option<Time> {
        let asks = |&(time, _, queue): &(Time, u64, usize)| {
            let asker = &self.askers[self.queues[queue].asker];
            let next = asker.ahead.front()?;
            Some(if asker.is_open { time.max(next.time) } else { time })
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
                    if !self.askers[self.queues[queue].asker].is_open {
                        self.enter(queue, time)?;
                    }
                }
                (_, Some((time, at, queue))) => {
                    self.enter(queue, time)?;
                    let asker = &mut self.askers[at];
                    asker.turn = if queue + 1 == asker.queues.end { asker.queues.start } else { queue + 1 };
                }
                (_, None) => return Ok(()),
            }
        }
    }

    /// A command from `queue` ends at `end`.
    fn end(&mut self, queue: usize, end: Time) {
        self.ends.insert((end, self.numbered, queue));
        self.numbered += 1;
    }
}

impl Workload for Controller {
    /// One command at a time: the next one depends on its end. If nobody tells the end, it ends when it is taken.
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        if let Some(queue) = self.waits_for.take() {
            self.end(queue, self.now);
        }
        let Some(time) = self.next_take().filter(|_| room > 0) else { return Ok(0) };
        self.advance(time)?;
        self.now = time;
        let Some(queue) = self.arbiter.take() else { unreachable!("a command waits at the time it is taken") };
        let from = &mut self.queues[queue];
        let Some((came, request)) = from.waiting.pop_front() else { unreachable!("the arbiter counts what waits") };
        self.askers[from.asker].taken += 1;
        self.free -= 1;
        self.waited = time - came;
        batch.push(Request { time, ..request });
        match &mut self.later {
            Some((under_way, number)) => {
                under_way.insert(*number, queue);
                *number += 1;
            }
            None => self.waits_for = Some(queue),
        }
        Ok(1)
    }

    fn waited(&self) -> Time {
        self.waited
    }

    fn completed(&mut self, done: &[Completion]) {
        if let Some(last) = done.last() {
            if let Some(queue) = self.waits_for.take() {
                self.end(queue, last.done);
            }
        }
    }

    fn tells_later(&mut self) {
        if let Some(queue) = self.waits_for.take() {
            self.end(queue, self.now);
        }
        self.later = Some((BTreeMap::new(), 0));
    }

    fn next_time(&self) -> Option<Time> {
        self.next_take()
    }

    fn ended(&mut self, number: u64, end: Time) {
        if let Some(queue) = self.later.as_mut().and_then(|(under_way, _)| under_way.remove(&number)) {
            self.end(queue, end);
        }
    }

    fn origins(&self) -> Vec<(Origin, String)> {
        self.names.clone()
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
        let share = |asker: &Asker| Some(asker.taken as f64 / asker.source.len_hint()?.max(1) as f64);
        self.askers.iter().filter_map(share).reduce(f64::max)
    }
}

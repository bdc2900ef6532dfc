//! Latency breakdown: the chain of operations that delayed a request.
//!
//! A device with time records when each operation uses its units. The breakdown starts at the request's end and
//! goes back to its arrival: first the operation that ended last, then its predecessor, and so on. A
//! predecessor ended when its successor began, preferably on the same unit (which was busy until then),
//! otherwise anywhere (its result was needed). Thus every nanosecond belongs to one operation, and so to a
//! cause. If the request's own operation waited for its channel, this time belongs to the channel's transfers,
//! including unusably short gaps between them. The wait of another request's operation belongs to that
//! operation as a whole.
//!
//! The device breaks down the longest request only, and only before it forgets needed records or when asked.

use super::{Cause, Ctx, Time};
use crate::stall::{Stall, StepWork};
use crate::work::Work;

/// An operation on a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) unit: u32,
    pub(crate) channel: u32,
    pub(crate) start: Time,
    pub(crate) end: Time,
    /// Time before its transfer, without the wait for its channel.
    pub(crate) before: Time,
    /// Wait for its channel.
    pub(crate) wait: Time,
    /// Time on its channel, after both.
    pub(crate) transfer: Time,
}

/// A unit's use by similar operations in a row, each starting at the previous one's end.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: Time,
    end: Time,
    /// Length per operation; an operation longer than 4 s has a span of its own.
    each: u32,
    before: u32,
    wait: u32,
    transfer: u32,
    channel: u32,
    /// Unit and cause.
    who: u32,
}

const CAUSE_BITS: u32 = Cause::COUNT.trailing_zeros();

impl Span {
    fn unit(&self) -> u32 {
        self.who >> CAUSE_BITS
    }

    fn work(&self, own: bool) -> StepWork {
        StepWork { unit: self.unit(), cause: Cause::ALL[self.who as usize % Cause::COUNT], own }
    }

    /// When its operations used the channel.
    fn on_channel(&self) -> impl Iterator<Item = (Time, Time)> + '_ {
        let each = (self.end - self.start).min(self.each.into());
        let first = self.start + Time::from(self.before) + Time::from(self.wait);
        let count = (self.end - self.start) / each.max(1);
        let transfer = Time::from(self.transfer);
        (0..count).map(move |n| (first + n * each, first + n * each + transfer)).filter(move |_| transfer > 0)
    }
}

#[inline]
fn short(time: Time) -> u32 {
    time.min(u32::MAX.into()) as u32
}

/// The units' recent use, and the longest request so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    /// Whether anything below is kept.
    pub(crate) is_on: bool,
    /// Whether it looks for the longest request.
    explains: bool,
    /// How operations use the device, until somebody takes it; `None` if nobody asks.
    works: Option<Vec<Work>>,
    /// Requests that were over since then.
    requests: u64,
    spans: Vec<Span>,
    /// The current request's first span.
    first: usize,
    /// Latest request's arrival.
    arrival: Time,
    longest: Time,
    /// The longest request, until its breakdown is computed.
    open: Option<Open>,
    stall: Option<Stall>,
    /// Records up to this time may be forgotten, even if they delayed a request.
    forgotten: Time,
}

/// A request without a computed breakdown.
#[derive(Clone, Copy, Debug)]
struct Open {
    arrival: Time,
    done: Time,
    /// Its own spans.
    first: usize,
    end: usize,
}

/// Initially remembered spans.
const FIRST_ROOM: usize = 1 << 10;
/// Most remembered spans: 2.5 MiB.
const MOST_ROOM: usize = 1 << 16;

impl Trail {
    /// Starts anew.
    pub(crate) fn start(&mut self) {
        let (works, requests) = (self.works.take(), self.requests);
        let spans = Vec::with_capacity(FIRST_ROOM);
        *self = Self { is_on: true, explains: true, works, requests, spans, ..Self::default() };
    }

    /// Records when a unit was used.
    #[inline]
    pub(crate) fn add(&mut self, cause: Cause, held: &Held) {
        let Held { unit, channel, start, end, before, wait, transfer } = *held;
        let (who, each) = (unit << CAUSE_BITS | cause as u32, short(end - start));
        if self.spans.len() > self.first && wait == 0 {
            let last = self.spans.last_mut().expect("the request has spans");
            let is_alike = last.who == who && last.each == each && last.wait == 0 && Time::from(last.before) == before;
            if is_alike && last.end == start && Time::from(last.transfer) == transfer && each < u32::MAX {
                last.end = end;
                return;
            }
        }
        if self.spans.len() == self.spans.capacity() {
            self.make_room();
        }
        let (before, wait, transfer) = (short(before), short(wait), short(transfer));
        self.spans.push(Span { start, end, each, before, wait, transfer, channel, who });
    }

    /// Ends a request; the next span belongs to another one.
    #[inline]
    pub(crate) fn end(&mut self, arrival: Time, done: Time) {
        if done - arrival > self.longest {
            self.longest = done - arrival;
            self.open = Some(Open { arrival, done, first: self.first, end: self.spans.len() });
        }
        self.first = self.spans.len();
        self.arrival = arrival;
    }

    /// The longest request's breakdown; in a tie, the first.
    pub(crate) fn stall(&mut self) -> Option<&Stall> {
        self.close();
        self.stall.as_ref()
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.stall = Some(self.explain(open));
        }
    }

    /// Forgets spans too old to have delayed any later request.
    #[cold]
    fn make_room(&mut self) {
        self.close();
        let past = self.arrival;
        let dead = self.spans.iter().position(|span| span.end > past).unwrap_or(self.spans.len()).min(self.first);
        self.forget(dead);
        if self.spans.len() <= self.spans.capacity() / 2 {
            return;
        }
        if self.spans.capacity() < MOST_ROOM {
            self.spans.reserve_exact(2 * self.spans.capacity() - self.spans.len());
            return;
        }
        let half = self.spans.len() / 2;
        let latest = self.spans[..half].iter().map(|span| span.end).max().unwrap_or(0);
        self.forgotten = self.forgotten.max(latest);
        self.forget(half);
    }

    fn forget(&mut self, count: usize) {
        self.spans.drain(..count);
        self.first = self.first.saturating_sub(count);
    }

    fn explain(&self, open: Open) -> Stall {
        let Open { arrival, done, first, end } = open;
        let mut stall = Stall { arrival, done, ..Stall::nothing() };
        let (mut at, mut until, mut unit) = (done, end, None);
        while at > arrival {
            let Some(n) = self.what_ended(at, until, unit) else {
                // No flash operation: the wait's cause is outside, or already forgotten.
                let known = self.spans[first.min(until)..until].iter().map(|span| span.end).filter(|&end| end < at);
                let back = known.max().unwrap_or(0).max(arrival);
                let lost = at.min(self.forgotten).saturating_sub(back);
                stall.add_outside((back, at), lost);
                (at, unit) = (back, None);
                continue;
            };
            let span = &self.spans[n];
            let start = span.start.max(arrival);
            let divides = n >= first && span.wait > 0;
            let (from, to) = if divides { self.divide_wait(n, (start, at), first, &mut stall) } else { (at, at) };
            let work = span.work(n >= first);
            stall.add(work, (start, from));
            stall.add(work, (to, at));
            (at, until, unit) = (start, n, Some(span.unit()));
        }
        stall.in_order()
    }

    /// The span before `until` with its end `at`: on the unit busy until then, else anywhere.
    fn what_ended(&self, at: Time, until: usize, unit: Option<u32>) -> Option<usize> {
        let spans = &self.spans[..until];
        let on_unit = unit.and_then(|unit| spans.iter().rposition(|span| span.unit() == unit && span.end == at));
        on_unit
            .or_else(|| spans.iter().rposition(|span| span.end == at && span.start < at))
            // A merged span has several operations; the needed one may not be its last.
            .or_else(|| unit.and_then(|_| spans.iter().rposition(|span| span.start < at && at < span.end)))
    }

    /// Divides the channel wait of span `n` between two moments among the spans with the channel; returns from when to when
    /// it did.
    fn divide_wait(&self, n: usize, (from, to): (Time, Time), first: usize, stall: &mut Stall) -> (Time, Time) {
        let span = &self.spans[n];
        let begin = span.start + Time::from(span.before);
        let (begin, end) = (begin.max(from), (begin + Time::from(span.wait)).min(to));
        let mut had: Vec<(Time, Time, usize)> = self.spans[..n]
            .iter()
            .enumerate()
            .filter(|(_, other)| other.channel == span.channel && other.start < end && other.end > begin)
            .flat_map(|(n, other)| other.on_channel().map(move |(start, stop)| (start, stop, n)))
            .filter(|&(start, stop, _)| stop > begin && start < end)
            .collect();
        had.sort_unstable();
        let mut at = begin;
        for (_, stop, n) in had {
            let stop = stop.min(end);
            stall.add(self.spans[n].work(n >= first), (at, stop));
            at = at.max(stop);
        }
        (begin, at)
    }
}

/// Access to the longest request's breakdown.
impl Ctx {
    /// Looks for the longest request from now on.
    pub fn look_for_stalls(&mut self) {
        match &mut self.events {
            // The device follows them during the workload.
            Some(timeline) => timeline.look_for_stalls(),
            None => self.trail.start(),
        }
    }

    /// Ends a host request; the host interface calls this after each request.
    #[inline]
    pub fn request_done(&mut self, arrival: Time, done: Time) {
        if done < self.finish {
            // The controller's buffer answered it.
            self.waited.forget_current();
        }
        if self.trail.is_on {
            self.trail.requests += 1;
            if self.trail.explains {
                self.trail.end(arrival, done);
            }
        }
    }

    /// The longest request's breakdown since [`Self::look_for_stalls`]; `None` if no request took time.
    pub fn longest_stall(&mut self) -> Option<&Stall> {
        match &mut self.events {
            Some(timeline) => timeline.longest_stall(),
            None => self.trail.stall(),
        }
    }

    /// Records a unit's use by an operation with the current cause.
    #[inline]
    pub(crate) fn held(&mut self, held: &Held) {
        if self.trail.is_on {
            self.remember(held);
            self.tell_of(held);
        }
    }

    /// Records a program whose array time is that of the program before, which began at `cut` so far.
    pub(crate) fn held_together(&mut self, held: &Held, cut: Time, start: Time) {
        if self.trail.is_on {
            self.remember(held);
            let Held { unit, end, transfer, .. } = *held;
            self.tell(Work::Joined { unit, cut, moved: start - transfer, start, end });
        }
    }

    /// A read goes first: the rest of its unit's operation, from `cut` on, takes place between two later times.
    pub(crate) fn moved(&mut self, unit: u32, cut: Time, (start, end): (Time, Time)) {
        if self.trail.is_on {
            self.tell(Work::Moved { unit, cut, start, end });
        }
    }

    fn remember(&mut self, held: &Held) {
        if self.trail.explains {
            let cause = self.cause();
            self.trail.add(cause, held);
        }
    }

    fn tell(&mut self, work: Work) {
        if let Some(works) = &mut self.trail.works {
            works.push(work);
        }
    }

    fn tell_of(&mut self, held: &Held) {
        let Some(works) = &mut self.trail.works else { return };
        let Held { unit, start, end, before, wait, transfer, .. } = *held;
        let moves = start + before + wait;
        let pieces = [(start, start + before, false), (moves, moves + transfer, true), (moves + transfer, end, false)];
        let used = pieces.into_iter().filter(|&(start, end, _)| end > start);
        works.extend(used.map(|(start, end, is_transfer)| Work::Used { unit, start, end, is_transfer }));
    }

    /// Keeps how operations use the device from now on, for [`Self::take_work`]; counts requests from 0.
    pub fn keep_work(&mut self) {
        (self.trail.is_on, self.trail.works, self.trail.requests) = (true, Some(Vec::new()), 0);
        if let Some(timeline) = &mut self.events {
            timeline.keep_work();
        }
    }

    /// Moves what was kept since the last call to `into`, which is empty.
    #[inline]
    pub fn take_work(&mut self, into: &mut Vec<Work>) {
        let events = self.events.as_mut().and_then(|timeline| timeline.works());
        if let Some(works) = events.filter(|works| !works.is_empty()) {
            std::mem::swap(works, into);
        } else if let Some(works) = &mut self.trail.works {
            std::mem::swap(works, into);
        }
    }

    /// Requests that were over since [`Self::keep_work`], if it was called.
    #[inline]
    pub fn requests_over(&self) -> u64 {
        self.trail.requests
    }
}

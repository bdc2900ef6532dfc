//! Why a request took as long as it did: the operations that stood in its way, one behind the other.
//!
//! A device that keeps time writes down what held each of its units, and when. From the end of a request the way back is
//! followed to its arrival: the operation that ended last, then what ended when that one began, first on the same unit
//! (which was busy until then), else anywhere (its result was needed), and so on. So every nanosecond of a request
//! belongs to one operation, and with that to a cause. Where an operation of the request itself waited for its channel,
//! that time belongs to the transfers that had the channel, with the gaps between them that were too short; where one of
//! another request did, it belongs to that operation as a whole.
//!
//! Only the way of the longest request is followed, and only when what it needs is about to be forgotten or asked for.

use super::{Cause, Ctx, Time};

/// How the time of a request divides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When the request came.
    pub arrival: Time,
    /// When it was done.
    pub done: Time,
    /// By cause, time of operations that the request itself led to, in ns.
    pub own: [Time; Cause::COUNT],
    /// By cause, time of operations that earlier requests had led to, in ns.
    pub others: [Time; Cause::COUNT],
    /// Time in which no operation of the flash was in the way, in ns: that of other memories.
    pub elsewhere: Time,
    /// Time of operations that were no longer remembered, in ns.
    pub unknown: Time,
}

/// An operation on a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) unit: u32,
    pub(crate) channel: u32,
    pub(crate) start: Time,
    pub(crate) end: Time,
    /// Time before its transfer in which it did not wait for its channel.
    pub(crate) before: Time,
    /// Time that it waited for its channel.
    pub(crate) wait: Time,
    /// Time on its channel, behind both.
    pub(crate) transfer: Time,
}

/// What held a unit: operations alike, each beginning where the one before ended.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: Time,
    end: Time,
    /// Length of one operation; what is longer than 4 s is alone.
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

    fn cause(&self) -> usize {
        self.who as usize % Cause::COUNT
    }

    /// When its operations had the channel.
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

/// What held the units of late, and the longest request so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    pub(crate) is_on: bool,
    spans: Vec<Span>,
    /// The first span of the request that is under way.
    first: usize,
    /// When the last request came.
    arrival: Time,
    longest: Time,
    /// The longest request, while its way was not followed.
    open: Option<Open>,
    stall: Option<Stall>,
    /// What ended by then may be forgotten though it was in the way.
    forgotten: Time,
}

/// A request whose way was not followed yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    arrival: Time,
    done: Time,
    /// Its own spans.
    first: usize,
    end: usize,
}

/// Spans that are remembered at first.
const FIRST_ROOM: usize = 1 << 10;
/// Most spans that are remembered: 2.5 MiB.
const MOST_ROOM: usize = 1 << 16;

impl Trail {
    /// Begins anew.
    pub(crate) fn start(&mut self) {
        *self = Self { is_on: true, spans: Vec::with_capacity(FIRST_ROOM), ..Self::default() };
    }

    /// Takes what held a unit.
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

    /// A request is over; the next span is of another one.
    #[inline]
    pub(crate) fn end(&mut self, arrival: Time, done: Time) {
        if done - arrival > self.longest {
            self.longest = done - arrival;
            self.open = Some(Open { arrival, done, first: self.first, end: self.spans.len() });
        }
        self.first = self.spans.len();
        self.arrival = arrival;
    }

    /// How the time of the longest request divides; the first of those that are.
    pub(crate) fn stall(&mut self) -> Option<&Stall> {
        self.close();
        self.stall.as_ref()
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.stall = Some(self.explain(open));
        }
    }

    /// Forgets what no later request can have waited for.
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
                // Nothing of the flash: what its own operations waited for is outside, or no longer known.
                let known = self.spans[first.min(until)..until].iter().map(|span| span.end).filter(|&end| end < at);
                let back = known.max().unwrap_or(0).max(arrival);
                let lost = at.min(self.forgotten).saturating_sub(back);
                stall.unknown += lost;
                stall.elsewhere += at - back - lost;
                (at, unit) = (back, None);
                continue;
            };
            let span = &self.spans[n];
            let start = span.start.max(arrival);
            let mut held = at - start;
            if n >= first && span.wait > 0 {
                held -= self.divide_wait(n, (start, at), first, &mut stall);
            }
            stall.of(n >= first)[span.cause()] += held;
            (at, until, unit) = (start, n, Some(span.unit()));
        }
        stall
    }

    /// The span before `until` that ended at `at`: on the unit that was busy until then, else anywhere.
    fn what_ended(&self, at: Time, until: usize, unit: Option<u32>) -> Option<usize> {
        let spans = &self.spans[..until];
        let on_unit = unit.and_then(|unit| spans.iter().rposition(|span| span.unit() == unit));
        on_unit
            .filter(|&n| spans[n].end == at)
            .or_else(|| spans.iter().rposition(|span| span.end == at && span.start < at))
            // One of the operations that are one span was needed, and not the last of them.
            .or_else(|| unit.and_then(|_| spans.iter().rposition(|span| span.start < at && at < span.end)))
    }

    /// Gives the time between two moments in which span `n` waited for its channel to those that had it; how much that is.
    fn divide_wait(&self, n: usize, (from, to): (Time, Time), first: usize, stall: &mut Stall) -> Time {
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
            stall.of(n >= first)[self.spans[n].cause()] += stop.saturating_sub(at);
            at = at.max(stop);
        }
        at.saturating_sub(begin)
    }
}

/// What a context knows of the longest request.
impl Ctx {
    /// Looks for the longest request from now on.
    pub fn look_for_stalls(&mut self) {
        self.trail.start();
    }

    /// A request of the host is over; told by whoever takes the requests of the host, after each of them.
    #[inline]
    pub fn request_done(&mut self, arrival: Time, done: Time) {
        if self.trail.is_on {
            self.trail.end(arrival, done);
        }
    }

    /// How the time of the longest request divides, since [`Self::look_for_stalls`]; `None` where none took time.
    pub fn longest_stall(&mut self) -> Option<&Stall> {
        self.trail.stall()
    }

    /// A unit was held by an operation of the present cause.
    #[inline]
    pub(crate) fn held(&mut self, held: &Held) {
        if self.trail.is_on {
            let cause = self.cause();
            self.trail.add(cause, held);
        }
    }
}

impl Stall {
    fn nothing() -> Self {
        let none = [0; Cause::COUNT];
        Self { arrival: 0, done: 0, own: none, others: none, elsewhere: 0, unknown: 0 }
    }

    fn of(&mut self, own: bool) -> &mut [Time; Cause::COUNT] {
        if own {
            &mut self.own
        } else {
            &mut self.others
        }
    }

    /// Time that is accounted for: that of the request.
    pub fn total(&self) -> Time {
        self.own.iter().chain(&self.others).sum::<Time>() + self.elsewhere + self.unknown
    }
}

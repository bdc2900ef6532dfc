//! One job clone in time: its outstanding requests, and its next request's time.

use super::ask::{Ask, From};
use super::drive::{Drive, Step, Zoned};
use super::errors::Tolerance;
use super::job::{Job, Rate};
use super::slots::Slots;
use super::stream::Stream;
use super::target::{Look, Target};
use nandlab_block::Op;
use nandlab_nand::random::Random;
use nandlab_nand::{Origin, Time};

/// Turns a request has at depth 1; depths divide it.
const TURN: u64 = 1 << 20;

/// A clone, started or waiting for its start.
#[derive(Debug)]
pub(super) struct Subjob {
    pub(super) origin: Origin,
    /// Its job's number.
    pub(super) job: usize,
    /// Clones with a lower number end before it starts.
    pub(super) group: usize,
    stream: Stream,
    think: Time,
    think_blocks: u64,
    rates: [Pacer; 3],
    delay: Time,
    runtime: Option<Time>,
    /// Whether a time ends it, not a request count.
    pub(super) is_time_based: bool,
    issued: u64,
    /// Its start, once it has begun.
    start: Time,
    has_begun: bool,
    /// When others ended it.
    until: Time,
    /// No request came before this time.
    now: Time,
    slots: Slots,
    /// Requests that took no time.
    at_once: u64,
    /// The latest request end.
    pub(super) last_end: Time,
    /// Requests since it thought.
    since_thought: u64,
    /// The next request.
    next: Option<Ask>,
    /// What it does with zones; `None` if it does not keep to them.
    zoned: Option<Zoned>,
    /// The zone that its next write was promised.
    chosen: Option<usize>,
    /// Whether its next request waits until no other one is outstanding.
    is_alone: bool,
    /// Whether a request of it found no zone, and none was issued since.
    found_nothing: bool,
    /// What may fail, and what was asked last.
    tolerance: Tolerance,
    last: Option<Op>,
    /// The latency that its depth follows, whether all its requests have to end for that, and what became of it.
    target: Option<Target>,
    drains: bool,
    said: Option<String>,
}

/// Why no request was issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pause {
    /// Its next time says when the clone goes on, if it does.
    Waits,
    /// Its zones have no place for it, and it ends; other jobs write to as many zones as there may be, if it is crowded.
    Ends { is_crowded: bool },
}

impl Pause {
    /// Why the clone ends, if it does.
    pub(super) fn words(self) -> Option<&'static str> {
        match self {
            Self::Waits => None,
            Self::Ends { is_crowded: true } => Some("other jobs write to as many zones as there may be"),
            Self::Ends { is_crowded: false } => {
                Some("its zones have nothing written to read or reset, or no place to write")
            }
        }
    }
}

/// When a rate lets the next request in a direction pass.
#[derive(Debug, Default)]
struct Pacer {
    rate: Option<Rate>,
    /// Bytes or requests, as the rate counts.
    done: u64,
    /// Mean gap in a Poisson process in ns, and the last gap's end.
    poisson: Option<(f64, f64)>,
}

impl Pacer {
    fn new(job: &Job, direction: usize) -> Self {
        let least = job.lengths[direction].least();
        let is_split = matches!(job.lengths[direction], super::job::Lengths::Split(_));
        let rate = job.rates[direction].map(|rate| match rate {
            // With several sizes, fio measures a request rate by the smallest.
            Rate::RequestsPerS(requests) if !is_split => Rate::BytesPerS(requests.saturating_mul(least)),
            rate => rate,
        });
        let gap = rate.filter(|_| job.is_poisson).map(|rate| match rate {
            Rate::BytesPerS(bytes) => 1e9 * least as f64 / bytes as f64,
            Rate::RequestsPerS(requests) => 1e9 / requests as f64,
        });
        Self { rate, done: 0, poisson: gap.map(|gap| (gap, 0.0)) }
    }

    /// From when on the next request may come, counted from the start.
    fn due(&self) -> Time {
        match (self.poisson, self.rate) {
            (Some((_, due)), _) => due as Time,
            (None, None) => 0,
            (None, Some(Rate::BytesPerS(per_s) | Rate::RequestsPerS(per_s))) => {
                (u128::from(self.done) * 1_000_000_000).div_ceil(per_s.into()) as Time
            }
        }
    }

    fn pass(&mut self, bytes: u64, random: &mut Random) {
        self.done += if matches!(self.rate, Some(Rate::RequestsPerS(_))) { 1 } else { bytes };
        if let Some((gap, due)) = &mut self.poisson {
            // 1 - unit is above 0, so the logarithm is finite.
            *due -= libm::log(1.0 - random.unit()) * *gap;
        }
    }
}

impl Subjob {
    pub(super) fn new(
        job: &Job,
        stream: Stream,
        (origin, number, group): (Origin, usize, usize),
        zoned: Option<Zoned>,
    ) -> Self {
        Self {
            origin,
            job: number,
            group,
            stream,
            think: job.think,
            think_blocks: job.think_blocks,
            rates: [0, 1, 2].map(|direction| Pacer::new(job, direction)),
            delay: job.delay,
            // HOWTO of fio 3.33, `ramp_time`: it increases the runtime.
            runtime: (job.runtime > 0).then_some(job.runtime.saturating_add(job.ramp)),
            is_time_based: job.is_time_based,
            issued: 0,
            start: 0,
            has_begun: false,
            until: Time::MAX,
            now: 0,
            slots: Slots::new(job),
            at_once: 0,
            last_end: 0,
            since_thought: 0,
            next: None,
            zoned,
            chosen: None,
            is_alone: false,
            found_nothing: false,
            tolerance: job.tolerance,
            last: None,
            target: Target::new(job.wish, job.outstanding() as usize),
            drains: false,
            said: None,
        }
    }

    /// Starts it; its group may do so at `time`.
    pub(super) fn start(&mut self, time: Time) {
        self.start = time + self.delay;
        self.has_begun = true;
        if let Some(target) = &mut self.target {
            target.start(self.start);
            self.slots.depth = target.depth;
        }
        self.now = self.start;
        self.last_end = if self.until <= self.start { time } else { self.start };
        self.next = if self.until <= self.start { None } else { self.stream.next() };
    }

    /// Whether it runs at `time`.
    pub(super) fn has_begun(&self, time: Time) -> bool {
        self.has_begun && self.start <= time
    }

    /// It asks no more from `time` on.
    pub(super) fn end_by(&mut self, time: Time) {
        self.until = self.until.min(time);
        if self.issued == 0 {
            self.last_end = self.last_end.min(time);
        }
    }

    /// It asks no more.
    pub(super) fn stop(&mut self) {
        (self.until, self.next) = (0, None);
    }

    /// Whether it asks nothing at `time`, which is too late.
    pub(super) fn is_over(&self, time: Time) -> bool {
        time >= self.until || self.runtime.is_some_and(|runtime| time >= self.start.saturating_add(runtime))
    }

    /// The request issued last failed. Whether that ends the job.
    pub(super) fn fail(&mut self) -> bool {
        let ends = self.last.is_some_and(|op| !self.tolerance.goes_on(op));
        if ends {
            self.stop();
        }
        ends
    }

    /// Total requests, about; `None` if a time decides.
    pub(super) fn count(&self) -> Option<u64> {
        self.runtime.is_none().then(|| self.stream.count())
    }

    /// How long it takes at most from the start of its group on, if that is said.
    pub(super) fn most_time(&self) -> Option<Time> {
        self.runtime.map(|runtime| runtime.saturating_add(self.delay))
    }

    /// The part of it that is done at `now`, 0 to 1.
    pub(super) fn done_share(&self, now: Time) -> f64 {
        let lasted = now.saturating_sub(self.start - self.delay);
        let by_time = self.most_time().map_or(0.0, |most| lasted as f64 / most as f64);
        let by_count = if self.is_time_based { 0.0 } else { self.issued as f64 / self.stream.count().max(1) as f64 };
        by_time.max(by_count).min(1.0)
    }

    /// When its next request comes; `None` at its end.
    pub(super) fn next_time(&self) -> Option<Time> {
        let ask = self.next?;
        if self.is_blocked() {
            return None;
        }
        let mut time = self.now.max(self.slots.free_at());
        if self.waits_for_all(ask) {
            time = time.max(self.last_end);
        }
        if self.thinks(ask) {
            time = time.max(self.last_end + self.think);
        }
        if let Some(pacer) = self.pacer(ask) {
            time = time.max(self.start.saturating_add(self.rates[pacer].due()));
        }
        Some(time).filter(|&time| !self.is_over(time))
    }

    /// Whether it asks again only when a request ends whose end is unknown.
    pub(super) fn is_blocked(&self) -> bool {
        let waits = |ask: Ask| self.waits_for_all(ask) || self.thinks(ask);
        self.slots.is_blocked() || self.slots.unknown > 0 && self.next.is_some_and(waits)
    }

    /// Whether all requests before this one have to end.
    fn waits_for_all(&self, ask: Ask) -> bool {
        self.is_alone || ask.is_alone || self.drains
    }

    /// Whether it thinks before this request.
    fn thinks(&self, ask: Ask) -> bool {
        self.think > 0 && self.since_thought == self.think_blocks && ask.from != From::Check
    }

    /// Whether requests with unknown ends are outstanding.
    pub(super) fn has_unknown(&self) -> bool {
        self.slots.unknown > 0
    }

    /// The request issued last ends at an unknown time.
    pub(super) fn leave_open(&mut self) {
        self.slots.unknown += 1;
    }

    /// A request with an unknown end, which came at `issued`, ends at `end`.
    pub(super) fn end(&mut self, issued: Time, op: Op, end: Time) {
        self.slots.unknown -= 1;
        self.measure(issued, op, end);
        self.slots.end(end);
        self.last_end = self.last_end.max(end);
    }

    /// Issues the next request, at the time from [`Self::next_time`]. In zones there may be none: it waits for the others of
    /// the job, or has no place.
    pub(super) fn issue(&mut self, time: Time, random: &mut Random, drive: Option<&mut Drive>) -> Result<Ask, Pause> {
        let ask = self.next.take().expect("a request that comes was made");
        self.now = time;
        if let (Some(drive), true) = (drive, self.zoned.is_some() && ask.op != Op::Flush) {
            if ask.from == From::Pattern {
                return self.issue_in_zones(ask, (time, random), drive);
            }
            if !drive.is_written(ask) {
                // Its zone was reset since.
                self.next = self.stream.next();
                return Err(Pause::Waits);
            }
        }
        self.count_issued(ask, random);
        self.next = self.stream.next();
        Ok(ask)
    }

    fn issue_in_zones(
        &mut self,
        ask: Ask,
        (time, random): (Time, &mut Random),
        drive: &mut Drive,
    ) -> Result<Ask, Pause> {
        let zoned = self.zoned.as_ref().expect("it keeps to zones");
        match drive.step(zoned, self.stream.span(ask.file), ask, &mut self.chosen) {
            Step::Issue { ask: placed, moved, next } => {
                (self.is_alone, self.found_nothing) = (false, false);
                self.count_issued(Ask { length: moved, ..ask }, random);
                self.stream.settle(ask, (moved, next), placed);
                self.next = self.stream.next();
                Ok(placed)
            }
            Step::Before { zone, command, then } => {
                self.next = Some(ask);
                let is_quiet = self.slots.unknown == 0 && self.last_end <= time;
                self.is_alone = true;
                if !is_quiet {
                    return Err(Pause::Waits);
                }
                drive.change(zone, command);
                self.next = Some(Ask { offset: then.unwrap_or(ask.offset), ..ask });
                drive.request(zone, command).inspect(|_| self.slots.make_room()).ok_or(Pause::Waits)
            }
            step if self.found_nothing => Err(Pause::Ends { is_crowded: step == Step::Crowded }),
            Step::End | Step::Crowded => {
                (self.is_alone, self.found_nothing) = (false, true);
                self.stream.end_file(ask);
                self.next = self.stream.next();
                // A job that has done something may just be through.
                let is_told = self.next.is_none() && self.issued == 0;
                Err(if is_told { Pause::Ends { is_crowded: false } } else { Pause::Waits })
            }
        }
    }

    fn measure(&mut self, issued: Time, op: Op, end: Time) {
        if let (Some(target), Op::Read | Op::Write | Op::Trim) = (&mut self.target, op) {
            target.end(issued, end);
        }
    }

    /// Lets the depth follow the latencies.
    fn follow_target(&mut self) {
        let Some(target) = &mut self.target else { return };
        let look = target.look(self.now);
        self.slots.depth = target.depth;
        match look {
            Look::Goes => {}
            Look::Drains => self.drains = true,
            Look::Found => {
                self.said = Some(format!("found its depth: {target}"));
                self.stop();
            }
            Look::Fails => {
                self.said =
                    Some("ended early, as in fio: a request took longer than latency_target at a depth of 1".into());
                self.stop();
            }
        }
    }

    /// What is to be told of it, once.
    pub(super) fn take_said(&mut self) -> Option<String> {
        self.said.take()
    }

    fn count_issued(&mut self, ask: Ask, random: &mut Random) {
        self.issued += 1;
        self.last = Some(ask.op);
        if std::mem::take(&mut self.drains) {
            self.slots.clear();
            if let Some(target) = &mut self.target {
                target.drained(self.now);
            }
        }
        self.slots.make_room();
        self.follow_target();
        if ask.from == From::Check {
            return;
        }
        if self.since_thought == self.think_blocks {
            self.since_thought = 0;
        }
        self.since_thought += u64::from(ask.op != Op::Flush);
        if let Some(pacer) = self.pacer(ask) {
            self.rates[pacer].pass(ask.length, random);
        }
    }

    /// Its turn among clones that ask at the same time: the lowest one asks. A request that takes no time leaves the queue
    /// at once, so that a deep queue never fills; requests then come in the shares of the depths.
    pub(super) fn turn(&self) -> u64 {
        (u128::from(self.at_once) * u128::from(TURN) / self.slots.depth as u128) as u64
    }

    /// The request issued last ends at `end`.
    pub(super) fn complete(&mut self, end: Time) {
        self.at_once += u64::from(end == self.now);
        if let Some(op) = self.last {
            self.measure(self.now, op, end);
        }
        self.slots.end(end);
        self.last_end = self.last_end.max(end);
    }

    fn pacer(&self, ask: Ask) -> Option<usize> {
        if ask.from != From::Pattern {
            return None;
        }
        match ask.op {
            Op::Read => Some(0),
            Op::Write => Some(1),
            Op::Trim => Some(2),
            Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => None,
        }
    }
}

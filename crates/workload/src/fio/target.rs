//! `latency_target`: the largest depth with a latency below a target.
//!
//! io_u.c of fio 3.33, `lat_target_check` and `lat_target_failed`. A job begins at depth 1. After each window the depth doubles
//! while enough requests kept to the target, and is halved towards the last good one if not; before a lower depth all
//! outstanding requests end. Here a request counts when it ends, there when fio looks.

use super::text::{switch, time, Entry};
use super::Malformed;
use nandlab_nand::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const US: Time = 1000;

/// The keys, as a job has them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Wish {
    latency: Time,
    window: Time,
    percent: f64,
    /// Whether it goes on when the depth is found.
    goes_on: bool,
}

impl Default for Wish {
    fn default() -> Self {
        Self { latency: 0, window: 0, percent: 100.0, goes_on: false }
    }
}

impl Wish {
    /// Takes a key.
    pub(super) fn set(&mut self, entry: &Entry<'_>) -> Result<(), Malformed> {
        match entry.key {
            "latency_target" => self.latency = time(entry, US)?,
            "latency_window" => self.window = time(entry, US)?,
            "latency_run" => self.goes_on = switch(entry)?,
            _ => {
                let value = entry.value.unwrap_or("");
                let percent = value.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
                self.percent = percent.ok_or_else(|| {
                    entry.wrong(format!("{} = {value} cannot work: expected per cents from 0 to 100", entry.key))
                })?;
            }
        }
        Ok(())
    }
}

/// A verdict on the ended requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    Goes,
    /// All outstanding requests end before the next one.
    Drains,
    /// A request was slower at depth 1.
    Fails,
    Found,
}

/// A job on its way to the depth.
#[derive(Debug)]
pub(super) struct Target {
    wish: Wish,
    most: usize,
    pub(super) depth: usize,
    low: usize,
    high: usize,
    /// Good windows in a row next to the high depth.
    stable: u32,
    /// Ends to come, with their latencies.
    ends: BinaryHeap<Reverse<(Time, Time)>>,
    /// This window's start, and its ended requests, all and slower ones.
    since: Time,
    ended: u64,
    slower: u64,
    is_last: bool,
}

impl Target {
    /// `None` without a target.
    pub(super) fn new(wish: Wish, most: usize) -> Option<Self> {
        (wish.latency > 0).then(|| Self {
            wish,
            most,
            depth: 1,
            low: 1,
            high: most,
            stable: 0,
            ends: BinaryHeap::new(),
            since: 0,
            ended: 0,
            slower: 0,
            is_last: false,
        })
    }

    pub(super) fn start(&mut self, time: Time) {
        self.since = time;
    }

    /// A request from `issued` to `end`.
    pub(super) fn end(&mut self, issued: Time, end: Time) {
        self.ends.push(Reverse((end, end - issued)));
    }

    /// Looks at the requests ended by `now`.
    pub(super) fn look(&mut self, now: Time) -> Look {
        while let Some(&Reverse((_, latency))) = self.ends.peek().filter(|end| end.0 .0 <= now) {
            self.ends.pop();
            self.ended += 1;
            if latency > self.wish.latency {
                self.slower += 1;
                if self.wish.percent == 100.0 {
                    self.slower = 0;
                    return self.lower(now);
                }
            }
        }
        if now < self.since + self.wish.window || self.ended == 0 {
            return Look::Goes;
        }
        let good = 100.0 * (self.ended - self.slower) as f64 / self.ended as f64;
        if good >= self.wish.percent {
            return self.raise(now);
        }
        // Below depth 1 there is none: fio goes on, unless every request has to be good.
        if self.depth == 1 {
            return Look::Goes;
        }
        self.lower(now)
    }

    /// All outstanding requests have ended: another window begins.
    pub(super) fn drained(&mut self, now: Time) {
        self.ends.clear();
        self.begin_window(now);
    }

    fn begin_window(&mut self, now: Time) {
        (self.since, self.ended, self.slower) = (now, 0, 0);
    }

    fn lower(&mut self, now: Time) -> Look {
        if self.depth == 1 {
            return Look::Fails;
        }
        self.high = self.depth;
        if self.depth == self.low {
            self.low -= 1;
        }
        self.depth = ((self.depth + self.low) / 2).max(1);
        self.stable = 0;
        self.begin_window(now);
        Look::Drains
    }

    fn raise(&mut self, now: Time) -> Look {
        let before = self.depth;
        self.low = before;
        if before + 1 == self.high {
            self.stable += 1;
            if self.stable >= 3 {
                self.high += 1;
                self.stable = 0;
            }
        }
        self.depth = if self.high == self.most { 2 * before } else { (before + self.high) / 2 }.min(self.most);
        let is_found = !self.wish.goes_on && self.depth == before;
        self.begin_window(now);
        if !is_found {
            return Look::Goes;
        }
        // One more window measures this depth alone.
        if std::mem::replace(&mut self.is_last, true) {
            Look::Found
        } else {
            Look::Drains
        }
    }
}

/// The latency as a job states it, in us, and the share.
impl std::fmt::Display for Target {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = self.wish.latency as f64 / US as f64;
        write!(to, "{} % of its requests take at most {us} us at a depth of {}", self.wish.percent, self.depth)
    }
}

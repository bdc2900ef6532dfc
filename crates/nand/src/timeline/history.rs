//! The longest request's waits, in event order.
//!
//! Each operation keeps its pieces of working time. The breakdown begins with the operation that ended the request, and
//! goes back. Between two pieces, the operation waited for its channel or gave way to reads: this time belongs to the
//! operations at work there. Before its first piece, it waited for another operation's result, or for the previous
//! operation on its unit; the breakdown goes on with that one.

use crate::cause::Cause;
use crate::stall::{Stall, StepWork};
use crate::time::Time;
use std::collections::{BTreeMap, VecDeque};

/// Most operations remembered.
const MOST: usize = 1 << 16;
/// The search for pieces at a time ends after this many operations in a row that ended before it.
const MISSES: usize = 64;

/// When an operation worked.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: Time,
    end: Time,
    is_transfer: bool,
}

#[derive(Clone, Debug)]
struct Past {
    unit: u32,
    cause: Cause,
    /// The request it was issued in.
    owner: Option<u64>,
    /// The operation whose result it needed.
    leader: Option<u64>,
    /// When its unit took it; the channel may have made it wait then.
    begun: Time,
    pieces: Vec<Piece>,
}

impl Past {
    fn end(&self) -> Time {
        self.pieces.last().map_or(0, |piece| piece.end)
    }

    /// What a request's time was spent on here.
    fn work(&self, open: &Open) -> StepWork {
        StepWork { unit: self.unit, cause: self.cause, own: self.owner == Some(open.number) }
    }
}

/// A request without a breakdown.
#[derive(Clone, Copy, Debug)]
struct Open {
    number: u64,
    arrival: Time,
    done: Time,
    /// The operation that ended it, with its end.
    last: Option<(u64, Time)>,
}

/// Recent operations, and the longest request.
#[derive(Clone, Debug)]
pub(super) struct History {
    channel_of: Vec<u32>,
    first: u64,
    known: VecDeque<Past>,
    /// Operations up to this time may be forgotten.
    forgotten: Time,
    /// By unit, in start order.
    by_unit: Vec<VecDeque<u64>>,
    /// The last ended operation a request waits for.
    last_of: BTreeMap<u64, (u64, Time)>,
    longest: Time,
    open: Option<Open>,
    stall: Option<Stall>,
}

impl History {
    pub(super) fn new(channel_of: Vec<u32>) -> Self {
        let by_unit = vec![VecDeque::new(); channel_of.len()];
        Self {
            channel_of,
            first: 0,
            known: VecDeque::new(),
            forgotten: 0,
            by_unit,
            last_of: BTreeMap::new(),
            longest: 0,
            open: None,
            stall: None,
        }
    }

    /// Registers an issued operation; returns its number.
    pub(super) fn issue(&mut self, unit: u32, cause: Cause, owner: Option<u64>, leader: Option<u64>) -> u64 {
        if self.known.len() == MOST {
            self.close();
            let ends =
                self.known.drain(..MOST / 2).map(|past| if past.pieces.is_empty() { Time::MAX } else { past.end() });
            self.forgotten = ends.fold(self.forgotten, Time::max);
            self.first += MOST as u64 / 2;
            let first = self.first;
            for unit in &mut self.by_unit {
                unit.drain(..unit.iter().take_while(|&&number| number < first).count());
            }
        }
        self.known.push_back(Past { unit, cause, owner, leader, begun: 0, pieces: Vec::new() });
        self.first + self.known.len() as u64 - 1
    }

    fn get(&self, number: u64) -> Option<&Past> {
        number.checked_sub(self.first).and_then(|at| self.known.get(at as usize))
    }

    /// Its unit takes the operation at `at`.
    pub(super) fn began(&mut self, number: u64, at: Time) {
        let Some(past) = number.checked_sub(self.first).and_then(|at| self.known.get_mut(at as usize)) else { return };
        past.begun = at;
        self.by_unit[past.unit as usize].push_back(number);
    }

    /// The operation worked.
    pub(super) fn worked(&mut self, number: u64, start: Time, end: Time, is_transfer: bool) {
        let Some(past) = number.checked_sub(self.first).and_then(|at| self.known.get_mut(at as usize)) else { return };
        match past.pieces.last_mut() {
            Some(last) if last.end == start && last.is_transfer == is_transfer => last.end = end,
            _ if end > start => past.pieces.push(Piece { start, end, is_transfer }),
            _ => {}
        }
    }

    /// An operation ended, and `request` waits for it.
    pub(super) fn ended(&mut self, request: u64, number: u64, at: Time) {
        let last = self.last_of.entry(request).or_insert((number, at));
        if at >= last.1 {
            *last = (number, at);
        }
    }

    /// A request was answered before its operations ended: they are not what it took.
    pub(super) fn answered_early(&mut self, number: u64, arrival: Time, done: Time) {
        self.last_of.remove(&number);
        self.answered(number, arrival, done);
    }

    /// A request was answered.
    pub(super) fn answered(&mut self, number: u64, arrival: Time, done: Time) {
        let last = self.last_of.remove(&number);
        if done - arrival > self.longest {
            self.longest = done - arrival;
            self.open = Some(Open { number, arrival, done, last });
        }
    }

    /// The longest request's breakdown; in a tie, the first.
    pub(super) fn stall(&mut self) -> Option<&Stall> {
        self.close();
        self.stall.as_ref()
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.stall = Some(self.explain(&open));
        }
    }

    fn explain(&self, open: &Open) -> Stall {
        let mut stall = Stall { arrival: open.arrival, done: open.done, ..Stall::nothing() };
        let Some((mut number, mut at)) = open.last else {
            stall.add_outside((open.arrival, open.done), 0);
            return stall;
        };
        stall.add_outside((at, open.done), 0);
        while at > open.arrival {
            let Some(past) = self.get(number) else {
                stall.add_outside((open.arrival, at), at - open.arrival);
                return stall.in_order();
            };
            let before = at;
            for piece in past.pieces.iter().rev().filter(|piece| piece.start < before) {
                let end = piece.end.min(at);
                self.share(number, (end.max(open.arrival), at), open, &mut stall);
                let start = piece.start.max(open.arrival);
                stall.add(past.work(open), (start, end));
                at = start;
                if at == open.arrival {
                    return stall.in_order();
                }
            }
            let begun = past.begun.clamp(open.arrival, at);
            self.share(number, (begun, at), open, &mut stall);
            at = begun;
            if at == open.arrival {
                return stall.in_order();
            }
            let leader = past.leader.filter(|&leader| self.get(leader).is_some_and(|leader| leader.end() == at));
            match leader.or_else(|| self.at_work(past.unit, at)) {
                Some(next) if at < before || next != number => number = next,
                _ => break,
            }
        }
        // It was issued, and began at once: earlier time was outside the flash.
        stall.add_outside((open.arrival, at), at.min(self.forgotten).saturating_sub(open.arrival));
        stall.in_order()
    }

    /// The operations a unit took before `time`, the latest first, as far as they may have worked at `since`.
    fn recent(&self, unit: u32, time: Time, since: Time) -> impl Iterator<Item = (u64, &Past)> {
        let numbers = &self.by_unit[unit as usize];
        let begun = |&number: &u64| self.get(number).is_some_and(|past| past.begun < time);
        let end = numbers.partition_point(begun);
        let mut misses = 0;
        let ops = numbers.range(..end).rev().filter_map(|&number| self.get(number).map(|past| (number, past)));
        ops.take_while(move |(_, past)| {
            misses = if past.end() <= since { misses + 1 } else { 0 };
            misses < MISSES
        })
    }

    /// The operation keeping the unit busy until `time`.
    fn at_work(&self, unit: u32, time: Time) -> Option<u64> {
        let works = |past: &Past| past.pieces.iter().any(|piece| piece.start < time && time <= piece.end);
        self.recent(unit, time, time - 1).find(|(_, past)| works(past)).map(|(number, _)| number)
    }

    /// Shares out a time in which an operation was under way and did not work: to others on its unit, to transfers on
    /// its channel, and the rest to itself.
    fn share(&self, number: u64, (from, to): (Time, Time), open: &Open, stall: &mut Stall) {
        let Some(past) = self.get(number).filter(|_| from < to) else { return };
        let channel = self.channel_of[past.unit as usize];
        let neighbours = (0..self.channel_of.len() as u32).filter(|&unit| self.channel_of[unit as usize] == channel);
        let mut others: Vec<(Time, Time, u64)> = neighbours
            .flat_map(|unit| self.recent(unit, to, from).map(move |found| (unit, found)))
            .filter(|(_, (other, _))| *other != number)
            .flat_map(|(unit, (other, one))| one.pieces.iter().map(move |piece| (unit, other, piece)))
            .filter(|(unit, _, piece)| piece.is_transfer || *unit == past.unit)
            .filter(|(.., piece)| piece.start < to && piece.end > from)
            .map(|(_, other, piece)| (piece.start, piece.end, other))
            .collect();
        others.sort_unstable();
        let mut at = from;
        for (start, end, other) in others {
            let (start, end) = (start.max(at), end.min(to));
            if start < end {
                stall.add(past.work(open), (at, start));
                stall.add(self.known[(other - self.first) as usize].work(open), (start, end));
                at = end;
            }
        }
        stall.add(past.work(open), (at, to));
    }
}

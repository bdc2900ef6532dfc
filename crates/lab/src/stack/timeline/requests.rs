//! The host's requests as slices, and how many are under way.

use super::packets::{About, Begin, Name, Packets, Value, HOST};
use super::tracks::{Lanes, DEPTH, QUEUE};
use super::window::Window;
use nandlab_block::{Completion, Request};
use nandlab_nand::{Origin, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Arrows from a request have numbers from here on, with its number and that of its operation.
const REQUEST: u64 = 1 << 62;
/// Most operations with arrows in a request.
const MOST: u32 = (1 << 20) - 1;

#[derive(Clone, Copy, Debug)]
struct Drawn {
    arrival: Time,
    done: Time,
    number: u64,
    op: u8,
    origin: Origin,
    sector: u64,
    sectors: u32,
    operations: u32,
}

/// A run's requests.
#[derive(Debug, Default)]
pub struct Requests {
    window: Window,
    base: Time,
    /// Requests that ended so far.
    pub ended: u64,
    /// By request under way: its operations.
    operations: HashMap<u64, u32>,
    drawn: Vec<Drawn>,
    last_done: Time,
    /// Requests around the window: they only count for the depth.
    around: Vec<(Time, Time)>,
    /// The same for requests before it, while they are under way.
    before: BinaryHeap<Reverse<(Time, Time)>>,
    /// Requests are queued: they end in another order than they come.
    pub by_events: bool,
}

impl Requests {
    pub fn new(window: Window) -> Self {
        Self { window, ..Self::default() }
    }

    pub fn begin(&mut self, base: Time) {
        self.base = base;
    }

    /// An arrow's number for the next operation of a request that waits for it; 0 for none.
    pub fn flow(&mut self, request: u64) -> u64 {
        let count = self.operations.entry(request).or_default();
        *count += 1;
        if *count < MOST {
            REQUEST | request << 20 | u64::from(*count)
        } else {
            0
        }
    }

    /// A request ended.
    pub fn end_one(&mut self, number: u64, request: &Request, completion: &Completion) {
        self.ended += 1;
        let operations = self.operations.remove(&number).unwrap_or(0);
        let arrival = completion.arrival.saturating_sub(self.base);
        let done = completion.done.saturating_sub(self.base);
        if self.window.shows(number, (arrival, done)) {
            let Request { op, origin, sector, sectors, .. } = *request;
            let op = op.number() as u8;
            self.last_done = self.last_done.max(done);
            self.drawn.push(Drawn { arrival, done, number, op, origin, sector, sectors, operations });
            return;
        }
        let Window::Requests(first, last) = self.window else { return };
        if number < first {
            self.before.push(Reverse((done, arrival)));
            while !self.by_events && self.before.peek().is_some_and(|Reverse((done, _))| *done < arrival) {
                self.before.pop();
            }
        } else if arrival <= self.last_done || self.by_events && (self.drawn.len() as u64) < last - first + 1 {
            self.around.push((arrival, done));
        }
    }

    /// Draws them all; `next` is the first number without a track. Returns whether there are any.
    pub fn end(&mut self, next: &mut u64, packets: &mut Packets) -> bool {
        self.drawn.sort_by_key(|one| (one.arrival, one.number));
        let mut lanes = Lanes::new();
        let mut flows = Vec::new();
        for one in &self.drawn {
            let times = (one.arrival, one.done);
            let track = lanes.take(packets, times, next, (QUEUE, "requests"));
            flows.clear();
            flows.extend((1..=one.operations.min(MOST - 1)).map(|n| REQUEST | one.number << 20 | u64::from(n)));
            let annotations = [
                (About::Request, Value::Number(one.number)),
                (About::Origin, Value::Origin(one.origin)),
                (About::Sector, Value::Number(one.sector)),
                (About::Sectors, Value::Number(one.sectors.into())),
                (About::Operations, Value::Number(one.operations.into())),
            ];
            let name = Name::Request(one.op);
            packets.slice(times, &Begin { track, name, category: HOST, annotations: &annotations, flows: &flows });
        }
        self.depth(packets);
        !self.drawn.is_empty()
    }

    /// The number under way, while the timeline shows requests.
    fn depth(&mut self, packets: &mut Packets) {
        let Some(first) = self.drawn.first().map(|one| one.arrival) else { return };
        let last = self.last_done;
        let before = self.before.drain().map(|Reverse((done, arrival))| (arrival, done));
        let all = self.drawn.iter().map(|one| (one.arrival, one.done)).chain(self.around.drain(..)).chain(before);
        // An end comes before an arrival at the same time.
        let mut changes: Vec<(Time, i8)> = all.flat_map(|(arrival, done)| [(arrival, 1), (done, -1)]).collect();
        changes.sort_unstable();
        let mut depth = 0_i64;
        let mut at = 0;
        while at < changes.len() {
            let time = changes[at].0;
            while at < changes.len() && changes[at].0 == time {
                depth += i64::from(changes[at].1);
                at += 1;
            }
            if (first..=last).contains(&time) {
                packets.count(time, DEPTH, depth.max(0) as u64);
            }
        }
    }
}

//! Requests under way on a device that ends them at pseudo-random times; a flush covers what had ended when it began.

use nandlab_block::{Completion, Ended, Op, Request};
use nandlab_nand::random::Random;
use nandlab_nand::Time;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone)]
pub struct Pending {
    random: Random,
    /// By end and number; a flush with the requests that had ended at its begin.
    under_way: BTreeMap<(Time, u64), (Request, BTreeSet<u64>)>,
    /// Ended requests whose changes may not be durable.
    pub ended: BTreeSet<u64>,
    begun: u64,
    /// When the latest request came, and until when events took place.
    pub latest: Time,
    /// The most requests that were under way.
    pub deepest: usize,
}

impl Pending {
    pub fn new() -> Self {
        let (under_way, ended) = (BTreeMap::new(), BTreeSet::new());
        Self { random: Random::new(7), under_way, ended, begun: 0, latest: 0, deepest: 0 }
    }

    /// The number of a request that comes now.
    pub fn number(&mut self, request: &Request) -> u64 {
        assert!(request.time >= self.latest, "{request:?} comes before {}", self.latest);
        (self.begun, self.latest) = (self.begun + 1, request.time);
        self.begun - 1
    }

    /// The request is under way.
    pub fn begin(&mut self, number: u64, request: &Request) {
        let covered = if request.op == Op::Flush { self.ended.clone() } else { BTreeSet::new() };
        let end = request.time + 1 + self.random.below(100_000);
        self.under_way.insert((end, number), (*request, covered));
        self.deepest = self.deepest.max(self.under_way.len());
    }

    /// The next end up to `limit`, noted in `ended`; with a flush what it covers, which is then durable.
    pub fn step(&mut self, limit: Time, ended: &mut Vec<Ended>) -> Option<BTreeSet<u64>> {
        let Some(next) = self.under_way.first_entry().filter(|next| next.key().0 <= limit) else {
            self.latest = self.latest.max(if limit < Time::MAX { limit } else { 0 });
            return None;
        };
        let ((done, number), (request, covered)) = next.remove_entry();
        self.latest = self.latest.max(done);
        match request.op {
            Op::Flush => self.ended.retain(|number| !covered.contains(number)),
            Op::Write | Op::Trim | Op::Zone(_) => drop(self.ended.insert(number)),
            _ => {}
        }
        ended.push(Ended { number, request, completion: Completion { arrival: request.time, done } });
        Some(covered)
    }

    /// The power goes.
    pub fn forget(&mut self) {
        self.ended.clear();
        self.under_way.clear();
        (self.begun, self.latest) = (0, 0);
    }
}

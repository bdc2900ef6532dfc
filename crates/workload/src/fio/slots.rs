//! A clone's slots for outstanding requests.
//!
//! A request that has ended keeps its slot until fio looks. By default it looks when all slots are taken, for one request;
//! `iodepth_batch_complete_min`, `iodepth_batch_complete_max` and `iodepth_low` have it wait for more (backend.c of fio 3.33,
//! `wait_for_completions`).

use super::job::Job;
use nandlab_nand::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The slots.
#[derive(Debug)]
pub(super) struct Slots {
    pub(super) depth: usize,
    /// Requests to wait for at a time, and most to take then.
    least: usize,
    most: usize,
    /// It waits on while more slots are taken.
    low: usize,
    /// Known ends.
    ends: BinaryHeap<Reverse<Time>>,
    /// Outstanding requests with unknown ends.
    pub(super) unknown: usize,
}

impl Slots {
    pub(super) fn new(job: &Job) -> Self {
        let depth = job.outstanding() as usize;
        let batch = &job.batch;
        let least = (batch.least as usize).clamp(1, depth);
        let low = if batch.low == 0 { depth } else { depth.min(batch.low as usize) };
        Self {
            depth,
            least,
            most: (batch.most as usize).max(least),
            low,
            ends: BinaryHeap::with_capacity(depth + 1),
            unknown: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.ends.len() + self.unknown >= self.depth
    }

    /// Whether it waits for unknown ends.
    pub(super) fn is_blocked(&self) -> bool {
        self.is_full() && self.next_look().is_none()
    }

    /// From when on there is a slot; only if it is not blocked.
    pub(super) fn free_at(&self) -> Time {
        if !self.is_full() {
            return 0;
        }
        self.next_look().expect("a clone that is blocked is not asked").1
    }

    /// How many requests are taken from full slots, and when; `None` with unknown ends.
    fn next_look(&self) -> Option<(usize, Time)> {
        if self.least == 1 && self.most == 1 && self.low + 1 >= self.depth {
            return self.ends.peek().map(|end| (1, end.0));
        }
        let mut ends: Vec<Time> = self.ends.iter().map(|end| end.0).collect();
        ends.sort_unstable();
        let mut taken = 0;
        loop {
            let least = self.least.min(self.depth - taken);
            let time = *ends.get(taken + least - 1)?;
            let ready = ends[taken..].iter().take(self.most).filter(|&&end| end <= time).count();
            taken += ready;
            if self.depth - taken <= self.low {
                return Some((taken, time));
            }
        }
    }

    /// Makes room for one more request.
    pub(super) fn make_room(&mut self) {
        if !self.is_full() {
            return;
        }
        let taken = self.next_look().map_or(0, |(taken, _)| taken);
        for _ in 0..taken {
            self.ends.pop();
        }
    }

    /// All requests have ended, and fio looked.
    pub(super) fn clear(&mut self) {
        self.ends.clear();
    }

    /// A request ends at `end`.
    pub(super) fn end(&mut self, end: Time) {
        self.ends.push(Reverse(end));
    }
}

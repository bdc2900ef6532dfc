//! What a clone of a job asks for, one request after the other, whenever they come.

use super::job::{Asks, Job, Lengths};
use super::layout::Region;
use crate::permutation::Permutation;
use crate::zipf::Ranks;
use nandlab_block::Op;
use nandlab_nand::random::Random;

/// A request, in bytes from the start of the region; a flush has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ask {
    pub(super) op: Op,
    pub(super) offset: u64,
    pub(super) length: u64,
}

const FLUSH: Ask = Ask { op: Op::Flush, offset: 0, length: 0 };

/// The requests of a clone.
#[derive(Debug)]
pub(super) struct Stream {
    asks: Asks,
    lengths: [Lengths; 3],
    places: Places,
    /// Bytes of the region.
    room: u64,
    read_share: u64,
    random: Random,
    /// Bytes that a pass moves, and how many of them are moved.
    limit: u64,
    moved: u64,
    passes: u64,
    /// Whether a pass begins anew where its addresses end.
    goes_round: bool,
    /// Requests that are left; `None`: the bytes decide.
    left: Option<u64>,
    /// A flush after so many writes, and how many came since the last.
    fsync: u64,
    unsynced: u64,
    ends_with_fsync: bool,
    /// The bytes that were trimmed and are to be written.
    trimmed: Option<(u64, u64)>,
}

/// Where requests go.
#[derive(Debug)]
enum Places {
    /// Each direction behind its last request.
    InOrder([u64; 3]),
    Anywhere,
    /// Each block once before any comes twice.
    Once(Cover),
    /// Blocks by popularity.
    Zipf(Ranks, Permutation),
}

impl Stream {
    pub(super) fn new(job: &Job, region: &Region, mut random: Random) -> Self {
        let least = job.least();
        let blocks = (region.length / least).max(1);
        let used = || job.asks.directions().iter().map(|&direction| &job.lengths[direction]);
        let is_one_length = used().all(|lengths| lengths.least() == least && lengths.most() == least);
        let places = match job.theta {
            _ if !job.is_random => Places::InOrder([0; 3]),
            Some(theta) => Places::Zipf(Ranks::new(blocks, theta), Permutation::new(blocks, random.next_u64())),
            None if !job.covers => Places::Anywhere,
            None => Places::Once(Cover::new(blocks, least, is_one_length, random.next_u64())),
        };
        Self {
            asks: job.asks,
            lengths: job.lengths.clone(),
            places,
            room: region.length,
            read_share: job.read_share,
            random,
            limit: region.limit,
            moved: 0,
            passes: job.loops,
            goes_round: job.is_time_based || region.limit > region.length,
            left: (job.requests > 0).then_some(job.requests),
            fsync: job.fsync,
            unsynced: 0,
            ends_with_fsync: job.ends_with_fsync,
            trimmed: None,
        }
    }

    /// Without an end of its own.
    pub(super) fn endless(self) -> Self {
        Self { limit: u64::MAX, ..self }
    }

    /// Requests in all, about.
    pub(super) fn count(&self) -> u64 {
        let directions = self.asks.directions();
        let mean: u64 = directions.iter().map(|&direction| self.lengths[direction].mean()).sum();
        let bytes = self.limit.saturating_mul(self.passes) / (mean / directions.len() as u64).max(1);
        let each = if self.asks == Asks::TrimWrite { 2 } else { 1 };
        self.left.map_or(bytes.saturating_mul(each), |left| left.min(bytes.saturating_mul(each)))
    }

    /// The next request; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Ask> {
        if self.fsync > 0 && self.unsynced == self.fsync {
            self.unsynced = 0;
            return Some(FLUSH);
        }
        match self.next_moving() {
            Some(ask) => {
                self.left = self.left.map(|left| left - 1);
                self.unsynced += u64::from(ask.op == Op::Write);
                // What is trimmed and written counts once.
                if !(self.asks == Asks::TrimWrite && ask.op == Op::Trim) {
                    self.moved += ask.length;
                }
                Some(ask)
            }
            None => std::mem::take(&mut self.ends_with_fsync).then_some(FLUSH),
        }
    }

    /// The next request that is no flush.
    fn next_moving(&mut self) -> Option<Ask> {
        if self.left == Some(0) {
            return None;
        }
        if let Some((offset, length)) = self.trimmed.take() {
            return Some(Ask { op: Op::Write, offset, length });
        }
        let op = match self.asks {
            Asks::Only(op) => op,
            Asks::Mix if self.random.below(100) < self.read_share => Op::Read,
            Asks::Mix => Op::Write,
            Asks::TrimWrite => Op::Trim,
        };
        let in_pass = if self.moved < self.limit { self.place(op) } else { None };
        let (offset, length) = in_pass.or_else(|| self.place_anew(op))?;
        if self.asks == Asks::TrimWrite {
            self.trimmed = Some((offset, length));
        }
        Some(Ask { op, offset, length })
    }

    /// The first place after the last one; `None` where nothing is left to be done.
    fn place_anew(&mut self, op: Op) -> Option<(u64, u64)> {
        if self.moved >= self.limit || !self.goes_round {
            self.passes -= 1;
            if self.passes == 0 {
                // A later look finds the end as well.
                self.left = Some(0);
                return None;
            }
            self.moved = 0;
            self.rewind(None);
        } else {
            self.rewind(Some(op));
        }
        self.place(op)
    }

    /// Starts the addresses anew, those of one direction where they go by directions.
    fn rewind(&mut self, op: Option<Op>) {
        match (&mut self.places, op) {
            (Places::InOrder(next), Some(op)) => next[direction(op)] = 0,
            (Places::InOrder(next), None) => *next = [0; 3],
            (Places::Once(cover), _) => cover.renew(self.random.next_u64()),
            (Places::Anywhere | Places::Zipf(..), _) => {}
        }
    }

    /// Offset and length of the next request in this direction; `None` at the end of the addresses.
    fn place(&mut self, op: Op) -> Option<(u64, u64)> {
        let Self { lengths, places, room, random, .. } = self;
        let lengths = &lengths[direction(op)];
        let block = lengths.least();
        match places {
            Places::InOrder(next) => {
                let next = &mut next[direction(op)];
                let length = lengths.draw(random, room.checked_sub(*next)?)?;
                *next += length;
                Some((*next - length, length))
            }
            Places::Once(cover) => cover.next(|left| lengths.draw(random, left), *room),
            Places::Anywhere => {
                let offset = random.below((*room / block).max(1)) * block;
                Some((offset, lengths.draw(random, *room - offset)?))
            }
            Places::Zipf(ranks, places) => {
                let offset = places.apply(ranks.draw(random)) * block;
                // Where directions differ in length, the last places have no room for the longer.
                let offset = offset.min(room.checked_sub(block)? / block * block);
                Some((offset, lengths.draw(random, *room - offset)?))
            }
        }
    }
}

fn direction(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Trim => 2,
        Op::Flush => unreachable!("a flush has no place"),
    }
}

impl Lengths {
    /// A length of at most `room` bytes; `None` where there is none.
    fn draw(&self, random: &mut Random, room: u64) -> Option<u64> {
        if self.least() > room {
            return None;
        }
        loop {
            let length = match self {
                Self::Range(least, most) if least == most => *least,
                // As fio draws: above the least by up to the most, in multiples of the least, and cut.
                Self::Range(least, most) => {
                    let drawn = least + random.below(*most);
                    (drawn - drawn % least).min(*most)
                }
                Self::Split(parts) => {
                    let mut draw = random.below(parts.iter().map(|&(_, share)| share).sum());
                    let found = parts.iter().find(|&&(_, share)| match draw.checked_sub(share) {
                        Some(left) => {
                            draw = left;
                            false
                        }
                        None => true,
                    });
                    found.expect("a draw is below the sum").0
                }
            };
            if length <= room {
                return Some(length);
            }
        }
    }

    /// About.
    fn mean(&self) -> u64 {
        match self {
            Self::Range(least, most) => (least + most) / 2,
            Self::Split(parts) => parts.iter().map(|&(bytes, share)| bytes * share).sum::<u64>() / 100,
        }
    }
}

/// Blocks in an order in which each comes once.
#[derive(Debug)]
struct Cover {
    order: Permutation,
    blocks: u64,
    block: u64,
    next: u64,
    /// A bit a block that a request touched; none where all requests are one block long.
    touched: Vec<u64>,
}

impl Cover {
    fn new(blocks: u64, block: u64, is_one_length: bool, key: u64) -> Self {
        let touched = if is_one_length { Vec::new() } else { vec![0; blocks.div_ceil(64) as usize] };
        Self { order: Permutation::new(blocks, key), blocks, block, next: 0, touched }
    }

    fn renew(&mut self, key: u64) {
        self.order = Permutation::new(self.blocks, key);
        self.next = 0;
        self.touched.fill(0);
    }

    fn is_touched(&self, block: u64) -> bool {
        self.touched.get((block / 64) as usize).is_some_and(|word| word >> (block % 64) & 1 == 1)
    }

    /// The next place, of a length that `draw` gives for the room to the end; it ends before what was touched.
    fn next(&mut self, draw: impl FnOnce(u64) -> Option<u64>, room: u64) -> Option<(u64, u64)> {
        let first = loop {
            if self.next == self.blocks {
                return None;
            }
            let block = self.order.apply(self.next);
            self.next += 1;
            if !self.is_touched(block) {
                break block;
            }
        };
        let offset = first * self.block;
        // At the end of the region there may be room for a block of the other direction alone.
        let wanted = draw(room - offset).unwrap_or(self.block);
        if self.touched.is_empty() {
            return Some((offset, wanted));
        }
        let mut count = 0;
        while count < wanted.div_ceil(self.block) && first + count < self.blocks && !self.is_touched(first + count) {
            self.touched[((first + count) / 64) as usize] |= 1 << ((first + count) % 64);
            count += 1;
        }
        Some((offset, wanted.min(count * self.block)))
    }
}

//! A clone's requests in order, without times.

use super::ask::{Ask, Span};
use super::job::{Asks, Job, Lengths};
use super::layout::Region;
use super::placing::Placer;
use super::skew::Skew;
use crate::permutation::Permutation;
use nandlab_block::Op;
use nandlab_nand::random::Random;
use nandlab_nand::PlacementId;

const FLUSH: Ask = Ask { op: Op::Flush, offset: 0, length: 0, file: 0, placement: PlacementId::NONE };

/// A clone's requests.
#[derive(Debug)]
pub(super) struct Stream {
    asks: Asks,
    lengths: [Lengths; 3],
    /// Its files, and the next one: they come in turn.
    parts: Vec<Part>,
    turn: usize,
    read_share: u64,
    /// Random requests in a random job, in per cent; 0 otherwise.
    random_share: [u64; 3],
    is_endless: bool,
    random: Random,
    placer: Placer,
    /// Its beginning in each file, in bytes of the file.
    offset: u64,
    /// Bytes all passes move, and bytes moved so far.
    limit: u64,
    moved: u64,
    passes: u64,
    /// Whether a pass begins anew at the end.
    goes_round: bool,
    /// Requests left; `None`: the bytes decide.
    left: Option<u64>,
    /// Where trims are written: how many requests the next pass adds. fio 3.33 doubles its count of requests at the start of
    /// each pass, compares it with those of all passes, and begins a pass anew where a count ended the one before.
    added: Option<u64>,
    /// A flush after so many writes, and how many came since the last.
    fsync: u64,
    unsynced: u64,
    /// Whether the first request of a mix is a write, since nothing can be read from empty zones.
    begins_with_write: bool,
    /// The request behind a flush.
    held: Option<Ask>,
    ends_with_fsync: bool,
}

/// A clone's work in one file.
#[derive(Debug)]
struct Part {
    start: u64,
    /// Its bytes.
    room: u64,
    places: Places,
    /// End address for the last request, by direction.
    last: [u64; 3],
    /// Trimmed bytes, still to be written.
    trimmed: Option<(u64, u64)>,
}

/// The choice for random places.
#[derive(Debug)]
enum Places {
    /// Multiples by direction, in bytes.
    Anywhere([u64; 3]),
    /// Each block once before any comes twice.
    Once(Cover),
    /// Multiples by popularity and direction, in bytes.
    Skewed(Box<[(u64, Skew); 3]>),
}

impl Stream {
    pub(super) fn new(job: &Job, region: &Region, mut random: Random) -> Self {
        let placer = Placer::new(&job.choice, region.starts.len(), &random);
        let parts = region.starts.iter().map(|&start| Part {
            start,
            room: region.length,
            places: Places::new(job, region.length, &mut random),
            last: [0; 3],
            trimmed: None,
        });
        // A trim and its write count once.
        let each = if job.asks == Asks::TrimWrite { 2 } else { 1 };
        let left = (job.requests > 0).then(|| job.requests.saturating_mul(each).saturating_mul(job.loops));
        Self {
            asks: job.asks,
            lengths: job.lengths.clone(),
            parts: parts.collect(),
            turn: 0,
            read_share: job.read_share,
            random_share: if job.is_random { job.random_share } else { [0; 3] },
            is_endless: false,
            random,
            placer,
            offset: region.offset,
            limit: region.limit.saturating_mul(job.loops),
            moved: 0,
            passes: job.loops,
            goes_round: job.is_time_based || region.limit > region.length * region.starts.len() as u64,
            left,
            added: left.filter(|_| job.asks == Asks::TrimWrite),
            fsync: job.fsync,
            unsynced: 0,
            begins_with_write: job.begins_with_write(),
            held: None,
            // A job without writes has nothing to flush.
            ends_with_fsync: (job.end_fsync || job.fsync_on_close) && job.writes(),
        }
    }

    /// Removes the stream's own end.
    pub(super) fn endless(self) -> Self {
        Self { limit: u64::MAX, is_endless: true, left: None, added: None, ..self }
    }

    /// Requests in all, about.
    pub(super) fn count(&self) -> u64 {
        let directions = self.asks.directions();
        let mean: u64 = directions.iter().map(|&direction| self.lengths[direction].mean()).sum();
        let bytes = self.limit / (mean / directions.len() as u64).max(1);
        let each = if self.asks == Asks::TrimWrite { 2 } else { 1 };
        let bytes = bytes.saturating_mul(each);
        // Each pass doubles it.
        let more = self.added.map_or(0, |_| self.passes - 1).min(63);
        self.left.map_or(bytes, |left| left.saturating_mul(1 << more).min(bytes))
    }

    /// The next request; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Ask> {
        let Some(ask) = self.held.take().or_else(|| self.next_moving()) else {
            return std::mem::take(&mut self.ends_with_fsync).then_some(FLUSH);
        };
        // fio flushes before the following request, and so not behind the last one.
        if self.fsync > 0 && self.unsynced == self.fsync {
            self.unsynced = 0;
            self.held = Some(ask);
            return Some(FLUSH);
        }
        self.unsynced += u64::from(ask.op == Op::Write);
        Some(ask)
    }

    /// The next request except flushes, counted.
    fn next_moving(&mut self) -> Option<Ask> {
        let ask = self.next_asked()?;
        self.left = self.left.map(|left| left - 1);
        // The write behind a trim moves the same bytes.
        if !(self.asks == Asks::TrimWrite && ask.op == Op::Write) {
            self.moved += ask.length;
        }
        Some(ask)
    }

    fn next_asked(&mut self) -> Option<Ask> {
        if self.left == Some(0) {
            if self.added.is_none() || self.passes <= 1 {
                return None;
            }
            self.end_pass();
            self.begin_pass(None);
        }
        let op = match self.asks {
            Asks::Only(op) => op,
            Asks::Mix if self.random.below(100) < self.read_share && !self.begins_with_write => Op::Read,
            Asks::Mix => Op::Write,
            Asks::TrimWrite => Op::Trim,
        };
        self.begins_with_write &= op != Op::Write;
        self.in_turn(op).or_else(|| self.anew(op))
    }

    /// A job's work in a file.
    pub(super) fn span(&self, file: usize) -> Span {
        Span { start: self.parts[file].start, length: self.parts[file].room }
    }

    /// The last request went to another place than the one it was made for: it moved so many bytes in place of `asked`, and a
    /// job in order goes on at `next`.
    pub(super) fn settle(&mut self, asked: Ask, moved: u64, next: u64) {
        self.moved = self.moved - asked.length + moved;
        let part = &mut self.parts[asked.file];
        part.last[direction(asked.op)] = next - part.start;
    }

    /// The last request found no place: nothing moved, and its pass over the file ends.
    pub(super) fn end_file(&mut self, asked: Ask) {
        self.moved -= asked.length;
        self.left = self.left.map(|left| left + 1);
        let part = &mut self.parts[asked.file];
        part.last = [part.room; 3];
        if let Places::Once(cover) = &mut part.places {
            cover.next = cover.blocks;
        }
    }

    /// A request in this file; a write gets its placement.
    fn ask(&mut self, at: usize, op: Op, (offset, length): (u64, u64)) -> Ask {
        let in_file = self.offset + offset;
        let placement = if op == Op::Write { self.placer.next(at, in_file) } else { PlacementId::NONE };
        Ask { op, offset: self.parts[at].start + offset, length, file: at, placement }
    }

    /// The next request from the file in turn; `None` if no file has one.
    fn in_turn(&mut self, op: Op) -> Option<Ask> {
        for _ in 0..self.parts.len() {
            let at = self.turn;
            self.turn = (at + 1) % self.parts.len();
            if let Some((offset, length)) = self.parts[at].trimmed.take() {
                return Some(self.ask(at, Op::Write, (offset, length)));
            }
            if self.moved >= self.limit {
                continue;
            }
            if let Some((offset, length)) = self.place(at, op) {
                self.parts[at].trimmed = (self.asks == Asks::TrimWrite).then_some((offset, length));
                return Some(self.ask(at, op, (offset, length)));
            }
        }
        None
    }

    /// The first request after the addresses ended; `None` if nothing is left to do.
    fn anew(&mut self, op: Op) -> Option<Ask> {
        if self.moved < self.limit && !self.goes_round {
            self.end_pass();
        }
        if self.moved >= self.limit || self.passes == 0 {
            // A later look finds the end as well.
            (self.left, self.passes) = (Some(0), 0);
            return None;
        }
        // As in fio: with a time limit each direction starts again alone, with a byte limit all do together.
        self.begin_pass(self.is_endless.then(|| direction(op)));
        self.in_turn(op)
    }

    fn end_pass(&mut self) {
        self.passes -= 1;
        if let (Some(left), Some(added)) = (&mut self.left, &mut self.added) {
            *left = left.saturating_add(*added);
            *added = added.saturating_mul(2);
        }
    }

    /// Begins with the addresses anew, those of jobs in order in one direction or in all.
    fn begin_pass(&mut self, one: Option<usize>) {
        let is_in_order = self.random_share == [0; 3];
        for part in &mut self.parts {
            match one {
                _ if !is_in_order => {}
                Some(direction) => part.last[direction] = 0,
                None => part.last = [0; 3],
            }
            if let Places::Once(cover) = &mut part.places {
                cover.renew(self.random.next_u64());
            }
        }
    }

    /// Offset and length for the next request in this file and direction; `None` at the end.
    fn place(&mut self, at: usize, op: Op) -> Option<(u64, u64)> {
        let direction = direction(op);
        let Self { lengths, parts, random, random_share, is_endless, .. } = self;
        let (part, lengths, share) = (&mut parts[at], &lengths[direction], random_share[direction]);
        // A fully random job draws no share, so its draws stay as before shares existed.
        let is_random = share == 100 || share > 0 && random.below(100) < share;
        let is_mixed = *random_share != [0; 3] && !is_random;
        if is_mixed && *is_endless && part.last[direction] >= part.room {
            part.last[direction] = 0;
        }
        let in_order = || Some(part.last[direction]).filter(|&last| last + lengths.least() <= part.room);
        let found = match (is_random, in_order()) {
            (false, Some(last)) => Some((last, lengths.draw(random, part.room - last)?)),
            (false, None) if !is_mixed => None,
            _ => part.places.next((lengths, direction), part.room, random),
        };
        let (offset, length) = found?;
        part.last[direction] = offset + length;
        Some((offset, length))
    }
}

impl Places {
    fn new(job: &Job, room: u64, random: &mut Random) -> Self {
        let align = [0, 1, 2].map(|direction| job.align[direction].unwrap_or(job.lengths[direction].least()));
        if !job.is_random {
            return Self::Anywhere(align);
        }
        let least = job.least();
        if job.covers_once() {
            let used = || job.asks.directions().iter().map(|&direction| &job.lengths[direction]);
            let is_one_length = used().all(|lengths| lengths.least() == least && lengths.most() == least);
            return Self::Once(Cover::new((room / least).max(1), least, is_one_length, random.next_u64()));
        }
        let skewed = [0, 1, 2].map(|direction| {
            let blocks = (room / align[direction]).max(1);
            job.distribution.places(direction, blocks, align[direction], random).map(|skew| (align[direction], skew))
        });
        match skewed {
            [Some(reads), Some(writes), Some(trims)] => Self::Skewed(Box::new([reads, writes, trims])),
            _ => Self::Anywhere(align),
        }
    }

    /// Offset and length; `None` if every place has come, or there is no room.
    fn next(&mut self, (lengths, direction): (&Lengths, usize), room: u64, random: &mut Random) -> Option<(u64, u64)> {
        let (align, block) = match self {
            Self::Once(cover) => return cover.next(|left| lengths.draw(random, left), room),
            Self::Anywhere(align) => {
                let align = align[direction];
                // As many as fit in whole.
                let blocks = room.checked_sub(lengths.least())? / align + 1;
                (align, random.below(blocks))
            }
            Self::Skewed(skews) => (skews[direction].0, skews[direction].1.draw(random)),
        };
        // With different lengths by direction, the last places have no room for the longer one.
        let offset = (block * align).min(room.checked_sub(lengths.least())? / align * align);
        Some((offset, lengths.draw(random, room - offset)?))
    }
}

fn direction(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Trim => 2,
        Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => unreachable!("a flush has no place"),
    }
}

impl Lengths {
    /// A length up to `room` bytes; `None` if there is none.
    fn draw(&self, random: &mut Random, room: u64) -> Option<u64> {
        if self.least() > room {
            return None;
        }
        loop {
            let length = match self {
                Self::Range(least, most) if least == most => *least,
                // As fio draws: the least plus up to the most, rounded down to a multiple of the least, and cut.
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

/// Blocks in an order with each exactly once.
#[derive(Debug)]
struct Cover {
    order: Permutation,
    blocks: u64,
    block: u64,
    next: u64,
    /// A bit per block, set once a request touched it; empty if all requests are one block long.
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

    /// The next place, with a length from `draw` for the room to the end; it ends before touched blocks.
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
        // At the region's end there may be room for one block in the other direction only.
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

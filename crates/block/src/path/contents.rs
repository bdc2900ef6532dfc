//! Which sectors the write buffer has, for reads.

use nandlab_nand::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Sectors of the writes that are not in flash yet. The newest write of a sector counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    /// Disjoint pieces, by first sector.
    pieces: BTreeMap<u64, Piece>,
    /// Ends in flash, first sectors, sectors behind the last, and numbers of the writes; none in event order.
    ends: BinaryHeap<Reverse<(Time, u64, u64, u64)>>,
    writes: u64,
}

/// A part of one write.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The sector behind its last.
    end: u64,
    /// Its write's number.
    write: u64,
    /// When it has crossed the link.
    from: Time,
    /// When flash has its write; the largest time if nobody knows yet.
    until: Time,
}

impl Contents {
    /// A write's data is there between two times; returns the write's number. No later read looks before `now`.
    pub(super) fn put(&mut self, (first, end): (u64, u64), (from, until): (Time, Time), now: Time) -> u64 {
        while let Some(&Reverse((_, first, end, write))) = self.ends.peek().filter(|Reverse((over, ..))| *over <= now) {
            self.ends.pop();
            self.stored((first, end), write);
        }
        self.remove((first, end));
        self.writes += 1;
        if first < end {
            self.pieces.insert(first, Piece { end, write: self.writes, from, until });
        }
        if until < Time::MAX {
            self.ends.push(Reverse((until, first, end, self.writes)));
        }
        self.writes
    }

    /// Flash has a write.
    pub(super) fn stored(&mut self, (first, end): (u64, u64), write: u64) {
        // Newer writes may have left it in several pieces.
        let mut next = first;
        while let Some((&at, piece)) = self.pieces.range(next..end).next() {
            next = piece.end.min(end);
            if piece.write == write {
                self.pieces.remove(&at);
            }
        }
    }

    /// These sectors are no longer there.
    pub(super) fn remove(&mut self, (first, end): (u64, u64)) {
        let before = self.pieces.range(..first).next_back().map(|(&at, &piece)| (at, piece));
        if let Some((at, piece)) = before.filter(|(_, piece)| piece.end > first) {
            self.pieces.insert(at, Piece { end: first, ..piece });
            self.pieces.insert(first, piece);
        }
        while let Some((&at, &piece)) = self.pieces.range(first..end).next() {
            self.pieces.remove(&at);
            if piece.end > end {
                self.pieces.insert(end, piece);
            }
        }
    }

    /// Nothing is there.
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.ends.clear();
    }

    /// When the last of these sectors has crossed the link, if all of them are there at `at`.
    pub(super) fn holds(&self, (first, end): (u64, u64), at: Time) -> Option<Time> {
        let (mut next, mut from) = (first, 0);
        while next < end {
            let (_, piece) = self.pieces.range(..=next).next_back()?;
            if piece.end <= next || piece.until <= at {
                return None;
            }
            (next, from) = (piece.end, from.max(piece.from));
        }
        Some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::random::Random;

    /// Compared with a list of the newest write for each sector.
    #[test]
    fn the_newest_write_of_each_sector_counts() {
        const SECTORS: u64 = 60;
        for by_events in [false, true] {
            let mut random = Random::new(11);
            let mut contents = Contents::default();
            let mut plain = vec![None::<(u64, Time, Time)>; SECTORS as usize];
            let mut under_way = Vec::new();
            let (mut found, mut last) = ([0; 2], 0);
            for now in 0..20_000 {
                let first = random.below(SECTORS);
                let range = (first, (first + 1 + random.below(9)).min(SECTORS));
                let sectors = range.0 as usize..range.1 as usize;
                match random.below(8) {
                    0..3 => {
                        let (from, until) = (now + random.below(5), now + 5 + random.below(90));
                        let told = if by_events { Time::MAX } else { until };
                        last = contents.put(range, (from, told), now);
                        plain[sectors].fill(Some((last, from, until)));
                        under_way.push((until, range, last));
                    }
                    3 => {
                        contents.remove(range);
                        plain[sectors].fill(None);
                    }
                    _ => {
                        if by_events {
                            under_way.retain(|&(until, range, write)| {
                                if until <= now {
                                    contents.stored(range, write);
                                }
                                until > now
                            });
                        }
                        let there = |one: &Option<(u64, Time, Time)>| one.filter(|&(.., until)| until > now);
                        let all: Option<Vec<_>> = plain[sectors].iter().map(there).collect();
                        let expected = all.and_then(|all| all.iter().map(|&(_, from, _)| from).max());
                        assert_eq!(contents.holds(range, now), expected, "{range:?} at {now}");
                        found[usize::from(expected.is_some())] += 1;
                    }
                }
                assert!(contents.pieces.len() <= SECTORS as usize && contents.ends.len() <= 100);
            }
            assert!(found[0] > 1000 && found[1] > 1000 && last > 5000, "{found:?}");
            contents.clear();
            assert_eq!(contents.holds((0, 1), 0), None);
        }
    }
}

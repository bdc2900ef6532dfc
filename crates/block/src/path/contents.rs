//! Which sectors the write buffer has, for reads.

use nandlab_nand::Time;
use std::collections::BTreeMap;

/// Sectors of the writes that are not in flash yet. The newest write of a sector counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    /// Disjoint pieces, by first sector.
    pieces: BTreeMap<u64, Piece>,
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
}

impl Contents {
    /// A write's data is there at `from`; returns the write's number, for [`Self::stored`].
    pub(super) fn put(&mut self, (first, end): (u64, u64), from: Time) -> u64 {
        self.remove((first, end));
        self.writes += 1;
        if first < end {
            self.pieces.insert(first, Piece { end, write: self.writes, from });
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
    }

    /// When the last sector in this range has crossed the link, if all are there.
    pub(super) fn holds(&self, (first, end): (u64, u64)) -> Option<Time> {
        let (mut next, mut from) = (first, 0);
        while next < end {
            let (_, piece) = self.pieces.range(..=next).next_back()?;
            if piece.end <= next {
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
                    last = contents.put(range, from);
                    plain[sectors].fill(Some((last, from, until)));
                    under_way.push((until, range, last));
                }
                3 => {
                    contents.remove(range);
                    plain[sectors].fill(None);
                }
                _ => {
                    under_way.retain(|&(until, range, write)| {
                        if until <= now {
                            contents.stored(range, write);
                        }
                        until > now
                    });
                    let there = |one: &Option<(u64, Time, Time)>| one.filter(|&(.., until)| until > now);
                    let all: Option<Vec<_>> = plain[sectors].iter().map(there).collect();
                    let expected = all.and_then(|all| all.iter().map(|&(_, from, _)| from).max());
                    assert_eq!(contents.holds(range), expected, "{range:?} at {now}");
                    found[usize::from(expected.is_some())] += 1;
                }
            }
            assert!(contents.pieces.len() <= SECTORS as usize);
        }
        assert!(found[0] > 1000 && found[1] > 1000 && last > 5000, "{found:?}");
        contents.clear();
        assert_eq!(contents.holds((0, 1)), None);
    }
}

//! A clone's random numbers, each kind from its own source, as in fio.

use super::job::{Asks, Job, Lengths};
use nandlab_nand::random::Random;

/// The sources. A copy repeats them.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    /// Places, in all files and directions.
    pub(super) places: Random,
    /// By direction.
    pub(super) lengths: [Random; 3],
    /// Reads or writes.
    pub(super) mix: Random,
    /// Random requests or others, by direction.
    pub(super) shares: [Random; 3],
    pub(super) files: Random,
}

impl Draws {
    pub(super) fn new(job: &Job, random: &mut Random) -> Self {
        let mut source = || Random::new(random.next_u64());
        let (places, mix, files, share) = (source(), source(), source(), source());
        let mut lengths = [source(), source(), source()];
        // fio 3.33 draws a write's length like the trim's before it.
        if job.asks == Asks::TrimWrite {
            lengths[2] = lengths[1].clone();
        }
        Self { places, lengths, mix, shares: [share.clone(), share.clone(), share], files }
    }
}

impl Lengths {
    /// A length for a place with `room` bytes behind it; `None` if there is none. A single length is not compared with
    /// the room.
    pub(super) fn draw(&self, random: &mut Random, room: u64) -> Option<u64> {
        let (least, most) = (self.least(), self.most());
        if least == most {
            return Some(least);
        }
        if least > room {
            return None;
        }
        loop {
            let drawn = match self {
                Self::Range(..) => least + random.below(most),
                Self::Split(parts) => Self::of_shares(parts, random.below(100), room),
            };
            let length = (drawn - drawn % least).min(most);
            if length <= room {
                return Some(length);
            }
        }
    }

    /// The first share to reach beyond the draw and to fit; else the last one. Its length.
    fn of_shares(parts: &[(u64, u64)], draw: u64, room: u64) -> u64 {
        let mut sum = 0;
        let mut last = 0;
        for &(length, share) in parts.iter().filter(|part| part.1 > 0) {
            (sum, last) = (sum + share, length);
            if draw < sum && length <= room {
                break;
            }
        }
        last
    }

    /// About.
    pub(super) fn mean(&self) -> u64 {
        match self {
            Self::Range(least, most) => (least + most) / 2,
            Self::Split(parts) => parts.iter().map(|&(bytes, share)| bytes * share).sum::<u64>() / 100,
        }
    }
}

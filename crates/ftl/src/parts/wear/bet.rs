//! BET: a block erasing table, a bit for each set of blocks.
//!
//! ## Idea
//! All erases are counted together. Each set of blocks has a bit, set if one of its blocks was erased in this round. If
//! the erases per set bit reach the threshold, wear is uneven: the sets without a bit are emptied in turn. The round
//! ends with all bits set. The table takes one bit per set, a fraction of a count per block.
//!
//! ## Differences
//! Sets do not cross dies, and each die has its own round. A set gets its bit when it begins to be emptied, not with
//! its first erase, so a set with only free or open blocks does not hold up the round.
//!
//! ## References
//! Y.-H. Chang, J.-W. Hsieh, T.-W. Kuo: Endurance Enhancement of Flash-Memory Storage Systems: An Efficient Static Wear
//! Leveling Design. DAC 2007.

use super::{Move, WearPolicy, DIFFERENCE};
use crate::options::options;
use crate::parts::blocks::table::Blocks;
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::{BlockId, Geometry};
use std::ops::Range;

options! {
    Options
    /// The options for the block erasing table.
    #[derive(Eq)]
    {
        /// Erases per erased set at which the other sets are emptied; at least 1. Default 20.
        erases: u32 = DIFFERENCE,
        /// Blocks in a set, at least 1. Default 1.
        set_blocks: u32 = 1,
    }
}

/// A die's round.
#[derive(Clone, Debug)]
struct Round {
    erased: Vec<bool>,
    erases: u64,
    sets: u32,
    /// The set emptied last, or being emptied.
    at: usize,
    /// Places of blocks still to be emptied in that set.
    left: Range<usize>,
}

#[derive(Debug)]
pub(super) struct Bet {
    rounds: Vec<Round>,
    set_blocks: u32,
    threshold: u64,
    random: Random,
}

impl Bet {
    pub(super) fn new(geometry: &Geometry, options: Options, seed: u64) -> Self {
        let sets = geometry.blocks_per_die().div_ceil(options.set_blocks) as usize;
        let round = Round { erased: vec![false; sets], erases: 0, sets: 0, at: 0, left: 0..0 };
        Self {
            rounds: vec![round; geometry.dies() as usize],
            set_blocks: options.set_blocks,
            threshold: options.erases.into(),
            random: Random::of(seed, Stream::Bet),
        }
    }

    fn set_of(&self, block: BlockId, blocks: Blocks<'_>) -> usize {
        ((block.0 - blocks.at(0).0) / self.set_blocks) as usize
    }

    /// Begins a new round if all sets were erased; returns whether it did.
    fn renew(&mut self, die: usize) -> bool {
        let sets = self.rounds[die].erased.len();
        if (self.rounds[die].sets as usize) < sets {
            return false;
        }
        let at = self.random.below(sets as u64) as usize;
        self.rounds[die] = Round { erased: vec![false; sets], erases: 0, sets: 0, at, left: 0..0 };
        true
    }
}

impl WearPolicy for Bet {
    fn erased(&mut self, block: BlockId, blocks: Blocks<'_>) {
        let set = self.set_of(block, blocks);
        let round = &mut self.rounds[blocks.die() as usize];
        round.erases += 1;
        if !std::mem::replace(&mut round.erased[set], true) {
            round.sets += 1;
        }
    }

    fn next_move(&mut self, blocks: Blocks<'_>, _free: &[BlockId]) -> Option<Move> {
        let die = blocks.die() as usize;
        loop {
            let round = &mut self.rounds[die];
            if let Some(block) =
                round.left.by_ref().map(|place| blocks.at(place)).find(|&block| blocks.is_closed(block))
            {
                return Some(Move { block, to_most_worn: false });
            }
            if round.sets == 0 || round.erases < self.threshold * u64::from(round.sets) || self.renew(die) {
                return None;
            }
            let round = &mut self.rounds[die];
            let sets = round.erased.len();
            round.at = (1..=sets).map(|step| (round.at + step) % sets).find(|&set| !round.erased[set])?;
            // A set without a closed block would never get its bit.
            round.erased[round.at] = true;
            round.sets += 1;
            let first = round.at * self.set_blocks as usize;
            round.left = first..(first + self.set_blocks as usize).min(blocks.all().len());
        }
    }
}

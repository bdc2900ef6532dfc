//! Threshold: cold data moves to the most worn block.
//!
//! ## Idea
//! When the erases of a die's most and least worn blocks differ by more than the threshold, the least worn one holds
//! data never written again. It goes to the most worn free block, and the least worn one wears from then on.

use super::{Move, WearPolicy, DIFFERENCE};
use crate::options::options;
use crate::parts::blocks::table::Blocks;
use nandlab_nand::BlockId;

options! {
    Options
    /// The option of threshold.
    #[derive(Eq)]
    {
        /// Data moves if two blocks' erases differ by more; at least 1. Default 20.
        erases: u32 = DIFFERENCE,
    }
}

#[derive(Debug)]
pub(super) struct Threshold {
    threshold: u32,
}

impl Threshold {
    pub(super) fn new(options: Options) -> Self {
        Self { threshold: options.erases }
    }
}

impl WearPolicy for Threshold {
    fn erased(&mut self, _block: BlockId, _blocks: Blocks<'_>) {}

    fn next_move(&mut self, blocks: Blocks<'_>, free: &[BlockId]) -> Option<Move> {
        let block = blocks.oldest_first().min_by_key(|&block| (blocks.cycles(block), block.0))?;
        let most = blocks.all_cycles().iter().copied().max()?;
        let least = blocks.cycles(block);
        // On a free block worn no more than this one the data would gain nothing.
        let is_better = free.iter().any(|&free| blocks.cycles(free) > least);
        (most - least > self.threshold && is_better).then_some(Move { block, to_most_worn: true })
    }
}

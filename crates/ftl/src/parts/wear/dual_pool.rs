//! Dual pool: hot data in blocks that are spared, cold data in blocks that have worn.
//!
//! ## Idea
//! Each block is in a hot or a cold pool by its data. When a hot block has more erases than a cold one by more than the
//! threshold, the least worn cold block's data moves to the most worn hot block, which is free, and the two change
//! pools: the worn block now holds cold data and rests. Erases since a block's last change of pool count separately. A
//! cold block that wears more than a hot one by the threshold joins the hot pool; a hot block that wears less than
//! another by twice the threshold joins the cold one.
//!
//! ## Differences
//! The original waits until the most worn hot block is erased; here the most worn free one takes the data.
//!
//! ## References
//! L.-P. Chang: On Efficient Wear Leveling for Large-Scale Flash-Memory Storage Systems. SAC 2007.

use super::{Move, WearPolicy, DIFFERENCE};
use crate::options::options;
use crate::parts::blocks::table::Blocks;
use nandlab_nand::{BlockId, Geometry};

options! {
    Options
    /// The option for the dual pool.
    #[derive(Eq)]
    {
        /// Data moves if two blocks' erases differ by more; at least 1. Default 20.
        erases: u32 = DIFFERENCE,
    }
}

#[derive(Debug)]
pub(super) struct DualPool {
    threshold: u32,
    is_hot: Vec<bool>,
    /// By block: its erases at its last change of pool.
    joined: Vec<u32>,
}

impl DualPool {
    /// Half of each die's blocks are hot at first.
    pub(super) fn new(geometry: &Geometry, options: Options) -> Self {
        let blocks = geometry.blocks();
        Self {
            threshold: options.erases,
            is_hot: (0..blocks).map(|block| block % 2 == 0).collect(),
            joined: vec![0; blocks as usize],
        }
    }

    fn change(&mut self, block: BlockId, cycles: u32) {
        self.is_hot[block.index()] ^= true;
        self.joined[block.index()] = cycles;
    }

    /// Erases since the block last changed pools.
    fn since(&self, block: BlockId, blocks: Blocks<'_>) -> u32 {
        blocks.cycles(block).saturating_sub(self.joined[block.index()])
    }
}

impl WearPolicy for DualPool {
    fn erased(&mut self, block: BlockId, blocks: Blocks<'_>) {
        let hot = || blocks.all().filter(|&block| self.is_hot[block.index()]);
        if self.is_hot[block.index()] {
            // A hot block that hardly wears is cold.
            let most = hot().map(|block| blocks.cycles(block)).max().unwrap_or(0);
            let idle = hot().min_by_key(|&block| blocks.cycles(block));
            if let Some(idle) = idle.filter(|&idle| most - blocks.cycles(idle) > self.threshold.saturating_mul(2)) {
                self.change(idle, blocks.cycles(idle));
            }
        } else {
            // A cold block that wears as much as hot ones is hot.
            let least = hot().map(|block| self.since(block, blocks)).min().unwrap_or(u32::MAX);
            if self.since(block, blocks).saturating_sub(least) > self.threshold {
                self.change(block, blocks.cycles(block));
            }
        }
    }

    fn next_move(&mut self, blocks: Blocks<'_>, free: &[BlockId]) -> Option<Move> {
        let worn = free.iter().copied().filter(|block| self.is_hot[block.index()]);
        let worn = worn.max_by_key(|&block| (blocks.cycles(block), std::cmp::Reverse(block.0)))?;
        let cold = blocks.oldest_first().filter(|block| !self.is_hot[block.index()]);
        let block = cold.min_by_key(|&block| (blocks.cycles(block), block.0))?;
        if blocks.cycles(worn) <= blocks.cycles(block).saturating_add(self.threshold) {
            return None;
        }
        self.change(worn, blocks.cycles(worn));
        self.change(block, blocks.cycles(block));
        Some(Move { block, to_most_worn: true })
    }
}

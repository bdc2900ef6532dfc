//! Windowed greedy: the best of the blocks that were filled first.
//!
//! ## Idea
//! Young blocks still lose pages, so only the `window` oldest are compared. A window of one block is FIFO, a window of
//! all blocks greedy.
//!
//! ## References
//! X.-Y. Hu, E. Eleftheriou, R. Haas, I. Iliadis, R. Pletka: Write Amplification Analysis in Flash-Based Solid State
//! Drives. SYSTOR 2009.

use super::VictimPolicy;
use crate::options::options;
use crate::parts::blocks::table::Blocks;
use nandlab_nand::BlockId;

options! {
    Options
    /// The option of windowed greedy.
    #[derive(Eq)]
    {
        /// How many of the oldest blocks are compared, at least 1. Default 64.
        window: u32 = 64,
    }
}

/// The block with the fewest valid pages among the `window` oldest; the oldest among equals.
#[derive(Debug)]
pub(super) struct WindowedGreedy {
    window: usize,
}

impl WindowedGreedy {
    pub(super) fn new(options: Options) -> Self {
        Self { window: options.window as usize }
    }
}

impl VictimPolicy for WindowedGreedy {
    fn pick(&mut self, blocks: Blocks<'_>, _now: u64) -> Option<BlockId> {
        blocks.oldest_first().take(self.window).min_by_key(|&block| blocks.valid_pages(block))
    }
}

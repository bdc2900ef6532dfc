//! d-choices: the best of a few blocks drawn at random.
//!
//! ## Idea
//! Between random and greedy: `choices` blocks are drawn, with replacement, and the one with the fewest valid pages is
//! emptied. Ten draws come within some percent of greedy without a list of all blocks.
//!
//! ## References
//! B. Van Houdt: A Mean Field Model for a Class of Garbage Collection Algorithms in Flash-based Solid State Drives.
//! SIGMETRICS 2013.

use super::random::AnyBlock;
use super::VictimPolicy;
use crate::options::options;
use crate::parts::blocks::table::Blocks;
use nandlab_nand::BlockId;

options! {
    Options
    /// The option of d-choices.
    #[derive(Eq)]
    {
        /// Blocks drawn for each pick, 1 to 4096: with more it is greedy, and each pick needs as many draws. Default 5.
        choices: u32 = 5,
    }
}

/// Most blocks drawn for a pick.
pub(super) const MOST_CHOICES: u32 = 4096;

/// The best of `choices` draws, the first among equals.
#[derive(Debug)]
pub(super) struct DChoices {
    draws: AnyBlock,
    choices: u32,
}

impl DChoices {
    pub(super) fn new(options: Options, seed: u64) -> Self {
        Self { draws: AnyBlock::new(seed), choices: options.choices }
    }
}

impl VictimPolicy for DChoices {
    fn pick(&mut self, blocks: Blocks<'_>, _now: u64) -> Option<BlockId> {
        let draws = (0..self.choices).map_while(|_| self.draws.draw(blocks));
        draws.min_by_key(|&block| blocks.valid_pages(block))
    }
}

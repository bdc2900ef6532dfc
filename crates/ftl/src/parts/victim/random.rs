//! Random: any block.
//!
//! ## Idea
//! The least that a policy can know. With uniform random writes each written page costs 1 / (1 - rho) programs, with
//! rho the valid share of all pages: the yardstick for every better policy.
//!
//! ## References
//! B. Van Houdt: A Mean Field Model for a Class of Garbage Collection Algorithms in Flash-based Solid State Drives.
//! SIGMETRICS 2013.

use super::VictimPolicy;
use crate::parts::blocks::table::Blocks;
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::BlockId;

/// A random closed block, all equally likely.
#[derive(Debug)]
pub(super) struct AnyBlock {
    random: Random,
}

/// Draws among all blocks before the closed ones are listed.
const DRAWS: usize = 16;

impl AnyBlock {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: Random::of(seed, Stream::Victims) }
    }

    /// Draws a closed block.
    pub(super) fn draw(&mut self, blocks: Blocks<'_>) -> Option<BlockId> {
        let count = blocks.all().len() as u64;
        let drawn = (0..DRAWS).map(|_| blocks.at(self.random.below(count) as usize));
        if let Some(closed) = { drawn }.find(|&block| blocks.is_closed(block)) {
            return Some(closed);
        }
        let closed: Vec<BlockId> = blocks.all().filter(|&block| blocks.is_closed(block)).collect();
        if closed.is_empty() {
            return None;
        }
        Some(closed[self.random.below(closed.len() as u64) as usize])
    }
}

impl VictimPolicy for AnyBlock {
    fn pick(&mut self, blocks: Blocks<'_>, _now: u64) -> Option<BlockId> {
        self.draw(blocks)
    }
}

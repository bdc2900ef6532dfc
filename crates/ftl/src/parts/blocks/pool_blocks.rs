//! Pools of blocks: the pool of each block in use, and how many blocks each pool has on each die.

use nandlab_nand::{BlockId, Geometry};
use std::ops::Range;

/// The pool of each block.
#[derive(Debug)]
pub struct PoolBlocks {
    geometry: Geometry,
    pools: usize,
    /// By block: its pool, or [`UNUSED`].
    of: Vec<u8>,
    /// By die and pool: blocks.
    held: Vec<u32>,
}

/// The pool of a block that is free or bad.
const UNUSED: u8 = u8::MAX;

impl PoolBlocks {
    /// `pools` empty pools.
    pub(crate) fn new(geometry: &Geometry, pools: u32) -> Self {
        Self {
            geometry: *geometry,
            pools: pools as usize,
            of: vec![UNUSED; geometry.blocks() as usize],
            held: vec![0; (geometry.dies() * pools) as usize],
        }
    }

    /// By block: its pool.
    pub(crate) fn of_blocks(&self) -> &[u8] {
        &self.of
    }

    /// A block's pool; `None` for a block that is free, bad or none.
    pub(crate) fn pool(&self, block: BlockId) -> Option<usize> {
        self.of.get(block.index()).filter(|&&pool| pool != UNUSED).map(|&pool| pool.into())
    }

    /// Blocks of `pool` on a die.
    pub(crate) fn held(&self, die: u32, pool: usize) -> u32 {
        self.held[die as usize * self.pools + pool]
    }

    /// Puts a block into `pool`, out of any other one.
    pub(crate) fn join(&mut self, block: BlockId, pool: usize) {
        self.leave(block);
        self.of[block.index()] = pool as u8;
        *self.of_die(block, pool) += 1;
    }

    /// Takes a block out of its pool, if it has one.
    pub(crate) fn leave(&mut self, block: BlockId) {
        if let Some(pool) = self.pool(block) {
            self.of[block.index()] = UNUSED;
            *self.of_die(block, pool) -= 1;
        }
    }

    /// Puts all blocks of some pools into `into`.
    pub(crate) fn merge(&mut self, pools: Range<usize>, into: usize) {
        for block in (0..self.geometry.blocks()).map(BlockId) {
            if self.pool(block).is_some_and(|pool| pools.contains(&pool)) {
                self.join(block, into);
            }
        }
    }

    fn of_die(&mut self, block: BlockId, pool: usize) -> &mut u32 {
        &mut self.held[self.geometry.die_of(block) as usize * self.pools + pool]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_the_blocks() {
        let mut blocks = PoolBlocks::new(&Geometry::two_dies(4, 4, 512).unwrap(), 3);
        [(0, 1), (1, 1), (5, 1), (6, 2)].into_iter().for_each(|(block, pool)| blocks.join(BlockId(block), pool));
        let held = |blocks: &PoolBlocks| [0, 1].map(|die| [0, 1, 2].map(|pool| blocks.held(die, pool)));
        assert_eq!(held(&blocks), [[0, 2, 0], [0, 1, 1]]);
        blocks.join(BlockId(1), 0);
        blocks.leave(BlockId(6));
        blocks.leave(BlockId(6));
        assert_eq!((held(&blocks), blocks.pool(BlockId(6))), ([[1, 1, 0], [0, 1, 0]], None));
        blocks.merge(0..2, 2);
        assert_eq!(held(&blocks), [[0, 0, 2], [0, 0, 1]]);
        assert_eq!(blocks.pool(BlockId::NONE), None);
    }
}

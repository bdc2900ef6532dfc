//! Free blocks by die, and bad blocks.

use nandlab_nand::{BlockId, Cause, Geometry};
use std::collections::{BTreeSet, VecDeque};

/// A block without current data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreeBlock {
    pub(crate) block: BlockId,
    /// The cause charged for its erase; `None` if it is known to be erased.
    pub(crate) unerased: Option<Cause>,
}

/// Every die's free blocks, in first-in, first-out order.
#[derive(Debug)]
pub(crate) struct FreeBlocks {
    geometry: Geometry,
    dies: Vec<VecDeque<FreeBlock>>,
    /// The die that last supplied a block.
    turn: usize,
    count: u32,
    bad: BTreeSet<BlockId>,
}

impl FreeBlocks {
    /// None free, none bad.
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let dies = geometry.dies() as usize;
        Self { geometry: *geometry, dies: vec![VecDeque::new(); dies], turn: dies - 1, count: 0, bad: BTreeSet::new() }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The device's blocks, except bad ones.
    pub(crate) fn good(&self) -> u32 {
        self.geometry.blocks() - self.bad.len() as u32
    }

    /// Blocks that are neither free nor bad.
    pub(crate) fn in_use(&self) -> u32 {
        self.good() - self.count
    }

    pub(crate) fn add(&mut self, block: BlockId, unerased: Option<Cause>) {
        self.dies[self.geometry.die_of(block) as usize].push_back(FreeBlock { block, unerased });
        self.count += 1;
    }

    /// A die's free blocks.
    pub(crate) fn count_in(&self, die: u32) -> u32 {
        self.dies[die as usize].len() as u32
    }

    /// A die's blocks, except bad ones.
    pub(crate) fn good_in(&self, die: u32) -> u32 {
        let blocks = self.geometry.blocks_of_die(die);
        blocks.len() as u32 - self.bad.range(BlockId(blocks.start)..BlockId(blocks.end)).count() as u32
    }

    /// Takes a free block from a die.
    pub(crate) fn take_in(&mut self, die: u32) -> Option<FreeBlock> {
        let free = self.dies[die as usize].pop_front()?;
        self.count -= 1;
        Some(free)
    }

    /// Takes a free block: from the die of `near` if it has one, else from the dies in turn.
    pub(crate) fn take(&mut self, near: BlockId) -> Option<FreeBlock> {
        if near.is_some() {
            if let Some(free) = self.take_in(self.geometry.die_of(near)) {
                return Some(free);
            }
        }
        for _ in 0..self.dies.len() {
            self.turn = (self.turn + 1) % self.dies.len();
            if let Some(free) = self.take_in(self.turn as u32) {
                return Some(free);
            }
        }
        None
    }

    /// Takes all blocks not known to be erased.
    pub(crate) fn take_unerased(&mut self) -> Vec<(BlockId, Cause)> {
        let mut unerased = Vec::new();
        for die in &mut self.dies {
            unerased.extend(die.iter().filter_map(|free| Some((free.block, free.unerased?))));
            die.retain(|free| free.unerased.is_none());
        }
        self.count -= unerased.len() as u32;
        unerased
    }

    pub(crate) fn set_bad(&mut self, block: BlockId) {
        self.bad.insert(block);
    }

    pub(crate) fn is_bad(&self, block: BlockId) -> bool {
        self.bad.contains(&block)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &FreeBlock> {
        self.dies.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dies_take_turns_but_for_a_block_with_a_die_of_its_own() {
        let mut free = FreeBlocks::new(&Geometry::two_dies(3, 2, 512).unwrap());
        (0..6).for_each(|block| free.add(BlockId(block), None));
        let mut take = |near| free.take(near).map(|free| free.block.0);
        assert_eq!([take(BlockId::NONE), take(BlockId::NONE)], [Some(0), Some(3)]);
        assert_eq!([take(BlockId(4)), take(BlockId(3))], [Some(4), Some(5)]);
        assert_eq!(take(BlockId(3)), Some(1), "another die helps out");
        assert_eq!([take(BlockId::NONE), take(BlockId::NONE)], [Some(2), None]);
        free.add(BlockId(1), Some(Cause::Migration));
        free.add(BlockId(4), None);
        free.add(BlockId(3), Some(Cause::Trim));
        let unerased = vec![(BlockId(1), Cause::Migration), (BlockId(3), Cause::Trim)];
        assert_eq!((free.take_unerased(), free.count()), (unerased, 1));
        assert_eq!(free.take(BlockId::NONE).map(|free| free.block.0), Some(4));
        free.set_bad(BlockId(5));
        assert_eq!((free.good(), free.in_use(), free.count()), (5, 5, 0));
    }
}

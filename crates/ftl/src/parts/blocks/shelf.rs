//! The free blocks of one die, the one that has been free longest in front.

use nandlab_nand::{BlockId, Cause};
use std::collections::VecDeque;
use std::ops::Range;

/// A free block: nothing in it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreeBlock {
    pub(crate) block: BlockId,
    /// The cause charged for its erase; `None` if it is known to be erased.
    pub(crate) unerased: Option<Cause>,
}

impl FreeBlock {
    fn erased(block: BlockId) -> Self {
        Self { block, unerased: None }
    }
}

/// Some blocks on a die.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    /// Blocks of an untouched device that were never taken, before all others: no list, so they take no memory.
    untouched: Range<u32>,
    /// The block that has been free longest in front.
    free: VecDeque<FreeBlock>,
    /// Blocks that are not bad, free or not.
    pub(super) good: u32,
}

impl Shelf {
    /// Its free blocks.
    pub(super) fn len(&self) -> usize {
        self.untouched.len() + self.free.len()
    }

    /// The free block at `place`, counted from the one free longest.
    pub(super) fn at(&self, place: usize) -> Option<FreeBlock> {
        match place.checked_sub(self.untouched.len()) {
            None => Some(FreeBlock::erased(BlockId(self.untouched.start + place as u32))),
            Some(place) => self.free.get(place).copied(),
        }
    }

    /// Removes the free block at `place`.
    pub(super) fn remove(&mut self, place: usize) -> Option<FreeBlock> {
        if let Some(place) = place.checked_sub(self.untouched.len()) {
            return self.free.remove(place);
        }
        if place > 0 {
            // One from the middle: the others become a list.
            for block in std::mem::take(&mut self.untouched).rev() {
                self.free.push_front(FreeBlock::erased(BlockId(block)));
            }
            return self.free.remove(place);
        }
        self.untouched.next().map(|block| FreeBlock::erased(BlockId(block)))
    }

    /// Adds the blocks of an untouched device to an empty shelf.
    pub(super) fn put_untouched(&mut self, blocks: Range<u32>) {
        debug_assert_eq!(self.len(), 0, "blocks {blocks:?} come before all others");
        self.untouched = blocks;
    }

    /// Adds a block, behind all others.
    pub(super) fn add(&mut self, free: FreeBlock) {
        self.free.push_back(free);
    }

    /// Removes the blocks not known to be erased, with the causes charged for their erases.
    pub(super) fn remove_unerased(&mut self) -> Vec<(BlockId, Cause)> {
        let unerased = self.free.iter().filter_map(|free| Some((free.block, free.unerased?))).collect();
        self.free.retain(|free| free.unerased.is_none());
        unerased
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_an_untouched_device_come_first() {
        let mut shelf = Shelf::default();
        shelf.put_untouched(4..9);
        shelf.add(FreeBlock { block: BlockId(2), unerased: Some(Cause::Gc) });
        let blocks = |shelf: &Shelf| (0..shelf.len()).map(|at| shelf.at(at).unwrap().block.0).collect::<Vec<_>>();
        assert_eq!(blocks(&shelf), [4, 5, 6, 7, 8, 2]);
        assert_eq!(shelf.remove(0).map(|free| free.block), Some(BlockId(4)));
        assert_eq!(shelf.remove(4).map(|free| free.block), Some(BlockId(2)));
        assert_eq!(shelf.remove(2).map(|free| free.block), Some(BlockId(7)), "one from the middle");
        shelf.add(FreeBlock { block: BlockId(3), unerased: Some(Cause::Trim) });
        assert_eq!((blocks(&shelf), shelf.at(4).is_none()), (vec![5, 6, 8, 3], true));
        assert_eq!((shelf.remove_unerased(), blocks(&shelf)), (vec![(BlockId(3), Cause::Trim)], vec![5, 6, 8]));
        assert!(shelf.remove(3).is_none());
    }
}

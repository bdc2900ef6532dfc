//! Valid counts by block, in pages or sectors, and each block's use: one word per block, without a bitmap.
//!
//! To tell which units are valid, the FTL compares its map with the block's list.

use super::minimum::{self, first_minimum};
use nandlab_nand::BlockId;
use std::ops::Range;

/// A block's use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockUse {
    /// Erased, or to be erased before its next use; holds nothing.
    Free,
    /// Being filled, or not a possible victim for another reason.
    Open,
    /// Filled; a victim if a policy picks it.
    Closed,
    /// Out of use.
    Bad,
}

/// A block's word; narrow words make the victim scan faster.
pub trait Word: minimum::Word + std::fmt::Debug {
    /// Set in the word of an open block.
    const OPEN: Self;
    /// A bad block's word, below [`minimum::Word::MAX`], a free block's word.
    const BAD: Self;

    /// Without [`Self::OPEN`].
    fn count(self) -> u32;

    /// Whether [`Self::OPEN`] is set.
    fn is_open(self) -> bool;

    /// With [`Self::OPEN`] set or not.
    fn opened(self, open: bool) -> Self;

    /// The word with its count changed by `count`.
    fn plus(self, count: i32) -> Self;
}

macro_rules! word {
    ($type:ty) => {
        impl Word for $type {
            const OPEN: Self = 1 << (Self::BITS - 2);
            const BAD: Self = Self::MAX - 1;

            #[inline]
            fn count(self) -> u32 {
                (self & !Self::OPEN) as u32
            }

            #[inline]
            fn is_open(self) -> bool {
                self & Self::OPEN != 0
            }

            #[inline]
            fn opened(self, open: bool) -> Self {
                if open {
                    self | Self::OPEN
                } else {
                    self & !Self::OPEN
                }
            }

            #[inline]
            fn plus(self, count: i32) -> Self {
                self + count as Self
            }
        }
    };
}

word!(i16);
word!(i32);

/// A closed block's word is its number of valid units, so a victim scan only compares words. An open block's word also
/// has [`Word::OPEN`] set; free and bad blocks' words are larger still.
#[derive(Clone, Debug)]
pub(crate) struct ValidCounts<W = i32> {
    words: Vec<W>,
}

impl<W: Word> ValidCounts<W> {
    /// All blocks free.
    pub(crate) fn new(blocks: u32) -> Self {
        Self { words: vec![W::MAX; blocks as usize] }
    }

    /// The words of all blocks.
    #[inline]
    pub(crate) fn words(&self) -> &[W] {
        &self.words
    }

    /// The use of `block`.
    #[inline]
    pub(crate) fn usage(&self, block: BlockId) -> BlockUse {
        match self.words[block.index()] {
            word if word == W::MAX => BlockUse::Free,
            word if word == W::BAD => BlockUse::Bad,
            word if word.is_open() => BlockUse::Open,
            _ => BlockUse::Closed,
        }
    }

    /// Valid units in `block`.
    #[inline]
    pub(crate) fn valid(&self, block: BlockId) -> u32 {
        let word = self.words[block.index()];
        if word >= W::BAD {
            0
        } else {
            word.count()
        }
    }

    /// Adds `count` valid units to an open or closed block.
    #[inline]
    pub(crate) fn add(&mut self, block: BlockId, count: u32) {
        debug_assert!(!matches!(self.usage(block), BlockUse::Free | BlockUse::Bad), "block {block} holds nothing");
        let word = &mut self.words[block.index()];
        *word = word.plus(count as i32);
    }

    /// Removes `count` valid units from an open or closed block.
    #[inline]
    pub(crate) fn sub(&mut self, block: BlockId, count: u32) {
        debug_assert!(self.valid(block) >= count, "block {block}: {count} of {} are invalid", self.valid(block));
        let word = &mut self.words[block.index()];
        *word = word.plus(-(count as i32));
    }

    /// Sets an open or closed block's valid units to `count`.
    pub(crate) fn set(&mut self, block: BlockId, count: u32) {
        debug_assert!(!matches!(self.usage(block), BlockUse::Free | BlockUse::Bad), "block {block} holds nothing");
        let word = &mut self.words[block.index()];
        *word = word.plus(count as i32 - word.count() as i32);
    }

    /// Opens a free block, or one found in use at mount.
    pub(crate) fn open(&mut self, block: BlockId) {
        debug_assert_eq!(self.usage(block), BlockUse::Free, "block {block} is opened");
        self.words[block.index()] = W::OPEN;
    }

    /// Closes a filled block: from now on it may be a victim.
    pub(crate) fn close(&mut self, block: BlockId) {
        debug_assert_eq!(self.usage(block), BlockUse::Open, "block {block} is closed");
        let word = &mut self.words[block.index()];
        *word = word.opened(false);
    }

    /// Removes a closed block from the possible victims, to be emptied.
    pub(crate) fn reopen(&mut self, block: BlockId) {
        debug_assert_eq!(self.usage(block), BlockUse::Closed, "block {block} is emptied");
        let word = &mut self.words[block.index()];
        *word = word.opened(true);
    }

    /// Marks a block without valid units as free.
    pub(crate) fn set_free(&mut self, block: BlockId) {
        assert_eq!(self.valid(block), 0, "block {block} is freed and not empty");
        self.words[block.index()] = W::MAX;
    }

    /// Marks a block without valid units as bad.
    pub(crate) fn set_bad(&mut self, block: BlockId) {
        assert_eq!(self.valid(block), 0, "block {block} is retired and not empty");
        self.words[block.index()] = W::BAD;
    }

    /// The closed block in `blocks` with the fewest valid units, the lowest number among equals.
    #[inline]
    pub(crate) fn fewest_valid(&self, blocks: Range<u32>) -> Option<BlockId> {
        let words = &self.words[blocks.start as usize..blocks.end as usize];
        let at = first_minimum(words)?;
        (words[at] < W::OPEN).then_some(BlockId(blocks.start + at as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn victims_follow_counts() {
        let mut counts = ValidCounts::<i32>::new(5);
        assert_eq!(counts.fewest_valid(0..5), None, "no block is closed");
        for (block, valid) in [(0, 9), (1, 4), (2, 70_000), (3, 4)] {
            counts.open(BlockId(block));
            counts.add(BlockId(block), valid);
        }
        assert_eq!(counts.fewest_valid(0..5), None, "open blocks are no victims");
        (0..4).for_each(|block| counts.close(BlockId(block)));
        assert_eq!(counts.fewest_valid(0..5), Some(BlockId(1)), "the first of equals");
        assert_eq!(counts.fewest_valid(2..5), Some(BlockId(3)));
        counts.reopen(BlockId(1));
        counts.sub(BlockId(2), 69_999);
        assert_eq!((counts.fewest_valid(0..5), counts.valid(BlockId(1))), (Some(BlockId(2)), 4));
        counts.sub(BlockId(1), 4);
        counts.set_bad(BlockId(1));
        assert_eq!((counts.usage(BlockId(1)), counts.usage(BlockId(4))), (BlockUse::Bad, BlockUse::Free));
    }
}

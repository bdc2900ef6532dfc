//! Block states, and each block's used pages.

use nandlab_nand::{BlockId, Geometry, Ppa};

/// Block state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Holds no used page. If `erased` is false, it must be erased before its first page: the erase that
    /// emptied it may have been cut, or it holds void pages.
    Empty { erased: bool },
    /// The open block, which takes the next pages.
    Open,
    /// Has no room for more pages.
    Full,
    /// Being emptied by collection.
    Collecting,
    /// Holds a checkpoint.
    Checkpoint,
    /// Not used.
    Bad,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) state: State,
    /// Used pages, including deleted files' pages.
    pub(super) in_use: u32,
    /// Deleted files' used pages.
    pub(super) soft: u32,
    /// The block's sequence number in YAFFS2.
    pub(super) sequence: u32,
    /// True if a header written since the last erase shortened a file.
    pub(super) shrinks: bool,
    /// True after a failed program: the block is retired once it is empty.
    pub(super) failing: bool,
}

impl Block {
    pub(super) const EMPTY: Self =
        Self { state: State::Empty { erased: true }, in_use: 0, soft: 0, sequence: 0, shrinks: false, failing: false };

    /// Live pages, which collection would copy.
    pub(super) fn live(&self) -> u32 {
        self.in_use - self.soft
    }
}

/// A device's blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    table: Vec<Block>,
    bits: Vec<u64>,
    pages_per_block: u32,
    words: usize,
    empty: u32,
    in_use: u64,
    soft: u64,
    /// Blocks usable for files: not bad, not failing, not a checkpoint.
    usable: u32,
    /// The open block and its next page.
    pub(super) open: Option<(BlockId, u32)>,
    cursor: u32,
}

impl Blocks {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let (blocks, pages_per_block) = (geometry.blocks(), geometry.pages_per_block());
        let words = pages_per_block.div_ceil(64) as usize;
        Self {
            table: vec![Block::EMPTY; blocks as usize],
            bits: vec![0; blocks as usize * words],
            pages_per_block,
            words,
            empty: blocks,
            in_use: 0,
            soft: 0,
            usable: blocks,
            open: None,
            cursor: blocks - 1,
        }
    }

    pub(super) fn get(&self, block: BlockId) -> &Block {
        &self.table[block.index()]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        (0..).map(BlockId).zip(&self.table)
    }

    pub(super) fn len(&self) -> u32 {
        self.table.len() as u32
    }

    /// Empty block count.
    pub(super) fn empty(&self) -> u32 {
        self.empty
    }

    /// Blocks usable for files.
    pub(super) fn usable(&self) -> u32 {
        self.usable
    }

    /// Pages not used by any file, erased or not.
    pub(super) fn free_pages(&self) -> u64 {
        (u64::from(self.usable) * u64::from(self.pages_per_block) + self.soft).saturating_sub(self.in_use)
    }

    fn takes_files(block: &Block) -> bool {
        !block.failing && !matches!(block.state, State::Bad | State::Checkpoint)
    }

    /// Changes a block and updates the sums.
    pub(super) fn change(&mut self, block: BlockId, change: impl FnOnce(&mut Block)) {
        let entry = &mut self.table[block.index()];
        let before = *entry;
        change(entry);
        let is_empty = |block: &Block| u32::from(matches!(block.state, State::Empty { .. }));
        self.empty = self.empty + is_empty(entry) - is_empty(&before);
        self.usable = self.usable + u32::from(Self::takes_files(entry)) - u32::from(Self::takes_files(&before));
        self.in_use = self.in_use + u64::from(entry.in_use) - u64::from(before.in_use);
        self.soft = self.soft + u64::from(entry.soft) - u64::from(before.soft);
    }

    pub(super) fn set_state(&mut self, block: BlockId, state: State) {
        self.change(block, |entry| entry.state = state);
    }

    /// Whether a page is in use.
    pub(super) fn is_used(&self, at: Ppa) -> bool {
        let (word, bit) = self.bit(at);
        self.bits[word] >> bit & 1 == 1
    }

    fn bit(&self, at: Ppa) -> (usize, u32) {
        let (block, page) = (at.0 / self.pages_per_block, at.0 % self.pages_per_block);
        (block as usize * self.words + page as usize / 64, page % 64)
    }

    pub(super) fn take(&mut self, at: Ppa) {
        let (word, bit) = self.bit(at);
        assert!(self.bits[word] >> bit & 1 == 0, "page {at} is in use twice");
        self.bits[word] |= 1 << bit;
        self.change(BlockId(at.0 / self.pages_per_block), |block| block.in_use += 1);
    }

    /// Gives up a page; `soft` if it belongs to a deleted file.
    pub(super) fn release(&mut self, at: Ppa, soft: bool) {
        let (word, bit) = self.bit(at);
        assert!(self.bits[word] >> bit & 1 == 1, "page {at} is given up twice");
        self.bits[word] &= !(1 << bit);
        self.change(BlockId(at.0 / self.pages_per_block), |block| {
            block.in_use -= 1;
            block.soft -= u32::from(soft);
        });
    }

    /// The next empty block, searching cyclically.
    pub(super) fn next_empty(&mut self) -> Option<BlockId> {
        let blocks = self.len();
        for step in 1..=blocks {
            let block = (self.cursor + step) % blocks;
            if matches!(self.table[block as usize].state, State::Empty { .. }) {
                self.cursor = block;
                return Some(BlockId(block));
            }
        }
        None
    }

    /// Continues the search for an empty block after `block`.
    pub(super) fn resume_after(&mut self, block: BlockId) {
        self.cursor = block.0;
    }

    /// Lowest sequence number among full blocks with void pages. Newer blocks must not be collected first:
    /// pages cut by a newer header could come back.
    pub(super) fn oldest_dirty(&self) -> u32 {
        let dirty = |block: &&Block| block.state == State::Full && block.live() < self.pages_per_block;
        self.table.iter().filter(dirty).map(|block| block.sequence).min().unwrap_or(u32::MAX)
    }
}

//! Garbage collection since 2010: a few pages at each write.
//!
//! ## Idea
//! Collection waits until three quarters of the free pages are void pages in used blocks. Then each call moves a few live
//! pages out of one block, so no single write pays for a whole one. Only if a block is needed soon, a call empties the
//! rest of the block at once (*aggressive*).
//!
//! ## Choice
//! A passive call looks at a few blocks and remembers the one with the fewest live pages for later calls. It takes that
//! block if it has few enough. After twenty calls without a choice it takes the oldest block with void pages: such a block
//! also keeps blocks with newer headers from being erased. Every so many blocks, the first one included, it takes the oldest
//! block of all, to renew its charge.
//!
//! ## Differences
//! YAFFS drops pages of a removed `yaffs1` file one by one; here they stay until the block is erased, so that a power cut
//! finds them with their header. Without deletion marks (`mark_copied = false`) a block is emptied at once: the serial
//! number of two bits could not tell an old copy from a newer page for long.
//!
//! ## References
//! yaffs2 of 2010 and later: `yaffs_check_gc`, `yaffs_find_gc_block`, `yaffs_gc_block`, `yaffs2_find_refresh_block`. Read at
//! commit 474b3ac.

use super::blocks::{Block, State};
use super::Yaffs;
use crate::parts::collector::{Collect, Config};
use crate::parts::driver::Driver;
use crate::FsError;
use nandlab_nand::{BlockId, Cause, Nand, Ppa};

/// Most live pages moved in a passive call.
const PAGES_PER_CALL: u32 = 5;
/// A search ends at a block with no more live pages than this.
const GOOD_ENOUGH: u32 = 2;
/// Calls without a choice before the oldest block with void pages is taken.
const PATIENCE: u32 = 20;
/// Collection is passive while erased pages are at most one in this many free pages.
const FREE_PER_ERASED: u64 = 4;
/// Blocks collected between two blocks that are collected for their age.
const REFRESH_PERIOD: u32 = 500;

/// Where the search and the collection stand. Nothing of it survives a mount.
#[derive(Debug)]
pub(super) struct Gradual {
    /// The block that was looked at last.
    cursor: u32,
    /// The best block of the searches so far, and its live pages when it was found.
    best: Option<(BlockId, u32)>,
    /// The block being emptied, and the page to go on with.
    current: Option<(BlockId, u32)>,
    /// Calls since the last choice.
    misses: u32,
    /// Choices until the oldest block is taken.
    until_refresh: u32,
}

impl Gradual {
    pub(super) fn new(blocks: u32) -> Self {
        Self { cursor: blocks - 1, best: None, current: None, misses: 0, until_refresh: 0 }
    }

    /// Whether the block is being emptied.
    pub(super) fn is_emptying(&self, block: BlockId) -> bool {
        self.current.is_some_and(|(current, _)| current == block)
    }

    /// Forgets a block that is erased or retired.
    pub(super) fn forget(&mut self, block: BlockId) {
        self.current = self.current.filter(|&(current, _)| current != block);
        self.best = self.best.filter(|&(best, _)| best != block);
    }
}

impl<N: Nand> Yaffs<N> {
    /// Moves a few pages, or empties a block if one is needed soon.
    pub(super) fn collect_gradually(&mut self) -> Result<(), FsError> {
        while let Some(block) = self.urgent() {
            self.empty_block(block)?;
        }
        let config = self.config.gc.of(self.config.code);
        let (erased, reserve) = (self.blocks.empty(), config.reserved_blocks.saturating_add(self.checkpoint_reserve()));
        let is_aggressive = erased < reserve.saturating_add(config.aggressive_margin);
        let erased_pages = u64::from(erased) * u64::from(self.geometry.pages_per_block());
        if !is_aggressive && erased_pages > self.blocks.free_pages() / FREE_PER_ERASED {
            return Ok(());
        }
        if self.gradual.current.is_none() {
            self.gradual.current = self.choose(&config, is_aggressive)?.map(|block| (block, 0));
        }
        let Some((block, page)) = self.gradual.current else { return Ok(()) };
        if self.blocks.get(block).in_use == 0 && !self.may_erase() {
            self.gradual.forget(block);
            return Ok(());
        }
        self.empty_further(block, page, is_aggressive)
    }

    /// The next block to empty, if one is worth it.
    fn choose(&mut self, config: &Config, is_aggressive: bool) -> Result<Option<BlockId>, FsError> {
        if !is_aggressive && self.is_refresh_due() {
            self.gradual.until_refresh = self.config.gc.refresh_period.unwrap_or(REFRESH_PERIOD);
            if let Some(block) = self.oldest(|_| true) {
                return Ok(Some(block));
            }
        }
        self.search_further(config, is_aggressive)?;
        let most = if is_aggressive { u32::MAX } else { config.passive_limit };
        let mut chosen = self.gradual.best.filter(|&(_, live)| live <= most).map(|(block, _)| block);
        if chosen.is_none() && !self.small && self.gradual.misses >= PATIENCE {
            let pages = self.geometry.pages_per_block();
            chosen = self.oldest(|block| block.live() < pages);
            self.gradual.misses = 0;
        }
        if chosen.is_some() {
            self.gradual.best = None;
            self.gradual.misses = 0;
            self.gradual.until_refresh = self.gradual.until_refresh.saturating_sub(1);
        } else {
            self.gradual.misses += 1;
        }
        Ok(chosen)
    }

    fn is_refresh_due(&self) -> bool {
        !self.small && self.config.gc.refresh_period != Some(0) && self.gradual.until_refresh == 0
    }

    /// Looks at more blocks for one with fewer live pages than the best so far.
    fn search_further(&mut self, config: &Config, is_aggressive: bool) -> Result<(), FsError> {
        let (blocks, pages) = (self.blocks.len(), self.geometry.pages_per_block());
        let width = if is_aggressive {
            blocks
        } else {
            (blocks / config.passive_share).min(config.passive_most).saturating_add(1)
        };
        self.oldest_dirty = None;
        for _ in 0..width {
            let fewest = self.gradual.best.map_or(pages, |(_, live)| live);
            if self.gradual.best.is_some() && fewest <= GOOD_ENOUGH {
                break;
            }
            self.gradual.cursor = (self.gradual.cursor + 1) % blocks;
            let block = BlockId(self.gradual.cursor);
            match self.live_pages(block)? {
                Some(live) if live < fewest => self.gradual.best = Some((block, live)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The oldest full block of that kind. No older block has void pages, so none of its headers that shorten a file is still needed.
    fn oldest(&self, is_kind: impl Fn(&Block) -> bool) -> Option<BlockId> {
        let may = |block: &Block| block.state == State::Full && (block.in_use > 0 || self.may_erase());
        let all = self.blocks.iter().filter(|(_, block)| may(block) && is_kind(block));
        all.min_by_key(|(_, block)| block.sequence).map(|(block, _)| block)
    }

    /// Moves live pages out of the block, from a page on, and erases it once none is left.
    fn empty_further(&mut self, block: BlockId, page: u32, is_aggressive: bool) -> Result<(), FsError> {
        self.void_checkpoint()?;
        let had_none = page == 0 && self.blocks.get(block).live() == 0;
        let is_marked = !self.small || self.config.mark_copied;
        let most = if is_aggressive || !is_marked { u32::MAX } else { PAGES_PER_CALL };
        let origin = self.nand.ctx().origin();
        let done = self.within(Cause::Gc, |fs| fs.move_live(block, page, most));
        self.nand.ctx().set_origin(origin);
        if done? {
            let counts = &mut self.collector.counts;
            counts.runs += 1;
            counts.passive += u64::from(!is_aggressive);
            counts.aggressive += u64::from(is_aggressive);
            counts.empty += u64::from(had_none);
        }
        Ok(())
    }

    /// Moves up to `most` live pages; whether the block was erased.
    fn move_live(&mut self, block: BlockId, mut page: u32, mut most: u32) -> Result<bool, FsError> {
        while self.blocks.get(block).live() > 0 && most > 0 {
            let at = self.geometry.page(block, page);
            page += 1;
            if self.blocks.is_used(at) && !self.is_of_removed(at) {
                self.move_page(at)?;
                most -= 1;
            }
            self.gradual.current = Some((block, page));
        }
        if self.blocks.get(block).live() > 0 {
            return Ok(false);
        }
        let mut done = Vec::new();
        for at in self.pages_of(block).collect::<Vec<Ppa>>() {
            if self.blocks.is_used(at) {
                self.drop_removed(at, &mut done)?;
            }
        }
        self.erase(block)?;
        done.into_iter().try_for_each(|number| self.forget(number))?;
        Ok(true)
    }

    /// Whether the page holds data of a removed file.
    fn is_of_removed(&self, at: Ppa) -> bool {
        let owner = self.owners[at.index()];
        owner.chunk > 0 && self.objects.get(owner.object).deleted
    }
}

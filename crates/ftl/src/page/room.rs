//! How much room the dies have, and which one takes the next page.
//!
//! A weak die has so few good blocks that none is left for valid pages beside those that are kept free, are being filled, or
//! even out how the dies fill. It takes no pages any more, of the host or moved, and collects nothing: what it holds is
//! read where it lies, and leaves it as the host writes it anew. A block that failed, or whose bit errors grow, is emptied to
//! other dies. The others share what is exported, and the device ends when they cannot hold it. A die that is not weak
//! and whose erases fail, one after the other, loses a block for each that it empties, and what it has no room for goes to the
//! others, which make room for that as for pages of the host.

use super::relocation::Relocation;
use super::{slc, PageMap};
use crate::parts::blocks::frontier::Frontier;
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry};
use std::cmp::Reverse;

impl PageMap {
    /// The die that takes the next host page: in turn, but for dies that hold more than their share.
    #[inline(always)]
    pub(super) fn next_die(&mut self, frontier: usize) -> usize {
        if self.dies.len() == 1 {
            return 0;
        }
        if let Some(die) = self.dies.same_turn() {
            if self.takes(die, frontier) {
                return die;
            }
        }
        self.dies.begin_turn();
        for _ in 0..self.dies.len() {
            let die = self.dies.next_turn();
            if self.takes(die, frontier) {
                return die;
            }
        }
        self.roomiest_die()
    }

    /// Whether a frontier of a die takes a host page: it has room, or the die holds no more than its share.
    #[inline(always)]
    pub(super) fn takes(&mut self, die: usize, frontier: usize) -> bool {
        let state = &self.dies[die];
        (!state.is_over && !state.frontiers[frontier].is_full()) || self.is_below_share(die)
    }

    /// Whether a die holds no more than its share.
    pub(super) fn is_below_share(&mut self, die: usize) -> bool {
        let is_within = self.dies.len() == 1 || !self.dies[die].is_weak && self.valid_in(die) <= self.share(die);
        self.dies[die].is_over &= !is_within;
        is_within
    }

    /// A block was opened for moved pages. Where the host fills such blocks as well, its frontier never gets full, and a die
    /// beyond its share would go on taking pages until there is nothing to gain in it.
    pub(super) fn note_share(&mut self, die: usize) {
        if self.dies.len() > 1 && self.placing.shares() {
            self.dies[die].is_over = self.valid_in(die) > self.share(die);
        }
    }

    /// Pages that a die can take before it needs another block: what its frontiers have left, and its free blocks.
    pub(super) fn room_in(&self, die: usize) -> u32 {
        let left: u32 = self.dies[die].frontiers.all().iter().map(Frontier::left).sum();
        left + self.free_in(die) * self.geometry.pages_per_block()
    }

    /// Free blocks of a die, those of a fixed cache apart.
    #[inline]
    pub(super) fn free_in(&self, die: usize) -> u32 {
        self.keeper.count_in(die as u32)
    }

    /// Whether a die has room for the rest of the block that it empties and the notes of trims with it, also after one more
    /// page of the host, and the reserve is whole once that block is erased.
    #[inline]
    pub(super) fn has_reserve(&self, die: usize) -> bool {
        self.free_in(die) >= self.config.reserve_blocks && self.holds_victim(die) || self.has_reserve_afterwards(die)
    }

    /// Whether the free blocks of the reserve alone have room for the rest of the block that is being emptied, if one is. A
    /// second one is room enough for any block and its notes.
    #[inline]
    fn holds_victim(&self, die: usize) -> bool {
        let state = &self.dies[die];
        let rest = |relocation: &Relocation| self.table.valid_pages(relocation.block) + self.most_notes();
        let room = || self.free_in(die) * self.geometry.pages_per_block();
        self.config.reserve_blocks > 1 || state.relocation.as_ref().is_none_or(|relocation| room() > rest(relocation))
    }

    fn has_reserve_afterwards(&self, die: usize) -> bool {
        let (room, pages) = (self.room_in(die), self.geometry.pages_per_block());
        let whole = self.config.reserve_blocks * pages;
        // The room of two blocks is enough for any block and its notes.
        if self.config.reserve_blocks > 1 && room >= whole {
            return true;
        }
        let Some(relocation) = &self.dies[die].relocation else { return room >= whole };
        // Copies that are not mapped yet have taken their room.
        let waiting = relocation.unmapped().filter(|&(from, _)| self.table.is_valid(from)).count() as u32;
        let left = self.table.valid_pages(relocation.block) - waiting;
        room > left + self.most_notes() && (!relocation.frees_block() || room + pages >= left + whole)
    }

    /// Whether what is valid in `block` and the notes that come with it find room.
    pub(super) fn fits(&self, die: usize, block: BlockId) -> bool {
        self.table.valid_pages(block) + self.most_notes() <= self.room_in(die)
    }

    /// Whether any block and the notes that come with it find room.
    pub(super) fn fits_any(&self, die: usize) -> bool {
        self.geometry.pages_per_block() + self.most_notes() <= self.room_in(die)
    }

    /// Notes of trims that an erase may have to wait for.
    fn most_notes(&self) -> u32 {
        self.map.most_pending(self.config.reserve_blocks, self.geometry.pages_per_block())
    }

    /// The die that can take most before garbage collection finds nothing to gain.
    #[cold]
    pub(super) fn roomiest_die(&self) -> usize {
        let room = |die: usize| i64::from(self.most_valid(die)) - i64::from(self.valid_in(die));
        self.dies.all_working().max_by_key(|&die| room(die)).expect("a device has a die")
    }

    /// Valid pages of a die with which it can still take a host block.
    pub(super) fn most_valid(&self, die: usize) -> u32 {
        let kept = self.config.reserve_blocks + self.filled_blocks();
        let usable = usable_pages(&self.geometry, self.keeper.good_in(die as u32), kept);
        usable.saturating_sub(balance_pages(&self.geometry))
    }

    pub(super) fn valid_in(&self, die: usize) -> u32 {
        self.table.valid_pages_in(self.dies[die].blocks.clone())
    }

    /// Valid pages above which a die takes no new host block: its part of the logical pages and half of its spare ones.
    pub(super) fn share(&self, die: usize) -> u32 {
        let part = self.map.len() as u32 / self.dies.working();
        let most = self.most_valid(die);
        part.max(part / 2 + most / 2).min(most)
    }

    /// Blocks of a die that are being filled at the same time, those apart that are always of one bit a cell.
    pub(super) fn filled_blocks(&self) -> u32 {
        let cached = self.cache.as_ref().is_some_and(slc::Cache::is_dynamic);
        self.dies[0].frontiers.all().len() as u32 + u32::from(cached)
    }

    pub(super) fn good_blocks(&self, die: usize) -> u32 {
        self.keeper.good_in(die as u32) + self.keeper.good_apart(die as u32)
    }

    /// Blocks of `die` have gone bad. Where too few are left, no page goes to it from now on, as long as another die takes
    /// some.
    pub(super) fn pass_over_weak(&mut self, die: usize) {
        if self.dies.working() == 1 || self.dies[die].is_weak || self.most_valid(die) > 0 {
            return;
        }
        (0..self.dies[die].frontiers.all().len()).for_each(|frontier| self.close_frontier(die, frontier));
        self.dies.weaken(die);
    }

    /// The other dies that take pages, those first that can give most to `die`.
    pub(super) fn lenders_for(&self, die: usize) -> std::vec::IntoIter<usize> {
        let room = |&at: &usize| {
            let left = self.dies[at].relocation.as_ref().map_or(0, |own| self.table.valid_pages(own.block));
            (Reverse(i64::from(self.room_in(at)) - i64::from(left)), at)
        };
        let mut lenders: Vec<usize> = self.dies.all_working().filter(|&at| at != die).collect();
        lenders.sort_by_key(room);
        lenders.into_iter()
    }

    /// Fails where the dies that take pages have too few good blocks for what is exported.
    pub(super) fn refuse_worn_out(&self) -> Result<(), FtlError> {
        let room: u64 = self.dies.all_working().map(|die| u64::from(self.most_valid(die))).sum();
        let pages = self.map.len() as u64 + u64::from(self.map.most_notes());
        if room < pages {
            let missing = (pages - room).div_ceil(self.geometry.pages_per_block().into()) as u32;
            return Err(self.worn_out(missing));
        }
        Ok(())
    }

    /// The dies that take pages need at least `missing` good blocks more.
    pub(super) fn worn_out(&self, missing: u32) -> FtlError {
        let good = self.dies.all_working().map(|die| self.good_blocks(die)).sum();
        FtlError::WornOut { good, needed: good + missing, weak_dies: self.dies.weak() }
    }
}

/// Pages of a die that may be valid while garbage collection still finds one that is not; `kept` blocks are free or
/// being filled.
pub(super) fn usable_pages(geometry: &Geometry, good_blocks: u32, kept: u32) -> u32 {
    (good_blocks.saturating_sub(kept) * geometry.pages_per_block()).saturating_sub(1)
}

/// Pages that a die of several keeps free of valid ones, so that the dies can fill unevenly by a block.
pub(super) fn balance_pages(geometry: &Geometry) -> u32 {
    if geometry.dies() > 1 {
        geometry.pages_per_block()
    } else {
        0
    }
}

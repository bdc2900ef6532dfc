//! How much room the dies have, and which one takes the next page.

use super::{slc, PageMap};
use crate::parts::frontier::Frontier;
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry};

impl PageMap {
    /// The die that takes the next host page: in turn, but for dies that hold more than their share.
    #[inline(always)]
    pub(super) fn next_die(&mut self, frontier: usize) -> usize {
        if self.dies.len() == 1 {
            return 0;
        }
        for _ in 0..self.dies.len() {
            self.turn = if self.turn + 1 == self.dies.len() { 0 } else { self.turn + 1 };
            if self.takes(self.turn, frontier) {
                return self.turn;
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
        let is_within = self.dies.len() == 1 || self.valid_in(die) <= self.share(die);
        self.dies[die].is_over &= !is_within;
        is_within
    }

    /// A block was opened for moved pages. Where the host fills such blocks as well, its frontier never gets full, and a die
    /// beyond its share would go on taking pages until there is nothing to gain in it.
    pub(super) fn note_share(&mut self, die: usize) {
        if self.dies.len() > 1 && self.placer.shares() {
            self.dies[die].is_over = self.valid_in(die) > self.share(die);
        }
    }

    /// Pages that a die can take before it needs another block: what its frontiers have left, and its free blocks.
    pub(super) fn room_in(&self, die: usize) -> u32 {
        let die = &self.dies[die];
        let left: u32 = die.frontiers.all().iter().map(Frontier::left).sum();
        left + die.free.len() as u32 * self.geometry.pages_per_block()
    }

    /// Whether a die has room for the rest of the block that it empties and the notes of trims with it, and the reserve is
    /// whole once that block is erased.
    #[inline]
    pub(super) fn has_reserve(&self, die: usize) -> bool {
        (self.reserve > 1 && self.dies[die].free.len() >= self.reserve) || self.has_reserve_afterwards(die)
    }

    fn has_reserve_afterwards(&self, die: usize) -> bool {
        let (room, pages) = (self.room_in(die), self.geometry.pages_per_block());
        let whole = self.reserve as u32 * pages;
        // The room of two blocks is enough for any block and its notes.
        if self.reserve > 1 && room >= whole {
            return true;
        }
        let Some(relocation) = &self.dies[die].relocation else { return room >= whole };
        // Copies that are not mapped yet have taken their room.
        let waiting = relocation.unmapped().filter(|copy| self.table.is_valid(copy.from)).count() as u32;
        let left = self.table.valid_pages(relocation.block) - waiting;
        room >= left + self.most_notes() && (!relocation.frees_block() || room + pages >= left + whole)
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
        self.notes.most_pending(self.reserve, self.geometry.pages_per_block())
    }

    /// The die that can take most before garbage collection finds nothing to gain.
    #[cold]
    pub(super) fn roomiest_die(&self) -> usize {
        let room = |die: usize| i64::from(self.most_valid(die)) - i64::from(self.valid_in(die));
        (0..self.dies.len()).max_by_key(|&die| room(die)).expect("a device has a die")
    }

    /// Valid pages of a die with which it can still take a host block.
    pub(super) fn most_valid(&self, die: usize) -> u32 {
        let kept = self.reserve as u32 + self.filled_blocks();
        let usable = usable_pages(&self.geometry, self.good_blocks(die) - self.dies[die].slc.good, kept);
        usable.saturating_sub(balance_pages(&self.geometry))
    }

    pub(super) fn valid_in(&self, die: usize) -> u32 {
        self.table.valid_pages_in(self.dies[die].blocks.clone())
    }

    /// Valid pages above which a die takes no new host block: its part of the logical pages and half of its spare ones.
    pub(super) fn share(&self, die: usize) -> u32 {
        let part = self.map.len() as u32 / self.dies.len() as u32;
        let most = self.most_valid(die);
        part.max(part / 2 + most / 2).min(most)
    }

    /// Blocks of a die that are being filled at the same time, those apart that are always of one bit a cell.
    pub(super) fn filled_blocks(&self) -> u32 {
        let cached = self.cache.as_ref().is_some_and(slc::Cache::is_dynamic);
        self.dies[0].frontiers.all().len() as u32 + u32::from(cached)
    }

    pub(super) fn good_blocks(&self, die: usize) -> u32 {
        self.dies[die].blocks.len() as u32 - self.dies[die].bad
    }

    /// Fails where bad blocks leave too little for what is exported, on all dies together or on one.
    pub(super) fn refuse_worn_out(&self) -> Result<(), FtlError> {
        let dies = 0..self.dies.len();
        let room: u64 = dies.clone().map(|die| u64::from(self.most_valid(die))).sum();
        let pages = self.map.len() as u64 + u64::from(self.notes.most_pages());
        if room < pages {
            let missing = (pages - room).div_ceil(self.geometry.pages_per_block().into()) as u32;
            return Err(self.worn_out(missing));
        }
        let needed = self.reserve as u32 + self.filled_blocks() + 1;
        match dies.map(|die| self.good_blocks(die) - self.dies[die].slc.good).find(|&good| good < needed) {
            Some(good) => Err(self.worn_out(needed - good)),
            None => Ok(()),
        }
    }

    /// The device needs at least `missing` good blocks more.
    pub(super) fn worn_out(&self, missing: u32) -> FtlError {
        let good = (0..self.dies.len()).map(|die| self.good_blocks(die)).sum();
        FtlError::WornOut { good, needed: good + missing, weak_dies: 0 }
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

//! How much room the dies have, and which one takes the next page.

use super::{slc, PageMap};
use crate::FtlError;
use nandlab_nand::Geometry;

impl PageMap {
    /// The die that takes the next host page: in turn, but for dies that hold more than their share.
    #[inline(always)]
    pub(super) fn next_die(&mut self, frontier: usize) -> usize {
        if self.dies.len() == 1 {
            return 0;
        }
        for _ in 0..self.dies.len() {
            self.turn = if self.turn + 1 == self.dies.len() { 0 } else { self.turn + 1 };
            let room = !self.dies[self.turn].frontiers[frontier].is_full();
            if room || self.valid_in(self.turn) <= self.share(self.turn) {
                return self.turn;
            }
        }
        self.roomiest_die()
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

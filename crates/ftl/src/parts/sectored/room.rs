//! Which dies take pages, and whether these have room for what is exported.
//!
//! A weak die has too few good blocks for its reserve, its share of the map and the block that is being filled. It takes
//! no pages any more and collects nothing; what it holds can be read, and its free blocks are the last resort. The others
//! share what is exported, and the map. Room for its part of the map they make with their reserves; one die that is left
//! alone with little to spare may have no reserve left for that, and the device ends before its blocks are too few. A die
//! that is just not weak takes pages in turn as the others do, and collects blocks that are nearly all valid: with half of
//! its blocks bad the device writes more than with all of them.

use super::{Options, Scheme, SectorMapped};
use crate::parts::blocks::frontier::Frontier;
use crate::parts::flash_map::Shape;
use crate::FtlError;
use nandlab_nand::Geometry;
use std::cmp::Reverse;

impl Options {
    /// Blocks of a die that hold no sector for good: the share of the map, the reserve, and the one that is being filled.
    pub(super) fn kept(&self, share: u32) -> u32 {
        share.saturating_add(self.reserve_blocks).saturating_add(1)
    }

    /// Most valid sectors of a block that is emptied with a gain: gathered anew they leave a page.
    pub(super) fn most_gained(&self, geometry: &Geometry) -> u32 {
        (geometry.pages_per_block() - 1) * self.gathered(geometry)
    }

    /// Sectors that may be valid while a block can still be gained on some die, with a map of that shape, where every die
    /// has so many good blocks; `None` where that is too few.
    pub(super) fn usable_sectors(&self, geometry: &Geometry, good: u32, shape: Shape) -> Option<u32> {
        let shares = shape.shares(geometry, &vec![true; geometry.dies() as usize]);
        let left = shares.iter().map(|&share| good.checked_sub(self.kept(share))).sum::<Option<u32>>()?;
        Some(left * self.most_gained(geometry))
    }
}

/// What was found when the good blocks were counted last.
#[derive(Debug)]
pub(super) struct Stock {
    /// Good blocks of the device then; none yet at first.
    good: Option<u32>,
    /// By die: whether it takes pages.
    works: Vec<bool>,
}

impl Stock {
    pub(super) fn none(geometry: &Geometry) -> Self {
        Self { good: None, works: vec![true; geometry.dies() as usize] }
    }

    /// Whether some die takes none.
    pub(super) fn has_weak(&self) -> bool {
        self.works.contains(&false)
    }

    /// Whether a die takes pages.
    #[inline]
    pub(super) fn works(&self, die: usize) -> bool {
        self.works[die]
    }
}

impl<S: Scheme> SectorMapped<S> {
    /// Finds the dies that take pages, where blocks have gone bad since that was done last.
    ///
    /// # Errors
    /// [`FtlError::WornOut`] where these leave too little for what is exported; nothing has changed then.
    pub(super) fn take_stock(&mut self) -> Result<(), FtlError> {
        if self.stock.good == Some(self.keeper.good()) {
            return Ok(());
        }
        let good: Vec<u32> = (0..self.geometry.dies()).map(|die| self.keeper.good_in(die)).collect();
        let works = self.find_working(&good);
        self.refuse_worn_out(&good, &works)?;
        self.map.share_dies(&self.geometry, &works);
        for die in (0..works.len()).filter(|&die| !works[die]) {
            // Nothing more is written to what it fills; on another die that is a victim.
            let left = std::mem::replace(&mut self.active[die], Frontier::none());
            if left.block.is_some() {
                self.counts.close(left.block);
            }
        }
        self.stock = Stock { good: Some(self.keeper.good()), works };
        Ok(())
    }

    /// The most dies that can take pages together: where one does not, the map takes more of the others. Where none is
    /// left in the end, the last ones, each of which has too few blocks.
    fn find_working(&self, good: &[u32]) -> Vec<bool> {
        let shape = self.options.shape(&self.geometry, self.logical_pages);
        let mut works = vec![true; good.len()];
        loop {
            let shares = shape.shares(&self.geometry, &works);
            let is_weak = |die: &usize| works[*die] && good[*die] < self.options.kept(shares[*die]);
            let weak: Vec<usize> = (0..good.len()).filter(is_weak).collect();
            if weak.is_empty() || weak.len() == works.iter().filter(|&&works| works).count() {
                return works;
            }
            weak.into_iter().for_each(|die| works[die] = false);
        }
    }

    /// Fails where the dies that work have too few good blocks for what is exported.
    fn refuse_worn_out(&self, good: &[u32], works: &[bool]) -> Result<(), FtlError> {
        let shape = self.options.shape(&self.geometry, self.logical_pages);
        let shares = shape.shares(&self.geometry, works);
        let blocks_for_data = (self.logical_pages * self.per_page).div_ceil(self.options.most_gained(&self.geometry));
        let (mut left, mut needed) = (0, blocks_for_data);
        for die in (0..works.len()).filter(|&die| works[die]) {
            left += good[die];
            needed += self.options.kept(shares[die]);
        }
        if left < needed {
            let weak_dies = works.iter().filter(|&&works| !works).count() as u32;
            return Err(FtlError::WornOut { good: left, needed, weak_dies });
        }
        Ok(())
    }

    /// A die that works, for what is moved from `die`: the same, or the one with the most room.
    pub(super) fn working_die(&self, die: usize) -> usize {
        if self.stock.works(die) {
            return die;
        }
        let room = |at: &usize| {
            let free = self.keeper.count_in(*at as u32).saturating_sub(self.map.claim_in(*at as u32));
            (free, self.active[*at].left(), Reverse(*at))
        };
        (0..self.active.len()).filter(|&at| self.stock.works(at)).max_by_key(room).unwrap_or(die)
    }
}

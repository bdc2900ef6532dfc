//! The dies that take pages, and whether they have room for the exported pages.
//!
//! A weak die has too few good blocks for its reserve, its share of the map and the open blocks, one for each handle. It
//! takes no more pages and collects nothing. Its data stays readable; its free blocks are the last resort. The other dies
//! share the exported pages and the map. They make room for its part of the map from their reserves. If a single die with
//! little to spare remains, it may have no reserve left for that; then the device ends before its blocks are too few.
//!
//! A die just above that limit takes pages in turn like the others, and collects nearly full blocks: with half its
//! blocks bad, the device writes more than with all of them bad.

use super::{Options, Place, Scheme, SectorMapped};
use crate::parts::flash_map::Shape;
use crate::FtlError;
use nandlab_nand::Geometry;
use std::cmp::Reverse;

impl Options {
    /// Blocks per die that hold no sector for good: the map's share, the reserve and the open blocks.
    pub(super) fn kept(&self, share: u32) -> u32 {
        share.saturating_add(self.reserve_blocks).saturating_add(self.handles())
    }

    /// Most valid sectors in a block worth emptying: gathered again, they leave a page.
    pub(super) fn most_gained(&self, geometry: &Geometry) -> u32 {
        (geometry.pages_per_block() - 1) * self.gathered(geometry)
    }

    /// Most valid sectors with which some die can still gain a block, for a map with this shape and `good` good blocks
    /// on each die; `None` if there are too few blocks.
    pub(super) fn usable_sectors(&self, geometry: &Geometry, good: u32, shape: Shape) -> Option<u32> {
        let shares = shape.shares(geometry, &vec![true; geometry.dies() as usize]);
        let left = shares.iter().map(|&share| good.checked_sub(self.kept(share))).sum::<Option<u32>>()?;
        Some(left * self.most_gained(geometry))
    }
}

/// The result of the last count of good blocks.
#[derive(Debug)]
pub(super) struct Stock {
    /// Good blocks on the device then; `None` before the first count.
    good: Option<u32>,
    /// By die: whether it takes pages.
    works: Vec<bool>,
}

impl Stock {
    pub(super) fn none(geometry: &Geometry) -> Self {
        Self { good: None, works: vec![true; geometry.dies() as usize] }
    }

    /// Whether some die is weak.
    pub(super) fn has_weak(&self) -> bool {
        self.works.contains(&false)
    }

    /// Whether it was found with so many good blocks on the device.
    #[inline]
    pub(super) fn is_of(&self, good: u32) -> bool {
        self.good == Some(good)
    }

    /// Whether a die takes pages.
    #[inline]
    pub(super) fn works(&self, die: usize) -> bool {
        self.works[die]
    }
}

impl<S: Scheme> SectorMapped<S> {
    /// Finds the dies that take pages, if blocks have gone bad since the last call.
    ///
    /// # Errors
    /// [`FtlError::WornOut`] if these dies have too little room for the exported pages; nothing has changed then.
    pub(super) fn take_stock(&mut self) -> Result<(), FtlError> {
        if self.stock.good == Some(self.keeper.good()) {
            return Ok(());
        }
        let good: Vec<u32> = (0..self.geometry.dies()).map(|die| self.keeper.good_in(die)).collect();
        let works = self.find_working(&good);
        self.refuse_worn_out(&good, &works)?;
        self.map.share_dies(&self.geometry, &works);
        for die in (0..works.len()).filter(|&die| !works[die]) {
            if let Some(emptying) = self.emptying[die].take() {
                self.counts.close(emptying.block());
            }
            // The die writes nothing more to its open blocks; other dies may take them as victims.
            (0..self.placing.count()).for_each(|handle| self.close_open(Place { die, handle }));
        }
        self.stock = Stock { good: Some(self.keeper.good()), works };
        Ok(())
    }

    /// The largest set of dies that can take pages together: each weak die leaves its part of the map to the others. If
    /// all would be weak, the last ones to become so, each with too few blocks.
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

    /// Fails if the working dies have too few good blocks for the exported pages.
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

    /// A working die for pages of a handle moved from a die: itself, or the one with the most room.
    pub(super) fn working_die(&self, Place { die, handle }: Place) -> usize {
        if self.stock.works(die) {
            return die;
        }
        let room = |at: &usize| {
            let free = self.keeper.count_in(*at as u32).saturating_sub(self.map.claim_in(*at as u32));
            (free, self.frontier(Place { die: *at, handle }).left(), Reverse(*at))
        };
        (0..self.dies()).filter(|&at| self.stock.works(at)).max_by_key(room).unwrap_or(die)
    }
}

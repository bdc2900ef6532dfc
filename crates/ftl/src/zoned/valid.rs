//! Which pages of a zoned device count.

use crate::zones::Zones;
use nandlab_nand::{BlockId, Geometry, Ppa};

/// One bit a page, and the valid pages of each block and zone.
#[derive(Debug)]
pub(super) struct Valid {
    geometry: Geometry,
    words: Vec<u64>,
    of_block: Vec<u32>,
    of_zone: Vec<u32>,
}

impl Valid {
    /// No valid page.
    pub(super) fn none(geometry: &Geometry, zones: u32) -> Self {
        Self {
            words: vec![0; geometry.pages().div_ceil(64) as usize],
            of_block: vec![0; geometry.blocks() as usize],
            of_zone: vec![0; zones as usize],
            geometry: *geometry,
        }
    }

    #[inline]
    pub(super) fn has(&self, page: Ppa) -> bool {
        self.words[page.index() / 64] >> (page.0 % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn add(&mut self, page: Ppa, zones: &Zones) {
        self.flip(page);
        self.of_block[self.geometry.block_of(page).index()] += 1;
        self.of_zone[zones.zone_of(page) as usize] += 1;
    }

    #[inline]
    pub(super) fn remove(&mut self, page: Ppa, zones: &Zones) {
        self.flip(page);
        self.of_block[self.geometry.block_of(page).index()] -= 1;
        self.of_zone[zones.zone_of(page) as usize] -= 1;
    }

    /// The same page in another block of its zone.
    pub(super) fn move_to(&mut self, from: Ppa, to: Ppa) {
        self.flip(from);
        self.flip(to);
        self.of_block[self.geometry.block_of(from).index()] -= 1;
        self.of_block[self.geometry.block_of(to).index()] += 1;
    }

    #[inline]
    fn flip(&mut self, page: Ppa) {
        self.words[page.index() / 64] ^= 1 << (page.0 % 64);
    }

    pub(super) fn in_block(&self, block: BlockId) -> u32 {
        self.of_block[block.index()]
    }

    #[inline]
    pub(super) fn in_zone(&self, zone: u32) -> u32 {
        self.of_zone[zone as usize]
    }

    pub(super) fn bytes(&self) -> u64 {
        8 * self.words.len() as u64
    }

    /// Asserts that the counts are those of the bits.
    ///
    /// # Panics
    /// With the block or the zone.
    pub(super) fn check(&self, zones: &Zones) {
        let count = |block: BlockId| {
            (0..self.geometry.pages_per_block()).filter(|&page| self.has(self.geometry.page(block, page))).count()
                as u32
        };
        (0..)
            .map(BlockId)
            .zip(&self.of_block)
            .for_each(|(block, &valid)| assert_eq!(valid, count(block), "block {block}"));
        for (zone, &valid) in (0..).zip(&self.of_zone) {
            assert_eq!(valid, zones.blocks(zone).iter().map(|&block| count(block)).sum::<u32>(), "zone {zone}");
        }
    }
}

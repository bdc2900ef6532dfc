//! A store's invariants, derived from flash.

use super::map_pages::MapPages;
use super::{recover, Store};
use crate::parts::blocks::scan::{scan, Scans};
use nandlab_nand::{BlockId, Kind, Lpn, Nand, NandError};
use std::collections::BTreeSet;

impl Store {
    /// Compares the whole state with flash; `in_use` are the blocks of the scheme.
    ///
    /// # Panics
    /// With the broken invariant and its address.
    pub(crate) fn check<N: Nand>(&self, nand: &mut N, in_use: &[BlockId]) {
        self.blocks_have_one_use(in_use);
        let scans = scan(nand).expect("a device that can be read");
        self.notes_can_be_read(nand);
        self.map_is_that_of_a_mount(nand, &scans);
        self.valid_bits_are_those_of_the_map();
        for free in self.keeper.free().filter(|free| free.unerased.is_none()) {
            for place in 0..self.geometry.pages_per_block() {
                let page = self.geometry.page(free.block, place);
                assert_eq!(nand.read_spare(page), Ok(None), "page {page} of an erased block is programmed");
            }
        }
        for &block in in_use {
            for place in (0..self.geometry.pages_per_block()).filter(|&place| self.fill.takes(block, place)) {
                let page = self.geometry.page(block, place);
                let is_spent = !matches!(nand.read_spare(page), Ok(None) | Err(NandError::BadBlock(_)));
                assert!(!is_spent, "page {page} is programmed and block {block} takes it");
            }
        }
    }

    /// Checks that every block is in exactly one place.
    fn blocks_have_one_use(&self, in_use: &[BlockId]) {
        let mut seen = BTreeSet::new();
        let free = self.keeper.free().map(|free| free.block);
        let map = self.map_pages.as_ref().and_then(MapPages::block);
        for block in in_use.iter().copied().chain(free).chain(self.notes.blocks().iter().copied()).chain(map) {
            assert!(!self.keeper.is_bad(block), "block {block} is bad and in use");
            assert!(seen.insert(block), "block {block} is in use twice");
        }
        assert_eq!(seen.len() as u32, self.keeper.good(), "blocks in use and free");
        assert_eq!(self.keeper.free().count() as u32, self.keeper.count(), "free blocks");
    }

    fn notes_can_be_read<N: Nand>(&self, nand: &mut N) {
        for (segment, page) in self.notes.live() {
            let oob = nand.read_spare(page).expect("a note can be read").expect("a note is programmed");
            assert_eq!((oob.kind, oob.lpn), (Kind::TrimNote, Lpn(segment)), "page {page} is a live note");
        }
    }

    /// Checks that a mount would find the current map, except for forgettable trims.
    fn map_is_that_of_a_mount<N: Nand>(&self, nand: &mut N, scans: &Scans) {
        let hidden = self.hidden(nand, scans);
        let newest = recover::newest(&self.geometry, &self.options, scans, &hidden).map;
        for (at, (mapped, found)) in self.map.iter().zip(newest.iter()).enumerate() {
            if mapped.is_some() || (self.options.durable_trim && self.pinned.iter().all(|&(_, page)| page != found)) {
                assert_eq!(mapped, found, "logical page {at}: a mount would find another copy");
            }
        }
        let highest = scans.iter().flatten().flat_map(|scan| &scan.pages).map(|page| page.oob.seq.0).max();
        assert!(highest < Some(self.keeper.seq()), "a page carries a sequence number that was not given out yet");
    }

    /// By logical page: the live notes hide its copies up to this sequence number.
    fn hidden<N: Nand>(&self, nand: &mut N, scans: &Scans) -> Vec<u64> {
        let pages = (self.logical_pages(), 0);
        let mut anew = Self::new(&self.geometry, nand.rules().program_order, pages, self.options);
        anew.adopt_notes(nand, scans).expect("notes can be read").0
    }

    fn valid_bits_are_those_of_the_map(&self) {
        let mut held = vec![0; self.geometry.blocks() as usize];
        for page in self.map.entries().map(|(_, page)| page).chain(self.pinned.iter().map(|&(_, page)| page)) {
            let (block, place) = (self.geometry.block_of(page), self.geometry.page_in_block(page));
            assert!(self.valid.has(block, place), "page {page} is mapped and not valid");
            held[block.index()] += 1;
        }
        for (block, &held) in (0..).map(BlockId).zip(&held) {
            assert_eq!(self.valid.count(block), held, "valid pages of block {block}");
        }
    }
}

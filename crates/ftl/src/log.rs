//! Log: one page map, written as one log.
//!
//! ## Idea
//! The smallest page map. Host pages fill one block after another on each die; so do moved pages. When free blocks run
//! short, the block with the fewest valid pages is emptied and erased. It is the textbook's baseline, and an example
//! [`Scheme`](crate::parts::page_mapped::Scheme): read this file to write a page-mapped FTL.
//!
//! ## Write path
//! A page goes to the next page at the host's frontier; the dies take turns. A partial host write reads the page,
//! merges it and writes it whole. Before a die opens a block for the host, its victims are emptied as a whole until
//! `reserve_blocks` of its blocks stay free. Greedy takes the die's closed block with the fewest valid pages, the lowest
//! number among equals. Moved pages go to a separate frontier on the victim's die. Exact rules for several dies:
//! `parts/page_mapped/collect.rs` and `room.rs`.
//!
//! ## Recovery
//! A page's copy with the highest sequence number counts. Trim notes are pages among the others: a bitmap of unmapped
//! pages per segment, written at a flush, before an erase, and when too many are outdated.
//!
//! ## Invariants
//! Every mapped page is the newest copy on flash. Exactly the mapped pages and the live notes are valid. When a block
//! is opened for the host, its die keeps `reserve_blocks` others, so that a victim's pages find room.
//!
//! ## Differences
//! Textbooks collect at the end of the log (LFS: segments cleaned in the order of writing); this one takes the emptiest
//! block. `page` differs: it pays for collection a few pages at a time, and has the options.
//!
//! ## References
//! M. Rosenblum, J. Ousterhout: The Design and Implementation of a Log-Structured File System. ACM TOCS 10(1), 1992.
//! P. Desnoyers: Analytic Models of SSD Write Performance. ACM Transactions on Storage 10(2), 2014.

use crate::parts::blocks::scan::{refuse_foreign, scan};
use crate::parts::copies::newest_copies;
use crate::parts::newest::Newest;
use crate::parts::noted_map::NotedMap;
use crate::parts::page_mapped::noted::Noted;
use crate::parts::page_mapped::{self, PageMapped, Pages, Quota, Target};
use crate::parts::partial::{read_mapped, store_whole};
use crate::parts::trim_notes::TrimNotes;
use crate::parts::victim::Victim;
use crate::{error, FtlError, RamUse, Variant};
use nandlab_nand::{Geometry, Lpn, Nand, Oob, Ppa, SectorMask};

/// The FTL.
pub type Log = PageMapped<Scheme>;

/// Options of the log.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Blocks kept free on each die for moved pages; at least 1. With 1, a program failure or a torn page during
    /// collection may leave no room. Default 2.
    pub reserve_blocks: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { reserve_blocks: 2 }
    }
}

/// The map.
#[derive(Debug)]
pub struct Scheme {
    map: NotedMap,
}

impl Noted for Scheme {
    fn map(&self) -> &NotedMap {
        &self.map
    }

    fn map_mut(&mut self) -> &mut NotedMap {
        &mut self.map
    }
}

impl page_mapped::Scheme for Scheme {
    type Config = Config;

    fn variants() -> Vec<Variant<Config>> {
        vec![Variant::tight("reserve_1", Config { reserve_blocks: 1 })]
    }

    fn max_logical_pages(config: &Config, geometry: &Geometry) -> Result<u32, FtlError> {
        let pages = Pages::usable(geometry, config.reserve_blocks, Quota::default());
        let most = pages.saturating_sub(TrimNotes::most_pages_for(geometry, pages, true));
        error::refuse_reserve("log", config.reserve_blocks, geometry, None, most)
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<(Pages, Self), FtlError> {
        let geometry = *nand.geometry();
        let most = Self::max_logical_pages(config, &geometry)?;
        let options = format!("ftl.log with reserve_blocks = {}", config.reserve_blocks);
        error::refuse_capacity(logical_pages, most, &options, &geometry, "a smaller reserve")?;
        // Everything a mount finds must stay: without a cut, programs may still be running.
        nand.ctx().fence();
        let scans = scan(nand)?;
        refuse_foreign(&geometry, logical_pages, &scans, "log", (None, None))?;
        let newest = Newest::of(&geometry, logical_pages, &scans);
        let policy = Victim::Greedy.policy(&geometry, 0);
        let mut pages = Pages::new(&geometry, newest.highest, policy, config.reserve_blocks);
        let map = NotedMap::found(nand, &geometry, newest, true)?;
        pages.adopt(&scans, map.found_valid().collect(), |_| false);
        let mut scheme = Self { map };
        pages.take_stock(&mut scheme)?;
        Ok((pages, scheme))
    }

    fn needed(&self) -> u32 {
        self.logical_pages() + self.map.most_notes()
    }

    #[inline]
    fn write<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let oob = Oob::data(at, Default::default(), nand.ctx().origin());
        let old = self.map.at(at);
        store_whole(nand, old, sectors, page, |nand, page| self.store(pages, nand, Target::InTurn, page, oob))
    }

    fn read<N: Nand>(
        &mut self,
        _: &mut Pages,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError> {
        read_mapped(nand, self.map.at(at), sectors, page)
    }

    fn trim<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        self.unmap(pages, nand, at)
    }

    fn flush<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        self.write_notes(pages, nand, Target::InTurn)?;
        pages.retire_failing(self, nand)
    }

    fn relocate<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, from: Ppa, die: u32) -> Result<(), FtlError> {
        self.move_page(pages, nand, from, die)
    }

    fn emptied<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, die: u32) -> Result<(), FtlError> {
        self.write_notes(pages, nand, Target::Moved(die))
    }

    fn prefetch(&self, at: Lpn) {
        self.map.prefetch(at);
    }

    fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    fn ram(&self, pages: &Pages) -> RamUse {
        let mut ram = RamUse::default();
        ram.dram.insert("map", self.map.bytes());
        ram.dram.insert("valid_bits", u64::from(pages.geometry.pages()).div_ceil(8));
        ram.sram.insert("valid_counts", 2 * u64::from(pages.geometry.blocks()));
        ram.sram.insert("trim_notes", self.map.note_bytes());
        ram
    }

    fn check<N: Nand>(&self, pages: &Pages, nand: &mut N) {
        let newest = newest_copies(nand, self.map.len(), pages.keeper.seq(), |_| false);
        self.check_map(pages, nand, |at| newest[at.index()].map_or(0, |(seq, _)| seq));
    }
}

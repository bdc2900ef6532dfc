//! LazyFTL: a map entry for every page, most of them on flash, changed a block's pages at a time.
//!
//! ## Idea
//! As in DFTL the page map lies on flash, in map pages (GMT, global mapping table), with a directory in memory (GMD).
//! But no write changes it. Pages go to a few blocks whose map is in memory (UMT, update mapping table): host pages to
//! the update area, moved pages to the cold area. When an area is full, its oldest block is *converted*: the map pages
//! of its pages are written, and it is a data block like others. Nothing is copied for that, and a map page takes
//! everything that both areas know for it at once.
//!
//! ## Write path
//! A host page goes to the next free page on the next die in turn. Its entry in the update map is set, and nothing on
//! flash is read. If the update map had an entry before, the page there is invalid. Otherwise an older copy may be in a
//! data block; it stays valid in the counts until its map page is written, for only that tells where it is. A partial
//! write reads the old page first.
//!
//! **A look-up** asks the update map, then the `cached_map_pages` most recently used map pages in memory, and else reads
//! the map page.
//!
//! **A conversion** is due while more than `update_blocks` blocks with host pages or more than `cold_blocks` with moved
//! pages wait for it, those being filled included. It is also due while more older copies may still count as valid than
//! the blocks beyond the exported pages hold. The oldest block goes, of the area with too many, or else of the update
//! area. For each map page with pages of the block that are not *committed*: the map page is read if it is not in
//! memory, takes the entries of both areas, and is written; these entries are committed, and the older copies they
//! replace are invalid. Then the block's entries leave memory. With `batch_conversion = false` the map page is written
//! for each page of the block: it takes all entries each time, but only that of this page is committed.
//!
//! **Collection** begins when a die has `reserve_blocks` or fewer free blocks beyond the map's claim there. For each valid
//! page of a victim of the die it reads the spare area. If the update map has a newer copy, the page is invalid and stays behind. The
//! others are copied to the cold area, and get an entry in the update map.
//!
//! **A trim** looks the page up, marks it invalid, and leaves an entry without a page; a flush, and a collection before
//! it erases a block, write the map pages with such entries.
//!
//! ## Recovery
//! A mount reads all spare areas, then every map page. The newest copy of a page counts, unless a map page written later
//! says that the page is trimmed. Entries that a map page lacks go to the update map, and their blocks wait for
//! conversion again; all of them count as blocks of the update area. Blocks too many are converted with the first write.
//!
//! ## Invariants
//! A page without an entry in the update map lies where its map page says. Every mapped page is the newest copy on flash and
//! valid. Any other valid page is an older copy whose entry in the update map says that the map page's copy is still
//! counted. If an unmapped page has a copy on flash, its map page either waits to be written, or is newer than the
//! copy and unmaps it.
//!
//! ## Differences
//! The paper converts the block whose pages need the fewest map pages; here the oldest goes. It collects no block of the
//! two areas; here the victim policy sees them, too, and an entry follows its page. When the exported pages leave
//! little room, conversions come earlier than the areas' sizes say, so that a victim always gains something. The map has
//! a quota of blocks and collects its own (`parts/flash_map.rs`). The paper's recovery reads the spare areas of the two
//! areas alone, with the help of checkpoints; ours reads all. The look at a spare area before a copy takes its time on
//! the die, and the copy does not wait for its answer.
//!
//! ## References
//! D. Ma, J. Feng, G. Li: LazyFTL: A Page-level Flash Translation Layer Optimized for NAND Flash Memory. SIGMOD 2011.

mod check;
mod config;
mod convert;
mod mount;
mod umt;

use crate::parts::engine::{self, PageMapped, Pages, Target};
use crate::parts::flash_map::FlashMap;
use crate::parts::map_entries::entries_per_map_page;
use crate::parts::partial::{read_mapped, store_whole};
use crate::{Events, FtlError, OwnLoops, RamUse, Variant};
pub use config::Config;
use convert::MapCache;
use nandlab_nand::{BlockId, Geometry, Lpn, Nand, Oob, Ppa, Rules, SectorMask, Time};
use std::collections::BTreeSet;
use umt::{Area, Entry, Umt};

/// The FTL.
pub type LazyFtl = PageMapped<Scheme>;

/// The map on flash, the update map and the cached map pages.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    geometry: Geometry,
    logical_pages: u32,
    map: FlashMap,
    cache: MapCache,
    umt: Umt,
    /// Map pages with trimmed entries that are not on flash yet.
    trimmed: BTreeSet<u32>,
    /// When the last host page ends: a map page must not be on flash before the pages that it names.
    written: Time,
    hits: u64,
    misses: u64,
    conversions: u64,
}

impl Scheme {
    /// Entries per map page.
    fn per_map_page(&self) -> u32 {
        entries_per_map_page(&self.geometry)
    }

    /// Sets the entry of a page just written to an area; its older copy is invalid, if it is known.
    fn remember(&mut self, pages: &mut Pages, area: Area, (at, to): (Lpn, Ppa), is_counted: bool, end: Time) {
        let before = self.umt.get(at);
        let old = before.map_or(Ppa::NONE, |entry| entry.page);
        if old.is_some() {
            pages.supersede(old, end);
        }
        let is_counted = before.map_or(is_counted, |entry| entry.is_counted);
        pages.table.set_valid(to);
        let entry = Entry { page: to, is_committed: false, is_counted };
        self.umt.put(at, entry, Some((area, self.geometry.block_of(to))));
    }

    /// Writes a host page and remembers it.
    fn store<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let oob = Oob::data(at, Default::default(), nand.ctx().origin());
        let to = pages.program(self, nand, Target::InTurn, page, &[], oob)?;
        let end = nand.ctx().last();
        self.written = self.written.max(end);
        self.remember(pages, Area::Update, (at, to), true, end);
        self.convert_due(pages, nand)
    }
}

impl engine::Scheme for Scheme {
    type Config = Config;
    const OWN_LOOPS: OwnLoops = OwnLoops::NONE;
    const FOLLOWS: bool = false;

    const PAGED_VARIANT: Option<&'static str> = Some("one_by_one");

    fn variants() -> Vec<Variant<Config>> {
        config::variants()
    }

    fn set_seed(config: &mut Config, seed: u64) {
        config.seed = seed;
    }

    fn max_logical_pages(config: &Config, geometry: &Geometry, _: &Rules) -> Result<u32, FtlError> {
        config.max_logical_pages(geometry)
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<(Pages, Self), FtlError> {
        mount::mount(nand, logical_pages, config)
    }

    fn claim_in(&self, die: u32) -> u32 {
        self.map.claim_in(die)
    }

    fn share_dies(&mut self, works: &[bool]) {
        self.map.share_dies(&self.geometry, works);
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
        if sectors == self.geometry.full_mask() {
            return self.store(pages, nand, at, page);
        }
        let (old, read) = self.look_up(pages, nand, at)?;
        let before = nand.ctx().after(read);
        let stored = store_whole(nand, old, sectors, page, |nand, page| self.store(pages, nand, at, page));
        nand.ctx().set_ready(before);
        stored
    }

    fn read<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError> {
        let (from, looked_up) = self.look_up(pages, nand, at)?;
        let before = nand.ctx().after(looked_up);
        let read = read_mapped(nand, from, sectors, page);
        nand.ctx().set_ready(before);
        read
    }

    fn trim<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        let (old, _) = self.look_up(pages, nand, at)?;
        if old.is_some() {
            pages.table.set_invalid(old);
            let is_counted = self.umt.get(at).is_some_and(|entry| entry.is_counted);
            self.umt.put(at, Entry { page: Ppa::NONE, is_committed: false, is_counted }, None);
            self.trimmed.insert(at.0 / self.per_map_page());
        }
        Ok(())
    }

    fn flush<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        self.write_trims(pages, nand)?;
        pages.retire_failing(self, nand)?;
        self.map.retire_failing(nand, &mut pages.keeper)
    }

    fn relocate<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, from: Ppa, die: u32) -> Result<(), FtlError> {
        let at = self.owner(pages, nand, from)?;
        // The search for a lost owner may have found that the page is an older copy.
        if !pages.table.is_valid(from) {
            return Ok(());
        }
        if self.umt.get(at).is_some_and(|entry| entry.page != from) {
            pages.supersede(from, self.written);
            self.umt.uncount(at);
            return Ok(());
        }
        let to = match pages.copy(self, nand, from, Target::Moved(die))? {
            Some((to, ..)) => to,
            None => pages.store_lost(self, nand, at, Target::Moved(die))?,
        };
        let end = nand.ctx().last();
        if self.umt.get(at).is_none() {
            pages.supersede(from, end);
        }
        self.remember(pages, Area::Cold, (at, to), false, end);
        Ok(())
    }

    fn emptied<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, _die: u32) -> Result<(), FtlError> {
        self.write_trims(pages, nand)
    }

    #[inline]
    fn prefetch(&self, _at: Lpn) {}

    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn ram(&self, _: &Pages) -> RamUse {
        let mut ram = RamUse::default();
        let blocks = self.config.update_blocks.saturating_add(self.config.cold_blocks).min(self.geometry.blocks());
        let entries = u64::from(blocks) * u64::from(self.geometry.pages_per_block());
        // For each page in both areas: its logical page and its place; a search tree; and the list of its block.
        ram.sram.insert("umt", 8 * entries);
        ram.sram.insert("umt_tree", 8 * entries);
        ram.sram.insert("umt_blocks", 4 * entries + 4 * u64::from(blocks));
        let cached = u64::from(self.config.cached_map_pages.min(self.map.pages()));
        ram.sram.insert("map_cache", cached * (4 + u64::from(self.geometry.page_bytes())));
        ram.sram.insert("gmd", self.map.directory_bytes());
        ram.sram.insert("trim_marks", u64::from(self.map.pages()).div_ceil(8));
        ram.sram.insert("valid_counts", 2 * u64::from(self.geometry.blocks()));
        ram.dram.insert("valid_bits", u64::from(self.geometry.pages()).div_ceil(8));
        ram
    }

    fn events(&self, _: &Pages, of_pages: Events) -> Events {
        Events {
            map_hits: self.hits,
            map_misses: self.misses,
            map_dirty_evictions: self.conversions,
            ..self.map.events(of_pages)
        }
    }

    fn valid_in(&self, block: BlockId) -> Option<u32> {
        self.map.area().has(block).then(|| self.map.area().valid_pages(block))
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.umt.blocks()
    }

    fn check<N: Nand>(&self, pages: &Pages, nand: &mut N) {
        check::check(self, pages, nand);
    }
}

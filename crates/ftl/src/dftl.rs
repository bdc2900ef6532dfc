//! DFTL: a map entry for every page, most of them on flash.
//!
//! ## Idea
//! A page map needs four bytes of memory per page. Here the map lies on flash, in map pages (translation pages). Memory
//! keeps the most recently used entries (CMT, cached mapping table) and a directory of the map pages (GTD, global
//! translation directory). Hits cost no more than with the whole map in memory. A miss costs a map page read, plus a
//! read and a program if a changed entry has to leave. The option `cache` puts another cache in the same bytes
//! (`dftl/cmt.rs`): TPFTL, CDFTL, S-FTL, LeaFTL or LearnedFTL. The rest of this text is about DFTL's own.
//!
//! ## Write path
//! On a miss the least recently used entry leaves; if it has changed, its map page is read, changed and written. Then
//! the wanted entry's map page is read. The host page goes to the next free page on the next die in turn, or on the die
//! given by `allocation`, which may also collect pages in groups (`dftl/groups.rs`); its entry is changed and marked. Host pages, relocated pages and map pages fill separate
//! blocks. A partial host write reads the old page first. A written map page takes along all its changed entries.
//!
//! When a die has `reserve_blocks` or fewer free blocks beyond the map's claim there, each host page moves some pages of the
//! die's victim, as in the page map (`parts/engine/collect.rs`). `placement`, `victim` and `wear` act as there, for data blocks
//! alone. A moved page's entry changes in memory if it is there. Else it waits until the victim is empty, or its map page is
//! written for another reason: a read and a program for each of those map pages (`dftl/moved.rs`).
//!
//! ## Recovery
//! No flush writes the map: a host page has its logical page number in its spare area. A mount reads all spare areas,
//! then every map page. The newest copy of a page counts, unless a map page written later says that the page is
//! trimmed. Entries missing in the map pages become changed entries again, as many as memory takes; map pages are
//! written for the rest. So a mount costs a spare read per device page, a page read per map page and, in the worst case
//! after a power cut, a program per map page. While it runs it needs a table of all entries: firmware with less memory
//! reads the spare areas once for each part of the address space. After trims, a flush writes the map pages with the
//! trimmed entries; so does a collection before it erases a block that may hold a trimmed page's newest copy.
//!
//! ## Invariants
//! An unmarked entry in memory equals the one on flash, unless the page has moved and waits for its map page. Every mapped
//! page is the newest copy on flash and valid; no other is. If an unmapped page has a copy on flash, its map page either
//! waits to be written, or is newer than the copy and unmaps it. Each block is free, or holds data or map pages, or is bad;
//! the map can always take the rest of its quota.
//!
//! ## Differences
//! The paper collects the block with the most invalid pages, data or map. Here the map has a quota of blocks and
//! collects its own when the quota is used up, so data collection can write map pages at any time. A miss reads nothing
//! if its map page was never written. A read whose entry finds no room in memory, since no block is left for the map page
//! of what would leave, is carried out all the same. A 2 KiB page holds 512 entries of 4 bytes. An entry takes 8 bytes in memory, as
//! in the paper, and 12 more for the lists and the search, which the paper leaves out. The share of protected entries
//! is that of public simulators, where a new entry is protected at once. The paper has neither placements nor wear
//! levelling. A placement that asks who moves, such as `dac`, keeps the page map's reverse map: four bytes in memory for each
//! page of the device.
//!
//! The paper has one chip. On several dies each die carries out operations in issue order. A program that waits for a
//! read on another die holds its own die until then. A read that waits for its map page lets other reads go first, if
//! no program stands behind it. With `allocation = "static"` a partial write reads from the die that takes the page, as
//! in the super-page map, so a comparison shows the maps alone. A partial write that waits for a map page on another
//! die still holds the own die.
//!
//! The map fills as many blocks at a time as it has, on as many dies (`parts/flash_map.rs`). So a small map lies on few
//! dies: 1,024 map pages at 256 per block lie on four of 32. With many outstanding reads these dies limit the device
//! (`parts.limit` in the record). Map blocks on all 32 dies would raise the map's quota from about ten blocks to 38,
//! taken from the over-provisioning. More memory for the map reads fewer map pages.
//!
//! ## References
//! A. Gupta, Y. Kim, B. Urgaonkar: DFTL: A Flash Translation Layer Employing Demand-based Selective Caching of
//! Page-level Address Mappings. ASPLOS 2009.

mod check;
mod cmt;
mod collect;
mod config;
mod groups;
mod mount;
mod moved;
mod paging;
#[cfg(test)]
mod tests;

use crate::parts::blocks::table::BlockTable;
use crate::parts::engine::{self, PageMapped, Pages, Target};
use crate::parts::flash_map::FlashMap;
use crate::parts::map_entries::entries_per_map_page;
use crate::parts::noted_map::Holds;
use crate::parts::partial::{merged, padded, read_mapped};
use crate::{Events, Facts, FtlError, OwnLoops, RamUse, Variant};
pub use cmt::{Cache, Cdftl, Leaftl, Learned, Sftl, Tpftl};
use cmt::{Cmt, Slot};
pub use config::{Allocation, Config};
pub use groups::GroupOptions;
use groups::Groups;
use moved::Moved;
use nandlab_nand::{BlockId, Geometry, Kind, Lpn, Nand, Oob, Ppa, Rules, SectorMask, Time};
use std::collections::BTreeSet;

/// The FTL.
pub type Dftl = PageMapped<Scheme>;

/// The map on flash and its cached entries.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    geometry: Geometry,
    logical_pages: u32,
    map: FlashMap,
    cmt: Cmt,
    /// Groups with blocks of their own, if that is the allocation.
    groups: Option<Groups>,
    /// Map pages with trimmed entries that are not on flash yet.
    trimmed: BTreeSet<u32>,
    /// When the last write to an unmapped page ends: its map page must not be on flash before.
    mapped: Time,
    /// A buffer for the map page being changed.
    page: Vec<u8>,
    /// Moved pages whose map pages are not written yet.
    moved: Moved,
    hits: u64,
    misses: u64,
    /// Misses for which the entry's map page was read from flash.
    map_loads: u64,
    /// Host reads that needed such a read first.
    double_reads: u64,
    dirty_evictions: u64,
}

impl Scheme {
    /// Entries per map page.
    fn per_map_page(&self) -> u32 {
        entries_per_map_page(&self.geometry)
    }

    /// Writes a host page and maps it.
    #[inline]
    fn store<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        (at, slot): (Lpn, Slot),
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let oob = Oob::data(at, Default::default(), nand.ctx().origin());
        let target = self.target(pages, nand, (at, slot));
        let to = pages.program(self, nand, target, page, &[], oob)?;
        // Collection may have moved the page, so its current place is looked up last.
        let old = self.cmt.page(slot);
        self.cmt.set(slot, to);
        self.moved.remove(at);
        let end = nand.ctx().last();
        if old.is_some() {
            pages.supersede(old, end);
        } else {
            self.mapped = self.mapped.max(end);
        }
        pages.mapped(at, to);
        if let Some(groups) = self.groups.as_mut().filter(|_| old.is_some()) {
            groups.superseded(at);
        }
        Ok(())
    }

    /// The target for a host page.
    #[inline]
    fn target<N: Nand>(&self, pages: &mut Pages, nand: &mut N, (at, slot): (Lpn, Slot)) -> Target {
        match self.config.allocation {
            Allocation::Dynamic => pages.placed(nand, at, self.cmt.page(slot)),
            Allocation::Static => Target::On(at.0 % self.geometry.dies()),
            Allocation::Groups(_) => {
                let groups = self.groups.as_ref().expect("it is made with the options");
                Target::InGroup(groups.of(at))
            }
        }
    }

    /// Completes a partial host write: reads the old page, merges and writes the result.
    fn store_part<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        (at, slot): (Lpn, Slot),
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let (whole, before) = merged(nand, self.cmt.page(slot), sectors, page)?;
        let stored = self.store(pages, nand, (at, slot), &whole);
        nand.ctx().set_ready(before);
        stored
    }
}

impl engine::Scheme for Scheme {
    type Config = Config;
    const OWN_LOOPS: OwnLoops = OwnLoops::BOTH;

    const PAGED_VARIANT: Option<&'static str> = Some("cmt_2");

    fn variants() -> Vec<Variant<Config>> {
        config::variants()
    }

    fn set_seed(config: &mut Config, seed: u64) {
        config.seed = seed;
    }

    fn notices(config: &Config, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, FtlError> {
        let mut notices = Vec::new();
        let whole = config.cache.whole_map(logical_pages, entries_per_map_page(geometry));
        if u64::from(config.cmt_entries) >= whole {
            notices.push(format!(
                "ftl.dftl.cmt_entries = {} holds the whole map of {logical_pages} entries: no entry ever leaves memory",
                config.cmt_entries
            ));
        }
        if config.allocation == Allocation::Static && geometry.dies() == 1 {
            notices.push("ftl.dftl.allocation = \"static\" has no effect: the device has one die".to_owned());
        }
        notices.extend(config.notice_of_groups(geometry, logical_pages));
        Ok(notices)
    }

    fn facts(config: &Config) -> Facts {
        Facts { levels_wear: config.wear.choice("ftl.dftl.wear"), ..Facts::default() }
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
        let (slot, read) = self.look_up(pages, nand, at)?;
        if sectors == self.geometry.full_mask() {
            // The page written does not depend on the old place.
            return self.store(pages, nand, (at, slot), page);
        }
        let before = nand.ctx().after(read);
        let stored = if self.cmt.page(slot).is_some() {
            self.store_part(pages, nand, (at, slot), sectors, page)
        } else {
            self.store(pages, nand, (at, slot), &padded(page, sectors, self.geometry.full_mask()))
        };
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
        if let Some(from) = self.cmt.predicted(at) {
            self.hits += 1;
            return read_mapped(nand, from, sectors, page);
        }
        let loads = self.map_loads;
        let (from, looked_up) = match self.look_up(pages, nand, at) {
            Ok((slot, looked_up)) => {
                let looked_up = self.read_mistaken(nand, slot, looked_up)?;
                (self.cmt.page(slot), looked_up)
            }
            Err(FtlError::WornOut { .. }) => self.look_past(pages, nand, at)?,
            Err(error) => return Err(error),
        };
        self.double_reads += u64::from(self.map_loads != loads);
        let before = nand.ctx().after(looked_up);
        let read = read_mapped(nand, from, sectors, page);
        nand.ctx().set_ready(before);
        read
    }

    fn trim<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        let (slot, _) = self.look_up(pages, nand, at)?;
        let old = self.cmt.page(slot);
        if old.is_some() {
            self.cmt.set(slot, Ppa::NONE);
            self.moved.remove(at);
            pages.trimmed(at, old);
            self.groups.iter_mut().for_each(|groups| groups.superseded(at));
            self.trimmed.insert(at.0 / self.per_map_page());
        }
        Ok(())
    }

    fn make_room<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        self.make_room_by_group(pages, nand)
    }

    fn flush<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        self.write_trims(pages, nand)?;
        pages.retire_failing(self, nand)?;
        self.map.retire_failing(nand, &mut pages.keeper)
    }

    fn follow(&mut self, table: &BlockTable, (_, at): (Kind, Lpn), (from, to): (Ppa, Ppa)) -> bool {
        let is_here = table.is_valid(from);
        if is_here {
            let die = self.geometry.die_of(self.geometry.block_of(from));
            self.moved.push(die, (at, to), &mut self.cmt, self.config.lazy_update);
        }
        is_here
    }

    fn holds_lost<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, from: Ppa) -> Result<Holds, FtlError> {
        self.owner(pages, nand, from).map(Holds::Page)
    }

    fn emptied<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, die: u32) -> Result<(), FtlError> {
        self.map_moved(pages, nand, die)?;
        self.write_trims(pages, nand)
    }

    #[inline]
    fn expect(&mut self, first: Lpn, pages: u32) {
        self.cmt.expect(first, pages);
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        self.cmt.prefetch(at);
    }

    #[inline]
    fn prefetch_old(&self, _: &BlockTable, at: Lpn) {
        self.cmt.prefetch_entry(at);
    }

    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn ram(&self, pages: &Pages) -> RamUse {
        let mut ram = RamUse::default();
        pages.add_tables(&mut ram);
        self.cmt.ram(&mut ram);
        ram.sram.insert("gtd", self.map.directory_bytes());
        ram.sram.insert("trim_marks", u64::from(self.map.pages()).div_ceil(8));
        // By die, the entries of a victim's pages wait for their map pages.
        ram.sram.insert("moved_pages", 8 * u64::from(self.geometry.pages_per_block() * self.geometry.dies()));
        ram
    }

    fn events(&self, _: &Pages, of_pages: Events) -> Events {
        Events {
            map_hits: self.hits,
            map_misses: self.misses,
            map_dirty_evictions: self.dirty_evictions,
            map_double_reads: self.double_reads,
            ..self.map.events(of_pages)
        }
    }

    fn valid_in(&self, block: BlockId) -> Option<u32> {
        self.map.area().has(block).then(|| self.map.area().valid_pages(block))
    }

    fn check<N: Nand>(&self, pages: &Pages, nand: &mut N) {
        check::check(self, pages, nand);
    }
}

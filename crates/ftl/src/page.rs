//! Page map: a map entry for every logical page.
//!
//! ## Idea
//! A write goes to the next free page, wherever the page was before; the old copy becomes invalid. When erased blocks
//! run short, the victim policy picks one, the FTL moves its valid pages and erases it.
//!
//! ## Write path
//! 1. The next die in turn takes the page, or with `stripe.address` the plane of its address; a die above its share of
//!    valid pages opens no new block for the host.
//!    `placement` picks a frontier. A partial write reads the old page first, merges it and writes a whole page.
//! 2. A full frontier is closed, so it may become a victim, and a free block is opened. Before the host takes the last
//!    free block, which is kept for relocated pages, it waits until a victim is empty.
//! 3. The page is programmed and mapped; the old copy is invalid.
//! 4. On a die with `reserve_blocks` or fewer free blocks the host page also moves a few of the victim's pages, enough
//!    to keep the free space constant (`collection`). `idle = "collect"` does the same work in gaps between requests.
//! 5. If the reserve is not whole by then, the victim is emptied at once.
//!
//! With `placement.pools` two parts of the address space own a part of each die's blocks. With `slc_cache` host
//! pages go to one-bit blocks first, fixed ones or any free block (`dynamic`); folds move their valid pages to normal
//! blocks. Exact rules: steps 1 and 5 in `parts/engine/room.rs`, steps 2 to 4 in
//! `collect.rs`, the cache in `slc.rs`.
//!
//! ## Recovery
//! Mount reads every spare area; a page's copy with the highest sequence number wins. It reads pages in full if they
//! may be torn (`parts/blocks/scan.rs`), then closes the open blocks, as their next page may hold a cut program. A block that looks erased on a used device
//! is erased again before its first page, under the cause `reerase`: its erase may have been cut. A flush writes trims
//! to note pages: one bitmap per segment with its unmapped pages. A segment's newest note replaces the older ones.
//!
//! On a chip with pairs of pages a power cut in an upper page destroys its lower page. So a flush and an erase first
//! program blank pages up to the upper page of each valid lower page (`parts/engine/pairs.rs`).
//!
//! ## Invariants
//! Each mapped page is the newest copy on flash; exactly the mapped pages and live notes have valid bits. Each block is
//! free, a frontier, closed, waiting to be folded, failing or bad. Relocation always finds room, for any victim and its
//! notes: the host leaves it a free block, and the reserve is whole again after each host page.
//!
//! ## Differences
//! Textbook page maps have a reverse map. Here relocation learns the logical page from the metadata copied with the
//! page, and the valid pages from a bitmap in memory or from charged reads of the victim's spare areas. Only a
//! placement that asks before the copy adds a reverse map. `slc_cache` follows vendor notes and measurements, since no
//! paper describes it whole.
//!
//! ## References
//! E. Gal, S. Toledo: Algorithms and Data Structures for Flash Memories. ACM Computing Surveys 37(2), 2005.
//! P. Desnoyers: Analytic Models of SSD Write Performance. ACM Transactions on Storage 10(2), 2014.

use crate::future::Future;
use crate::parts::blocks::scan::{drop_blank, refuse_foreign, scan};
use crate::parts::blocks::table::BlockTable;
use crate::parts::engine::adopt::{Found, Needs};
use crate::parts::engine::{self, Noted, PageMapped, Pages, Target};
pub use crate::parts::engine::{
    Background, ByAddress, Collect, Collection, Config, Dynamic, Fixed, Idle, Order, OverDies, SlcCache, SlcFull,
    Stripe, ValidPages,
};
use crate::parts::newest::Newest;
use crate::parts::noted_map::{Holds, NotedMap};
use crate::parts::partial::{padded, read_mapped};
pub use crate::parts::placement::{
    Dac, FdpOptions, GroupUse, Handles, Midas, Origins, Placement, PlacementUse, Streams, TwoPools, Warcip,
};
use crate::{Facts, FtlError, OwnLoops, RamUse, Variant};
use nandlab_nand::{Geometry, Kind, Lpn, Nand, Ppa, Rules, SectorMask};

/// The FTL.
pub type PageMap = PageMapped<Scheme>;

/// The map.
#[derive(Debug)]
pub struct Scheme {
    map: NotedMap,
}

impl Noted for Scheme {
    #[inline]
    fn map(&self) -> &NotedMap {
        &self.map
    }

    #[inline]
    fn map_mut(&mut self) -> &mut NotedMap {
        &mut self.map
    }
}

impl engine::Scheme for Scheme {
    type Config = Config;
    const OWN_LOOPS: OwnLoops = OwnLoops::BOTH;
    const RESERVES_OPEN_ROOM: bool = true;
    const WAITS: bool = true;
    const PADS_PAIRS: bool = true;

    fn variants() -> Vec<Variant<Config>> {
        engine::variants()
    }

    fn notices(config: &Config, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, FtlError> {
        Ok(config.notices(geometry, logical_pages))
    }

    fn set_seed(config: &mut Config, seed: u64) {
        config.seed = seed;
    }

    fn future_mut(config: &mut Config) -> Option<&mut Future> {
        matches!(config.placement, Placement::Oracle(_)).then_some(&mut config.future)
    }

    fn facts(config: &Config) -> Facts {
        config.facts()
    }

    fn remedy(geometry: &Geometry, rules: &Rules, config: &Config, logical_pages: u32) -> Option<String> {
        let works =
            |config: &Config| Self::max_logical_pages(config, geometry, rules).is_ok_and(|most| logical_pages <= most);
        config.smaller_pool(geometry, works)
    }

    fn max_logical_pages(config: &Config, geometry: &Geometry, rules: &Rules) -> Result<u32, FtlError> {
        config.most_pages(geometry, rules)
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<(Pages, Self), FtlError> {
        let most = Self::max_logical_pages(config, nand.geometry(), nand.rules())?;
        let geometry = config.stripe.view(nand.geometry());
        config.refuse_capacity(&geometry, logical_pages, most)?;
        // Everything a mount finds must stay: superseded blocks are erased without another fence, and a page read once must
        // not vanish later. If no cut came before the mount, programs may still be running.
        nand.ctx().fence();
        let mut scans = scan(nand)?;
        if nand.rules().pair_distance > 0 {
            drop_blank(&mut scans);
        }
        refuse_foreign(&geometry, logical_pages, &scans, "page", (None, None))?;
        let newest = Newest::of(&geometry, logical_pages, &scans);
        let highest = newest.highest;
        let map = NotedMap::found(nand, &geometry, newest, config.durable_trim)?;
        let needs = Needs { logical_pages, others: map.most_notes(), ..Needs::default() };
        let mut pages = Pages::new(nand, config, needs, highest);
        let valid: Vec<_> = map.found_owned().collect();
        let mut scheme = Self { map };
        let found = Found { scans: &scans, valid: valid.into_iter(), is_other: |_: &Self, _| false };
        pages.adopt(&mut scheme, nand, found)?;
        Ok((pages, scheme))
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
        let full = pages.geometry.full_mask();
        if sectors == full {
            return pages.store(self, nand, at, page);
        }
        match self.map.at(at).is_some() {
            true => pages.store_part(self, nand, at, sectors, page)?,
            false => pages.store(self, nand, at, &padded(page, sectors, full))?,
        }
        pages.wrote_part(at, sectors);
        Ok(())
    }

    fn write_over_planes<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        first: Lpn,
        run: &[N::Buf],
    ) -> Result<(), FtlError> {
        pages.store_over_planes(self, nand, first, run)
    }

    const TAKES_BATCHES: bool = true;

    fn write_batch<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        batch: &[Lpn],
    ) -> Result<(), (usize, FtlError)> {
        pages.store_batch(self, nand, batch)
    }

    #[inline]
    fn read<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError> {
        let from = self.map.at(at);
        if pages.refreshes() {
            return pages.read_and_refresh(self, nand, from, sectors, page);
        }
        read_mapped(nand, from, sectors, page)
    }

    fn trim<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        self.unmap(pages, nand, at)
    }

    fn flush<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        self.write_notes(pages, nand, Target::InTurn)
    }

    fn most_pending(&self, reserve_blocks: u32, pages_per_block: u32) -> u32 {
        self.map.most_pending(reserve_blocks, pages_per_block)
    }

    #[inline]
    fn follow(&mut self, _: &BlockTable, (kind, at): (Kind, Lpn), copy: (Ppa, Ppa)) -> bool {
        self.map.follow(kind, at, copy)
    }

    fn holds_lost<N: Nand>(&mut self, _: &mut Pages, _: &mut N, from: Ppa) -> Result<Holds, FtlError> {
        Ok(self.map.search(from))
    }

    fn renew_note<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, segment: u32, die: u32) -> Result<(), FtlError> {
        self.write_note(pages, nand, Target::Moved(die), segment)
    }

    fn emptied<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, die: u32) -> Result<(), FtlError> {
        self.write_notes(pages, nand, Target::Moved(die))
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        self.map.prefetch(at);
    }

    #[inline]
    fn prefetch_old(&self, table: &BlockTable, at: Lpn) {
        if let Some(old) = self.map.get(at.index()) {
            table.prefetch(old);
        }
    }

    fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    fn ram(&self, pages: &Pages) -> RamUse {
        let mut ram = RamUse::default();
        pages.add_tables(&mut ram);
        ram.dram.insert("map", self.map.bytes());
        ram.sram.insert("trim_notes", self.map.note_bytes());
        ram
    }

    fn check<N: Nand>(&self, pages: &Pages, nand: &mut N) {
        let newest = pages.newest_on_flash(self.map.len(), nand);
        self.check_map(pages, nand, |at| newest[at.index()].map_or(0, |(seq, _)| seq));
    }
}

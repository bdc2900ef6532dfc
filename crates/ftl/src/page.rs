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
//! blocks. Exact rules: steps 1 and 5 in `page/room.rs`, steps 2 to 4 in `page/collect.rs`, the cache in `page/slc.rs`.
//!
//! ## Recovery
//! Mount reads every spare area; a page's copy with the highest sequence number wins. It reads pages in full if they
//! may be torn (`parts/blocks/scan.rs`), then fills the open blocks further. A block that looks erased on a used device
//! is erased again before its first page, under the cause `reerase`: its erase may have been cut. A flush writes trims
//! to note pages: one bitmap per segment with its unmapped pages. A segment's newest note replaces the older ones.
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

mod background;
mod check;
mod collect;
mod config;
mod dies;
mod idle;
mod inspect;
mod mount;
mod open;
mod placing;
mod planes;
mod pools;
mod refresh;
mod relocation;
mod room;
mod runs;
mod slc;
mod stripe;
#[cfg(test)]
mod tests;
mod trim_notes;
mod units;

use crate::parts::blocks::frontier::Frontier;
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::table::BlockTable;
use crate::parts::noted_map::NotedMap;
use crate::parts::partial::{merged, padded, read_mapped};
pub use crate::parts::placement::{
    Dac, FdpOptions, GroupUse, Handles, Midas, Origins, Placement, PlacementUse, Streams, TwoPools, Warcip,
};
use crate::parts::trim_notes::TrimNotes;
use crate::parts::victim::VictimPolicy;
use crate::parts::wear::WearPolicy;
use crate::{error, BlockState, Events, Facts, Ftl, FtlError, RamUse, Variant};
pub use background::Background;
pub use config::{Collection, Config, ValidPages};
use dies::{Die, Dies};
pub use idle::{Collect, Idle};
use nandlab_nand::{
    scoped, BlockId, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, Origin, PlacementId, Ppa, Rules, SectorMask,
    Time,
};
use placing::Placing;
use room::{balance_pages, usable_pages};
pub use slc::{Dynamic, Fixed, SlcCache, SlcFull};
pub use stripe::{ByAddress, Order, OverDies, Stripe};

/// The RAM state of the page map.
#[derive(Debug)]
pub struct PageMap {
    map: NotedMap,
    table: BlockTable,
    keeper: Keeper,
    dies: Dies,
    /// The bad blocks with which the exported pages were found to have enough good ones, after such a check.
    enough_with: Option<u32>,
    geometry: Geometry,
    config: Config,
    /// Picks the block to empty next.
    policy: Box<dyn VictimPolicy>,
    placing: Placing,
    /// The blocks with one bit per cell, if there are any.
    cache: Option<slc::Cache>,
    wear_policy: Option<Box<dyn WearPolicy>>,
    /// The blocks to rewrite for their bit errors, if any.
    refreshing: Option<Box<refresh::Refreshing>>,
    events: Events,
}

impl PageMap {
    /// Writes a host page and maps it.
    #[inline]
    fn store<N: Nand>(&mut self, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        // Compiled more than once: most placements give the host one frontier, so the lookup disappears.
        if self.placing.has_one_way() {
            return self.store_at(nand, 0, at, page);
        }
        if self.cache.is_some() {
            return self.store_cached(nand, at, page);
        }
        let frontier = self.frontier_of(nand, at);
        if self.placing.is_by_host() {
            return self.store_in_unit(nand, frontier, at, page);
        }
        self.store_at(nand, frontier, at, page)
    }

    /// The frontier for a host page.
    #[inline]
    fn frontier_of<N: Nand>(&mut self, nand: &mut N, at: Lpn) -> usize {
        let old = self.map.at(at);
        let from = if old.is_some() { self.geometry.block_of(old) } else { BlockId::NONE };
        self.placing.frontier_of(at, from, nand.ctx())
    }

    #[inline(always)]
    fn store_at<N: Nand>(&mut self, nand: &mut N, frontier: usize, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let die = self.die_for(at, frontier);
        let die = self.store_on(nand, (die, frontier), at, page)?;
        self.collect(nand, die)
    }

    /// Writes a host page to a die's frontier and maps it. Returns the die, which may be another if blocks fail.
    #[inline(always)]
    fn store_on<N: Nand>(
        &mut self,
        nand: &mut N,
        (die, frontier): (usize, usize),
        at: Lpn,
        page: &N::Buf,
    ) -> Result<usize, FtlError> {
        let (die, to) = self.program(nand, (die, frontier), page, &[], (at, Kind::Data))?;
        self.map_written(nand, (at, to));
        Ok(die)
    }

    /// Maps a page written by the host.
    #[inline(always)]
    fn map_written<N: Nand>(&mut self, nand: &mut N, (at, to): (Lpn, Ppa)) {
        let end = nand.ctx().last();
        let old = self.map.write(at, to, end);
        if old.is_some() {
            let block = self.table.set_invalid(old);
            if end > 0 {
                let block = self.block_with_copy(old, block);
                self.keeper.supersede_in(block, end);
            }
        }
        self.table.set_valid(to);
        self.placing.own(to, at);
    }

    /// The block with the latest copy of `old`, a page in `block`: a copy that is issued and not mapped yet counts.
    #[inline]
    fn block_with_copy(&self, old: Ppa, block: BlockId) -> BlockId {
        match &self.dies[self.geometry.die_of(block) as usize].relocation {
            Some(relocation) if relocation.block() == block => {
                let copy = relocation.unmapped().find(|&(from, _)| from == old);
                copy.map_or(block, |(_, to)| self.geometry.block_of(to))
            }
            _ => block,
        }
    }

    /// Completes a partial host write: reads the old page, merges and writes the result.
    fn store_part<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let (whole, before) = merged(nand, self.map.at(at), sectors, page)?;
        let stored = self.store(nand, at, &whole);
        nand.ctx().set_ready(before);
        stored
    }

    /// Programs a frontier's next page for the host. It leaves a block with a failed program, and moves to another die
    /// if this one has lost its room.
    #[inline(always)]
    fn program<N: Nand>(
        &mut self,
        nand: &mut N,
        (mut die, frontier): (usize, usize),
        page: &N::Buf,
        tail: &[u8],
        (at, kind): (Lpn, Kind),
    ) -> Result<(usize, Ppa), FtlError> {
        loop {
            if self.dies[die].frontiers[frontier].is_full() {
                die = self.open_for_host(nand, die, frontier)?;
            }
            // Opening a block may have relocated the older copy of this page, so the sequence number comes last.
            let (to, mark) = self.dies[die].frontiers[frontier].take();
            let origin = if kind == Kind::Data { nand.ctx().origin() } else { Origin::FTL };
            // Handle 0 is at frontier 0.
            let handle = if frontier == 0 { 0 } else { self.placing.handle_at(frontier) };
            let oob = Oob { kind, aux: mark, handle, ..Oob::data(at, self.keeper.next_seq(), origin) };
            match nand.program(to, page, tail, oob) {
                Ok(_) => return Ok((die, to)),
                Err(NandError::ProgramFailed(_)) => {
                    let failed = std::mem::replace(&mut self.dies[die].frontiers[frontier], Frontier::none());
                    self.dies[die].failing.push_back(failed.block);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Ftl for PageMap {
    type Config = Config;

    fn variants() -> Vec<Variant<Config>> {
        config::variants()
    }

    fn notices(config: &Config, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, FtlError> {
        Ok(config.notices(geometry, logical_pages))
    }

    fn set_seed(config: &mut Config, seed: u64) {
        config.seed = seed;
    }

    fn facts(config: &Config) -> Facts {
        config.facts()
    }

    fn remedy(geometry: &Geometry, rules: &Rules, config: &Config, logical_pages: u32) -> Option<String> {
        let works =
            |config: &Config| Self::max_logical_pages(geometry, rules, config).is_ok_and(|most| logical_pages <= most);
        config.smaller_pool(geometry, works)
    }

    fn max_logical_pages(geometry: &Geometry, rules: &Rules, config: &Config) -> Result<u32, FtlError> {
        config.check()?;
        config.stripe.check(geometry)?;
        let geometry = &config.stripe.view(geometry);
        config.check_units(geometry)?;
        config.check_slc(geometry, rules)?;
        let (reserve, blocks) = (config.reserve_blocks, geometry.blocks_per_die() - config.fixed_slc_blocks());
        let frontiers = config.kept_open(geometry)?;
        if reserve == 0 {
            return Err(FtlError::Config(
                "ftl.page.reserve_blocks = 0 would deadlock: relocation needs at least 1 free block on each die".into(),
            ));
        }
        let others = frontiers + 2;
        if blocks < reserve.saturating_add(others) {
            return Err(FtlError::Config(format!(
                "ftl.page.reserve_blocks = {reserve} would deadlock: a {} of this device has {}, and \
                 the reserve, {frontiers} that are being filled, one of data and one to collect need {}{}",
                config.stripe.unit(),
                error::blocks(blocks),
                reserve.saturating_add(others),
                error::at_most("ftl.page.reserve_blocks", blocks.saturating_sub(others)),
            )));
        }
        let dies = geometry.dies();
        let pages = dies * (usable_pages(geometry, blocks, reserve + frontiers) - balance_pages(geometry));
        let pages = pages.min(config.pool_pages_at_most(geometry, blocks)?);
        Ok(pages - TrimNotes::most_pages_for(geometry, pages, config.durable_trim))
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<Self, FtlError> {
        mount::mount(nand, logical_pages, config)
    }

    #[inline]
    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        let full = self.geometry.full_mask();
        if sectors != full && self.map.at(at).is_some() {
            return self.store_part(nand, at, sectors, page);
        }
        if sectors == full {
            return self.store(nand, at, page);
        }
        self.store(nand, at, &padded(page, sectors, full))
    }

    #[inline]
    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        if self.refreshing.is_some() {
            return self.read_and_refresh(nand, at, sectors, page);
        }
        read_mapped(nand, self.map.at(at), sectors, page)
    }

    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        if sectors == self.geometry.full_mask() && self.map.at(at).is_some() {
            let old = self.map.trim(at);
            self.table.set_invalid(old);
            self.placing.trimmed(at);
            while let Some(segment) = self.map.overdue(self.config.reserve_blocks, self.geometry.pages_per_block()) {
                self.write_note(nand, segment)?;
            }
        }
        Ok(())
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while let Some(segment) = self.map.pending() {
            self.write_note(nand, segment)?;
        }
        if self.dies.iter().any(Die::is_failing) {
            self.retire_failing(nand)?;
        }
        let end = nand.ctx().acknowledged().max(self.keeper.noted_by());
        nand.ctx().fence_at(end);
        nand.ctx().wait_until(end);
        Ok(())
    }

    fn write_run<N: Nand>(&mut self, nand: &mut N, first: Lpn, pages: &[N::Buf]) -> Result<(), FtlError> {
        // What the cache or a reclaim unit takes is filled page by page.
        if self.dies.planes() > 1 && self.cache.is_none() && !self.placing.is_by_host() {
            return self.store_over_planes(nand, first, pages);
        }
        let full = self.geometry.full_mask();
        (first.0..).zip(pages).try_for_each(|(at, page)| self.write(nand, Lpn(at), full, page))
    }

    #[inline]
    fn pause<N: Nand>(&mut self, nand: &mut N, until: Option<Time>) -> Result<(), FtlError> {
        let worked = until.map_or(Ok(()), |until| self.work_in_gap(nand, until));
        if self.dies.puts_off() {
            self.carry_out_all(nand);
        }
        worked
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        self.map.prefetch(at);
    }

    #[inline]
    fn prefetch_old(&self, at: Lpn) {
        if let Some(old) = self.map.get(at.index()) {
            self.table.prefetch(old);
        }
    }

    fn update_unit(&mut self, placement: PlacementId) {
        self.retire_unit(placement);
    }

    fn placement_use(&self) -> Option<PlacementUse> {
        self.use_of_units()
    }

    fn group_use(&self) -> Option<GroupUse> {
        self.placing.groups()
    }

    fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    fn ram(&self) -> RamUse {
        self.tables()
    }

    fn events(&self) -> Events {
        Events { retired_blocks: self.keeper.retired(), ..self.events }
    }

    fn free_blocks(&self) -> u64 {
        self.keeper.count_all()
    }

    fn blocks(&self) -> Vec<BlockState> {
        self.block_states()
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        scoped(nand, Cause::Mount, |nand| check::check(self, nand));
    }
}

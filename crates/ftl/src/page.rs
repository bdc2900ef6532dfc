//! Page map: a map entry for every logical page.
//!
//! ## Idea
//! A write goes to the next free page of the device, wherever the page was before; the old copy becomes
//! invalid. When erased blocks run short, one is chosen by the victim policy, emptied and erased.
//!
//! ## Write path
//! Host writes fill blocks of the dies in turn, relocated pages others: each of these frontiers takes the pages that
//! `placement` gives it. A page that the host writes in part is read first, merged and written whole. A write waits
//! for a whole victim only where one gains next to nothing, or where the placement fills several blocks for the host
//! and two of them get full one right after the other. With `idle_blocks` the same work is done in gaps between
//! requests, and the host pays only where these do not suffice.
//!
//! A page of the host is written in this order, with b = `pages_per_block`, R = `reserve_blocks` and F the free
//! blocks of its die:
//! ```text
//! 1  the die        the next in turn; see below where there are several. The first page goes to die 1, or 0 if alone
//! 2  the frontier   where it has no block or a full one: that one is closed, from now on it may be a victim. While F <= 1,
//!                   the victim (if there is none, one is chosen) is emptied to its end. If relocated pages that share
//!                   the frontier left room in it by then, and the reserve is whole, that is used; else the block that has been free longest
//! 3  the program    the page is mapped, the older copy is invalid
//! 4  the pay        nothing, if F > R and no victim is being emptied. Else, if there is no victim, one is chosen now: after
//!                   the page was mapped. Then credit += rate * (1 + max(0, R - F)), and the whole part of credit is relocated
//! 5  the reserve    while it is not whole, the victim, or one that is chosen, is emptied to its end
//! ```
//! The rate of a victim is fixed when it is chosen, with v valid pages then, in parts of 65,536: `floor(65536 * v /
//! g) + 1`, where the victim gains g = max(b - v, floor(b / 16), 1) pages. At that rate a page of the host takes as
//! much room as the victim gives. Credit begins at 0 with each victim. What is left of the integer part when the
//! victim is empty is lost; the rest below 1 is kept for the next page. Pages are relocated in ascending order, those
//! that are still valid when their turn comes. A victim is erased, and free behind all other free blocks, in the same
//! step in which its last valid page was relocated. A victim without valid pages is erased in the step that chose it.
//!
//! Closed blocks can be chosen, those being filled cannot. Greedy takes the one with the fewest valid pages, the
//! lowest number among equals; where all are full of valid pages, none is chosen. The frontier of relocated pages
//! takes the block that has been free longest, down to the last one; like that of the host it is closed when the next
//! page finds it full. At the start nothing is being filled, and blocks are free in ascending order.
//!
//! The reserve is whole if, with `room` pages left in all frontiers of the die and in its free blocks, one of these
//! holds: R > 1 and F >= R; R > 1 and room >= R b; without a victim room >= R b; with one of v valid pages room > v
//! and room + b >= v + R b. With trims, v is more by the notes that an erase may have to wait for.
//!
//! With several dies the next in turn takes the page if its frontier has room, or if it holds no more valid pages
//! than its share. With D dies of N good blocks, f frontiers each and L logical pages, the most that a die holds is m
//! = (N - R - f) b - 1 - b, and its share is min(m, max(p, floor(p / 2) + floor(m / 2))) with p = floor(L / D). With
//! `placement = "one"` a die beyond its share when relocated pages opened its block takes no page of the host until
//! it is within its share again. If no die takes the page, it goes to the one with the largest m less its valid
//! pages, the last among equals.
//!
//! A die that holds more than its share of valid pages takes no new host block. A weak one, which bad blocks have
//! left too few for the reserve, those that are being filled and any data beside them, takes no page at all: what it
//! holds can be read, the other dies take its part, and the device ends when their good blocks are too few for what
//! is exported.
//!
//! With `placement = "pools"` two parts of the address space have blocks of their own, each a part of those of the
//! die, and the victim is of the pool that is beyond its part.
//!
//! With `slc_cache` pages of the host go to blocks of one bit a cell while these have room, always the same ones of
//! each die (`fixed`) or any that is free, as long as two more than the reserve are (`dynamic`); then past them, or
//! they wait until the oldest such block was folded: its valid pages moved to a block that holds all its bits. Folds
//! happen in gaps between requests, and with `dynamic` in place of collection wherever that needs a block.
//!
//! ## Recovery
//! Mount reads every spare area; of several copies of a page the one with the highest sequence number
//! wins. Erases of a block are in its pages; a block without any takes the mean of the others. The page
//! programmed last in a block may be torn, so it is read in full, and so is the page below
//! one that carries the resumed mark, and every page of a block with one that cannot be read. Blocks in use
//! before the power went are filled further. A block that looks erased on a device in use is erased again before its first page,
//! under the cause `reerase`: its erase may have been cut. A page tells whether the cells of its block hold one bit. Trims are kept by note pages, written at a flush: a bitmap of the unmapped pages of
//! one segment of the address space; the newest note of a segment replaces the older ones.
//!
//! ## Invariants
//! Every mapped page is the newest copy on flash; valid bits are set for exactly the mapped pages and the
//! live notes; each block is free, a frontier, closed, waiting to be folded, failing or bad; a host block is opened only while
//! another stays free, and after each host page as much as `reserve_blocks` is, in blocks and in what frontiers have left, as
//! soon as the block at hand is erased: so relocation always finds room, whatever the victim, and for notes of trims, too.
//!
//! ## Differences
//! Textbook page maps have a reverse map, in memory or from nowhere. Here relocation learns the logical page from the
//! metadata that passes through the controller with the copy, and which pages are valid from a bitmap that counts as
//! memory, or from reads of all spare areas of the victim, which are charged. Where the placement asks before the
//! copy which page it is, the bitmap is joined by a reverse map. What `slc_cache` does no paper describes as a whole:
//! manufacturers tell of fixed and of dynamic caches, and measurements show where they end. A block of the dynamic
//! cache may become one of all bits and back at every erase; a write that comes while a fold has begun waits for the
//! copy at hand.
//!
//! ## References
//! E. Gal, S. Toledo: Algorithms and Data Structures for Flash Memories. ACM Computing Surveys 37(2), 2005.
//! P. Desnoyers: Analytic Models of SSD Write Performance. ACM Transactions on Storage 10(2), 2014.

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
#[cfg(test)]
mod tests;
mod trim_notes;
mod unused;

use crate::parts::blocks::frontier::Frontier;
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::table::BlockTable;
use crate::parts::noted_map::NotedMap;
use crate::parts::partial::{merged, padded, read_mapped};
pub use crate::parts::placement::Placement;
use crate::parts::trim_notes::TrimNotes;
use crate::parts::victim::VictimPolicy;
use crate::parts::wear::WearPolicy;
use crate::{error, BlockState, Events, Facts, Ftl, FtlError, RamUse, Variant};
pub use config::{Config, Stripe, ValidPages};
use dies::{Die, Dies};
use nandlab_nand::{scoped, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, Origin, Ppa, Rules, SectorMask, Time};
use placing::Placing;
use room::{balance_pages, usable_pages};
pub use slc::{SlcCache, SlcFull};

/// The RAM state of the page map.
#[derive(Debug)]
pub struct PageMap {
    map: NotedMap,
    table: BlockTable,
    keeper: Keeper,
    dies: Dies,
    geometry: Geometry,
    config: Config,
    /// Which block is emptied next.
    policy: Box<dyn VictimPolicy>,
    placing: Placing,
    /// Blocks of one bit a cell, if there are any.
    cache: Option<slc::Cache>,
    wear_policy: Option<Box<dyn WearPolicy>>,
    /// Which blocks are rewritten for their bit errors, if any are.
    refreshing: Option<Box<refresh::Refreshing>>,
    events: Events,
}

impl PageMap {
    /// Writes a page of the host and maps it.
    #[inline]
    fn store<N: Nand>(&mut self, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        // Compiled more than once: most placements give the host one frontier, and then nothing needs to look it up.
        if self.placing.has_one_way() {
            return self.store_at(nand, 0, at, page);
        }
        if self.cache.is_some() {
            return self.store_cached(nand, at, page);
        }
        let frontier = self.placing.host(at, nand.ctx().origin());
        self.store_at(nand, frontier, at, page)
    }

    #[inline(always)]
    fn store_at<N: Nand>(&mut self, nand: &mut N, frontier: usize, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let die = self.next_die(frontier);
        let die = self.store_on(nand, (die, frontier), at, page)?;
        self.collect(nand, die)
    }

    /// Writes a page of the host to a frontier of a die and maps it; returns the die, which is another one where blocks fail.
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

    /// Maps a page that the host wrote.
    #[inline(always)]
    fn map_written<N: Nand>(&mut self, nand: &mut N, (at, to): (Lpn, Ppa)) {
        let end = nand.ctx().last();
        let old = self.map.write(at, to, end);
        if old.is_some() {
            let block = self.table.set_invalid(old);
            self.keeper.supersede_in(block, end);
        }
        self.table.set_valid(to);
        self.placing.own(to, at);
    }

    /// Reads the rest of a page that the host writes in part, merges and writes it.
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

    /// Programs the next page of a frontier for the host, on another die where this one has lost its room; a block where a
    /// program fails is left behind.
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
            let oob = Oob { kind, aux: mark, ..Oob::data(at, self.keeper.next_seq(), origin) };
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
        let mut notices = unused::notices(config, geometry, logical_pages);
        notices.extend(config.notice_of_pools(logical_pages));
        Ok(notices)
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
        let geometry = &config.stripe.view(geometry);
        config.check_slc(geometry, rules)?;
        let (reserve, blocks) = (config.reserve_blocks, geometry.blocks_per_die() - config.fixed_slc_blocks());
        let frontiers = config.filled_blocks();
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
        // What the cache takes is filled block by block.
        if self.dies.planes() > 1 && self.cache.is_none() {
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

    fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    fn ram(&self) -> RamUse {
        self.tables()
    }

    fn events(&self) -> Events {
        Events { retired_blocks: self.keeper.retired(), ..self.events }
    }

    fn blocks(&self) -> Vec<BlockState> {
        self.block_states()
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        scoped(nand, Cause::Mount, |nand| check::check(self, nand));
    }
}

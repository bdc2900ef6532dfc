//! A page-mapped FTL: a scheme over [`Pages`].
//!
//! A scheme has the map. [`Pages`] has the data blocks: it programs a page at a frontier, empties victims, and retires
//! blocks with a failed program. Each die has a frontier for host pages, or one for each group of them, and one for moved
//! pages. Each die has free blocks, a reserve and victims of its own, so the dies collect side by side.
//!
//! ## A write
//! 1. [`PageMapped::write`] hands it to [`Scheme::write`].
//! 2. The scheme calls [`Pages::program`] and maps the page afterwards.
//! 3. `program` takes the next die's frontier. If its block is full, `open_for_host` closes it and takes a free block of
//!    the die. Before that, a scheme may make room in a way of its own ([`Scheme::make_room`]). A die above its share of
//!    valid pages opens no block, and the next die takes the page (`room.rs`).
//! 4. While at most `reserve_blocks` of the die are free, beside the scheme's own claim, `collect_in` empties a victim on
//!    the die.
//! 5. [`Scheme::relocate`] moves each of its valid pages within the die, [`Scheme::emptied`] writes whatever must be on
//!    flash before the erase, and the keeper erases the block.

mod collect;
pub(crate) mod noted;
mod room;
mod scheme;

use super::blocks::area::Area;
use super::blocks::keeper::Keeper;
use super::blocks::scan::Scans;
pub use super::shares::Quota;
use super::victim::VictimPolicy;
use crate::{BlockState, Events, Facts, Ftl, FtlError, RamUse, Variant};
use nandlab_block::Op;
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand, NandError, Oob, Ppa, Rules, SectorMask, Time};
use room::Stock;
pub use scheme::Scheme;

/// A data page's target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// To the host's frontiers, in turn.
    InTurn,
    /// To a die's frontier for the host.
    On(u32),
    /// To a die's frontier for moved pages.
    Moved(u32),
    /// To a group's frontiers, in turn.
    InGroup(u32),
    /// The same for a moved page: no victim is emptied for it.
    MovedInGroup(u32),
}

/// The data blocks.
#[derive(Debug)]
pub struct Pages {
    pub(crate) geometry: Geometry,
    pub(crate) keeper: Keeper,
    /// The host's frontiers, by die, for each group; and behind them the frontiers for moved pages.
    pub(crate) area: Area,
    policy: Box<dyn VictimPolicy>,
    /// Free blocks left on a die when the host opens one there.
    reserve_blocks: u32,
    /// The dies that take pages.
    stock: Stock,
    /// The die of the last page in turn.
    turn: u32,
    /// The same by group; empty without groups.
    turns: Vec<u32>,
    pub(crate) events: Events,
}

impl Pages {
    /// No page yet; sequence numbers go on behind `highest`.
    pub(crate) fn new(geometry: &Geometry, highest: u64, policy: Box<dyn VictimPolicy>, reserve_blocks: u32) -> Self {
        Self::in_groups(geometry, highest, policy, reserve_blocks, 0)
    }

    /// The same for pages in so many groups with frontiers of their own.
    pub(crate) fn in_groups(
        geometry: &Geometry,
        highest: u64,
        policy: Box<dyn VictimPolicy>,
        reserve_blocks: u32,
        groups: u32,
    ) -> Self {
        Self {
            geometry: *geometry,
            keeper: Keeper::new(geometry, highest),
            area: Area::by_die(geometry, groups.max(1) + 1),
            policy,
            reserve_blocks,
            stock: Stock::none(geometry),
            turn: geometry.dies() - 1,
            turns: vec![geometry.dies() - 1; groups as usize],
            events: Events::default(),
        }
    }

    /// The die of the last page in turn.
    #[cfg(test)]
    pub(crate) fn turn(&self) -> u32 {
        self.turn
    }

    /// Adopts the blocks found by a mount. `valid` are the valid pages; `is_other` tells the scheme's own blocks.
    pub(crate) fn adopt(&mut self, scans: &Scans, mut valid: Vec<Ppa>, is_other: impl Fn(BlockId) -> bool) {
        valid.sort_unstable();
        for page in valid {
            let block = self.geometry.block_of(page);
            if !self.area.has(block) {
                self.area.found(block);
            }
            self.area.set_valid(page);
        }
        let Self { keeper, area, .. } = self;
        keeper.adopt(scans, Cause::Mount, |block| area.has(block) || is_other(block));
        area.close_found(scans);
    }

    /// Programs a data page; a block with a failed program is left behind. The sequence number in `oob` is set here:
    /// opening a block may move the page's older copy, so it comes last.
    #[inline]
    pub(crate) fn program<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        target: Target,
        page: &N::Buf,
        tail: &[u8],
        oob: Oob,
    ) -> Result<Ppa, FtlError> {
        loop {
            let frontier = self.frontier(scheme, nand, target)?;
            let oob = Oob { seq: self.keeper.next_seq(), ..oob };
            if let Some(to) = self.area.program(nand, frontier, page, tail, oob)? {
                return Ok(to);
            }
        }
    }

    /// Copies a valid page to the frontier for moved pages on `die`; returns its place and metadata. `None`: its
    /// contents are lost, and nothing has changed.
    pub(crate) fn copy<N: Nand, S: Scheme>(
        &mut self,
        scheme: &S,
        nand: &mut N,
        from: Ppa,
        die: u32,
    ) -> Result<Option<(Ppa, Oob)>, FtlError> {
        self.copy_to(scheme, nand, from, Target::Moved(die))
    }

    /// The same to a target for moved pages.
    pub(crate) fn copy_to<N: Nand, S: Scheme>(
        &mut self,
        scheme: &S,
        nand: &mut N,
        from: Ppa,
        target: Target,
    ) -> Result<Option<(Ppa, Oob)>, FtlError> {
        loop {
            let frontier = self.frontier_for_moved(scheme, nand, target)?;
            let oob = Oob::renewed(0, self.keeper.next_seq());
            match self.area.copy(nand, frontier, from, oob) {
                Ok(Some(copied)) => return Ok(Some(copied)),
                Ok(None) => {}
                Err(FtlError::Nand(NandError::Uncorrectable(page))) if page == from => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Supersedes a valid page by another one with its program ending at `end`.
    #[inline]
    pub(crate) fn supersede(&mut self, old: Ppa, end: Time) {
        self.area.set_invalid(old);
        self.keeper.supersede(old, end);
    }

    /// Asserts that every block is free, bad, a data block or the scheme's own.
    fn check<S: Scheme>(&self, scheme: &S) {
        let mut uses = vec![0; self.geometry.blocks() as usize];
        self.keeper.free().for_each(|free| uses[free.block.index()] += 1);
        for (block, uses) in (0..).map(BlockId).zip(uses) {
            let others = [self.keeper.is_bad(block), self.area.has(block), scheme.valid_in(block).is_some()];
            let uses = uses + others.into_iter().filter(|&other| other).count();
            assert_eq!(uses, 1, "uses of block {block}");
        }
        self.area.check("data");
    }
}

/// A page-mapped FTL's RAM state.
#[derive(Debug)]
pub struct PageMapped<S> {
    pub(crate) pages: Pages,
    pub(crate) scheme: S,
}

impl<S: Scheme> Ftl for PageMapped<S> {
    type Config = S::Config;
    const PAGED_VARIANT: Option<&'static str> = S::PAGED_VARIANT;

    fn variants() -> Vec<Variant<S::Config>> {
        S::variants()
    }

    fn notices(config: &Self::Config, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, FtlError> {
        S::notices(config, geometry, logical_pages)
    }

    fn set_seed(config: &mut Self::Config, seed: u64) {
        S::set_seed(config, seed);
    }

    fn facts(config: &Self::Config) -> Facts {
        S::facts(config)
    }

    fn max_logical_pages(geometry: &Geometry, _: &Rules, config: &Self::Config) -> Result<u32, FtlError> {
        S::max_logical_pages(config, geometry)
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Self::Config) -> Result<Self, FtlError> {
        let (pages, scheme) = S::mount(nand, logical_pages, config)?;
        Ok(Self { pages, scheme })
    }

    #[inline]
    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        self.scheme.write(&mut self.pages, nand, at, sectors, page)
    }

    #[inline]
    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        self.scheme.read(&mut self.pages, nand, at, sectors, page)
    }

    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        if sectors != self.pages.geometry.full_mask() {
            return Ok(());
        }
        self.scheme.trim(&mut self.pages, nand, at)
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.scheme.flush(&mut self.pages, nand)?;
        let end = nand.ctx().acknowledged().max(self.pages.keeper.noted_by());
        nand.ctx().fence_at(end);
        nand.ctx().wait_until(end);
        Ok(())
    }

    fn look_ups(&self, op: Op, at: Lpn, sectors: SectorMask) -> u64 {
        self.scheme.look_ups(&self.pages, op, at, sectors)
    }

    #[inline]
    fn expect(&mut self, first: Lpn, pages: u32) {
        self.scheme.expect(first, pages);
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        self.scheme.prefetch(at);
    }

    #[inline]
    fn prefetch_old(&self, at: Lpn) {
        self.scheme.prefetch_old(at);
    }

    fn logical_pages(&self) -> u32 {
        self.scheme.logical_pages()
    }

    fn ram(&self) -> RamUse {
        self.scheme.ram(&self.pages)
    }

    fn events(&self) -> Events {
        let events = Events { retired_blocks: self.pages.keeper.retired(), ..self.pages.events };
        self.scheme.events(&self.pages, events)
    }

    fn free_blocks(&self) -> u64 {
        self.pages.keeper.count_all()
    }

    fn blocks(&self) -> Vec<BlockState> {
        let others = |block| self.scheme.valid_in(block).unwrap_or(0);
        self.pages.keeper.states(|block| self.pages.area.valid_pages(block) + others(block))
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.scheme.log_blocks()
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        scoped(nand, Cause::Mount, |nand| {
            self.pages.check(&self.scheme);
            self.scheme.check(&self.pages, nand);
        });
    }
}

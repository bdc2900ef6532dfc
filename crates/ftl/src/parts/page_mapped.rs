//! A page-mapped FTL: a scheme over [`Pages`].
//!
//! A scheme has the map. [`Pages`] has the data blocks: it programs a page at a frontier, empties victims, and retires
//! blocks with a failed program. Each die has a frontier for host pages, or one for each group of them, and one for moved
//! pages. All dies share the free blocks, so the victim policy sees every die's blocks.
//!
//! ## A write
//! 1. [`PageMapped::write`] hands it to [`Scheme::write`].
//! 2. The scheme calls [`Pages::program`] and maps the page afterwards.
//! 3. `program` takes the next frontier. If its block is full, `open_host_block` closes it and takes a free block.
//!    Before that, a scheme may make room in a way of its own ([`Scheme::make_room`]).
//! 4. While at most `reserve_blocks` are free, beside the scheme's own claim, `collect` empties a victim.
//! 5. [`Scheme::relocate`] moves each of its valid pages, [`Scheme::emptied`] writes whatever must be on flash before
//!    the erase, and the keeper erases the block.

pub(crate) mod noted;
mod scheme;

use super::blocks::area::{Area, Victim};
use super::blocks::keeper::Keeper;
use super::blocks::scan::Scans;
use super::victim::VictimPolicy;
use crate::{BlockState, Events, Facts, Ftl, FtlError, RamUse, Variant};
use nandlab_block::Op;
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand, NandError, Oob, Ppa, Rules, SectorMask, Time};
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
    /// Free blocks left when the host opens one.
    reserve_blocks: u32,
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
            area: Area::new(geometry, (groups.max(1) + 1) * geometry.dies()),
            policy,
            reserve_blocks,
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

    /// Good blocks without a valid page when one is opened for the host: free ones and those being filled.
    pub(crate) fn kept(geometry: &Geometry, reserve_blocks: u32) -> u32 {
        reserve_blocks.saturating_add(2 * geometry.dies())
    }

    /// Pages that `good` blocks hold while a victim still gains something, if `others` of them are for something else.
    pub(crate) fn usable(geometry: &Geometry, good: u32, reserve_blocks: u32, others: u32) -> u32 {
        let closed = good.saturating_sub(Self::kept(geometry, reserve_blocks).saturating_add(others));
        (closed * geometry.pages_per_block()).saturating_sub(1)
    }

    /// The same with this reserve.
    pub(crate) fn usable_on(&self, good: u32, others: u32) -> u32 {
        Self::usable(&self.geometry, good, self.reserve_blocks, others)
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
        area.resume(scans);
    }

    /// Fails if bad blocks leave too little for the exported capacity.
    pub(crate) fn refuse_worn_out<S: Scheme>(&self, scheme: &S) -> Result<(), FtlError> {
        let (needed, usable) = scheme.needed_and_usable(self, self.keeper.good());
        if usable < needed {
            return Err(self.keeper.worn_out((needed - usable).div_ceil(self.geometry.pages_per_block())));
        }
        Ok(())
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

    /// The frontier for a page, with room.
    #[inline]
    fn frontier<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        target: Target,
    ) -> Result<usize, FtlError> {
        let frontier = match target {
            Target::On(die) => die as usize,
            Target::InTurn => {
                self.turn = if self.turn + 1 >= self.geometry.dies() { 0 } else { self.turn + 1 };
                self.turn as usize
            }
            Target::InGroup(group) => self.next_in_group(group),
            Target::Moved(_) | Target::MovedInGroup(_) => return self.frontier_for_moved(scheme, nand, target),
        };
        if self.area.is_full(frontier) {
            self.open_host_block(scheme, nand, frontier)?;
        }
        Ok(frontier)
    }

    /// A group's frontiers in turn.
    fn next_in_group(&mut self, group: u32) -> usize {
        let dies = self.geometry.dies();
        let turn = &mut self.turns[group as usize];
        *turn = if *turn + 1 >= dies { 0 } else { *turn + 1 };
        (group * dies + *turn) as usize
    }

    /// Closes a group's frontiers; its next pages begin blocks, from the first die on.
    pub(crate) fn restart_group(&mut self, group: u32) {
        let dies = self.geometry.dies();
        for frontier in group * dies..(group + 1) * dies {
            self.area.close(frontier as usize, self.keeper.seq());
        }
        self.turns[group as usize] = dies - 1;
    }

    /// Replaces a full host frontier, emptying victims until the reserve is whole.
    #[cold]
    fn open_host_block<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        frontier: usize,
    ) -> Result<(), FtlError> {
        self.refuse_worn_out(scheme)?;
        scheme.make_room(self, nand)?;
        if !self.area.is_full(frontier) {
            return Ok(());
        }
        self.area.close(frontier, self.keeper.seq());
        loop {
            while self.keeper.count() <= self.reserve_blocks + scheme.claim() {
                if !self.collect(scheme, nand)? {
                    return Err(self.keeper.worn_out(1));
                }
            }
            if self.open(nand, frontier)? {
                return Ok(());
            }
        }
    }

    /// Opens a block at a frontier without one; false if no free block can be erased.
    fn open<N: Nand>(&mut self, nand: &mut N, frontier: usize) -> Result<bool, FtlError> {
        let die = frontier as u32 % self.geometry.dies();
        let block = scoped(nand, Cause::Gc, |nand| self.keeper.take(nand, Some(die)))?;
        block.into_iter().for_each(|block| self.area.open(frontier, block));
        Ok(block.is_some())
    }

    #[inline]
    fn frontier_for_moved<N: Nand, S: Scheme>(
        &mut self,
        scheme: &S,
        nand: &mut N,
        target: Target,
    ) -> Result<usize, FtlError> {
        let frontier = match target {
            Target::MovedInGroup(group) => self.next_in_group(group),
            Target::Moved(die) => self.area.frontiers().len() - (self.geometry.dies() - die) as usize,
            _ => unreachable!("{target:?} is not for moved pages"),
        };
        if self.area.is_full(frontier) {
            self.open_for_moved(scheme, nand, frontier)?;
        }
        Ok(frontier)
    }

    /// Replaces a full frontier for moved pages.
    #[cold]
    fn open_for_moved<N: Nand, S: Scheme>(
        &mut self,
        scheme: &S,
        nand: &mut N,
        frontier: usize,
    ) -> Result<(), FtlError> {
        self.area.close(frontier, self.keeper.seq());
        if self.keeper.count() > scheme.claim() && self.open(nand, frontier)? {
            return Ok(());
        }
        // Failures have used up the reserve; room left at another frontier is room as well.
        self.area.borrow(frontier);
        if self.area.is_full(frontier) {
            return Err(self.keeper.worn_out(1));
        }
        Ok(())
    }

    /// Empties a data block; false if nothing would be gained.
    pub(crate) fn collect<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N) -> Result<bool, FtlError> {
        let Some(victim) = self.area.next_victim(&mut *self.policy, self.keeper.seq()) else { return Ok(false) };
        let cause = if victim.is_failing { Cause::BadBlock } else { Cause::Gc };
        scoped(nand, cause, |nand| self.empty(scheme, nand, victim))?;
        Ok(true)
    }

    fn empty<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N, victim: Victim) -> Result<(), FtlError> {
        let die = self.geometry.die_of(victim.block);
        let valid: Vec<Ppa> = self.area.valid_in(victim.block).collect();
        valid.iter().try_for_each(|&from| scheme.relocate(self, nand, from, die))?;
        scheme.emptied(self, nand, die)?;
        self.area.release(nand, &mut self.keeper, victim)?;
        self.count_victim(victim, valid.is_empty());
        Ok(())
    }

    /// Erases the closed blocks without a valid page.
    pub(crate) fn release_empty<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while let Some(victim) = self.area.next_empty() {
            self.area.release(nand, &mut self.keeper, victim)?;
        }
        Ok(())
    }

    pub(crate) fn count_victim(&mut self, victim: Victim, was_empty: bool) {
        if !victim.is_failing {
            self.events.gc_runs += 1;
            self.events.empty_gc_runs += u64::from(was_empty);
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

    /// Empties and retires data blocks with a failed program; a mount would not know about them.
    pub(crate) fn retire_failing<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N) -> Result<(), FtlError> {
        while self.area.is_failing() {
            self.collect(scheme, nand)?;
        }
        Ok(())
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

//! Blocks with one bit per cell: they take the host's pages before blocks with all their bits do.
//!
//! Such a block is filled at its own frontier. Once full it waits in a list apart: no victim policy sees it. It is
//! *folded* when room is needed: its valid pages go to the frontier for moved pages, under their own cause, and it is
//! erased.
//!
//! A `fixed` cache always has the same blocks on each die. A `dynamic` one takes any free block, as long as two more
//! than the reserve are free; such a block may hold all its bits again after its next erase. Without room in the cache
//! a host page goes past it (`full = "direct"`), or waits until the oldest block is folded (`"fold"`). Folds also
//! happen in gaps between requests. A dynamic cache also folds whenever a die needs a free block, instead of a
//! collection. A write during a fold waits for the copy at hand.

use super::relocation::Reason;
use super::stripe::Stripe;
use super::{Config, Noted, Pages, Scheme};
use crate::options::options;
use crate::parts::blocks::frontier::Frontier;
use crate::parts::blocks::keeper::FreeBlock;
use crate::parts::blocks::scan::{BlockScan, Scans};
use crate::parts::placement::Placement;
use crate::parts::wear::{self, Wear};
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry, Lpn, Nand, NandError, Oob, Rules};
use std::collections::VecDeque;

/// The blocks with one bit per cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlcCache {
    /// None.
    #[default]
    None,
    /// Some on each die, always the same.
    Fixed(Fixed),
    /// Any free block, as long as enough others are free: all the free space on an empty device, little on a full one.
    Dynamic(Dynamic),
}

options! {
    Fixed
    /// A cache with always the same blocks.
    #[derive(Eq)]
    {
        /// Blocks on each die, at least 2. Default 8.
        blocks: u32 = 8,
        /// What happens to a host page if they have no room.
        full: SlcFull = SlcFull::Direct,
        /// How long the device rests before it folds in a gap between requests, in microseconds. Default 1000.
        idle_after_us: u32 = 1000,
    }
}

options! {
    Dynamic
    /// A cache of free blocks.
    #[derive(Eq)]
    {
        /// What happens to a host page if no block is free enough.
        full: SlcFull = SlcFull::Direct,
        /// How long the device rests before it folds in a gap between requests, in microseconds. Default 1000.
        idle_after_us: u32 = 1000,
    }
}

impl SlcCache {
    /// The name, if there are such blocks.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Fixed(_) => Some("fixed"),
            Self::Dynamic(_) => Some("dynamic"),
        }
    }

    /// How long the device rests before the cache is emptied in a gap; `None` without a cache.
    pub(super) fn idle_after_us(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Fixed(Fixed { idle_after_us, .. }) | Self::Dynamic(Dynamic { idle_after_us, .. }) => {
                Some(idle_after_us)
            }
        }
    }
}

/// What happens to a host page if the blocks with one bit per cell have no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlcFull {
    /// It goes to a block that holds all its bits. The cache is emptied when free blocks run short, and in gaps.
    #[default]
    Direct,
    /// Room is made for it: every host page is written twice, first with one bit per cell.
    Fold,
}

/// A page map's cache.
#[derive(Debug)]
pub(super) struct Cache {
    is_dynamic: bool,
    when_full: SlcFull,
    /// Pages in a block with one bit per cell.
    pages: u32,
    /// Blocks on each die that always have one bit per cell, and the planes they are spread over.
    fixed: u32,
    planes: u32,
}

impl Cache {
    /// The cache chosen by `config`, on a device checked for it.
    pub(super) fn new(geometry: &Geometry, rules: &Rules, config: &Config) -> Option<Self> {
        let (is_dynamic, when_full) = match config.slc_cache {
            SlcCache::None => return None,
            SlcCache::Fixed(Fixed { full, .. }) => (false, full),
            SlcCache::Dynamic(Dynamic { full, .. }) => (true, full),
        };
        Some(Self {
            is_dynamic,
            when_full,
            pages: rules.slc_pages(geometry),
            fixed: config.fixed_slc_blocks(),
            planes: geometry.shape().planes_per_die,
        })
    }

    /// By block: whether it always has one bit per cell; empty if none has.
    pub(super) fn fixed_blocks(&self, geometry: &Geometry) -> Vec<bool> {
        if self.fixed == 0 {
            return Vec::new();
        }
        let first = |block: u32| geometry.blocks_of_die(geometry.die_of(BlockId(block))).start;
        let blocks_per_plane = geometry.shape().blocks_per_plane;
        (0..geometry.blocks()).map(|block| self.is_fixed(block - first(block), blocks_per_plane)).collect()
    }

    pub(super) fn is_dynamic(&self) -> bool {
        self.is_dynamic
    }

    /// Whether the block at this place in its die always has one bit per cell: the first ones in each plane.
    fn is_fixed(&self, place: u32, blocks_per_plane: u32) -> bool {
        let (plane, place) = (place / blocks_per_plane, place % blocks_per_plane);
        place * self.planes + plane < self.fixed
    }
}

/// A die's blocks with one bit per cell.
#[derive(Debug)]
pub(super) struct DieCache {
    pub(super) frontier: Frontier,
    /// The filled ones, the oldest first.
    pub(super) full: VecDeque<BlockId>,
    /// The oldest full block once it was seen to hold nothing, and the host's page count at the time.
    emptied: Option<(BlockId, u64)>,
}

impl Default for DieCache {
    fn default() -> Self {
        Self { frontier: Frontier::none(), full: VecDeque::new(), emptied: None }
    }
}

impl DieCache {
    /// A frontier without room waits to be folded.
    fn close_full(&mut self) {
        if self.frontier.is_full() {
            self.close();
        }
    }

    /// The block being filled waits to be folded.
    pub(super) fn close(&mut self) {
        let filled = std::mem::replace(&mut self.frontier, Frontier::none());
        self.full.extend(Some(filled.block).filter(|block| block.is_some()));
    }
}

impl Config {
    /// Blocks on a die that always have one bit per cell.
    pub fn fixed_slc_blocks(&self) -> u32 {
        match self.slc_cache {
            SlcCache::Fixed(Fixed { blocks, .. }) => blocks,
            SlcCache::None | SlcCache::Dynamic(_) => 0,
        }
    }

    /// Blocks on a die being filled at the same time, without a fixed cache's blocks.
    pub fn filled_blocks(&self) -> u32 {
        self.frontiers() + u32::from(matches!(self.slc_cache, SlcCache::Dynamic(_)))
    }

    /// Checks a cache's needs.
    pub(super) fn check_slc(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FtlError> {
        let Some(kind) = self.slc_cache.name() else { return Ok(()) };
        let refuse = |why: String| Err(FtlError::Config(format!("ftl.page.slc_cache.{kind} {why}")));
        if rules.slc_pages(geometry) == 0 {
            return refuse(format!(
                "needs cells of several bits and blocks of at least as many pages: this device has \
                 device.rules.bits_per_cell = {} and {} pages a block",
                rules.bits_per_cell,
                geometry.pages_per_block()
            ));
        }
        if matches!(self.stripe, Stripe::Address(_)) {
            return refuse(
                "takes the host's pages on dies in turn, and ftl.page.stripe.address gives each address its plane: take one \
                 of the two"
                    .into(),
            );
        }
        if !matches!(self.placement, Placement::One | Placement::Two) {
            return refuse(
                "takes every page of the host, and ftl.page.placement keeps some of them apart: take \"one\" or \"two\""
                    .into(),
            );
        }
        if !matches!(self.wear, Wear::None | Wear::Dynamic) {
            return refuse(
                "wears its blocks at another rate, and ftl.page.wear compares all of them: take \"none\" or \"dynamic\""
                    .into(),
            );
        }
        if self.reserve_blocks < 2 {
            return refuse(
                "needs ftl.page.reserve_blocks = 2 or more: what it empties takes up to a block before it frees one"
                    .into(),
            );
        }
        let most = geometry.blocks_per_die().saturating_sub(self.reserve_blocks.saturating_add(self.frontiers() + 2));
        let least = if kind == "fixed" { 2 } else { 0 };
        if self.fixed_slc_blocks() < least || self.fixed_slc_blocks() > most {
            return Err(FtlError::Config(format!(
                "ftl.page.slc_cache.fixed.blocks = {}: it is at least 2, and at most {most} of the {} blocks of a {}, where the \
                 others are needed beside it",
                self.fixed_slc_blocks(),
                geometry.blocks_per_die(),
                self.stripe.unit()
            )));
        }
        Ok(())
    }
}

impl Pages {
    /// Writes a host page to a block with one bit per cell, or past the cache if no such block has room.
    #[inline(never)]
    pub(super) fn store_cached<N: Nand, S: Noted>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        at: Lpn,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        while let Some(die) = self.cached_die(scheme, nand)? {
            // Opening a block may have relocated this page's older copy, so the sequence number comes last.
            let (to, aux) = self.dies[die].slc.frontier.take();
            let oob = Oob { aux, ..Oob::data(at, self.keeper.next_seq(), nand.ctx().origin()) };
            match nand.program(to, page, &[], oob) {
                Ok(_) => {
                    self.events.slc_pages += 1;
                    scheme.map_stored(self, nand, (at, to));
                    return self.collect(scheme, nand, die);
                }
                Err(NandError::ProgramFailed(_)) => {
                    let failed = std::mem::replace(&mut self.dies[die].slc.frontier, Frontier::none());
                    self.dies[die].failing.push_back(failed.block);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.events.slc_direct_pages += 1;
        self.store_at(scheme, nand, 0, at, page)
    }

    /// The die in turn whose block with one bit per cell takes the next page; `None` if the page goes past the cache.
    ///
    /// With a fixed cache it does so if the die in turn has no room in its own blocks. If the page looked for room on
    /// other dies instead, the few dies with some would take all pages, and the rest of the device would be idle.
    fn cached_die<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N) -> Result<Option<usize>, FtlError> {
        for _ in 0..self.dies.len() {
            let die = self.dies.next_turn();
            self.note_emptied(die);
            if !self.dies[die].slc.frontier.is_full()
                || (self.has_cached_block(scheme, die)
                    && self.is_below_share(die)
                    && self.open_cached_block(scheme, nand, die)?)
            {
                return Ok(Some(die));
            }
            if self.goes_past_cache(die) {
                // The page past the cache is in turn there.
                self.dies.repeat_turn(die);
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Whether a page goes past the fixed cache on `die` for lack of room, to the same die.
    fn goes_past_cache(&mut self, die: usize) -> bool {
        let is_past = |cache: &Cache| !cache.is_dynamic() && cache.when_full == SlcFull::Direct;
        self.cache.as_ref().is_some_and(is_past) && self.takes(die, 0)
    }

    /// Pages written by the host.
    fn host_pages(&self) -> u64 {
        self.events.slc_pages + self.events.slc_direct_pages
    }

    /// Looks whether the oldest block in the cache on `die` holds nothing any more.
    fn note_emptied(&mut self, die: usize) {
        let now = self.host_pages();
        let state = &mut self.dies[die].slc;
        let oldest = state.full.front().filter(|&&block| self.table.valid_pages(block) == 0);
        let noted = state.emptied;
        state.emptied = oldest.map(|&oldest| noted.filter(|&(block, _)| block == oldest).unwrap_or((oldest, now)));
    }

    /// Whether a fixed cache's oldest block was seen to hold nothing, and the host has since written a page for each
    /// other die.
    /// Its erase needs the programs on other dies that replaced its pages. If it began right behind the last one, each
    /// die would wait for another's erase: in a sequential rewrite the first page in a block just erased replaces the
    /// last page in the block that the next die erases.
    fn can_be_erased(&self, die: usize) -> bool {
        let others = self.dies.len() as u64 - 1;
        let state = &self.dies[die].slc;
        state
            .emptied
            .is_some_and(|(block, then)| state.full.front() == Some(&block) && self.host_pages() - then >= others)
    }

    /// Whether a die has, or could make free, a block to hold one bit per cell next.
    fn has_cached_block<S: Scheme>(&self, scheme: &S, die: usize) -> bool {
        let Some(cache) = &self.cache else { return false };
        let state = &self.dies[die];
        let makes_room = cache.when_full == SlcFull::Fold;
        if cache.is_dynamic() {
            // One more stays free, for pages that go past the cache.
            return makes_room || self.free_in(scheme, die) > self.config.reserve_blocks + 1;
        }
        // With a single block nothing would tell, after a cut during its erase, that the device was in use.
        let could_fold = makes_room && (!state.slc.full.is_empty() || state.relocation.is_some());
        let die_number = die as u32;
        self.keeper.good_apart(die_number) > 1
            && (could_fold || self.can_be_erased(die) || self.keeper.has_free_apart(die_number))
    }

    /// Replaces the cache's full frontier; false if no block is to be had.
    #[cold]
    fn open_cached_block<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
    ) -> Result<bool, FtlError> {
        self.take_stock(scheme)?;
        self.dies[die].slc.close_full();
        // A block with a failed erase leaves the list. The next one may have to be made free, unless the die has become
        // full or weak.
        while self.has_cached_block(scheme, die) && self.is_below_share(die) {
            let Some(free) = self.take_for_cache(scheme, nand, die)? else { continue };
            if !self.erase_due(nand, die, free)? {
                continue;
            }
            let block = free.block;
            self.table.open(block);
            nand.set_slc(block, true);
            self.dies[die].slc.frontier = self.cached_frontier(block);
            return Ok(true);
        }
        Ok(false)
    }

    /// At the start of a block with one bit per cell.
    fn cached_frontier(&self, block: BlockId) -> Frontier {
        let pages = self.cache.as_ref().map_or(0, |cache| cache.pages);
        Frontier::at_start(&self.geometry, block).with_cycles(self.table.cycles(block)).in_slc(&self.geometry, pages)
    }

    /// Takes a free block for the cache; `None` if it made one free instead, to be looked for again.
    fn take_for_cache<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
    ) -> Result<Option<FreeBlock>, FtlError> {
        if !self.cache.as_ref().is_some_and(Cache::is_dynamic) {
            let free = self.keeper.remove_apart(die as u32);
            return if free.is_some() { Ok(free) } else { self.fold_oldest(scheme, nand, die).map(|()| None) };
        }
        if self.free_in(scheme, die) <= self.config.reserve_blocks {
            self.make_free(scheme, nand, die)?;
            return Ok(None);
        }
        Ok(self.take_free(die, self.config.wear.is_dynamic().then_some(wear::least_worn)))
    }

    /// Empties the block at hand, or the next victim.
    fn make_free<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N, die: usize) -> Result<(), FtlError> {
        if self.dies[die].relocation.is_none() && !self.start_relocation(scheme, nand, die)? {
            return Err(self.worn_out(1));
        }
        self.empty_victim(scheme, nand, die)
    }

    /// Folds a fixed cache's oldest block.
    fn fold_oldest<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N, die: usize) -> Result<(), FtlError> {
        // Its contents go to other blocks, whose reserve is for garbage collection.
        if self.dies[die].relocation.is_some() || self.free_in(scheme, die) <= self.config.reserve_blocks {
            return self.make_free(scheme, nand, die);
        }
        if let Some(block) = self.dies[die].slc.full.pop_front() {
            self.begin_relocation(nand, die, block, Reason::Fold)?;
            self.empty_victim(scheme, nand, die)?;
        }
        Ok(())
    }

    /// The cached block to fold when the die needs a free block. A fold in a dynamic cache always frees more than it
    /// takes; a fixed one never frees any for others.
    pub(super) fn fold_for_free_block(&mut self, die: usize) -> Option<BlockId> {
        let cache = self.cache.as_ref()?;
        if cache.is_dynamic() {
            self.dies[die].slc.full.pop_front()
        } else {
            None
        }
    }

    /// Begins to empty a block for more room in the cache; false if no block helps, or there is no cache.
    pub(super) fn empty_cache_in_gap<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
    ) -> Result<bool, FtlError> {
        let cache = self.cache.as_ref().filter(|_| !self.dies[die].is_weak);
        let Some(is_dynamic) = cache.map(Cache::is_dynamic) else { return Ok(false) };
        let free = self.free_in(scheme, die);
        let state = &mut self.dies[die];
        state.slc.close_full();
        if !is_dynamic && free <= self.config.reserve_blocks && !state.slc.full.is_empty() {
            return self.start_relocation(scheme, nand, die);
        }
        if let Some(block) = state.slc.full.pop_front() {
            return self.begin_relocation(nand, die, block, Reason::Fold).map(|()| true);
        }
        let held = |block: &BlockId| self.table.valid_pages(*block) == 0;
        match self.table.die(die as u32).fewest_valid().filter(|block| is_dynamic && held(block)) {
            Some(block) => self.begin_relocation(nand, die, block, Reason::Room).map(|()| true),
            None => Ok(false),
        }
    }

    /// Whether the cache takes a block with one bit per cell found by a mount.
    pub(super) fn adopts(&self, block: BlockId) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.is_dynamic() || self.keeper.is_apart(block))
    }
}

/// By block: whether its pages mark it as holding one bit per cell, on a device with such blocks. Tells the device.
pub(super) fn tell_modes<N: Nand>(nand: &mut N, scans: &Scans) -> Vec<bool> {
    if scans.are_untouched() {
        return vec![false; scans.len()];
    }
    let geometry = *nand.geometry();
    let most = nand.rules().slc_pages(&geometry);
    let holds_one = |scan: &BlockScan| scan.used <= most && scan.is_slc();
    let slc: Vec<bool> = scans.iter().map(|scan| scan.as_ref().is_some_and(holds_one)).collect();
    for (block, &slc) in (0..).map(BlockId).zip(&slc) {
        nand.set_slc(block, slc);
    }
    slc
}

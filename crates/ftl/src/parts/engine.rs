//! The engine for page-mapped FTLs: a map's pages on flash.
//!
//! A [`Scheme`] has the map. [`Pages`] has the data blocks: it programs a page at a frontier, empties victims, evens out wear,
//! retires blocks with a failed program. Each die has its own frontiers, free blocks, reserve and victims, so the dies collect
//! side by side. [`PageMapped`] puts the two together to an FTL.
//!
//! ## A write
//! 1. [`PageMapped::write`] hands it to [`Scheme::write`].
//! 2. The scheme calls [`Pages::program`] and maps the page afterwards; a map in memory calls `store`, which does both.
//! 3. The next die takes the page (`room.rs`). If its frontier is full, a free block is opened (`open.rs`).
//! 4. The page pays: some pages in the die's victim move (`collect.rs`). The engine copies them and tells the map by
//!    [`Scheme::follow`], or the scheme moves them itself ([`Scheme::relocate`]).
//! 5. [`Scheme::emptied`] writes whatever must be on flash before the victim is erased.
//!
//! | Question | File |
//! |---|---|
//! | Is there room, and on which die? | `room.rs`, `dies.rs`, `stripe.rs` |
//! | At which frontier? | `placing.rs` |
//! | Which block comes next? | `open.rs` |
//! | Which block is emptied, and how fast? | `collect.rs`, `relocation.rs`, `runs.rs`, `finish.rs` |
//! | What does a mount find? | `adopt.rs` |
//! | Pairs of pages, pools, reclaim units, one-bit blocks, gaps, refresh, planes? | each in a file by its name |

pub(crate) mod adopt;
mod background;
mod batch;
mod check;
mod collect;
mod config;
mod dies;
mod finish;
mod idle;
mod inspect;
pub(crate) mod needs;
mod noted;
mod open;
mod pairs;
mod placing;
mod planes;
mod pools;
mod refresh;
mod relocation;
pub(crate) mod room;
mod runs;
mod scheme;
mod slc;
mod store;
mod stripe;
#[cfg(test)]
mod tests;
mod units;

use super::blocks::keeper::Keeper;
use super::blocks::table::BlockTable;
pub use super::shares::Quota;
use super::victim::VictimPolicy;
use super::wear::WearPolicy;
use crate::future::Future;
use crate::{BlockState, Events, Facts, Ftl, FtlError, OwnLoops, RamUse, Uses, Variant};
pub use background::Background;
pub(crate) use config::variants;
pub use config::{Collection, Config, ValidPages};
use dies::{Die, Dies};
pub use idle::{Collect, Idle};
use nandlab_block::Op;
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand, PlacementId, Rules, SectorMask, Time};
pub(crate) use noted::Noted;
use placing::Placing;
pub use scheme::Scheme;
pub use slc::{Dynamic, Fixed, SlcCache, SlcFull};
pub use stripe::{ByAddress, Order, OverDies, Stripe};

/// A page's target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// The host's first frontiers, the dies in turn.
    InTurn,
    /// These frontiers of the host, the dies in turn.
    Placed(u32),
    /// A die's frontier for the host, if the die takes pages.
    On(u32),
    /// A frontier for pages moved on a die.
    Moved(u32),
    /// A group's frontiers, the dies in turn.
    InGroup(u32),
    /// The same for a moved page: no victim is emptied for it.
    MovedInGroup(u32),
}

/// The data blocks.
#[derive(Debug)]
pub struct Pages {
    pub(crate) geometry: Geometry,
    /// Pages in a block for data.
    pub(crate) data_pages: u32,
    /// Pages of a block that may be blank because of pairs; 0 on a chip without pairs.
    padding: u32,
    pub(crate) table: BlockTable,
    pub(crate) keeper: Keeper,
    dies: Dies,
    /// The bad blocks with which the exported pages were found to have enough good ones, after such a check.
    enough_with: Option<u32>,
    /// The scheme's own blocks: on all dies together, and by die.
    shared: u32,
    shares: Vec<u32>,
    logical_pages: u32,
    /// Pages that must find room.
    needed: u32,
    pub(crate) config: Config,
    /// Picks the block to empty next.
    policy: Box<dyn VictimPolicy>,
    placing: Placing,
    /// The blocks with one bit per cell, if there are any.
    cache: Option<slc::Cache>,
    wear_policy: Option<Box<dyn WearPolicy>>,
    /// The blocks to rewrite for their bit errors, if any.
    refreshing: Option<Box<refresh::Refreshing>>,
    /// By group: the last page's die.
    group_turns: Vec<usize>,
    /// The last host page's die, if it has not paid for collection yet.
    owing: Option<usize>,
    pub(crate) events: Events,
}

/// A page-mapped FTL's RAM state.
#[derive(Debug)]
pub struct PageMapped<S> {
    pub(crate) pages: Pages,
    pub(crate) scheme: S,
}

impl<S: Scheme> Ftl for PageMapped<S> {
    type Config = S::Config;
    const OWN_LOOPS: OwnLoops = S::OWN_LOOPS;
    const PAGED_VARIANT: Option<&'static str> = S::PAGED_VARIANT;
    const PADS_PAIRS: bool = S::PADS_PAIRS;
    const SURVIVES_UNSTABLE_PAGES: bool = true;

    fn variants() -> Vec<Variant<S::Config>> {
        S::variants()
    }

    fn notices(config: &Self::Config, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, FtlError> {
        S::notices(config, geometry, logical_pages)
    }

    fn set_seed(config: &mut Self::Config, seed: u64) {
        S::set_seed(config, seed);
    }

    fn future_mut(config: &mut Self::Config) -> Option<&mut Future> {
        S::future_mut(config)
    }

    fn facts(config: &Self::Config) -> Facts {
        S::facts(config)
    }

    fn remedy(geometry: &Geometry, rules: &Rules, config: &S::Config, logical_pages: u32) -> Option<String> {
        S::remedy(geometry, rules, config, logical_pages)
    }

    fn max_logical_pages(geometry: &Geometry, rules: &Rules, config: &Self::Config) -> Result<u32, FtlError> {
        S::max_logical_pages(config, geometry, rules)
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Self::Config) -> Result<Self, FtlError> {
        let (pages, scheme) = S::mount(nand, logical_pages, config)?;
        Ok(Self { pages, scheme })
    }

    #[inline(always)]
    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        self.scheme.write(&mut self.pages, nand, at, sectors, page)?;
        self.pages.pay_owed(&mut self.scheme, nand)
    }

    #[inline]
    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        self.scheme.read(&mut self.pages, nand, at, sectors, page)
    }

    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        if sectors != self.pages.geometry.full_mask() {
            return Ok(());
        }
        self.scheme.trim(&mut self.pages, nand, at)?;
        self.pages.pay_owed(&mut self.scheme, nand)
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.scheme.flush(&mut self.pages, nand)?;
        self.pages.pay_owed(&mut self.scheme, nand)?;
        self.pages.pad_for_flush(&mut self.scheme, nand)?;
        if self.pages.dies.iter().any(Die::is_failing) {
            self.pages.retire_failing(&mut self.scheme, nand)?;
        }
        let end = nand.ctx().acknowledged().max(self.pages.keeper.noted_by());
        nand.ctx().fence_at(end);
        nand.ctx().wait_until(end);
        Ok(())
    }

    fn write_run<N: Nand>(&mut self, nand: &mut N, first: Lpn, pages: &[N::Buf]) -> Result<(), FtlError> {
        if self.pages.fills_planes() {
            return self.scheme.write_over_planes(&mut self.pages, nand, first, pages);
        }
        let full = self.pages.geometry.full_mask();
        (first.0..).zip(pages).try_for_each(|(at, page)| self.write(nand, Lpn(at), full, page))
    }

    fn takes_batches<N: Nand>(&self, nand: &N) -> bool {
        S::TAKES_BATCHES && self.pages.takes_batches(nand)
    }

    fn write_batch<N: Nand>(&mut self, nand: &mut N, pages: &[Lpn]) -> Result<(), (usize, FtlError)> {
        self.scheme.write_batch(&mut self.pages, nand, pages)
    }

    #[inline]
    fn pause<N: Nand>(&mut self, nand: &mut N, until: Option<Time>) -> Result<(), FtlError> {
        let worked = until.map_or(Ok(()), |until| self.pages.work_in_gap(&mut self.scheme, nand, until));
        if self.pages.dies.puts_off() {
            self.pages.carry_out_all(&mut self.scheme, nand);
        }
        worked
    }

    fn update_unit(&mut self, placement: PlacementId) {
        self.pages.retire_unit(placement);
    }

    fn uses(&self) -> Uses {
        Uses { placement: self.pages.use_of_units(), groups: self.pages.placing.groups(), ..Uses::default() }
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
        self.scheme.prefetch_old(&self.pages.table, at);
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
        self.pages.block_states(&self.scheme)
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.scheme.log_blocks()
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        scoped(nand, Cause::Mount, |nand| {
            check::check(&self.pages, &self.scheme, nand);
            self.scheme.check(&self.pages, nand);
        });
    }
}

//! Flash translation layers.
//!
//! Read this file first: [`Ftl`] is the contract. A new FTL is one new file and one line in `list.rs`. The configuration, `nandlab list` and the Python class follow from it. So do the conformance, fault,
//! power-cut, fuzz, differential and golden runs, each with every set from [`Ftl::variants`].

pub mod bast;
pub mod block;
pub mod dftl;
mod disk;
mod doubted;
mod error;
mod events;
mod facts;
pub mod fast;
pub mod firmware;
pub mod fmax;
pub mod future;
pub mod hybrid_map;
pub mod kast;
pub mod last;
pub mod lazyftl;
mod list;
pub mod migration;
pub mod mtbs;
pub mod nftl;
mod options;
pub mod own;
pub mod page;
pub mod parts;
mod recycling;
pub mod rescue;
pub mod sector_log;
pub mod sector_map;
pub mod superblock;
pub mod superpage;
#[cfg(test)]
mod tests;
pub mod zns;
pub mod zoned;
pub mod zones;

pub use disk::Disk;
pub use doubted::mount;
pub use error::FtlError;
pub use events::Events;
pub use facts::{Choice, Facts, Trims};
pub use list::{anywhere, Entry, FtlConfig, Visitor, LIST};
pub use nandlab_block::RamUse;
pub use parts::placement::{GroupUse, HandleUse, LoggedEvent, PlacementEvent, PlacementEvents, PlacementUse};
pub use recycling::{Recycling, RecyclingKind};
pub use zones::{ZoneCount, ZoneOptions, ZoneUse};

use future::Future;
use nandlab_block::{Op, Request, ZoneReport, ZoneShape};
use nandlab_nand::controller::ZoneTimes;
use nandlab_nand::{BlockId, Geometry, Lpn, Nand, PlacementId, Rules, SectorMask, Time};

/// A flash translation layer: the RAM state. The flash is a separate value.
///
/// `drop` is the power cut, [`Ftl::mount`] is recovery. After [`Ftl::flush`] everything acknowledged survives. A write
/// since the last flush may be lost with the power, but no page is ever torn: each sector has its contents from the
/// last flush or from a write since.
pub trait Ftl: Sized + Send + 'static {
    /// The options in a `[ftl.<name>]` table.
    type Config: Clone + std::fmt::Debug + Send + Sync + 'static;

    /// For an FTL with its map on flash: the name of the [`Ftl::variants`] set with little of the map in memory. The
    /// proofs demand much paging from their runs with these options alone.
    const PAGED_VARIANT: Option<&'static str> = None;

    /// Option sets for the proofs beside the default one: at least one set for each way of working chosen by an option,
    /// and the least legal amount for an option with an amount.
    fn variants() -> Vec<Variant<Self::Config>> {
        Vec::new()
    }

    /// Options without effect on a device with so many exported pages, in sentences beginning with the key.
    ///
    /// # Errors
    /// [`FtlError::Config`] if an option cannot work there.
    fn notices(_config: &Self::Config, _geometry: &Geometry, _logical_pages: u32) -> Result<Vec<String>, FtlError> {
        Ok(Vec::new())
    }

    /// Sets the experiment's seed for the random choices made under these options.
    fn set_seed(_config: &mut Self::Config, _seed: u64) {}

    /// Sets the zones of the device; false if the FTL is no host of zones.
    fn set_zones(_config: &mut Self::Config, _zones: ZoneOptions) -> bool {
        false
    }

    /// Sets how long changes of zones take, if the FTL hands them out.
    fn set_zone_times(_config: &mut Self::Config, _times: ZoneTimes) {}

    /// The zones that the host of a device will see; `None` if it sees none.
    ///
    /// # Errors
    /// As [`Self::max_logical_pages`].
    fn planned_zones(_config: &Self::Config, _geometry: &Geometry) -> Result<Option<ZoneShape>, FtlError> {
        Ok(None)
    }

    /// Where the options keep what is known about the writes to come; `None` if no option asks for it.
    fn future_mut(_config: &mut Self::Config) -> Option<&mut Future> {
        None
    }

    /// The facts settled by these options before the FTL runs.
    fn facts(_config: &Self::Config) -> Facts {
        Facts::default()
    }

    /// Logical pages this FTL can export on a device without bad blocks; more would deadlock.
    ///
    /// # Errors
    /// [`FtlError::Config`] if the device is too small, or an option cannot work on it.
    fn max_logical_pages(geometry: &Geometry, rules: &Rules, config: &Self::Config) -> Result<u32, FtlError>;

    /// A change to one option with which the FTL can export `logical_pages`, such as `ftl.page.placement.pools.blocks =
    /// 3`. Called if they are more than [`Self::max_logical_pages`].
    fn remedy(_geometry: &Geometry, _rules: &Rules, _config: &Self::Config, _logical_pages: u32) -> Option<String> {
        None
    }

    /// The only constructor: formats an erased device, else recovers from flash alone.
    ///
    /// # Errors
    /// [`FtlError::Config`] if `logical_pages` is over [`Self::max_logical_pages`]; [`FtlError::WornOut`] if bad blocks
    /// leave too little; [`FtlError::Nand`].
    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Self::Config) -> Result<Self, FtlError>;

    /// Stores these `sectors` from `page` in logical page `at`.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError>;

    /// Stores one request's whole pages in the logical pages from `first` on: an FTL may place them together.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn write_run<N: Nand>(&mut self, nand: &mut N, first: Lpn, pages: &[N::Buf]) -> Result<(), FtlError> {
        let full = nand.geometry().full_mask();
        (first.0..).zip(pages).try_for_each(|(at, page)| self.write(nand, Lpn(at), full, page))
    }

    /// Whether [`Self::write_batch`] is for this device.
    fn takes_batches<N: Nand>(&self, _nand: &N) -> bool {
        false
    }

    /// Stores whole pages without contents, one after the other, as [`Self::write`] does for each.
    ///
    /// # Errors
    /// As there, with the number of pages stored before.
    fn write_batch<N: Nand>(&mut self, _nand: &mut N, _pages: &[Lpn]) -> Result<(), (usize, FtlError)> {
        unreachable!("this FTL takes a page at a time")
    }

    /// Pages in a group that [`Self::write_run`] may place together; each group begins at a multiple of this number. A
    /// run that is too long is cut between two groups.
    fn span(&self) -> u32 {
        1
    }

    /// Fills at least these `sectors` in `page`; sectors never written, or trimmed, are zero.
    ///
    /// # Errors
    /// [`FtlError::Nand`]; [`FtlError::WornOut`] if the read has a block rewritten and there is no room.
    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError>;

    /// These sectors' contents are no longer needed. A page trimmed as a whole reads as zeros from now on; an FTL may
    /// leave partly trimmed pages as they are.
    ///
    /// # Errors
    /// [`FtlError::Nand`].
    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError>;

    /// Makes everything acknowledged survive a power cut; ends in a fence.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError>;

    /// No request follows for now: carries out all work put off. Then the device counts every issued operation.
    ///
    /// With `until`, the device rests since [`nandlab_nand::Ctx::arrival`], and no request comes before `until`: time
    /// for work in the background. An operation begun before `until` goes on to its end. Only this work fails.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    #[inline]
    fn pause<N: Nand>(&mut self, _nand: &mut N, _until: Option<Time>) -> Result<(), FtlError> {
        Ok(())
    }

    /// Whether the FTL is no code of ours: no proof here runs it, and a run begins with erased flash.
    const IS_ELSEWHERE: bool = false;

    /// The devices the FTL is compiled for, so that its loop calls none of their functions through a pointer. Each costs
    /// every build seconds. Without one, counts take up to four times as long (the sector log), and runs with time up to 1.4
    /// times (the sector map).
    const OWN_LOOPS: OwnLoops = OwnLoops::NONE;

    /// Whether flushed data survives cuts of upper pages on a chip with pairs ([`Rules::pair_distance`]).
    const PADS_PAIRS: bool = false;

    /// Whether the FTL survives cuts that leave an unstable page ([`Rules::unstable_pages`]), with what [`mount()`] does about them.
    const SURVIVES_UNSTABLE_PAGES: bool = false;

    /// Refuses a chip with pairs or with unstable pages if the FTL does not survive its power cuts.
    ///
    /// # Errors
    /// [`FtlError::Config`].
    fn check_rules(rules: &Rules) -> Result<(), FtlError> {
        if rules.pair_distance > 0 && !Self::PADS_PAIRS {
            return Err(FtlError::Config(format!(
                "device.rules.pair_distance = {}: a power cut during the program of an upper page destroys flushed data in its \
                 lower page, and this FTL does nothing about that; take ftl.page, or a device without pairs",
                rules.pair_distance
            )));
        }
        if rules.unstable_pages && !Self::SURVIVES_UNSTABLE_PAGES {
            return Err(FtlError::Config(
                "device.rules.unstable_pages = true: a power cut can leave a page that reads well only at some reads, and this \
                 FTL may lose flushed data then; take ftl.page, or a device without unstable pages"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Whether this is a device of zones, which [admits](Self::admit) requests.
    const HAS_ZONES: bool = false;

    /// Admits a request to a device of zones. A change of a zone is carried out here. An append becomes a write.
    ///
    /// # Errors
    /// [`FtlError::Zone`] if the zone takes no such request; nothing has changed then. [`FtlError::Nand`].
    fn admit<N: Nand>(&mut self, _nand: &mut N, request: &Request) -> Result<Request, FtlError> {
        Ok(*request)
    }

    /// The zones as the host sees them; `None` without zones, or with a host's map over them.
    fn zone_shape(&self) -> Option<ZoneShape> {
        None
    }

    /// The zone at a sector; `None` without zones, or behind the last one.
    fn zone_at(&self, _sector: u64) -> Option<ZoneReport> {
        None
    }

    /// Ends the reclaim unit of a handle, if there is data placement: the next page written through it begins another.
    fn update_unit(&mut self, _placement: PlacementId) {}

    /// What some FTLs count beside their events.
    fn uses(&self) -> Uses {
        Uses::default()
    }

    /// Map entries looked up by firmware for these sectors in a page. Called only with `host.lookup_us`; a pure look.
    fn look_ups(&self, _op: Op, _at: Lpn, _sectors: SectorMask) -> u64 {
        1
    }

    /// A request begins that covers these pages, at least in part: an FTL may fetch their map entries together.
    #[inline]
    fn expect(&mut self, _first: Lpn, _pages: u32) {}

    /// Starts loading the map entry for `at` into the processor's cache; changes nothing.
    #[inline]
    fn prefetch(&self, _at: Lpn) {}

    /// Starts loading the other data changed by a write to `at`; its map entry was prefetched some requests ago.
    #[inline]
    fn prefetch_old(&self, _at: Lpn) {}

    /// Logical pages exported.
    fn logical_pages(&self) -> u32;

    /// The memory firmware would need.
    fn ram(&self) -> RamUse;

    /// The FTL's events since its mount.
    fn events(&self) -> Events;

    /// Each block's contents now, in address order.
    fn blocks(&self) -> Vec<BlockState>;

    /// The blocks that [`Self::blocks`] calls free, counted without a look at each.
    fn free_blocks(&self) -> u64;

    /// The blocks in use as logs, mirrors or replacements for data blocks, in any order.
    fn log_blocks(&self) -> Vec<BlockId> {
        Vec::new()
    }

    /// Derives every invariant anew from flash and compares.
    ///
    /// # Panics
    /// With the broken invariant and its address.
    fn check<N: Nand>(&self, nand: &mut N);
}

/// Devices that an FTL is compiled for by their types; on all others it runs through `dyn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnLoops {
    counting: bool,
    timed: bool,
}

impl OwnLoops {
    /// None.
    pub const NONE: Self = Self { counting: false, timed: false };
    /// The counting device.
    pub const COUNTING: Self = Self { counting: true, timed: false };
    /// The counting device, without time and with time.
    pub const BOTH: Self = Self { counting: true, timed: true };

    /// Whether the counting device is among them, `timed` or not.
    pub const fn has(self, timed: bool) -> bool {
        if timed {
            self.timed
        } else {
            self.counting
        }
    }
}

/// What some FTLs count since their mount, beside their events.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// The use of reclaim units; `None` without data placement.
    pub placement: Option<PlacementUse>,
    /// The sizes and the forecast of the groups that a placement sizes, if there are any.
    pub groups: Option<GroupUse>,
    /// What the host did with zones; `None` without zones.
    pub zones: Option<ZoneUse>,
    /// The zones in the order of their sectors; empty without zones.
    pub by_zone: Vec<ZoneCount>,
    /// The last log blocks that ended or were renewed, the oldest first, if the options ask to keep them.
    pub recyclings: Vec<Recycling>,
}

/// A named set of options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant<C> {
    /// The name in failures, letters, digits and `_`.
    pub name: &'static str,
    /// The options.
    pub config: C,
    /// Whether a fault or a power cut may leave a sound device no room for a write, since so little is kept free.
    pub is_tight: bool,
}

impl<C> Variant<C> {
    /// Options with which a device takes every write after a fault or a cut.
    pub fn safe(name: &'static str, config: C) -> Self {
        Self { name, config, is_tight: false }
    }

    /// Options that buy capacity with safety.
    pub fn tight(name: &'static str, config: C) -> Self {
        Self { name, config, is_tight: true }
    }

    pub(crate) fn map<D>(self, wrap: impl FnOnce(C) -> D) -> Variant<D> {
        Variant { name: self.name, config: wrap(self.config), is_tight: self.is_tight }
    }
}

/// A block's contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockState {
    /// Pages with the newest copy of something; collection would have to copy them.
    pub valid: u32,
    /// Holds nothing, and can be filled: erased, or erased before its next use.
    pub is_free: bool,
}

//! A sector map, cached and on flash, over pages that gather sectors from many logical pages: the base for the sector
//! map and the hybrid map. Each is a [`Scheme`] with options for this base.
//!
//! ## Pages
//! A gathering page with `S` sectors holds `S - 1` of them, from any logical pages, and their list in its last sector
//! ([`nandlab_nand::Kind::Sectors`]). A whole page holds all sectors of one logical page and no list
//! ([`nandlab_nand::Kind::Data`]). With one sector per page all pages are whole. In the hybrid map a page is whole if
//! it was written whole.
//!
//! ## Entries
//! An entry has four bytes: a sector's address, `page x S + place`. In the hybrid map the logical pages' entries come
//! first, each a page, [`SPLIT`], or none; the entries for split pages' sectors lie behind them. An entry changes when
//! the page is on flash, not before; a sector still in the merge buffer is found by the buffer's list. So flash, the
//! valid counts and the map always speak of the same copies, and a cut that takes the buffer leaves the copies before
//! it.
//!
//! ## Collection
//! Each die has its free blocks, its reserve and its share of the map's blocks, and collects for itself: victims and
//! their survivors stay on it. Chance decides how much is valid on a die, since host pages go to the dies in turn. A
//! die without gain is passed over; the limit on exported pages leaves room on another one. If failures or a map block
//! use up a reserve, another die helps out. A die with too few good blocks is left out ([`room`]).
//!
//! ## Recovery
//! The rules are the same as in [`super::flash_map`]: the copy with the higher sequence number counts, and a map page
//! that says "nothing" counts against copies older than itself. In the hybrid map an unsplit page's sector entries make
//! no statement: they are [`UNSET`] or stale copies, never "nothing". So when an unmapped page is split, its sector
//! entries must be on flash before the page's entry stops hiding the older copies.

mod changed;
mod check;
mod cmt;
mod collect;
mod copies;
mod emptying;
mod gathering;
mod handles;
mod holds;
mod limits;
mod mount;
mod options;
mod paging;
mod rebuild;
mod room;
mod transfer;

use super::blocks::counts::ValidCounts;
use super::blocks::frontier::Frontier;
use super::blocks::keeper::Keeper;
use super::collection::Collection;
use super::flash_map::FlashMap;
use super::merge_buffer::{Gathered, Written};
use super::placement::FdpOptions;
use crate::{error, BlockState, Events, Facts, Ftl, FtlError, OwnLoops, RamUse, Uses, Variant};
use cmt::Cmt;
use emptying::Emptying;
use handles::Placing;
pub use handles::SectorHandles;
use holds::{Holds, PagesHold};
use nandlab_block::Op;
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand, PlacementId, Ppa, Rules, SectorMask, Time};
pub(crate) use options::sectored_options;
pub use options::{Hybrid, Options, Replacement, Rewrite, WriteBack};
use room::Stock;
use std::collections::{BTreeSet, VecDeque};
use std::marker::PhantomData;

/// Nothing is there.
pub(crate) const NOTHING: u32 = u32::MAX;
/// The entry for a sector whose page was never split: says nothing.
const UNSET: u32 = u32::MAX - 1;
/// The entry for a page whose sectors have their own entries.
const SPLIT: u32 = u32::MAX - 2;
/// Sectors on the largest device: addresses stay below, so one bit is free to tell a buffer from flash, as in firmware.
const MOST_SECTORS: u64 = 1 << 31;
/// In a gathering page's `aux`: its sectors were lost to bit errors.
pub(crate) const LOST: u16 = 2;

/// Entries in a map page.
fn entries_per_map_page(geometry: &Geometry) -> u32 {
    geometry.page_bytes() / 4
}

/// The differences between FTLs over a cached sector map.
pub trait Scheme: Sized + Send + std::fmt::Debug + 'static {
    /// The options in the `[ftl.<name>]` table.
    type Config: Clone + std::fmt::Debug + Send + Sync + 'static;
    /// The table's name.
    const NAME: &'static str;

    /// As [`Ftl::OWN_LOOPS`].
    const OWN_LOOPS: OwnLoops = OwnLoops::COUNTING;

    /// As [`Ftl::variants`].
    fn variants() -> Vec<Variant<Self::Config>>;

    /// The options it sets here.
    fn options(config: &Self::Config) -> Options;
}

/// The die that takes a page.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// The next one in turn with room for the host's sectors of a handle, or able to gain some.
    Host(usize),
    /// This one, for data moved out of a block.
    Moved { from: BlockId, to: Place },
}

/// The place of an open block: a die and a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    die: usize,
    handle: usize,
}

/// The RAM state.
#[derive(Debug)]
pub struct SectorMapped<S> {
    options: Options,
    geometry: Geometry,
    full: SectorMask,
    logical_pages: u32,
    /// Sectors in a page, and in a gathering page.
    per_page: u32,
    /// log2 of `per_page`.
    page_shift: u32,
    gathered: u32,
    first_sector_entry: u32,
    keeper: Keeper,
    /// Valid sectors in each data block; the map's and the keeper's blocks are free here.
    counts: ValidCounts,
    holds: PagesHold,
    /// The page programmed last, while its sectors are being mapped, and the number mapped so far.
    mapping: Option<(Ppa, u32)>,
    placing: Placing,
    /// By die and handle: the block being filled.
    active: Vec<Frontier>,
    /// By die: the block being emptied.
    emptying: Vec<Option<Emptying>>,
    /// The die of the last host page, if the page has not paid for collection yet.
    owing: Option<usize>,
    failing: VecDeque<BlockId>,
    /// By handle: the die that had the last turn, and the pages that it took in it, folded ones included.
    turns: Vec<(usize, u32)>,
    stock: Stock,
    map: FlashMap,
    cmt: Cmt,
    /// Map pages with trimmed entries not on flash yet.
    trimmed: BTreeSet<u32>,
    /// Map pages with sector entries for pages split while unmapped; see above.
    statements: BTreeSet<u32>,
    /// When the last write to an unmapped sector ends: a map page with its entry must not be on flash before.
    mapped: Time,
    /// By handle: the sectors that wait for their page.
    buffers: Vec<Gathered>,
    written: Written,
    /// Whether `counts` may be wrong after a search for lost map pages; see [`Self::recount`].
    is_estimated: bool,
    /// Lost map pages searched for since the mount.
    rebuilt: u64,
    /// Why writes have ended, if too much of the map was lost.
    ended: Option<String>,
    /// Buffers for a map page and for a unit.
    page: Vec<u8>,
    unit: Vec<u32>,
    list: Vec<u8>,
    events: Events,
    /// Units read from flash for a miss.
    map_loads: u64,
    scheme: PhantomData<S>,
}

impl<S: Scheme> SectorMapped<S> {
    /// The logical sector at `place` in a logical page.
    #[inline]
    fn sector(&self, at: Lpn, place: u32) -> u32 {
        at.0 * self.per_page + place
    }

    /// The flash page that a sector lies in.
    #[inline]
    fn page_of(&self, address: u32) -> Ppa {
        Ppa(address >> self.page_shift)
    }

    fn dies(&self) -> usize {
        self.geometry.dies() as usize
    }

    /// The die of a block with data, and its handle.
    fn place_of(&self, block: BlockId) -> Place {
        Place { die: self.geometry.die_of(block) as usize, handle: self.placing.of_block(block) }
    }

    /// Where data moved out of a block goes: to the open block of its handle on its die.
    fn moved(&self, from: BlockId) -> Target {
        Target::Moved { from, to: self.place_of(from) }
    }

    /// The place of a handle's open block on a die, among all open blocks.
    #[inline]
    fn place_at(&self, Place { die, handle }: Place) -> usize {
        die * self.placing.count() + handle
    }

    /// A handle's open block on a die.
    #[inline]
    fn frontier(&self, place: Place) -> &Frontier {
        &self.active[self.place_at(place)]
    }

    #[inline]
    fn frontier_mut(&mut self, place: Place) -> &mut Frontier {
        let slot = self.place_at(place);
        &mut self.active[slot]
    }

    fn after_write<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.write_overdue(nand)?;
        self.pay(nand)?;
        if self.failing.is_empty() {
            return Ok(());
        }
        self.retire_failing(nand)
    }
}

impl<S: Scheme> Ftl for SectorMapped<S> {
    type Config = S::Config;
    const OWN_LOOPS: OwnLoops = S::OWN_LOOPS;
    const PAGED_VARIANT: Option<&'static str> = Some("paged");

    fn variants() -> Vec<Variant<S::Config>> {
        S::variants()
    }

    fn notices(config: &S::Config, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, FtlError> {
        let options = S::options(config);
        let mut notices = Vec::new();
        let map = 4 * u64::from(options.entries(geometry, logical_pages));
        if u64::from(options.cmt_units) * u64::from(options.unit_bytes) >= map {
            notices.push(format!(
                "ftl.{}.cmt_units = {} of {} bytes hold the whole map of {map} bytes: none ever leaves memory",
                S::NAME,
                options.cmt_units,
                options.unit_bytes
            ));
        }
        let (gather_from, sectors) = (options.gather_from(), geometry.sectors_per_page());
        if gather_from > sectors {
            notices.push(format!(
                "ftl.{}.gather_from = {gather_from} has no effect: a page of this device has {}, and only one of which the \
                 victim has all is made whole",
                S::NAME,
                error::sectors(sectors)
            ));
        }
        Ok(notices)
    }

    fn facts(config: &S::Config) -> Facts {
        let placing = S::options(config).placing.map(SectorHandles::options);
        Facts {
            gathers: true,
            placements: placing.map(FdpOptions::placements),
            placed_origins: placing.map_or_else(Vec::new, FdpOptions::placed_origins),
            ..Facts::default()
        }
    }

    fn max_logical_pages(geometry: &Geometry, _: &Rules, config: &S::Config) -> Result<u32, FtlError> {
        S::options(config).max_logical_pages(geometry, S::NAME)
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &S::Config) -> Result<Self, FtlError> {
        mount::mount(nand, logical_pages, S::options(config))
    }

    #[inline]
    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        self.refuse_ended()?;
        let before = nand.ctx().ready();
        let handle = self.placing.of_request(nand.ctx());
        let written = if sectors == self.full && (self.options.hybrid.is_some() || self.per_page == 1) {
            self.write_whole(nand, handle, at, page)
        } else {
            let mut left = sectors.0;
            let mut done = Ok(());
            while left != 0 && done.is_ok() {
                let place = left.trailing_zeros();
                left &= left - 1;
                done = self.add(nand, handle, self.sector(at, place), page, place);
            }
            done
        };
        nand.ctx().set_ready(before);
        written
    }

    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        let before = nand.ctx().ready();
        let loads = self.map_loads;
        let read = self.read_sectors(nand, at, sectors, page);
        self.events.map_double_reads += u64::from(self.map_loads != loads);
        nand.ctx().set_ready(before);
        read
    }

    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        self.refuse_ended()?;
        let before = nand.ctx().ready();
        let trimmed = self.trim_sectors(nand, at, sectors);
        nand.ctx().set_ready(before);
        trimmed
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.refuse_ended()?;
        let before = nand.ctx().ready();
        for handle in 0..self.placing.count() {
            self.write_buffer(nand, handle, true)?;
        }
        self.write_trims(nand)?;
        self.retire_failing(nand)?;
        nand.ctx().set_ready(before);
        let end = nand.ctx().acknowledged().max(self.keeper.noted_by());
        nand.ctx().fence_at(end);
        nand.ctx().wait_until(end);
        Ok(())
    }

    fn update_unit(&mut self, placement: PlacementId) {
        let Some(handle) = self.placing.handle_to_end(placement) else { return };
        let has_room = (0..self.dies()).any(|die| !self.frontier(Place { die, handle }).is_full());
        let is_unfilled = self.placing.blocks_left(handle).map(|blocks| blocks > 0 || has_room);
        (0..self.dies()).for_each(|die| self.close_open(Place { die, handle }));
        self.placing.update(handle, is_unfilled, self.keeper.seq());
    }

    fn uses(&self) -> Uses {
        let left = |handle| (0..self.dies()).map(|die| self.frontier(Place { die, handle }).left()).sum();
        let open: Vec<(u32, u32)> =
            self.buffers.iter().enumerate().map(|(handle, buffer)| (left(handle), buffer.len() as u32)).collect();
        Uses { placement: self.placing.used(&self.geometry, self.gathered, &open), ..Uses::default() }
    }

    /// One per sector. In the hybrid map one per page, and one per sector if the page is split or about to be. If an
    /// entry is not in memory, nobody knows yet whether its page is split.
    fn look_ups(&self, op: Op, at: Lpn, sectors: SectorMask) -> u64 {
        let of_sectors = u64::from(sectors.count());
        if self.options.hybrid.is_none() {
            return of_sectors;
        }
        let is_split = || self.cmt.find(at.0).is_some_and(|slot| self.cmt.get(slot, at.0) == SPLIT);
        let is_whole = op != Op::Read && sectors == self.full;
        1 + if !is_whole && (op != Op::Read || is_split()) { of_sectors } else { 0 }
    }

    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn ram(&self) -> RamUse {
        let mut ram = RamUse::default();
        // The map's last unit may be a partial one.
        let map = 4 * u64::from(self.options.entries(&self.geometry, self.logical_pages));
        let page = u64::from(self.geometry.page_bytes());
        ram.dram.insert("cmt", map.min(self.cmt.most() as u64 * u64::from(self.options.unit_bytes)));
        // While one handle's buffer is written, those of the others wait for sectors.
        let buffers = u64::from(self.options.merge_buffers) + self.placing.count() as u64 - 1;
        ram.dram.insert("merge_buffers", buffers * page);
        if let Some(bytes) = self.placing.bytes() {
            ram.dram.insert("placement", bytes);
        }
        let victim = if self.options.hybrid.is_some() { u64::from(self.geometry.pages_per_block()) } else { 1 };
        let victims = match self.options.collection {
            Collection::Tokens => self.dies() as u64,
            Collection::AtOnce => 1,
        };
        ram.dram.insert("gc_buffer", victims * victim * page);
        ram.dram.insert("valid_counts", 2 * u64::from(self.geometry.blocks()));
        if self.options.hybrid.is_some() {
            ram.dram.insert("page_kinds", u64::from(self.geometry.pages()).div_ceil(8));
        }
        ram.sram.insert("lists", buffers * 4 * u64::from(self.gathered));
        ram.sram.insert("cmt_directory", 4 * self.cmt.units() as u64);
        ram.sram.insert("map_directory", self.map.directory_bytes());
        let marks = u64::from(self.map.pages()).div_ceil(8);
        ram.sram.insert("trim_marks", marks);
        if self.options.hybrid.is_some() {
            ram.sram.insert("split_marks", marks);
        }
        ram
    }

    fn events(&self) -> Events {
        self.map.events(Events { retired_blocks: self.keeper.retired(), ..self.events })
    }

    fn free_blocks(&self) -> u64 {
        self.keeper.count_all()
    }

    fn blocks(&self) -> Vec<BlockState> {
        self.map.blocks(&self.keeper, |block| self.counts.valid(block).div_ceil(self.per_page))
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        scoped(nand, Cause::Mount, |nand| check::check(self, nand));
    }
}

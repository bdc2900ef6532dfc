//! FDP: flexible data placement, where the host says which pages belong together.
//!
//! ## Idea
//! A write names a reclaim group and a reclaim unit handle. A group is a set of dies. A handle points to a reclaim unit,
//! `unit_blocks` blocks on the group's dies, and its pages fill the unit over all its dies in turn. A full unit is replaced
//! by an empty one. A unit is reclaimed as a whole: the victim policy chooses among closed units, and each die empties its
//! part of the chosen unit when it next needs room.
//!
//! Moved pages of a *persistently isolated* handle go to units of their own. Those of *initially isolated* handles share
//! units. No page leaves its group.
//!
//! A [sector map](crate::sector_map) has handles, too. There moved sectors stay in blocks of their handle, and a die empties
//! its own best block.
//!
//! ## Identifiers
//! A request may carry an identifier. Without one, `origins` has a handle for the request's origin, in group 0. An
//! identifier with an unknown group or handle counts as one event for the request, and its pages go through handle 0 of
//! group 0. The spare area of each page has its handle, so a mount finds it.
//!
//! ## Recovery
//! A mount goes on with blocks that were being filled, each at the frontier of its handle. It forms units of full blocks
//! anew: the n-th blocks of a handle on the dies belong together, in the order in which they were filled. A block with
//! pages of several handles belongs to the moved pages.
//!
//! ## Differences
//! A block is erased when its own pages have moved, not when the unit's last page has. A unit counts as erased with its
//! last block. If no closed unit has an invalid page, or the chosen unit gains a die nothing while the die's reserve is not
//! whole, the die empties its block with the fewest valid pages, whatever unit it is in. If failures leave a group no
//! room, or the host writes more into a group than it holds, other groups take the pages; a host page that does so counts
//! as an implicit change. If cuts or failures leave a die no free block, moved pages fill the rest of another frontier's
//! block, that of the same handle first.
//!
//! ## References
//! NVM Express: TP4146, Flexible Data Placement, 2022. M. Allison et al.: Towards Efficient Flash Caches with Emerging NVMe
//! Flexible Data Placement SSDs. EuroSys 2025.

mod events;
mod options;
mod units;

use super::{Moved, PlacementPolicy, Written};
use events::Listener;
pub use events::{LoggedEvent, PlacementEvent, PlacementEvents};
use nandlab_nand::{BlockId, Ctx, Geometry, Lpn, Origin, PlacementId, Time};
pub(crate) use options::Layout;
use options::{as_blocks, Destinations};
pub use options::{Handles, Options, Origins};
pub(crate) use units::Units;

/// A handle's use since the mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct HandleUse {
    /// Pages that the host wrote through it.
    pub host_pages: u64,
    /// Sectors of these pages that the host did not write: a page is programmed whole, with what was in it before, or with a
    /// list of its sectors and blanks.
    pub merged_sectors: u64,
    /// Those of these pages that a flush programmed before they were full; only where sectors are gathered.
    pub flushed_pages: u64,
    /// Sectors read by the host that still waited in memory for their page.
    pub buffered_reads: u64,
    /// Pages last written through it that were moved; where sectors are gathered, pages of sectors that were moved.
    pub moved_pages: u64,
    /// Reclaim units begun for pages of the host.
    pub units: u64,
    /// Updates by the host that found room left in the handle's unit.
    pub unfilled_units: u64,
}

/// The use of reclaim units since the mount.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct PlacementUse {
    /// By handle.
    pub handles: Vec<HandleUse>,
    /// Reclaim units begun for moved pages.
    pub units_for_moved: u64,
    /// Reclaim units erased.
    pub erased_units: u64,
    /// Writes and updates with an identifier of an unknown group or handle.
    pub invalid_identifiers: u64,
    /// Pages of the host that another group than the named one took.
    pub implicit_changes: u64,
    /// By group and handle: pages that can still be written to its unit.
    pub pages_left: Vec<Vec<u32>>,
    /// The same in sectors of the host, those that wait in memory taken off.
    pub sectors_left: Vec<Vec<u64>>,
    /// What happened to handles and units.
    pub events: PlacementEvents,
}

/// Where a handle's next page goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) die: u32,
    /// Pages that this die still takes in its turn.
    pub(crate) left: u32,
}

/// A placement by the host.
#[derive(Debug)]
pub struct Fdp {
    options: Options,
    destinations: Destinations,
    pub(crate) units: Units,
    /// Sectors of a page.
    page_sectors: u32,
    /// By logical page: the handle through which it was written last.
    handle_of: Vec<u8>,
    /// By group and handle.
    turns: Vec<Turn>,
    /// The group of the last host page.
    group: u32,
    /// By origin: its handle, [`UNKNOWN`] until it comes.
    origins: [u8; Origin::COUNT],
    given: u32,
    used: PlacementUse,
    listener: Listener,
}

const UNKNOWN: u8 = u8::MAX;

impl Fdp {
    pub(super) fn new(options: Options, geometry: &Geometry, logical_pages: u32) -> Self {
        let layout = Layout::new(options, geometry.dies(), "die").expect("the options were checked for this device");
        let last = |group| Turn { die: layout.dies_of_row(layout.rows(group).end - 1).end - 1, left: 0 };
        let turns = (0..options.groups).flat_map(|group| vec![last(group); options.handles as usize]);
        Self {
            destinations: Destinations::new(options),
            units: Units::new(geometry, layout, options.frontiers()),
            page_sectors: geometry.sectors_per_page(),
            handle_of: vec![0; logical_pages as usize],
            turns: turns.collect(),
            group: 0,
            origins: match options.origins {
                Origins::Each => [UNKNOWN; Origin::COUNT],
                Origins::Table(table) => table,
            },
            given: 0,
            used: PlacementUse { handles: vec![HandleUse::default(); options.handles as usize], ..Default::default() },
            listener: Listener::default(),
            options,
        }
    }

    /// The units of a device as blocks of another one, for a victim policy; the device itself if a block is a unit.
    pub(crate) fn as_blocks(options: Options, geometry: &Geometry) -> Geometry {
        let layout = Layout::new(options, geometry.dies(), "die").expect("the options were checked for this device");
        if layout.blocks() == 1 {
            return *geometry;
        }
        as_blocks(geometry, layout)
    }

    /// The identifier by which a request's pages are placed: the default one if there is no such group or handle, which
    /// counts as an event.
    pub(crate) fn checked(&mut self, asked: PlacementId) -> PlacementId {
        if !asked.is_some() || self.has(asked) {
            return asked;
        }
        self.used.invalid_identifiers += 1;
        self.listener.invalid(asked);
        PlacementId::of(0)
    }

    /// A page of the host comes with a request of that time.
    fn comes(&mut self, arrival: Time) {
        self.listener.comes(arrival);
    }

    /// For sectors that are gathered in pages, so that no page has a logical page of its own.
    pub(crate) fn of_gathered(options: Options, geometry: &Geometry) -> Self {
        Self::new(options, geometry, 0)
    }

    /// The handle for sectors of the host, with one group.
    #[inline]
    pub(crate) fn handle_for(&mut self, placement: PlacementId, origin: Origin) -> usize {
        self.resolve(placement, origin).1.into()
    }

    /// Counts a page of gathered sectors, so many of which the host did not write.
    pub(crate) fn gathered(&mut self, handle: usize, missing: u32, is_flushed: bool) {
        let used = &mut self.used.handles[handle];
        used.host_pages += 1;
        used.merged_sectors += u64::from(missing);
        used.flushed_pages += u64::from(is_flushed);
    }

    /// Counts a page of this many sectors that leave a block.
    pub(crate) fn left(&mut self, handle: usize, from: BlockId, sectors: u32) {
        self.used.handles[handle].moved_pages += 1;
        let id = self.in_group_of(from, handle as u8);
        self.listener.left(from, id, sectors);
    }

    /// A block is filled with moved pages in a unit of a handle.
    pub(crate) fn opened_for_moved(&mut self, block: BlockId, handle: usize) {
        self.used.units_for_moved += u64::from(self.units.open(block, handle));
    }

    /// The identifier that counts for the present request. The request's further pages have the same, so an invalid one is
    /// one event.
    pub(crate) fn placement_of_request(&mut self, ctx: &mut Ctx) -> PlacementId {
        self.comes(ctx.arrival());
        let placement = self.checked(ctx.placement());
        ctx.place(placement);
        placement
    }

    /// Counts a sector read while it waits for its page.
    #[inline]
    pub(crate) fn read_buffered(&mut self, handle: usize) {
        self.used.handles[handle].buffered_reads += 1;
    }

    /// Group and handle for a page of the host.
    fn resolve(&mut self, placement: PlacementId, origin: Origin) -> (u32, u8) {
        match self.has(placement) {
            true => (placement.group.into(), placement.handle),
            false => (0, self.handle_of_origin(origin)),
        }
    }

    fn handle_of_origin(&mut self, origin: Origin) -> u8 {
        let handle = &mut self.origins[usize::from(origin.0) % Origin::COUNT];
        if *handle == UNKNOWN {
            *handle = self.given.min(self.options.handles - 1) as u8;
            self.given += 1;
        }
        *handle
    }

    /// The group of the last host page.
    pub(crate) fn group(&self) -> u32 {
        self.group
    }

    /// Whether the group and the handle exist.
    pub(crate) fn has(&self, placement: PlacementId) -> bool {
        u32::from(placement.group) < self.options.groups && u32::from(placement.handle) < self.options.handles
    }

    /// The turn of a handle in the group of the last host page.
    pub(crate) fn turn_mut(&mut self, handle: usize) -> &mut Turn {
        &mut self.turns[self.group as usize * self.options.handles as usize + handle]
    }

    /// The row in which a handle's unit of a group lies.
    pub(crate) fn row(&self, group: u32, handle: usize) -> u32 {
        self.units.layout.row_of(self.turns[group as usize * self.options.handles as usize + handle].die)
    }

    /// The handle through which a page was written last.
    pub(crate) fn handle_of(&self, at: Lpn) -> u8 {
        self.handle_of.get(at.index()).copied().unwrap_or(0)
    }

    /// A frontier's handle: 0 for those of moved pages.
    pub(crate) fn handle_at(&self, frontier: usize) -> u8 {
        if frontier < self.options.handles as usize {
            frontier as u8
        } else {
            0
        }
    }

    /// The frontier for the pages that a frontier holds, when they are moved.
    pub(crate) fn moved_with(&self, frontier: usize) -> usize {
        match u8::try_from(frontier) {
            Ok(handle) if frontier < self.options.handles as usize => self.destinations.moved(handle),
            _ => frontier,
        }
    }

    /// The frontier for the FTL's own pages.
    pub(crate) fn own_frontier(&self) -> usize {
        self.destinations.own
    }

    /// Counts a page of the host that another group took.
    pub(crate) fn changed_implicitly(&mut self) {
        self.used.implicit_changes += 1;
    }

    /// The host wrote all of the page's sectors but so many.
    pub(crate) fn merged(&mut self, at: Lpn, sectors: u32) {
        let handle = self.handle_of(at);
        self.used.handles[usize::from(handle)].merged_sectors += u64::from(sectors);
    }

    /// Counts an update of a handle whose unit has no page.
    pub(crate) fn updated_empty(&mut self, placement: PlacementId) {
        self.used.handles[usize::from(placement.handle)].unfilled_units += 1;
        self.listener.updated(placement, true);
    }

    /// A handle in the group of a block.
    fn in_group_of(&self, block: BlockId, handle: u8) -> PlacementId {
        let group = self.units.die_of(block) / self.units.layout.dies;
        PlacementId { group: group as u8, handle }
    }

    /// Ends the unit of a handle in a row; `unfilled` if it has room for more pages.
    pub(crate) fn retire(&mut self, row: u32, placement: PlacementId, (unfilled, programs): (bool, u64)) {
        let handle = usize::from(placement.handle);
        self.used.handles[handle].unfilled_units += u64::from(unfilled);
        self.listener.updated(placement, unfilled);
        self.units.retire(row, handle, programs);
    }

    /// Records a page found by a mount with its handle.
    pub(crate) fn found(&mut self, at: Lpn, handle: u8) {
        self.handle_of[at.index()] = if u32::from(handle) < self.options.handles { handle } else { 0 };
    }

    /// A frontier fills a block further that a mount has closed: the block changes its unit, and nothing is erased.
    pub(crate) fn reopened(&mut self, block: BlockId, frontier: usize) {
        let erased = self.units.erased;
        self.units.give_up(block);
        self.units.erased = erased;
        self.opened(block, frontier);
    }

    /// Whether a frontier may fill a block further that holds pages of `handle` alone; `None`: of several.
    pub(crate) fn may_fill(&self, frontier: usize, handle: Option<u8>) -> bool {
        let of_handle = self.frontier_of(handle);
        frontier == of_handle || frontier == self.moved_with(of_handle)
    }

    fn frontier_of(&self, handle: Option<u8>) -> usize {
        match handle {
            Some(handle) if u32::from(handle) < self.options.handles => handle.into(),
            _ => self.destinations.own,
        }
    }

    /// Forms units of blocks found by a mount, with the programs when they were filled and the handle that wrote all their
    /// pages; `None`: several did.
    pub(crate) fn adopt(&mut self, found: &[(u64, BlockId, Option<u8>)]) {
        let found: Vec<_> =
            found.iter().map(|&(programs, block, handle)| (programs, block, self.frontier_of(handle))).collect();
        self.units.adopt(&found);
    }

    /// The use of handles and units since the mount.
    pub(crate) fn used(&self) -> PlacementUse {
        PlacementUse { erased_units: self.units.erased, events: self.listener.events.clone(), ..self.used.clone() }
    }
}

impl PlacementPolicy for Fdp {
    fn written(&mut self, Written { at, origin, placement, .. }: Written) -> usize {
        let (group, handle) = self.resolve(placement, origin);
        self.group = group;
        self.handle_of[at.index()] = handle;
        self.used.handles[usize::from(handle)].host_pages += 1;
        handle.into()
    }

    fn moved(&mut self, Moved { at, .. }: Moved) -> usize {
        match self.handle_of.get(at.index()) {
            Some(&handle) => self.destinations.moved(handle),
            None => self.destinations.own,
        }
    }

    fn copied(&mut self, Moved { at, from }: Moved) {
        if let Some(&handle) = self.handle_of.get(at.index()) {
            self.left(handle.into(), from, self.page_sectors);
        }
    }

    fn opened(&mut self, block: BlockId, frontier: usize) {
        if self.units.open(block, frontier) {
            match self.used.handles.get_mut(frontier) {
                Some(handle) => {
                    handle.units += 1;
                    let id = self.in_group_of(block, frontier as u8);
                    self.listener.began(id);
                }
                None => self.used.units_for_moved += 1,
            }
        }
    }

    fn closed(&mut self, block: BlockId, programs: u64) {
        self.units.close(block, programs);
    }

    fn emptied(&mut self, block: BlockId) {
        self.listener.emptied(block);
        self.units.give_up(block);
    }

    fn fdp(&self) -> Option<&Fdp> {
        Some(self)
    }

    fn fdp_mut(&mut self) -> Option<&mut Fdp> {
        Some(self)
    }

    fn bytes(&self) -> u64 {
        self.handle_of.len() as u64 + self.units.bytes()
    }
}

#[cfg(test)]
mod tests;

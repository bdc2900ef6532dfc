//! Data placement: what each handle wrote, and what was moved for it.

use super::us;
use nandlab_ftl::{HandleUse, LoggedEvent, PlacementEvent, PlacementUse};
use nandlab_nand::{Time, SECTOR_BYTES};
use serde::Serialize;

/// Data placement by the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FdpRecord {
    /// By handle.
    pub handles: Vec<HandleRecord>,
    /// Reclaim units begun for moved pages.
    pub units_for_moved: u64,
    /// Reclaim units erased: their last block holds nothing any more.
    pub erased_units: u64,
    /// Writes and updates with an identifier of an unknown group or handle; the writes went through handle 0 of group 0.
    pub invalid_identifiers: u64,
    /// Host pages taken by another group than the one that they were meant for.
    pub implicit_changes: u64,
    /// By group and handle: pages that can still be written to its reclaim unit at the end.
    pub pages_left: Vec<Vec<u32>>,
    /// Events: full units replaced, units ended with room left, blocks whose pages moved, and invalid identifiers.
    pub events: u64,
    /// The newest of them, at most 64, the oldest first.
    pub newest_events: Vec<PlacementEventRecord>,
}

/// Most events in a record, about as many as the drive's log over NVMe.
const MOST_EVENTS: usize = 64;

/// An event of data placement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlacementEventRecord {
    /// Arrival of the request that wrote the host's last page before it, us from the workload's start.
    pub after_us: f64,
    /// What happened.
    pub event: PlacementEventKind,
    /// Its reclaim group, or the one that the request named.
    pub group: u8,
    /// Its handle, or the one that the request named.
    pub handle: u8,
    /// Pages that moved; 0 for other events.
    pub pages: u32,
}

/// What happened to a reclaim unit or a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementEventKind {
    /// A full unit was replaced.
    Ended,
    /// The host ended a unit that had room left.
    Unfilled,
    /// Pages moved from a collected block.
    Moved,
    /// A request named an unknown group or handle.
    InvalidIdentifier,
}

impl PlacementEventRecord {
    fn of(LoggedEvent { after, id, what }: LoggedEvent, start: Time) -> Self {
        let (event, pages) = match what {
            PlacementEvent::Ended => (PlacementEventKind::Ended, 0),
            PlacementEvent::Unfilled => (PlacementEventKind::Unfilled, 0),
            PlacementEvent::Moved { pages, .. } => (PlacementEventKind::Moved, pages),
            PlacementEvent::Invalid => (PlacementEventKind::InvalidIdentifier, 0),
        };
        Self { after_us: us(after.saturating_sub(start)), event, group: id.group, handle: id.handle, pages }
    }
}

/// A reclaim unit handle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HandleRecord {
    /// Host pages written through it.
    pub host_pages: u64,
    /// Bytes of these pages that the host wrote. Each page is programmed whole; the rest is what was there before, or the list
    /// of a page that gathers sectors, and blanks. What is written again while it waits for its page counts once.
    pub host_bytes: u64,
    /// Pages last written through it that were moved; where sectors are gathered, pages of sectors that were moved.
    pub moved_pages: u64,
    /// Pages written and moved over pages written; null without a page written.
    pub waf: Option<f64>,
    /// Bytes of pages written and moved over `host_bytes`; null without one. It is larger than `waf` if writes are
    /// smaller than pages.
    pub bytes_waf: Option<f64>,
    /// Reclaim units begun for host pages.
    pub units: u64,
    /// Updates by the host that found room left in its reclaim unit.
    pub unfilled_units: u64,
    /// Host pages that a flush programmed before they were full; 0 where no sectors are gathered.
    pub flushed_pages: u64,
    /// Sectors read by the host while they still waited in memory for their page.
    pub buffered_reads: u64,
}

impl HandleRecord {
    fn of(start: HandleUse, end: HandleUse, page_sectors: u32) -> Self {
        let (host_pages, moved_pages) = (end.host_pages - start.host_pages, end.moved_pages - start.moved_pages);
        let (page_bytes, sector_bytes) = (u64::from(page_sectors * SECTOR_BYTES), u64::from(SECTOR_BYTES));
        let host_bytes = host_pages * page_bytes - (end.merged_sectors - start.merged_sectors) * sector_bytes;
        let programmed = (host_pages + moved_pages) * page_bytes;
        Self {
            host_pages,
            host_bytes,
            moved_pages,
            waf: (host_pages > 0).then(|| (host_pages + moved_pages) as f64 / host_pages as f64),
            bytes_waf: (host_bytes > 0).then(|| programmed as f64 / host_bytes as f64),
            units: end.units - start.units,
            unfilled_units: end.unfilled_units - start.unfilled_units,
            flushed_pages: end.flushed_pages - start.flushed_pages,
            buffered_reads: end.buffered_reads - start.buffered_reads,
        }
    }
}

impl FdpRecord {
    /// The use between two moments; `None` without data placement.
    pub(crate) fn between(
        start: Option<&PlacementUse>,
        end: Option<&PlacementUse>,
        (page_sectors, began): (u32, Time),
    ) -> Option<Self> {
        let (start, end) = (start?, end?);
        let newest: Vec<_> = end.events.since(start.events.count).collect();
        let newest = newest[newest.len().saturating_sub(MOST_EVENTS)..].iter();
        let handles = start.handles.iter().zip(&end.handles);
        Some(Self {
            handles: handles.map(|(&start, &end)| HandleRecord::of(start, end, page_sectors)).collect(),
            units_for_moved: end.units_for_moved - start.units_for_moved,
            erased_units: end.erased_units - start.erased_units,
            invalid_identifiers: end.invalid_identifiers - start.invalid_identifiers,
            implicit_changes: end.implicit_changes - start.implicit_changes,
            pages_left: end.pages_left.clone(),
            events: end.events.count - start.events.count,
            newest_events: newest.map(|&event| PlacementEventRecord::of(event, began)).collect(),
        })
    }
}

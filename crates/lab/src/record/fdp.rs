//! Data placement: what each handle wrote, and what was moved for it.

use nandlab_ftl::{HandleUse, PlacementUse};
use nandlab_nand::SECTOR_BYTES;
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
}

/// A reclaim unit handle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HandleRecord {
    /// Host pages written through it.
    pub host_pages: u64,
    /// Bytes of these pages that the host wrote. Each page is programmed whole; the rest is what was there before.
    pub host_bytes: u64,
    /// Pages last written through it that were moved.
    pub moved_pages: u64,
    /// Pages written and moved over pages written; null without a page written.
    pub waf: Option<f64>,
    /// Bytes of pages written and moved over bytes that the host wrote; null without one. It is larger than `waf` if writes are
    /// smaller than pages.
    pub bytes_waf: Option<f64>,
    /// Reclaim units begun for host pages.
    pub units: u64,
    /// Updates by the host that found room left in its reclaim unit.
    pub unfilled_units: u64,
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
        }
    }
}

impl FdpRecord {
    /// The use between two moments; `None` without data placement.
    pub(crate) fn between(start: Option<&PlacementUse>, end: Option<&PlacementUse>, page_sectors: u32) -> Option<Self> {
        let (start, end) = (start?, end?);
        let handles = start.handles.iter().zip(&end.handles);
        Some(Self {
            handles: handles.map(|(&start, &end)| HandleRecord::of(start, end, page_sectors)).collect(),
            units_for_moved: end.units_for_moved - start.units_for_moved,
            erased_units: end.erased_units - start.erased_units,
            invalid_identifiers: end.invalid_identifiers - start.invalid_identifiers,
            implicit_changes: end.implicit_changes - start.implicit_changes,
            pages_left: end.pages_left.clone(),
        })
    }
}

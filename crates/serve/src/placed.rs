//! The seam for protocols whose hosts say which data belongs together.

use crate::Due;
use nandlab_lab::served::PlacementEvents;
use nandlab_nand::{PlacementId, PlacementIds};
use std::io::Result;

/// A disk that fills reclaim units as the host asks. Every call may come from any thread.
///
/// A write with an identifier of an unknown group or handle goes through the default handle and counts as an event.
///
/// # Errors
/// As [`crate::Export`].
#[allow(clippy::missing_errors_doc)]
pub trait Placed: Send + Sync {
    /// Its constants, the same as long as it is open.
    fn placing(&self) -> Placing;

    /// By group and handle: bytes that can still be written to the handle's reclaim unit, all from one moment.
    fn bytes_left(&self) -> Vec<Vec<u64>>;

    /// What happened to reclaim units, and the simulated time in ms.
    fn events(&self) -> (PlacementEvents, u64);

    /// What host and flash did since the disk was made.
    fn media_use(&self) -> MediaUse;

    /// As [`crate::Export::write`], through a handle.
    fn write(&self, offset: u64, data: &[u8], fua: bool, placement: PlacementId) -> Result<Due>;

    /// As [`crate::Export::write_zeroes`], through a handle.
    fn write_zeroes(&self, range: (u64, u64), may_trim: bool, fua: bool, placement: PlacementId) -> Result<Due>;

    /// Each of these handles begins another reclaim unit with its next page.
    fn update(&self, placements: &[PlacementId]) -> Result<Due>;
}

/// The constants of data placement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placing {
    /// Reclaim groups and reclaim unit handles.
    pub ids: PlacementIds,
    /// By handle: whether its moved pages stay among themselves (persistently isolated); those of all others share units.
    pub persistent: Vec<bool>,
    /// Bytes of a reclaim unit.
    pub unit_bytes: u64,
}

/// Bytes since the disk was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaUse {
    /// Written by the host.
    pub host_bytes: u64,
    /// Programmed, moved pages and the FTL's own ones among them.
    pub media_bytes: u64,
    /// Erased.
    pub erased_bytes: u64,
}

//! The seam for protocols whose hosts know zones.

use crate::Due;
use nandlab_block::{ZoneCommand, ZoneReport, ZoneShape};
use std::io::Result;

/// A disk that takes writes at the write pointers of its zones. Every call may come from any thread.
///
/// Sectors have 512 bytes. What a zone refuses changes nothing; the error then wraps a [`nandlab_block::Error::Zone`].
///
/// # Errors
/// As [`crate::Export`].
#[allow(clippy::missing_errors_doc)]
pub trait Zoned: Send + Sync {
    /// Its constants, the same as long as it is open.
    fn zoning(&self) -> Zoning;

    /// Reports from the zone that holds `sector` on, all from one moment.
    fn reports(&self, sector: u64) -> Vec<ZoneReport>;

    /// Stores `data` at the write pointer of the zone that begins at `sector`; returns the first sector written.
    fn append(&self, sector: u64, data: &[u8], fua: bool) -> Result<(u64, Due)>;

    /// Changes the state of the zone at `sector`; with `flushes` the change survives a power cut from the answer on.
    fn change(&self, sector: u64, command: ZoneCommand, flushes: bool) -> Result<Due>;

    /// Changes every zone whose state allows it, at one moment. Nothing changes if a limit stands against it.
    fn change_all(&self, command: ZoneCommand, flushes: bool) -> Result<Due>;
}

/// The constants of a disk of zones, in sectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zoning {
    /// Zones.
    pub count: u64,
    /// Their size, and limits.
    pub shape: ZoneShape,
    /// What the host may write in any order, if it may.
    pub area: Option<RandomArea>,
    /// Whether a read may go from one zone into the next.
    pub reads_across: bool,
    /// Most bytes of an append, a power of two from 8 KiB; `None` is no limit.
    pub max_append: Option<u64>,
}

/// A zone's random write area, in sectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RandomArea {
    /// Its length.
    pub sectors: u64,
    /// By so many sectors the write pointer moves.
    pub granularity: u64,
    /// Most zones with an area at a time; 0 is no limit.
    pub most: u32,
}

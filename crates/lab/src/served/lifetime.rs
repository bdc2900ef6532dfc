//! What a device did since its image was made.

use crate::record::{FlashCounts, HostCounts};
use nandlab_nand::{Cause, Cell, Matrix, Origin, Time};
use serde::{Deserialize, Serialize};

/// What a device did since its image was made, kept in the image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// How often it was opened.
    pub sessions: u64,
    /// Simulated time without mounts, ns.
    pub time_ns: Time,
    /// What the host asked.
    pub host: HostCounts,
    /// Who asked the flash for what, and why.
    pub cells: Vec<LifetimeCell>,
}

/// Counts of one origin and one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LifetimeCell {
    /// The author of the page.
    pub origin: u8,
    /// Why the flash was asked.
    pub cause: String,
    /// What was done.
    pub counts: Cell,
}

impl HostCounts {
    /// Both together.
    fn and(&self, other: &Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            trims: self.trims + other.trims,
            flushes: self.flushes + other.flushes,
            read_sectors: self.read_sectors + other.read_sectors,
            written_sectors: self.written_sectors + other.written_sectors,
            trimmed_sectors: self.trimmed_sectors + other.trimmed_sectors,
            partial_writes: self.partial_writes + other.partial_writes,
            unreadable: self.unreadable + other.unreadable,
        }
    }
}

impl Lifetime {
    /// Adds what was counted in `time` more.
    #[doc(hidden)]
    pub fn add(&mut self, host: &HostCounts, matrix: &Matrix, time: Time) {
        self.time_ns += time;
        self.host = self.host.and(host);
        for (origin, cause, counts) in matrix.nonzero() {
            let is_it = |cell: &&mut LifetimeCell| cell.origin == origin.0 && cell.cause == cause.name();
            match self.cells.iter_mut().find(is_it) {
                Some(cell) => cell.counts = cell.counts.and(counts),
                None => {
                    self.cells.push(LifetimeCell { origin: origin.0, cause: cause.name().to_owned(), counts: *counts });
                }
            }
        }
    }

    /// What the flash did, mounts left out.
    pub fn flash(&self) -> FlashCounts {
        let mounts = Cause::Mount.name();
        let cells = self.cells.iter().filter(|cell| cell.cause != mounts && usize::from(cell.origin) < Origin::COUNT);
        FlashCounts::of(&cells.fold(Cell::default(), |sum, cell| sum.and(&cell.counts)))
    }
}

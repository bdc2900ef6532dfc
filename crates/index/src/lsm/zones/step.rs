//! A run of sectors in a zone, and a step of a plan over zones.

use crate::lsm::storage::FileId;
use nandlab_nand::{Origin, SECTOR_BYTES};

/// A run of sectors in one zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) sectors: u64,
}

impl Extent {
    pub(super) fn end(self) -> u64 {
        self.start + self.sectors
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.start < other.end() && other.start < self.end()
    }
}

/// A step of a plan over zones.
#[derive(Debug)]
pub(super) enum Step {
    /// To the end of a table.
    Append {
        file: FileId,
        bytes: Vec<u8>,
        origin: Origin,
    },
    /// Sectors of a moved table: its next ones.
    Move {
        file: FileId,
        bytes: Vec<u8>,
    },
    /// An extent of a moved table that stays where it is.
    Keep {
        file: FileId,
        extent: Extent,
    },
    /// To a root area.
    Root {
        area: usize,
        offset: u64,
        bytes: Vec<u8>,
    },
    ResetRoot(usize),
}

impl Step {
    /// Sectors that it takes of the room for tables.
    pub(super) fn sectors(&self) -> u64 {
        match self {
            Self::Append { bytes, .. } | Self::Move { bytes, .. } => bytes.len() as u64 / u64::from(SECTOR_BYTES),
            Self::Keep { .. } | Self::Root { .. } | Self::ResetRoot(_) => 0,
        }
    }
}

//! When the space of deleted files is trimmed, and what the device still holds of them.

use crate::IndexError;
use nandlab_block::ByteCount;

/// When a deleted file's space is trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trim {
    /// With the file.
    #[default]
    AtOnce,
    /// Once the files have left enough, as with a file system's `discard`. A piece that a new file takes before is
    /// not trimmed.
    Discard(Discard),
    /// The whole free space at intervals, as `fstrim` does.
    Fstrim(Fstrim),
    /// Never, and nothing else is trimmed, but what the device held before the tree was made.
    Never,
}

/// Options of `trim = { discard = { ... } }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Discard {
    /// Bytes of deleted files that are trimmed together, 1 or more.
    pub bytes: ByteCount,
}

impl Default for Discard {
    fn default() -> Self {
        Self { bytes: ByteCount(4 << 20) }
    }
}

/// Options of `trim = { fstrim = { ... } }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fstrim {
    /// Bytes written to files from one `fstrim` to the next, 1 or more.
    pub every_bytes: ByteCount,
}

impl Default for Fstrim {
    fn default() -> Self {
        Self { every_bytes: ByteCount(64 << 20) }
    }
}

impl Trim {
    pub(in super::super) fn check(&self) -> Result<(), IndexError> {
        match self {
            Self::Discard(Discard { bytes: ByteCount(0) }) => {
                Err(IndexError::option("trim.discard.bytes", &0, "a batch has at least 1 byte"))
            }
            Self::Fstrim(Fstrim { every_bytes: ByteCount(0) }) => {
                Err(IndexError::option("trim.fstrim.every_bytes", &0, "an interval has at least 1 byte"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a tree that is opened trims its free space: which pieces waited for a batch is not on the device.
    pub(super) fn trims_at_open(self) -> bool {
        matches!(self, Self::AtOnce | Self::Discard(_))
    }
}

/// Trims so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrimStats {
    /// Requests.
    pub trims: u64,
    /// Their bytes.
    pub trimmed_bytes: u64,
    /// Free space now that the device holds data for.
    pub untrimmed_bytes: u64,
}

/// What to trim now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// Free pieces that the device holds data for.
    Held,
    /// All free pieces.
    Free,
}

/// Which pieces the device holds data for.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) policy: Trim,
    piece_bytes: u64,
    held: Vec<bool>,
    /// Free pieces of them.
    waiting: u64,
    /// Bytes written since the last `fstrim`.
    written: u64,
    trims: u64,
    trimmed_bytes: u64,
}

impl Ledger {
    pub(super) fn new(policy: Trim, pieces: usize, piece_bytes: u64) -> Self {
        Self { policy, piece_bytes, held: vec![false; pieces], waiting: 0, written: 0, trims: 0, trimmed_bytes: 0 }
    }

    pub(super) fn holds(&self, piece: u32) -> bool {
        self.held[piece as usize]
    }

    fn held_of(&self, first: u32, count: u32) -> u64 {
        self.held[first as usize..(first + count) as usize].iter().filter(|held| **held).count() as u64
    }

    /// Used pieces of a file have data from now on.
    pub(super) fn note_written(&mut self, pieces: std::ops::Range<usize>, bytes: u64) {
        self.held[pieces].fill(true);
        self.written += bytes;
    }

    /// A file of an earlier mount has these pieces, which were free.
    pub(super) fn note_adopted(&mut self, first: u32, count: u32) {
        self.note_taken(first, count);
        self.held[first as usize..(first + count) as usize].fill(true);
    }

    /// An earlier mount may have written any free piece.
    pub(super) fn note_unknown(&mut self, free_runs: &[(u32, u32)]) {
        for &(first, count) in free_runs {
            self.waiting += u64::from(count) - self.held_of(first, count);
            self.held[first as usize..(first + count) as usize].fill(true);
        }
    }

    pub(super) fn note_taken(&mut self, first: u32, count: u32) {
        self.waiting -= self.held_of(first, count);
    }

    pub(super) fn note_freed(&mut self, first: u32, count: u32) {
        self.waiting += self.held_of(first, count);
    }

    /// The device gave up free pieces.
    pub(super) fn note_trimmed(&mut self, first: u32, count: u32) {
        self.waiting -= self.held_of(first, count);
        self.held[first as usize..(first + count) as usize].fill(false);
    }

    /// A trim request was sent.
    pub(super) fn count(&mut self, bytes: u64) {
        self.trims += 1;
        self.trimmed_bytes += bytes;
    }

    /// What to trim now that a file was written or deleted.
    pub(super) fn due(&mut self) -> Due {
        match self.policy {
            Trim::Discard(Discard { bytes }) if self.waiting * self.piece_bytes >= bytes.0 && self.waiting > 0 => {
                Due::Held
            }
            Trim::Fstrim(Fstrim { every_bytes }) if self.written >= every_bytes.0 => {
                self.written = 0;
                Due::Free
            }
            _ => Due::Nothing,
        }
    }

    pub(super) fn stats(&self) -> TrimStats {
        TrimStats {
            trims: self.trims,
            trimmed_bytes: self.trimmed_bytes,
            untrimmed_bytes: self.waiting * self.piece_bytes,
        }
    }
}

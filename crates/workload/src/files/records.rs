//! Records in files, as phones and fax machines keep them.

use super::parts::{put_file, put_record, within, Part};
use crate::WorkloadError;
use nandlab_nand::random::Random;
use std::collections::VecDeque;

/// Piece size for writing files before the transactions begin.
pub(super) const PIECE: u32 = 4096;

/// Largest option in these workloads; the product of two options stay far below a position's limit.
pub(super) const MOST: u64 = i32::MAX as u64;

/// A file with fixed-length records: the next one overwrites the oldest.
pub(super) struct Ring {
    path: &'static str,
    records: u64,
    bytes: u32,
    next: u64,
}

impl Ring {
    pub(super) fn new(path: &'static str, records: u32, bytes: u32) -> Self {
        Self { path, records: records.into(), bytes, next: 0 }
    }

    /// Creates the file without records.
    pub(super) fn create(&self, parts: &mut VecDeque<Part>) {
        put_file(parts, self.path, 0, PIECE);
    }

    /// Creates the file with as many records as it ever has.
    pub(super) fn create_full(&self, parts: &mut VecDeque<Part>) {
        put_file(parts, self.path, self.records * u64::from(self.bytes), PIECE);
    }

    /// Writes the next record.
    pub(super) fn put(&mut self, parts: &mut VecDeque<Part>) {
        put_record(parts, self.path, self.next * u64::from(self.bytes), self.bytes);
        self.next = (self.next + 1) % self.records;
    }
}

/// Variable record lengths, both ends included.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    pub(super) shortest: u32,
    pub(super) longest: u32,
}

impl Lengths {
    /// Fails unless the lengths are valid and ascending; `keys` names them, shortest first.
    pub(super) fn check(self, keys: [&str; 2]) -> Result<(), WorkloadError> {
        let most = self.longest.into();
        within(keys[1], most, 1, MOST, "the bytes of the longest record are")?;
        within(keys[0], self.shortest.into(), 1, most, "the bytes of the shortest record are")
    }

    /// A length; all are equally likely.
    pub(super) fn draw(self, random: &mut Random) -> u32 {
        // A record is shorter than 2^31, as `check` saw.
        self.shortest + random.below(u64::from(self.longest - self.shortest) + 1) as u32
    }
}

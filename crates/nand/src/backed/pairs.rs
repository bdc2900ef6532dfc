//! Records in two copies: one is read, both are written.

use super::records::{best, Stored};
use super::shared::Shared;
use std::io;

/// Records side by side, each from the copy that counts.
#[derive(Debug)]
pub(super) struct Picked {
    pub bytes: Vec<u8>,
    place: u64,
    record: usize,
    /// Records whose copies differ.
    differ: Vec<usize>,
    /// Records with a copy that something spoilt.
    pub spoilt: Vec<usize>,
    /// Records without a readable copy.
    pub lost: Vec<usize>,
}

impl Picked {
    /// Reads `length` bytes of records from `place` on, `record` bytes each; `kind` tells what a copy of one is.
    pub fn read(
        shared: &Shared,
        (place, length): (u64, usize),
        record: usize,
        kind: impl Fn(usize, &[u8]) -> Stored,
    ) -> io::Result<Self> {
        let second = shared.layout.second(place).expect("records have a second copy");
        let (mut bytes, mut others) = (vec![0; length], vec![0; length]);
        shared.read_at(place, &mut bytes)?;
        shared.read_at(second, &mut others)?;
        let mut picked = Self { bytes, place, record, differ: Vec::new(), spoilt: Vec::new(), lost: Vec::new() };
        if picked.bytes == others {
            return Ok(picked);
        }
        let copies = picked.bytes.chunks_exact_mut(record).zip(others.chunks_exact(record));
        for (number, (first, second)) in copies.enumerate().filter(|(_, (first, second))| first != second) {
            let best = best(kind(number, first), kind(number, second), false);
            if best.is_second {
                first.copy_from_slice(second);
            }
            picked.differ.extend(best.differs.then_some(number));
            picked.spoilt.extend((best.is_spoilt && !best.is_lost).then_some(number));
            picked.lost.extend(best.is_lost.then_some(number));
        }
        Ok(picked)
    }

    /// What must be written to both copies of the records that differ: places and bytes.
    pub fn repairs(&self) -> impl Iterator<Item = (u64, Vec<u8>)> + '_ {
        self.differ.iter().map(|&number| {
            let start = number * self.record;
            (self.place + start as u64, self.bytes[start..start + self.record].to_vec())
        })
    }
}

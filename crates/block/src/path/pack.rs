//! Writes that go as one command.

use nandlab_nand::Time;

/// The block that lists the writes of a pack (JEDEC JESD84-B45, packed commands).
pub(super) const PACK_HEADER_BYTES: f64 = 512.0;

/// Writes in a row that wait together.
#[derive(Clone, Debug)]
pub(super) struct Packs {
    /// Most writes of a pack; with 0 and 1 each goes alone.
    most: u32,
    /// When the processor begins with the latest pack: writes that come later do not belong to it.
    start: Time,
    /// Its writes; 0 if the latest request belongs to none.
    writes: u32,
}

impl Packs {
    pub(super) fn new(most: u32) -> Self {
        Self { most, start: 0, writes: 0 }
    }

    /// When the processor, free from `free` on, begins with the next request. A write belongs to the latest pack if
    /// that has not begun.
    pub(super) fn start(&mut self, is_write: bool, arrival: Time, free: Time) -> Time {
        let alone = free.max(arrival);
        if !is_write || self.most < 2 {
            self.writes = 0;
            return alone;
        }
        if self.writes == 0 || self.writes == self.most || arrival > self.start {
            (self.start, self.writes) = (alone, 0);
        }
        self.writes += 1;
        self.start
    }

    /// The latest request's place among the writes of its command, from 1 on; 0 if it belongs to none.
    pub(super) fn place(&self) -> u32 {
        self.writes
    }
}

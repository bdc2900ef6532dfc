//! Space in a write buffer that answers before flash has the data.

use nandlab_nand::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A fixed-size write buffer. A write holds its space from its admission until its flash operations end.
#[derive(Clone, Debug)]
pub(super) struct Space {
    bytes: u64,
    used: u64,
    /// Ends and sizes for the writes holding space.
    held: BinaryHeap<Reverse<(Time, u64)>>,
}

impl Space {
    pub(super) fn new(bytes: u64) -> Self {
        Self { bytes, used: 0, held: BinaryHeap::new() }
    }

    /// When a write with `bytes` bytes, waiting from `at` on, has its space. A write larger than the buffer waits for
    /// the whole buffer.
    pub(super) fn admit(&mut self, at: Time, bytes: u64) -> Time {
        let mut admitted = at;
        while let Some(&Reverse((end, size))) = self.held.peek() {
            if end > at && self.has_room(bytes) {
                break;
            }
            admitted = admitted.max(end);
            self.used -= size;
            self.held.pop();
        }
        admitted
    }

    /// Whether a write with `bytes` bytes has its space now.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.used <= self.bytes.saturating_sub(bytes)
    }

    /// An admitted write takes its space.
    pub(super) fn take(&mut self, bytes: u64) {
        self.used += bytes;
    }

    /// A write holds its space until `end`.
    pub(super) fn ends(&mut self, end: Time, bytes: u64) {
        self.held.push(Reverse((end, bytes)));
    }

    /// A write gives its space back.
    pub(super) fn free(&mut self, bytes: u64) {
        self.used -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_waits_until_enough_earlier_ones_are_in_flash() {
        let mut space = Space::new(100);
        for (end, bytes) in [(50, 40), (30, 40), (90, 20)] {
            assert_eq!(space.admit(10, bytes), 10);
            space.take(bytes);
            space.ends(end, bytes);
        }
        assert_eq!(space.admit(10, 30), 30);
        space.take(30);
        space.ends(70, 30);
        assert_eq!(space.admit(60, 80), 70, "20 bytes may stay");
        space.take(80);
        space.ends(95, 80);
        assert_eq!(space.admit(60, 500), 95, "it takes the whole buffer");
    }
}

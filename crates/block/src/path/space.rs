//! Space in a write buffer that answers before flash has the data.

/// A fixed-size write buffer. A write holds its space from its admission until flash has its data.
#[derive(Clone, Debug)]
pub(super) struct Space {
    bytes: u64,
    used: u64,
}

impl Space {
    pub(super) fn new(bytes: u64) -> Self {
        Self { bytes, used: 0 }
    }

    /// Whether a write with `bytes` bytes has its space now. A larger write needs the whole buffer.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.used <= self.bytes.saturating_sub(bytes)
    }

    /// An admitted write takes its space.
    pub(super) fn take(&mut self, bytes: u64) {
        self.used += bytes;
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
    fn a_write_has_its_space_when_enough_earlier_ones_are_in_flash() {
        let mut space = Space::new(100);
        space.take(40);
        space.take(40);
        assert!(space.has_room(20) && !space.has_room(21));
        space.free(40);
        assert!(space.has_room(60) && !space.has_room(500));
        space.free(40);
        assert!(space.has_room(500), "it takes the whole buffer");
    }
}

//! Streams: a frontier for each author.
//!
//! ## Idea
//! Pages of one author, of the FAT or of the leaves of an index, live about as long as each other. The host says who
//! writes, as with the streams of NVMe; the origins that come first get a frontier each, all others share the last one.
//! Pages that garbage collection moves go to a frontier of their own.
//!
//! ## References
//! J.-U. Kang, J. Hyun, H. Maeng, S. Cho: The Multi-streamed Solid-State Drive. HotStorage 2014.

use nandlab_nand::Origin;

const UNKNOWN: u8 = u8::MAX;

/// Which origin goes to which frontier.
#[derive(Debug)]
pub(crate) struct Streams {
    of: [u8; 256],
    given: u8,
    streams: u8,
}

impl Streams {
    pub(super) fn new(streams: u32) -> Self {
        Self { of: [UNKNOWN; 256], given: 0, streams: streams as u8 }
    }

    pub(super) fn of(&mut self, origin: Origin) -> usize {
        let stream = &mut self.of[usize::from(origin.0)];
        if *stream == UNKNOWN {
            *stream = self.given.min(self.streams - 1);
            self.given = self.given.saturating_add(1);
        }
        usize::from(*stream)
    }

    pub(super) fn moved(&self) -> usize {
        usize::from(self.streams)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.of.len() as u64
    }
}

//! Streams: a frontier for each author.
//!
//! ## Idea
//! Pages with one author, like the FAT or an index's leaves, live about equally long. The host names the author, as
//! with NVMe streams; the first origins get a frontier each, all others share the last one. Pages moved by garbage
//! collection go to a separate frontier.
//!
//! ## References
//! J.-U. Kang, J. Hyun, H. Maeng, S. Cho: The Multi-streamed Solid-State Drive. HotStorage 2014.

use nandlab_nand::Origin;

const UNKNOWN: u8 = u8::MAX;

/// Each origin's frontier.
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

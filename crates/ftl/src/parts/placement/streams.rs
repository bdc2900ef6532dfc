//! Streams: a frontier for each author.
//!
//! ## Idea
//! Pages with one author, like the FAT or an index's leaves, live about equally long. The host names the author, as
//! with NVMe streams; the first origins get a frontier each, all others share the last one. Pages moved by garbage
//! collection go to a separate frontier.
//!
//! ## References
//! J.-U. Kang, J. Hyun, H. Maeng, S. Cho: The Multi-streamed Solid-State Drive. HotStorage 2014.

use super::{Moved, PlacementPolicy, Written, MOST_FRONTIERS};
use crate::options::options;
use crate::{error, FtlError};

options! {
    Options
    /// The option of streams.
    #[derive(Eq)]
    {
        /// Kinds of pages of the host, 1 to 14. Default 8.
        streams: u32 = 8,
    }
}

impl Options {
    pub(super) fn check(self, key: &str) -> Result<(), FtlError> {
        error::in_range(&format!("{key}.origin.streams"), self.streams, 1..=MOST_FRONTIERS - 1)
    }
}

const UNKNOWN: u8 = u8::MAX;

/// Each origin's frontier.
#[derive(Debug)]
pub(crate) struct Streams {
    of: [u8; 256],
    given: u8,
    streams: u8,
}

impl Streams {
    pub(super) fn new(options: Options) -> Self {
        Self { of: [UNKNOWN; 256], given: 0, streams: options.streams as u8 }
    }
}

impl PlacementPolicy for Streams {
    fn written(&mut self, page: Written) -> usize {
        let stream = &mut self.of[usize::from(page.origin.0)];
        if *stream == UNKNOWN {
            *stream = self.given.min(self.streams - 1);
            self.given = self.given.saturating_add(1);
        }
        usize::from(*stream)
    }

    fn moved(&mut self, _: Moved) -> usize {
        usize::from(self.streams)
    }

    fn bytes(&self) -> u64 {
        self.of.len() as u64
    }
}

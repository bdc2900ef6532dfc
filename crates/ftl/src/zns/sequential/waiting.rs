//! Pages of a zone that are not on flash yet: the one that is not whole, or those of its random write area.

use nandlab_nand::{PageBuf, SectorMask, SECTOR_BYTES};
use std::collections::VecDeque;

/// What waits for a zone, from its next page on.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    pub(super) parts: VecDeque<Part>,
    /// Whether the zone has a random write area, so that the host may write the pages in any order.
    pub(super) is_random: bool,
}

/// A page that waits.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Sectors up to the last one that was written.
    pub(super) sectors: u32,
    /// The page's bytes, on a device with bytes; zeros where nothing was written.
    bytes: Vec<u8>,
    /// Whether a flush has it on flash.
    pub(super) is_staged: bool,
}

impl Part {
    /// A page that is on flash among the staged ones.
    pub(super) fn staged(sectors: u32, bytes: Vec<u8>) -> Self {
        Self { sectors, bytes, is_staged: true }
    }

    /// A page that nobody has written; `bytes` is 0 on a device without bytes.
    fn blank(bytes: usize) -> Self {
        Self { sectors: 0, bytes: vec![0; bytes], is_staged: false }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn page<B: PageBuf>(&self, page_bytes: u32) -> B {
        let mut page = B::zeroed(page_bytes);
        if let Some(bytes) = page.bytes_mut() {
            bytes.copy_from_slice(&self.bytes);
        }
        page
    }
}

impl Waiting {
    /// Adds sectors of the page `at` places behind the zone's next one.
    pub(super) fn add<B: PageBuf>(&mut self, at: usize, sectors: SectorMask, page: &B, page_bytes: u32) {
        let blank = if page.bytes().is_some() { page_bytes as usize } else { 0 };
        while self.parts.len() <= at {
            self.parts.push_back(Part::blank(blank));
        }
        let part = &mut self.parts[at];
        for sector in (0..page_bytes / SECTOR_BYTES).filter(|&sector| sectors.has(sector)) {
            if let Some(bytes) = page.bytes() {
                let range = (sector * SECTOR_BYTES) as usize..((sector + 1) * SECTOR_BYTES) as usize;
                part.bytes[range.clone()].copy_from_slice(&bytes[range]);
            }
            part.sectors = part.sectors.max(sector + 1);
        }
        part.is_staged = false;
    }

    /// Puts a page that was found `at` places behind the zone's next one; pages before it that were not found are zeros.
    pub(super) fn put(&mut self, at: usize, part: Part) {
        while self.parts.len() < at {
            self.parts.push_back(Part::blank(part.bytes.len()));
        }
        self.parts.push_back(part);
    }

    /// Sectors behind the last page on flash that the write pointer counts: those of a random write area are not final.
    pub(super) fn sectors(&self) -> u32 {
        self.parts.front().filter(|_| !self.is_random).map_or(0, |part| part.sectors)
    }

    /// Pages up to the last one of which something was written.
    pub(super) fn written(&self) -> u32 {
        self.parts.iter().rposition(|part| part.sectors > 0).map_or(0, |last| last as u32 + 1)
    }

    /// Whether nothing waits, and nothing may.
    pub(super) fn is_over(&self) -> bool {
        self.parts.is_empty() && !self.is_random
    }
}

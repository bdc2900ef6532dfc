//! Pool options and counts.

use super::{Replacement, FIRST_PAGE};
use crate::IndexError;
use nandlab_nand::Origin;
use std::ops::RangeInclusive;

const PAGE_BYTES: RangeInclusive<u32> = 512..=65_536;

/// Options of the pool.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Bytes of a page, a power of two from 512 to 65536.
    pub page_bytes: u32,
    /// Size of the pool: `{ frames = 300 }`, or `{ bytes = 153600 }`, which is rounded down to whole pages.
    pub budget: Budget,
    /// Which page leaves when room is needed.
    pub policy: Replacement,
    /// Write pages to free places and switch to them at a flush, so that the index survives power cuts.
    pub shadow: bool,
    /// What is written of a changed page.
    pub write_back: WriteBack,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            page_bytes: 4096,
            budget: Budget::Bytes(1 << 20),
            policy: Replacement::Lru,
            shadow: false,
            write_back: WriteBack::Page,
        }
    }
}

/// Size of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// Bytes, rounded down to whole pages; at least one page.
    Bytes(u64),
    /// Pages; at least one.
    Frames(u32),
}

/// What is written of a changed page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteBack {
    /// The whole page, in one request.
    #[default]
    Page,
    /// The 512-byte sectors that were changed, each run of them in a request.
    Sectors,
}

/// The pool's counts since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Stats {
    /// Requested pages found in a frame.
    pub hits: u64,
    /// Requested pages read from the device.
    pub misses: u64,
    /// Pages evicted to make room.
    pub evictions: u64,
    /// Changed pages written when they left.
    pub write_backs: u64,
    /// Changed pages written by a flush.
    pub flushed: u64,
    /// Page table pages written by a flush.
    pub table_writes: u64,
    /// Header pages written.
    pub header_writes: u64,
    /// Total sectors written.
    pub written_sectors: u64,
    /// Pages read, by kind.
    pub page_reads: PagesByKind,
    /// Pages written, by kind; also pages written only in part.
    pub page_writes: PagesByKind,
}

/// Page counts by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PagesByKind {
    /// Pages with records.
    pub leaf: u64,
    /// Pages above the leaves.
    pub inner: u64,
    /// The page every search starts at, leaf or not.
    pub root: u64,
    /// Headers, page table pages, and free pages.
    pub header: u64,
}

impl PagesByKind {
    /// Counts a page by `origin`.
    #[inline]
    pub(super) fn add(&mut self, origin: Origin) {
        *match origin {
            Origin::INDEX_LEAF => &mut self.leaf,
            Origin::INDEX_INNER => &mut self.inner,
            Origin::INDEX_ROOT => &mut self.root,
            _ => &mut self.header,
        } += 1;
    }

    /// Pages over all kinds.
    pub fn total(&self) -> u64 {
        self.leaf + self.inner + self.root + self.header
    }
}

impl Config {
    /// Checks the options without a device.
    ///
    /// # Errors
    /// [`IndexError::Option`].
    pub fn check(&self) -> Result<(), IndexError> {
        if !PAGE_BYTES.contains(&self.page_bytes) || !self.page_bytes.is_power_of_two() {
            let why = "a page is a power of two from 512 to 65536 bytes";
            return Err(IndexError::option("page_bytes", &self.page_bytes, why));
        }
        match self.budget {
            Budget::Bytes(bytes) if bytes < u64::from(self.page_bytes) => {
                let why = format!("the pool holds at least one page of {} bytes", self.page_bytes);
                Err(IndexError::option("budget.bytes", &bytes, why))
            }
            Budget::Frames(0) => Err(IndexError::option("budget.frames", &0, "the pool holds at least one page")),
            _ => Ok(()),
        }
    }

    /// Checks whether a device with room for `pages` pages has room for an index.
    ///
    /// # Errors
    /// [`IndexError::Option`].
    pub fn check_device(&self, pages: u64) -> Result<(), IndexError> {
        if pages < u64::from(2 * FIRST_PAGE) {
            let why = format!("the device has room for {pages} pages of that size, an index needs 4");
            return Err(IndexError::option("page_bytes", &self.page_bytes, why));
        }
        Ok(())
    }

    /// Frames for the budget on a device with `most` pages.
    pub(super) fn frames(&self, most: u32) -> u32 {
        match self.budget {
            Budget::Bytes(bytes) => (bytes / u64::from(self.page_bytes)).min(u64::from(most)) as u32,
            Budget::Frames(frames) => frames.min(most),
        }
    }
}

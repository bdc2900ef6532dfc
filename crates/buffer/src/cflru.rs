//! CFLRU: evicts clean pages at the old end of the list before dirty ones.
//!
//! ## Idea
//! Dropping a clean page costs nothing; writing back a dirty page costs a program. Pages are in a list by
//! last use, and its old end is the clean-first window. The victim is the oldest clean page in the window. If
//! the whole window is dirty, the victim is the oldest page.
//!
//! ## Write path
//! As in LRU, except for the victim.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! The window holds the configured number of oldest pages, or all pages if there are fewer. The list of its
//! clean pages has the same order.
//!
//! ## Differences
//! The window size is fixed (`window`, a share of the buffer). The paper also adapts it to the ratio of reads
//! to writes, by a rule it does not give.
//!
//! ## References
//! S. Park, D. Jung, J. Kang, J. Kim, J. Lee, "CFLRU: a replacement algorithm for flash memory", CASES 2006.

use crate::parts::cache::Cached;
use crate::parts::list::{Links, List, NONE};
use crate::parts::paged::{Paged, Replacement};
use crate::parts::pages::{Pages, Slot};
use crate::parts::sizes::one_memory;
use crate::{MountError, Options};
use nandlab_block::ByteCount;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// Options of `[buffer.cflru]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Buffer size; rounded down to whole pages.
    pub size: ByteCount,
    /// Whether to cache pages on reads.
    pub cache_reads: bool,
    /// Size of the clean-first window, as a share of the buffer, above 0 and up to 1.
    pub window: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { size: crate::DEFAULT_SIZE, cache_reads: true, window: 0.5 }
    }
}

impl Options for Config {
    one_memory!("cflru");

    fn variants(&self) -> Vec<(&'static str, Self)> {
        vec![
            ("write_only", Self { cache_reads: false, ..self.clone() }),
            ("whole_window", Self { window: 1.0, ..self.clone() }),
            ("narrow", Self { window: 0.1, ..self.clone() }),
        ]
    }
}

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<Paged<Cflru>>, MountError> {
        let share = self.window;
        if !(share > 0.0 && share <= 1.0) {
            let message = format!("buffer.cflru.window = {share} is not a share above 0 and up to 1");
            return Err(MountError::Config(message));
        }
        Paged::mount(geometry, nvram, &self.memories()[0], self.cache_reads, |pages| Cflru {
            links: Links::default(),
            clean_links: Links::default(),
            recent: List::default(),
            window: List::default(),
            clean: List::default(),
            window_pages: ((f64::from(pages) * share) as u32).max(1),
            is_stale: false,
        })
    }
}

const IN_WINDOW: u8 = 1;
/// In the list of clean window pages.
const LISTED: u8 = 2;

/// The list by last use, in two parts.
#[derive(Debug)]
pub(crate) struct Cflru {
    links: Links,
    clean_links: Links,
    recent: List,
    window: List,
    /// Clean pages of the window, in window order. A write removes a page from the window, so these stay
    /// clean.
    clean: List,
    window_pages: u32,
    /// Whether pages became clean inside the window.
    is_stale: bool,
}

impl Cflru {
    /// Moves the oldest recent pages into the window until it is full.
    #[inline]
    fn fill_window(&mut self, pages: &mut Pages) {
        while self.window.len() < self.window_pages && !self.recent.is_empty() {
            let slot = self.recent.back();
            self.recent.remove(&mut self.links, slot);
            self.window.push_front(&mut self.links, slot);
            self.list(pages, slot);
        }
    }

    #[inline]
    fn list(&mut self, pages: &mut Pages, slot: Slot) {
        let is_clean = !pages.is_dirty(slot);
        if is_clean {
            self.clean.push_front(&mut self.clean_links, slot);
        }
        pages.set_mark(slot, if is_clean { IN_WINDOW | LISTED } else { IN_WINDOW });
    }

    #[inline]
    fn take_out(&mut self, mark: u8, slot: Slot) {
        if mark & LISTED != 0 {
            self.clean.remove(&mut self.clean_links, slot);
        }
        let list = if mark & IN_WINDOW != 0 { &mut self.window } else { &mut self.recent };
        list.remove(&mut self.links, slot);
    }

    fn list_anew(&mut self, pages: &mut Pages) {
        self.is_stale = false;
        self.clean = List::default();
        let mut slot = self.window.back();
        while slot != NONE {
            self.list(pages, slot);
            slot = self.links.prev(slot);
        }
    }
}

impl Replacement for Cflru {
    #[inline]
    fn hit(&mut self, pages: &mut Pages, slot: Slot) {
        self.take_out(pages.mark(slot), slot);
        pages.set_mark(slot, 0);
        self.recent.push_front(&mut self.links, slot);
    }

    #[inline]
    fn victim(&mut self, pages: &mut Pages) -> Slot {
        if self.is_stale {
            self.list_anew(pages);
        }
        self.fill_window(pages);
        if self.clean.is_empty() {
            self.window.back()
        } else {
            self.clean.back()
        }
    }

    #[inline]
    fn evicted(&mut self, slot: Slot, _: u32) {
        // The victim is a clean page if there is one.
        let mark = if !self.clean.is_empty() && self.clean.back() == slot { IN_WINDOW | LISTED } else { IN_WINDOW };
        self.take_out(mark, slot);
    }

    #[inline]
    fn insert(&mut self, pages: &mut Pages, slot: Slot) {
        pages.set_mark(slot, 0);
        self.recent.push_front(&mut self.links, slot);
    }

    fn forget(&mut self, pages: &mut Pages, slot: Slot) {
        self.take_out(pages.mark(slot), slot);
    }

    fn flushed(&mut self, _: &mut Pages) {
        self.is_stale = true;
    }

    fn state_bytes(&self) -> u64 {
        Links::bytes(u64::from(self.window_pages))
    }
}

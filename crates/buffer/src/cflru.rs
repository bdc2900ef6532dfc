//! CFLRU: a clean page at the old end of the list goes before a dirty one.
//!
//! ## Idea
//! To drop a clean page costs nothing, to write a dirty one back costs a program. Pages stand in a list by their last use;
//! the old end of it is the clean-first window. The oldest clean page of the window goes; where all of it is dirty, the
//! oldest page.
//!
//! ## Write path
//! As in LRU, but for the choice of the page that goes.
//!
//! ## Recovery
//! All of it is DRAM: a power cut takes what was not flushed.
//!
//! ## Invariants
//! The window holds so many of the oldest pages, or all that are here; the list of its clean pages is in the same order.
//!
//! ## Differences
//! The window is of a fixed size (`window`, a share of the buffer); the paper also lets it follow the ratio of reads to
//! writes, by a rule that it does not give.
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
    /// Size of the buffer; rounded down to whole pages.
    pub size: ByteCount,
    /// Whether pages that were read come in.
    pub cache_reads: bool,
    /// Share of the buffer in which clean pages go first, above 0 and up to 1.
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
/// In the list of clean pages of the window.
const LISTED: u8 = 2;

/// The list by last use in two parts.
#[derive(Debug)]
pub(crate) struct Cflru {
    links: Links,
    clean_links: Links,
    recent: List,
    window: List,
    /// The clean pages of the window in its order; none becomes dirty in it, since a write takes it out.
    clean: List,
    window_pages: u32,
    /// Whether pages of the window became clean where they stand.
    is_stale: bool,
}

impl Cflru {
    /// Moves the oldest of the recent pages into the window until it is full.
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
        // A clean page is the victim wherever there is one.
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

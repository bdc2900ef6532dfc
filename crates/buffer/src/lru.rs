//! LRU: evicts the least recently used page.
//!
//! ## Idea
//! Recently used pages are likely to be used again soon. All pages are in one list by last use; the victim is
//! the page at its end.
//!
//! ## Write path
//! A buffered page is updated in the buffer and moves to the front. A new page replaces the page at the end,
//! which is written back if dirty. A partial page keeps only its written sectors. The rest is read from below
//! on demand, or when the page is written back together with a neighbour.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! Every page is on the list once, and the pages fit the buffer.
//!
//! ## Differences
//! None.
//!
//! ## References
//! P. J. Denning, "The working set model for program behavior", Communications of the ACM 11(5), 1968.

use crate::parts::cache::Cached;
use crate::parts::list::{Links, List};
use crate::parts::paged::{Paged, Replacement};
use crate::parts::pages::{Pages, Slot};
use crate::parts::sizes::one_memory_config;
use crate::{MountError, Options as _};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

one_memory_config!(Config for "lru", true, "write_only");

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<Paged<Lru>>, MountError> {
        Paged::mount(geometry, nvram, &self.memories()[0], self.cache_reads, |_| Lru::default())
    }
}

/// The list by last use.
#[derive(Debug, Default)]
pub(crate) struct Lru {
    links: Links,
    list: List,
}

impl Replacement for Lru {
    #[inline]
    fn hit(&mut self, _: &mut Pages, slot: Slot) {
        self.list.move_to_front(&mut self.links, slot);
    }

    #[inline]
    fn prefetch_slot(&self, slot: Slot) {
        self.links.prefetch(slot);
    }

    #[inline]
    fn prefetch_neighbours(&self, slot: Slot) {
        self.links.prefetch_neighbours(slot);
    }

    #[inline]
    fn victim(&mut self, _: &mut Pages) -> Slot {
        self.list.back()
    }

    #[inline]
    fn prefetch_victims(&self, pages: &Pages) {
        pages.prefetch_victims(&self.links, self.list.back());
    }

    #[inline]
    fn evicted(&mut self, slot: Slot, _: u32) {
        self.list.remove(&mut self.links, slot);
    }

    #[inline]
    fn insert(&mut self, _: &mut Pages, slot: Slot) {
        self.list.push_front(&mut self.links, slot);
    }

    fn forget(&mut self, _: &mut Pages, slot: Slot) {
        self.list.remove(&mut self.links, slot);
    }
}

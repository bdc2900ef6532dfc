//! SIEVE: one queue; reused pages keep their place.
//!
//! ## Idea
//! Pages are in order of arrival. A hand goes from the oldest to the newest: it clears the bit of a used page
//! and leaves the page in place, and evicts the first unused page. New pages are sifted early, and useful
//! pages stay.
//!
//! ## Write path
//! As in LRU, except for the victim.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! Every page is in the queue once. The hand points to a page in the queue, or starts at the oldest.
//!
//! ## Differences
//! None.
//!
//! ## References
//! Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson, K. V. Rashmi, "SIEVE is simpler than LRU: an efficient turn-key
//! eviction algorithm for web caches", NSDI 2024.

use crate::parts::cache::Cached;
use crate::parts::list::{Links, List, NONE};
use crate::parts::paged::{Paged, Replacement};
use crate::parts::pages::{Pages, Slot};
use crate::parts::sizes::one_memory_config;
use crate::{MountError, Options as _};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

one_memory_config!(Config for "sieve", true, "write_only");

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<Paged<Sieve>>, MountError> {
        Paged::mount(geometry, nvram, &self.memories()[0], self.cache_reads, |_| Sieve {
            links: Links::default(),
            queue: List::default(),
            hand: NONE,
        })
    }
}

/// The queue; new pages enter at the front.
#[derive(Debug)]
pub(crate) struct Sieve {
    links: Links,
    queue: List,
    /// The hand's next page; [`NONE`] means the oldest.
    hand: Slot,
}

impl Sieve {
    #[inline]
    fn take_out(&mut self, slot: Slot) {
        if self.hand == slot {
            self.hand = self.links.prev(slot);
        }
        self.queue.remove(&mut self.links, slot);
    }
}

impl Replacement for Sieve {
    #[inline]
    fn hit(&mut self, pages: &mut Pages, slot: Slot) {
        pages.set_mark(slot, 1);
    }

    #[inline]
    fn victim(&mut self, pages: &mut Pages) -> Slot {
        loop {
            if self.hand == NONE {
                self.hand = self.queue.back();
            }
            let slot = self.hand;
            if pages.mark(slot) == 0 {
                return slot;
            }
            pages.set_mark(slot, 0);
            self.hand = self.links.prev(slot);
        }
    }

    #[inline]
    fn prefetch_victims(&self, pages: &Pages) {
        pages.prefetch_victims(&self.links, self.hand);
    }

    #[inline]
    fn evicted(&mut self, slot: Slot, _: u32) {
        self.take_out(slot);
    }

    #[inline]
    fn insert(&mut self, pages: &mut Pages, slot: Slot) {
        pages.set_mark(slot, 0);
        self.queue.push_front(&mut self.links, slot);
    }

    fn forget(&mut self, _: &mut Pages, slot: Slot) {
        self.take_out(slot);
    }
}

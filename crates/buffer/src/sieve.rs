//! SIEVE: one queue in which what was used again keeps its place.
//!
//! ## Idea
//! Pages stand in the order in which they came. A hand goes from the oldest to the newest: it clears the bit of a page that
//! was used and leaves the page where it is, and takes the first that was not used. New pages are sifted early, and what
//! proves useful stays.
//!
//! ## Write path
//! As in LRU, but for the choice of the page that goes.
//!
//! ## Recovery
//! All of it is DRAM: a power cut takes what was not flushed.
//!
//! ## Invariants
//! Every page is in the queue once. The hand stands at a page of the queue, or begins at its oldest.
//!
//! ## Differences
//! None.
//!
//! ## References
//! Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson, K. V. Rashmi, "SIEVE is simpler than LRU: an efficient turn-key eviction
//! algorithm for web caches", NSDI 2024.

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

/// The queue; pages come at the front.
#[derive(Debug)]
pub(crate) struct Sieve {
    links: Links,
    queue: List,
    /// The next page to look at; [`NONE`] is the oldest.
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

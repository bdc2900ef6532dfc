//! CLOCK: evicts the oldest page not used since the hand passed it.
//!
//! ## Idea
//! Each page has a reference bit. A hand circles over the pages: it clears set bits and evicts the first page
//! with a clear bit. This approximates LRU with one bit per page instead of list links.
//!
//! ## Write path
//! As in LRU, except for the victim. A new page is inserted right behind the hand, so the hand visits it
//! last.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! Every page is in the ring once, and the pages fit the buffer.
//!
//! ## Differences
//! Setting the reference bit of a new page is an option (`reference_on_insert`), off by default.
//!
//! ## References
//! F. J. Corbato, "A paging experiment with the Multics system", MIT Project MAC Report MAC-M-384, 1968.

use crate::parts::cache::Cached;
use crate::parts::list::{Links, List};
use crate::parts::paged::{Paged, Replacement};
use crate::parts::pages::{Pages, Slot};
use crate::parts::sizes::one_memory;
use crate::{MountError, Options};
use nandlab_block::ByteCount;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// Options of `[buffer.clock]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Buffer size; rounded down to whole pages.
    pub size: ByteCount,
    /// Whether to cache pages on reads.
    pub cache_reads: bool,
    /// Whether a new page counts as used.
    pub reference_on_insert: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { size: crate::DEFAULT_SIZE, cache_reads: true, reference_on_insert: false }
    }
}

impl Options for Config {
    one_memory!("clock");

    fn variants(&self) -> Vec<(&'static str, Self)> {
        vec![
            ("write_only", Self { cache_reads: false, ..self.clone() }),
            ("referenced", Self { reference_on_insert: true, ..self.clone() }),
        ]
    }
}

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<Paged<Clock>>, MountError> {
        let mark = u8::from(self.reference_on_insert);
        Paged::mount(geometry, nvram, &self.memories()[0], self.cache_reads, |_| Clock {
            links: Links::default(),
            ring: List::default(),
            mark,
        })
    }
}

/// The ring as a list: the hand is at its end, and the front is right behind the hand.
#[derive(Debug)]
pub(crate) struct Clock {
    links: Links,
    ring: List,
    /// Reference bit of a new page.
    mark: u8,
}

impl Replacement for Clock {
    #[inline]
    fn hit(&mut self, pages: &mut Pages, slot: Slot) {
        pages.set_mark(slot, 1);
    }

    #[inline]
    fn victim(&mut self, pages: &mut Pages) -> Slot {
        loop {
            let slot = self.ring.back();
            if pages.mark(slot) == 0 {
                return slot;
            }
            pages.set_mark(slot, 0);
            self.ring.move_to_front(&mut self.links, slot);
        }
    }

    #[inline]
    fn prefetch_victims(&self, pages: &Pages) {
        pages.prefetch_victims(&self.links, self.ring.back());
    }

    #[inline]
    fn evicted(&mut self, slot: Slot, _: u32) {
        self.ring.remove(&mut self.links, slot);
    }

    #[inline]
    fn insert(&mut self, pages: &mut Pages, slot: Slot) {
        pages.set_mark(slot, self.mark);
        self.ring.push_front(&mut self.links, slot);
    }

    fn forget(&mut self, _: &mut Pages, slot: Slot) {
        self.ring.remove(&mut self.links, slot);
    }

    fn state_bytes(&self) -> u64 {
        0
    }
}

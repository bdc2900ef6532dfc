//! LRU: the page that was not used for the longest time goes.
//!
//! ## Idea
//! Pages that were read or written of late are read or written again before long. All pages stand in one list by their
//! last use; the one at its end goes.
//!
//! ## Write path
//! A page that is here is changed here and moves to the front. One that is not takes the place of the page at the end,
//! which is written back if it is dirty. A part of a page is kept as the sectors that were written; the rest is read from
//! below when it is asked for, or when the page is written back together with a neighbour.
//!
//! ## Recovery
//! All of it is DRAM: a power cut takes what was not flushed.
//!
//! ## Invariants
//! Every page is on the list once; no more are here than fit.
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
    fn victim(&mut self, _: &mut Pages) -> Slot {
        self.list.back()
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

//! ARC: an adaptive balance between recency and frequency.
//!
//! ## Idea
//! One list holds pages used once recently, the other list holds pages used again. Each list has ghosts: the
//! numbers of pages it evicted. When a ghost's page returns, its list was too short, and the balance shifts
//! towards it.
//!
//! ## Write path
//! As in LRU, except for the victim: the first list's oldest page if that list exceeds its target
//! length, otherwise the second list's oldest page.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! With c pages: the first list and its ghosts hold at most c, all four lists together at most 2 c.
//!
//! ## Differences
//! The target length is a fraction, so a step of |B2| / |B1| is not rounded. The paper has no trims. Here a
//! trim frees space: until the buffer is full again, it evicts nothing and adds no ghosts. A trimmed page
//! leaves no ghost.
//!
//! ## References
//! N. Megiddo, D. S. Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003.

use crate::parts::cache::Cached;
use crate::parts::ghost::Ghost;
use crate::parts::list::{Links, List};
use crate::parts::paged::{Paged, Replacement};
use crate::parts::pages::{Pages, Slot};
use crate::parts::sizes::one_memory_config;
use crate::{MountError, Options as _};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

one_memory_config!(Config for "arc", true, "write_only");

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<Paged<Arc>>, MountError> {
        Paged::mount(geometry, nvram, &self.memories()[0], self.cache_reads, |pages| Arc {
            links: Links::default(),
            once: List::default(),
            again: List::default(),
            once_ghosts: Ghost::default(),
            again_ghosts: Ghost::default(),
            capacity: pages,
            target: 0.0,
            ghost: Known::No,
            leaves_ghost: true,
        })
    }
}

/// Ghost list with the last missed page, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    No,
    Once,
    Again,
}

/// Page mark: the page is in the second list.
const AGAIN: u8 = 1;

/// T1, T2, B1 and B2 of the paper.
#[derive(Debug)]
pub(crate) struct Arc {
    links: Links,
    once: List,
    again: List,
    once_ghosts: Ghost,
    again_ghosts: Ghost,
    capacity: u32,
    /// The first list's target length: p.
    target: f64,
    ghost: Known,
    /// Whether the victim becomes a ghost.
    leaves_ghost: bool,
}

impl Arc {
    /// Case IV in the paper: keeps the lists within their bounds when an unknown page arrives.
    fn bound_ghosts(&mut self) {
        self.leaves_ghost = true;
        let (once, capacity) = (self.once.len() + self.once_ghosts.len(), self.capacity);
        if once >= capacity {
            if self.once.len() < capacity {
                self.once_ghosts.pop();
            } else {
                self.leaves_ghost = false;
            }
        } else if once + self.again.len() + self.again_ghosts.len() >= 2 * capacity {
            self.again_ghosts.pop();
        }
    }
}

impl Replacement for Arc {
    #[inline]
    fn hit(&mut self, pages: &mut Pages, slot: Slot) {
        if pages.mark(slot) == AGAIN {
            return self.again.move_to_front(&mut self.links, slot);
        }
        self.once.remove(&mut self.links, slot);
        self.again.push_front(&mut self.links, slot);
        pages.set_mark(slot, AGAIN);
    }

    #[inline]
    fn miss(&mut self, lpn: u32) {
        let (once, again) = (f64::from(self.once_ghosts.len()), f64::from(self.again_ghosts.len()));
        self.ghost = if self.once_ghosts.remove(lpn) {
            self.target = f64::from(self.capacity).min(self.target + (again / once).max(1.0));
            Known::Once
        } else if self.again_ghosts.remove(lpn) {
            self.target = (self.target - (once / again).max(1.0)).max(0.0);
            Known::Again
        } else {
            Known::No
        };
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
    fn prefetch(&self, lpn: u32) {
        self.once_ghosts.prefetch(lpn);
        self.again_ghosts.prefetch(lpn);
    }

    #[inline]
    fn victim(&mut self, _: &mut Pages) -> Slot {
        self.leaves_ghost = true;
        if self.ghost == Known::No {
            self.bound_ghosts();
            if !self.leaves_ghost {
                return self.once.back();
            }
        }
        let length = f64::from(self.once.len());
        let is_longer = length > self.target || self.ghost == Known::Again && length == self.target;
        if !self.once.is_empty() && is_longer || self.again.is_empty() {
            self.once.back()
        } else {
            self.again.back()
        }
    }

    #[inline]
    fn prefetch_victims(&self, pages: &Pages) {
        pages.prefetch_victims(&self.links, self.once.back());
        pages.prefetch_victims(&self.links, self.again.back());
        self.once_ghosts.prefetch_oldest();
        self.again_ghosts.prefetch_oldest();
    }

    #[inline]
    fn evicted(&mut self, slot: Slot, lpn: u32) {
        let is_once = !self.once.is_empty() && self.once.back() == slot;
        let (list, ghosts) = match is_once {
            true => (&mut self.once, &mut self.once_ghosts),
            false => (&mut self.again, &mut self.again_ghosts),
        };
        list.remove(&mut self.links, slot);
        if self.leaves_ghost {
            ghosts.push(lpn);
        }
    }

    #[inline]
    fn insert(&mut self, pages: &mut Pages, slot: Slot) {
        let is_known = self.ghost != Known::No;
        pages.set_mark(slot, u8::from(is_known));
        let list = if is_known { &mut self.again } else { &mut self.once };
        list.push_front(&mut self.links, slot);
    }

    fn forget(&mut self, pages: &mut Pages, slot: Slot) {
        let list = if pages.mark(slot) == AGAIN { &mut self.again } else { &mut self.once };
        list.remove(&mut self.links, slot);
    }

    fn state_bytes(&self) -> u64 {
        Ghost::bytes(2 * u64::from(self.capacity))
    }
}

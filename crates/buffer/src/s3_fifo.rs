//! S3-FIFO: three queues, for new pages, reused pages, and ghosts.
//!
//! ## Idea
//! Most pages are used once. New pages go through a small queue. Pages used again there move to the main
//! queue; the rest are evicted and remembered as ghosts. A page with a ghost goes to the main queue at once.
//!
//! ## Write path
//! As in LRU, except for the victim. It comes from the small queue while that queue exceeds its share,
//! otherwise from the main queue. A used page in the main queue goes round again, with its use count reduced
//! by one.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! A page is in one queue, and then not a ghost. A use count is at most 3.
//!
//! ## Differences
//! A page moves from the small queue to the main queue after `promote_uses` uses. The default is one, as in
//! the paper's text. Its listing asks for two, and so does the authors' implementation. That implementation
//! also fills the main queue before the first eviction (`fill_main`). Trimmed pages keep their ghosts.
//!
//! ## References
//! J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. V. Rashmi, "FIFO queues are all you need for cache eviction", SOSP
//! 2023.

use crate::parts::cache::Cached;
use crate::parts::ghost::Ghost;
use crate::parts::list::{Links, List};
use crate::parts::paged::{Paged, Replacement};
use crate::parts::pages::{Pages, Slot};
use crate::parts::sizes::one_memory;
use crate::{MountError, Options};
use nandlab_block::ByteCount;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// Options of `[buffer.s3_fifo]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Buffer size; rounded down to whole pages.
    pub size: ByteCount,
    /// Whether to cache pages on reads.
    pub cache_reads: bool,
    /// Size of the small queue, as a share of the buffer, above 0 and below 1.
    pub small: f64,
    /// Uses required to move from the small queue to the main queue, 1 to 3.
    pub promote_uses: u8,
    /// Number of ghosts, as a share of the buffer's pages.
    pub ghosts: f64,
    /// Whether new pages overflow from the small queue into the main queue until the first eviction.
    pub fill_main: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            size: crate::DEFAULT_SIZE,
            cache_reads: true,
            small: 0.1,
            promote_uses: 1,
            ghosts: 0.9,
            fill_main: false,
        }
    }
}

impl Options for Config {
    one_memory!("s3_fifo");

    fn variants(&self) -> Vec<(&'static str, Self)> {
        vec![
            ("write_only", Self { cache_reads: false, ..self.clone() }),
            ("filled", Self { fill_main: true, ..self.clone() }),
            ("filled_twice", Self { fill_main: true, promote_uses: 2, ..self.clone() }),
        ]
    }
}

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<Paged<S3Fifo>>, MountError> {
        let Self { small, promote_uses, ghosts, .. } = *self;
        let refuse = |message: String| Err(MountError::Config(message));
        if !(small > 0.0 && small < 1.0) {
            return refuse(format!("buffer.s3_fifo.small = {small} is not a share between 0 and 1"));
        }
        if !(1..=MOST_USES).contains(&promote_uses) {
            return refuse(format!("buffer.s3_fifo.promote_uses = {promote_uses} is not 1, 2 or 3"));
        }
        if !(0.0..=100.0).contains(&ghosts) {
            return refuse(format!("buffer.s3_fifo.ghosts = {ghosts} is not from 0 to 100"));
        }
        Paged::mount(geometry, nvram, &self.memories()[0], self.cache_reads, |pages| {
            let small_pages = (f64::from(pages) * small) as u32;
            S3Fifo {
                links: Links::default(),
                small: List::default(),
                main: List::default(),
                ghosts: Ghost::default(),
                small_pages,
                main_pages: pages - small_pages,
                fills_main: self.fill_main,
                most_ghosts: (f64::from(pages) * ghosts) as u32,
                promote_uses,
                was_ghost: false,
            }
        })
    }
}

const MOST_USES: u8 = 3;
/// Page mark: in the main queue.
const MAIN: u8 = 4;

/// The queues; new pages enter at the front.
#[derive(Debug)]
pub(crate) struct S3Fifo {
    links: Links,
    small: List,
    main: List,
    ghosts: Ghost,
    small_pages: u32,
    main_pages: u32,
    /// Whether new pages may still enter the main queue.
    fills_main: bool,
    most_ghosts: u32,
    promote_uses: u8,
    /// Whether the page of the last miss was a ghost.
    was_ghost: bool,
}

impl S3Fifo {
    /// A victim from the small queue; used pages move to the main queue.
    fn small_victim(&mut self, pages: &mut Pages) -> Option<Slot> {
        while !self.small.is_empty() {
            let slot = self.small.back();
            if pages.mark(slot) < self.promote_uses {
                return Some(slot);
            }
            self.small.remove(&mut self.links, slot);
            self.main.push_front(&mut self.links, slot);
            pages.set_mark(slot, MAIN);
        }
        None
    }

    fn main_victim(&mut self, pages: &mut Pages) -> Slot {
        loop {
            let slot = self.main.back();
            let uses = pages.mark(slot) & !MAIN;
            if uses == 0 {
                return slot;
            }
            pages.set_mark(slot, MAIN | (uses - 1));
            self.main.move_to_front(&mut self.links, slot);
        }
    }
}

impl Replacement for S3Fifo {
    #[inline]
    fn hit(&mut self, pages: &mut Pages, slot: Slot) {
        let mark = pages.mark(slot);
        if mark & !MAIN < MOST_USES {
            pages.set_mark(slot, mark + 1);
        }
    }

    #[inline]
    fn miss(&mut self, lpn: u32) {
        self.was_ghost = self.ghosts.remove(lpn);
    }

    #[inline]
    fn prefetch(&self, lpn: u32) {
        self.ghosts.prefetch(lpn);
    }

    #[inline]
    fn victim(&mut self, pages: &mut Pages) -> Slot {
        self.fills_main = false;
        if self.main.len() <= self.main_pages || self.main.is_empty() {
            if let Some(slot) = self.small_victim(pages) {
                return slot;
            }
        }
        self.main_victim(pages)
    }

    #[inline]
    fn prefetch_victims(&self, pages: &Pages) {
        pages.prefetch_victims(&self.links, self.small.back());
        pages.prefetch_victims(&self.links, self.main.back());
        self.ghosts.prefetch_oldest();
    }

    #[inline]
    fn evicted(&mut self, slot: Slot, lpn: u32) {
        if self.small.back() != slot {
            return self.main.remove(&mut self.links, slot);
        }
        self.small.remove(&mut self.links, slot);
        if self.most_ghosts > 0 {
            if self.ghosts.len() == self.most_ghosts {
                self.ghosts.pop();
            }
            self.ghosts.push(lpn);
        }
    }

    #[inline]
    fn insert(&mut self, pages: &mut Pages, slot: Slot) {
        let to_main = self.was_ghost || self.fills_main && self.small.len() >= self.small_pages;
        pages.set_mark(slot, if to_main { MAIN } else { 0 });
        let queue = if to_main { &mut self.main } else { &mut self.small };
        queue.push_front(&mut self.links, slot);
    }

    fn forget(&mut self, pages: &mut Pages, slot: Slot) {
        let queue = if pages.mark(slot) & MAIN != 0 { &mut self.main } else { &mut self.small };
        queue.remove(&mut self.links, slot);
    }

    fn state_bytes(&self) -> u64 {
        Ghost::bytes(u64::from(self.most_ghosts))
    }
}

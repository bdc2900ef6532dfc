//! A replacement of one's own: a class in Python says which page leaves.
//!
//! ## Idea
//! The buffer is as every other one that evicts one page at a time. It asks the class which page goes, and tells it
//! about hits, misses and pages that leave otherwise. The class sees logical page numbers only.
//!
//! ## Write path
//! As `lru`: a buffered page is updated in the buffer; a new page replaces the class's choice, which is written back if
//! dirty.
//!
//! ## Recovery
//! Everything is in DRAM: a power cut loses all unflushed data.
//!
//! ## Invariants
//! A victim is a buffered page; another answer ends the run.
//!
//! ## Differences
//! None.
//!
//! ## References
//! J. Yang and others: libCacheSim, whose plugins ask a policy in Python in the same way.

use crate::own;
use crate::parts::cache::Cached;
use crate::parts::paged::{Paged, Replacement};
use crate::parts::pages::{Pages, Slot};
use crate::parts::sizes::one_memory;
use crate::{MountError, Options as _};
use nandlab_block::own::{Own, Replaces};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// Options of `[buffer.python]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The class, `module:Class`.
    pub policy: Option<Own>,
    /// Buffer size; rounded down to whole pages.
    pub size: nandlab_block::ByteCount,
    /// Whether to cache pages on reads.
    pub cache_reads: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { policy: None, size: crate::DEFAULT_SIZE, cache_reads: true }
    }
}

impl crate::Options for Config {
    one_memory!("python");
}

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<Paged<Asked>>, MountError> {
        let own = self.policy.ok_or_else(|| {
            MountError::Config("buffer.python.policy is missing: it names a class, such as \"mine:Lru\"".into())
        })?;
        let host = own::host(own).map_err(MountError::Config)?;
        let make = |pages| Asked(host.replacement(own, pages));
        Paged::mount(geometry, nvram, &self.memories()[0], self.cache_reads, make)
    }
}

/// A replacement that is asked by page number.
#[derive(Debug)]
pub(crate) struct Asked(Box<dyn Replaces>);

impl Replacement for Asked {
    fn hit(&mut self, pages: &mut Pages, slot: Slot) {
        self.0.hit(pages.lpn(slot));
    }

    fn miss(&mut self, lpn: u32) {
        self.0.miss(lpn);
    }

    fn victim(&mut self, pages: &mut Pages) -> Slot {
        let lpn = self.0.victim();
        match pages.find(lpn) {
            Some(slot) => slot,
            None => self.0.refuse(lpn),
        }
    }

    fn evicted(&mut self, _: Slot, lpn: u32) {
        self.0.evicted(lpn);
    }

    fn insert(&mut self, pages: &mut Pages, slot: Slot) {
        self.0.insert(pages.lpn(slot));
    }

    fn forget(&mut self, pages: &mut Pages, slot: Slot) {
        self.0.forget(pages.lpn(slot));
    }

    fn flushed(&mut self, _: &mut Pages) {
        self.0.flushed();
    }
}

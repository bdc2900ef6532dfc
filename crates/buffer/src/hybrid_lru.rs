//! Hybrid-LRU: clean pages in DRAM, dirty pages in NVRAM, each in LRU order.
//!
//! ## Idea
//! Dirty data must survive and is expensive to evict, so it is in NVRAM. Clean data is in DRAM.
//!
//! ## Write path
//! A written page goes to NVRAM, even if it was clean in DRAM. If NVRAM is full, its least recently used page
//! is written back and moves, now clean, to the old end of the DRAM list. A page read from below goes to
//! DRAM. With `lend_nvram`, pages evicted from DRAM move to NVRAM while it has spare room, and make way for
//! the next dirty page.
//!
//! ## Recovery
//! Every acknowledged write is in NVRAM or was flushed below: nothing is lost.
//!
//! ## Invariants
//! No page in DRAM is dirty. Every page is on one list, by memory and state.
//!
//! ## Differences
//! If DRAM is full, a page written back from NVRAM replaces the oldest page there. Lending NVRAM to clean
//! pages is an option, off by default.
//!
//! ## References
//! The comparison policy in K. M. Kim, J.-H. Choi, J. W. Kwak, "WAP-LRU", IEMEK Journal of Embedded Systems
//! and Applications 13(3), 2018, and the works cited there; the scheme has no single origin.

use crate::parts::cache::{Access, Cached, Policy};
use crate::parts::io::Io;
use crate::parts::list::{Links, List};
use crate::parts::pages::{Pages, Slot, FRAME_BYTES};
use crate::parts::sizes::two_memories;
use crate::parts::table::Table;
use crate::{Memory, MountError, Options};
use nandlab_block::{ByteCount, Error, RamUse};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// Options of `[buffer.hybrid_lru]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// DRAM size; rounded down to whole pages.
    pub dram: ByteCount,
    /// NVRAM size; rounded down to whole pages.
    pub nvram: ByteCount,
    /// Whether clean pages may use spare NVRAM.
    pub lend_nvram: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { dram: crate::DEFAULT_DRAM, nvram: crate::DEFAULT_NVRAM, lend_nvram: false }
    }
}

impl Options for Config {
    two_memories!("hybrid_lru", Page);

    fn variants(&self) -> Vec<(&'static str, Self)> {
        vec![("lend", Self { lend_nvram: true, ..self.clone() })]
    }
}

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<HybridLru>, MountError> {
        let [dram, nvm] = [self.memories()[0].pages(geometry)?, self.memories()[1].pages(geometry)?];
        let policy = HybridLru {
            links: Links::default(),
            clean: List::default(),
            dirty: List::default(),
            lent: List::default(),
            dram_pages: dram,
            nvram_pages: nvm,
            lends: self.lend_nvram,
            page_bytes: geometry.page_bytes().into(),
        };
        Ok(Cached::new(Pages::mount(geometry, nvram, nvm.into())?, policy))
    }
}

/// Lists by last use.
#[derive(Debug)]
pub(crate) struct HybridLru {
    links: Links,
    /// Pages in DRAM.
    clean: List,
    /// Dirty pages in NVRAM.
    dirty: List,
    /// Clean pages in NVRAM.
    lent: List,
    dram_pages: u32,
    nvram_pages: u32,
    lends: bool,
    page_bytes: u64,
}

impl HybridLru {
    fn list_of(&mut self, pages: &Pages, slot: Slot) -> &mut List {
        match (pages.memory(slot), pages.is_dirty(slot)) {
            (Memory::Dram, _) => &mut self.clean,
            (Memory::Nvram, true) => &mut self.dirty,
            (Memory::Nvram, false) => &mut self.lent,
        }
    }

    /// Makes room for a dirty page.
    fn free_nvram(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        if self.dirty.len() + self.lent.len() < self.nvram_pages {
            return Ok(());
        }
        if !self.lent.is_empty() {
            let slot = self.lent.back();
            io.evict(slot)?;
            self.lent.remove(&mut self.links, slot);
            return Ok(());
        }
        let slot = self.dirty.back();
        io.write_back(&[slot], crate::parts::io::NO_PADDING)?;
        if self.clean.len() == self.dram_pages {
            let oldest = self.clean.back();
            io.evict(oldest)?;
            self.clean.remove(&mut self.links, oldest);
        }
        self.dirty.remove(&mut self.links, slot);
        self.clean.push_back(&mut self.links, slot);
        io.migrate(slot, Memory::Dram, 0)
    }

    /// Makes room for a clean page.
    fn free_dram(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        if self.clean.len() < self.dram_pages {
            return Ok(());
        }
        let slot = self.clean.back();
        if self.lends && self.dirty.len() + self.lent.len() < self.nvram_pages {
            self.clean.remove(&mut self.links, slot);
            self.lent.push_front(&mut self.links, slot);
            return io.migrate(slot, Memory::Nvram, 0);
        }
        io.evict(slot)?;
        self.clean.remove(&mut self.links, slot);
        Ok(())
    }
}

impl Policy for HybridLru {
    fn caches_reads(&self) -> bool {
        true
    }

    fn touch(&mut self, io: &mut Io<'_>, slot: Slot, access: &Access) -> Result<(), Error> {
        let memory = io.pages.memory(slot);
        if !access.is_write || memory == Memory::Nvram && io.pages.is_dirty(slot) {
            let list = match (memory, io.pages.is_dirty(slot)) {
                (Memory::Dram, _) => &mut self.clean,
                (Memory::Nvram, true) => &mut self.dirty,
                (Memory::Nvram, false) => &mut self.lent,
            };
            list.move_to_front(&mut self.links, slot);
            return Ok(());
        }
        if memory == Memory::Nvram {
            self.lent.remove(&mut self.links, slot);
            self.dirty.push_front(&mut self.links, slot);
            return Ok(());
        }
        // Take the page off its list first, so it is not evicted to make room.
        self.clean.remove(&mut self.links, slot);
        if let Err(error) = self.free_nvram(io) {
            self.clean.push_front(&mut self.links, slot);
            return Err(error);
        }
        self.dirty.push_front(&mut self.links, slot);
        io.migrate(slot, Memory::Nvram, access.mask)
    }

    fn admit(&mut self, io: &mut Io<'_>, access: &Access) -> Result<Slot, Error> {
        if access.is_write {
            self.free_nvram(io)?;
            let slot = io.pages.take(access.lpn, Memory::Nvram);
            self.dirty.push_front(&mut self.links, slot);
            return Ok(slot);
        }
        self.free_dram(io)?;
        let slot = io.pages.take(access.lpn, Memory::Dram);
        self.clean.push_front(&mut self.links, slot);
        Ok(slot)
    }

    fn forget(&mut self, pages: &mut Pages, slot: Slot) {
        let mut links = std::mem::take(&mut self.links);
        self.list_of(pages, slot).remove(&mut links, slot);
        self.links = links;
    }

    fn restore(&mut self, _: &mut Pages, slot: Slot) {
        self.dirty.push_front(&mut self.links, slot);
    }

    fn ram(&self) -> RamUse {
        let (dram, nvram) = (u64::from(self.dram_pages), u64::from(self.nvram_pages));
        let lists = FRAME_BYTES * (dram + nvram) + Table::bytes(dram + nvram) + Links::bytes(dram + nvram);
        RamUse { sram: [("buffer_lists", lists)].into(), dram: [("buffer_pages", dram * self.page_bytes)].into() }
    }
}

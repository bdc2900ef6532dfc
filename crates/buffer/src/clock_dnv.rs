//! CLOCK-DNV: a clock of pages in DRAM, backed by a clock of blocks in NVRAM.
//!
//! ## Idea
//! Writes go to DRAM first. Dirty pages evicted from DRAM move to their block in NVRAM. A block gathers pages
//! there until it is flushed as one ordered run.
//!
//! ## Write path
//! A new page enters DRAM. If DRAM is full, the hand looks for a page not used since its last pass: first
//! among the dirty pages, which move to NVRAM, then among the clean pages, which are dropped. If NVRAM is
//! full, another hand picks a block not used since its last pass. The block is flushed together with its
//! dirty pages in DRAM (dirty page padding), which stay in DRAM as clean pages. A page in NVRAM is updated in
//! place there.
//!
//! ## Recovery
//! NVRAM contents survive; a power cut loses unflushed data in DRAM.
//!
//! ## Invariants
//! A page is in one memory. Dirty and clean DRAM pages are in separate rings. A block is in the NVRAM ring
//! while it has a page in NVRAM.
//!
//! ## Differences
//! The papers leave some points open, so these are options: the pages evicted first from DRAM (`prefer`; by
//! default dirty ones, as the WAP-LRU paper describes it), eviction of the NVRAM block with the most pages
//! instead (`rank_by_fill`), caching of reads (`cache_reads`), and the NVRAM space of a block (`allocation`).
//! A page that becomes dirty or clean is inserted right behind the hand of its new ring.
//!
//! ## References
//! D. H. Kang, S. J. Han, Y.-C. Kim, Y. I. Eom, "CLOCK-DNV: a write buffer algorithm for flash storage
//! devices of consumer electronics", IEEE Transactions on Consumer Electronics 63(1), 2017; as described in
//! K. M. Kim et al., "WAP-LRU", 2018.

use crate::parts::blocks::{Blocks, Node};
use crate::parts::blockwise::mark_of;
use crate::parts::cache::{Access, Cached, Policy};
use crate::parts::io::Io;
use crate::parts::list::{Links, List, NONE};
pub use crate::parts::nvram_blocks::Allocation;
use crate::parts::nvram_blocks::NvramBlocks;
use crate::parts::pages::{Pages, Slot, FRAME_BYTES};
use crate::parts::ranked::Ranked;
use crate::parts::sizes::two_memories;
use crate::parts::table::Table;
use crate::{Memory, MountError, Options};
use nandlab_block::{ByteCount, Error, RamUse};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// Pages evicted first from DRAM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Prefer {
    /// Dirty pages.
    Dirty,
    /// Clean pages.
    Clean,
    /// No preference: one ring holds both.
    Neither,
}

/// Options of `[buffer.clock_dnv]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// DRAM size; rounded down to whole pages.
    pub dram: ByteCount,
    /// NVRAM size; rounded down to whole blocks.
    pub nvram: ByteCount,
    /// Pages evicted first from DRAM: `dirty`, `clean` or `neither`.
    pub prefer: Prefer,
    /// Whether NVRAM evicts the block with the most pages (the least recently used of several) instead of the
    /// hand's choice. Of one paper: wap-lru.
    pub rank_by_fill: bool,
    /// Whether to cache pages on reads.
    pub cache_reads: bool,
    /// A block's NVRAM space: only its `page`s there, or a whole `block`.
    pub allocation: Allocation,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            dram: crate::DEFAULT_DRAM,
            nvram: crate::DEFAULT_NVRAM,
            prefer: Prefer::Dirty,
            rank_by_fill: false,
            cache_reads: true,
            allocation: Allocation::Page,
        }
    }
}

impl Options for Config {
    two_memories!("clock_dnv", Block);

    fn variants(&self) -> Vec<(&'static str, Self)> {
        let this = || self.clone();
        vec![
            ("clean_first", Self { prefer: Prefer::Clean, rank_by_fill: true, ..this() }),
            ("one_ring", Self { prefer: Prefer::Neither, allocation: Allocation::Block, ..this() }),
            ("write_only", Self { cache_reads: false, rank_by_fill: true, ..this() }),
        ]
    }
}

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<ClockDnv>, MountError> {
        let [dram_pages, nvram_pages] = [self.memories()[0].pages(geometry)?, self.memories()[1].pages(geometry)?];
        let policy = ClockDnv {
            links: Links::default(),
            rings: [List::default(); 2],
            nvram: NvramBlocks::new(geometry, nvram_pages, self.allocation),
            ring: Links::default(),
            nodes: List::default(),
            ranked: Ranked::default(),
            is_used: Vec::new(),
            config: self.clone(),
            dram_pages,
            nvram_pages: nvram_pages.into(),
            page_bytes: geometry.page_bytes().into(),
        };
        Ok(Cached::new(Pages::mount(geometry, nvram, nvram_pages.into())?, policy))
    }
}

/// DRAM page mark: used.
const USED: u8 = 1;
/// DRAM page mark: in the second ring.
const SECOND: u8 = 2;

/// The rings; the hand is at each list's end.
#[derive(Debug)]
pub(crate) struct ClockDnv {
    links: Links,
    /// DRAM pages: preferred victims, and the others.
    rings: [List; 2],
    nvram: NvramBlocks,
    /// Blocks in NVRAM.
    ring: Links,
    nodes: List,
    /// The same blocks by page count, if `rank_by_fill` is set.
    ranked: Ranked,
    /// Whether a block in NVRAM was used since the hand passed it.
    is_used: Vec<bool>,
    config: Config,
    dram_pages: u32,
    nvram_pages: u64,
    page_bytes: u64,
}

impl ClockDnv {
    /// The ring for pages in this state.
    #[inline]
    fn ring_for(&self, is_dirty: bool) -> u8 {
        match self.config.prefer {
            Prefer::Neither => 0,
            Prefer::Dirty => u8::from(!is_dirty),
            Prefer::Clean => u8::from(is_dirty),
        }
    }

    #[inline]
    fn ring_of(mark: u8) -> usize {
        usize::from(mark & SECOND != 0)
    }

    /// Moves a DRAM page to the ring for its state, unless it is already there.
    fn place(&mut self, pages: &mut Pages, slot: Slot, is_dirty: bool) {
        let (from, to) = (Self::ring_of(pages.mark(slot)), self.ring_for(is_dirty));
        if from != usize::from(to) {
            self.rings[from].remove(&mut self.links, slot);
            self.rings[usize::from(to)].push_front(&mut self.links, slot);
            pages.set_mark(slot, (pages.mark(slot) & USED) | (to * SECOND));
        }
    }

    /// A ring's first unused page, within one round.
    fn unused(&mut self, pages: &mut Pages, ring: usize) -> Option<Slot> {
        for _ in 0..self.rings[ring].len() {
            let slot = self.rings[ring].back();
            let mark = pages.mark(slot);
            if mark & USED == 0 {
                return Some(slot);
            }
            pages.set_mark(slot, mark & !USED);
            self.rings[ring].move_to_front(&mut self.links, slot);
        }
        None
    }

    fn free_dram(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        if self.rings[0].len() + self.rings[1].len() < self.dram_pages {
            return Ok(());
        }
        let victim = self.unused(io.pages, 0).or_else(|| self.unused(io.pages, 1));
        let first = if self.rings[0].is_empty() { self.rings[1].back() } else { self.rings[0].back() };
        let slot = victim.unwrap_or(first);
        if io.pages.is_dirty(slot) {
            self.free_nvram(io, io.pages.lpn(slot))?;
        }
        // Its block's flush may have cleaned the page and moved it to the other ring.
        let ring = Self::ring_of(io.pages.mark(slot));
        if io.pages.is_dirty(slot) {
            self.rings[ring].remove(&mut self.links, slot);
            io.migrate(slot, Memory::Nvram, 0)?;
            self.enter_nvram(self.nvram.blocks.node_of(slot));
        } else {
            self.nvram.remove(io.pages, slot);
            self.rings[ring].remove(&mut self.links, slot);
            io.evict(slot)?;
        }
        Ok(())
    }

    fn free_nvram(&mut self, io: &mut Io<'_>, lpn: u32) -> Result<(), Error> {
        while !self.nvram.has_room(self.nvram.present(lpn)) {
            let node = self.victim();
            let mut cleaned = Vec::new();
            self.nvram.flush(io, node, false, |_, slot| cleaned.push(slot))?;
            self.leave_nvram(node);
            for slot in cleaned {
                self.place(io.pages, slot, false);
            }
        }
        Ok(())
    }

    /// The next victim; it stays in the ring.
    fn victim(&mut self) -> Node {
        if self.config.rank_by_fill {
            return self.ranked.highest();
        }
        loop {
            let node = self.nodes.back();
            if !std::mem::take(mark_of(&mut self.is_used, node)) {
                return node;
            }
            self.nodes.move_to_front(&mut self.ring, node);
        }
    }

    /// Adds a page of the node that entered NVRAM.
    fn enter_nvram(&mut self, node: Node) {
        let is_first = self.nvram.add_nvram(node);
        let pages = self.nvram.pages(node);
        if is_first {
            self.nodes.push_front(&mut self.ring, node);
            *mark_of(&mut self.is_used, node) = false;
            self.ranked.add(node, pages);
        } else {
            self.use_block(node);
        }
    }

    fn use_block(&mut self, node: Node) {
        *mark_of(&mut self.is_used, node) = true;
        if self.config.rank_by_fill {
            self.ranked.used(node, self.nvram.pages(node));
        }
    }

    fn leave_nvram(&mut self, node: Node) {
        self.nodes.remove(&mut self.ring, node);
        self.ranked.remove(node);
    }
}

impl Policy for ClockDnv {
    fn caches_reads(&self) -> bool {
        self.config.cache_reads
    }

    #[inline]
    fn touch(&mut self, io: &mut Io<'_>, slot: Slot, access: &Access) -> Result<(), Error> {
        if io.pages.memory(slot) == Memory::Nvram {
            self.use_block(self.nvram.blocks.node_of(slot));
            return Ok(());
        }
        io.pages.set_mark(slot, io.pages.mark(slot) | USED);
        if access.is_write {
            self.place(io.pages, slot, true);
        }
        Ok(())
    }

    fn admit(&mut self, io: &mut Io<'_>, access: &Access) -> Result<Slot, Error> {
        self.free_dram(io)?;
        let slot = io.pages.take(access.lpn, Memory::Dram);
        self.nvram.add(access.lpn, slot);
        let ring = self.ring_for(access.is_write);
        io.pages.set_mark(slot, ring * SECOND);
        self.rings[usize::from(ring)].push_front(&mut self.links, slot);
        Ok(slot)
    }

    fn forget(&mut self, pages: &mut Pages, slot: Slot) {
        if pages.memory(slot) == Memory::Dram {
            self.rings[Self::ring_of(pages.mark(slot))].remove(&mut self.links, slot);
            self.nvram.remove(pages, slot);
            return;
        }
        let node = self.nvram.blocks.node_of(slot);
        if self.nvram.remove(pages, slot).is_some() {
            self.leave_nvram(node);
        } else if self.config.rank_by_fill {
            self.ranked.set_rank(node, self.nvram.pages(node));
        }
    }

    fn flushed(&mut self, pages: &mut Pages) {
        let dirty = usize::from(self.ring_for(true));
        if dirty == usize::from(self.ring_for(false)) {
            return;
        }
        let mut slot = self.rings[dirty].back();
        while slot != NONE {
            let next = self.links.prev(slot);
            self.place(pages, slot, false);
            slot = next;
        }
    }

    fn restore(&mut self, pages: &mut Pages, slot: Slot) {
        let node = self.nvram.add(pages.lpn(slot), slot);
        self.enter_nvram(node);
    }

    fn ram(&self) -> RamUse {
        let (dram, all) = (u64::from(self.dram_pages), u64::from(self.dram_pages) + self.nvram_pages);
        let lists = FRAME_BYTES * all + Table::bytes(all) + Links::bytes(dram) + Blocks::bytes(all) + 13 * all;
        RamUse { sram: [("buffer_lists", lists)].into(), dram: [("buffer_pages", dram * self.page_bytes)].into() }
    }
}

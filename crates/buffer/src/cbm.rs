//! CBM: pages and blocks in NVRAM, and a DRAM read cache that completes written blocks.
//!
//! ## Idea
//! NVRAM is the write buffer, DRAM the read cache. Pages written one by one enter a page region; once enough
//! pages of a block have gathered there, the block moves to a block region. A block goes to flash as a whole,
//! together with its pages in the read cache, so as much as possible of it is written in order.
//!
//! ## Write path
//! A written page goes to the page region, or joins its block if the block is in the block region. A block
//! with `threshold` pages in the page region moves to the block region. If the page region exceeds its share,
//! the block of its least recently used page moves. If NVRAM is full, the least popular block of the block
//! region is written: its dirty pages, and its clean pages in DRAM. A write to a clean page in DRAM moves
//! that page to NVRAM.
//!
//! ## Recovery
//! Every acknowledged write is in NVRAM or was flushed below: nothing is lost.
//!
//! ## Invariants
//! Every page in NVRAM is dirty, every page in DRAM is clean. A block has pages in only one of the two
//! regions.
//!
//! ## Differences
//! The paper was not available, only descriptions of it. They leave some points open, so these are options:
//! the threshold, the page region's share, and the `victim`. The victim is the least often used block, and
//! the least recently used of several; successive uses of the same block count once. It can also be the block
//! with the most pages, or the least recently used block.
//!
//! ## References
//! Q. Wei, C. Chen, J. Yang, "CBM: a cooperative buffer management for SSD", MSST 2014.

use crate::parts::blocks::{Blocks, Node};
use crate::parts::blockwise::mark_of;
use crate::parts::cache::{Access, Cached, Policy};
use crate::parts::io::Io;
use crate::parts::list::{Links, List, NONE};
use crate::parts::nvram_blocks::{Allocation, NvramBlocks};
use crate::parts::pages::{Pages, Slot, FRAME_BYTES};
use crate::parts::ranked::Ranked;
use crate::parts::sizes::two_memories;
use crate::parts::table::Table;
use crate::{Memory, MountError, Options};
use nandlab_block::{ByteCount, Error, RamUse};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// Victim in the block region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Victim {
    /// The least often used block.
    LeastUsed,
    /// The block with the most pages.
    Fullest,
    /// The least recently used block.
    Oldest,
}

/// Options of `[buffer.cbm]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// DRAM size; rounded down to whole pages.
    pub dram: ByteCount,
    /// NVRAM size; rounded down to whole pages.
    pub nvram: ByteCount,
    /// Number of pages in the page region at which a block moves to the block region.
    pub threshold: u32,
    /// The page region's share of NVRAM, from 0 to 1.
    pub page_region: f64,
    /// The next victim: `least_used`, `fullest` or `oldest`.
    pub victim: Victim,
    /// Whether a block's clean pages in DRAM are written with its dirty pages.
    pub merge_clean: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            dram: crate::DEFAULT_DRAM,
            nvram: crate::DEFAULT_NVRAM,
            threshold: 8,
            page_region: 0.5,
            victim: Victim::LeastUsed,
            merge_clean: true,
        }
    }
}

impl Options for Config {
    two_memories!("cbm", Page);

    fn variants(&self) -> Vec<(&'static str, Self)> {
        let this = || self.clone();
        vec![
            ("early", Self { threshold: 2, victim: Victim::Fullest, ..this() }),
            ("unmerged", Self { merge_clean: false, victim: Victim::Oldest, page_region: 0.1, ..this() }),
        ]
    }
}

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<Cbm>, MountError> {
        let [dram, nvm] = [self.memories()[0].pages(geometry)?, self.memories()[1].pages(geometry)?];
        let share = self.page_region;
        if !(0.0..=1.0).contains(&share) {
            return Err(MountError::Config(format!("buffer.cbm.page_region = {share} is not from 0 to 1")));
        }
        if self.threshold == 0 {
            return Err(MountError::Config("buffer.cbm.threshold = 0: a block moves with 1 page at least".into()));
        }
        let policy = Cbm {
            links: Links::default(),
            reads: List::default(),
            writes: List::default(),
            nvram: NvramBlocks::new(geometry, nvm, Allocation::Page),
            region: Ranked::default(),
            in_region: Vec::new(),
            last_used: NONE,
            dram_pages: dram,
            nvram_pages: nvm,
            page_region_pages: (f64::from(nvm) * share) as u32,
            config: self.clone(),
            page_bytes: geometry.page_bytes().into(),
        };
        Ok(Cached::new(Pages::mount(geometry, nvram, nvm.into())?, policy))
    }
}

/// Use count limit; further uses do not make a block more popular.
const MOST_USES: u32 = 255;

/// The regions.
#[derive(Debug)]
pub(crate) struct Cbm {
    links: Links,
    /// The read cache in DRAM, by last use.
    reads: List,
    /// The page region, by last use.
    writes: List,
    nvram: NvramBlocks,
    /// Blocks in the block region.
    region: Ranked,
    in_region: Vec<bool>,
    /// The last used block.
    last_used: Node,
    dram_pages: u32,
    nvram_pages: u32,
    page_region_pages: u32,
    config: Config,
    page_bytes: u64,
}

impl Cbm {
    #[inline]
    fn is_in_region(&self, node: Node) -> bool {
        self.in_region.get(node as usize).copied().unwrap_or(false)
    }

    /// Moves a block's pages from the page region to the block region.
    fn move_to_region(&mut self, pages: &Pages, node: Node) {
        for slot in self.nvram.blocks.slots(node).filter(|&slot| pages.memory(slot) == Memory::Nvram) {
            self.writes.remove(&mut self.links, slot);
        }
        *mark_of(&mut self.in_region, node) = true;
        let rank = match self.config.victim {
            Victim::LeastUsed => 1,
            Victim::Fullest => self.nvram.pages(node),
            Victim::Oldest => 0,
        };
        self.region.add(node, rank);
    }

    /// Records a use of a block in the block region.
    fn use_block(&mut self, node: Node) {
        let rank = match self.config.victim {
            Victim::LeastUsed if self.last_used == node => self.region.rank(node),
            Victim::LeastUsed => (self.region.rank(node) + 1).min(MOST_USES),
            Victim::Fullest => self.nvram.pages(node),
            Victim::Oldest => 0,
        };
        self.region.used(node, rank);
    }

    /// Makes room for a page in NVRAM.
    fn free_nvram(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        while !self.nvram.has_room(None) {
            if self.region.is_empty() {
                let oldest = self.nvram.blocks.node_of(self.writes.back());
                self.move_to_region(io.pages, oldest);
            }
            let node = match self.config.victim {
                Victim::Fullest => self.region.highest(),
                Victim::LeastUsed | Victim::Oldest => self.region.lowest(),
            };
            self.nvram.flush(io, node, self.config.merge_clean, |_, _| {})?;
            self.leave_region(node);
        }
        Ok(())
    }

    fn leave_region(&mut self, node: Node) {
        self.region.remove(node);
        self.in_region[node as usize] = false;
        if self.last_used == node {
            self.last_used = NONE;
        }
    }

    /// Adds a page that entered NVRAM.
    fn enter_nvram(&mut self, pages: &Pages, slot: Slot) {
        let node = self.nvram.blocks.node_of(slot);
        self.nvram.add_nvram(node);
        if self.is_in_region(node) {
            self.use_block(node);
        } else {
            self.writes.push_front(&mut self.links, slot);
            if self.nvram.pages(node) >= self.config.threshold {
                self.move_to_region(pages, node);
            } else if self.writes.len() > self.page_region_pages {
                let oldest = self.nvram.blocks.node_of(self.writes.back());
                self.move_to_region(pages, oldest);
            }
        }
        self.last_used = node;
    }
}

impl Policy for Cbm {
    fn caches_reads(&self) -> bool {
        true
    }

    fn touch(&mut self, io: &mut Io<'_>, slot: Slot, access: &Access) -> Result<(), Error> {
        let node = self.nvram.blocks.node_of(slot);
        if io.pages.memory(slot) == Memory::Nvram {
            if self.is_in_region(node) {
                self.use_block(node);
            } else {
                self.writes.move_to_front(&mut self.links, slot);
            }
            self.last_used = node;
            return Ok(());
        }
        if !access.is_write {
            self.reads.move_to_front(&mut self.links, slot);
            self.last_used = node;
            return Ok(());
        }
        // Making room in NVRAM leaves DRAM pages in place.
        self.free_nvram(io)?;
        self.reads.remove(&mut self.links, slot);
        io.migrate(slot, Memory::Nvram, access.mask)?;
        self.enter_nvram(io.pages, slot);
        Ok(())
    }

    fn admit(&mut self, io: &mut Io<'_>, access: &Access) -> Result<Slot, Error> {
        if access.is_write {
            self.free_nvram(io)?;
            let slot = io.pages.take(access.lpn, Memory::Nvram);
            self.nvram.add(access.lpn, slot);
            self.enter_nvram(io.pages, slot);
            return Ok(slot);
        }
        if self.reads.len() == self.dram_pages {
            let slot = self.reads.back();
            self.reads.remove(&mut self.links, slot);
            self.nvram.remove(io.pages, slot);
            io.evict(slot)?;
        }
        let slot = io.pages.take(access.lpn, Memory::Dram);
        self.nvram.add(access.lpn, slot);
        self.reads.push_front(&mut self.links, slot);
        Ok(slot)
    }

    fn forget(&mut self, pages: &mut Pages, slot: Slot) {
        let node = self.nvram.blocks.node_of(slot);
        let (in_nvram, in_region) = (pages.memory(slot) == Memory::Nvram, self.is_in_region(node));
        let is_last = self.nvram.remove(pages, slot).is_some();
        if !in_nvram {
            self.reads.remove(&mut self.links, slot);
        } else if !in_region {
            self.writes.remove(&mut self.links, slot);
        } else if is_last {
            self.leave_region(node);
        } else if self.config.victim == Victim::Fullest {
            self.region.set_rank(node, self.nvram.pages(node));
        }
    }

    fn restore(&mut self, pages: &mut Pages, slot: Slot) {
        self.nvram.add(pages.lpn(slot), slot);
        self.enter_nvram(pages, slot);
    }

    fn ram(&self) -> RamUse {
        let (dram, all) = (u64::from(self.dram_pages), u64::from(self.dram_pages) + u64::from(self.nvram_pages));
        let tables = Table::bytes(all) + Links::bytes(all) + Blocks::bytes(all);
        let lists = FRAME_BYTES * all + tables + Ranked::bytes(all, u64::from(MOST_USES) + 1);
        RamUse { sram: [("buffer_lists", lists)].into(), dram: [("buffer_pages", dram * self.page_bytes)].into() }
    }
}

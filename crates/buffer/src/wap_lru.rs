//! WAP-LRU: places requests in DRAM or in NVRAM blocks by write pattern.
//!
//! ## Idea
//! An interval's requests show the write run length. While runs are short (balanced), small requests
//! go to DRAM, and large ones, presumably sequential, go to NVRAM blocks. While runs are long
//! (write-intensive), writes go to DRAM and reads to NVRAM. Written pages later move from DRAM to NVRAM, so
//! they stay longest.
//!
//! ## Write path
//! ```text
//! miss:  balanced         size < t_read, t_write -> DRAM, else NVRAM
//!        write-intensive  write -> DRAM, read -> NVRAM
//! hit:   the page stays where it is; in DRAM it, in NVRAM its block, is the most recent
//! DRAM full:   its least recent page goes: dirty to NVRAM, clean away
//! NVRAM full:  its least recent block goes: its dirty pages, and those of the block in DRAM, are written in order;
//!              the pages in DRAM stay, clean, and the others go
//! ```
//! After every `interval` requests, the pages written divided by the write run count are compared with
//! `t_state`.
//!
//! ## Recovery
//! Dirty data in NVRAM survives; a power cut loses unflushed data in DRAM. After a mount the state is
//! balanced.
//!
//! ## Invariants
//! A page is in one memory. A block is in the NVRAM list while it has a page there.
//!
//! ## Differences
//! The paper's listing inserts into DRAM only if DRAM is full, and never flushes the least recently used
//! block; its text has both the insertion and the flush. If a dirty DRAM page needs NVRAM room and its own block is flushed for it, the
//! page is clean afterwards and is dropped. The paper leaves some points open, so these are options: the
//! count of runs (`fw`), the interval length, the unit of sizes, an immediate flush of complete blocks, and
//! the NVRAM space of a block. The thresholds in the paper's Table 4 are presets. As page counts they exceed
//! nearly every request of such traces, so one memory is hardly used: the record calls this degenerate.
//! `padding = false` shows the value of lines 14 to 18 of Algorithm 2: without them, a block leaving NVRAM
//! does not take its dirty DRAM pages along. Line 16 compares with the block of the page that comes in, the
//! text with the block that leaves: `padded`. Where NVRAM has no room, lines 2 to 5 take the incoming page's block
//! only if it has no free space, else the least recent one. Here the own block goes whenever it is there, full or
//! not; `own_block_first = false` takes the least recent one. With whole blocks in NVRAM a block that is
//! there always has room for its pages, so the two do the same.
//!
//! ## References
//! K. M. Kim, J.-H. Choi, J. W. Kwak, "WAP-LRU: write pattern analysis based hybrid disk buffer management in
//! flash storage systems", IEMEK Journal of Embedded Systems and Applications 13(3), 2018.

mod pattern;
pub mod profile;
mod tally;

use crate::parts::blocks::{Blocks, Node};
use crate::parts::cache::{Access, Cached, Policy};
use crate::parts::io::Io;
use crate::parts::list::{Links, List};
pub use crate::parts::nvram_blocks::Allocation;
use crate::parts::nvram_blocks::NvramBlocks;
use crate::parts::pages::{Pages, Slot, FRAME_BYTES};
use crate::parts::sizes::two_memories;
use crate::parts::table::Table;
use crate::{Memory, MountError, Options, Placement};
use nandlab_block::{ByteCount, Error, RamUse, Request};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;
use pattern::Pattern;
pub use pattern::{Decider, Source};
use profile::{Profiler, Thresholds};
pub use tally::{Frequency, SizeUnit};

/// Options of `[buffer.wap_lru]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// DRAM size; rounded down to whole pages.
    pub dram: ByteCount,
    /// NVRAM size; rounded down to whole blocks.
    pub nvram: ByteCount,
    /// Requests per interval.
    pub interval: u32,
    /// Source for thresholds not given below. `auto` applies the paper's recipe to the whole workload
    /// before the run. `online` applies it to the last intervals during the run, as far as this reduces
    /// flushing. `financial`, `fiu_online`, `web_vm` and `webmail` take Table 4 of the paper.
    pub thresholds: Source,
    /// `online` learns from this many intervals.
    pub window: u32,
    /// Threshold for a write-intensive interval: mean pages per write run. Default: from `thresholds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_state: Option<f64>,
    /// Minimum size for reads placed in NVRAM while balanced. Default: from `thresholds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_read: Option<f64>,
    /// Minimum size for writes placed in NVRAM while balanced. Default: from `thresholds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_write: Option<f64>,
    /// Divisor for the pages written in an interval: its write `runs`, or one plus its `switches` between
    /// reads and writes. Of one paper: wap-lru.
    pub fw: Frequency,
    /// Request size unit: `page`s or `sector`s in the request, or pages in the sequential `run` it
    /// continues. Of one paper: wap-lru.
    pub size_unit: SizeUnit,
    /// Whether to flush a block as soon as all its pages are in NVRAM. Of one paper: wap-lru.
    pub flush_when_complete: bool,
    /// A block's NVRAM space: the whole `block`, or only its `page`s there.
    pub allocation: Allocation,
    /// Whether a block leaving NVRAM takes its dirty pages in DRAM along: lines 14 to 18 of Algorithm 2.
    pub padding: bool,
    /// Whose dirty pages in DRAM are written with a block that leaves NVRAM for a page: those of this block, or
    /// of the page's block. Of one paper: wap-lru.
    pub padded: Padded,
    /// Whether a page without room in NVRAM replaces its own block, if that is there; else the least recent one.
    /// Of one paper: wap-lru.
    pub own_block_first: bool,
}

/// Whose dirty DRAM pages a flush writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Padded {
    /// Those of the block that leaves.
    Leaving,
    /// Those of the block whose page comes in.
    Incoming,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            dram: crate::DEFAULT_DRAM,
            nvram: crate::DEFAULT_NVRAM,
            interval: 1000,
            thresholds: Source::Online,
            window: 16,
            t_state: None,
            t_read: None,
            t_write: None,
            fw: Frequency::Runs,
            size_unit: SizeUnit::Page,
            flush_when_complete: false,
            allocation: Allocation::Block,
            padding: true,
            padded: Padded::Leaving,
            own_block_first: true,
        }
    }
}

impl Options for Config {
    two_memories!("wap_lru", Block);

    fn profiler(&self, geometry: &Geometry) -> Option<Profiler> {
        self.profiler_of(geometry)
    }

    fn with_thresholds(&self, found: Thresholds) -> Self {
        self.fixed_at(found)
    }

    fn variants(&self) -> Vec<(&'static str, Self)> {
        let low = Self { t_state: Some(2.0), t_read: Some(2.0), t_write: Some(2.0), interval: 7, ..self.clone() };
        vec![
            ("low", low.clone()),
            ("sectors", Self { size_unit: SizeUnit::Sector, fw: Frequency::Switches, ..low.clone() }),
            ("by_page", Self { allocation: Allocation::Page, size_unit: SizeUnit::Run, ..low.clone() }),
            ("complete", Self { flush_when_complete: true, ..low.clone() }),
            ("unpadded", Self { padding: false, ..low.clone() }),
            ("incoming", Self { padded: Padded::Incoming, ..low.clone() }),
            ("least_recent", Self { own_block_first: false, allocation: Allocation::Page, ..low }),
            ("online", Self { thresholds: Source::Online, interval: 7, window: 3, ..self.clone() }),
        ]
    }
}

impl Config {
    pub(crate) fn mount(&self, geometry: &Geometry, nvram: &mut dyn Nvm) -> Result<Cached<WapLru>, MountError> {
        let [dram_pages, nvram_pages] = [self.memories()[0].pages(geometry)?, self.memories()[1].pages(geometry)?];
        let policy = WapLru {
            links: Links::default(),
            dram: List::default(),
            nvram: NvramBlocks::new(geometry, nvram_pages, self.allocation)
                .padding(self.padding && self.padded == Padded::Leaving),
            pads_incoming: self.padding && self.padded == Padded::Incoming,
            own_block_first: self.own_block_first,
            node_links: Links::default(),
            nodes: List::default(),
            pattern: Pattern::new(self, geometry)?,
            target: Memory::Dram,
            flushed: 0,
            flushes_complete: self.flush_when_complete,
            dram_pages,
            nvram_pages: nvram_pages.into(),
            page_bytes: geometry.page_bytes().into(),
        };
        Ok(Cached::new(Pages::mount(geometry, nvram, nvram_pages.into())?, policy))
    }
}

/// Lists by last use.
#[derive(Debug)]
pub(crate) struct WapLru {
    links: Links,
    /// Pages in DRAM.
    dram: List,
    nvram: NvramBlocks,
    pads_incoming: bool,
    own_block_first: bool,
    node_links: Links,
    /// Blocks in NVRAM.
    nodes: List,
    pattern: Pattern,
    /// Memory for the current request's new pages.
    target: Memory,
    /// Blocks flushed with at least one dirty page so far.
    flushed: u64,
    flushes_complete: bool,
    dram_pages: u32,
    nvram_pages: u64,
    page_bytes: u64,
}

impl WapLru {
    /// Algorithm 1 of the paper, up to the insertion.
    fn free_dram(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        if self.dram.len() < self.dram_pages {
            return Ok(());
        }
        let slot = self.dram.back();
        if io.pages.is_dirty(slot) {
            self.free_nvram(io, io.pages.lpn(slot))?;
        }
        self.dram.remove(&mut self.links, slot);
        if io.pages.is_dirty(slot) {
            io.migrate(slot, Memory::Nvram, 0)?;
            self.enter_nvram(self.nvram.blocks.node_of(slot));
            return self.flush_complete(io, slot);
        }
        self.nvram.remove(io.pages, slot);
        io.evict(slot)
    }

    /// Algorithm 2 of the paper, up to the insertion of a page.
    fn free_nvram(&mut self, io: &mut Io<'_>, lpn: u32) -> Result<(), Error> {
        loop {
            let present = self.nvram.present(lpn);
            if self.nvram.has_room(present) {
                return Ok(());
            }
            let own = present.filter(|_| self.own_block_first);
            self.flush_block(io, own.unwrap_or_else(|| self.nodes.back()))?;
            if self.pads_incoming {
                let has_written = self.nvram.clean_dram(io, self.nvram.blocks.block_of(lpn))?;
                self.flushed += u64::from(has_written);
            }
        }
    }

    fn flush_block(&mut self, io: &mut Io<'_>, node: Node) -> Result<(), Error> {
        let has_written = self.nvram.flush(io, node, false, |_, _| {})?;
        self.nodes.remove(&mut self.node_links, node);
        // A block without dirty pages costs the flash nothing.
        self.flushed += u64::from(has_written);
        Ok(())
    }

    /// Flushes an NVRAM page's block if it is complete and `flush_when_complete` is set.
    fn flush_complete(&mut self, io: &mut Io<'_>, slot: Slot) -> Result<(), Error> {
        let node = self.nvram.blocks.node_of(slot);
        if self.flushes_complete && self.nvram.is_complete(node) {
            self.flush_block(io, node)?;
        }
        Ok(())
    }

    /// Adds a page of the node that entered NVRAM.
    fn enter_nvram(&mut self, node: Node) {
        if self.nvram.add_nvram(node) {
            self.nodes.push_front(&mut self.node_links, node);
        } else {
            self.nodes.move_to_front(&mut self.node_links, node);
        }
    }
}

impl Policy for WapLru {
    #[inline]
    fn begin(&mut self, request: &Request) {
        self.target = self.pattern.place(request, self.flushed);
    }

    fn caches_reads(&self) -> bool {
        true
    }

    #[inline]
    fn touch(&mut self, io: &mut Io<'_>, slot: Slot, _: &Access) -> Result<(), Error> {
        match io.pages.memory(slot) {
            Memory::Dram => self.dram.move_to_front(&mut self.links, slot),
            Memory::Nvram => self.nodes.move_to_front(&mut self.node_links, self.nvram.blocks.node_of(slot)),
        }
        Ok(())
    }

    fn admit(&mut self, io: &mut Io<'_>, access: &Access) -> Result<Slot, Error> {
        if self.target == Memory::Dram {
            self.free_dram(io)?;
            let slot = io.pages.take(access.lpn, Memory::Dram);
            self.nvram.add(access.lpn, slot);
            self.dram.push_front(&mut self.links, slot);
            return Ok(slot);
        }
        self.free_nvram(io, access.lpn)?;
        let slot = io.pages.take(access.lpn, Memory::Nvram);
        let node = self.nvram.add(access.lpn, slot);
        self.enter_nvram(node);
        Ok(slot)
    }

    #[inline]
    fn stored(&mut self, io: &mut Io<'_>, slot: Slot) -> Result<(), Error> {
        match io.pages.memory(slot) {
            Memory::Nvram => self.flush_complete(io, slot),
            Memory::Dram => Ok(()),
        }
    }

    fn forget(&mut self, pages: &mut Pages, slot: Slot) {
        if pages.memory(slot) == Memory::Dram {
            self.dram.remove(&mut self.links, slot);
        }
        if let Some(node) = self.nvram.remove(pages, slot) {
            self.nodes.remove(&mut self.node_links, node);
        }
    }

    fn restore(&mut self, pages: &mut Pages, slot: Slot) {
        let node = self.nvram.add(pages.lpn(slot), slot);
        self.enter_nvram(node);
    }

    fn ram(&self) -> RamUse {
        let (dram, all) = (u64::from(self.dram_pages), u64::from(self.dram_pages) + self.nvram_pages);
        let lists = FRAME_BYTES * all + Table::bytes(all) + Links::bytes(dram) + Blocks::bytes(all) + 12 * all;
        RamUse { sram: [("buffer_lists", lists)].into(), dram: [("buffer_pages", dram * self.page_bytes)].into() }
    }

    fn placement(&self) -> Option<Placement> {
        Some(self.pattern.placement())
    }
}

//! NVRAM divided into page blocks, next to pages in DRAM.

use super::blocks::{Blocks, Node};
use super::blockwise::mark_of;
use super::io::{Io, NO_PADDING};
use super::pages::{Pages, Slot};
use crate::Memory;
use nandlab_block::Error;
use nandlab_nand::Geometry;

/// A block's NVRAM space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// Room for all its pages, present or not.
    Block,
    /// Room for the present pages.
    Page,
}

/// Blocks with buffered pages, and their use of NVRAM.
#[derive(Debug)]
pub(crate) struct NvramBlocks {
    /// All buffered pages, in both memories.
    pub blocks: Blocks,
    /// Each node's NVRAM pages.
    pages: Vec<u32>,
    /// Whether a flush includes the block's dirty pages in DRAM.
    pads: bool,
    allocation: Allocation,
    pages_per_block: u32,
    capacity_pages: u32,
    capacity_blocks: u32,
    used_pages: u32,
    used_blocks: u32,
    batch: Vec<Slot>,
}

impl NvramBlocks {
    /// NVRAM blocks with a capacity in pages, rounded down to whole blocks if whole blocks are allocated.
    pub(crate) fn new(geometry: &Geometry, capacity_pages: u32, allocation: Allocation) -> Self {
        Self {
            blocks: Blocks::new(geometry.pages_per_block()),
            pages: Vec::new(),
            pads: true,
            allocation,
            pages_per_block: geometry.pages_per_block(),
            capacity_pages,
            capacity_blocks: capacity_pages / geometry.pages_per_block(),
            used_pages: 0,
            used_blocks: 0,
            batch: Vec::new(),
        }
    }

    /// Sets whether a flush includes the block's dirty pages in DRAM.
    pub(crate) fn padding(self, pads: bool) -> Self {
        Self { pads, ..self }
    }

    /// The block's NVRAM pages.
    #[inline]
    pub(crate) fn pages(&self, node: Node) -> u32 {
        self.pages.get(node as usize).copied().unwrap_or(0)
    }

    /// Whether the whole block is in NVRAM.
    #[inline]
    pub(crate) fn is_complete(&self, node: Node) -> bool {
        self.pages(node) == self.pages_per_block
    }

    /// The page's block node, if the block has a page in NVRAM.
    #[inline]
    pub(crate) fn present(&self, lpn: u32) -> Option<Node> {
        let node = self.blocks.find(self.blocks.block_of(lpn))?;
        if self.pages(node) == 0 {
            return None;
        }
        Some(node)
    }

    /// Whether a page fits into NVRAM without an eviction; `present` is the node of its block.
    #[inline]
    pub(crate) fn has_room(&self, present: Option<Node>) -> bool {
        match self.allocation {
            Allocation::Page => self.used_pages < self.capacity_pages,
            Allocation::Block => present.is_some() || self.used_blocks < self.capacity_blocks,
        }
    }

    /// Adds a page that is in DRAM, or will be moved by the caller.
    #[inline]
    pub(crate) fn add(&mut self, lpn: u32, slot: Slot) -> Node {
        self.blocks.add(lpn, slot).0
    }

    /// Records a node's page in NVRAM; returns true if it is the first.
    #[inline]
    pub(crate) fn add_nvram(&mut self, node: Node) -> bool {
        let pages = mark_of(&mut self.pages, node);
        *pages += 1;
        self.used_pages += 1;
        let is_first = *pages == 1;
        if is_first {
            self.used_blocks += 1;
        }
        is_first
    }

    /// Removes a page; returns its node if this was the node's last page in NVRAM.
    pub(crate) fn remove(&mut self, pages: &Pages, slot: Slot) -> Option<Node> {
        let (node, _) = self.blocks.remove(slot);
        if pages.memory(slot) == Memory::Dram {
            return None;
        }
        self.pages[node as usize] -= 1;
        self.used_pages -= 1;
        let is_last = self.pages[node as usize] == 0;
        if !is_last {
            return None;
        }
        self.used_blocks -= 1;
        Some(node)
    }

    /// Writes a block's dirty pages as one ordered run, together with its clean pages if `with_clean`, and
    /// removes its pages from NVRAM. If it `pads`, dirty pages in DRAM are written too; they stay there as
    /// clean pages and are passed to `cleaned`. Returns true if anything was written.
    pub(crate) fn flush(
        &mut self,
        io: &mut Io<'_>,
        node: Node,
        with_clean: bool,
        mut cleaned: impl FnMut(&mut Pages, Slot),
    ) -> Result<bool, Error> {
        let mut batch = std::mem::take(&mut self.batch);
        self.blocks.dirty(io.pages, node, &mut batch);
        if !self.pads {
            batch.retain(|&slot| io.pages.memory(slot) == Memory::Nvram);
        }
        let dirty = batch.len();
        if with_clean && dirty > 0 {
            batch.extend(self.blocks.slots(node).filter(|&slot| !io.pages.is_dirty(slot)));
        }
        let written = if dirty == 0 { Ok(()) } else { io.write_back(&batch, NO_PADDING) };
        if written.is_ok() {
            for &slot in &batch[..dirty] {
                if io.pages.memory(slot) == Memory::Dram {
                    cleaned(io.pages, slot);
                }
            }
            batch.clear();
            batch.extend(self.blocks.slots(node).filter(|&slot| io.pages.memory(slot) == Memory::Nvram));
            for &slot in &batch {
                self.remove(io.pages, slot);
                io.pages.release(slot);
            }
        }
        self.batch = batch;
        written.map(|()| dirty > 0)
    }

    /// Writes the dirty DRAM pages of block `block` as one ordered run; they stay there as clean pages. Returns true if
    /// anything was written.
    pub(crate) fn clean_dram(&mut self, io: &mut Io<'_>, block: u32) -> Result<bool, Error> {
        let Some(node) = self.blocks.find(block) else { return Ok(false) };
        let mut batch = std::mem::take(&mut self.batch);
        self.blocks.dirty(io.pages, node, &mut batch);
        batch.retain(|&slot| io.pages.memory(slot) == Memory::Dram);
        let has_dirty = !batch.is_empty();
        let written = if has_dirty { io.write_back(&batch, NO_PADDING) } else { Ok(()) };
        self.batch = batch;
        written.map(|()| has_dirty)
    }
}

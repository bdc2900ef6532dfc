//! Buffers with one memory that write back a block's pages together.

use super::blocks::{Blocks, Node};
use super::cache::{Access, Cached, Policy};
use super::io::{Io, NO_PADDING};
use super::list::NONE;
use super::pages::{Pages, Slot, FRAME_BYTES};
use super::sizes::Size;
use super::table::Table;
use crate::{Memory, MountError};
use nandlab_block::{Error, RamUse};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// A block's use.
pub(crate) struct Use {
    pub node: Node,
    /// Whether the node was created for this use.
    pub is_new: bool,
    /// Buffered pages in the block.
    pub pages: u32,
    pub is_write: bool,
    /// Whether this write completed the block, with all of it written in order.
    pub completes: bool,
}

/// Chooses the victim block.
pub(crate) trait BlockOrder: Send {
    /// Called after a page in the block was read, written or added.
    fn used(&mut self, used: &Use);

    /// The next victim; it stays until [`Self::closed`]. At least one block exists.
    fn victim(&mut self) -> Node;

    /// Called after a page in the block was trimmed and others remain.
    fn shrunk(&mut self, node: Node, pages: u32);

    /// Called when the block has no page left.
    fn closed(&mut self, node: Node);

    /// Bytes for `nodes` nodes.
    fn bytes(&self, nodes: u64) -> u64;
}

/// Differences between the buffers, besides the block order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub caches_reads: bool,
    /// Whether a block is padded to a whole block before it is written.
    pub pads: bool,
}

/// A [`BlockOrder`] with a page capacity.
#[derive(Debug)]
pub(crate) struct Blockwise<O> {
    order: O,
    blocks: Blocks,
    fills: Vec<u64>,
    manner: Manner,
    capacity: u32,
    used: u32,
    page_bytes: u64,
    sectors_per_page: u64,
    batch: Vec<Slot>,
}

impl<O: BlockOrder> Blockwise<O> {
    pub(crate) fn mount(
        geometry: &Geometry,
        nvram: &mut dyn Nvm,
        size: &Size,
        manner: Manner,
        order: O,
    ) -> Result<Cached<Self>, MountError> {
        let policy = Self {
            order,
            blocks: Blocks::new(geometry.pages_per_block()),
            fills: Vec::new(),
            manner,
            capacity: size.units(geometry)?,
            used: 0,
            page_bytes: geometry.page_bytes().into(),
            sectors_per_page: geometry.sectors_per_page().into(),
            batch: Vec::new(),
        };
        Ok(Cached::new(Pages::mount(geometry, nvram, 0)?, policy))
    }

    /// Whether a write completes a block written in order from its first sector.
    fn completes(&mut self, node: Node, is_new: bool, access: &Access) -> bool {
        if node as usize >= self.fills.len() {
            self.fills.resize((node as usize + 1).next_power_of_two(), 0);
        }
        let filled = &mut self.fills[node as usize];
        if is_new {
            *filled = 0;
        }
        if !access.is_write {
            return false;
        }
        let range = self.blocks.range(node);
        let start = u64::from(access.lpn - range.start) * self.sectors_per_page;
        let first = start + u64::from(access.mask.trailing_zeros());
        // A block once written out of order stays out of order, unless it starts again at its first sector.
        *filled = match first {
            0 => u64::from(access.mask.count_ones()),
            first if first == *filled => first + u64::from(access.mask.count_ones()),
            _ => u64::MAX,
        };
        *filled == u64::from(range.end - range.start) * self.sectors_per_page
    }

    fn use_block(&mut self, node: Node, is_new: bool, access: &Access) {
        let completes = self.completes(node, is_new, access);
        let pages = self.blocks.len(node);
        self.order.used(&Use { node, is_new, pages, is_write: access.is_write, completes });
    }

    /// Writes back the victim and forgets it.
    fn evict(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        let node = self.order.victim();
        let mut batch = std::mem::take(&mut self.batch);
        self.blocks.dirty(io.pages, node, &mut batch);
        let written = if batch.is_empty() {
            Ok(())
        } else if self.manner.pads {
            batch.clear();
            batch.extend(self.blocks.slots(node));
            let range = self.blocks.range(node);
            io.write_back(&batch, range.start..range.end.min(io.device_pages()))
        } else {
            io.write_back(&batch, NO_PADDING)
        };
        if written.is_ok() {
            batch.clear();
            batch.extend(self.blocks.slots(node));
            for &slot in &batch {
                self.blocks.remove(slot);
                io.pages.release(slot);
            }
            self.used -= batch.len() as u32;
            self.order.closed(node);
        }
        self.batch = batch;
        written
    }
}

impl<O: BlockOrder> Policy for Blockwise<O> {
    fn caches_reads(&self) -> bool {
        self.manner.caches_reads
    }

    #[inline]
    fn touch(&mut self, _: &mut Io<'_>, slot: Slot, access: &Access) -> Result<(), Error> {
        self.use_block(self.blocks.node_of(slot), false, access);
        Ok(())
    }

    #[inline]
    fn admit(&mut self, io: &mut Io<'_>, access: &Access) -> Result<Slot, Error> {
        if self.used == self.capacity {
            self.evict(io)?;
        }
        let slot = io.pages.take(access.lpn, Memory::Dram);
        self.used += 1;
        let (node, is_new) = self.blocks.add(access.lpn, slot);
        self.use_block(node, is_new, access);
        Ok(slot)
    }

    fn forget(&mut self, _: &mut Pages, slot: Slot) {
        self.used -= 1;
        match self.blocks.remove(slot) {
            (node, true) => self.order.closed(node),
            (node, false) => self.order.shrunk(node, self.blocks.len(node)),
        }
    }

    fn ram(&self) -> RamUse {
        let pages = u64::from(self.capacity);
        let lists = FRAME_BYTES * pages + Table::bytes(pages) + Blocks::bytes(pages) + self.order.bytes(pages);
        RamUse { sram: [("buffer_lists", lists)].into(), dram: [("buffer_pages", pages * self.page_bytes)].into() }
    }
}

/// The entry of `marks` for `node`, grown as needed.
pub(crate) fn mark_of<T: Clone + Default>(marks: &mut Vec<T>, node: Node) -> &mut T {
    debug_assert!(node != NONE);
    if node as usize >= marks.len() {
        marks.resize((node as usize + 1).next_power_of_two(), T::default());
    }
    &mut marks[node as usize]
}

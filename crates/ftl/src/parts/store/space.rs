//! Taking, releasing, erasing and retiring blocks.

use super::{EraseWhen, Store};
use crate::parts::erase::erase_behind;
use crate::{BlockState, FtlError};
use nandlab_nand::{scoped, BlockId, Cause, Nand};

impl Store {
    /// Whether the host may take a block and leave enough free for a merge.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.has_room_beside(0)
    }

    /// Whether the host may take a block if `owed` more will be taken later.
    #[inline]
    pub(crate) fn has_room_beside(&self, owed: u32) -> bool {
        self.free.count() > self.options.reserve_blocks + self.notes.unclaimed() + self.unclaimed_by_map() + owed
    }

    /// Requires the last issued operations to be durable before another block is opened.
    #[inline]
    pub(super) fn settle_later<N: Nand>(&mut self, nand: &mut N) {
        self.unsettled = self.unsettled.max(Some(nand.ctx().last()));
    }

    /// Notes that all issued operations are durable.
    pub(crate) fn settled(&mut self) {
        self.unsettled = None;
    }

    /// Takes a free block, erased; from the die of `near` if possible.
    pub(crate) fn take<N: Nand>(&mut self, nand: &mut N, near: BlockId) -> Result<BlockId, FtlError> {
        if let Some(end) = self.unsettled.take() {
            nand.ctx().fence_at(end);
        }
        while let Some(free) = self.free.take(near) {
            let erased = match free.unerased {
                None => true,
                Some(cause) => scoped(nand, cause, |nand| self.erase(nand, free.block))?,
            };
            if erased {
                return Ok(free.block);
            }
        }
        Err(self.no_block_left())
    }

    /// Takes a block for the host; there must be room.
    pub(crate) fn open<N: Nand>(&mut self, nand: &mut N, near: BlockId) -> Result<BlockId, FtlError> {
        self.refuse_worn_out()?;
        self.take(nand, near)
    }

    /// Erases a block; false if the erase failed and the block was retired.
    pub(super) fn erase<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<bool, FtlError> {
        let bound = self.superseded[block.index()].max(self.notes.written_at());
        self.unsettled = self.unsettled.filter(|&end| end > bound);
        if !erase_behind(nand, block, bound)? {
            return self.retire(nand, block).map(|()| false);
        }
        self.fill.erased(block);
        self.superseded[block.index()] = 0;
        Ok(true)
    }

    /// Releases a block without newest copies of mapped pages. Its erase counts for the current cause, however
    /// late it happens.
    pub(crate) fn release<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        if !self.valid.is_empty(block) {
            // Trimmed pages: an older copy elsewhere must not come back after this one is erased.
            self.write_notes(nand)?;
        }
        assert!(self.valid.is_empty(block), "block {block} is released and holds pages");
        if self.failing.remove(&block) {
            return self.retire(nand, block);
        }
        let at_once = self.forgets || self.options.erase_when == EraseWhen::OnFree;
        if !at_once || self.erase(nand, block)? {
            let freed_by = nand.ctx().cause();
            self.free.add(block, (!at_once).then_some(freed_by));
        }
        Ok(())
    }

    pub(super) fn retire<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        scoped(nand, Cause::BadBlock, |nand| {
            let before = nand.ctx().fence();
            let retired = nand.retire(block);
            nand.ctx().set_ready(before);
            retired
        })?;
        self.free.set_bad(block);
        self.events.retired_blocks += 1;
        Ok(())
    }

    /// As [`Ftl::blocks`](crate::Ftl::blocks).
    pub(crate) fn blocks(&self) -> Vec<BlockState> {
        let held = |block| BlockState { valid: self.valid_in(BlockId(block)), is_free: false };
        let mut states: Vec<_> = (0..self.geometry.blocks()).map(held).collect();
        self.free.iter().for_each(|free| states[free.block.index()].is_free = true);
        states
    }

    /// Whether a logical block without pages may release `blocks` blocks: written flash must not look blank
    /// after a cut of the last erase.
    pub(crate) fn may_drop(&self, blocks: usize) -> bool {
        self.free.in_use() as usize > blocks
    }

    pub(super) fn needed_blocks(&self) -> u32 {
        self.groups() + self.options.spare_blocks() + self.notes.most_blocks()
    }

    pub(crate) fn no_block_left(&self) -> FtlError {
        let good = self.free.good();
        FtlError::WornOut { good, needed: self.needed_blocks().max(good + 1), weak_dies: 0 }
    }

    /// Fails if bad blocks leave too little room for the exported capacity.
    pub(super) fn refuse_worn_out(&self) -> Result<(), FtlError> {
        let (good, needed) = (self.free.good(), self.needed_blocks());
        if good < needed {
            return Err(FtlError::WornOut { good, needed, weak_dies: 0 });
        }
        Ok(())
    }
}

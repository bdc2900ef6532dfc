//! Taking, releasing, erasing and retiring blocks.

use super::{EraseWhen, Store};
use crate::{BlockState, Events, FtlError};
use nandlab_nand::{BlockId, Nand};

impl Store {
    /// Whether the host may take a block and leave enough free for a merge.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.has_room_beside(0)
    }

    /// Whether the host may take a block if `owed` more will be taken later.
    #[inline]
    pub(crate) fn has_room_beside(&self, owed: u32) -> bool {
        self.keeper.count() > self.options.reserve_blocks + self.notes.unclaimed() + self.unclaimed_by_map() + owed
    }

    /// Whether a block is free.
    pub(crate) fn has_free(&self) -> bool {
        self.keeper.count() > 0
    }

    /// Whether fewer blocks are free than a merge may need.
    pub(crate) fn lacks_reserve(&self) -> bool {
        self.keeper.count() < self.options.reserve_blocks
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
        let near = near.is_some().then(|| self.geometry.die_of(near));
        let block = self.keeper.take(nand, near)?.ok_or_else(|| self.no_block_left())?;
        self.fill.erased(block);
        Ok(block)
    }

    /// Takes a block for the host; there must be room.
    pub(crate) fn open<N: Nand>(&mut self, nand: &mut N, near: BlockId) -> Result<BlockId, FtlError> {
        self.refuse_worn_out()?;
        self.take(nand, near)
    }

    /// Erases a block; false if the erase failed and the block was retired.
    pub(super) fn erase<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<bool, FtlError> {
        let bound = self.keeper.replaced(block);
        self.unsettled = self.unsettled.filter(|&end| end > bound);
        let erased = self.keeper.erase(nand, block)?;
        if erased {
            self.fill.erased(block);
        }
        Ok(erased)
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
            return self.keeper.retire(nand, block);
        }
        let at_once = self.forgets || self.options.erase_when == EraseWhen::OnFree;
        if !at_once || self.erase(nand, block)? {
            let freed_by = nand.ctx().cause();
            self.keeper.add(block, (!at_once).then_some(freed_by));
        }
        Ok(())
    }

    /// As [`Ftl::events`](crate::Ftl::events).
    pub(crate) fn events(&self) -> Events {
        Events { retired_blocks: self.keeper.retired(), ..self.events }
    }

    /// As [`Ftl::blocks`](crate::Ftl::blocks).
    pub(crate) fn blocks(&self) -> Vec<BlockState> {
        self.keeper.states(|block| self.valid_in(block))
    }

    /// Whether a logical block without pages may release `blocks` blocks: written flash must not look blank
    /// after a cut of the last erase.
    pub(crate) fn may_drop(&self, blocks: usize) -> bool {
        self.keeper.in_use() as usize > blocks
    }

    pub(super) fn needed_blocks(&self) -> u32 {
        self.groups() + self.options.spare_blocks() + self.notes.most_blocks()
    }

    pub(crate) fn no_block_left(&self) -> FtlError {
        let good = self.keeper.good();
        FtlError::WornOut { good, needed: self.needed_blocks().max(good + 1), weak_dies: 0 }
    }

    /// Fails if bad blocks leave too little room for the exported capacity.
    pub(super) fn refuse_worn_out(&self) -> Result<(), FtlError> {
        let (good, needed) = (self.keeper.good(), self.needed_blocks());
        if good < needed {
            return Err(FtlError::WornOut { good, needed, weak_dies: 0 });
        }
        Ok(())
    }
}

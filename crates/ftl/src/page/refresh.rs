//! Rewriting blocks before their bit errors grow past the ECC.
//!
//! The read that finds a block strained marks it; from then on every read of the host from a page of that die moves a page,
//! as writes do where room is made, so that no read waits for a whole block. A block that is being filled is closed first,
//! as it is. While its die empties another one a block has to wait; a later read finds it again.

use super::PageMap;
use crate::parts::block_table::BlockUse;
use crate::FtlError;
use nandlab_nand::{BlockId, Nand, Strain};

impl PageMap {
    /// Looks at what the last read of the host found, and goes on with what its die rewrites.
    #[cold]
    #[inline(never)]
    pub(super) fn refresh<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        let Some(Strain { block, percent }) = nand.ctx().take_strain() else { return Ok(()) };
        let die = self.geometry.die_of(block) as usize;
        if percent >= self.refresh_percent {
            self.mark(die, block);
        }
        let state = &self.dies[die];
        let is_marked = state.strained.is_some();
        let goes_on = match &state.relocation {
            None => is_marked && self.start_relocation(nand, die)?,
            // What makes room is in the way.
            Some(relocation) => is_marked || relocation.refreshes(),
        };
        if goes_on {
            self.go_on(nand, die, 1)?;
            // The next read shall spare the block.
            self.map_moves(die);
        }
        Ok(())
    }

    /// `block` is rewritten next, if it can be.
    fn mark(&mut self, die: usize, block: BlockId) {
        if self.dies[die].relocation.is_none() {
            let frontier = self.dies[die].frontiers.all().iter().position(|frontier| frontier.block == block);
            if let Some(frontier) = frontier {
                self.close_frontier(die, frontier);
            }
        }
        if self.table.usage(block) == BlockUse::Closed {
            self.dies[die].strained = Some(block);
        }
    }

    /// The block of `die` to rewrite next. No room is gained by it, so that comes first.
    pub(super) fn strained(&mut self, die: usize) -> Option<BlockId> {
        let state = &mut self.dies[die];
        if state.free.len() <= self.reserve {
            return None;
        }
        // Another reason may have had it emptied.
        state.strained.take().filter(|&block| self.table.usage(block) == BlockUse::Closed)
    }

    /// A block is erased, and its bit errors with it.
    pub(super) fn relieve(&mut self, die: usize, block: BlockId) {
        if self.dies[die].strained == Some(block) {
            self.dies[die].strained = None;
        }
    }
}

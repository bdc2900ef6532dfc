//! The data blocks' public figures: the memory that firmware would need, and the blocks.

use super::relocation::Relocation;
use super::{Pages, Scheme, ValidPages};
use crate::parts::blocks::table::BlockUse;
use crate::{BlockState, RamUse};
use nandlab_nand::BlockId;

impl Pages {
    /// Adds the bytes of each table.
    pub(crate) fn add_tables(&self, ram: &mut RamUse) {
        let (counts, bits) = self.table.bytes();
        ram.sram.insert("valid_counts", counts);
        if self.config.valid_pages == ValidPages::Bitmap {
            ram.dram.insert("valid_bits", bits);
            if self.placing.owner_bytes() > 0 {
                ram.dram.insert("reverse_map", self.placing.owner_bytes());
            }
        }
        if self.cache.is_some() {
            ram.sram.insert("slc_blocks", u64::from(self.geometry.blocks()).div_ceil(8));
        }
        if self.placing.bytes() > 0 {
            ram.dram.insert("placement", self.placing.bytes());
        }
    }

    /// Each block's state. A copy counts where it lies, mapped or not.
    pub(super) fn block_states(&self, scheme: &impl Scheme) -> Vec<BlockState> {
        let state = |block| match scheme.valid_in(block) {
            Some(valid) => BlockState { valid, is_free: false },
            None => BlockState {
                valid: self.table.valid_pages(block),
                is_free: self.table.usage(block) == BlockUse::Free && !self.keeper.is_bad(block),
            },
        };
        let mut blocks: Vec<_> = (0..self.geometry.blocks()).map(|block| state(BlockId(block))).collect();
        let unmapped = self.dies.iter().filter_map(|die| die.relocation.as_ref()).flat_map(Relocation::unmapped);
        for (from, to) in unmapped.filter(|&(from, _)| self.table.is_valid(from)) {
            blocks[self.geometry.block_of(from).index()].valid -= 1;
            blocks[self.geometry.block_of(to).index()].valid += 1;
        }
        blocks
    }
}

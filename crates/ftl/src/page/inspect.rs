//! The page map's public figures: the memory that firmware would need, and the blocks.

use super::relocation::Relocation;
use super::{PageMap, ValidPages};
use crate::parts::blocks::table::BlockUse;
use crate::{BlockState, RamUse};
use nandlab_nand::BlockId;

impl PageMap {
    /// Bytes by table.
    pub(super) fn tables(&self) -> RamUse {
        let mut ram = RamUse::default();
        let (counts, bits) = self.table.bytes();
        ram.sram.insert("valid_counts", counts);
        ram.dram.insert("map", self.map.bytes());
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
        ram.sram.insert("trim_notes", self.map.note_bytes());
        ram
    }

    /// Each block's state. A copy counts where it lies, mapped or not.
    pub(super) fn block_states(&self) -> Vec<BlockState> {
        let state = |block| BlockState {
            valid: self.table.valid_pages(block),
            is_free: self.table.usage(block) == BlockUse::Free,
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

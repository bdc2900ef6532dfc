//! Slots by page or block number.

/// A map from pages or blocks to slots.
pub(crate) type Table = nandlab_nand::slots::SlotTable<u32>;

//! The tails of pages that have one, and in which blocks these lie: pages without are moved without a look.

use crate::address::{BlockId, Geometry, Ppa};
use crate::side_table::SideTable;
use std::ops::Range;

#[derive(Clone, Debug)]
pub(crate) struct Tails {
    bytes: SideTable<Box<[u8]>>,
    /// By block: whether a page of it has one.
    blocks: Vec<bool>,
}

impl Tails {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self { bytes: SideTable::default(), blocks: vec![false; geometry.blocks() as usize] }
    }

    /// Whether a page of `block` has one.
    #[inline]
    pub(super) fn are_in(&self, block: BlockId) -> bool {
        self.blocks[block.index()]
    }

    /// That of a page of `block`.
    #[inline]
    pub(crate) fn get(&self, at: Ppa, block: BlockId) -> Option<&[u8]> {
        if !self.are_in(block) {
            return None;
        }
        self.bytes.get(at).map(|tail| &**tail)
    }

    pub(crate) fn insert(&mut self, at: Ppa, block: BlockId, tail: Box<[u8]>) {
        self.bytes.insert(at, tail);
        self.blocks[block.index()] = true;
    }

    /// Drops those of `block`, whose pages are these.
    #[inline]
    pub(super) fn erase(&mut self, block: BlockId, pages: Range<u32>) {
        if std::mem::take(&mut self.blocks[block.index()]) {
            self.bytes.remove_range(pages);
        }
    }
}

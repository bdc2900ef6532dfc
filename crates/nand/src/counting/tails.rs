//! The tails of pages that have one, and from which page of each block on these lie: pages without are moved without a
//! look, also in a block that ends in a list of its pages.

use crate::address::{BlockId, Geometry, Ppa};
use crate::side_table::SideTable;
use std::ops::Range;

/// No page of the block has one.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Tails {
    bytes: SideTable<Box<[u8]>>,
    /// By block: the first page that has one; past the last block where none does.
    first: Vec<u32>,
}

impl Tails {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self { bytes: SideTable::default(), first: vec![NONE; geometry.blocks() as usize] }
    }

    /// The first page of `block` that has one.
    #[inline]
    pub(super) fn first_in(&self, block: BlockId) -> Ppa {
        Ppa(self.first[block.index()])
    }

    /// That of a page of `block`.
    #[inline]
    pub(crate) fn get(&self, at: Ppa, block: BlockId) -> Option<&[u8]> {
        if at < self.first_in(block) {
            return None;
        }
        self.bytes.get(at).map(|tail| &**tail)
    }

    pub(crate) fn insert(&mut self, at: Ppa, block: BlockId, tail: Box<[u8]>) {
        self.bytes.insert(at, tail);
        let first = &mut self.first[block.index()];
        *first = at.0.min(*first);
    }

    /// Drops those of `block`, whose pages are these.
    #[inline]
    pub(super) fn erase(&mut self, block: BlockId, pages: Range<u32>) {
        if std::mem::replace(&mut self.first[block.index()], NONE) != NONE {
            self.bytes.remove_range(pages);
        }
    }
}

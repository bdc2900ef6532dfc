//! Page tails, and the first page with a tail in each block: pages before it move without a lookup, even if the
//! block ends in a list of its pages.

use crate::address::{BlockId, Geometry, Ppa};
use crate::side_table::SideTable;
use std::ops::Range;

/// No page in the block has a tail.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Tails {
    bytes: SideTable<Box<[u8]>>,
    /// By block: the first page with a tail; past the last block if there is none.
    first: Vec<u32>,
}

impl Tails {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self { bytes: SideTable::default(), first: vec![NONE; geometry.blocks() as usize] }
    }

    /// `block`'s first page with a tail.
    #[inline]
    pub(super) fn first_in(&self, block: BlockId) -> Ppa {
        Ppa(self.first[block.index()])
    }

    /// A page's tail.
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

    /// Drops `block`'s tails, given its page range.
    #[inline]
    pub(super) fn erase(&mut self, block: BlockId, pages: Range<u32>) {
        if std::mem::replace(&mut self.first[block.index()], NONE) != NONE {
            self.bytes.remove_range(pages);
        }
    }
}

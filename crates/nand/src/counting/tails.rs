//! Page tails, and the first page with a tail in each block: pages before it move without a lookup, even if the
//! block ends in a list of its pages.

use crate::address::{BlockId, Geometry, Ppa};
use crate::side_table::SideTable;
use crate::tables::Table;
use std::ops::Range;

#[derive(Clone, Debug)]
pub(crate) struct Tails {
    bytes: SideTable<Box<[u8]>>,
    /// By block: the first page with a tail; past the last block if there is none.
    first: Table<Ppa>,
}

impl Tails {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self { bytes: SideTable::default(), first: Table::blank(geometry.blocks() as usize) }
    }

    /// `block`'s first page with a tail.
    #[inline]
    pub(super) fn first_in(&self, block: BlockId) -> Ppa {
        self.first.at(block.index())
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
        self.first.set(block.index(), at.min(self.first_in(block)));
    }

    /// Drops `block`'s tails, given its page range.
    #[inline]
    pub(super) fn erase(&mut self, block: BlockId, pages: Range<u32>) {
        if self.first.replace(block.index(), Ppa::NONE).is_some() {
            self.bytes.remove_range(pages);
        }
    }
}

//! Pages of each block by their author.

use crate::address::{BlockId, Geometry};
use crate::context::Origin;
use crate::tables::zeroed;

/// A count for each block and origin.
#[derive(Clone, Debug)]
pub(crate) struct ByAuthor {
    /// The counts of one block after the other.
    counts: Vec<u16>,
}

impl ByAuthor {
    /// No pages, and no memory until there are some.
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self { counts: zeroed(geometry.blocks() as usize * Origin::COUNT) }
    }

    /// The count of a block's pages by `origin`.
    #[inline]
    pub(super) fn of(&mut self, block: BlockId, origin: Origin) -> &mut u16 {
        &mut self.counts[block.index() * Origin::COUNT + (usize::from(origin.0) & (Origin::COUNT - 1))]
    }

    fn range(block: BlockId) -> std::ops::Range<usize> {
        let first = block.index() * Origin::COUNT;
        first..first + Origin::COUNT
    }

    /// A block's counts, by origin.
    pub(crate) fn block(&self, block: BlockId) -> &[u16; Origin::COUNT] {
        let counts = &self.counts[Self::range(block)];
        counts.try_into().expect("a block has a count for each origin")
    }

    /// A block's counts, by origin, to be changed.
    pub(super) fn block_mut(&mut self, block: BlockId) -> &mut [u16; Origin::COUNT] {
        let counts = &mut self.counts[Self::range(block)];
        counts.try_into().expect("a block has a count for each origin")
    }
}

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

    /// A block's counts, by origin.
    pub(crate) fn block(&self, block: BlockId) -> &[u16; Origin::COUNT] {
        &self.counts.as_chunks().0[block.index()]
    }

    /// A block's counts, by origin, to be changed.
    pub(super) fn block_mut(&mut self, block: BlockId) -> &mut [u16; Origin::COUNT] {
        &mut self.counts.as_chunks_mut().0[block.index()]
    }
}

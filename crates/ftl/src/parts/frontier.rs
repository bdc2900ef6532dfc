//! A block that is being filled page by page.

use nandlab_nand::{BlockId, Geometry, Ppa};

/// Set in `aux` of the first page programmed after a mount into a block that was in use before: the page
/// below it was the last before the power went, so a later mount must verify it.
pub const RESUMED: u16 = 1;

/// The place where the next page goes.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The block; [`BlockId::NONE`] while there is none.
    pub block: BlockId,
    next: u32,
    end: u32,
    /// `aux` of the next page.
    mark: u16,
}

impl Frontier {
    /// No block yet.
    pub fn none() -> Self {
        Self { block: BlockId::NONE, next: 0, end: 0, mark: 0 }
    }

    /// At the start of an erased block.
    pub fn at_start(geometry: &Geometry, block: BlockId) -> Self {
        let next = geometry.page(block, 0).0;
        Self { block, next, end: next + geometry.pages_per_block(), mark: 0 }
    }

    /// At page `page` of a block found in use at mount.
    pub fn resumed(geometry: &Geometry, block: BlockId, page: u32) -> Self {
        let start = Self::at_start(geometry, block);
        Self { next: start.next + page, mark: RESUMED, ..start }
    }

    /// Whether no page is left.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.next == self.end
    }

    /// Pages left.
    pub fn left(&self) -> u32 {
        self.end - self.next
    }

    /// Takes the next page, with the `aux` that it must carry.
    ///
    /// # Panics
    /// In debug builds where none is left.
    #[inline]
    pub fn take(&mut self) -> (Ppa, u16) {
        debug_assert!(!self.is_full(), "block {} is full", self.block);
        let page = Ppa(self.next);
        self.next += 1;
        (page, std::mem::take(&mut self.mark))
    }

    /// Returns the page taken last, which was not programmed, with its `aux`.
    pub fn give_back(&mut self, mark: u16) {
        self.next -= 1;
        self.mark = mark;
    }
}

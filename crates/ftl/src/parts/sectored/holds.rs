//! What each flash page holds.

use nandlab_nand::tables::zeroed;
use nandlab_nand::{Geometry, Ppa};

/// A flash page's contents, as far as collection must know before reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Holds {
    /// Nothing that counts, or a map page.
    Nothing = 0,
    /// A logical page.
    Whole = 1,
    /// Sectors and their list.
    Sectors = 2,
}

/// What each flash page holds, in bytes: the allocator makes those of zeros without touching them.
#[derive(Debug)]
pub(super) struct PagesHold(Vec<u8>);

impl PagesHold {
    /// Nothing yet.
    pub(super) fn nothing(geometry: &Geometry) -> Self {
        Self(zeroed(geometry.pages() as usize))
    }

    #[inline]
    pub(super) fn at(&self, page: Ppa) -> Holds {
        match self.0[page.index()] {
            0 => Holds::Nothing,
            1 => Holds::Whole,
            _ => Holds::Sectors,
        }
    }

    #[inline]
    pub(super) fn set(&mut self, page: Ppa, holds: Holds) {
        self.0[page.index()] = holds as u8;
    }

    /// The block from `first` on holds nothing any more.
    pub(super) fn clear(&mut self, first: Ppa, geometry: &Geometry) {
        self.0[first.index()..first.index() + geometry.pages_per_block() as usize].fill(Holds::Nothing as u8);
    }
}

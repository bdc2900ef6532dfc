//! A block that is being filled page by page.

use nandlab_nand::{BlockId, Geometry, Ppa};
use std::ops::{Index, IndexMut};

/// Set in `aux` of the first page programmed after a mount into a block already in use. The page below was the last one
/// before the power went, so a later mount must verify it.
pub const RESUMED: u16 = 1;

/// Set in `aux` of every page in a block with one bit per cell, so that a mount knows how to read it.
pub const SLC: u16 = 1 << 15;

/// The place where the next page goes.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The block; [`BlockId::NONE`] if there is none.
    pub block: BlockId,
    next: u32,
    end: u32,
    /// `aux` bits for the next page alone.
    mark: u16,
    /// `aux` bits for every page.
    base: u16,
}

/// Position of the block's erase count in `aux`, above the marks.
const CYCLES: u32 = 2;
/// Set if the erase count is above 0. An FTL that merges logical blocks stores their page count in the same bits and
/// would take an erase count for it. Only logical blocks with 4,096 pages or more could still be mistaken.
const ERASED: u32 = 1 << 12;
/// Erase counts below this are stored exactly, higher ones in steps of [`COARSE`] above this value.
const EXACT: u32 = 1 << 11;
const COARSE: u32 = 256;

/// `aux` for the pages of a block erased `cycles` times.
fn aux_of(cycles: u32) -> u16 {
    let stored = if cycles < EXACT { cycles } else { EXACT + (cycles / COARSE).min(EXACT - 1) };
    let mark = if cycles > 0 { ERASED } else { 0 };
    ((stored | mark) << CYCLES) as u16
}

/// Whether a page carries its block's erase count.
pub fn has_cycles(aux: u16) -> bool {
    u32::from(aux >> CYCLES) & ERASED != 0
}

/// The block's erase count carried by a page: exact below 2048, in steps of 256 up to half a million.
pub fn cycles_in(aux: u16) -> u32 {
    let stored = u32::from((aux & !SLC) >> CYCLES) & !ERASED;
    if stored < EXACT {
        stored
    } else {
        (stored - EXACT) * COARSE
    }
}

impl Frontier {
    /// No block yet.
    pub fn none() -> Self {
        Self { block: BlockId::NONE, next: 0, end: 0, mark: 0, base: 0 }
    }

    /// At the start of an erased block.
    pub fn at_start(geometry: &Geometry, block: BlockId) -> Self {
        let next = geometry.page(block, 0).0;
        Self { block, next, end: next + geometry.pages_per_block(), mark: 0, base: 0 }
    }

    /// At page `page` of a block found in use at mount.
    pub fn resumed(geometry: &Geometry, block: BlockId, page: u32) -> Self {
        let start = Self::at_start(geometry, block);
        Self { next: start.next + page, mark: RESUMED, ..start }
    }

    /// The same, without the block's last `pages` pages.
    pub fn without_last(self, pages: u32) -> Self {
        Self { end: self.end - pages, ..self }
    }

    /// The same, with the block's erase count in every page.
    pub fn with_cycles(self, cycles: u32) -> Self {
        Self { base: aux_of(cycles), ..self }
    }

    /// The same in a block with one bit per cell and `pages` programmable pages.
    pub fn in_slc(self, geometry: &Geometry, pages: u32) -> Self {
        let base = self.base | SLC;
        Self { base, ..self.without_last(geometry.pages_per_block() - pages) }
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

    /// The next page, if one is left.
    pub fn next_page(&self) -> Ppa {
        Ppa(self.next)
    }

    /// Takes the next page, with its `aux`.
    ///
    /// # Panics
    /// In debug builds if none is left.
    #[inline]
    pub fn take(&mut self) -> (Ppa, u16) {
        debug_assert!(!self.is_full(), "block {} is full", self.block);
        let page = Ppa(self.next);
        self.next += 1;
        (page, self.base | std::mem::take(&mut self.mark))
    }

    /// Takes `count` of the next pages on a device that forgets `aux`; returns the first.
    ///
    /// # Panics
    /// In debug builds if fewer are left.
    #[inline]
    pub fn take_unmarked(&mut self, count: u32) -> Ppa {
        debug_assert!(count <= self.left(), "block {} has {} pages left", self.block, self.left());
        self.mark = 0;
        let page = Ppa(self.next);
        self.next += count;
        page
    }

    /// Returns the page taken last, which was not programmed, with its `aux`.
    pub fn give_back(&mut self, aux: u16) {
        self.next -= 1;
        self.mark = aux & RESUMED;
    }
}

/// A die's frontiers. Every page needs one, so the first few lie in an array with a constant size: they are in the die's own
/// cache lines.
#[derive(Clone, Debug)]
pub struct Frontiers {
    few: [Frontier; Self::FEW],
    count: usize,
    /// Those behind the first few.
    more: Box<[Frontier]>,
}

impl Frontiers {
    const FEW: usize = 16;

    /// `count` frontiers without a block.
    pub fn none(count: u32) -> Self {
        let count = count as usize;
        Self {
            few: std::array::from_fn(|_| Frontier::none()),
            count,
            more: (Self::FEW..count).map(|_| Frontier::none()).collect(),
        }
    }

    /// Their number.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Frontier> {
        self.few[..self.count.min(Self::FEW)].iter().chain(&*self.more)
    }

    /// Exchanges two of them.
    pub fn swap(&mut self, one: usize, other: usize) {
        let first = std::mem::replace(&mut self[one], Frontier::none());
        let second = std::mem::replace(&mut self[other], first);
        self[one] = second;
    }
}

impl Index<usize> for Frontiers {
    type Output = Frontier;

    #[inline]
    fn index(&self, at: usize) -> &Frontier {
        debug_assert!(at < self.count, "frontier {at} of {}", self.count);
        match at.checked_sub(Self::FEW) {
            None => &self.few[at],
            Some(at) => &self.more[at],
        }
    }
}

impl IndexMut<usize> for Frontiers {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Frontier {
        debug_assert!(at < self.count, "frontier {at} of {}", self.count);
        match at.checked_sub(Self::FEW) {
            None => &mut self.few[at],
            Some(at) => &mut self.more[at],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_after_a_mount_is_marked() {
        let geometry = Geometry::single_die(1, 8, 512).unwrap();
        let mut frontier = Frontier::resumed(&geometry, BlockId(0), 3);
        assert_eq!(frontier.take(), (Ppa(3), RESUMED));
        assert_eq!(frontier.take(), (Ppa(4), 0));
    }

    #[test]
    fn erases_survive_in_the_pages() {
        for cycles in [0, 1, 77, 2047] {
            assert_eq!(cycles_in(aux_of(cycles) | RESUMED), cycles);
        }
        for (cycles, found) in [(2048, 2048), (2303, 2048), (100_000, 99_840), (u32::MAX, 2047 * 256)] {
            assert_eq!(aux_of(cycles) & SLC, 0, "the mark of the block is none of its erases");
            assert_eq!(cycles_in(aux_of(cycles) | SLC), found);
        }
    }
}

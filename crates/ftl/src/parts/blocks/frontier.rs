//! A block that is being filled page by page.

use nandlab_nand::{BlockId, Geometry, Ppa};
use std::ops::{Index, IndexMut};

/// Set in `aux` of the first page programmed after a mount into a block that was in use before: the page
/// below it was the last before the power went, so a later mount must verify it.
pub const RESUMED: u16 = 1;

/// Set in `aux` of every page of a block of one bit a cell, so that a mount knows how to read it.
pub const SLC: u16 = 1 << 15;

/// The place where the next page goes.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The block; [`BlockId::NONE`] while there is none.
    pub block: BlockId,
    next: u32,
    end: u32,
    /// Bits of `aux` of the next page alone.
    mark: u16,
    /// Bits of `aux` of every page.
    base: u16,
}

/// Where the erases of a block begin in the `aux` of its pages, behind the marks.
const CYCLES: u32 = 2;
/// Set where there were any: an FTL that merges logical blocks has their pages there, and would take as many erases for
/// pages of an unfinished merge. Logical blocks of 4,096 pages and more alone could still be mistaken.
const ERASED: u32 = 1 << 12;
/// Erases that are stored as they are; more are stored by [`COARSE`], above this value.
const EXACT: u32 = 1 << 11;
const COARSE: u32 = 256;

/// `aux` of the pages of a block that was erased so often.
fn aux_of(cycles: u32) -> u16 {
    let stored = if cycles < EXACT { cycles } else { EXACT + (cycles / COARSE).min(EXACT - 1) };
    let mark = if cycles > 0 { ERASED } else { 0 };
    ((stored | mark) << CYCLES) as u16
}

/// Whether a page carries erases of its block.
pub fn has_cycles(aux: u16) -> bool {
    u32::from(aux >> CYCLES) & ERASED != 0
}

/// The erases of its block that a page carries: exact below 2048, in steps of 256 up to half a million.
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

    /// The same, but for the last `pages` of the block.
    pub fn without_last(self, pages: u32) -> Self {
        Self { end: self.end - pages, ..self }
    }

    /// The same, and every page carries the erases of its block.
    pub fn with_cycles(self, cycles: u32) -> Self {
        Self { base: aux_of(cycles), ..self }
    }

    /// The same in a block of one bit a cell, of which so many pages can be programmed.
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

    /// Takes the next page, with the `aux` that it must carry.
    ///
    /// # Panics
    /// In debug builds where none is left.
    #[inline]
    pub fn take(&mut self) -> (Ppa, u16) {
        debug_assert!(!self.is_full(), "block {} is full", self.block);
        let page = Ppa(self.next);
        self.next += 1;
        (page, self.base | std::mem::take(&mut self.mark))
    }

    /// Takes up to `most` of the next pages: the first, how many, and the `aux` that they must carry.
    #[inline]
    pub fn take_run(&mut self, most: u32) -> (Ppa, u32, u16) {
        // The mark is for one page.
        let count = if self.mark == 0 { most.min(self.left()) } else { 1 };
        let (page, aux) = self.take();
        self.next += count - 1;
        (page, count, aux)
    }

    /// Takes `count` of the next pages, on a device that forgets their `aux`: the first.
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

    /// Returns the pages from `page` on, which were taken last and not programmed.
    pub fn give_back_from(&mut self, page: Ppa, first: bool, aux: u16) {
        self.next = page.0;
        if first {
            self.mark = aux & RESUMED;
        }
    }

    /// Returns the page taken last, which was not programmed, with its `aux`.
    pub fn give_back(&mut self, aux: u16) {
        self.next -= 1;
        self.mark = aux & RESUMED;
    }
}

/// The frontiers of a die. They are asked for with every page, so they lie in a place whose size is known: no index needs
/// a check.
#[derive(Clone, Debug)]
pub struct Frontiers {
    list: [Frontier; Self::ROOM],
    count: usize,
}

impl Frontiers {
    const ROOM: usize = 16;
    /// Most that there can be.
    pub const MOST: u32 = Self::ROOM as u32;

    /// So many frontiers without a block.
    pub fn none(count: u32) -> Self {
        assert!(count <= Self::MOST, "{count} frontiers are too many");
        Self { list: std::array::from_fn(|_| Frontier::none()), count: count as usize }
    }

    /// All of them.
    pub fn all(&self) -> &[Frontier] {
        &self.list[..self.count]
    }

    /// All of them.
    pub fn all_mut(&mut self) -> &mut [Frontier] {
        &mut self.list[..self.count]
    }
}

impl Index<usize> for Frontiers {
    type Output = Frontier;

    #[inline]
    fn index(&self, at: usize) -> &Frontier {
        debug_assert!(at < self.count, "frontier {at} of {}", self.count);
        &self.list[at % Self::ROOM]
    }
}

impl IndexMut<usize> for Frontiers {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Frontier {
        debug_assert!(at < self.count, "frontier {at} of {}", self.count);
        &mut self.list[at % Self::ROOM]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

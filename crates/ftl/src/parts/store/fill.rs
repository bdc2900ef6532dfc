//! Each block's programmed extent, and its programmable pages.

use super::page_bits::PageBits;
use nandlab_nand::{BlockId, Geometry, ProgramOrder};

/// The blocks' programmed pages.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    /// Pages up to the last programmed one.
    words: Vec<u16>,
    /// The programmed pages themselves, on a chip that programs in any order.
    programmed: Option<PageBits>,
    pages_per_block: u32,
}

impl Fill {
    /// All blocks erased.
    pub(crate) fn new(geometry: &Geometry, order: ProgramOrder) -> Self {
        Self {
            words: vec![0; geometry.blocks() as usize],
            programmed: (order == ProgramOrder::Any).then(|| PageBits::new(geometry)),
            pages_per_block: geometry.pages_per_block(),
        }
    }

    /// Pages in `block` up to the last programmed one.
    #[inline]
    pub(crate) fn high_water(&self, block: BlockId) -> u32 {
        self.words[block.index()].into()
    }

    /// Whether `page` of `block` is erased and may still be programmed; on a dense chip the pages below it come
    /// first.
    #[inline]
    pub(crate) fn takes(&self, block: BlockId, page: u32) -> bool {
        match &self.programmed {
            None => page >= self.high_water(block),
            Some(programmed) => !programmed.has(block, page),
        }
    }

    /// The lowest erased and still programmable page in `block`.
    pub(crate) fn lowest_free(&self, block: BlockId) -> Option<u32> {
        let free = match &self.programmed {
            None => self.high_water(block),
            Some(programmed) => programmed.first_missing(block),
        };
        (free < self.pages_per_block).then_some(free)
    }

    /// Notes a program.
    #[inline]
    pub(crate) fn program(&mut self, block: BlockId, page: u32) {
        let word = &mut self.words[block.index()];
        *word = (*word).max(page as u16 + 1);
        if let Some(programmed) = &mut self.programmed {
            programmed.insert(block, page);
        }
    }

    /// Notes programs for `count` pages from `first` on, in a block erased since the mount.
    #[inline]
    pub(crate) fn program_run(&mut self, block: BlockId, first: u32, count: u32) {
        let word = &mut self.words[block.index()];
        *word = (*word).max((first + count) as u16);
        if let Some(programmed) = &mut self.programmed {
            (first..first + count).for_each(|page| programmed.insert(block, page));
        }
    }

    pub(crate) fn erased(&mut self, block: BlockId) {
        self.set(block, 0);
    }

    /// Closes `block`: no more programs before its next erase.
    pub(crate) fn close(&mut self, block: BlockId) {
        self.set(block, self.pages_per_block);
    }

    fn set(&mut self, block: BlockId, pages: u32) {
        self.words[block.index()] = pages as u16;
        if let Some(programmed) = &mut self.programmed {
            programmed.set_first(block, pages);
        }
    }

    /// Memory for the blocks' extent, and for the programmed pages, in bytes.
    pub(crate) fn bytes(&self) -> (u64, Option<u64>) {
        (2 * self.words.len() as u64, self.programmed.as_ref().map(PageBits::bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_chip_decides_what_a_block_takes() {
        let geometry = Geometry::single_die(2, 8, 512).unwrap();
        let a = BlockId(0);
        for (order, earlier_page) in [(ProgramOrder::Ascending, false), (ProgramOrder::Any, true)] {
            let mut fill = Fill::new(&geometry, order);
            fill.program(a, 4);
            assert_eq!((fill.takes(a, 2), fill.takes(a, 4), fill.takes(a, 5)), (earlier_page, false, true));
            fill.close(a);
            assert!((0..8).all(|page| !fill.takes(a, page)));
            fill.erased(a);
            assert!(fill.takes(a, 0));
        }
    }
}

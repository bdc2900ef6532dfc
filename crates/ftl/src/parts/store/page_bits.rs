//! A bit per page; each block starts at a word boundary.

use nandlab_nand::{BlockId, Geometry};

/// Page sets, one per block.
#[derive(Clone, Debug)]
pub(crate) struct PageBits {
    words_per_block: usize,
    pages_per_block: u32,
    words: Vec<u64>,
}

impl PageBits {
    /// Empty sets for the blocks in `geometry`.
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let pages_per_block = geometry.pages_per_block();
        let words_per_block = pages_per_block.div_ceil(64) as usize;
        Self { words_per_block, pages_per_block, words: vec![0; words_per_block * geometry.blocks() as usize] }
    }

    #[inline]
    fn word(&self, block: BlockId, page: u32) -> usize {
        block.index() * self.words_per_block + page as usize / 64
    }

    #[inline]
    fn words(&self, block: BlockId) -> &[u64] {
        let first = self.word(block, 0);
        &self.words[first..first + self.words_per_block]
    }

    #[inline]
    fn words_mut(&mut self, block: BlockId) -> &mut [u64] {
        let first = self.word(block, 0);
        &mut self.words[first..first + self.words_per_block]
    }

    /// Whether the set for `block` has `page`.
    #[inline]
    pub(crate) fn has(&self, block: BlockId, page: u32) -> bool {
        self.words[self.word(block, page)] >> (page % 64) & 1 == 1
    }

    #[inline]
    pub(crate) fn insert(&mut self, block: BlockId, page: u32) {
        let word = self.word(block, page);
        self.words[word] |= 1 << (page % 64);
    }

    #[inline]
    pub(crate) fn remove(&mut self, block: BlockId, page: u32) {
        let word = self.word(block, page);
        self.words[word] &= !(1 << (page % 64));
    }

    /// Bit masks for `count` pages from `first` on, in each affected word.
    #[inline]
    fn masks(first: u32, count: u32) -> impl Iterator<Item = (usize, u64)> {
        let end = first + count;
        (first / 64..end.div_ceil(64)).map(move |word| {
            let from = 64 * word;
            (word as usize, low_bits(end - from) & !low_bits(first.saturating_sub(from)))
        })
    }

    /// Adds `count` pages to the set for `block`, from `first` on.
    #[inline]
    pub(crate) fn insert_run(&mut self, block: BlockId, first: u32, count: u32) {
        let words = self.words_mut(block);
        Self::masks(first, count).for_each(|(word, mask)| words[word] |= mask);
    }

    /// Removes `count` pages from the set for `block`, from `first` on.
    #[inline]
    pub(crate) fn remove_run(&mut self, block: BlockId, first: u32, count: u32) {
        let words = self.words_mut(block);
        Self::masks(first, count).for_each(|(word, mask)| words[word] &= !mask);
    }

    /// Replaces the set for `block` by its first `pages` pages.
    pub(crate) fn set_first(&mut self, block: BlockId, pages: u32) {
        for (first, word) in (0..).step_by(64).zip(self.words_mut(block)) {
            *word = low_bits(pages.saturating_sub(first));
        }
    }

    /// Set size for `block`.
    #[inline]
    pub(crate) fn count(&self, block: BlockId) -> u32 {
        self.words(block).iter().map(|word| word.count_ones()).sum()
    }

    #[inline]
    pub(crate) fn is_empty(&self, block: BlockId) -> bool {
        self.words(block).iter().all(|&word| word == 0)
    }

    /// The first page missing in the set for `block`; if all are in it, the number of pages or more.
    pub(crate) fn first_missing(&self, block: BlockId) -> u32 {
        let words = self.words(block);
        let at = words.iter().position(|&word| word != u64::MAX).unwrap_or(words.len());
        at as u32 * 64 + words.get(at).map_or(0, |word| word.trailing_ones())
    }

    /// Size as a packed table, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let blocks = self.words.len() / self.words_per_block;
        blocks as u64 * u64::from(self.pages_per_block.div_ceil(8))
    }
}

/// A word with its lowest `count` bits set.
#[inline]
fn low_bits(count: u32) -> u64 {
    if count >= 64 {
        u64::MAX
    } else {
        (1 << count) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_pages_one_by_one() {
        let geometry = Geometry::single_die(3, 200, 512).unwrap();
        let block = BlockId(1);
        for (first, count) in [(0, 0), (0, 1), (0, 64), (3, 61), (63, 2), (64, 64), (10, 190), (0, 200), (199, 1)] {
            let (mut by_run, mut by_page) = (PageBits::new(&geometry), PageBits::new(&geometry));
            by_run.insert_run(block, first, count);
            (first..first + count).for_each(|page| by_page.insert(block, page));
            assert_eq!(by_run.words, by_page.words, "{first}, {count}");
            by_run.set_first(block, 200);
            by_page.set_first(block, 200);
            by_run.remove_run(block, first, count);
            (first..first + count).for_each(|page| by_page.remove(block, page));
            assert_eq!(by_run.words, by_page.words, "{first}, {count}");
        }
    }

    #[test]
    fn sets_of_neighbouring_blocks_do_not_touch() {
        for pages in [3, 64, 65, 200] {
            let geometry = Geometry::single_die(3, pages, 512).unwrap();
            let mut bits = PageBits::new(&geometry);
            let block = BlockId(1);
            bits.set_first(block, pages);
            assert_eq!(bits.count(block), pages);
            assert_eq!(bits.first_missing(block), pages);
            assert!(bits.is_empty(BlockId(0)) && bits.is_empty(BlockId(2)));
            bits.set_first(block, 0);
            bits.insert(block, pages - 1);
            assert_eq!(bits.first_missing(block), 0);
            assert!(bits.has(block, pages - 1) && !bits.has(block, 0));
            bits.remove(block, pages - 1);
            assert!(bits.is_empty(block));
        }
    }
}

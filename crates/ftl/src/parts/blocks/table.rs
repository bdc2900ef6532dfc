//! Valid pages, their count in each block, and each block's use, closing time and erase count.

pub use super::counts::BlockUse;
use super::counts::{ValidCounts, Word};
use super::minimum::first_minimum;
use super::order::ClosingOrder;
use nandlab_nand::tables::zeroed;
use nandlab_nand::{BlockId, Geometry, Ppa};
use std::ops::Range;

/// Valid bits and counts.
#[derive(Clone, Debug)]
pub struct BlockTable {
    geometry: Geometry,
    counts: ValidCounts<i16>,
    bits: Vec<u64>,
    /// Each die's closed blocks, the oldest first.
    order: ClosingOrder,
    /// Whether all dies share one closing order.
    is_of_all_dies: bool,
    /// The words of some pools, while a policy looks at them.
    words_of_pools: Vec<i16>,
    /// By block: when it was closed, in programs divided by `pages_per_block`.
    closed_at: Vec<u32>,
    /// By block: known erases.
    cycles: Vec<u32>,
}

const _: () = assert!(
    i16::OPEN as u32 + Geometry::MAX_PAGES_PER_BLOCK < i16::BAD as u32,
    "a full open block is neither bad nor free"
);

impl BlockTable {
    /// All blocks free.
    pub fn new(geometry: &Geometry) -> Self {
        Self::with_lists(geometry, geometry.dies())
    }

    /// All blocks free; one closing order for each die, or one for all of them.
    fn with_lists(geometry: &Geometry, lists: u32) -> Self {
        Self {
            geometry: *geometry,
            counts: ValidCounts::new(geometry.blocks()),
            bits: zeroed(geometry.pages().div_ceil(64) as usize),
            order: ClosingOrder::new(geometry, lists),
            is_of_all_dies: false,
            words_of_pools: Vec::new(),
            closed_at: vec![0; geometry.blocks() as usize],
            cycles: vec![0; geometry.blocks() as usize],
        }
    }

    /// All blocks free; a table of counts alone, without the pages: [`Self::hold`] sets them.
    pub fn of_counts(geometry: &Geometry) -> Self {
        Self { bits: Vec::new(), ..Self::new(geometry) }
    }

    /// All blocks free; policies see the closed blocks on all dies at once.
    pub fn of_all_dies(geometry: &Geometry) -> Self {
        Self { is_of_all_dies: true, ..Self::with_lists(geometry, 1) }
    }

    /// The clock for ages: programs divided by `pages_per_block`.
    pub fn clock(&self, programs: u64) -> u32 {
        (programs / u64::from(self.geometry.pages_per_block())) as u32
    }

    /// The known erases of `block`.
    pub fn cycles(&self, block: BlockId) -> u32 {
        self.cycles[block.index()]
    }

    /// Sets the known erases of `block`.
    pub fn set_cycles(&mut self, block: BlockId, cycles: u32) {
        self.cycles[block.index()] = cycles;
    }

    /// The use of `block`.
    pub fn usage(&self, block: BlockId) -> BlockUse {
        self.counts.usage(block)
    }

    /// Valid pages in `block`.
    #[inline]
    pub fn valid_pages(&self, block: BlockId) -> u32 {
        self.counts.valid(block)
    }

    /// Valid pages in `blocks`.
    pub fn valid_pages_in(&self, blocks: Range<u32>) -> u32 {
        blocks.map(|block| self.valid_pages(BlockId(block))).sum()
    }

    /// Whether `page` is valid.
    #[inline]
    pub fn is_valid(&self, page: Ppa) -> bool {
        self.bits[page.index() / 64] >> (page.0 % 64) & 1 == 1
    }

    /// Starts loading the valid bit of `page`, if there is such a page.
    #[inline]
    pub fn prefetch(&self, page: Ppa) {
        nandlab_nand::prefetch::prefetch(&self.bits, page.index() / 64);
    }

    /// Marks an invalid page in an open or closed block valid.
    #[inline]
    pub fn set_valid(&mut self, page: Ppa) {
        self.bits[page.index() / 64] |= 1 << (page.0 % 64);
        self.counts.add(self.geometry.block_of(page), 1);
    }

    /// Marks the invalid pages in `pages`, all in one open block, valid.
    pub fn set_all_valid(&mut self, pages: Range<u32>) {
        self.change_bits(&pages, |word, bits| *word |= bits);
        if !pages.is_empty() {
            self.counts.add(self.geometry.block_of(Ppa(pages.start)), pages.end - pages.start);
        }
    }

    /// Marks the valid pages in `pages`, all in one block, invalid.
    pub fn set_all_invalid(&mut self, pages: Range<u32>) {
        self.change_bits(&pages, |word, bits| *word &= !bits);
        if !pages.is_empty() {
            self.counts.sub(self.geometry.block_of(Ppa(pages.start)), pages.end - pages.start);
        }
    }

    /// Changes each word with bits of some pages, given these bits.
    #[inline]
    fn change_bits(&mut self, pages: &Range<u32>, change: impl Fn(&mut u64, u64)) {
        let mut at = pages.start;
        while at < pages.end {
            let next = ((at / 64 + 1) * 64).min(pages.end);
            change(&mut self.bits[at as usize / 64], u64::MAX >> (64 - (next - at)) << (at % 64));
            at = next;
        }
    }

    /// Marks a valid page invalid; returns its block.
    #[inline]
    pub fn set_invalid(&mut self, page: Ppa) -> BlockId {
        debug_assert!(self.is_valid(page), "page {page} is invalidated twice");
        self.bits[page.index() / 64] &= !(1 << (page.0 % 64));
        let block = self.geometry.block_of(page);
        self.counts.sub(block, 1);
        block
    }

    /// Moves valid bits after a copy. The pages `from`, at most 64, ascending and in one block, were copied to `to` and
    /// the pages behind it in another block. Where `moved` has a bit set, the copy becomes valid and its source
    /// invalid.
    #[inline]
    pub fn move_valid(&mut self, from: &[Ppa], to: Ppa, moved: u64) {
        let Some(&first) = from.first() else { return };
        for (n, page) in from.iter().enumerate() {
            self.bits[page.index() / 64] &= !((moved >> n & 1) << (page.0 % 64));
        }
        let (word, shift) = (to.index() / 64, to.0 % 64);
        self.bits[word] |= moved << shift;
        if shift > 0 {
            if let Some(next) = self.bits.get_mut(word + 1) {
                *next |= moved >> (64 - shift);
            }
        }
        let count = moved.count_ones();
        self.counts.sub(self.geometry.block_of(first), count);
        self.counts.add(self.geometry.block_of(to), count);
    }

    /// The first valid page in `pages`.
    #[inline]
    pub fn next_valid(&self, pages: Range<u32>) -> Option<Ppa> {
        let mut at = pages.start;
        while at < pages.end {
            let word = self.bits[at as usize / 64] >> (at % 64);
            if word != 0 {
                at += word.trailing_zeros();
                return (at < pages.end).then_some(Ppa(at));
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// Writes the first valid pages in `pages` to `found`; returns how many, and the next valid page, or the end of `pages`.
    #[inline]
    pub fn take_valid(&self, pages: Range<u32>, found: &mut [Ppa]) -> (usize, u32) {
        if pages.is_empty() {
            return (0, pages.end);
        }
        let mut place = pages.start as usize / 64;
        let mut word = self.bits[place] & (u64::MAX << (pages.start % 64));
        let mut count = 0;
        loop {
            while word == 0 {
                place += 1;
                if place * 64 >= pages.end as usize {
                    return (count, pages.end);
                }
                word = self.bits[place];
            }
            let page = place as u32 * 64 + word.trailing_zeros();
            if page >= pages.end {
                return (count, pages.end);
            }
            let Some(free) = found.get_mut(count) else { return (count, page) };
            *free = Ppa(page);
            count += 1;
            word &= word - 1;
        }
    }

    /// Sets the valid pages of an open or closed block in a table of counts alone.
    pub fn hold(&mut self, block: BlockId, valid: u32) {
        self.counts.set(block, valid);
    }

    /// The die of `block`.
    pub fn die_of(&self, block: BlockId) -> u32 {
        self.geometry.die_of(block)
    }

    /// The blocks of `die`.
    pub fn blocks_of_die(&self, die: u32) -> Range<u32> {
        self.geometry.blocks_of_die(die)
    }

    /// Pages per block.
    pub fn pages_per_block(&self) -> u32 {
        self.geometry.pages_per_block()
    }

    /// Opens a free block, or one found at mount that will be closed.
    pub fn open(&mut self, block: BlockId) {
        self.counts.open(block);
    }

    /// Closes a block after `programs` programs in total: from now on it may be a victim.
    pub fn close(&mut self, block: BlockId, programs: u64) {
        self.counts.close(block);
        self.closed_at[block.index()] = self.clock(programs);
        let list = if self.is_of_all_dies { 0 } else { self.geometry.die_of(block) };
        self.order.push(list, block);
    }

    /// Removes a closed block from the possible victims, to be emptied.
    pub fn reopen(&mut self, block: BlockId) {
        self.counts.reopen(block);
        self.order.remove(block);
    }

    /// Marks a block without valid pages as free.
    pub fn set_free(&mut self, block: BlockId) {
        self.counts.set_free(block);
    }

    /// Marks a block without valid pages as bad.
    pub fn set_bad(&mut self, block: BlockId) {
        self.counts.set_bad(block);
    }

    /// A policy's read-only view of the blocks on `die`. In a table for all dies the closing order covers every die.
    #[inline]
    pub fn die(&self, die: u32) -> Blocks<'_> {
        let Range { start: first, end } = self.geometry.blocks_of_die(die);
        let words = &self.counts.words()[first as usize..end as usize];
        Blocks { table: self, die, first, end, words, list: if self.is_of_all_dies { 0 } else { die }, is_part: false }
    }

    /// The same for all dies, in a table where they share one closing order.
    pub fn all_dies(&self) -> Blocks<'_> {
        assert!(self.is_of_all_dies, "each die has an order of its own");
        let (end, words) = (self.geometry.blocks(), self.counts.words());
        Blocks { table: self, die: 0, first: 0, end, words, list: 0, is_part: false }
    }

    /// The same for a policy that may see only the closed blocks of some pools; `of` is each block's pool.
    pub fn pools(&mut self, die: u32, pools: Range<u8>, of: &[u8]) -> Blocks<'_> {
        let Range { start: first, end } = self.geometry.blocks_of_die(die);
        let all = first as usize..end as usize;
        let words = self.counts.words()[all.clone()].iter().zip(&of[all]);
        self.words_of_pools.clear();
        let count = pools.end - pools.start;
        let word = |(&word, &of): (&i16, &u8)| if of.wrapping_sub(pools.start) < count { word } else { i16::BAD };
        self.words_of_pools.extend(words.map(word));
        Blocks { table: self, die, first, end, words: &self.words_of_pools, list: die, is_part: true }
    }

    /// Bytes of memory: two per block for the counts, and a bit per page.
    pub fn bytes(&self) -> (u64, u64) {
        (2 * u64::from(self.geometry.blocks()), u64::from(self.geometry.pages()).div_ceil(8))
    }
}

/// A policy's view of a die's blocks.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    table: &'a BlockTable,
    die: u32,
    first: u32,
    end: u32,
    /// A word for each of the die's blocks.
    words: &'a [i16],
    /// The list of the die's closed blocks in closing order.
    list: u32,
    /// Whether some closed blocks are hidden.
    is_part: bool,
}

impl<'a> Blocks<'a> {
    /// The closed block with the fewest valid pages, the lowest number among equals.
    #[inline]
    pub fn fewest_valid(&self) -> Option<BlockId> {
        let at = first_minimum(self.words)?;
        (self.words[at] < Self::CLOSED).then_some(BlockId(self.first + at as u32))
    }

    /// The die's number.
    pub fn die(&self) -> u32 {
        self.die
    }

    /// All the die's blocks, in any use.
    pub fn all(&self) -> impl ExactSizeIterator<Item = BlockId> {
        (self.first..self.end).map(BlockId)
    }

    /// The block at this place in the die.
    pub fn at(&self, place: usize) -> BlockId {
        BlockId(self.first + place as u32)
    }

    /// The closed blocks in closing order.
    pub fn oldest_first(&self) -> impl Iterator<Item = BlockId> + 'a {
        let Self { words, first, is_part, .. } = *self;
        let is_seen = move |block: &BlockId| !is_part || words[(block.0 - first) as usize] < Self::CLOSED;
        self.table.order.iter(self.list).filter(is_seen)
    }

    /// The closed block that was closed first, the lowest number among equals.
    pub fn oldest(&self) -> Option<BlockId> {
        let at = |(&word, &at): (&i16, &u32)| if word < Self::CLOSED { at } else { u32::MAX };
        let closed = || self.words.iter().zip(self.closed_at()).map(at);
        let first = closed().min().filter(|&first| first < u32::MAX)?;
        closed().position(|at| at == first).map(|place| self.at(place))
    }

    /// Whether a policy may pick `block` as a victim.
    #[inline]
    pub fn is_closed(&self, block: BlockId) -> bool {
        self.words[block.index() - self.first as usize] < Self::CLOSED
    }

    /// The use of `block`.
    pub fn usage(&self, block: BlockId) -> BlockUse {
        self.table.usage(block)
    }

    /// Valid pages in `block`.
    #[inline]
    pub fn valid_pages(&self, block: BlockId) -> u32 {
        self.table.valid_pages(block)
    }

    /// Pages per block.
    pub fn pages_per_block(&self) -> u32 {
        self.table.geometry.pages_per_block()
    }

    /// The known erases of `block`.
    pub fn cycles(&self, block: BlockId) -> u32 {
        self.table.cycles(block)
    }

    /// The present time in the clock of [`Self::closed_at`].
    pub fn clock(&self, programs: u64) -> u32 {
        self.table.clock(programs)
    }

    /// A word per block: a closed block's valid pages, below [`Self::CLOSED`]; else not a victim.
    pub fn words(&self) -> &'a [i16] {
        self.words
    }

    /// The upper bound (exclusive) for closed blocks' words.
    pub const CLOSED: i16 = i16::OPEN;

    /// By block: when it was closed.
    pub fn closed_at(&self) -> &'a [u32] {
        &self.table.closed_at[self.first as usize..self.end as usize]
    }

    /// By block: its known erases.
    pub fn all_cycles(&self) -> &'a [u32] {
        &self.table.cycles[self.first as usize..self.end as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_bits_and_victims_follow_counts() {
        let geometry = Geometry::single_die(5, 7, 512).unwrap();
        let mut table = BlockTable::new(&geometry);
        for block in 0..3 {
            table.open(BlockId(block));
            for page in 0..7 {
                table.set_valid(geometry.page(BlockId(block), page));
            }
        }
        assert_eq!(table.die(0).fewest_valid(), None, "no block is closed");
        table.close(BlockId(2), 14);
        table.close(BlockId(1), 21);
        for page in [14, 16, 20] {
            table.set_invalid(Ppa(page));
        }
        let blocks = table.die(0);
        assert_eq!(blocks.fewest_valid(), Some(BlockId(2)));
        assert!(blocks.oldest_first().eq([BlockId(2), BlockId(1)]));
        assert_eq!(blocks.closed_at()[1..3], [3, 2], "in blocks' worth of programs");
        assert_eq!((table.valid_pages(BlockId(2)), table.valid_pages_in(0..5)), (4, 18));
        assert_eq!(table.next_valid(14..21), Some(Ppa(15)));
        assert_eq!(table.next_valid(20..21), None);
        table.reopen(BlockId(2));
        assert_eq!(table.die(0).fewest_valid(), Some(BlockId(1)));
        assert!(table.die(0).oldest_first().eq([BlockId(1)]));
    }

    #[test]
    fn the_largest_block_that_a_geometry_allows_is_filled_and_picked() {
        let geometry = Geometry::single_die(2, Geometry::MAX_PAGES_PER_BLOCK, 512).unwrap();
        let pages = geometry.pages_per_block();
        let mut table = BlockTable::new(&geometry);
        table.open(BlockId(0));
        for page in 0..pages {
            table.set_valid(Ppa(page));
            assert_eq!((table.usage(BlockId(0)), table.valid_pages(BlockId(0))), (BlockUse::Open, page + 1));
        }
        assert_eq!(table.die(0).fewest_valid(), None, "no block is closed");
        table.close(BlockId(0), 0);
        assert_eq!((table.usage(BlockId(0)), table.valid_pages(BlockId(0))), (BlockUse::Closed, pages));
        assert_eq!(table.die(0).fewest_valid(), Some(BlockId(0)));
    }
}

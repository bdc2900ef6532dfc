//! Page numbers going on from die to die: virtual page numbers.
//!
//! Pages written one after the other lie on the dies in turn, so their places are no line. Blocks filled side by side, one
//! on each die, form a stripe. Numbered stripe by stripe, row by row and die by die, the same pages follow each other.
//! LearnedFTL calls this the virtual PPN. Firmware with the same block on each die computes it; here a table has each
//! block's stripe.

use nandlab_nand::{BlockId, Geometry, Ppa};

/// No stripe, and no block in one.
const NONE: u32 = u32::MAX;

/// The stripes.
#[derive(Debug)]
pub(super) struct Stripes {
    geometry: Geometry,
    /// By block: its stripe.
    of: Vec<u32>,
    /// By stripe and die: the block.
    blocks: Vec<BlockId>,
    /// By stripe: its blocks.
    counts: Vec<u32>,
    unused: Vec<u32>,
    /// By filler: the stripe for its next blocks.
    filled: Vec<u32>,
}

impl Stripes {
    /// No block is in a stripe yet. Each filler has its own stripes.
    pub(super) fn new(geometry: &Geometry, fillers: u32) -> Self {
        Self {
            geometry: *geometry,
            of: vec![NONE; geometry.blocks() as usize],
            blocks: Vec::new(),
            counts: Vec::new(),
            unused: Vec::new(),
            filled: vec![NONE; fillers as usize],
        }
    }

    /// A page was programmed: with its first page a block enters a stripe.
    #[inline]
    pub(super) fn programmed(&mut self, page: Ppa, filler: u32) {
        if page.is_some() && page.0 % self.geometry.pages_per_block() == 0 {
            self.enter(self.geometry.block_of(page), filler);
        }
    }

    #[cold]
    pub(super) fn enter(&mut self, block: BlockId, filler: u32) {
        let before = std::mem::replace(&mut self.of[block.index()], NONE);
        if before != NONE {
            let place = self.place(before, block);
            self.blocks[place] = BlockId::NONE;
            self.counts[before as usize] -= 1;
            if self.counts[before as usize] == 0 && !self.filled.contains(&before) {
                self.unused.push(before);
            }
        }
        let mut stripe = self.filled[filler as usize];
        if stripe == NONE || self.blocks[self.place(stripe, block)].is_some() {
            let former = stripe;
            stripe = self.unused.pop().unwrap_or_else(|| {
                self.counts.push(0);
                self.blocks.resize(self.counts.len() * self.geometry.dies() as usize, BlockId::NONE);
                self.counts.len() as u32 - 1
            });
            self.filled[filler as usize] = stripe;
            if former != NONE && self.counts[former as usize] == 0 {
                self.unused.push(former);
            }
        }
        let place = self.place(stripe, block);
        self.blocks[place] = block;
        self.counts[stripe as usize] += 1;
        self.of[block.index()] = stripe;
    }

    fn place(&self, stripe: u32, block: BlockId) -> usize {
        stripe as usize * self.geometry.dies() as usize + self.geometry.die_of(block) as usize
    }

    /// A page's number; `None` for no page, and in a block without a stripe.
    pub(super) fn number(&self, page: Ppa) -> Option<u32> {
        if !page.is_some() {
            return None;
        }
        let block = self.geometry.block_of(page);
        let stripe = Some(self.of[block.index()]).filter(|&stripe| stripe != NONE)?;
        let row = u64::from(stripe) * u64::from(self.geometry.pages_per_block());
        let row = row + u64::from(self.geometry.page_in_block(page));
        u32::try_from(row * u64::from(self.geometry.dies()) + u64::from(self.geometry.die_of(block))).ok()
    }

    /// The page with a number, if its stripe has a block on this die.
    pub(super) fn page(&self, number: u32) -> Option<Ppa> {
        let (dies, of_block) = (self.geometry.dies(), self.geometry.pages_per_block());
        let (row, die) = (number / dies, number % dies);
        let block = *self.blocks.get((row / of_block * dies + die) as usize)?;
        block.is_some().then(|| self.geometry.page(block, row % of_block))
    }

    /// Memory for both tables, bytes.
    pub(super) fn bytes(&self) -> u64 {
        8 * u64::from(self.geometry.blocks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_turn_follow_each_other() {
        let geometry = Geometry::two_dies(8, 4, 512).unwrap();
        let mut stripes = Stripes::new(&geometry, 1);
        let on = |die: u32| (0..geometry.blocks()).map(BlockId).filter(move |&block| geometry.die_of(block) == die);
        let (a, b): (Vec<BlockId>, Vec<BlockId>) = (on(0).collect(), on(1).collect());
        let in_turn: Vec<Ppa> = (0..4).flat_map(|row| [geometry.page(a[2], row), geometry.page(b[1], row)]).collect();
        in_turn.iter().for_each(|&page| stripes.programmed(page, 0));
        let numbers: Vec<u32> = in_turn.iter().map(|&page| stripes.number(page).unwrap()).collect();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
        numbers.iter().zip(in_turn).for_each(|(&number, page)| assert_eq!(stripes.page(number), Some(page)));
        assert_eq!((stripes.number(geometry.page(a[0], 0)), stripes.number(Ppa::NONE)), (None, None));
        assert_eq!(stripes.page(8), None);
    }

    #[test]
    fn a_block_leaves_its_stripe_when_it_is_filled_again() {
        let geometry = Geometry::two_dies(8, 4, 512).unwrap();
        let mut stripes = Stripes::new(&geometry, 2);
        let block = BlockId(0);
        let first = geometry.page(block, 0);
        stripes.programmed(first, 0);
        assert_eq!(stripes.number(first), Some(0));
        // The same filler begins another stripe, since the block was in the one that it filled.
        for filler in [1, 0, 1, 0] {
            stripes.programmed(first, filler);
            let number = stripes.number(first).unwrap();
            assert_eq!(stripes.page(number), Some(first));
        }
        assert!(stripes.counts.len() <= 4, "{} stripes for one block", stripes.counts.len());
        assert_eq!(stripes.counts.iter().sum::<u32>(), 1);
    }
}

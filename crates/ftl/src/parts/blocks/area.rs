//! An area: blocks with pages of one kind, filled at frontiers and emptied one after the other.
//!
//! The area's owner picks the frontier for each page, chooses what a victim is and moves its pages. The area keeps the
//! valid bits and the frontiers, and handles failed programs in both.

use super::frontier::Frontier;
use super::keeper::Keeper;
use super::scan::Scans;
use super::table::{BlockTable, BlockUse};
use crate::parts::victim::VictimPolicy;
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry, Nand, NandError, Oob, Ppa};
use std::collections::VecDeque;

/// An area's blocks.
#[derive(Debug)]
pub(crate) struct Area {
    geometry: Geometry,
    /// Blocks in other areas or with the keeper are free here.
    table: BlockTable,
    frontiers: Vec<Frontier>,
    /// Blocks in the area, in total and by die.
    blocks: u32,
    in_die: Vec<u32>,
    /// Blocks with a failed program, to be emptied and retired.
    failing: VecDeque<BlockId>,
}

/// A block to empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Victim {
    pub(crate) block: BlockId,
    /// Whether a program failed in it: it is retired when it is empty.
    pub(crate) is_failing: bool,
}

impl Area {
    /// No block yet, and `frontiers` frontiers.
    pub(crate) fn new(geometry: &Geometry, frontiers: u32) -> Self {
        Self {
            geometry: *geometry,
            table: BlockTable::of_all_dies(geometry),
            frontiers: vec![Frontier::none(); frontiers as usize],
            blocks: 0,
            in_die: vec![0; geometry.dies() as usize],
            failing: VecDeque::new(),
        }
    }

    /// Blocks in the area.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// A die's blocks in the area.
    pub(crate) fn blocks_in(&self, die: u32) -> u32 {
        self.in_die[die as usize]
    }

    /// Changes the block counts by `more`, for the die of `block`.
    fn count(&mut self, block: BlockId, more: i32) {
        let of_die = &mut self.in_die[self.geometry.die_of(block) as usize];
        *of_die = of_die.checked_add_signed(more).expect("a block that leaves the area was in it");
        self.blocks = self.blocks.checked_add_signed(more).expect("a block that leaves the area was in it");
    }

    /// Whether a block is in the area.
    pub(crate) fn has(&self, block: BlockId) -> bool {
        self.table.usage(block) != BlockUse::Free
    }

    /// Whether a block waits to be retired.
    pub(crate) fn is_failing(&self) -> bool {
        !self.failing.is_empty()
    }

    /// Valid pages in a block; 0 for a block in another area.
    pub(crate) fn valid_pages(&self, block: BlockId) -> u32 {
        self.table.valid_pages(block)
    }

    /// Whether a page is valid.
    pub(crate) fn is_valid(&self, page: Ppa) -> bool {
        self.table.is_valid(page)
    }

    /// A block's valid pages, ascending.
    pub(crate) fn valid_in(&self, block: BlockId) -> impl Iterator<Item = Ppa> + '_ {
        let first = self.geometry.page(block, 0).0;
        let end = first + self.geometry.pages_per_block();
        std::iter::successors(self.table.next_valid(first..end), move |page| self.table.next_valid(page.0 + 1..end))
    }

    /// Marks a programmed page valid.
    #[inline]
    pub(crate) fn set_valid(&mut self, page: Ppa) {
        self.table.set_valid(page);
    }

    /// Marks a valid page invalid.
    #[inline]
    pub(crate) fn set_invalid(&mut self, page: Ppa) {
        self.table.set_invalid(page);
    }

    #[inline]
    pub(crate) fn is_full(&self, frontier: usize) -> bool {
        self.frontiers[frontier].is_full()
    }

    pub(crate) fn frontiers(&self) -> &[Frontier] {
        &self.frontiers
    }

    /// Closes a frontier, if it has a block, which gets no more pages and may be a victim from now on.
    pub(crate) fn close(&mut self, frontier: usize, programs: u64) {
        let full = std::mem::replace(&mut self.frontiers[frontier], Frontier::none());
        if full.block.is_some() {
            self.table.close(full.block, programs);
        }
    }

    /// Opens an erased block at a closed frontier.
    pub(crate) fn open(&mut self, frontier: usize, block: BlockId) {
        self.table.open(block);
        self.frontiers[frontier] = Frontier::at_start(&self.geometry, block);
        self.count(block, 1);
    }

    /// Programs a frontier's next page; `None` if the program failed, and the frontier then has no block.
    #[inline]
    pub(crate) fn program<N: Nand>(
        &mut self,
        nand: &mut N,
        frontier: usize,
        page: &N::Buf,
        tail: &[u8],
        oob: Oob,
    ) -> Result<Option<Ppa>, FtlError> {
        let (to, mark) = self.frontiers[frontier].take();
        match nand.program(to, page, tail, Oob { aux: oob.aux | mark, ..oob }) {
            Ok(_) => Ok(Some(to)),
            Err(NandError::ProgramFailed(_)) => {
                self.abandon(frontier);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a block with a failed program from its frontier; it gets no more pages.
    fn abandon(&mut self, frontier: usize) {
        let failed = std::mem::replace(&mut self.frontiers[frontier], Frontier::none());
        self.failing.push_back(failed.block);
    }

    /// The block to empty next, no longer a possible victim: blocks with a failed program come first, else `policy`
    /// picks one among all dies, since they share the keeper. `None` if nothing would be gained.
    pub(crate) fn next_victim(&mut self, policy: &mut dyn VictimPolicy, now: u64) -> Option<Victim> {
        if let Some(block) = self.failing.pop_front() {
            return Some(Victim { block, is_failing: true });
        }
        // A policy that weighs more than valid pages may take a full block, if another block is not full.
        let least = self.emptiest()?;
        let block = policy.pick(self.table.all_dies(), now).unwrap_or(least);
        Some(self.chosen(block))
    }

    /// The block with the fewest valid pages, unless it is full of them.
    fn emptiest(&self) -> Option<BlockId> {
        let full = self.geometry.pages_per_block();
        self.table.all_dies().fewest_valid().filter(|&block| self.table.valid_pages(block) < full)
    }

    fn chosen(&mut self, block: BlockId) -> Victim {
        self.table.reopen(block);
        Victim { block, is_failing: false }
    }

    /// A die's block with the fewest valid pages, unless it is full of them.
    fn emptiest_in(&self, die: u32) -> Option<BlockId> {
        let full = self.geometry.pages_per_block();
        self.table.die(die).fewest_valid().filter(|&block| self.table.valid_pages(block) < full)
    }

    /// Whether emptying one of a die's blocks gains something.
    pub(crate) fn gains_in(&self, die: u32) -> bool {
        self.emptiest_in(die).is_some()
    }

    /// The same by fewest valid pages, if dies have shares in the area: on `near` if it is due, since it holds more
    /// than its share. Else on any die, first on those in `works`: a weak die gives a block only if no other can.
    pub(crate) fn next_victim_near(&mut self, near: u32, is_due: bool, works: &[bool]) -> Option<Victim> {
        if let Some(block) = self.failing.pop_front() {
            return Some(Victim { block, is_failing: true });
        }
        let own = self.emptiest_in(near).filter(|_| is_due);
        let of_all =
            || (0..self.geometry.dies()).filter_map(|die| Some((!works[die as usize], self.emptiest_in(die)?)));
        let fewest = || of_all().min_by_key(|&(is_weak, block)| (is_weak, self.table.valid_pages(block)));
        let block = own.or_else(|| Some(fewest()?.1))?;
        Some(self.chosen(block))
    }

    /// Gives a victim without valid pages back to the keeper, erased or retired.
    pub(crate) fn release<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        victim: Victim,
    ) -> Result<(), FtlError> {
        let Victim { block, is_failing } = victim;
        if is_failing {
            keeper.retire(nand, block)?;
        } else if keeper.erase(nand, block)? {
            keeper.add(block, None);
        }
        self.table.set_free(block);
        self.count(block, -1);
        Ok(())
    }

    /// Adds a block that a mount found in use; its valid pages are set one by one.
    pub(crate) fn found(&mut self, block: BlockId) {
        self.table.open(block);
        self.count(block, 1);
    }

    /// Closes the blocks found by a mount in the order in which they were filled. A mount calls this once the valid pages
    /// are set.
    pub(crate) fn close_found(&mut self, scans: &Scans) {
        let mut found: Vec<(u64, BlockId)> = (0..)
            .map(BlockId)
            .zip(scans)
            .filter(|&(block, _)| self.has(block))
            .filter_map(|(block, scan)| Some((scan.as_ref()?.highest, block)))
            .collect();
        found.sort_unstable();
        found.into_iter().for_each(|(highest, block)| self.table.close(block, highest));
    }

    /// Asserts that each block in the area is a frontier, failing, or closed.
    ///
    /// # Panics
    /// With the first block in the wrong number of places.
    pub(crate) fn check(&self, what: &str) {
        let mut count = vec![0; self.in_die.len()];
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let open = self.frontiers.iter().filter(|frontier| frontier.block == block).count()
                + self.failing.iter().filter(|&&failing| failing == block).count();
            let expected = match self.table.usage(block) {
                BlockUse::Open => 1,
                BlockUse::Closed | BlockUse::Free | BlockUse::Bad => 0,
            };
            assert_eq!(open, expected, "places where block {block} of the {what} area is being filled or failing");
            count[self.geometry.die_of(block) as usize] += u32::from(self.has(block));
            let first = self.geometry.page(block, 0).0;
            let valid = (first..first + self.geometry.pages_per_block()).filter(|&page| self.is_valid(Ppa(page)));
            assert_eq!(valid.count() as u32, self.valid_pages(block), "valid pages of block {block}");
        }
        assert_eq!(count, self.in_die, "blocks of the {what} area, by die");
        assert_eq!(count.iter().sum::<u32>(), self.blocks, "blocks of the {what} area");
    }
}

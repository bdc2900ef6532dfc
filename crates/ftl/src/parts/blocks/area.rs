//! An area: the blocks that hold pages of one kind, filled at frontiers and emptied one after the other.
//!
//! Who owns an area decides which page goes to which frontier, what a victim is and what is done with its pages; here are
//! valid pages, frontiers, and what a failed program means for both.

use super::frontier::Frontier;
use super::keeper::Keeper;
use super::scan::BlockScan;
use super::table::{BlockTable, BlockUse};
use crate::parts::victim::VictimPolicy;
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry, Nand, NandError, Oob, Ppa};
use std::collections::VecDeque;

/// The blocks of an area.
#[derive(Debug)]
pub(crate) struct Area {
    geometry: Geometry,
    /// Blocks of other areas and of the keeper are free in it.
    table: BlockTable,
    frontiers: Vec<Frontier>,
    /// Blocks in the area, and of each die.
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
    /// No block yet, and so many frontiers.
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

    /// Blocks of a die in the area.
    pub(crate) fn blocks_in(&self, die: u32) -> u32 {
        self.in_die[die as usize]
    }

    /// So many blocks more of the die of `block`, or fewer.
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

    /// Valid pages of a block; none in one of another area.
    pub(crate) fn valid_pages(&self, block: BlockId) -> u32 {
        self.table.valid_pages(block)
    }

    /// Whether a page holds what counts.
    pub(crate) fn is_valid(&self, page: Ppa) -> bool {
        self.table.is_valid(page)
    }

    /// The valid pages of a block, ascending.
    pub(crate) fn valid_in(&self, block: BlockId) -> impl Iterator<Item = Ppa> + '_ {
        let first = self.geometry.page(block, 0).0;
        let end = first + self.geometry.pages_per_block();
        std::iter::successors(self.table.next_valid(first..end), move |page| self.table.next_valid(page.0 + 1..end))
    }

    /// A page that was programmed holds what counts.
    #[inline]
    pub(crate) fn set_valid(&mut self, page: Ppa) {
        self.table.set_valid(page);
    }

    /// A valid page holds nothing that counts any more.
    #[inline]
    pub(crate) fn set_invalid(&mut self, page: Ppa) {
        self.table.set_invalid(page);
    }

    /// Pages that a frontier still takes.
    #[inline]
    pub(crate) fn left(&self, frontier: usize) -> u32 {
        self.frontiers[frontier].left()
    }

    #[inline]
    pub(crate) fn is_full(&self, frontier: usize) -> bool {
        self.frontiers[frontier].is_full()
    }

    pub(crate) fn frontiers(&self) -> &[Frontier] {
        &self.frontiers
    }

    /// Closes a full frontier, if it has a block: that is a victim from now on.
    pub(crate) fn close(&mut self, frontier: usize, programs: u64) {
        let full = std::mem::replace(&mut self.frontiers[frontier], Frontier::none());
        if full.block.is_some() {
            self.table.close(full.block, programs);
        }
    }

    /// Gives a frontier that is closed the block of the one that has the most pages left.
    pub(crate) fn borrow(&mut self, frontier: usize) {
        let left = |&at: &usize| (self.left(at), std::cmp::Reverse(at));
        let roomiest = (0..self.frontiers.len()).max_by_key(left).expect("an area has a frontier");
        self.frontiers.swap(frontier, roomiest);
    }

    /// Fills an erased block at a frontier that is closed.
    pub(crate) fn open(&mut self, frontier: usize, block: BlockId) {
        self.table.open(block);
        self.frontiers[frontier] = Frontier::at_start(&self.geometry, block);
        self.count(block, 1);
    }

    /// Programs the next page of a frontier; `None` where the program failed, which leaves the frontier without a block.
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

    /// Copies a page to the next page of a frontier under `oob`; returns where, and what was stored. `None` where the
    /// program failed, which leaves the frontier without a block.
    ///
    /// # Errors
    /// [`NandError::Uncorrectable`] where the page cannot be read; nothing has changed then.
    pub(crate) fn copy<N: Nand>(
        &mut self,
        nand: &mut N,
        frontier: usize,
        from: Ppa,
        oob: Oob,
    ) -> Result<Option<(Ppa, Oob)>, FtlError> {
        let (to, mark) = self.frontiers[frontier].take();
        match nand.copy(from, to, Oob { aux: oob.aux | mark, ..oob }) {
            Ok(stored) => Ok(Some((to, stored))),
            Err(NandError::ProgramFailed(_)) => {
                self.abandon(frontier);
                Ok(None)
            }
            Err(error) => {
                if matches!(error, NandError::Uncorrectable(_)) {
                    self.frontiers[frontier].give_back(mark);
                }
                Err(error.into())
            }
        }
    }

    /// A program failed: the block of the frontier takes no more pages.
    fn abandon(&mut self, frontier: usize) {
        let failed = std::mem::replace(&mut self.frontiers[frontier], Frontier::none());
        self.failing.push_back(failed.block);
    }

    /// The block to empty next, which is then no victim any more: one with a failed program, else that of `policy` among
    /// the blocks of all dies, which share the keeper. `None` where nothing would be gained.
    pub(crate) fn next_victim(&mut self, policy: &mut dyn VictimPolicy, now: u64) -> Option<Victim> {
        if let Some(block) = self.failing.pop_front() {
            return Some(Victim { block, is_failing: true });
        }
        // A policy that looks at more than valid pages may take a full block, as long as another is not.
        let least = self.emptiest()?;
        let block = policy.pick(self.table.all_dies(), now).unwrap_or(least);
        Some(self.chosen(block))
    }

    /// The block with the fewest valid pages, if it has room for another one.
    fn emptiest(&self) -> Option<BlockId> {
        let full = self.geometry.pages_per_block();
        self.table.all_dies().fewest_valid().filter(|&block| self.table.valid_pages(block) < full)
    }

    fn chosen(&mut self, block: BlockId) -> Victim {
        self.table.reopen(block);
        Victim { block, is_failing: false }
    }

    /// The block of a die with the fewest valid pages, if it has room for another one.
    fn emptiest_in(&self, die: u32) -> Option<BlockId> {
        let full = self.geometry.pages_per_block();
        self.table.die(die).fewest_valid().filter(|&block| self.table.valid_pages(block) < full)
    }

    /// Whether something is gained by emptying a block of a die.
    pub(crate) fn gains_in(&self, die: u32) -> bool {
        self.emptiest_in(die).is_some()
    }

    /// The same where dies have shares of the area, by the fewest valid pages: of `near` where that has given more than its
    /// share, else of all, those that `works` names first: no other gives a block for one that cannot be erased.
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

    /// A block that a mount has found in use; its valid pages are set one by one.
    pub(crate) fn found(&mut self, block: BlockId) {
        self.table.open(block);
        self.count(block, 1);
    }

    /// Fills the blocks with the most room further, the roomiest at the last frontier, and closes the others in the order
    /// in which they were filled: what a mount does once the valid pages are set.
    pub(crate) fn resume(&mut self, scans: &[Option<BlockScan>]) {
        let mut mine: Vec<(u32, u64, BlockId, bool)> = (0..)
            .map(BlockId)
            .zip(scans)
            .filter(|&(block, _)| self.has(block))
            .filter_map(|(block, scan)| Some((block, scan.as_ref()?)))
            .map(|(block, scan)| (scan.used, scan.highest, block, scan.can_resume(&self.geometry)))
            .collect();
        mine.sort_unstable();
        let mut full = Vec::new();
        for (used, highest, block, can_resume) in mine {
            match self.unused_frontier(self.geometry.die_of(block)).filter(|_| can_resume) {
                Some(frontier) => self.frontiers[frontier] = Frontier::resumed(&self.geometry, block, used),
                None => full.push((highest, block)),
            }
        }
        full.sort_unstable();
        full.into_iter().for_each(|(highest, block)| self.table.close(block, highest));
    }

    /// A frontier without a block, of this die if there is one.
    fn unused_frontier(&self, die: u32) -> Option<usize> {
        let unused = |&at: &usize| !self.frontiers[at].block.is_some();
        let (all, dies) = (0..self.frontiers.len(), self.geometry.dies() as usize);
        all.clone().rev().filter(unused).find(|at| at % dies == die as usize).or_else(|| all.rev().find(unused))
    }

    /// Asserts that each block of the area is a frontier, failing, or closed.
    ///
    /// # Panics
    /// With the block that is in another number of places.
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

//! The blocks of each bank, which is a die with garbage collection of its own: free, failing and bad ones, erases, and
//! how much of each block is valid.

use super::block_scan::BlockScan;
use super::block_table::BlockUse;
use super::valid_counts::ValidCounts;
use crate::parts::erase::erase_behind;
use crate::{BlockState, Events, FtlError};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Nand, Ppa, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// A block in which nothing is valid.
#[derive(Clone, Copy, Debug)]
struct FreeBlock {
    block: BlockId,
    /// The cause to which its erase is due, where it is not known to be erased.
    unerased: Option<Cause>,
}

#[derive(Debug)]
struct Bank {
    /// The blocks that may be used.
    blocks: Range<u32>,
    free: VecDeque<FreeBlock>,
    /// Blocks with a failed program, to be emptied and retired.
    failing: VecDeque<BlockId>,
    bad: u32,
}

/// The blocks of all banks.
#[derive(Debug)]
pub(crate) struct Banks {
    geometry: Geometry,
    pub(crate) counts: ValidCounts,
    banks: Vec<Bank>,
    /// By block: when the last program ends that made something in it invalid.
    superseded: Vec<Time>,
    retired: u64,
}

impl Banks {
    /// Banks of which the first `unused` blocks are left alone; every other one is free.
    pub(crate) fn new(geometry: &Geometry, unused: u32) -> Self {
        let banks = (0..geometry.dies()).map(|die| {
            let Range { start, end } = geometry.blocks_of_die(die);
            let blocks = (start + unused).min(end)..end;
            Bank { blocks, free: VecDeque::new(), failing: VecDeque::new(), bad: 0 }
        });
        Self {
            geometry: *geometry,
            counts: ValidCounts::new(geometry.blocks()),
            banks: banks.collect(),
            superseded: vec![0; geometry.blocks() as usize],
            retired: 0,
        }
    }

    /// Blocks of `bank` that may be used.
    pub(crate) fn blocks(&self, bank: usize) -> Range<u32> {
        self.banks[bank].blocks.clone()
    }

    /// The bank of a page.
    pub(crate) fn of(&self, page: Ppa) -> usize {
        self.geometry.die_of(self.geometry.block_of(page)) as usize
    }

    /// Free blocks of `bank`.
    #[inline]
    pub(crate) fn free(&self, bank: usize) -> usize {
        self.banks[bank].free.len()
    }

    /// Blocks of `bank` that may be used and are not bad.
    pub(crate) fn good(&self, bank: usize) -> u32 {
        self.banks[bank].blocks.len() as u32 - self.banks[bank].bad
    }

    /// The device needs at least `missing` good blocks more.
    pub(crate) fn worn_out(&self, missing: u32) -> FtlError {
        let good = (0..self.banks.len()).map(|bank| self.good(bank)).sum();
        FtlError::WornOut { good, needed: good + missing, weak_dies: 0 }
    }

    /// What was in `block` has been programmed elsewhere, or unmapped, by `end`.
    #[inline]
    pub(crate) fn supersede(&mut self, block: BlockId, count: u32, end: Time) {
        self.counts.sub(block, count);
        if end > 0 {
            let superseded = &mut self.superseded[block.index()];
            *superseded = end.max(*superseded);
        }
    }

    /// Opens a free block, erased; `None` where there is none.
    pub(crate) fn open<N: Nand>(&mut self, nand: &mut N, bank: usize) -> Result<Option<BlockId>, FtlError> {
        while let Some(FreeBlock { block, unerased }) = self.banks[bank].free.pop_front() {
            let erased = match unerased {
                None => true,
                Some(cause) => scoped(nand, cause, |nand| self.erase(nand, block, 0))?,
            };
            if erased {
                self.counts.open(block);
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// The closed block of `bank` with the least that is valid, to be emptied.
    #[inline]
    pub(crate) fn victim(&self, bank: usize) -> Option<BlockId> {
        self.counts.fewest_valid(self.blocks(bank))
    }

    /// An open block in which nothing is valid any more is erased, and free. What replaced its contents is on flash by
    /// `replaced`, or by when it was superseded.
    pub(crate) fn release<N: Nand>(&mut self, nand: &mut N, block: BlockId, replaced: Time) -> Result<(), FtlError> {
        let bank = self.geometry.die_of(block) as usize;
        if self.erase(nand, block, replaced)? {
            self.counts.set_free(block);
            self.banks[bank].free.push_back(FreeBlock { block, unerased: None });
        }
        Ok(())
    }

    /// Erases a block; false where that failed and the block was retired.
    fn erase<N: Nand>(&mut self, nand: &mut N, block: BlockId, replaced: Time) -> Result<bool, FtlError> {
        if !erase_behind(nand, block, replaced.max(self.superseded[block.index()]))? {
            return self.retire(nand, block, replaced).map(|()| false);
        }
        self.superseded[block.index()] = 0;
        Ok(true)
    }

    /// Takes a block out of use in which nothing is valid.
    pub(crate) fn retire<N: Nand>(&mut self, nand: &mut N, block: BlockId, replaced: Time) -> Result<(), FtlError> {
        scoped(nand, Cause::BadBlock, |nand| {
            let before = nand.ctx().fence_at(replaced.max(self.superseded[block.index()]));
            let retired = nand.retire(block);
            nand.ctx().set_ready(before);
            retired
        })?;
        self.counts.set_bad(block);
        self.banks[self.geometry.die_of(block) as usize].bad += 1;
        self.retired += 1;
        Ok(())
    }

    /// A program failed in an open block: it is to be emptied and retired.
    pub(crate) fn fail(&mut self, block: BlockId) {
        self.banks[self.geometry.die_of(block) as usize].failing.push_back(block);
    }

    /// Whether a block waits to be retired.
    #[inline]
    pub(crate) fn is_failing(&self) -> bool {
        self.banks.iter().any(|bank| !bank.failing.is_empty())
    }

    /// The block that has waited longest to be retired; it is on the list no more.
    pub(crate) fn take_failing(&mut self) -> Option<BlockId> {
        self.banks.iter_mut().find_map(|bank| bank.failing.pop_front())
    }

    /// Whether nothing of `block` may be moved for room: it waits to be retired.
    pub(crate) fn add_events(&self, events: Events) -> Events {
        Events { retired_blocks: events.retired_blocks + self.retired, ..events }
    }

    /// Every block in use is open from now on; what is valid in it is counted next.
    pub(crate) fn found(&mut self, scans: &[Option<BlockScan>]) {
        for (block, _) in (0..).map(BlockId).zip(scans).filter(|(_, scan)| scan.is_some()) {
            self.counts.open(block);
        }
    }

    /// Sorts the blocks that a mount found into free and bad ones and those in use, which are open.
    pub(crate) fn adopt(&mut self, scans: &[Option<BlockScan>]) {
        let in_use = scans.iter().flatten().any(|scan| scan.used > 0);
        for bank in &mut self.banks {
            let mut untouched = 0;
            for block in bank.blocks.clone().map(BlockId) {
                match &scans[block.index()] {
                    None => {
                        self.counts.set_bad(block);
                        bank.bad += 1;
                    }
                    Some(scan) if self.counts.valid(block) == 0 => {
                        self.counts.set_free(block);
                        let free = FreeBlock { block, unerased: in_use.then(|| scan.erase_cause(Cause::Gc)) };
                        // Blocks that look erased are taken first: were the only block with anything in it erased and
                        // the erase cut, the device would look blank and its weak block sound.
                        if scan.used == 0 {
                            bank.free.insert(untouched, free);
                            untouched += 1;
                        } else {
                            bank.free.push_back(free);
                        }
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// What each block holds now; so many units of `unit` are a page.
    pub(crate) fn states(&self, unit: u32) -> Vec<BlockState> {
        let state = |block| BlockState {
            valid: self.counts.valid(block).div_ceil(unit),
            is_free: self.counts.usage(block) == BlockUse::Free,
        };
        (0..self.geometry.blocks()).map(|block| state(BlockId(block))).collect()
    }

    /// Every block is in exactly one place, and its use says so; `open` are those that are being filled.
    pub(crate) fn check(&self, open: &[BlockId]) {
        for bank in &self.banks {
            let mut places = vec![0; bank.blocks.len()];
            let mut place = |block: BlockId, usage: BlockUse| {
                assert_eq!(self.counts.usage(block), usage, "use of block {block}");
                places[(block.0 - bank.blocks.start) as usize] += 1;
            };
            open.iter().filter(|block| bank.blocks.contains(&block.0)).for_each(|&block| place(block, BlockUse::Open));
            bank.failing.iter().for_each(|&block| place(block, BlockUse::Open));
            bank.free.iter().for_each(|free| place(free.block, BlockUse::Free));
            let bad = bank.blocks.clone().filter(|&b| self.counts.usage(BlockId(b)) == BlockUse::Bad).count();
            assert_eq!(bad, bank.bad as usize, "bad blocks of a bank");
            for (block, places) in bank.blocks.clone().map(BlockId).zip(places) {
                let usage = self.counts.usage(block);
                let expected = usize::from(!matches!(usage, BlockUse::Closed | BlockUse::Bad));
                assert_eq!(places, expected, "places where block {block} ({usage:?}) is listed");
            }
        }
    }
}

//! What the areas of a device share: its free blocks, the order of programs, and erases with what they wait for.
//!
//! An FTL that keeps several kinds of pages in blocks apart has an [`Area`](super::area::Area) for each. Every block is
//! in one area, in the pool, or bad.

use super::block_scan::BlockScan;
use super::store::free_blocks::{FreeBlock, FreeBlocks};
use crate::parts::erase::erase_behind;
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Nand, Ppa, Seq, Time};

/// Blocks that no area has.
#[derive(Debug)]
pub(crate) struct Pool {
    geometry: Geometry,
    free: FreeBlocks,
    seq: u64,
    /// By block: when the last program ends that made one of its pages invalid.
    superseded: Vec<Time>,
    /// No block is erased before: what is written by then says that pages of the host were trimmed.
    noted: Time,
    retired: u64,
}

impl Pool {
    /// No block is free yet; sequence numbers go on behind `highest`.
    pub(crate) fn new(geometry: &Geometry, highest: u64) -> Self {
        Self {
            geometry: *geometry,
            free: FreeBlocks::new(geometry),
            seq: highest + 1,
            superseded: vec![0; geometry.blocks() as usize],
            noted: 0,
            retired: 0,
        }
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The sequence number of the next program.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    #[inline]
    pub(crate) fn next_seq(&mut self) -> Seq {
        let seq = self.seq;
        self.seq += 1;
        Seq(seq)
    }

    /// A sequence number that leaves [`Self::AHEAD`] lower ones to be given out before [`Self::pass`] goes on behind
    /// it: for a page that is programmed before the map pages are written that do not know of it yet.
    #[inline]
    pub(crate) fn seq_ahead(&self) -> Seq {
        Seq(self.seq + Self::AHEAD)
    }

    /// Map pages that may be written until the entries of one page of data are changed.
    const AHEAD: u64 = 1 << 16;

    /// Sequence numbers go on behind `seq`.
    ///
    /// # Panics
    /// Where they are there already.
    #[inline]
    pub(crate) fn pass(&mut self, seq: Seq) {
        assert!(self.seq <= seq.0, "sequence number {} is given out twice", seq.0);
        self.seq = seq.0 + 1;
    }

    /// Blocks that are free.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.free.count()
    }

    /// Free blocks of a die.
    pub(crate) fn count_in(&self, die: u32) -> u32 {
        self.free.count_in(die)
    }

    /// Blocks of the device that are not bad.
    pub(crate) fn good(&self) -> u32 {
        self.free.good()
    }

    /// Blocks of a die that are not bad.
    pub(crate) fn good_in(&self, die: u32) -> u32 {
        self.free.good_in(die)
    }

    pub(crate) fn is_bad(&self, block: BlockId) -> bool {
        self.free.is_bad(block)
    }

    /// Takes what a mount has found: bad blocks, and those that no area uses.
    pub(crate) fn adopt(&mut self, scans: &[Option<BlockScan>], is_used: impl Fn(BlockId) -> bool) {
        let blank = scans.iter().flatten().all(|scan| scan.used == 0);
        // Blocks that look erased are taken first: were the only block with anything in it erased and the erase cut,
        // the device would look blank and its weak block sound.
        for programmed in [false, true] {
            for (block, scan) in (0..).map(BlockId).zip(scans) {
                match scan {
                    None if !programmed => self.free.set_bad(block),
                    Some(scan) if (scan.used > 0) == programmed && !is_used(block) => {
                        self.free.add(block, (!blank).then(|| scan.erase_cause(Cause::Mount)));
                    }
                    _ => {}
                }
            }
        }
    }

    /// The free blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.free.iter().map(|free| free.block)
    }

    /// Blocks retired since the mount.
    pub(crate) fn retired(&self) -> u64 {
        self.retired
    }

    /// A page is invalid as soon as what ends at `end` is on flash.
    #[inline]
    pub(crate) fn supersede(&mut self, page: Ppa, end: Time) {
        if end > 0 {
            let superseded = &mut self.superseded[self.geometry.block_of(page).index()];
            *superseded = end.max(*superseded);
        }
    }

    /// What says that pages were trimmed ends at `end`; no older copy of them may come back before.
    pub(crate) fn noted(&mut self, end: Time) {
        self.noted = self.noted.max(end);
    }

    /// When the last note of trims is on flash.
    pub(crate) fn noted_by(&self) -> Time {
        self.noted
    }

    /// Adds a block that holds nothing; `unerased` has the cause to which its erase is due, where it is not known to be
    /// erased.
    pub(crate) fn add(&mut self, block: BlockId, unerased: Option<Cause>) {
        self.free.add(block, unerased);
    }

    /// Takes an erased block, of `die` if it has one. `None`: there is none, and what could not be erased was retired.
    pub(crate) fn take<N: Nand>(&mut self, nand: &mut N, die: u32) -> Result<Option<BlockId>, FtlError> {
        let near = BlockId(self.geometry.blocks_of_die(die).start);
        self.take_erased(nand, |free| free.take(near))
    }

    /// Takes an erased block of `die`; `None` where there is none, and what could not be erased was retired.
    pub(crate) fn take_in<N: Nand>(&mut self, nand: &mut N, die: u32) -> Result<Option<BlockId>, FtlError> {
        self.take_erased(nand, |free| free.take_in(die))
    }

    fn take_erased<N: Nand>(
        &mut self,
        nand: &mut N,
        mut next: impl FnMut(&mut FreeBlocks) -> Option<FreeBlock>,
    ) -> Result<Option<BlockId>, FtlError> {
        while let Some(FreeBlock { block, unerased }) = next(&mut self.free) {
            let Some(cause) = unerased else { return Ok(Some(block)) };
            if scoped(nand, cause, |nand| self.erase(nand, block))? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Erases a block without valid pages, behind what took the place of its pages; false where the erase failed and
    /// the block was retired.
    pub(crate) fn erase<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<bool, FtlError> {
        if !erase_behind(nand, block, self.superseded[block.index()].max(self.noted))? {
            return self.retire(nand, block).map(|()| false);
        }
        self.superseded[block.index()] = 0;
        Ok(true)
    }

    /// Takes a block without valid pages out of use.
    pub(crate) fn retire<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        scoped(nand, Cause::BadBlock, |nand| {
            let before = nand.ctx().fence_at(self.superseded[block.index()].max(self.noted));
            let retired = nand.retire(block);
            nand.ctx().set_ready(before);
            retired
        })?;
        self.free.set_bad(block);
        self.retired += 1;
        Ok(())
    }

    /// At least `missing` blocks more are needed.
    pub(crate) fn worn_out(&self, missing: u32) -> FtlError {
        FtlError::WornOut { good: self.good(), needed: self.good() + missing, weak_dies: 0 }
    }
}

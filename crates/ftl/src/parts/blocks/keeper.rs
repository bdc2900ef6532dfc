//! The keeper of blocks: free and bad blocks, program order, and each step between two uses of a block.
//!
//! A block is free, bad, or used by its FTL. The FTL takes a free block and fills it; once nothing in it counts, the
//! FTL gives it back erased or has it retired.
//!
//! ## When a block may be erased
//! An erase destroys old copies. A mount after a power cut must then find their replacements:
//!
//! * A newer copy. [`Keeper::supersede`] keeps the end of its program, by block. An erase waits for the last one. It
//!   does not wait for other programs, or erases on several dies would never overlap.
//! * A trim note. A trimmed page has no newer copy, and an older one elsewhere may come back as soon as the newest is
//!   gone. So the FTL writes the note first and tells [`Keeper::noted`], and every erase waits for the last note. A new
//!   note replaces an older one, which hid pages written since: their programs count as part of it.
//!
//! A retired block reads as nothing, like an erased one, and waits for the same.
//!
//! ## After a mount
//! A mount finds blocks without valid pages. Their erase is put off until they are taken; a block that looks erased is
//! erased again too, since its last erase or its first program may have been cut. No block needs the erase on a device
//! that knows to be blank. Blocks that look erased are taken first.

use super::counts::BlockUse;
use super::scan::Scans;
pub(crate) use super::shelf::FreeBlock;
use super::shelf::Shelf;
use crate::{BlockState, FtlError};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Nand, NandError, Ppa, Seq, Time};

/// The keeper of a device's blocks.
#[derive(Debug)]
pub(crate) struct Keeper {
    geometry: Geometry,
    /// A shelf for each die, then one for each die's blocks kept apart.
    shelves: Vec<Shelf>,
    /// By block: whether it is kept apart; empty if none is.
    apart: Vec<bool>,
    /// Free blocks on the shelves of dies.
    count: u32,
    /// The die that gave a block last.
    turn: u32,
    /// By block: whether it is bad.
    bad: Vec<bool>,
    bad_blocks: u32,
    seq: u64,
    /// By block: when the last program that superseded one of its pages ends.
    superseded: Vec<Time>,
    /// When the last trim note ends.
    noted: Time,
    retired: u64,
}

impl Keeper {
    /// All blocks are good and none is free yet; sequence numbers go on behind `highest`.
    pub(crate) fn new(geometry: &Geometry, highest: u64) -> Self {
        Self::with_apart(geometry, highest, Vec::new())
    }

    /// The same for an FTL that uses some blocks for one purpose alone, or not at all: `apart` names them, by block.
    pub(crate) fn with_apart(geometry: &Geometry, highest: u64, apart: Vec<bool>) -> Self {
        let mut keeper = Self {
            geometry: *geometry,
            shelves: vec![Shelf::default(); 2 * geometry.dies() as usize],
            apart,
            count: 0,
            turn: geometry.dies() - 1,
            bad: vec![false; geometry.blocks() as usize],
            bad_blocks: 0,
            seq: highest + 1,
            superseded: vec![0; geometry.blocks() as usize],
            noted: 0,
            retired: 0,
        };
        for die in 0..geometry.dies() {
            let blocks = geometry.blocks_of_die(die);
            let apart = if keeper.apart.is_empty() {
                0
            } else {
                blocks.clone().filter(|&block| keeper.is_apart(BlockId(block))).count() as u32
            };
            keeper.shelves[die as usize].good = blocks.len() as u32 - apart;
            keeper.shelves[(geometry.dies() + die) as usize].good = apart;
        }
        keeper
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The sequence number of the next program.
    #[inline]
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    #[inline]
    pub(crate) fn next_seq(&mut self) -> Seq {
        self.take_seqs(1)
    }

    /// The first of `count` consecutive sequence numbers.
    #[inline]
    pub(crate) fn take_seqs(&mut self, count: u32) -> Seq {
        let seq = Seq(self.seq);
        self.seq += u64::from(count);
        seq
    }

    /// A sequence number that leaves [`Self::AHEAD`] lower ones to be given out before [`Self::pass`] goes on behind
    /// it. A page takes it if it is programmed before map pages that do not know it yet.
    #[inline]
    pub(crate) fn seq_ahead(&self) -> Seq {
        Seq(self.seq + Self::AHEAD)
    }

    /// Map pages that may be written until one data page's entries are changed.
    const AHEAD: u64 = 1 << 16;

    /// Sequence numbers go on behind `seq`.
    ///
    /// # Panics
    /// If they are there already.
    #[inline]
    pub(crate) fn pass(&mut self, seq: Seq) {
        assert!(self.seq <= seq.0, "sequence number {} is given out twice", seq.0);
        self.seq = seq.0 + 1;
    }

    fn shelf_of(&self, block: BlockId) -> usize {
        let apart = if self.is_apart(block) { self.geometry.dies() } else { 0 };
        (self.geometry.die_of(block) + apart) as usize
    }

    fn shelf_apart(&self, die: u32) -> &Shelf {
        &self.shelves[(self.geometry.dies() + die) as usize]
    }

    /// Whether a block is kept apart.
    #[inline]
    pub(crate) fn is_apart(&self, block: BlockId) -> bool {
        !self.apart.is_empty() && self.apart[block.index()]
    }

    /// Free blocks, except those apart.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// A die's free blocks, except those apart.
    #[inline]
    pub(crate) fn count_in(&self, die: u32) -> u32 {
        self.shelves[die as usize].len() as u32
    }

    /// Free blocks, those apart too.
    pub(crate) fn count_all(&self) -> u64 {
        self.shelves.iter().map(|shelf| shelf.len() as u64).sum()
    }

    /// Whether a die has a free block apart.
    pub(crate) fn has_free_apart(&self, die: u32) -> bool {
        self.shelf_apart(die).len() > 0
    }

    /// Good blocks, except those apart.
    pub(crate) fn good(&self) -> u32 {
        self.shelves[..self.geometry.dies() as usize].iter().map(|shelf| shelf.good).sum()
    }

    /// A die's good blocks, except those apart.
    pub(crate) fn good_in(&self, die: u32) -> u32 {
        self.shelves[die as usize].good
    }

    /// A die's good blocks apart.
    pub(crate) fn good_apart(&self, die: u32) -> u32 {
        self.shelf_apart(die).good
    }

    /// Good blocks that are not free, except those apart.
    pub(crate) fn in_use(&self) -> u32 {
        self.good() - self.count
    }

    #[inline]
    pub(crate) fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.index()]
    }

    /// Bad blocks on the device.
    pub(crate) fn bad(&self) -> u32 {
        self.bad_blocks
    }

    /// The free blocks, die by die, then those apart.
    pub(crate) fn free(&self) -> impl Iterator<Item = FreeBlock> + '_ {
        self.shelves.iter().flat_map(|shelf| (0..shelf.len()).filter_map(|place| shelf.at(place)))
    }

    /// A die's free blocks, except those apart, the one that has been free longest in front.
    pub(crate) fn free_in(&self, die: u32) -> impl ExactSizeIterator<Item = BlockId> + '_ {
        let shelf = &self.shelves[die as usize];
        (0..shelf.len()).map(|place| shelf.at(place).expect("a place on the shelf").block)
    }

    /// Blocks retired since the mount.
    pub(crate) fn retired(&self) -> u64 {
        self.retired
    }

    /// Supersedes a page: it counts no more once the operation that ends at `end` is on flash.
    #[inline]
    pub(crate) fn supersede(&mut self, page: Ppa, end: Time) {
        self.supersede_in(self.geometry.block_of(page), end);
    }

    /// The same for a page in `block`.
    #[inline]
    pub(crate) fn supersede_in(&mut self, block: BlockId, end: Time) {
        if end > 0 {
            let superseded = &mut self.superseded[block.index()];
            *superseded = end.max(*superseded);
        }
    }

    /// Records a trim note that ends at `end`; its pages' older copies are not erased before.
    pub(crate) fn noted(&mut self, end: Time) {
        self.noted = self.noted.max(end);
    }

    /// When the last trim note ends.
    pub(crate) fn noted_by(&self) -> Time {
        self.noted
    }

    /// Adopts the bad and the unused blocks found by a mount. `stale` is the cause charged for erasing blocks with
    /// pages that count no more.
    pub(crate) fn adopt(&mut self, scans: &Scans, stale: Cause, is_used: impl Fn(BlockId) -> bool) {
        if scans.are_untouched() && self.apart.is_empty() {
            return self.adopt_untouched();
        }
        let is_blank = scans.are_blank();
        for programmed in [false, true] {
            for (block, scan) in (0..).map(BlockId).zip(scans) {
                match scan {
                    None if !programmed => self.set_bad(block),
                    Some(scan) if (scan.used > 0) == programmed && !is_used(block) => {
                        self.add(block, (!is_blank).then(|| scan.erase_cause(stale)));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Adopts a device on which nothing was ever programmed: every block is erased.
    fn adopt_untouched(&mut self) {
        for die in 0..self.geometry.dies() {
            self.shelves[die as usize].put_untouched(self.geometry.blocks_of_die(die));
        }
        self.count = self.geometry.blocks();
    }

    /// Adds an empty block; `unerased` is the cause charged for its erase, unless it is known to be erased.
    pub(crate) fn add(&mut self, block: BlockId, unerased: Option<Cause>) {
        let shelf = self.shelf_of(block);
        self.shelves[shelf].add(FreeBlock { block, unerased });
        self.count += u32::from(!self.is_apart(block));
    }

    /// Removes a die's free block at `place`, counted from the one free longest.
    pub(crate) fn remove(&mut self, die: u32, place: usize) -> Option<FreeBlock> {
        let free = self.shelves[die as usize].remove(place)?;
        self.count -= 1;
        Some(free)
    }

    /// Removes the block apart that is free longest on a die.
    pub(crate) fn remove_apart(&mut self, die: u32) -> Option<FreeBlock> {
        let shelf = self.geometry.dies() + die;
        self.shelves[shelf as usize].remove(0)
    }

    /// Removes a free block: from the die `near` if it has one, else from the dies in turn.
    fn remove_near(&mut self, near: Option<u32>) -> Option<FreeBlock> {
        if let Some(free) = near.and_then(|die| self.remove(die, 0)) {
            return Some(free);
        }
        for _ in 0..self.geometry.dies() {
            self.turn = (self.turn + 1) % self.geometry.dies();
            if let Some(free) = self.remove(self.turn, 0) {
                return Some(free);
            }
        }
        None
    }

    /// Removes all blocks not known to be erased.
    pub(crate) fn remove_unerased(&mut self) -> Vec<(BlockId, Cause)> {
        let mut unerased = Vec::new();
        for shelf in &mut self.shelves[..self.geometry.dies() as usize] {
            unerased.extend(shelf.remove_unerased());
        }
        self.count -= unerased.len() as u32;
        unerased
    }

    /// Takes an erased block on a die; `None` if there is none. Blocks with a failed erase are retired.
    pub(crate) fn take_in<N: Nand>(&mut self, nand: &mut N, die: u32) -> Result<Option<BlockId>, FtlError> {
        self.take_erased(nand, |keeper| keeper.remove(die, 0))
    }

    /// The same from any die, from `near` if possible.
    pub(crate) fn take<N: Nand>(&mut self, nand: &mut N, near: Option<u32>) -> Result<Option<BlockId>, FtlError> {
        self.take_erased(nand, |keeper| keeper.remove_near(near))
    }

    fn take_erased<N: Nand>(
        &mut self,
        nand: &mut N,
        mut remove: impl FnMut(&mut Self) -> Option<FreeBlock>,
    ) -> Result<Option<BlockId>, FtlError> {
        while let Some(free) = remove(self) {
            if self.erase_due(nand, free)? {
                return Ok(Some(free.block));
            }
        }
        Ok(None)
    }

    /// Erases a free block after it was taken, if the erase was put off; false if it failed and the block was retired.
    fn erase_due<N: Nand>(&mut self, nand: &mut N, free: FreeBlock) -> Result<bool, FtlError> {
        match free.unerased {
            Some(cause) => scoped(nand, cause, |nand| self.erase(nand, free.block)),
            None => Ok(true),
        }
    }

    /// Erases a block in which nothing counts; false if the erase failed and the block was retired.
    pub(crate) fn erase<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<bool, FtlError> {
        let before = nand.ctx().fence_at(self.replaced(block));
        let erased = nand.erase(block);
        nand.ctx().set_ready(before);
        match erased {
            Ok(_) => {}
            Err(NandError::EraseFailed(_)) => return self.retire(nand, block).map(|()| false),
            Err(error) => return Err(error.into()),
        }
        self.superseded[block.index()] = 0;
        Ok(true)
    }

    /// Erases a block in which nothing counts; it is free, or retired if the erase failed.
    pub(crate) fn release<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        if self.erase(nand, block)? {
            self.add(block, None);
        }
        Ok(())
    }

    /// Takes a block in which nothing counts out of use.
    pub(crate) fn retire<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        scoped(nand, Cause::BadBlock, |nand| {
            let before = nand.ctx().fence_at(self.replaced(block));
            let retired = nand.retire(block);
            nand.ctx().set_ready(before);
            retired
        })?;
        self.set_bad(block);
        self.retired += 1;
        Ok(())
    }

    /// When all replacements for a block's contents are on flash.
    pub(crate) fn replaced(&self, block: BlockId) -> Time {
        self.superseded[block.index()].max(self.noted)
    }

    fn set_bad(&mut self, block: BlockId) {
        let shelf = self.shelf_of(block);
        if !std::mem::replace(&mut self.bad[block.index()], true) {
            self.shelves[shelf].good -= 1;
            self.bad_blocks += 1;
        }
    }

    /// Each block's state; `valid` returns the valid pages in a used block.
    pub(crate) fn states(&self, valid: impl Fn(BlockId) -> u32) -> Vec<BlockState> {
        let blocks = (0..self.geometry.blocks()).map(BlockId);
        let mut states: Vec<_> = blocks.map(|block| BlockState { valid: valid(block), is_free: false }).collect();
        self.free().for_each(|free| states[free.block.index()] = BlockState { valid: 0, is_free: true });
        states
    }

    /// Asserts that each block is in one place and that its use matches; `others` are the FTL's places, with the use of
    /// a block there. Closed blocks are in none.
    ///
    /// # Panics
    /// With the block.
    pub(crate) fn check(&self, others: impl Iterator<Item = (BlockId, BlockUse)>, usage: impl Fn(BlockId) -> BlockUse) {
        let mut places = vec![0; self.bad.len()];
        let free = self.free().map(|free| (free.block, BlockUse::Free));
        for (block, expected) in others.chain(free) {
            assert_eq!(usage(block), expected, "use of block {block}");
            places[block.index()] += 1;
        }
        for block in (0..self.geometry.blocks()).map(BlockId).filter(|&block| !self.is_bad(block)) {
            let expected = usize::from(usage(block) != BlockUse::Closed);
            assert_eq!(places[block.index()], expected, "places of block {block} ({:?})", usage(block));
        }
        let free = self.shelves[..self.geometry.dies() as usize].iter().map(|shelf| shelf.len() as u32);
        assert_eq!(free.sum::<u32>(), self.count, "free blocks");
    }

    /// At least `missing` blocks more are needed.
    pub(crate) fn worn_out(&self, missing: u32) -> FtlError {
        FtlError::WornOut { good: self.good(), needed: self.good() + missing, weak_dies: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dies_take_turns_but_for_a_block_with_a_die_of_its_own() {
        let mut keeper = Keeper::new(&Geometry::two_dies(3, 2, 512).unwrap(), 0);
        (0..6).for_each(|block| keeper.add(BlockId(block), None));
        let mut take = |near| keeper.remove_near(near).map(|free| free.block.0);
        assert_eq!([take(None), take(None)], [Some(0), Some(3)]);
        assert_eq!([take(Some(1)), take(Some(1))], [Some(4), Some(5)]);
        assert_eq!(take(Some(1)), Some(1), "another die helps out");
        assert_eq!([take(None), take(None)], [Some(2), None]);
        keeper.add(BlockId(1), Some(Cause::Migration));
        keeper.add(BlockId(4), None);
        keeper.add(BlockId(3), Some(Cause::Trim));
        let unerased = vec![(BlockId(1), Cause::Migration), (BlockId(3), Cause::Trim)];
        assert_eq!((keeper.remove_unerased(), keeper.count()), (unerased, 1));
        assert_eq!(keeper.remove_near(None).map(|free| free.block.0), Some(4));
        keeper.set_bad(BlockId(5));
        keeper.set_bad(BlockId(5));
        assert_eq!((keeper.good(), keeper.in_use(), keeper.count(), keeper.bad()), (5, 5, 0, 1));
    }

    #[test]
    fn blocks_apart_have_a_shelf_of_their_own() {
        let apart = vec![true, false, false, false, true, false];
        let mut keeper = Keeper::with_apart(&Geometry::two_dies(3, 2, 512).unwrap(), 0, apart);
        (0..6).for_each(|block| keeper.add(BlockId(block), None));
        assert_eq!((keeper.count(), keeper.good(), keeper.good_in(0), keeper.good_apart(1)), (4, 4, 2, 1));
        assert!(keeper.free_in(1).eq([BlockId(3), BlockId(5)]));
        assert_eq!(keeper.remove_apart(1).map(|free| free.block), Some(BlockId(4)));
        assert!(!keeper.has_free_apart(1) && keeper.has_free_apart(0));
        keeper.set_bad(BlockId(0));
        assert_eq!((keeper.good_apart(0), keeper.good(), keeper.count()), (0, 4, 4));
    }
}

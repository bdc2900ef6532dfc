//! Merges of the block map: opening, gathering, erasing and retiring blocks.

use super::{BlockMap, Entry};
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Done, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa};
use std::ops::Range;

/// How a replacement block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Merge {
    /// It holds every valid page and becomes the data block.
    Switch,
    /// It takes the valid pages of the data block and becomes the data block.
    Partial,
    /// Both are gathered into a new block.
    Full,
}

/// Whether a program verified.
#[inline]
fn verified(programmed: Result<Done, NandError>) -> Result<bool, FtlError> {
    match programmed {
        Ok(_) => Ok(true),
        Err(NandError::ProgramFailed(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl BlockMap {
    /// Opens an erased block for the host, merging others until there are enough.
    pub(super) fn open<N: Nand>(
        &mut self,
        nand: &mut N,
        near: BlockId,
        as_replacement: bool,
    ) -> Result<BlockId, FtlError> {
        self.refuse_worn_out()?;
        loop {
            let over = as_replacement && self.replaced.len() as u64 >= self.config.replacement_blocks.into();
            if !over && self.free.count() > self.kept_free() {
                return self.take(nand, near);
            }
            if self.replaced.is_empty() {
                return Err(self.no_block_left());
            }
            self.reclaim(nand)?;
        }
    }

    /// Takes a free block, erased.
    pub(super) fn take<N: Nand>(&mut self, nand: &mut N, near: BlockId) -> Result<BlockId, FtlError> {
        while let Some(free) = self.free.take(near) {
            if free.erased || scoped(nand, Cause::Gc, |nand| self.erase(nand, free.block))? {
                return Ok(free.block);
            }
        }
        Err(self.no_block_left())
    }

    fn no_block_left(&self) -> FtlError {
        let good = self.free.good();
        FtlError::WornOut { good, needed: self.needed_blocks().max(good + 1) }
    }

    /// Erases a block; false where the erase failed and the block was retired.
    fn erase<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<bool, FtlError> {
        // What replaced the pages of this block must be on flash before they go.
        let before = nand.ctx().fence();
        let erased = nand.erase(block);
        nand.ctx().set_ready(before);
        match erased {
            Ok(_) => {
                self.fill.erased(block);
                Ok(true)
            }
            Err(NandError::EraseFailed(_)) => self.retire(nand, block).map(|()| false),
            Err(error) => Err(error.into()),
        }
    }

    /// Erases a block that holds nothing any more and makes it free.
    pub(super) fn release<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        if self.erase(nand, block)? {
            self.free.add(block, true);
        }
        Ok(())
    }

    pub(super) fn retire<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        scoped(nand, Cause::BadBlock, |nand| {
            let before = nand.ctx().fence();
            let retired = nand.retire(block);
            nand.ctx().set_ready(before);
            retired
        })?;
        self.free.set_bad(block);
        self.events.retired_blocks += 1;
        Ok(())
    }

    /// Merges the logical block that costs the fewest copies.
    pub(super) fn reclaim<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        let cost = |&logical_block: &u32| (self.copies(logical_block as usize), logical_block);
        let victim = self.replaced.iter().copied().min_by_key(cost).expect("the caller saw a replacement block");
        self.events.gc_runs += 1;
        self.merge(nand, victim as usize, None).map(drop)
    }

    /// How the replacement block of `logical_block` would end now.
    fn kind_of_merge(&self, logical_block: usize) -> Merge {
        let Entry { data, replacement } = self.map[logical_block];
        if self.valid.is_empty(data) {
            Merge::Switch
        } else if self.fill.takes_all(replacement, &self.valid, data) {
            Merge::Partial
        } else {
            Merge::Full
        }
    }

    /// Pages that a merge of `logical_block` would copy now.
    fn copies(&self, logical_block: usize) -> u32 {
        let Entry { data, replacement } = self.map[logical_block];
        match self.kind_of_merge(logical_block) {
            Merge::Switch => 0,
            Merge::Partial => self.valid.count(data),
            Merge::Full => self.valid.count(data) + self.valid.count(replacement),
        }
    }

    /// Ends the replacement block of `logical_block`; true where the `pending` page was written on the way.
    pub(super) fn merge<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_block: usize,
        pending: Option<(u32, &N::Buf)>,
    ) -> Result<bool, FtlError> {
        match self.kind_of_merge(logical_block) {
            Merge::Switch => {
                self.events.switch_merges += 1;
                scoped(nand, Cause::SwitchMerge, |nand| self.promote(nand, logical_block))?;
                Ok(false)
            }
            Merge::Partial => self.complete(nand, logical_block).map(|()| false),
            Merge::Full => self.gather(nand, logical_block, pending).map(|()| pending.is_some()),
        }
    }

    /// Copies the valid pages of the data block to the replacement block, which becomes the data block.
    fn complete<N: Nand>(&mut self, nand: &mut N, logical_block: usize) -> Result<(), FtlError> {
        let Entry { data, replacement } = self.map[logical_block];
        let first = if self.dense { self.fill.high_water(replacement) } else { 0 };
        let end = self.valid.last(data).map_or(first, |last| last + 1);
        scoped(nand, Cause::PartialMerge, |nand| {
            if !self.advance(nand, logical_block, first..end)? {
                return scoped(nand, Cause::BadBlock, |nand| self.renew(nand, logical_block, None, replacement));
            }
            self.events.partial_merges += 1;
            self.promote(nand, logical_block)
        })
    }

    /// Makes the replacement block the data block; the old one, without valid pages, is erased.
    fn promote<N: Nand>(&mut self, nand: &mut N, logical_block: usize) -> Result<(), FtlError> {
        let Entry { data, replacement } = self.map[logical_block];
        self.map[logical_block] = Entry { data: replacement, replacement: BlockId::NONE };
        self.replaced.retain(|&other| other as usize != logical_block);
        self.release(nand, data)
    }

    /// Fills the gap below `place` in the newest block of a chip without gaps; false where the block failed.
    pub(super) fn fill_gap<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_block: usize,
        place: u32,
    ) -> Result<bool, FtlError> {
        let first = self.fill.high_water(self.map[logical_block].newest());
        if first == place {
            return Ok(true);
        }
        scoped(nand, Cause::PartialMerge, |nand| self.advance(nand, logical_block, first..place))
    }

    /// Copies the valid pages of the data block at `places` to the replacement block, with padding pages between
    /// them on a chip without gaps; false where the block failed.
    fn advance<N: Nand>(&mut self, nand: &mut N, logical_block: usize, places: Range<u32>) -> Result<bool, FtlError> {
        let entry = self.map[logical_block];
        let to = entry.newest();
        for place in places {
            let at = self.logical_page(logical_block, place);
            if entry.replacement.is_some() && self.valid.has(entry.data, place) {
                let from = self.geometry.page(entry.data, place);
                if !self.copy_page(nand, at, from, to, place)? {
                    return Ok(false);
                }
                self.valid.remove(entry.data, place);
                self.valid.insert(to, place);
            } else if self.dense && !self.pad(nand, at, to, place)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Copies a valid page to `place` of block `to`; false where the program failed.
    #[inline]
    fn copy_page<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        from: Ppa,
        to: BlockId,
        place: u32,
    ) -> Result<bool, FtlError> {
        let aux = self.fill.program(to, place);
        let target = self.geometry.page(to, place);
        match nand.copy(from, target, Oob::renewed(aux, self.next_seq())) {
            Ok(_) => return Ok(true),
            Err(NandError::ProgramFailed(_)) => return Ok(false),
            Err(NandError::Uncorrectable(page)) if page == from => {}
            Err(error) => return Err(error.into()),
        }
        // A page of kind Lost takes the place of the contents, so that no mount brings back an older copy.
        self.events.lost_pages += 1;
        self.program_blank(nand, target, aux, at, Kind::Lost)
    }

    /// Programs a page that holds nothing, so that the one above it can be programmed; false where the program failed.
    #[cold]
    fn pad<N: Nand>(&mut self, nand: &mut N, at: Lpn, block: BlockId, place: u32) -> Result<bool, FtlError> {
        let aux = self.fill.program(block, place);
        self.program_blank(nand, self.geometry.page(block, place), aux, at, Kind::Deleted)
    }

    #[cold]
    fn program_blank<N: Nand>(
        &mut self,
        nand: &mut N,
        target: Ppa,
        aux: u16,
        at: Lpn,
        kind: Kind,
    ) -> Result<bool, FtlError> {
        let oob = Oob { lpn: at, aux, kind, origin: Origin::FTL, seq: self.next_seq() };
        verified(nand.program(target, &N::Buf::zeroed(self.geometry.page_bytes()), &[], oob))
    }

    /// Programs a page of the host at `place` of `block`; false where the program failed.
    #[inline]
    pub(super) fn program<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        block: BlockId,
        place: u32,
        page: &N::Buf,
    ) -> Result<bool, FtlError> {
        let aux = self.fill.program(block, place);
        let oob = Oob { aux, ..Oob::data(at, self.next_seq(), nand.ctx().origin()) };
        verified(nand.program(self.geometry.page(block, place), page, &[], oob))
    }

    /// Gathers a logical block, with the `pending` page, into a new block.
    pub(super) fn gather<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_block: usize,
        pending: Option<(u32, &N::Buf)>,
    ) -> Result<(), FtlError> {
        self.events.full_merges += 1;
        scoped(nand, Cause::FullMerge, |nand| self.renew(nand, logical_block, pending, BlockId::NONE))
    }

    /// Gathers a logical block, with the page that is being written, whose newest block has failed.
    #[cold]
    pub(super) fn leave_failed<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_block: usize,
        place: u32,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let failed = self.map[logical_block].newest();
        scoped(nand, Cause::BadBlock, |nand| self.renew(nand, logical_block, Some((place, page)), failed))
    }

    /// Moves a logical block to a new block; of the old ones `failed` is retired, the others are erased.
    fn renew<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_block: usize,
        pending: Option<(u32, &N::Buf)>,
        failed: BlockId,
    ) -> Result<(), FtlError> {
        let old = self.map[logical_block];
        let target = loop {
            let target = self.take(nand, old.data)?;
            let lost_pages = self.events.lost_pages;
            if self.copy_all(nand, logical_block, target, pending)? {
                break target;
            }
            // All that it holds is in the old blocks as well, and the pending page was not acknowledged.
            self.valid.clear(target);
            self.events.lost_pages = lost_pages;
            self.retire(nand, target)?;
        };
        self.map[logical_block] = Entry { data: target, replacement: BlockId::NONE };
        if old.replacement.is_some() {
            self.replaced.retain(|&other| other as usize != logical_block);
        }
        for block in old.blocks() {
            self.valid.clear(block);
            if block == failed {
                self.retire(nand, block)?;
            } else {
                self.release(nand, block)?;
            }
        }
        Ok(())
    }

    /// Copies the valid pages of a logical block to `target`, the `pending` page in its place; false where `target` failed.
    fn copy_all<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_block: usize,
        target: BlockId,
        pending: Option<(u32, &N::Buf)>,
    ) -> Result<bool, FtlError> {
        let last = self.map[logical_block].blocks().filter_map(|block| self.valid.last(block)).max();
        let last = last.max(pending.map(|(place, _)| place));
        let marks = self.leaves_out_trims(logical_block);
        for place in 0..last.map_or(0, |last| last + 1) {
            let at = self.logical_page(logical_block, place);
            let holder = self.holder(logical_block, place);
            if marks && Some(place) == last {
                self.fill.complete_with_next(target);
            }
            let programmed = if let Some((_, page)) = pending.filter(|&(here, _)| here == place) {
                scoped(nand, Cause::Host, |nand| self.program(nand, at, target, place, page))?
            } else if holder.is_some() {
                self.copy_page(nand, at, self.geometry.page(holder, place), target, place)?
            } else if !self.dense || self.pad(nand, at, target, place)? {
                continue;
            } else {
                false
            };
            if !programmed {
                return Ok(false);
            }
            self.valid.insert(target, place);
        }
        Ok(true)
    }

    /// Whether a full merge leaves copies in both old blocks that a mount would take for the newest: those of pages
    /// that were trimmed since the last flush. While the old blocks are erased the target alone then counts.
    fn leaves_out_trims(&self, logical_block: usize) -> bool {
        let Entry { data, replacement } = self.map[logical_block];
        let pages = self.geometry.pages_per_block();
        replacement.is_some()
            && self.valid.count(data) + self.valid.count(replacement) < pages
            && self
                .notes
                .may_be_undone(self.logical_page(logical_block, 0)..=self.logical_page(logical_block, pages - 1))
    }
}

//! Page copies between blocks: merges and completions.

use super::{verified, Store};
use crate::parts::blocks::scan::{gathered, COMPLETE};
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, Time};
use std::ops::Range;

/// Source for the missing pages when a block is completed.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// The newest copies, in any block.
    Newest,
    /// The copies in the data block, if `held` (by logical page) says there is one; newer copies elsewhere stay
    /// there.
    DataBlock { data: BlockId, held: &'a [bool] },
}

/// Contents for a place in a completed block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    Newest,
    Stale(Ppa),
    Nothing,
}

impl Store {
    /// Copies the pages at `places` from other blocks to their own places in `block`, which must have room;
    /// false if the block failed.
    pub(crate) fn complete<N: Nand>(
        &mut self,
        nand: &mut N,
        group: u32,
        block: BlockId,
        places: Range<u32>,
    ) -> Result<bool, FtlError> {
        self.complete_from(nand, Source::Newest, (group, block), places)
    }

    /// As [`Self::complete`], with copies from `source`.
    pub(crate) fn complete_from<N: Nand>(
        &mut self,
        nand: &mut N,
        source: Source<'_>,
        (group, block): (u32, BlockId),
        places: Range<u32>,
    ) -> Result<bool, FtlError> {
        let end = places.end.min(self.pages_of(group).len() as u32);
        let start = if self.dense { places.start.max(self.high_water(block)) } else { places.start };
        let last = (start..end).rev().find(|&place| self.copied(source, (group, block), place) != Copied::Nothing);
        let done = self.advance_from(nand, source, (group, block), start..last.map_or(start, |last| last + 1))?;
        if done {
            self.settle_later(nand);
            self.wait(nand);
        }
        Ok(done)
    }

    /// As [`Self::complete`], but on a chip without gaps up to the end of `places`, with padding for unmapped
    /// pages, and without a wait: this fills the gap below a host page.
    pub(crate) fn advance<N: Nand>(
        &mut self,
        nand: &mut N,
        group: u32,
        block: BlockId,
        places: Range<u32>,
    ) -> Result<bool, FtlError> {
        self.advance_from(nand, Source::Newest, (group, block), places)
    }

    fn advance_from<N: Nand>(
        &mut self,
        nand: &mut N,
        source: Source<'_>,
        (group, block): (u32, BlockId),
        places: Range<u32>,
    ) -> Result<bool, FtlError> {
        let first = self.pages_of(group).start;
        for place in places {
            let (at, to) = (Lpn(first + place), self.geometry.page(block, place));
            let copied = self.copied(source, (group, block), place);
            let done = match copied {
                Copied::Newest => self.copy(nand, at, to, 0)?,
                Copied::Stale(from) => self.copy_stale(nand, at, from, to)?,
                Copied::Nothing if self.dense => self.pad(nand, at, to)?,
                Copied::Nothing => continue,
            };
            if !done {
                self.fail(block);
                return Ok(false);
            }
            if copied == Copied::Newest {
                let end = nand.ctx().last();
                self.remap(at, to, end);
            }
        }
        Ok(true)
    }

    /// Contents for a page's place in `block`.
    #[inline]
    fn copied(&self, source: Source<'_>, (group, block): (u32, BlockId), place: u32) -> Copied {
        let at = self.pages_of(group).start + place;
        let from = self.lookup(Lpn(at));
        if !from.is_some() || self.geometry.block_of(from) == block {
            return Copied::Nothing;
        }
        match source {
            Source::DataBlock { data, .. } if self.geometry.block_of(from) == data => Copied::Newest,
            Source::DataBlock { data, held } if held[at as usize] && self.reaches(block, place) => {
                Copied::Stale(self.geometry.page(data, place))
            }
            Source::DataBlock { .. } => Copied::Nothing,
            Source::Newest => Copied::Newest,
        }
    }

    /// Copies an old copy of `at`, superseded by a newer one elsewhere. A mount sees it as padding.
    fn copy_stale<N: Nand>(&mut self, nand: &mut N, at: Lpn, from: Ppa, to: Ppa) -> Result<bool, FtlError> {
        let (block, place) = (self.geometry.block_of(to), self.geometry.page_in_block(to));
        self.fill.program(block, place);
        let oob = Oob { lpn: at, aux: 0, kind: Kind::Deleted, origin: Origin::FTL, handle: 0, seq: self.next_seq() };
        match nand.copy(from, to, oob) {
            Ok(_) => Ok(true),
            Err(NandError::ProgramFailed(_)) => Ok(false),
            // The lost data is not needed.
            Err(NandError::Uncorrectable(page)) if page == from => self.program_blank(nand, to, 0, at, Kind::Deleted),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether `block` has room, in place, for every page from `source`, and for the `pending` one.
    pub(crate) fn takes_rest(&self, source: Source<'_>, (group, block): (u32, BlockId), pending: Option<Lpn>) -> bool {
        let first = self.pages_of(group).start;
        (0..self.pages_of(group).len() as u32).all(|place| {
            let lacks =
                pending == Some(Lpn(first + place)) || self.copied(source, (group, block), place) != Copied::Nothing;
            !lacks || self.reaches(block, place)
        })
    }

    /// Whether `source` has a page missing in `block` at one of `places`.
    pub(crate) fn lacks(&self, source: Source<'_>, (group, block): (u32, BlockId), places: Range<u32>) -> bool {
        let end = places.end.min(self.pages_of(group).len() as u32);
        (places.start..end).any(|place| self.copied(source, (group, block), place) != Copied::Nothing)
    }

    /// Moves `at`'s newest copy to `place` in `block`; false if the program failed and the block is now
    /// failing.
    pub(crate) fn relocate<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        (block, place): (BlockId, u32),
    ) -> Result<bool, FtlError> {
        let to = self.geometry.page(block, place);
        if !self.copy(nand, at, to, 0)? {
            self.fail(block);
            return Ok(false);
        }
        let end = nand.ctx().last();
        self.remap(at, to, end);
        self.settle_later(nand);
        Ok(true)
    }

    /// Gathers a logical block in a new block, with the `pending` host pages starting at the named one. The old
    /// copies are then invalid; the caller handles their blocks.
    pub(crate) fn gather<N: Nand>(
        &mut self,
        nand: &mut N,
        group: u32,
        near: BlockId,
        pending: Option<(Lpn, &[N::Buf])>,
    ) -> Result<BlockId, FtlError> {
        let pages = self.pages_of(group);
        if self.pinned.iter().any(|(at, _)| pages.contains(&at.0)) {
            // Notes may need a block, and the merge takes the last free one.
            self.write_notes(nand)?;
        }
        loop {
            let target = self.take(nand, near)?;
            let lost_pages = self.events.lost_pages;
            if self.gather_into(nand, group, target, pending)? {
                self.settle_later(nand);
                self.wait(nand);
                return Ok(target);
            }
            // The old blocks still hold all its data, and the pending page was not acknowledged.
            self.events.lost_pages = lost_pages;
            self.keeper.retire(nand, target)?;
        }
    }

    /// Gathers a logical block in `target`; false if the block failed, and then nothing has changed.
    pub(super) fn gather_into<N: Nand>(
        &mut self,
        nand: &mut N,
        group: u32,
        target: BlockId,
        pending: Option<(Lpn, &[N::Buf])>,
    ) -> Result<bool, FtlError> {
        let pages = self.pages_of(group);
        let (pending_at, pending) = pending.map_or((u32::MAX, &[][..]), |(first, pages)| (first.0, pages));
        let pending_end = pending_at.saturating_add(pending.len() as u32);
        let is_pending = |at: u32| pending_at <= at && at < pending_end;
        let Some(last) = pages.clone().rev().find(|&at| is_pending(at) || self.lookup(Lpn(at)).is_some()) else {
            return Ok(true);
        };
        let first_page = self.geometry.page(target, 0).0;
        let mut at = pages.start;
        while at <= last {
            let to = Ppa(first_page + at - pages.start);
            let run = (at..last).take_while(|&at| !is_pending(at) && self.lookup(Lpn(at)).is_some()).count() as u32;
            if run > 0 {
                if !self.copy_run(nand, Lpn(at), run, to)? {
                    return Ok(false);
                }
                at += run;
                continue;
            }
            let flags = gathered(self.options.span) | if at == last { COMPLETE } else { 0 };
            let done = if is_pending(at) {
                let page = &pending[(at - pending_at) as usize];
                self.fill.program(target, at - pages.start);
                let oob = Oob { aux: flags, ..Oob::data(Lpn(at), self.next_seq(), nand.ctx().origin()) };
                verified(scoped(nand, Cause::Host, |nand| nand.program(to, page, &[], oob)))?
            } else if self.lookup(Lpn(at)).is_some() {
                self.copy(nand, Lpn(at), to, flags)?
            } else {
                // A chip with gaps skips the page.
                !self.dense || self.pad(nand, Lpn(at), to)?
            };
            if !done {
                return Ok(false);
            }
            at += 1;
        }
        let end = nand.ctx().last();
        self.remap_gathered(pages.start..last + 1, is_pending, Ppa(first_page), end);
        Ok(true)
    }

    /// Makes the pages from `first` on the newest copies for `pages`, if mapped or `pending`.
    #[inline]
    pub(super) fn remap_gathered(
        &mut self,
        pages: Range<u32>,
        is_pending: impl Fn(u32) -> bool,
        first: Ppa,
        end: Time,
    ) {
        let target = self.geometry.block_of(first);
        // The old copies lie in few blocks, in sequence, so one division per block change is enough.
        let (mut block, mut places) = (BlockId::NONE, 0..0);
        let mut at = pages.start;
        while at < pages.end {
            let (old, place) = (self.lookup(Lpn(at)), at - pages.start);
            if !old.is_some() {
                if is_pending(at) {
                    self.mapped = self.mapped.max(end);
                    self.map.set(at as usize, Ppa(first.0 + place));
                    self.valid.insert(target, place);
                }
                at += 1;
                continue;
            }
            if !places.contains(&old.0) {
                block = self.geometry.block_of(old);
                let start = self.geometry.page(block, 0).0;
                places = start..start + self.geometry.pages_per_block();
                self.keeper.supersede_in(block, end);
            }
            let most = (pages.end - at).min(places.end - old.0);
            let run = self.map.follow_run(at as usize..(at + most) as usize, old, Ppa(first.0 + place)) as u32;
            self.valid.remove_run(block, old.0 - places.start, run);
            self.valid.insert_run(target, place, run);
            at += run;
        }
    }

    /// Copies the newest copies of `count` pages from `first` on to `to` and the next pages, for a merge; false
    /// if a program failed.
    #[inline]
    pub(super) fn copy_run<N: Nand>(
        &mut self,
        nand: &mut N,
        first: Lpn,
        count: u32,
        to: Ppa,
    ) -> Result<bool, FtlError> {
        let (block, place) = (self.geometry.block_of(to), self.geometry.page_in_block(to));
        self.fill.program_run(block, place, count);
        let mark = gathered(self.options.span);
        self.copied.clear();
        self.copied.extend(self.map.range(first.index()..first.index() + count as usize));
        let result = nand.copy_run(&self.copied, to, mark, self.keeper.take_seqs(count));
        match result {
            Ok(()) => Ok(true),
            Err((_, NandError::ProgramFailed(_))) => Ok(false),
            Err((done, NandError::Uncorrectable(page))) if page == self.copied[done] => {
                let (lost, done) = (Lpn(first.0 + done as u32), done as u32);
                self.events.lost_pages += 1;
                if !self.program_blank(nand, Ppa(to.0 + done), mark, lost, Kind::Lost)? {
                    return Ok(false);
                }
                let left = count - done - 1;
                Ok(left == 0 || self.copy_run(nand, Lpn(lost.0 + 1), left, Ppa(to.0 + done + 1))?)
            }
            Err((_, error)) => Err(error.into()),
        }
    }

    /// Makes the next operations wait for all issued ones: the controller merges first and then continues.
    pub(crate) fn wait<N: Nand>(&mut self, nand: &mut N) {
        let end = nand.ctx().last();
        nand.ctx().after(end);
    }

    /// Copies `at`'s newest copy to `to` without changing the map; false if the program failed.
    #[inline]
    pub(super) fn copy<N: Nand>(&mut self, nand: &mut N, at: Lpn, to: Ppa, flags: u16) -> Result<bool, FtlError> {
        let from = self.lookup(at);
        let (block, place) = (self.geometry.block_of(to), self.geometry.page_in_block(to));
        self.fill.program(block, place);
        match nand.copy(from, to, Oob::renewed(flags, self.next_seq())) {
            Ok(_) => return Ok(true),
            Err(NandError::ProgramFailed(_)) => return Ok(false),
            Err(NandError::Uncorrectable(page)) if page == from => {}
            Err(error) => return Err(error.into()),
        }
        // A `Lost` page replaces the contents, so no mount brings back an older copy.
        self.events.lost_pages += 1;
        self.program_blank(nand, to, flags, at, Kind::Lost)
    }

    /// Programs an empty page, to allow the next program; false if it failed.
    #[cold]
    pub(super) fn pad<N: Nand>(&mut self, nand: &mut N, at: Lpn, to: Ppa) -> Result<bool, FtlError> {
        self.fill.program(self.geometry.block_of(to), self.geometry.page_in_block(to));
        self.program_blank(nand, to, 0, at, Kind::Deleted)
    }

    #[cold]
    pub(super) fn program_blank<N: Nand>(
        &mut self,
        nand: &mut N,
        to: Ppa,
        aux: u16,
        at: Lpn,
        kind: Kind,
    ) -> Result<bool, FtlError> {
        let oob = Oob { lpn: at, aux, kind, origin: Origin::FTL, handle: 0, seq: self.next_seq() };
        verified(nand.program(to, &N::Buf::zeroed(self.geometry.page_bytes()), &[], oob))
    }
}

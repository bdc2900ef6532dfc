//! Pages of the host in blocks, wherever they lie: what every FTL that maps blocks is built on.
//!
//! A scheme decides which block takes a page; here are the newest copy of each page, the free blocks, the
//! programs, copies and erases with their failures, the notes of trims, and recovery. A table of all newest
//! copies is what makes the simulation fast; firmware finds them through the smaller tables that each scheme
//! reports as its memory.
//!
//! A merge gathers the pages of a logical block in a new block. Every page of it carries [`GATHERED`], the last
//! one [`COMPLETE`] too: a mount drops a block of the first without the second, and of a complete one it knows that
//! every older copy of the logical block is superseded, trims that nobody noted included.

mod check;
pub(crate) mod fill;
pub(crate) mod free_blocks;
mod notes;
pub(crate) mod page_bits;
mod recover;

use crate::{error, Events, FtlError, RamUse};
use fill::Fill;
use free_blocks::FreeBlocks;
use nandlab_nand::prefetch::prefetch;
use nandlab_nand::{
    scoped, BlockId, Cause, Done, Geometry, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, ProgramOrder,
    SectorMask, Seq, Time,
};
use notes::Notes;
use page_bits::PageBits;
pub(crate) use recover::mount;
pub use recover::Found;
use std::collections::BTreeSet;
use std::ops::Range;

/// Set in `aux` of every page that a merge gathered.
const GATHERED: u16 = 2;
/// Set in `aux` of the last page of a merge.
const COMPLETE: u16 = 4;

/// When a block that holds nothing any more is erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EraseWhen {
    /// At once.
    #[default]
    OnFree,
    /// When it is taken again.
    OnAlloc,
}

/// What schemes have in common.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Pages of a logical block.
    pub(crate) span: u32,
    pub(crate) reserve_blocks: u32,
    /// Least number of blocks beside those that hold the logical blocks and the reserve.
    pub(crate) extra_blocks: u32,
    pub(crate) durable_trim: bool,
    pub(crate) erase_when: EraseWhen,
}

impl Options {
    /// Blocks that hold no logical block.
    fn spare_blocks(&self) -> u32 {
        self.reserve_blocks.saturating_add(self.extra_blocks)
    }

    /// Logical pages that can be exported on a device without bad blocks.
    ///
    /// # Errors
    /// [`FtlError::Config`] where the device is too small; `name` is that of the FTL.
    pub(crate) fn max_logical_pages(&self, geometry: &Geometry, name: &str) -> Result<u32, FtlError> {
        let (reserve, blocks) = (self.reserve_blocks, geometry.blocks());
        if reserve == 0 {
            return Err(FtlError::Config(format!(
                "ftl.{name}.reserve_blocks = 0 would deadlock: a merge needs at least 1 free block"
            )));
        }
        let spare = self.spare_blocks();
        let most = blocks.saturating_sub(spare) * self.span;
        let notes = if self.durable_trim { notes::most_blocks(geometry, most) } else { 0 };
        let needed = spare.saturating_add(notes).saturating_add(1);
        if blocks < needed {
            return Err(FtlError::Config(format!(
                "ftl.{name}.reserve_blocks = {reserve} would deadlock: this device has {}, and the \
                 reserve, one block of data, {} beside it and the notes of trims need {needed}",
                error::blocks(blocks),
                error::blocks(self.extra_blocks)
            )));
        }
        Ok(most - notes * self.span)
    }
}

/// The pages and blocks of an FTL that maps blocks.
#[derive(Debug)]
pub struct Store {
    geometry: Geometry,
    options: Options,
    /// The newest copy of each logical page.
    map: Vec<Ppa>,
    /// The newest copies by block, and those of trimmed pages until a note holds the trim.
    valid: PageBits,
    /// Trimmed pages that no note holds yet, and their last copies.
    pinned: Vec<(Lpn, Ppa)>,
    fill: Fill,
    free: FreeBlocks,
    notes: Notes,
    seq: u64,
    /// Whether a page is unmapped of which no note says so: blocks are erased at once from then on.
    forgets: bool,
    /// Blocks in use with a failed program.
    failing: BTreeSet<BlockId>,
    /// When the last merge or note ends, until a fence makes it durable: blocks that it emptied may wait for their
    /// erase, and must not be found beside a block that is opened after it.
    unsettled: Option<Time>,
    /// By block: when the last program ends that made one of its pages invalid.
    superseded: Vec<Time>,
    full: SectorMask,
    /// Whether the chip programs without gaps.
    dense: bool,
    pub(crate) events: Events,
}

impl Store {
    fn new(geometry: &Geometry, order: ProgramOrder, logical_pages: u32, options: Options) -> Self {
        Self {
            map: vec![Ppa::NONE; logical_pages as usize],
            valid: PageBits::new(geometry),
            pinned: Vec::new(),
            fill: Fill::new(geometry, order),
            free: FreeBlocks::new(geometry),
            notes: Notes::new(geometry, logical_pages, options.durable_trim),
            seq: 1,
            forgets: false,
            failing: BTreeSet::new(),
            unsettled: None,
            superseded: vec![0; geometry.blocks() as usize],
            full: geometry.full_mask(),
            dense: order == ProgramOrder::AscendingDense,
            events: Events::default(),
            geometry: *geometry,
            options,
        }
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn full_mask(&self) -> SectorMask {
        self.full
    }

    pub(crate) fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    /// Logical blocks.
    pub(crate) fn groups(&self) -> u32 {
        self.logical_pages().div_ceil(self.options.span)
    }

    /// The logical block of a page and its place there.
    #[inline]
    pub(crate) fn split(&self, at: Lpn) -> (u32, u32) {
        (at.0 / self.options.span, at.0 % self.options.span)
    }

    /// The pages of a logical block.
    #[inline]
    pub(crate) fn pages_of(&self, group: u32) -> Range<u32> {
        let first = group * self.options.span;
        first..(first + self.options.span).min(self.logical_pages())
    }

    /// Where the newest copy of a page is; [`Ppa::NONE`] where the page is unmapped.
    #[inline]
    pub(crate) fn lookup(&self, at: Lpn) -> Ppa {
        self.map[at.index()]
    }

    #[inline]
    pub(crate) fn prefetch(&self, at: Lpn) {
        prefetch(&self.map, at.index());
    }

    /// Pages of a logical block that are mapped.
    pub(crate) fn mapped_in(&self, group: u32) -> u32 {
        let pages = self.pages_of(group);
        self.map[pages.start as usize..pages.end as usize].iter().filter(|page| page.is_some()).count() as u32
    }

    /// Whether `block` holds the newest copy of no page, trims that no note holds included.
    #[inline]
    pub(crate) fn is_stale(&self, block: BlockId) -> bool {
        self.valid.is_empty(block)
    }

    /// Pages whose newest copy `block` holds.
    pub(crate) fn valid_in(&self, block: BlockId) -> u32 {
        self.valid.count(block)
    }

    /// Pages of `block` whose trim waits for a note.
    pub(crate) fn pinned_in(&self, block: BlockId) -> u32 {
        self.pinned.iter().filter(|&&(_, page)| self.geometry.block_of(page) == block).count() as u32
    }

    /// Whether the chip takes a program of the page at `place` of `block` now.
    #[inline]
    pub(crate) fn takes(&self, block: BlockId, place: u32) -> bool {
        if self.dense {
            return place == self.fill.high_water(block);
        }
        self.fill.takes(block, place)
    }

    /// Whether the chip programs without gaps.
    pub(crate) fn is_dense(&self) -> bool {
        self.dense
    }

    /// Whether the newest copy of `at` is in `block`.
    #[inline]
    pub(crate) fn is_in(&self, at: Lpn, block: BlockId) -> bool {
        let page = self.map[at.index()];
        page.is_some() && self.geometry.block_of(page) == block
    }

    /// Pages of `block` up to the last programmed one; all of them where it takes no more.
    #[inline]
    pub(crate) fn high_water(&self, block: BlockId) -> u32 {
        self.fill.high_water(block)
    }

    /// Whether every page of `block` behind the last programmed one is spent.
    #[inline]
    pub(crate) fn is_full(&self, block: BlockId) -> bool {
        self.fill.high_water(block) == self.geometry.pages_per_block()
    }

    /// The lowest page of `block` that the chip takes.
    pub(crate) fn lowest_free(&self, block: BlockId) -> Option<u32> {
        self.fill.lowest_free(block)
    }

    /// Whether every page of a logical block that is mapped lies at its own place in `block`, where `places` allows.
    pub(crate) fn is_in_place(&self, group: u32, block: BlockId, places: Range<u32>) -> bool {
        let first = self.pages_of(group).start;
        let page = self.geometry.page(block, 0).0;
        places.into_iter().all(|place| self.map.get((first + place) as usize) == Some(&Ppa(page + place)))
    }

    /// Whether every page whose newest copy `block` holds, all of one logical block, lies at its own place.
    pub(crate) fn holds_in_place(&self, group: u32, block: BlockId) -> bool {
        let (page, pages) = (self.geometry.page(block, 0).0, self.pages_of(group));
        let at_home = pages.clone().filter(|&at| self.map[at as usize] == Ppa(page + at - pages.start)).count();
        at_home as u32 + self.pinned_in(block) == self.valid.count(block)
    }

    /// The only logical block that a block in use holds pages of.
    ///
    /// # Errors
    /// [`FtlError::Config`] where it holds pages of several.
    pub(crate) fn sole_group(&self, found: &Found, name: &str) -> Result<u32, FtlError> {
        let mut groups = found.pages.iter().map(|&(_, at)| self.split(at).0);
        let first = groups.next().expect("a block in use holds a page");
        if groups.all(|group| group == first) {
            return Ok(first);
        }
        Err(FtlError::Config(format!(
            "block {} holds pages of several logical blocks: the device was used by another FTL than {name}",
            found.block
        )))
    }

    /// What a logical block in more blocks than a scheme gives it says of the device.
    pub(crate) fn foreign(&self, name: &str, group: u32) -> FtlError {
        FtlError::Config(format!(
            "logical block {group} lies in more blocks than {name} uses: the device was used by another FTL"
        ))
    }

    /// Asserts that the pages of a logical block lie in place in `data` or anywhere in `logs`.
    ///
    /// # Panics
    /// With the page that does not.
    pub(crate) fn check_group(&self, group: u32, data: BlockId, logs: &[BlockId]) {
        let pages = self.pages_of(group);
        for at in pages.clone().filter(|&at| self.map[at as usize].is_some()) {
            let page = self.map[at as usize];
            let block = self.geometry.block_of(page);
            let in_place = self.geometry.page_in_block(page) == at - pages.start;
            assert!(
                (block == data && in_place) || logs.contains(&block),
                "logical page {at} lies at page {page}, neither in its place in block {data} nor in a log block"
            );
        }
    }

    /// Whether a block may be taken for the host and enough stay free for a merge.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.has_room_beside(0)
    }

    /// Whether a block may be taken for the host where `owed` more will be.
    #[inline]
    pub(crate) fn has_room_beside(&self, owed: u32) -> bool {
        self.free.count() > self.options.reserve_blocks + self.notes.unclaimed() + owed
    }

    #[inline]
    fn next_seq(&mut self) -> Seq {
        let seq = self.seq;
        self.seq += 1;
        Seq(seq)
    }

    /// Makes `to`, whose program ends at `end`, the newest copy of `at`.
    #[inline]
    fn remap(&mut self, at: Lpn, to: Ppa, end: Time) {
        let old = std::mem::replace(&mut self.map[at.index()], to);
        if old.is_some() {
            let block = self.geometry.block_of(old);
            self.valid.remove(block, self.geometry.page_in_block(old));
            let superseded = &mut self.superseded[block.index()];
            *superseded = end.max(*superseded);
        }
        self.valid.insert(self.geometry.block_of(to), self.geometry.page_in_block(to));
    }

    /// Programs a page of the host at `place` of `block`; false where the program failed and the block is failing. On a
    /// chip without gaps the pages below are padded.
    #[inline]
    pub(crate) fn put<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        (block, place): (BlockId, u32),
        page: &N::Buf,
    ) -> Result<bool, FtlError> {
        if self.dense && !self.pad_to(nand, at, block, place)? {
            return Ok(false);
        }
        let (to, aux) = (self.geometry.page(block, place), self.fill.program(block, place));
        let oob = Oob { aux, ..Oob::data(at, self.next_seq(), nand.ctx().origin()) };
        if !verified(nand.program(to, page, &[], oob))? {
            self.fail(block);
            return Ok(false);
        }
        let end = nand.ctx().last();
        self.remap(at, to, end);
        Ok(true)
    }

    /// Pads `block` up to `place`; false where a program failed and the block is failing.
    fn pad_to<N: Nand>(&mut self, nand: &mut N, at: Lpn, block: BlockId, place: u32) -> Result<bool, FtlError> {
        for gap in self.high_water(block)..place {
            if !self.pad(nand, at, self.geometry.page(block, gap))? {
                self.fail(block);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A program in `block` failed: it takes no more pages and is retired as soon as it is empty.
    #[cold]
    fn fail(&mut self, block: BlockId) {
        self.fill.close(block);
        self.failing.insert(block);
    }

    /// A block with a failed program that is still in use.
    #[inline]
    pub(crate) fn failing(&self) -> Option<BlockId> {
        self.failing.first().copied()
    }

    /// Moves the newest copies of `pages` to their own places in `block`, whose free pages begin there; false where
    /// the block failed.
    pub(crate) fn complete<N: Nand>(
        &mut self,
        nand: &mut N,
        group: u32,
        block: BlockId,
        places: Range<u32>,
    ) -> Result<bool, FtlError> {
        let first = self.pages_of(group).start;
        let end = places.end.min(self.pages_of(group).len() as u32);
        let start = if self.dense { places.start.max(self.high_water(block)) } else { places.start };
        let last = (start..end).rev().find(|&place| {
            let from = self.map[(first + place) as usize];
            from.is_some() && self.geometry.block_of(from) != block
        });
        for place in start..last.map_or(start, |last| last + 1) {
            let (at, to) = (Lpn(first + place), self.geometry.page(block, place));
            let from = self.map[at.index()];
            let moves = from.is_some() && self.geometry.block_of(from) != block;
            if !moves && !self.dense {
                continue;
            }
            let done = if moves { self.copy(nand, at, to, 0)? } else { self.pad(nand, at, to)? };
            if !done {
                self.fail(block);
                return Ok(false);
            }
            if moves {
                let end = nand.ctx().last();
                self.remap(at, to, end);
            }
        }
        self.wait(nand);
        Ok(true)
    }

    /// Moves the newest copy of `at` to `place` of `block`; false where the program failed and the block is failing.
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
        Ok(true)
    }

    /// Gathers a logical block, with the `pending` pages of the host from the named one on, in a new block. The old
    /// copies are invalid then; their blocks are the caller's.
    pub(crate) fn gather<N: Nand>(
        &mut self,
        nand: &mut N,
        group: u32,
        near: BlockId,
        pending: Option<(Lpn, &[N::Buf])>,
    ) -> Result<BlockId, FtlError> {
        let pages = self.pages_of(group);
        if self.pinned.iter().any(|(at, _)| pages.contains(&at.0)) {
            // Notes may need a block, and the merge takes the last one that is free.
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
            // All that it holds is in the old blocks as well, and the pending page was not acknowledged.
            self.events.lost_pages = lost_pages;
            self.retire(nand, target)?;
        }
    }

    /// Gathers a logical block in `target`; false where the block failed, and nothing was changed then.
    fn gather_into<N: Nand>(
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
        let Some(last) = pages.clone().rev().find(|&at| is_pending(at) || self.map[at as usize].is_some()) else {
            return Ok(true);
        };
        let first_page = self.geometry.page(target, 0).0;
        let mut at = pages.start;
        while at <= last {
            let to = Ppa(first_page + at - pages.start);
            let run = (at..last).take_while(|&at| !is_pending(at) && self.map[at as usize].is_some()).count() as u32;
            if run > 0 {
                if !self.copy_run(nand, Lpn(at), run, to)? {
                    return Ok(false);
                }
                at += run;
                continue;
            }
            let flags = if at == last { GATHERED | COMPLETE } else { GATHERED };
            let done = if is_pending(at) {
                let page = &pending[(at - pending_at) as usize];
                let aux = flags | self.fill.program(target, at - pages.start);
                let oob = Oob { aux, ..Oob::data(Lpn(at), self.next_seq(), nand.ctx().origin()) };
                verified(scoped(nand, Cause::Host, |nand| nand.program(to, page, &[], oob)))?
            } else if self.map[at as usize].is_some() {
                self.copy(nand, Lpn(at), to, flags)?
            } else {
                // On a chip with gaps the page is passed over.
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

    /// Makes the pages from `first` on the newest copies of `pages`, those that are mapped or `pending`.
    #[inline]
    fn remap_gathered(&mut self, pages: Range<u32>, is_pending: impl Fn(u32) -> bool, first: Ppa, end: Time) {
        let target = self.geometry.block_of(first);
        // The old copies lie in few blocks: a division for each change of block.
        let (mut block, mut places) = (BlockId::NONE, 0..0);
        for (place, at) in (0..).zip(pages) {
            let old = self.map[at as usize];
            if old.is_some() {
                if !places.contains(&old.0) {
                    block = self.geometry.block_of(old);
                    let start = self.geometry.page(block, 0).0;
                    places = start..start + self.geometry.pages_per_block();
                    let superseded = &mut self.superseded[block.index()];
                    *superseded = end.max(*superseded);
                }
                self.valid.remove(block, old.0 - places.start);
            } else if !is_pending(at) {
                continue;
            }
            self.map[at as usize] = Ppa(first.0 + place);
            self.valid.insert(target, place);
        }
    }

    /// Copies the newest copies of `count` pages from `first` on to `to` and behind it, for a merge; false where a program
    /// failed.
    #[inline]
    fn copy_run<N: Nand>(&mut self, nand: &mut N, first: Lpn, count: u32, to: Ppa) -> Result<bool, FtlError> {
        let (block, place) = (self.geometry.block_of(to), self.geometry.page_in_block(to));
        self.fill.program_run(block, place, count);
        let from = &self.map[first.index()..first.index() + count as usize];
        let result = nand.copy_run(from, to, GATHERED, Seq(self.seq));
        self.seq += u64::from(count);
        match result {
            Ok(()) => Ok(true),
            Err((_, NandError::ProgramFailed(_))) => Ok(false),
            Err((done, NandError::Uncorrectable(page))) if page == from[done] => {
                let (lost, done) = (Lpn(first.0 + done as u32), done as u32);
                self.events.lost_pages += 1;
                if !self.program_blank(nand, Ppa(to.0 + done), GATHERED, lost, Kind::Lost)? {
                    return Ok(false);
                }
                let left = count - done - 1;
                Ok(left == 0 || self.copy_run(nand, Lpn(lost.0 + 1), left, Ppa(to.0 + done + 1))?)
            }
            Err((_, error)) => Err(error.into()),
        }
    }

    /// What follows waits for what was issued: the controller merges first and goes on then.
    fn wait<N: Nand>(&mut self, nand: &mut N) {
        let end = nand.ctx().last();
        nand.ctx().after(end);
    }

    /// Copies the newest copy of `at` to `to` and leaves the map alone; false where the program failed.
    #[inline]
    fn copy<N: Nand>(&mut self, nand: &mut N, at: Lpn, to: Ppa, flags: u16) -> Result<bool, FtlError> {
        let from = self.map[at.index()];
        let (block, place) = (self.geometry.block_of(to), self.geometry.page_in_block(to));
        let aux = flags | self.fill.program(block, place);
        match nand.copy(from, to, Oob::renewed(aux, self.next_seq())) {
            Ok(_) => return Ok(true),
            Err(NandError::ProgramFailed(_)) => return Ok(false),
            Err(NandError::Uncorrectable(page)) if page == from => {}
            Err(error) => return Err(error.into()),
        }
        // A page of kind Lost takes the place of the contents, so that no mount brings back an older copy.
        self.events.lost_pages += 1;
        self.program_blank(nand, to, aux, at, Kind::Lost)
    }

    /// Programs a page that holds nothing, so that the one above it can be programmed; false where the program failed.
    #[cold]
    fn pad<N: Nand>(&mut self, nand: &mut N, at: Lpn, to: Ppa) -> Result<bool, FtlError> {
        let aux = self.fill.program(self.geometry.block_of(to), self.geometry.page_in_block(to));
        self.program_blank(nand, to, aux, at, Kind::Deleted)
    }

    #[cold]
    fn program_blank<N: Nand>(
        &mut self,
        nand: &mut N,
        to: Ppa,
        aux: u16,
        at: Lpn,
        kind: Kind,
    ) -> Result<bool, FtlError> {
        let oob = Oob { lpn: at, aux, kind, origin: Origin::FTL, seq: self.next_seq() };
        verified(nand.program(to, &N::Buf::zeroed(self.geometry.page_bytes()), &[], oob))
    }

    /// What was issued last must be durable before another block is opened.
    #[inline]
    fn settle_later<N: Nand>(&mut self, nand: &mut N) {
        self.unsettled = self.unsettled.max(Some(nand.ctx().last()));
    }

    /// Everything that was issued is durable.
    pub(crate) fn settled(&mut self) {
        self.unsettled = None;
    }

    /// Takes a free block, erased; from the die of `near` where it can.
    pub(crate) fn take<N: Nand>(&mut self, nand: &mut N, near: BlockId) -> Result<BlockId, FtlError> {
        if let Some(end) = self.unsettled.take() {
            nand.ctx().fence_at(end);
        }
        while let Some(free) = self.free.take(near) {
            if free.erased || scoped(nand, Cause::Gc, |nand| self.erase(nand, free.block))? {
                return Ok(free.block);
            }
        }
        Err(self.no_block_left())
    }

    /// Takes a block for the host; there must be room.
    pub(crate) fn open<N: Nand>(&mut self, nand: &mut N, near: BlockId) -> Result<BlockId, FtlError> {
        self.refuse_worn_out()?;
        self.take(nand, near)
    }

    /// Erases a block; false where the erase failed and the block was retired.
    fn erase<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<bool, FtlError> {
        // What replaced the pages of this block must be on flash before they go.
        let bound = self.superseded[block.index()].max(self.notes.written_at());
        let before = nand.ctx().fence_at(bound);
        self.unsettled = self.unsettled.filter(|&end| end > bound);
        let erased = nand.erase(block);
        nand.ctx().set_ready(before);
        match erased {
            Ok(_) => {
                self.fill.erased(block);
                self.superseded[block.index()] = 0;
                Ok(true)
            }
            Err(NandError::EraseFailed(_)) => self.retire(nand, block).map(|()| false),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives back a block that holds the newest copy of no mapped page.
    pub(crate) fn release<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        if !self.valid.is_empty(block) {
            // Trimmed pages: an older copy elsewhere must not come back once this one is gone.
            self.write_notes(nand)?;
        }
        assert!(self.valid.is_empty(block), "block {block} is released and holds pages");
        if self.failing.remove(&block) {
            return self.retire(nand, block);
        }
        let at_once = self.forgets || self.options.erase_when == EraseWhen::OnFree;
        if !at_once || self.erase(nand, block)? {
            self.free.add(block, at_once);
        }
        Ok(())
    }

    fn retire<N: Nand>(&mut self, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
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

    /// Whether a logical block without pages may give back `blocks` blocks: flash that was written must not look
    /// blank after a cut of the last erase.
    pub(crate) fn may_drop(&self, blocks: usize) -> bool {
        self.free.in_use() as usize > blocks
    }

    /// Unmaps a page.
    pub(crate) fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        if !self.options.durable_trim && !self.forgets {
            self.forget(nand)?;
        }
        let old = std::mem::replace(&mut self.map[at.index()], Ppa::NONE);
        if self.options.durable_trim {
            self.notes.trimmed(at);
            self.pinned.push((at, old));
        } else {
            self.valid.remove(self.geometry.block_of(old), self.geometry.page_in_block(old));
        }
        Ok(())
    }

    /// Erases what is free, and from now on at once what becomes free: without notes, a copy that is superseded may be
    /// the newest one again after a trim, and a mount would find more blocks in use than there were.
    #[cold]
    fn forget<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.forgets = true;
        for block in self.free.take_unerased() {
            if scoped(nand, Cause::Trim, |nand| self.erase(nand, block))? {
                self.free.add(block, true);
            }
        }
        Ok(())
    }

    fn needed_blocks(&self) -> u32 {
        self.groups() + self.options.spare_blocks() + self.notes.most_blocks()
    }

    pub(crate) fn no_block_left(&self) -> FtlError {
        let good = self.free.good();
        FtlError::WornOut { good, needed: self.needed_blocks().max(good + 1) }
    }

    /// Fails where bad blocks leave too little for what is exported.
    fn refuse_worn_out(&self) -> Result<(), FtlError> {
        let (good, needed) = (self.free.good(), self.needed_blocks());
        if good < needed {
            return Err(FtlError::WornOut { good, needed });
        }
        Ok(())
    }

    /// Adds the memory of what schemes share.
    pub(crate) fn ram(&self, ram: &mut RamUse) {
        let (fill, programmed) = self.fill.bytes();
        ram.sram.insert("fill", fill);
        if let Some(programmed) = programmed {
            ram.sram.insert("programmed_bits", programmed);
        }
        ram.sram.insert("trim_notes", self.notes.bytes());
    }
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

//! Host pages in blocks: the basis of every block-mapped FTL.
//!
//! A scheme decides which block takes a page. The store holds each page's newest copy and the free blocks,
//! handles programs, copies and erases with their failures, and does trim notes and recovery. A table with all
//! newest copies makes the simulation fast; firmware finds them through a valid bit per physical page and the
//! smaller tables reported by each scheme as its memory.
//!
//! A merge gathers a logical block's pages in a new block. Each of its pages carries a merge mark, and the last
//! one also [`COMPLETE`](crate::parts::blocks::scan::COMPLETE). A mount drops a block with a merge mark but
//! without `COMPLETE`. A complete merge supersedes the logical block's older copies, including trims without a
//! note.
//!
//! A flush waits for all issued operations, including merges in the background. The last merge's progress
//! decides which blocks a mount finds for a logical block, and there is no proof yet that a flush may leave
//! this open.

mod check;
pub(crate) mod fill;
mod map_pages;
mod moves;
mod notes;
pub(crate) mod page_bits;
mod recover;
mod space;
#[cfg(test)]
mod tests;

use crate::parts::blocks::keeper::Keeper;
use crate::{error, Events, FtlError, RamUse};
use fill::Fill;
use map_pages::MapPages;
pub(crate) use moves::Source;
use nandlab_nand::tables::Table;
use nandlab_nand::{
    scoped, BlockId, Done, Geometry, Lpn, Nand, NandError, Oob, Ppa, ProgramOrder, SectorMask, Seq, Time,
};
use notes::Notes;
use page_bits::PageBits;
pub(crate) use recover::mount;
pub use recover::Found;
use std::collections::BTreeSet;
use std::ops::Range;

/// When to erase a block without valid pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EraseWhen {
    /// At once.
    #[default]
    OnFree,
    /// When the block is taken again.
    OnAlloc,
}

/// Options common to all schemes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Pages per logical block.
    pub(crate) span: u32,
    pub(crate) reserve_blocks: u32,
    /// Minimum number of additional blocks, beside the logical blocks and the reserve.
    pub(crate) extra_blocks: u32,
    pub(crate) durable_trim: bool,
    pub(crate) erase_when: EraseWhen,
    pub(crate) map_update: MapUpdate,
    /// Whether a logical block may lie in any number of blocks.
    pub(crate) scatters: bool,
}

/// Whether to write block-map changes to separate pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapUpdate {
    /// To the map page with this entry; no mount needs it.
    #[default]
    Page,
    /// Only to the moved pages' spare areas.
    Oob,
}

impl Options {
    /// Pages for data and notes, note blocks, and a device's minimum number of blocks.
    fn sizes(&self, geometry: &Geometry) -> (u32, u32, u32) {
        let spare = self.spare_blocks();
        let pages = geometry.blocks().saturating_sub(spare) * self.span;
        let notes = if self.durable_trim { notes::most_blocks(geometry, pages) } else { 0 };
        (pages, notes, spare.saturating_add(notes).saturating_add(1))
    }

    /// Blocks without a logical block.
    fn spare_blocks(&self) -> u32 {
        self.reserve_blocks.saturating_add(self.extra_blocks)
    }

    /// Most logical pages on a device without bad blocks.
    ///
    /// # Errors
    /// [`FtlError::Config`] if the device is too small; `name` is the name of the FTL.
    pub(crate) fn max_logical_pages(&self, geometry: &Geometry, name: &str) -> Result<u32, FtlError> {
        let (reserve, blocks) = (self.reserve_blocks, geometry.blocks());
        if reserve == 0 {
            return Err(FtlError::Config(format!(
                "ftl.{name}.reserve_blocks = 0 would deadlock: a merge needs at least 1 free block"
            )));
        }
        let (pages, notes, needed) = self.sizes(geometry);
        if blocks < needed {
            let fits = |&reserve_blocks: &u32| Self { reserve_blocks, ..*self }.sizes(geometry).2 <= blocks;
            let most = (1..reserve.min(blocks)).rev().find(fits).unwrap_or(0);
            return Err(FtlError::Config(format!(
                "ftl.{name}.reserve_blocks = {reserve} would deadlock: this device has {}, and the \
                 reserve, one block of data, {} beside it and the notes of trims need {needed}{}",
                error::blocks(blocks),
                error::blocks(self.extra_blocks),
                error::at_most(&format!("ftl.{name}.reserve_blocks"), most),
            )));
        }
        Ok(pages - notes * self.span)
    }
}

/// A block-mapped FTL's pages and blocks.
#[derive(Debug)]
pub struct Store {
    geometry: Geometry,
    options: Options,
    /// Each logical page's newest copy.
    map: Table<Ppa>,
    /// The sources of a run of copies.
    copied: Vec<Ppa>,
    /// The newest copies by block, plus trimmed pages' copies until a note records the trim.
    valid: PageBits,
    /// Trimmed pages without a note, and their last copies.
    pinned: Vec<(Lpn, Ppa)>,
    fill: Fill,
    pub(crate) keeper: Keeper,
    notes: Notes,
    map_pages: Option<MapPages>,
    /// Whether some page is unmapped without a note: from then on blocks are erased at once.
    forgets: bool,
    /// Blocks in use with a failed program.
    failing: BTreeSet<BlockId>,
    /// End of the last merge or note, until a fence makes it durable: blocks emptied by it may still wait for
    /// their erase, and a mount must not find them beside a block opened later.
    unsettled: Option<Time>,
    /// When the last write to an unmapped page ends: a note without this page must not outlive it.
    mapped: Time,
    full: SectorMask,
    /// Whether the chip programs without gaps.
    dense: bool,
    pub(crate) events: Events,
}

impl Store {
    /// Sequence numbers go on behind `highest`.
    fn new(geometry: &Geometry, order: ProgramOrder, (logical_pages, highest): (u32, u64), options: Options) -> Self {
        Self {
            map: Table::blank(logical_pages as usize),
            copied: Vec::new(),
            valid: PageBits::new(geometry),
            pinned: Vec::new(),
            fill: Fill::new(geometry, order),
            keeper: Keeper::new(geometry, highest),
            notes: Notes::new(geometry, logical_pages, options.durable_trim),
            map_pages: (options.map_update == MapUpdate::Page).then(MapPages::none),
            forgets: false,
            failing: BTreeSet::new(),
            unsettled: None,
            mapped: 0,
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

    /// Pages per logical block.
    pub(crate) fn span(&self) -> u32 {
        self.options.span
    }

    /// Logical-block count.
    pub(crate) fn groups(&self) -> u32 {
        self.logical_pages().div_ceil(self.options.span)
    }

    /// The page's logical block, and its place there.
    #[inline]
    pub(crate) fn split(&self, at: Lpn) -> (u32, u32) {
        (at.0 / self.options.span, at.0 % self.options.span)
    }

    /// A logical block's pages.
    #[inline]
    pub(crate) fn pages_of(&self, group: u32) -> Range<u32> {
        let first = group * self.options.span;
        first..(first + self.options.span).min(self.logical_pages())
    }

    /// A page's newest copy; [`Ppa::NONE`] if the page is unmapped.
    #[inline]
    pub(crate) fn lookup(&self, at: Lpn) -> Ppa {
        self.map.at(at.index())
    }

    #[inline]
    pub(crate) fn prefetch(&self, at: Lpn) {
        self.map.prefetch(at.index());
    }

    /// Mapped pages in a logical block.
    pub(crate) fn mapped_in(&self, group: u32) -> u32 {
        let pages = self.pages_of(group);
        self.map.range(pages.start as usize..pages.end as usize).filter(|page| page.is_some()).count() as u32
    }

    /// Whether `block` holds no newest copy, and no trim without a note.
    #[inline]
    pub(crate) fn is_stale(&self, block: BlockId) -> bool {
        self.valid.is_empty(block)
    }

    /// Newest copies in `block`.
    pub(crate) fn valid_in(&self, block: BlockId) -> u32 {
        self.valid.count(block)
    }

    /// Mapped pages with their newest copy in `block`.
    pub(crate) fn mapped_to(&self, block: BlockId) -> u32 {
        self.valid.count(block) - self.pinned_in(block)
    }

    /// Pages in `block` with a trim still waiting for a note.
    pub(crate) fn pinned_in(&self, block: BlockId) -> u32 {
        self.pinned.iter().filter(|&&(_, page)| self.geometry.block_of(page) == block).count() as u32
    }

    /// Whether the chip accepts a program at `place` in `block` now.
    #[inline]
    pub(crate) fn takes(&self, block: BlockId, place: u32) -> bool {
        if self.dense {
            return place == self.fill.high_water(block);
        }
        self.fill.takes(block, place)
    }

    /// Whether `block` accepts the page at `place` after filling the gap below it on a chip without gaps.
    #[inline]
    pub(crate) fn reaches(&self, block: BlockId, place: u32) -> bool {
        self.fill.takes(block, place)
    }

    /// Whether the chip programs without gaps.
    pub(crate) fn is_dense(&self) -> bool {
        self.dense
    }

    /// Whether the newest copy of `at` is in `block`.
    #[inline]
    pub(crate) fn is_in(&self, at: Lpn, block: BlockId) -> bool {
        let page = self.lookup(at);
        page.is_some() && self.geometry.block_of(page) == block
    }

    /// Pages in `block` up to the last programmed one; all pages if it accepts no more.
    #[inline]
    pub(crate) fn high_water(&self, block: BlockId) -> u32 {
        self.fill.high_water(block)
    }

    /// Whether every page after the last programmed one in `block` is spent.
    #[inline]
    pub(crate) fn is_full(&self, block: BlockId) -> bool {
        self.fill.high_water(block) == self.geometry.pages_per_block()
    }

    /// The lowest page in `block` accepted by the chip.
    pub(crate) fn lowest_free(&self, block: BlockId) -> Option<u32> {
        self.fill.lowest_free(block)
    }

    /// Whether a logical block's pages for `places` are all mapped and in place in `block`.
    pub(crate) fn is_in_place(&self, group: u32, block: BlockId, places: Range<u32>) -> bool {
        let first = self.pages_of(group).start;
        let page = self.geometry.page(block, 0).0;
        places.into_iter().all(|place| self.map.get((first + place) as usize) == Some(Ppa(page + place)))
    }

    /// Whether all newest copies in `block`, from a single logical block, lie in place.
    pub(crate) fn holds_in_place(&self, group: u32, block: BlockId) -> bool {
        let (page, pages) = (self.geometry.page(block, 0).0, self.pages_of(group));
        let at_home = pages.clone().filter(|&at| self.lookup(Lpn(at)) == Ppa(page + at - pages.start)).count();
        at_home as u32 + self.pinned_in(block) == self.valid.count(block)
    }

    /// The only logical block with pages in a used block.
    ///
    /// # Errors
    /// [`FtlError::Config`] if there are several.
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

    /// The error for a logical block in more blocks than the scheme uses.
    pub(crate) fn foreign(&self, name: &str, group: u32) -> FtlError {
        FtlError::Config(format!(
            "logical block {group} lies in more blocks than {name} uses: the device was used by another FTL"
        ))
    }

    /// Asserts that a logical block's pages lie in place in `data` or anywhere in `logs`.
    ///
    /// # Panics
    /// With the page elsewhere.
    pub(crate) fn check_group(&self, group: u32, data: BlockId, logs: &[BlockId]) {
        let pages = self.pages_of(group);
        for at in pages.clone().filter(|&at| self.lookup(Lpn(at)).is_some()) {
            let page = self.lookup(Lpn(at));
            let block = self.geometry.block_of(page);
            let in_place = self.geometry.page_in_block(page) == at - pages.start;
            assert!(
                (block == data && in_place) || logs.contains(&block),
                "logical page {at} lies at page {page}, neither in its place in block {data} nor in a log block"
            );
        }
    }

    #[inline]
    fn next_seq(&mut self) -> Seq {
        self.keeper.next_seq()
    }

    /// Makes `to` the newest copy of `at`; its program ends at `end`.
    #[inline]
    fn remap(&mut self, at: Lpn, to: Ppa, end: Time) {
        let old = self.map.replace(at.index(), to);
        if old.is_some() {
            let block = self.geometry.block_of(old);
            self.valid.remove(block, self.geometry.page_in_block(old));
            self.keeper.supersede_in(block, end);
        } else {
            self.mapped = self.mapped.max(end);
        }
        self.valid.insert(self.geometry.block_of(to), self.geometry.page_in_block(to));
    }

    /// Programs a host page at `place` of `block`; false if the program failed and the block is now failing. On
    /// a chip without gaps it first pads the pages below.
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
        let to = self.geometry.page(block, place);
        self.fill.program(block, place);
        let oob = Oob::data(at, self.next_seq(), nand.ctx().origin());
        if !verified(nand.program(to, page, &[], oob))? {
            self.fail(block);
            return Ok(false);
        }
        let end = nand.ctx().last();
        self.remap(at, to, end);
        Ok(true)
    }

    /// Pads `block` up to `place`; false if a program failed and the block is now failing.
    fn pad_to<N: Nand>(&mut self, nand: &mut N, at: Lpn, block: BlockId, place: u32) -> Result<bool, FtlError> {
        for gap in self.high_water(block)..place {
            if !self.pad(nand, at, self.geometry.page(block, gap))? {
                self.fail(block);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Marks `block` as failing: it takes no more pages, and is retired as soon as it is empty.
    #[cold]
    fn fail(&mut self, block: BlockId) {
        self.fill.close(block);
        self.failing.insert(block);
    }

    /// A used block with a failed program.
    #[inline]
    pub(crate) fn failing(&self) -> Option<BlockId> {
        self.failing.first().copied()
    }

    /// Unmaps a page.
    pub(crate) fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        if !self.options.durable_trim && !self.forgets {
            self.forget(nand)?;
        }
        let old = self.map.replace(at.index(), Ppa::NONE);
        if self.options.durable_trim {
            self.notes.trimmed(at);
            self.pinned.push((at, old));
        } else {
            self.valid.remove(self.geometry.block_of(old), self.geometry.page_in_block(old));
        }
        Ok(())
    }

    /// Erases the free blocks, and from now on blocks at once when they become free. Without notes, a
    /// superseded copy may become the newest one again after a trim, and a mount would find additional blocks
    /// in use.
    #[cold]
    fn forget<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.forgets = true;
        for (block, freed_by) in self.keeper.remove_unerased() {
            if scoped(nand, freed_by, |nand| self.erase(nand, block))? {
                self.keeper.add(block, None);
            }
        }
        Ok(())
    }

    /// Adds the memory shared by all schemes. It includes the valid bits, because finding the newest copy among
    /// a logical block's blocks, or the pages to copy in a merge, costs no spare-area read. It excludes the map
    /// of all pages, which only the simulation needs.
    pub(crate) fn ram(&self, ram: &mut RamUse) {
        let (fill, programmed) = self.fill.bytes();
        ram.sram.insert("fill", fill);
        if let Some(programmed) = programmed {
            ram.sram.insert("programmed_bits", programmed);
        }
        ram.sram.insert("valid_bits", self.valid.bytes());
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

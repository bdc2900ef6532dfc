//! A device that counts: it keeps every page's metadata and no user data.
//!
//! Two forms. [`Full`] keeps all sixteen metadata bytes, mostly in eight, and can be mounted. [`Lean`] keeps four bytes
//! per page, logical page and origin, for benchmarks and large sweeps; it forgets sequence numbers and `aux`, so it
//! cannot be mounted after a write. Both count alike.

mod by_author;
mod runs;
mod spare;
mod state;
mod tails;

pub use spare::{Full, Lean, SpareStore};

use crate::address::{BlockId, Geometry, Lpn, Ppa, Seq};
use crate::context::{Ctx, Origin};
use crate::nand::{Done, Nand, NandError, Raw};
use crate::oob::{Kind, Oob};
use crate::rules::{assert_block_in_range, assert_in_range, BlockStates, ProgramOrder, Rules};
use crate::side_table::SideTable;
use by_author::ByAuthor;
use tails::Tails;

/// Prefetch distance for copies' metadata, in pages.
const COPIES_AHEAD: u32 = 16;

/// A device that counts; `S` is [`Full`] or [`Lean`].
#[derive(Clone, Debug)]
pub struct Counting<S = Full> {
    geometry: Geometry,
    rules: Rules,
    ctx: Ctx,
    pub(crate) states: BlockStates,
    pub(crate) spare: S,
    pub(crate) tails: Tails,
    /// Whether tails are kept by what is around this device.
    pub(crate) has_no_tails: bool,
    /// Programs of a page since its erase, for pages with a reprogrammed spare area.
    pub(crate) respared: SideTable<u8>,
    pub(crate) pe_cycles: Vec<u32>,
    /// Pages still unprogrammed when their block was erased.
    unused_at_erase: u64,
    /// Pages already programmed when their block was retired.
    programmed_at_retirement: u64,
    /// Whether blocks may have unprogrammed pages below their high-water mark.
    has_gaps: bool,
    /// By block and origin: pages programmed and not copied away. The rest at the erase caused the erase.
    pub(crate) programmed: ByAuthor,
    /// By block: whether a cell holds one bit; empty until the first such block.
    slc: Vec<bool>,
}

impl<S: SpareStore> Counting<S> {
    /// An erased device.
    pub fn new(geometry: Geometry, rules: Rules) -> Self {
        Self {
            states: BlockStates::new(&geometry, rules.program_order),
            spare: S::new(&geometry),
            tails: Tails::new(&geometry),
            has_no_tails: false,
            respared: SideTable::default(),
            pe_cycles: vec![0; geometry.blocks() as usize],
            programmed: ByAuthor::new(&geometry),
            unused_at_erase: 0,
            programmed_at_retirement: 0,
            has_gaps: rules.program_order == ProgramOrder::Any,
            slc: Vec::new(),
            ctx: Ctx::default(),
            geometry,
            rules,
        }
    }

    /// P/E cycles per block.
    pub fn pe_cycles(&self) -> &[u32] {
        &self.pe_cycles
    }

    /// `block`'s pages up to the last programmed one.
    pub fn high_water(&self, block: BlockId) -> u32 {
        self.states.high_water(block)
    }

    /// Programmed pages, including retired blocks. Together with the erases this gives the programs: programs =
    /// pages per block x erases - [`Self::unused_at_erase`] + this.
    pub fn programmed_pages(&self) -> u64 {
        let in_blocks: u64 = (0..self.geometry.blocks()).map(|block| u64::from(self.pages_in(BlockId(block)))).sum();
        self.programmed_at_retirement + in_blocks
    }

    /// `block`'s programmed pages; none if it is retired.
    #[inline]
    fn pages_in(&self, block: BlockId) -> u32 {
        let high_water = self.states.high_water(block);
        if !self.has_gaps {
            return high_water;
        }
        let first = self.geometry.page(block, 0).0;
        (first..first + high_water).filter(|&page| !self.spare.is_erased(Ppa(page))).count() as u32
    }

    /// Pages still unprogrammed when their block was erased, over all erases so far.
    pub fn unused_at_erase(&self) -> u64 {
        self.unused_at_erase
    }

    /// Marks a factory-bad block, at no cost.
    pub fn mark_factory_bad(&mut self, block: BlockId) {
        assert_block_in_range(&self.geometry, block);
        self.states.retire(block);
    }

    /// Whether `block` is marked bad.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.states.is_bad(block)
    }

    /// What the first programmed page of `block` holds; `None` in an erased or a bad one.
    pub fn first_kind(&self, block: BlockId) -> Option<crate::oob::Kind> {
        let mut pages = 0..self.states.high_water(block);
        pages.find_map(|page| self.spare.get(self.geometry.page(block, page), block)).map(|oob| oob.kind)
    }

    #[inline]
    pub(crate) fn is_programmed(&self, at: Ppa, block: BlockId) -> bool {
        let page = at.0 - block.0 * self.geometry.pages_per_block();
        page < self.states.high_water(block) && !self.spare.is_erased(at)
    }

    /// Asserts the rules for a program and stores its metadata.
    #[inline(always)]
    fn store(&mut self, at: Ppa, oob: Oob) {
        assert_in_range(&self.geometry, at);
        let block = self.geometry.block_of(at);
        let page = at.0 - block.0 * self.geometry.pages_per_block();
        if self.rules.program_order == ProgramOrder::Any {
            assert!(
                !self.is_programmed(at, block),
                "program of page {at}: it is programmed, erase block {block} first"
            );
        }
        let first = self.states.high_water(block) == 0;
        self.place(at, block, page, first, oob);
        *self.programmed.of(block, oob.origin) += 1;
    }

    /// Marks a page as programmed under `oob`; `first` if its sequence is its block's base.
    #[inline(always)]
    fn place(&mut self, at: Ppa, block: BlockId, page: u32, first: bool, oob: Oob) {
        let skipped = self.states.program(block, page);
        if !skipped.is_empty() {
            self.has_gaps = true;
            let start = self.geometry.page(block, 0).0;
            self.spare.clear(start + skipped.start..start + skipped.end);
        }
        self.spare.set(at, block, first, oob);
    }

    /// A copy moved one of `origin`'s pages out of `source`, so this page is no longer a reason for the erase.
    ///
    /// A page copied again after a failed or torn copy leaves twice: it may take another page by its author
    /// along; if none is left, none leaves.
    #[inline(always)]
    fn has_left(&mut self, source: BlockId, origin: Origin) {
        let left = self.programmed.of(source, origin);
        *left = left.saturating_sub(1);
    }

    /// Stores the tail of a page that was just programmed.
    #[cold]
    fn program_tail(&mut self, at: Ppa, tail: &[u8], origin: Origin) {
        self.ctx.count(origin).meta_programs += 1;
        let most = self.geometry.page_bytes() as usize;
        assert!(tail.len() <= most, "a tail of {} bytes is longer than a page", tail.len());
        if !self.has_no_tails {
            self.tails.insert(at, self.geometry.block_of(at), tail.into());
        }
    }

    /// Pages of `block` by their authors in the metadata.
    pub(crate) fn pages_by_origin(&self, block: BlockId) -> [u16; Origin::COUNT] {
        let mut pages = [0; Origin::COUNT];
        let first = self.geometry.page(block, 0).0;
        let programmed = (first..first + self.states.high_water(block)).filter_map(|at| self.spare.get(Ppa(at), block));
        programmed.for_each(|oob| pages[usize::from(oob.origin.0) & (Origin::COUNT - 1)] += 1);
        pages
    }

    /// Asserts that `block` did not exceed its one-bit capacity; its cells hold all their bits again.
    #[cold]
    fn leave_slc(&mut self, block: BlockId) {
        if std::mem::take(&mut self.slc[block.index()]) {
            self.assert_fits_slc(block);
        }
    }

    fn assert_fits_slc(&self, block: BlockId) {
        let (used, most) = (self.states.high_water(block), self.rules.slc_pages(&self.geometry));
        assert!(used <= most, "block {block} holds one bit a cell, in {most} pages, and {used} were programmed");
    }

    /// A programmed page's metadata; panics if the page is erased.
    #[inline]
    fn programmed_page(&self, at: Ppa, what: &str) -> Oob {
        assert_in_range(&self.geometry, at);
        let block = self.geometry.block_of(at);
        let page = at.0 - block.0 * self.geometry.pages_per_block();
        let oob = if page < self.states.high_water(block) { self.spare.get(at, block) } else { None };
        oob.unwrap_or_else(|| panic!("{what} of page {at}: the page is erased"))
    }
}

impl Counting<Full> {
    /// Restores `block`'s pages from an earlier device, in ascending order, and its block state: P/E cycles,
    /// sequence base, and page counts per author.
    pub(crate) fn restore(&mut self, block: BlockId, kept: &Kept, pages: impl Iterator<Item = (u32, Oob)>) {
        self.pe_cycles[block.index()] = kept.pe_cycles;
        let mut pages = pages.peekable();
        let aux = pages.peek().map_or(0, |(_, oob)| oob.aux);
        self.spare.set_base(block, kept.base, aux);
        for (page, oob) in pages {
            self.place(self.geometry.page(block, page), block, page, false, oob);
        }
        // After a power loss between the two, the block state may be one program ahead of the pages.
        let held = self.pages_by_origin(block);
        *self.programmed.block_mut(block) = std::array::from_fn(|origin| kept.programmed[origin].min(held[origin]));
    }
}

/// Asserts that the page `at`, whose tail has `stored` bytes, has one of `wanted` bytes.
pub(crate) fn assert_has_tail(at: Ppa, stored: usize, wanted: usize) {
    assert!(stored > 0, "read of the tail of page {at}: it has none");
    assert!(wanted <= stored, "read of {wanted} bytes of a tail of {stored}");
}

/// Persistent state of a block, beside its pages.
pub(crate) struct Kept {
    pub(crate) pe_cycles: u32,
    pub(crate) base: u64,
    pub(crate) programmed: [u16; Origin::COUNT],
}

impl<S: SpareStore> Nand for Counting<S> {
    type Buf = ();

    #[inline]
    fn keeps_time(&self) -> bool {
        false
    }

    #[inline]
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline]
    fn rules(&self) -> &Rules {
        &self.rules
    }

    #[inline]
    fn read(&mut self, at: Ppa, (): &mut Self::Buf) -> Result<Oob, NandError> {
        let oob = self.programmed_page(at, "read");
        let origin = self.ctx.origin();
        self.ctx.count(origin).page_reads += 1;
        Ok(oob)
    }

    #[inline]
    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        assert_in_range(&self.geometry, at);
        let origin = self.ctx.origin();
        self.ctx.count(origin).spare_reads += 1;
        let block = self.geometry.block_of(at);
        let page = at.0 - block.0 * self.geometry.pages_per_block();
        if page < self.states.high_water(block) {
            return Ok(self.spare.get(at, block));
        }
        if self.states.is_bad(block) {
            return Err(NandError::BadBlock(block));
        }
        Ok(None)
    }

    #[inline(always)]
    fn program(&mut self, at: Ppa, (): &Self::Buf, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.store(at, oob);
        self.ctx.count(oob.origin).page_programs += 1;
        if !tail.is_empty() {
            self.program_tail(at, tail, oob.origin);
        }
        Ok(Done::default())
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        let oob = self.programmed_page(at, "read of the tail");
        if !self.has_no_tails {
            let stored = self.tails.get(at, self.geometry.block_of(at)).unwrap_or_default();
            assert_has_tail(at, stored.len(), tail.len());
            tail.copy_from_slice(&stored[stored.len() - tail.len()..]);
        }
        let origin = self.ctx.origin();
        let cell = self.ctx.count(origin);
        cell.page_reads += 1;
        cell.meta_reads += 1;
        Ok(oob)
    }

    fn read_with_tail(&mut self, at: Ppa, (): &mut Self::Buf, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.read_tail(at, tail)
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        assert_in_range(&self.geometry, from);
        let source = self.geometry.block_of(from);
        let page = from.0 - source.0 * self.geometry.pages_per_block();
        let old = if page < self.states.high_water(source) { self.spare.get(from, source) } else { None };
        let Some(old) = old else { panic!("copy of page {from}: the page is erased") };
        let origin = old.origin;
        let oob = if oob.lpn.is_some() {
            Oob { origin, handle: old.handle, ..oob }
        } else {
            Oob { aux: oob.aux, seq: oob.seq, ..old }
        };
        // Copies mostly follow page order, so this prefetches the next cache line, or a later one.
        self.spare.prefetch(Ppa(from.0 + COPIES_AHEAD));
        self.store(to, oob);
        self.has_left(source, origin);
        self.ctx.count(origin).copies += 1;
        if let Some(tail) = self.tails.get(from, source).map(Box::from) {
            let block = self.geometry.block_of(to);
            self.tails.insert(to, block, tail);
        }
        Ok(oob)
    }

    #[inline]
    fn copy_run(&mut self, from: &[Ppa], to: Ppa, aux: u16, seq: Seq) -> Result<(), (usize, NandError)> {
        self.move_run(from, to, (aux, seq), &mut []);
        Ok(())
    }

    #[inline]
    fn defers_copies(&self) -> bool {
        S::FORGETS_ORDER
    }

    #[inline]
    fn issue_copies(&mut self, from: &[Ppa], _: Ppa) {
        from.iter().for_each(|&from| self.spare.prefetch(from));
    }

    #[inline]
    fn carry_out_copies(&mut self, from: &[Ppa], to: Ppa, held: &mut [(Lpn, Kind)]) {
        if !self.copy_alike(from, to, held) {
            self.move_run(from, to, (0, Seq(0)), held);
        }
    }

    #[inline]
    fn program_run(&mut self, pages: &[Lpn], to: Ppa, oob: Oob) {
        self.store_run(pages, to, oob);
    }

    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        let Oob { origin, handle, .. } = self.programmed_page(at, "spare program");
        let programs = self.respared.get(at).map_or(2, |&programs| programs + 1);
        assert!(
            programs <= self.rules.partial_programs,
            "spare program of page {at}: this chip allows {} programs of a page between erases",
            self.rules.partial_programs
        );
        self.respared.insert(at, programs);
        let block = self.geometry.block_of(at);
        self.spare.set(at, block, false, Oob { origin, handle, ..oob });
        self.ctx.count(oob.origin).spare_programs += 1;
        Ok(Done::default())
    }

    #[inline]
    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        assert_block_in_range(&self.geometry, block);
        debug_assert!(
            self.programmed.block(block).iter().zip(self.pages_by_origin(block)).all(|(&n, pages)| n <= pages),
            "more pages of an author count for the erase of block {block} than it holds"
        );
        self.unused_at_erase += u64::from(self.geometry.pages_per_block() - self.pages_in(block));
        if !self.slc.is_empty() {
            self.leave_slc(block);
        }
        self.states.erase(block);
        let first = self.geometry.page(block, 0).0;
        let pages = first..first + self.geometry.pages_per_block();
        if self.rules.program_order == ProgramOrder::Any {
            self.spare.clear(pages.clone());
        }
        self.spare.forget(pages.clone());
        self.tails.erase(block, pages.clone());
        self.respared.remove_range(pages);
        self.pe_cycles[block.index()] += 1;
        let invalid = std::mem::replace(self.programmed.block_mut(block), [0; Origin::COUNT]);
        self.ctx.count_erase(&invalid);
        Ok(Done::default())
    }

    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        assert_block_in_range(&self.geometry, block);
        self.programmed_at_retirement += u64::from(self.pages_in(block));
        self.states.retire(block);
        let origin = self.ctx.origin();
        self.ctx.count(origin).spare_programs += 1;
        Ok(Done::default())
    }

    fn raw(&mut self, at: Ppa, command: Raw) {
        assert_in_range(&self.geometry, at);
        let origin = self.ctx.origin();
        let cell = self.ctx.count(origin);
        *match command {
            Raw::Read(_) => &mut cell.page_reads,
            Raw::SpareRead(_) => &mut cell.spare_reads,
            Raw::Reprogram(_) | Raw::SpareProgram(_) => &mut cell.spare_programs,
        } += 1;
    }

    fn read_untouched(&mut self) -> bool {
        let is_untouched = self.states.are_all_erased();
        if is_untouched {
            let origin = self.ctx.origin();
            self.ctx.count(origin).spare_reads += u64::from(self.geometry.pages());
        }
        is_untouched
    }

    fn is_known_erased(&self) -> bool {
        self.states.are_erased_or_bad()
    }

    fn set_slc(&mut self, block: BlockId, slc: bool) {
        assert_block_in_range(&self.geometry, block);
        if self.slc.is_empty() {
            if !slc {
                return;
            }
            assert!(
                self.rules.slc_pages(&self.geometry) > 0,
                "block {block} is to hold one bit a cell: this chip has {} bits a cell and {} pages a block",
                self.rules.bits_per_cell,
                self.geometry.pages_per_block()
            );
            self.slc = vec![false; self.geometry.blocks() as usize];
        }
        self.slc[block.index()] = slc;
        if slc {
            self.assert_fits_slc(block);
        }
    }

    #[inline]
    fn is_slc(&self, block: BlockId) -> bool {
        self.slc.get(block.index()).is_some_and(|&slc| slc)
    }

    #[inline]
    fn ctx(&mut self) -> &mut Ctx {
        &mut self.ctx
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frontier_that_idles_for_long_is_filled_further() {
        let geometry = Geometry::single_die(2, 8, 512).unwrap();
        let mut device: Counting = Counting::new(geometry, Rules { partial_programs: 2, ..Rules::default() });
        let first = 1 << 40;
        let last_near = first + u64::from(u32::MAX);
        let seqs = [first, last_near - 1, last_near, last_near + 1, first + (1 << 45), first - 7];
        let oob = |at: u32, seq| Oob { aux: at as u16, ..Oob::data(Lpn(at), Seq(seq), Origin::HOST) };
        for (at, &seq) in (0..).zip(&seqs) {
            device.program(Ppa(at), &(), &[], oob(at, seq)).unwrap();
        }
        for (at, &seq) in (0..).zip(&seqs) {
            assert_eq!(device.read_spare(Ppa(at)), Ok(Some(oob(at, seq))));
        }
        device.program_spare(Ppa(4), oob(4, first + 9)).unwrap();
        device.program_spare(Ppa(0), oob(0, 1 << 46)).unwrap();
        assert_eq!(device.read_spare(Ppa(4)), Ok(Some(oob(4, first + 9))), "near again");
        assert_eq!(device.read_spare(Ppa(0)), Ok(Some(oob(0, 1 << 46))));
        assert_eq!(device.copy(Ppa(3), Ppa(8), Oob::renewed(3, Seq(seqs[3]))), Ok(oob(3, seqs[3])));
        device.erase(BlockId(0)).unwrap();
        assert!(device.spare.keeps_nothing_aside(), "an erase leaves nothing aside");
        device.program(Ppa(0), &(), &[], oob(0, 1 << 47)).unwrap();
        assert_eq!(device.read_spare(Ppa(0)), Ok(Some(oob(0, 1 << 47))));
    }
}

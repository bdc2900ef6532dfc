//! LearnedFTL: entries in memory, and beside them lines through whole map pages.
//!
//! ## Idea
//! Without its entry in memory a read reads twice: the map page, then the page. If a map page's pages lie in order, a few
//! lines through their places tell each place. A bit for each entry tells whether its line is right, so no read goes to a
//! wrong page. The rest is TPFTL's.
//!
//! ## Write path
//! 1. *Read.* An entry in memory counts. Without one, the line is asked if the entry's bit is set: no map page is read, and
//!    no entry comes to memory. Else it is a miss as with TPFTL.
//! 2. *Write.* A changed entry needs a place in memory. Its bit is cleared. If it was set, the former page comes from the
//!    line, and no map page is read.
//! 3. *Training.* When a map page is written, all its entries are known. If a sixteenth was written or moved in order since
//!    the last lines, lines are drawn again, and replace the former ones if they meet more entries. Collection by groups (`dftl/groups.rs`) writes pages in order and
//!    their map pages after them: one or two lines are right for a map page then.
//! 4. Places are numbered by stripes (`stripes.rs`), so pages on the dies in turn are a line.
//!
//! ## Recovery
//! As DFTL: lines are memory. After a mount map pages have none until enough was written in order. Blocks go to stripes
//! again in the order they were begun; host's and moved ones share them if there are no groups.
//!
//! ## Invariants
//! With its bit set, an entry's line gives its page, and flash has the same.
//!
//! ## Differences
//! The paper trains after a group's collection and during a sequential write; here the map page's next write does it. The
//! processor's time for it (tens of microseconds in the paper) is not counted. The paper gives a group its blocks
//! and lets groups lend each other space; here groups take blocks from all free ones. A line takes eight bytes, as there.
//!
//! ## References
//! S. Wang, Z. Lin, S. Wu, H. Jiang, J. Zhang, B. Mao: LearnedFTL: A Learning-based Page-level FTL for Reducing Double
//! Reads in Flash-based SSDs. HPCA 2024.

use super::line::{lines, Fitted, Line};
use super::stripes::Stripes;
use super::tpftl::{self, TwoLevels};
use super::{MapCache, Shape, Slot, Step};
use crate::options::options;
use crate::parts::map_entries::entries;
use crate::{error, FtlError, RamUse};
use nandlab_nand::{Lpn, Ppa};

options! {
    Options
    /// LearnedFTL's options.
    #[derive(Eq)]
    {
        /// Lines for each map page, from 1 to 64. Default 8, as in the paper.
        pieces: u32 = 8,
    }
}

impl Options {
    /// Bytes for the lines and bits.
    fn model_bytes(self, per_map_page: u32, map_pages: u32) -> u64 {
        let of_page = Line::BYTES * u64::from(self.pieces) + u64::from(per_map_page.div_ceil(8));
        of_page * u64::from(map_pages)
    }

    /// The smallest budget: the lines, and TPFTL's smallest.
    pub(super) fn least_bytes(self, per_map_page: u32, map_pages: u32) -> Result<u64, FtlError> {
        error::in_range("ftl.dftl.cache.learned.pieces", self.pieces, 1..=64)?;
        Ok(self.model_bytes(per_map_page, map_pages) + tpftl::Options::default().least_bytes()?)
    }

    /// The least bytes with which no entry ever leaves.
    pub(super) fn whole_bytes(self, logical_pages: u32, per_map_page: u32, map_pages: u32) -> u64 {
        self.model_bytes(per_map_page, map_pages) + tpftl::Options::default().whole_bytes(logical_pages, map_pages)
    }
}

/// A map page's lines.
#[derive(Clone, Debug, Default)]
struct Model {
    /// By first place.
    lines: Vec<Line>,
    /// A bit for each entry: its line is right.
    right: Vec<u64>,
    count: u32,
    /// Changes right after a change to an earlier entry here, since the lines were drawn.
    in_order: u32,
}

impl Model {
    fn is_right(&self, place: u32) -> bool {
        self.right.get(place as usize / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// An entry has changed.
    fn forget(&mut self, place: u32) {
        if self.is_right(place) {
            self.right[place as usize / 64] &= !(1 << (place % 64));
            self.count -= 1;
        }
    }

    /// The number that a line gives.
    fn number(&self, place: u32) -> Option<u32> {
        let behind = self.lines.partition_point(|line| u32::from(line.first) <= place);
        Some(self.lines[behind.checked_sub(1)?].at(place))
    }

    /// Lines through a map page's entries: the longest, as many as fit.
    fn trained(entries: &[Ppa], pieces: u32, stripes: &Stripes) -> Self {
        let numbered = (0..).zip(entries).filter_map(|(place, &page)| Some((place, stripes.number(page)?)));
        let mut longest: Vec<Fitted> = Vec::new();
        lines(numbered, 0, |fitted| longest.push(fitted));
        longest.sort_by_key(|fitted| std::cmp::Reverse(fitted.count));
        longest.truncate(pieces as usize);
        let mut model = Self {
            lines: longest.into_iter().map(|fitted| fitted.line).collect(),
            right: vec![0; entries.len().div_ceil(64)],
            ..Self::default()
        };
        model.lines.sort_by_key(|line| line.first);
        for (place, &page) in (0..).zip(entries).filter(|(_, page)| page.is_some()) {
            if model.number(place).and_then(|number| stripes.page(number)) == Some(page) {
                model.right[place as usize / 64] |= 1 << (place % 64);
                model.count += 1;
            }
        }
        model
    }
}

/// Entries, and lines.
#[derive(Debug)]
pub(super) struct Learned {
    shape: Shape,
    options: Options,
    entries: TwoLevels,
    /// By map page.
    models: Vec<Model>,
    stripes: Stripes,
    /// The entry changed last.
    last: Lpn,
}

impl Learned {
    pub(super) fn new(shape: Shape, options: Options) -> Self {
        let models = options.model_bytes(shape.per_map_page, shape.map_pages());
        let left = Shape { budget_bytes: shape.budget_bytes.saturating_sub(models), ..shape };
        Self {
            options,
            entries: TwoLevels::new(left, tpftl::Options::default()),
            models: vec![Model::default(); shape.map_pages() as usize],
            stripes: shape.stripes(),
            last: Lpn(0),
            shape,
        }
    }

    fn place(&self, at: Lpn) -> u32 {
        at.0 % self.shape.per_map_page
    }

    /// An entry's page by its line, if it is right.
    fn by_line(&self, at: Lpn) -> Option<Ppa> {
        let (model, place) = (&self.models[self.shape.map_page(at) as usize], self.place(at));
        let number = model.number(place).filter(|_| model.is_right(place))?;
        self.stripes.page(number)
    }

    /// An entry changes.
    fn forget(&mut self, at: Lpn) {
        let (place, map_page) = (self.place(at), self.shape.map_page(at));
        let model = &mut self.models[map_page as usize];
        model.forget(place);
        model.in_order += u32::from(at > self.last && self.shape.map_page(self.last) == map_page);
        self.last = at;
    }
}

impl MapCache for Learned {
    #[inline]
    fn find(&self, at: Lpn) -> Option<Slot> {
        self.entries.find(at)
    }

    #[inline]
    fn touch(&mut self, slot: Slot) {
        self.entries.touch(slot);
    }

    #[inline]
    fn page(&self, slot: Slot) -> Ppa {
        self.entries.page(slot)
    }

    fn set(&mut self, slot: Slot, page: Ppa) {
        let at = self.entries.logical_page(slot);
        self.forget(at);
        self.stripes.programmed(page, self.shape.filler(at, false));
        self.entries.set(slot, page);
    }

    fn step(&mut self, at: Lpn) -> Step {
        let step = self.entries.step(at);
        match (step, self.by_line(at)) {
            (Step::Read(_), Some(page)) => Step::Found(self.entries.put(at, page)),
            (step, _) => step,
        }
    }

    fn take_in(&mut self, first: Lpn, bytes: &[u8]) {
        self.entries.take_in(first, bytes);
    }

    fn predicted(&self, at: Lpn) -> Option<Ppa> {
        if self.entries.find(at).is_some() {
            return None;
        }
        self.by_line(at)
    }

    fn learn(&mut self, map_page: u32, bytes: &[u8]) {
        let model = &mut self.models[map_page as usize];
        if model.in_order < self.shape.per_map_page / 16 {
            return;
        }
        model.in_order = 0;
        let pages = self.shape.pages_of(map_page);
        let entries: Vec<Ppa> = entries(bytes).take(pages.len()).collect();
        let trained = Model::trained(&entries, self.options.pieces, &self.stripes);
        let model = &mut self.models[map_page as usize];
        if trained.count >= model.count {
            *model = trained;
        }
    }

    fn moved(&mut self, at: Lpn, to: Ppa) -> bool {
        self.forget(at);
        self.stripes.programmed(to, self.shape.filler(at, true));
        self.entries.moved(at, to)
    }

    fn peek(&self, at: Lpn) -> Option<Ppa> {
        self.entries.peek(at).or_else(|| self.by_line(at))
    }

    fn set_changed(&self, map_page: u32, bytes: &mut [u8]) {
        self.entries.set_changed(map_page, bytes);
    }

    fn written(&mut self, map_page: u32) {
        self.entries.written(map_page);
    }

    fn clean(&mut self, at: Lpn) {
        self.entries.clean(at);
    }

    fn adopt(&mut self, changed: &[(Lpn, Ppa)]) -> bool {
        self.entries.adopt(changed)
    }

    fn begun(&mut self, first: Ppa, at: Lpn) {
        self.stripes.programmed(first, self.shape.filler(at, false));
    }

    fn each(&self, tell: &mut dyn FnMut(Lpn, Ppa, bool)) {
        for at in (0..self.shape.logical_pages).map(Lpn) {
            if let Some(page) = self.predicted(at) {
                tell(at, page, false);
            }
        }
        for model in &self.models {
            let right: u32 = model.right.iter().map(|word| word.count_ones()).sum();
            assert_eq!(right, model.count, "entries whose line is right");
            assert!(model.lines.len() as u32 <= self.options.pieces, "{} lines", model.lines.len());
        }
        self.entries.each(tell);
    }

    fn expect(&mut self, first: Lpn, pages: u32) {
        self.entries.expect(first, pages);
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        self.entries.prefetch(at);
    }

    #[inline]
    fn prefetch_entry(&self, at: Lpn) {
        self.entries.prefetch_entry(at);
    }

    fn ram(&self, ram: &mut RamUse) {
        self.entries.ram(ram);
        ram.sram.insert("models", self.options.model_bytes(self.shape.per_map_page, self.shape.map_pages()));
        ram.sram.insert("stripes", self.stripes.bytes());
    }
}

#[cfg(test)]
mod tests;

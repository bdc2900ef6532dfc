//! LeaFTL: whole map pages in memory, as lines close to the pages.
//!
//! ## Idea
//! Pages written in logical order lie on a line, whatever the gaps between their numbers. Within a group of 256 logical
//! pages a segment stands for them all, in eight bytes. A segment with regular gaps is *accurate*. Any other is
//! *approximate*: it misses a page by `error_bound` at most, and its logical pages are listed, one byte each. A read at the
//! wrong page finds the right one's place in the spare area there, and reads once more.
//!
//! ## Write path
//! 1. A miss reads the map page and draws lines through all its entries.
//! 2. A changed entry waits as it is, eight bytes. Once `learned_at` entries wait, lines are drawn through them, group by
//!    group in logical order. The new segments are asked before the older ones and take shared logical pages from them; an
//!    empty segment is gone.
//! 3. While memory is over its budget, the map page used least recently leaves; with a changed entry it is written first,
//!    and need not be read for it.
//!
//! ## Recovery
//! As DFTL: the cache is memory. Blocks go to stripes (`stripes.rs`) again in the order they were begun.
//!
//! ## Invariants
//! Every entry in memory waits, or has a segment giving its number to within the bound. `check()` counts the bytes for all
//! segments and waiting entries again.
//!
//! ## Differences
//! The paper keeps 8 MB for written pages, and sorts a block's pages before they go to flash. Here a write buffer above does
//! this, if the experiment has one; without it, pages written in any order make short segments. Map pages on flash have
//! entries as with DFTL, not segments, so a map page coming back is learned anew and has no older segments. Segments lie in
//! levels there for a faster search; here they stand in one order, with the same bytes. There, compaction removes hidden
//! logical pages from older segments every million writes; here each new segment does. A trim is a segment without pages;
//! the paper has none. The spare area does not really store the neighbours' logical pages: the simulator knows the right
//! page, and `check()` asserts the bound. A superseded or moved page is found without a wrong read, also one
//! read for a partial write.
//!
//! ## References
//! J. Sun, S. Li, Y. Sun, C. Sun, D. Vucinic, J. Huang: LeaFTL: A Learning-Based Flash Translation Layer for Solid-State
//! Drives. ASPLOS 2023.

mod segment;

use super::stripes::Stripes;
use super::whole_pages::WholePages;
use super::{MapCache, Shape, Slot, Step, BYTES};
use crate::options::options;
use crate::parts::map_entries::{entries, fill};
use crate::{error, FtlError, RamUse};
use nandlab_nand::{Lpn, Ppa};
use segment::{has, learn, Says, Segment, GROUP};

options! {
    Options
    /// LeaFTL's options.
    #[derive(Eq)]
    {
        /// Pages by which a segment may miss, from 0 to 64. Default 4; the paper measures 0, 1, 4 and 16.
        error_bound: u32 = 4,
        /// Changed entries waiting until lines are drawn through them. From 1 to 65,536. Default 256, a flash block of the
        /// paper.
        learned_at: u32 = 256,
    }
}

/// Bytes of a map page's place in memory.
const HEAD: u64 = 8;

impl Options {
    /// The smallest budget: a map page without a line, and the entries that wait.
    pub(super) fn least_bytes(self, per_map_page: u32) -> Result<u64, FtlError> {
        error::in_range("ftl.dftl.cache.leaftl.error_bound", self.error_bound, 0..=64)?;
        error::in_range("ftl.dftl.cache.leaftl.learned_at", self.learned_at, 1..=1 << 16)?;
        Ok(self.whole_bytes(per_map_page, 1))
    }

    /// The least bytes with which nothing ever leaves.
    pub(super) fn whole_bytes(self, per_map_page: u32, map_pages: u32) -> u64 {
        (HEAD + BYTES * u64::from(per_map_page)) * u64::from(map_pages) + BYTES * u64::from(self.learned_at)
    }
}

fn bytes_of(groups: &[Vec<Segment>]) -> u64 {
    groups.iter().flatten().map(Segment::bytes).sum()
}

/// A map page in memory. The simulator keeps every entry, firmware the segments alone.
#[derive(Debug, Default)]
struct Page {
    entries: Vec<Ppa>,
    /// A bit for each waiting entry.
    waiting: Vec<u64>,
    waits: u32,
    is_dirty: bool,
    /// Bytes of its segments.
    bytes_of_segments: u64,
    /// By group: the segments, the newest first.
    groups: Vec<Vec<Segment>>,
}

impl Page {
    fn loaded(entries: Vec<Ppa>, bound: u32, stripes: &Stripes) -> Self {
        let of_group = |entries: &[Ppa]| {
            let mapped: Vec<_> = (0..).zip(entries).map(|(place, &page)| (place, page)).collect();
            let mut segments = Vec::with_capacity(mapped.len());
            learn(&mapped, bound, stripes, |segment| {
                if segment.says != Says::Nothing {
                    segments.push(segment);
                }
            });
            segments
        };
        let groups: Vec<Vec<Segment>> = entries.chunks(GROUP as usize).map(of_group).collect();
        Self {
            bytes_of_segments: bytes_of(&groups),
            groups,
            waiting: vec![0; entries.len().div_ceil(64)],
            waits: 0,
            is_dirty: false,
            entries,
        }
    }

    fn bytes(&self) -> u64 {
        HEAD + BYTES * u64::from(self.waits) + self.bytes_of_segments
    }

    fn set(&mut self, place: u32, page: Ppa) {
        self.entries[place as usize] = page;
        self.is_dirty = true;
        self.waits += u32::from(!has(&self.waiting, place));
        self.waiting[place as usize / 64] |= 1 << (place % 64);
    }

    /// Draws lines through the waiting entries.
    fn learn(&mut self, bound: u32, stripes: &Stripes) {
        for (group, segments) in (0..).zip(&mut self.groups) {
            let first = group * GROUP;
            let words = (first / 64) as usize..self.waiting.len().min((first / 64 + GROUP / 64) as usize);
            let changed = &self.waiting[words];
            if changed.iter().all(|&word| word == 0) {
                continue;
            }
            for older in segments.iter_mut() {
                older.places.iter_mut().zip(changed).for_each(|(places, changed)| *places &= !changed);
                older.shorten(&self.entries[first as usize..]);
            }
            let places = first..(first + GROUP).min(self.entries.len() as u32);
            let points: Vec<_> = places
                .filter(|&place| has(&self.waiting, place))
                .map(|place| (place - first, self.entries[place as usize]))
                .collect();
            let mut newer = Vec::new();
            learn(&points, bound, stripes, |segment| newer.push(segment));
            newer.extend(segments.drain(..).filter(|older| older.count() > 0));
            *segments = newer;
        }
        self.waiting.fill(0);
        self.waits = 0;
        self.bytes_of_segments = bytes_of(&self.groups);
    }

    /// An entry's segment, if it does not wait; none for an unmapped one.
    fn segment(&self, place: u32) -> Option<&Segment> {
        let in_group = place % GROUP;
        self.groups[(place / GROUP) as usize].iter().find(|segment| has(&segment.places, in_group))
    }

    /// Pages by which memory misses an entry; `u32::MAX` if it knows none.
    fn missed_by(&self, place: u32, stripes: &Stripes) -> u32 {
        let entry = self.entries[place as usize];
        match self.segment(place).filter(|_| !has(&self.waiting, place)).map(|segment| segment.says) {
            Some(Says::Accurate(line) | Says::Near(line)) => {
                stripes.number(entry).map_or(u32::MAX, |number| line.at(place % GROUP).abs_diff(number))
            }
            _ if self.given(place, stripes) == Some(entry) => 0,
            _ => u32::MAX,
        }
    }

    /// The page given by memory.
    fn given(&self, place: u32, stripes: &Stripes) -> Option<Ppa> {
        if has(&self.waiting, place) {
            return Some(self.entries[place as usize]);
        }
        self.segment(place).map_or(Some(Ppa::NONE), |segment| segment.page(place % GROUP, stripes))
    }
}

/// Map pages as segments.
#[derive(Debug)]
pub(super) struct Segments {
    shape: Shape,
    options: Options,
    pages: WholePages<Page>,
    stripes: Stripes,
    bytes: u64,
    /// Waiting entries, in all map pages.
    waits: u32,
    /// The running request's logical page: its entry stays.
    current: Lpn,
}

impl Segments {
    pub(super) fn new(shape: Shape, options: Options) -> Self {
        Self {
            options,
            pages: WholePages::new(shape.map_pages()),
            stripes: shape.stripes(),
            bytes: 0,
            waits: 0,
            current: Lpn(0),
            shape,
        }
    }

    /// Changes an entry in memory; false if it is not there.
    fn change(&mut self, at: Lpn, to: Ppa) -> bool {
        let Some(page) = self.pages.get_mut(self.shape.map_page(at)) else { return false };
        let before = page.waits;
        page.set(at.0 % self.shape.per_map_page, to);
        let more = page.waits - before;
        self.waits += more;
        self.bytes += BYTES * u64::from(more);
        if self.waits >= self.options.learned_at {
            self.learn_all();
        }
        true
    }

    #[cold]
    fn learn_all(&mut self) {
        for page in self.pages.iter_mut().filter(|page| page.waits > 0) {
            self.bytes -= page.bytes();
            page.learn(self.options.error_bound, &self.stripes);
            self.bytes += page.bytes();
        }
        self.waits = 0;
    }

    /// Makes a map page leave; answers with the map page to write first.
    fn evict(&mut self) -> Option<Step> {
        self.pages.renew(self.shape.map_page(self.current));
        let (victim, page) = self.pages.oldest().expect("what is over its budget has a map page");
        assert_ne!(victim, self.shape.map_page(self.current), "one map page alone is within the budget");
        if page.is_dirty {
            return Some(Step::Write(victim));
        }
        self.bytes -= page.bytes();
        self.waits -= page.waits;
        self.pages.remove(victim);
        None
    }
}

/// A slot is the logical page's number.
impl MapCache for Segments {
    #[inline]
    fn find(&self, at: Lpn) -> Option<Slot> {
        let is_here = self.bytes <= self.shape.budget_bytes && self.pages.get(self.shape.map_page(at)).is_some();
        is_here.then_some(at.0)
    }

    #[inline]
    fn touch(&mut self, slot: Slot) {
        self.current = Lpn(slot);
        self.pages.renew(self.shape.map_page(self.current));
    }

    #[inline]
    fn page(&self, slot: Slot) -> Ppa {
        let page = self.pages.get(self.shape.map_page(Lpn(slot))).expect("an entry stays until the next step");
        page.entries[(slot % self.shape.per_map_page) as usize]
    }

    fn set(&mut self, slot: Slot, page: Ppa) {
        self.stripes.programmed(page, self.shape.filler(Lpn(slot), false));
        let is_here = self.change(Lpn(slot), page);
        debug_assert!(is_here, "entry {slot} has left");
    }

    fn step(&mut self, at: Lpn) -> Step {
        self.current = at;
        if self.pages.get(self.shape.map_page(at)).is_none() {
            return Step::Read(Lpn(self.shape.map_page(at) * self.shape.per_map_page));
        }
        while self.bytes > self.shape.budget_bytes {
            if let Some(step) = self.evict() {
                return step;
            }
        }
        self.touch(at.0);
        Step::Found(at.0)
    }

    fn take_in(&mut self, first: Lpn, bytes: &[u8]) {
        let map_page = self.shape.map_page(first);
        let count = self.shape.pages_of(map_page).len();
        let loaded = Page::loaded(entries(bytes).take(count).collect(), self.options.error_bound, &self.stripes);
        self.bytes += loaded.bytes();
        self.pages.insert(map_page, |page| *page = loaded);
    }

    fn mistaken(&self, slot: Slot) -> Option<Ppa> {
        let page = self.pages.get(self.shape.map_page(Lpn(slot)))?;
        let place = slot % self.shape.per_map_page;
        let entry = page.entries[place as usize];
        match page.given(place, &self.stripes) {
            Some(given) => (given != entry).then_some(given),
            // No page has the number; a read costs the same anywhere.
            None => Some(entry),
        }
    }

    fn moved(&mut self, at: Lpn, to: Ppa) -> bool {
        self.stripes.programmed(to, self.shape.filler(at, true));
        self.change(at, to)
    }

    fn peek(&self, at: Lpn) -> Option<Ppa> {
        self.pages.get(self.shape.map_page(at)).map(|_| self.page(at.0))
    }

    fn set_changed(&self, _map_page: u32, _bytes: &mut [u8]) {}

    fn whole(&self, map_page: u32, bytes: &mut [u8]) -> bool {
        let page = self.pages.get(map_page);
        page.into_iter().for_each(|page| {
            bytes.fill(u8::MAX);
            fill(bytes, &page.entries);
        });
        page.is_some()
    }

    fn written(&mut self, map_page: u32) {
        if let Some(page) = self.pages.get_mut(map_page) {
            page.is_dirty = false;
        }
    }

    /// A changed entry needs its map page here.
    fn adopt(&mut self, changed: &[(Lpn, Ppa)]) -> bool {
        changed.is_empty()
    }

    fn begun(&mut self, first: Ppa, at: Lpn) {
        self.stripes.programmed(first, self.shape.filler(at, false));
    }

    fn each(&self, tell: &mut dyn FnMut(Lpn, Ppa, bool)) {
        let (mut bytes, mut waits) = (0, 0);
        for (map_page, page) in self.pages.iter() {
            assert_eq!(page.bytes_of_segments, bytes_of(&page.groups), "bytes of segments");
            bytes += page.bytes();
            waits += page.waits;
            let first = map_page * self.shape.per_map_page;
            for (place, &entry) in (0..).zip(&page.entries) {
                let missed = page.missed_by(place, &self.stripes);
                assert!(missed <= self.options.error_bound, "{} is missed by {missed} pages", Lpn(first + place));
                tell(Lpn(first + place), entry, page.is_dirty);
            }
        }
        assert_eq!((bytes, waits), (self.bytes, self.waits), "bytes of segments, and entries that wait");
    }

    fn ram(&self, ram: &mut RamUse) {
        let pages = (self.shape.budget_bytes / (HEAD + BYTES)).min(u64::from(self.shape.map_pages()));
        let whole = self.options.whole_bytes(self.shape.per_map_page, self.shape.map_pages());
        ram.sram.insert("cmt", self.shape.budget_bytes.min(whole));
        ram.sram.insert("cmt_lists", 12 * pages);
        ram.sram.insert("stripes", self.stripes.bytes());
    }
}

#[cfg(test)]
mod tests;

//! S-FTL: whole map pages in memory, as runs of sequential entries.
//!
//! ## Idea
//! A map page written in order names pages in order. In memory it needs only the first page of each run, and a bit
//! for each entry that tells whether a run begins there. So a map page comes into memory as a whole, and takes the less
//! room the more sequential it is. A map page with few changed entries leaves them in a small buffer and goes without being
//! written.
//!
//! ## Write path
//! 1. A miss reads the map page as a whole. Its entries in the buffer come back to it.
//! 2. A changed entry may cut a run in up to three: the map page grows by four bytes for each new run.
//! 3. While memory is over its budget, the map page used least recently leaves. With no changed entry it is dropped. With
//!    `sparse_entries` or fewer they go to the buffer. With more it is written; it need not be read before.
//! 4. If the buffer has no room, the map page with the most entries there is read, changed and written first.
//!
//! ## Recovery
//! As DFTL: the cache is memory. A mount puts missing entries into the buffer as long as it has room.
//!
//! ## Invariants
//! A map page in memory has no entry in the buffer. The bytes are those of all runs, derived again by `check()`.
//!
//! ## Differences
//! The paper has one chip. On several dies sequential entries lie on the dies in turn: here an entry continues a run if
//! it names the page behind the one that the entry as many places before as there are dies names. On one die this is the
//! paper's run. An unmapped entry continues unmapped ones.
//!
//! A map page takes eight bytes, four for each run, and two bits for each entry: one for the runs, one for its mark. The
//! size of the buffer, and below how many changed entries a map page counts as sparse, are open in what we know of the
//! paper: options. Memory may be over its budget until the next request, by eight bytes for a page written and for
//! each page that collection moves.
//!
//! ## References
//! S. Jiang, L. Zhang, X. Yuan, H. Hu, Y. Chen: S-FTL: An Efficient Address Translation for Flash Memory by Exploiting
//! Spatial Locality. MSST 2011.

use super::whole_pages::WholePages;
use super::{MapCache, Shape, Slot, Step, BYTES};
use crate::options::options;
use crate::parts::map_entries::{entries, fill, set_entry};
use crate::{error, FtlError, RamUse};
use nandlab_nand::{Lpn, Ppa};
use std::cmp::Reverse;
use std::collections::BTreeSet;

options! {
    Options
    /// S-FTL's options.
    #[derive(Eq)]
    {
        /// Share of the memory for the buffer of changed entries, eight bytes each. From 0 to 50 percent. Default 10.
        buffer_percent: u32 = 10,
        /// The most changed entries with which a map page leaves without being written. Default 16.
        sparse_entries: u32 = 16,
    }
}

/// Bytes of a run: its first page.
const RUN: u64 = 4;

/// Bytes of a map page with so many runs.
fn page_bytes(per_map_page: u32, runs: u32) -> u64 {
    8 + RUN * u64::from(runs) + u64::from(per_map_page.div_ceil(4))
}

impl Options {
    /// The smallest budget: a map page without sequential entries, and the buffer.
    pub(super) fn least_bytes(self, per_map_page: u32) -> Result<u64, FtlError> {
        error::in_range("ftl.dftl.cache.sftl.buffer_percent", self.buffer_percent, 0..=50)?;
        let share = u64::from(100 - self.buffer_percent);
        Ok((page_bytes(per_map_page, per_map_page) * 100).div_ceil(share))
    }

    /// The least bytes with which nothing ever leaves.
    pub(super) fn whole_bytes(self, per_map_page: u32, map_pages: u32) -> u64 {
        let pages = page_bytes(per_map_page, per_map_page) * u64::from(map_pages);
        (pages * 100).div_ceil(u64::from(100 - self.buffer_percent))
    }

    /// Entries in the buffer.
    fn buffered(self, budget_bytes: u64) -> usize {
        (budget_bytes * u64::from(self.buffer_percent) / 100 / BYTES) as usize
    }
}

/// A map page in memory. The simulator keeps every entry; `runs` tells what firmware would keep.
#[derive(Debug, Default)]
struct Page {
    entries: Vec<Ppa>,
    /// A bit for each entry.
    marks: Vec<u64>,
    dirty: u32,
    runs: u32,
}

/// Whether an entry goes on with the run of the entry before it.
#[inline]
fn goes_on(before: Ppa, page: Ppa) -> bool {
    let is_next = page.0 == before.0.wrapping_add(1);
    let are_mapped = before.is_some() & page.is_some();
    (are_mapped & is_next) | (!before.is_some() & !page.is_some())
}

impl Page {
    /// Becomes a map page with these bytes, unmarked.
    fn load(&mut self, bytes: &[u8], dies: usize) {
        self.entries.clear();
        self.entries.extend(entries(bytes));
        self.clean();
        self.runs = self.count_runs(dies);
    }

    fn clean(&mut self) {
        self.dirty = 0;
        self.marks.clear();
        self.marks.resize(self.entries.len().div_ceil(64), 0);
    }

    fn is_dirty(&self, place: usize) -> bool {
        self.marks[place / 64] >> (place % 64) & 1 == 1
    }

    /// The places of marked entries.
    fn marked(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.marks.iter().enumerate().filter(|&(_, &word)| word != 0);
        words.flat_map(|(at, &word)| {
            let next = |left: u64| (left != 0).then_some(left);
            std::iter::successors(next(word), move |&left| next(left & (left - 1)))
                .map(move |left| 64 * at + left.trailing_zeros() as usize)
        })
    }

    /// Whether a run begins at an entry.
    fn begins(&self, place: usize, dies: usize) -> bool {
        place < dies || !goes_on(self.entries[place - dies], self.entries[place])
    }

    fn count_runs(&self, dies: usize) -> u32 {
        let first = dies.min(self.entries.len());
        let pairs = self.entries.iter().zip(&self.entries[first..]);
        first as u32 + pairs.map(|(&before, &page)| u32::from(!goes_on(before, page))).sum::<u32>()
    }

    /// Changes an entry and marks it.
    fn set(&mut self, place: usize, page: Ppa, dies: usize) {
        let runs = |this: &Self| {
            let next = (place + dies < this.entries.len()).then_some(place + dies);
            [Some(place), next].into_iter().flatten().filter(|&place| this.begins(place, dies)).count() as u32
        };
        self.runs -= runs(self);
        self.entries[place] = page;
        self.runs += runs(self);
        self.dirty += u32::from(!self.is_dirty(place));
        self.marks[place / 64] |= 1 << (place % 64);
    }
}

/// Changed entries without their map pages.
#[derive(Debug)]
struct Buffer {
    /// By map page.
    entries: Vec<Vec<(Lpn, Ppa)>>,
    /// The map pages with entries, by their number.
    by_count: BTreeSet<(usize, Reverse<u32>)>,
    count: usize,
    most: usize,
}

impl Buffer {
    fn new(map_pages: u32, most: usize) -> Self {
        Self { entries: vec![Vec::new(); map_pages as usize], by_count: BTreeSet::new(), count: 0, most }
    }

    fn room(&self) -> usize {
        self.most - self.count
    }

    fn of(&self, map_page: u32) -> &[(Lpn, Ppa)] {
        &self.entries[map_page as usize]
    }

    fn get(&self, map_page: u32, at: Lpn) -> Option<Ppa> {
        self.of(map_page).iter().find(|entry| entry.0 == at).map(|entry| entry.1)
    }

    /// Changes an entry; false if it is not here.
    fn set(&mut self, map_page: u32, at: Lpn, to: Ppa) -> bool {
        let entry = self.entries[map_page as usize].iter_mut().find(|entry| entry.0 == at);
        let is_here = entry.is_some();
        entry.into_iter().for_each(|entry| entry.1 = to);
        is_here
    }

    /// Adds entries that are not here.
    fn put(&mut self, map_page: u32, added: impl Iterator<Item = (Lpn, Ppa)>) {
        let before = self.of(map_page).len();
        self.by_count.remove(&(before, Reverse(map_page)));
        self.entries[map_page as usize].extend(added);
        let after = self.of(map_page).len();
        self.count += after - before;
        if after > 0 {
            self.by_count.insert((after, Reverse(map_page)));
        }
    }

    /// Removes a map page's entries, except `kept`'s.
    fn remove(&mut self, map_page: u32, kept: Option<Lpn>) {
        let before = self.of(map_page).len();
        if before == 0 {
            return;
        }
        self.by_count.remove(&(before, Reverse(map_page)));
        self.count -= before;
        let left = kept.and_then(|at| Some((at, self.get(map_page, at)?)));
        self.entries[map_page as usize].clear();
        if let Some(entry) = left {
            self.put(map_page, std::iter::once(entry));
        }
    }

    /// The map page with the most entries here, except `spared`; the lowest number among equals.
    fn fullest(&self, spared: u32) -> Option<u32> {
        self.by_count.iter().rev().map(|&(_, Reverse(map_page))| map_page).find(|&map_page| map_page != spared)
    }
}

/// Map pages, and the buffer.
#[derive(Debug)]
pub(super) struct Runs {
    shape: Shape,
    dies: usize,
    sparse: u32,
    pages: WholePages<Page>,
    buffer: Buffer,
    /// Bytes of all map pages, and the most.
    bytes: u64,
    most_bytes: u64,
    /// The logical page of the request that runs: its entry stays where it is.
    current: Lpn,
}

impl Runs {
    pub(super) fn new(shape: Shape, options: Options) -> Self {
        let most = options.buffered(shape.budget_bytes);
        Self {
            dies: shape.dies as usize,
            sparse: options.sparse_entries,
            pages: WholePages::new(shape.map_pages()),
            buffer: Buffer::new(shape.map_pages(), most),
            bytes: 0,
            most_bytes: shape.budget_bytes - most as u64 * BYTES,
            current: Lpn(0),
            shape,
        }
    }

    #[inline]
    fn page_of(&self, at: Lpn) -> Option<&Page> {
        self.pages.get(self.shape.map_page(at))
    }

    fn is_buffered(&self, at: Lpn) -> bool {
        self.buffer.get(self.shape.map_page(at), at).is_some()
    }

    /// Changes an entry in memory and marks it; false if it is not there.
    fn change(&mut self, at: Lpn, to: Ppa) -> bool {
        if let Some(page) = self.pages.get_mut(self.shape.map_page(at)) {
            self.bytes -= page_bytes(self.shape.per_map_page, page.runs);
            page.set((at.0 % self.shape.per_map_page) as usize, to, self.dies);
            self.bytes += page_bytes(self.shape.per_map_page, page.runs);
            return true;
        }
        self.buffer.set(self.shape.map_page(at), at, to)
    }

    /// Makes the map page used least recently leave, but not the one of the request that runs; answers with the map page
    /// to write first.
    fn evict(&mut self) -> Option<Step> {
        self.pages.renew(self.shape.map_page(self.current));
        let (map_page, page) = self.pages.oldest().expect("what is over its budget has a map page");
        let (dirty, runs) = (page.dirty, page.runs);
        if dirty > 0 {
            if dirty > self.sparse || dirty as usize > self.buffer.most {
                return Some(Step::Write(map_page));
            }
            if dirty as usize > self.buffer.room() {
                let fullest = self.buffer.fullest(self.shape.map_page(self.current));
                return Some(Step::Write(fullest.unwrap_or(map_page)));
            }
            let first = map_page * self.shape.per_map_page;
            let marked = page.marked().map(|place| (Lpn(first + place as u32), page.entries[place]));
            self.buffer.put(map_page, marked);
        }
        self.bytes -= page_bytes(self.shape.per_map_page, runs);
        self.pages.remove(map_page);
        None
    }
}

/// A slot is the logical page's number.
impl MapCache for Runs {
    #[inline]
    fn find(&self, at: Lpn) -> Option<Slot> {
        let is_here = self.bytes <= self.most_bytes && (self.page_of(at).is_some() || self.is_buffered(at));
        is_here.then_some(at.0)
    }

    #[inline]
    fn touch(&mut self, slot: Slot) {
        self.current = Lpn(slot);
        self.pages.renew(self.shape.map_page(self.current));
    }

    #[inline]
    fn page(&self, slot: Slot) -> Ppa {
        let at = Lpn(slot);
        match self.page_of(at) {
            Some(page) => page.entries[(slot % self.shape.per_map_page) as usize],
            None => self.buffer.get(self.shape.map_page(at), at).expect("an entry stays until the next step"),
        }
    }

    #[inline]
    fn set(&mut self, slot: Slot, page: Ppa) {
        let is_here = self.change(Lpn(slot), page);
        debug_assert!(is_here, "entry {slot} has left");
    }

    fn step(&mut self, at: Lpn) -> Step {
        self.current = at;
        if self.page_of(at).is_none() && !self.is_buffered(at) {
            return Step::Read(Lpn(self.shape.map_page(at) * self.shape.per_map_page));
        }
        while self.bytes > self.most_bytes {
            if let Some(step) = self.evict() {
                return step;
            }
        }
        self.touch(at.0);
        Step::Found(at.0)
    }

    fn take_in(&mut self, first: Lpn, bytes: &[u8]) {
        let map_page = self.shape.map_page(first);
        let Self { pages, buffer, bytes: all_bytes, .. } = self;
        pages.insert(map_page, |page| {
            page.load(bytes, self.dies);
            for &(at, to) in buffer.of(map_page) {
                page.set((at.0 % self.shape.per_map_page) as usize, to, self.dies);
            }
            *all_bytes += page_bytes(self.shape.per_map_page, page.runs);
        });
        self.buffer.remove(map_page, None);
    }

    fn moved(&mut self, at: Lpn, to: Ppa) -> bool {
        self.change(at, to)
    }

    fn peek(&self, at: Lpn) -> Option<Ppa> {
        (self.page_of(at).is_some() || self.is_buffered(at)).then(|| self.page(at.0))
    }

    fn set_changed(&self, map_page: u32, bytes: &mut [u8]) {
        for &(at, page) in self.buffer.of(map_page) {
            set_entry(bytes, at.0 % self.shape.per_map_page, page);
        }
    }

    fn whole(&self, map_page: u32, bytes: &mut [u8]) -> bool {
        let page = self.pages.get(map_page);
        page.into_iter().for_each(|page| fill(bytes, &page.entries));
        page.is_some()
    }

    fn written(&mut self, map_page: u32) {
        if let Some(page) = self.pages.get_mut(map_page) {
            page.clean();
        }
        // The request that runs may be about to change its entry.
        self.buffer.remove(map_page, Some(self.current));
    }

    fn adopt(&mut self, changed: &[(Lpn, Ppa)]) -> bool {
        let has_room = changed.len() <= self.buffer.room();
        if has_room {
            for of_page in changed.chunk_by(|(a, _), (b, _)| self.shape.map_page(*a) == self.shape.map_page(*b)) {
                self.buffer.put(self.shape.map_page(of_page[0].0), of_page.iter().copied());
            }
        }
        has_room
    }

    fn each(&self, tell: &mut dyn FnMut(Lpn, Ppa, bool)) {
        let mut bytes = 0;
        for (map_page, page) in self.pages.iter() {
            bytes += page_bytes(self.shape.per_map_page, page.count_runs(self.dies));
            let logical = self.shape.pages_of(map_page).map(Lpn);
            for (place, (at, &entry)) in logical.zip(&page.entries).enumerate() {
                tell(at, entry, page.is_dirty(place));
            }
        }
        assert_eq!(bytes, self.bytes, "bytes of all runs");
        for (map_page, entries) in (0..).zip(&self.buffer.entries).filter(|(_, entries)| !entries.is_empty()) {
            assert!(self.pages.get(map_page).is_none(), "a map page is in memory beside its entries");
            entries.iter().for_each(|&(at, page)| tell(at, page, true));
        }
    }

    fn ram(&self, ram: &mut RamUse) {
        let Shape { per_map_page, budget_bytes, dies, .. } = self.shape;
        let least = page_bytes(per_map_page, dies.min(per_map_page));
        let pages = (self.most_bytes / least).min(u64::from(self.shape.map_pages()));
        ram.sram.insert("cmt", budget_bytes);
        ram.sram.insert("cmt_lists", 12 * pages);
    }
}

#[cfg(test)]
mod tests;

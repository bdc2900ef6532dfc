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

use super::table::{Linked, Links, List};
use super::{MapCache, Shape, Slot, Step, BYTES, NONE};
use crate::options::options;
use crate::parts::map_entries::{entries, set_entry};
use crate::{error, FtlError, RamUse};
use nandlab_nand::{Lpn, Ppa};
use std::collections::BTreeMap;

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
#[derive(Debug)]
struct Page {
    map_page: u32,
    entries: Vec<Ppa>,
    is_dirty: Vec<bool>,
    dirty: u32,
    runs: u32,
    links: Links,
}

impl Linked for Page {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Page {
    /// Whether a run begins at an entry.
    fn begins(&self, place: usize, dies: usize) -> bool {
        let Some(before) = place.checked_sub(dies).map(|before| self.entries[before]) else { return true };
        let page = self.entries[place];
        if page.is_some() && before.is_some() {
            page.0 != before.0 + 1
        } else {
            page.is_some() != before.is_some()
        }
    }

    fn count_runs(&self, dies: usize) -> u32 {
        (0..self.entries.len()).filter(|&place| self.begins(place, dies)).count() as u32
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
        self.dirty += u32::from(!std::mem::replace(&mut self.is_dirty[place], true));
    }
}

/// Changed entries without their map pages.
#[derive(Debug)]
struct Buffer {
    /// By map page.
    entries: BTreeMap<u32, BTreeMap<Lpn, Ppa>>,
    count: usize,
    most: usize,
}

impl Buffer {
    fn room(&self) -> usize {
        self.most - self.count
    }

    fn of(&self, map_page: u32) -> impl Iterator<Item = (Lpn, Ppa)> + '_ {
        self.entries.get(&map_page).into_iter().flatten().map(|(&at, &page)| (at, page))
    }

    fn entry(&mut self, map_page: u32, at: Lpn) -> Option<&mut Ppa> {
        self.entries.get_mut(&map_page)?.get_mut(&at)
    }

    fn put(&mut self, map_page: u32, at: Lpn, page: Ppa) {
        let old = self.entries.entry(map_page).or_default().insert(at, page);
        self.count += usize::from(old.is_none());
    }

    /// Removes a map page's entries.
    fn take(&mut self, map_page: u32) -> BTreeMap<Lpn, Ppa> {
        let taken = self.entries.remove(&map_page).unwrap_or_default();
        self.count -= taken.len();
        taken
    }

    /// The map page with the most entries here, except `spared`.
    fn fullest(&self, spared: u32) -> Option<u32> {
        let others = self.entries.iter().filter(|&(&map_page, _)| map_page != spared);
        others.max_by_key(|(&map_page, entries)| (entries.len(), std::cmp::Reverse(map_page))).map(|(&at, _)| at)
    }
}

/// Map pages, and the buffer.
#[derive(Debug)]
pub(super) struct Runs {
    shape: Shape,
    dies: usize,
    sparse: u32,
    pages: Vec<Page>,
    free: Vec<Slot>,
    by_use: List,
    /// By map page: its place in memory.
    places: Vec<Slot>,
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
            pages: Vec::new(),
            free: Vec::new(),
            by_use: List::EMPTY,
            places: vec![NONE; shape.map_pages() as usize],
            buffer: Buffer { entries: BTreeMap::new(), count: 0, most },
            bytes: 0,
            most_bytes: shape.budget_bytes - most as u64 * BYTES,
            current: Lpn(0),
            shape,
        }
    }

    fn bytes_of(&self, place: Slot) -> u64 {
        page_bytes(self.shape.per_map_page, self.pages[place as usize].runs)
    }

    #[inline]
    fn place(&self, at: Lpn) -> Option<usize> {
        Some(self.places[self.shape.map_page(at) as usize]).filter(|&place| place != NONE).map(|place| place as usize)
    }

    fn is_buffered(&self, at: Lpn) -> bool {
        self.buffer.entries.get(&self.shape.map_page(at)).is_some_and(|entries| entries.contains_key(&at))
    }

    /// Changes an entry in memory and marks it; false if it is not there.
    fn change(&mut self, at: Lpn, to: Ppa) -> bool {
        let map_page = self.shape.map_page(at);
        if let Some(place) = self.place(at) {
            self.bytes -= self.bytes_of(place as Slot);
            self.pages[place].set((at.0 % self.shape.per_map_page) as usize, to, self.dies);
            self.bytes += self.bytes_of(place as Slot);
            return true;
        }
        let entry = self.buffer.entry(map_page, at);
        let is_here = entry.is_some();
        entry.into_iter().for_each(|entry| *entry = to);
        is_here
    }

    /// The map page that leaves: the one used least recently, except the one of the request that runs.
    fn victim(&mut self) -> Slot {
        let current = self.places[self.shape.map_page(self.current) as usize];
        if self.by_use.oldest == current {
            self.by_use.renew(&mut self.pages, current);
        }
        self.by_use.oldest
    }

    /// Makes a map page leave; answers with the map page to write first.
    fn evict(&mut self) -> Option<Step> {
        let victim = self.victim();
        let Page { map_page, dirty, .. } = self.pages[victim as usize];
        if dirty > 0 {
            if dirty > self.sparse || dirty as usize > self.buffer.most {
                return Some(Step::Write(map_page));
            }
            if dirty as usize > self.buffer.room() {
                let fullest = self.buffer.fullest(self.shape.map_page(self.current));
                return Some(Step::Write(fullest.unwrap_or(map_page)));
            }
            let first = map_page * self.shape.per_map_page;
            let page = &self.pages[victim as usize];
            for ((at, &entry), _) in (first..).zip(&page.entries).zip(&page.is_dirty).filter(|&(_, &is_dirty)| is_dirty)
            {
                self.buffer.put(map_page, Lpn(at), entry);
            }
        }
        self.bytes -= self.bytes_of(victim);
        self.by_use.unlink(&mut self.pages, victim);
        self.places[map_page as usize] = NONE;
        self.free.push(victim);
        None
    }
}

/// A slot is the logical page's number.
impl MapCache for Runs {
    #[inline]
    fn find(&self, at: Lpn) -> Option<Slot> {
        let is_here = self.bytes <= self.most_bytes && (self.place(at).is_some() || self.is_buffered(at));
        is_here.then_some(at.0)
    }

    #[inline]
    fn touch(&mut self, slot: Slot) {
        self.current = Lpn(slot);
        if let Some(place) = self.place(self.current) {
            self.by_use.renew(&mut self.pages, place as Slot);
        }
    }

    #[inline]
    fn page(&self, slot: Slot) -> Ppa {
        let at = Lpn(slot);
        match self.place(at) {
            Some(place) => self.pages[place].entries[(slot % self.shape.per_map_page) as usize],
            None => self.buffer.entries[&self.shape.map_page(at)][&at],
        }
    }

    #[inline]
    fn set(&mut self, slot: Slot, page: Ppa) {
        let is_here = self.change(Lpn(slot), page);
        debug_assert!(is_here, "entry {slot} has left");
    }

    fn step(&mut self, at: Lpn) -> Step {
        self.current = at;
        if self.place(at).is_none() && !self.is_buffered(at) {
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
        let entries: Vec<Ppa> = entries(bytes).collect();
        let is_dirty = vec![false; entries.len()];
        let mut page = Page { map_page, entries, is_dirty, dirty: 0, runs: 0, links: Links::NONE };
        page.runs = page.count_runs(self.dies);
        for (at, to) in self.buffer.take(map_page) {
            page.set((at.0 % self.shape.per_map_page) as usize, to, self.dies);
        }
        let place = match self.free.pop() {
            Some(place) => {
                self.pages[place as usize] = page;
                place
            }
            None => {
                self.pages.push(page);
                self.pages.len() as Slot - 1
            }
        };
        self.places[map_page as usize] = place;
        self.by_use.push(&mut self.pages, place);
        self.bytes += self.bytes_of(place);
    }

    fn moved(&mut self, at: Lpn, to: Ppa) -> bool {
        self.change(at, to)
    }

    fn peek(&self, at: Lpn) -> Option<Ppa> {
        (self.place(at).is_some() || self.is_buffered(at)).then(|| self.page(at.0))
    }

    fn changed(&self, map_page: u32, tell: &mut dyn FnMut(Lpn, Ppa)) {
        self.buffer.of(map_page).for_each(|(at, page)| tell(at, page));
    }

    fn whole(&self, map_page: u32, bytes: &mut [u8]) -> bool {
        let page = self.pages.get(self.places[map_page as usize] as usize);
        for (place, &entry) in page.iter().flat_map(|page| (0..).zip(&page.entries)) {
            set_entry(bytes, place, entry);
        }
        page.is_some()
    }

    fn written(&mut self, map_page: u32) {
        if let Some(page) = self.pages.get_mut(self.places[map_page as usize] as usize) {
            page.is_dirty.fill(false);
            page.dirty = 0;
        }
        // The request that runs may be about to change its entry.
        let kept = self.buffer.take(map_page).remove(&self.current);
        kept.into_iter().for_each(|page| self.buffer.put(map_page, self.current, page));
    }

    fn adopt(&mut self, changed: &[(Lpn, Ppa)]) -> bool {
        let has_room = changed.len() <= self.buffer.room();
        if has_room {
            changed.iter().for_each(|&(at, page)| self.buffer.put(self.shape.map_page(at), at, page));
        }
        has_room
    }

    fn each(&self, tell: &mut dyn FnMut(Lpn, Ppa, bool)) {
        let mut bytes = 0;
        for &place in self.places.iter().filter(|&&place| place != NONE) {
            let page = &self.pages[place as usize];
            bytes += page_bytes(self.shape.per_map_page, page.count_runs(self.dies));
            let logical = self.shape.pages_of(page.map_page).map(Lpn);
            for ((at, &entry), &is_dirty) in logical.zip(&page.entries).zip(&page.is_dirty) {
                tell(at, entry, is_dirty);
            }
        }
        assert_eq!(bytes, self.bytes, "bytes of all runs");
        for (&map_page, entries) in &self.buffer.entries {
            assert_eq!(self.places[map_page as usize], NONE, "map page {map_page} is in memory beside its entries");
            entries.iter().for_each(|(&at, &page)| tell(at, page, true));
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
mod tests {
    use super::*;

    const PER: u32 = 16;

    fn cache(budget_bytes: u64, options: Options, dies: u32) -> Runs {
        Runs::new(Shape { logical_pages: 1_000, per_map_page: PER, dies, budget_bytes }, options)
    }

    /// Asks for an entry as the scheme does, where entry `n` is page `n` on flash; returns the map pages read and written.
    fn ask(cache: &mut Runs, at: u32) -> (Vec<u32>, Vec<u32>) {
        let (mut read, mut written) = (Vec::new(), Vec::new());
        loop {
            match cache.step(Lpn(at)) {
                Step::Found(_) => return (read, written),
                Step::Write(map_page) => {
                    written.push(map_page);
                    cache.written(map_page);
                }
                Step::Read(first) => {
                    read.push(first.0 / PER);
                    let bytes: Vec<u8> = (first.0..first.0 + PER).flat_map(u32::to_le_bytes).collect();
                    cache.take_in(first, &bytes);
                }
            }
        }
    }

    /// An order of pages has one run; a change in its middle makes three, one at its end two; a page back in its place
    /// makes one again.
    #[test]
    fn a_change_cuts_a_run_in_up_to_three() {
        let mut cache = cache(1_000, Options::default(), 1);
        ask(&mut cache, 0);
        let mut runs = |at: u32, to: u32| {
            cache.set(at, Ppa(to));
            cache.each(&mut |_, _, _| ());
            (cache.pages[0].runs, cache.bytes)
        };
        assert_eq!(runs(5, 5), (1, 8 + 4 + 4));
        assert_eq!(runs(5, 90), (3, 8 + 12 + 4));
        assert_eq!(runs(6, 91), (3, 8 + 12 + 4));
        assert_eq!(runs(15, 7), (4, 8 + 16 + 4));
        assert_eq!(runs(15, 15), (3, 8 + 12 + 4));
        assert_eq!(runs(5, 5), (3, 8 + 12 + 4));
        assert_eq!(runs(6, 6), (1, 8 + 4 + 4));
    }

    #[test]
    fn pages_in_turn_on_four_dies_are_four_runs() {
        let mut cache = cache(1_000, Options::default(), 4);
        ask(&mut cache, 0);
        // Sixteen pages of four dies with a hundred pages each.
        (0..16).for_each(|at| cache.set(at, Ppa(at % 4 * 100 + at / 4)));
        assert_eq!(cache.pages[0].runs, 4);
        assert_eq!(cache.pages[0].count_runs(1), 16, "by the number alone there is no run");
    }

    #[test]
    fn few_changed_entries_wait_in_the_buffer_and_many_are_written() {
        // Room for two pages with one run, and three more runs; two entries in the buffer.
        let options = Options { buffer_percent: 25, sparse_entries: 2 };
        let mut cache = cache(64, options, 1);
        assert_eq!((cache.buffer.most, cache.most_bytes), (2, 48));
        ask(&mut cache, 0);
        cache.set(3, Ppa(500));
        assert_eq!(ask(&mut cache, 16), (vec![1], vec![]));
        assert_eq!(ask(&mut cache, 32), (vec![2], vec![]), "map page 0 goes, and its entry stays");
        assert_eq!(ask(&mut cache, 3), (vec![], vec![]), "and is found");
        assert_eq!(cache.page(3), Ppa(500));
        assert_eq!(ask(&mut cache, 4), (vec![0], vec![]), "the map page takes it back");
        assert_eq!((cache.page(3), cache.buffer.count), (Ppa(500), 0));
        [5, 7].iter().for_each(|&at| cache.set(at, Ppa(600 + at)));
        assert_eq!(ask(&mut cache, 48), (vec![3], vec![0]), "three changed entries are written");
    }

    #[test]
    fn a_full_buffer_gives_up_the_map_page_with_the_most_entries() {
        let options = Options { buffer_percent: 25, sparse_entries: 2 };
        let mut cache = cache(64, options, 1);
        for first in [0, 16] {
            ask(&mut cache, first);
            cache.set(first, Ppa(first));
        }
        ask(&mut cache, 32);
        ask(&mut cache, 48);
        ask(&mut cache, 64);
        assert_eq!(cache.buffer.count, 2);
        cache.set(64, Ppa(64));
        ask(&mut cache, 80);
        ask(&mut cache, 96);
        assert_eq!(ask(&mut cache, 112), (vec![7], vec![0]), "the first one among equals");
    }
}

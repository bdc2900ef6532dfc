//! CDFTL: cached entries, and behind them whole map pages.
//!
//! ## Idea
//! Entries that are asked for again stay in a table of entries (CMT), neighbours of entries come along in whole map
//! pages (CTP, cached translation pages). A changed entry that leaves the table goes to its map page in memory, which
//! costs nothing. Only map pages are written to flash, when they leave, with all that has changed in them.
//!
//! ## Write path
//! 1. An entry in the table is used at once.
//! 2. Otherwise it is copied there from its map page. A map page that is not in memory is read first, as a whole.
//! 3. A full table gives up the entry used least recently. If it has changed, it is set in its map page in memory, which is
//!    read if it is not there.
//! 4. Full room for map pages gives up the one used least recently. If it has changed, it is written, with the changed
//!    entries that the table still has of it. It need not be read before.
//!
//! ## Recovery
//! As DFTL: the cache is memory.
//!
//! ## Invariants
//! An unmarked entry in the table equals the one in its map page in memory, or else the one on flash. An unmarked map
//! page in memory equals the one on flash.
//!
//! ## Differences
//! The paper divides the memory by experiment; here `pages_percent` of it is for map pages, at least one, and no more than
//! the map has. What they leave is for entries, but no more than their share once the whole map is in memory. Both levels are in LRU order. A map page is used when an entry is copied out of it. The authors' later
//! article moves the boundary while it runs; this is the former one. An entry takes eight bytes and a map page four for
//! each entry, and eight more for its number and its mark.
//!
//! ## References
//! Z. Qin, Y. Wang, D. Liu, Z. Shao: A Two-Level Caching Mechanism for Demand-Based Page-Level Address Mapping in NAND
//! Flash Memory Storage Systems. RTAS 2011.

use super::table::{List, Table};
use super::whole_pages::WholePages;
use super::{MapCache, Shape, Slot, Step, BYTES};
use crate::options::options;
use crate::parts::map_entries::{entries, fill, ENTRY_BYTES};
use crate::{error, FtlError, RamUse};
use nandlab_nand::{Lpn, Ppa};

options! {
    Options
    /// CDFTL's option.
    #[derive(Eq)]
    {
        /// Share of the memory for whole map pages, at least one of them. From 1 to 99 percent. Default 50.
        pages_percent: u32 = 50,
    }
}

/// Least entries in the table.
const LEAST_ENTRIES: u64 = 2;

/// Bytes of a map page in memory.
fn page_bytes(per_map_page: u32) -> u64 {
    u64::from(ENTRY_BYTES * per_map_page) + 8
}

impl Options {
    /// The smallest budget: a map page and two entries.
    pub(super) fn least_bytes(self, per_map_page: u32) -> Result<u64, FtlError> {
        error::in_range("ftl.dftl.cache.cdftl.pages_percent", self.pages_percent, 1..=99)?;
        Ok(page_bytes(per_map_page) + LEAST_ENTRIES * BYTES)
    }

    /// The least bytes with which nothing ever leaves: all map pages are there, and two entries.
    pub(super) fn whole_bytes(self, per_map_page: u32, map_pages: u32) -> u64 {
        let pages = page_bytes(per_map_page) * u64::from(map_pages);
        (pages * 100).div_ceil(u64::from(self.pages_percent)).max(pages + LEAST_ENTRIES * BYTES)
    }

    /// Map pages and entries within a budget.
    fn divide(self, shape: &Shape) -> (u32, u32) {
        let (page, budget) = (page_bytes(shape.per_map_page), shape.budget_bytes);
        let of_share = budget * u64::from(self.pages_percent) / 100 / page;
        let of_rest = (budget - LEAST_ENTRIES * BYTES) / page;
        let pages = of_share.clamp(1, u64::from(shape.map_pages())).min(of_rest);
        let rest = if pages < u64::from(shape.map_pages()) {
            budget - pages * page
        } else {
            // More would save no map page.
            (budget * u64::from(100 - self.pages_percent) / 100).min(budget - pages * page)
        };
        (pages as u32, (rest / BYTES).max(LEAST_ENTRIES) as u32)
    }
}

/// A map page in memory.
#[derive(Debug, Default)]
struct Page {
    entries: Vec<Ppa>,
    is_dirty: bool,
}

/// Both levels.
#[derive(Debug)]
pub(super) struct EntriesAndPages {
    shape: Shape,
    table: Table,
    by_use: List,
    most_entries: u32,
    pages: WholePages<Page>,
    most_pages: u32,
}

impl EntriesAndPages {
    pub(super) fn new(shape: Shape, options: Options) -> Self {
        let (most_pages, most_entries) = options.divide(&shape);
        Self {
            shape,
            table: Table::new(shape.logical_pages, shape.per_map_page),
            by_use: List::EMPTY,
            most_entries,
            pages: WholePages::new(shape.map_pages()),
            most_pages,
        }
    }

    /// An entry's value in its map page in memory.
    fn in_page(&self, at: Lpn) -> Option<Ppa> {
        let page = self.pages.get(self.shape.map_page(at))?;
        Some(page.entries[(at.0 % self.shape.per_map_page) as usize])
    }

    /// Sets an entry in its map page in memory; false if it is not there.
    fn set_in_page(&mut self, at: Lpn, to: Ppa) -> bool {
        let Some(page) = self.pages.get_mut(self.shape.map_page(at)) else { return false };
        page.entries[(at.0 % self.shape.per_map_page) as usize] = to;
        page.is_dirty = true;
        true
    }

    /// What brings a map page into memory.
    fn bring(&mut self, map_page: u32) -> Step {
        let oldest = self.pages.oldest().filter(|_| self.pages.len() == self.most_pages);
        if let Some((oldest, _)) = oldest.filter(|(_, page)| page.is_dirty) {
            return Step::Write(oldest);
        }
        Step::Read(Lpn(map_page * self.shape.per_map_page))
    }

    /// Adds an unmarked entry to the table.
    fn insert(&mut self, at: Lpn, page: Ppa) -> Slot {
        let slot = self.table.insert(at, page);
        self.by_use.push(&mut self.table.entries, slot);
        slot
    }
}

impl MapCache for EntriesAndPages {
    #[inline]
    fn find(&self, at: Lpn) -> Option<Slot> {
        self.table.find(at)
    }

    #[inline]
    fn touch(&mut self, slot: Slot) {
        self.by_use.renew(&mut self.table.entries, slot);
    }

    #[inline]
    fn page(&self, slot: Slot) -> Ppa {
        self.table.page(slot)
    }

    #[inline]
    fn set(&mut self, slot: Slot, page: Ppa) {
        self.table.set(slot, page);
    }

    fn step(&mut self, at: Lpn) -> Step {
        if let Some(slot) = self.table.find(at) {
            return Step::Found(slot);
        }
        if self.table.len() == self.most_entries {
            let victim = self.by_use.oldest;
            let entry = self.table.entries[victim as usize];
            if entry.is_dirty {
                if !self.set_in_page(entry.at, entry.page) {
                    return self.bring(self.shape.map_page(entry.at));
                }
                self.table.set_clean(victim);
            }
            self.by_use.unlink(&mut self.table.entries, victim);
            self.table.remove(victim);
        }
        match self.in_page(at) {
            None => self.bring(self.shape.map_page(at)),
            Some(page) => {
                self.pages.renew(self.shape.map_page(at));
                Step::Found(self.insert(at, page))
            }
        }
    }

    fn take_in(&mut self, first: Lpn, bytes: &[u8]) {
        if let Some((oldest, page)) = self.pages.oldest().filter(|_| self.pages.len() == self.most_pages) {
            assert!(!page.is_dirty, "map page {oldest} leaves memory and has changed since it was written");
            self.pages.remove(oldest);
        }
        self.pages.insert(self.shape.map_page(first), |page| {
            page.entries.clear();
            page.entries.extend(entries(bytes));
        });
    }

    fn moved(&mut self, at: Lpn, to: Ppa) -> bool {
        match self.table.find(at) {
            Some(slot) => {
                self.table.set(slot, to);
                true
            }
            None => self.set_in_page(at, to),
        }
    }

    fn peek(&self, at: Lpn) -> Option<Ppa> {
        let slot = self.table.find(at);
        slot.map(|slot| self.table.page(slot)).or_else(|| self.in_page(at))
    }

    fn set_changed(&self, map_page: u32, bytes: &mut [u8]) {
        self.table.set_changed(map_page, bytes);
    }

    fn whole(&self, map_page: u32, bytes: &mut [u8]) -> bool {
        let page = self.pages.get(map_page);
        page.into_iter().for_each(|page| fill(bytes, &page.entries));
        page.is_some()
    }

    fn written(&mut self, map_page: u32) {
        if let Some(page) = self.pages.get_mut(map_page) {
            page.is_dirty = false;
            for (at, to) in self.table.dirty_of(map_page) {
                page.entries[(at.0 % self.shape.per_map_page) as usize] = to;
            }
        }
        self.table.set_all_clean(map_page);
    }

    fn adopt(&mut self, changed: &[(Lpn, Ppa)]) -> bool {
        let has_room = changed.len() <= (self.most_entries - self.table.len()) as usize;
        if has_room {
            for &(at, page) in changed {
                let slot = self.insert(at, Ppa::NONE);
                self.table.set(slot, page);
            }
        }
        has_room
    }

    fn each(&self, tell: &mut dyn FnMut(Lpn, Ppa, bool)) {
        let dirty_page = |at: Lpn| self.pages.get(self.shape.map_page(at)).is_some_and(|page| page.is_dirty);
        for (map_page, page) in self.pages.iter() {
            for (at, &entry) in self.shape.pages_of(map_page).map(Lpn).zip(&page.entries) {
                if self.table.find(at).is_none() {
                    tell(at, entry, page.is_dirty);
                }
            }
        }
        self.table.iter().for_each(|entry| tell(entry.at, entry.page, entry.is_dirty || dirty_page(entry.at)));
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        self.table.prefetch(at);
    }

    #[inline]
    fn prefetch_entry(&self, at: Lpn) {
        self.table.prefetch_entry(at);
    }

    fn ram(&self, ram: &mut RamUse) {
        let (entries, pages) = (u64::from(self.most_entries), u64::from(self.most_pages));
        ram.sram.insert("cmt", BYTES * entries);
        ram.sram.insert("ctp", page_bytes(self.shape.per_map_page) * pages);
        ram.sram.insert("cmt_lists", 12 * (entries + pages));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PER: u32 = 10;

    fn cache(pages: u64, entries: u64) -> EntriesAndPages {
        let budget_bytes = pages * page_bytes(PER) + entries * BYTES;
        let pages_percent = (100 * pages * page_bytes(PER)).div_ceil(budget_bytes) as u32;
        EntriesAndPages::new(Shape::of(1_000, PER, 1, budget_bytes), Options { pages_percent })
    }

    /// Asks for an entry and changes it, as the scheme does; returns the map pages read and written.
    fn change(cache: &mut EntriesAndPages, at: u32, to: u32) -> (Vec<u32>, Vec<u32>) {
        let (mut read, mut written) = (Vec::new(), Vec::new());
        let slot = loop {
            match cache.step(Lpn(at)) {
                Step::Found(slot) => break slot,
                Step::Write(map_page) => {
                    written.push(map_page);
                    cache.written(map_page);
                }
                Step::Read(first) => {
                    read.push(first.0 / PER);
                    cache.take_in(first, &[u8::MAX; (PER * ENTRY_BYTES) as usize]);
                }
            }
        };
        cache.touch(slot);
        cache.set(slot, Ppa(to));
        (read, written)
    }

    #[test]
    fn the_memory_is_divided_between_pages_and_entries() {
        let shape = |budget_bytes| Shape::of(1_000, PER, 1, budget_bytes);
        // A page takes 48 bytes.
        let divided = |bytes, pages_percent| Options { pages_percent }.divide(&shape(bytes));
        assert_eq!(divided(960, 50), (10, 60));
        assert_eq!(divided(960, 1), (1, 114), "one page at least");
        assert_eq!(divided(960, 99), (19, 6));
        assert_eq!(divided(64, 99), (1, 2), "the smallest");
        assert_eq!(Options::default().least_bytes(PER), Ok(64));
    }

    #[test]
    fn a_changed_entry_goes_to_its_page_in_memory_and_only_the_page_to_flash() {
        let mut cache = cache(1, 2);
        assert_eq!((cache.most_pages, cache.most_entries), (1, 2));
        assert_eq!(change(&mut cache, 0, 70), (vec![0], vec![]));
        assert_eq!(change(&mut cache, 1, 71), (vec![], vec![]), "copied out of the page");
        assert_eq!(change(&mut cache, 2, 72), (vec![], vec![]), "0 goes to its page");
        // 1 goes to its page, which then leaves for page 1 and takes 2 along.
        assert_eq!(change(&mut cache, 10, 73), (vec![1], vec![0]));
        assert_eq!(change(&mut cache, 11, 74), (vec![], vec![]), "2 has no mark any more");
        // 10 goes to page 1, which leaves for page 0.
        assert_eq!(change(&mut cache, 3, 75), (vec![0], vec![1]));
        // 11 was written with its page.
        assert_eq!(change(&mut cache, 20, 76), (vec![2], vec![]));
        // Page 0 is not in memory: it is read for 3, the entry that leaves, and written to make room again.
        assert_eq!(change(&mut cache, 21, 77), (vec![0, 2], vec![0]));
    }
}

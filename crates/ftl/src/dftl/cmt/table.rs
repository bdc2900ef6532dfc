//! Entries found by logical page, lists of them by recency, and the marked ones by map page.

use super::{Slot, NONE};
use crate::parts::map_entries::set_entry;
use nandlab_nand::prefetch::prefetch;
use nandlab_nand::{tables, Lpn, Ppa};

/// An entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) at: Lpn,
    pub(super) page: Ppa,
    links: Links,
    /// The neighbours among its map page's marked entries.
    before: Slot,
    after: Slot,
    /// For the owner of the table: one of two lists.
    pub(super) is_protected: bool,
    pub(super) is_dirty: bool,
}

/// The neighbours in a list by recency.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    newer: Slot,
    older: Slot,
}

impl Links {
    pub(super) const NONE: Self = Self { newer: NONE, older: NONE };
}

/// Something in a list.
pub(super) trait Linked {
    fn links(&mut self) -> &mut Links;
}

impl Linked for Entry {
    #[inline]
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Entry {
    /// The next one in its list that was used less recently.
    pub(super) fn newer(&self) -> Slot {
        self.links.newer
    }
}

/// A list by recency.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) newest: Slot,
    pub(super) oldest: Slot,
    pub(super) count: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { newest: NONE, oldest: NONE, count: 0 };

    /// Makes something in no list the newest here.
    #[inline]
    pub(super) fn push<T: Linked>(&mut self, all: &mut [T], slot: Slot) {
        self.count += 1;
        let second = std::mem::replace(&mut self.newest, slot);
        if second == NONE {
            self.oldest = slot;
        } else {
            all[second as usize].links().newer = slot;
        }
        *all[slot as usize].links() = Links { newer: NONE, older: second };
    }

    #[inline]
    pub(super) fn unlink<T: Linked>(&mut self, all: &mut [T], slot: Slot) {
        let Links { newer, older } = *all[slot as usize].links();
        self.count -= 1;
        if newer == NONE {
            self.newest = older;
        } else {
            all[newer as usize].links().older = older;
        }
        if older == NONE {
            self.oldest = newer;
        } else {
            all[older as usize].links().newer = newer;
        }
    }

    /// Makes something in this list the newest.
    #[inline]
    pub(super) fn renew<T: Linked>(&mut self, all: &mut [T], slot: Slot) {
        if self.newest != slot {
            self.unlink(all, slot);
            self.push(all, slot);
        }
    }
}

/// The entries in memory. The owner keeps them in lists.
#[derive(Debug)]
pub(super) struct Table {
    /// By logical page: its slot. Firmware would use a hash table.
    slots: tables::Table<Slot>,
    pub(super) entries: Vec<Entry>,
    free: Vec<Slot>,
    /// By map page: its first marked entry.
    dirty: Vec<Slot>,
    per_map_page: u32,
}

impl Table {
    pub(super) fn new(logical_pages: u32, per_map_page: u32) -> Self {
        Self {
            slots: tables::Table::blank(logical_pages as usize),
            entries: Vec::new(),
            free: Vec::new(),
            dirty: vec![NONE; logical_pages.div_ceil(per_map_page) as usize],
            per_map_page,
        }
    }

    /// Entries.
    pub(super) fn len(&self) -> u32 {
        (self.entries.len() - self.free.len()) as u32
    }

    #[inline]
    pub(super) fn find(&self, at: Lpn) -> Option<Slot> {
        Some(self.slots.at(at.index())).filter(|&slot| slot != NONE)
    }

    /// The same for a number that may be no logical page.
    pub(super) fn find_any(&self, at: u32) -> Option<Slot> {
        self.slots.get(at as usize).filter(|&slot| slot != NONE)
    }

    /// Starts loading the slot of an entry.
    #[inline]
    pub(super) fn prefetch(&self, at: Lpn) {
        self.slots.prefetch(at.index());
    }

    /// Starts loading an entry whose slot was loaded.
    #[inline]
    pub(super) fn prefetch_entry(&self, at: Lpn) {
        if let Some(slot) = self.slots.get(at.index()) {
            prefetch(&self.entries, slot as usize);
        }
    }

    #[inline]
    pub(super) fn page(&self, slot: Slot) -> Ppa {
        self.entries[slot as usize].page
    }

    /// An entry's map page.
    pub(super) fn map_page(&self, slot: Slot) -> u32 {
        self.entries[slot as usize].at.0 / self.per_map_page
    }

    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        self.entries[slot as usize].is_dirty
    }

    /// Adds an unmarked entry, which is in no list yet.
    ///
    /// # Panics
    /// In debug builds if the entry is there already.
    pub(super) fn insert(&mut self, at: Lpn, page: Ppa) -> Slot {
        debug_assert!(self.find(at).is_none(), "entry {at} is there already");
        let entry =
            Entry { at, page, links: Links::NONE, before: NONE, after: NONE, is_protected: false, is_dirty: false };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as Slot - 1
            }
        };
        self.slots.set(at.index(), slot);
        slot
    }

    /// Removes an entry, which must not be marked and is in no list any more.
    pub(super) fn remove(&mut self, slot: Slot) {
        let Entry { at, is_dirty, .. } = self.entries[slot as usize];
        assert!(!is_dirty, "entry {at} leaves the table and has changed since its map page was written");
        self.slots.set(at.index(), NONE);
        self.free.push(slot);
    }

    /// Changes an entry and marks it.
    #[inline]
    pub(super) fn set(&mut self, slot: Slot, page: Ppa) {
        let entry = &mut self.entries[slot as usize];
        entry.page = page;
        if entry.is_dirty {
            return;
        }
        entry.is_dirty = true;
        let first = &mut self.dirty[(entry.at.0 / self.per_map_page) as usize];
        entry.before = NONE;
        entry.after = std::mem::replace(first, slot);
        let after = entry.after;
        if after != NONE {
            self.entries[after as usize].before = slot;
        }
    }

    /// Clears an entry's mark.
    pub(super) fn set_clean(&mut self, slot: Slot) {
        let Entry { at, before, after, is_dirty, .. } = self.entries[slot as usize];
        if !is_dirty {
            return;
        }
        self.entries[slot as usize].is_dirty = false;
        match before {
            NONE => self.dirty[(at.0 / self.per_map_page) as usize] = after,
            _ => self.entries[before as usize].after = after,
        }
        if after != NONE {
            self.entries[after as usize].before = before;
        }
    }

    /// A map page's marked entries.
    pub(super) fn dirty_of(&self, map_page: u32) -> impl Iterator<Item = (Lpn, Ppa)> + '_ {
        let first = self.dirty[map_page as usize];
        let next = |slot: Slot| Some(slot).filter(|&slot| slot != NONE).map(|slot| &self.entries[slot as usize]);
        std::iter::successors(next(first), move |entry| next(entry.after)).map(|entry| (entry.at, entry.page))
    }

    /// Sets a map page's marked entries in its bytes.
    pub(super) fn set_changed(&self, map_page: u32, bytes: &mut [u8]) {
        for (at, page) in self.dirty_of(map_page) {
            set_entry(bytes, at.0 % self.per_map_page, page);
        }
    }

    /// Clears the marks of a map page's entries.
    pub(super) fn set_all_clean(&mut self, map_page: u32) {
        let mut slot = std::mem::replace(&mut self.dirty[map_page as usize], NONE);
        while slot != NONE {
            let entry = &mut self.entries[slot as usize];
            entry.is_dirty = false;
            slot = entry.after;
        }
    }

    /// All entries.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> + '_ {
        let used = self.slots.entries().map(|(_, slot)| slot);
        used.map(|slot| &self.entries[slot as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_entries_are_found_by_their_map_page() {
        let mut table = Table::new(100, 10);
        let slots = [3, 14, 5, 19, 7].map(|at| table.insert(Lpn(at), Ppa::NONE));
        slots.iter().for_each(|&slot| table.set(slot, Ppa(slot)));
        let dirty = |table: &Table, map_page| {
            let mut found: Vec<u32> = table.dirty_of(map_page).map(|(at, _)| at.0).collect();
            found.sort_unstable();
            found
        };
        assert_eq!((dirty(&table, 0), dirty(&table, 1), dirty(&table, 2)), (vec![3, 5, 7], vec![14, 19], vec![]));
        table.set_clean(slots[2]);
        table.set_clean(slots[2]);
        assert_eq!(dirty(&table, 0), [3, 7]);
        table.set_all_clean(0);
        table.set(slots[0], Ppa(8));
        assert_eq!((dirty(&table, 0), dirty(&table, 1)), (vec![3], vec![14, 19]));
        assert!(table.is_dirty(slots[0]) && !table.is_dirty(slots[4]));
    }

    #[test]
    fn a_list_is_ordered_by_recency() {
        let mut table = Table::new(10, 10);
        let mut list = List::EMPTY;
        for at in 0..4 {
            let slot = table.insert(Lpn(at), Ppa(at));
            list.push(&mut table.entries, slot);
        }
        list.renew(&mut table.entries, 1);
        list.renew(&mut table.entries, 1);
        list.unlink(&mut table.entries, 2);
        let order = |table: &Table, list: &List| {
            let next = |slot: Slot| Some(slot).filter(|&slot| slot != NONE);
            let found: Vec<Slot> =
                std::iter::successors(next(list.oldest), |&slot| next(table.entries[slot as usize].newer())).collect();
            found
        };
        assert_eq!((order(&table, &list), list.count, list.newest), (vec![0, 3, 1], 3, 1));
        [0, 3, 1].iter().for_each(|&slot| list.unlink(&mut table.entries, slot));
        assert_eq!((list.oldest, list.newest, list.count), (NONE, NONE, 0));
    }
}

//! The cached mapping table: the map entries in memory, in two LRU lists.

use nandlab_block::own::Replaces;
use nandlab_nand::prefetch::prefetch;
use nandlab_nand::{Lpn, Ppa};

/// A table entry's place.
pub(super) type Slot = u32;

/// No slot.
const NONE: Slot = Slot::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Lpn,
    page: Ppa,
    /// The neighbours in its list, the more recently used one in front.
    newer: Slot,
    older: Slot,
    /// The neighbours among its map page's changed entries.
    before: Slot,
    after: Slot,
    is_protected: bool,
    is_dirty: bool,
}

/// A list by recency.
#[derive(Clone, Copy, Debug)]
struct List {
    newest: Slot,
    oldest: Slot,
    count: u32,
}

impl List {
    const EMPTY: Self = Self { newest: NONE, oldest: NONE, count: 0 };
}

/// Segmented LRU: an entry is protected when it comes and when it is used again. An entry that falls out of the
/// protected list goes to the other list, and from there out of memory.
#[derive(Debug)]
pub(super) struct Cmt {
    /// By logical page: its slot. Firmware would use a hash table.
    slots: Vec<Slot>,
    entries: Vec<Entry>,
    free: Vec<Slot>,
    protected: List,
    probation: List,
    most: u32,
    most_protected: u32,
    /// By map page: its first changed entry.
    dirty: Vec<Slot>,
    per_map_page: u32,
    /// Somebody's rule in place of the two lists, which it leaves in the order of insertion.
    own: Option<Box<dyn Replaces>>,
}

impl Cmt {
    pub(super) fn new(logical_pages: u32, per_map_page: u32, most: u32, most_protected: u32) -> Self {
        Self {
            slots: vec![NONE; logical_pages as usize],
            entries: Vec::new(),
            free: Vec::new(),
            protected: List::EMPTY,
            probation: List::EMPTY,
            most,
            most_protected,
            dirty: vec![NONE; logical_pages.div_ceil(per_map_page) as usize],
            per_map_page,
            own: None,
        }
    }

    /// Asks `own`, if there is one, which entry leaves.
    pub(super) fn asking(self, own: Option<Box<dyn Replaces>>) -> Self {
        Self { own, ..self }
    }

    /// Most entries.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// Room for entries.
    pub(super) fn room(&self) -> u32 {
        self.most - self.protected.count - self.probation.count
    }

    /// The slot of an entry in memory; this does not count as a use.
    #[inline]
    pub(super) fn find(&self, at: Lpn) -> Option<Slot> {
        Some(self.slots[at.index()]).filter(|&slot| slot != NONE)
    }

    /// Starts loading the slot of an entry.
    #[inline]
    pub(super) fn prefetch(&self, at: Lpn) {
        prefetch(&self.slots, at.index());
    }

    /// Starts loading an entry whose slot was loaded.
    #[inline]
    pub(super) fn prefetch_entry(&self, at: Lpn) {
        if let Some(&slot) = self.slots.get(at.index()) {
            prefetch(&self.entries, slot as usize);
        }
    }

    #[inline]
    pub(super) fn page(&self, slot: Slot) -> Ppa {
        self.entries[slot as usize].page
    }

    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        self.entries[slot as usize].is_dirty
    }

    pub(super) fn logical_page(&self, slot: Slot) -> Lpn {
        self.entries[slot as usize].at
    }

    /// Records a use of an entry.
    #[inline]
    pub(super) fn touch(&mut self, slot: Slot) {
        if let Some(own) = &mut self.own {
            return own.hit(self.entries[slot as usize].at.0);
        }
        if self.protected.newest == slot {
            return;
        }
        self.unlink(slot);
        self.protect(slot);
    }

    /// Adds an entry equal to the one on flash.
    ///
    /// # Panics
    /// In debug builds if the entry is there already, or there is no room.
    pub(super) fn insert(&mut self, at: Lpn, page: Ppa) -> Slot {
        debug_assert!(self.room() > 0 && self.find(at).is_none(), "entry {at} comes to a full table or is there");
        let entry = Entry {
            at,
            page,
            newer: NONE,
            older: NONE,
            before: NONE,
            after: NONE,
            is_protected: false,
            is_dirty: false,
        };
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
        self.slots[at.index()] = slot;
        self.protect(slot);
        if let Some(own) = &mut self.own {
            own.miss(at.0);
            own.insert(at.0);
        }
        slot
    }

    /// The next entry to evict.
    pub(super) fn victim(&mut self) -> Slot {
        if let Some(own) = &mut self.own {
            let at = own.victim();
            let slot = self.slots.get(at as usize).copied().filter(|&slot| slot != NONE);
            return slot.unwrap_or_else(|| own.refuse(at));
        }
        if self.probation.oldest == NONE {
            self.protected.oldest
        } else {
            self.probation.oldest
        }
    }

    /// Removes an entry, which must not be marked as changed.
    pub(super) fn remove(&mut self, slot: Slot) {
        let Entry { at, is_dirty, .. } = self.entries[slot as usize];
        assert!(!is_dirty, "entry {at} leaves the table and has changed since its map page was written");
        self.unlink(slot);
        self.slots[at.index()] = NONE;
        self.free.push(slot);
        if let Some(own) = &mut self.own {
            own.evicted(at.0);
        }
    }

    /// Changes an entry and marks it as changed.
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

    /// Clears an entry's mark: its map page has it.
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

    /// A map page's changed entries.
    pub(super) fn dirty_of(&self, map_page: u32) -> impl Iterator<Item = (Lpn, Ppa)> + '_ {
        let first = self.dirty[map_page as usize];
        let next = |slot: Slot| Some(slot).filter(|&slot| slot != NONE).map(|slot| &self.entries[slot as usize]);
        std::iter::successors(next(first), move |entry| next(entry.after)).map(|entry| (entry.at, entry.page))
    }

    /// Clears the marks of a map page's entries: the page has them all.
    pub(super) fn set_all_clean(&mut self, map_page: u32) {
        let mut slot = std::mem::replace(&mut self.dirty[map_page as usize], NONE);
        while slot != NONE {
            let entry = &mut self.entries[slot as usize];
            entry.is_dirty = false;
            slot = entry.after;
        }
    }

    /// All entries: logical page, page, and whether it is marked as changed.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Lpn, Ppa, bool)> + '_ {
        let used = self.slots.iter().filter(|&&slot| slot != NONE);
        used.map(|&slot| &self.entries[slot as usize]).map(|entry| (entry.at, entry.page, entry.is_dirty))
    }

    fn list(&mut self, is_protected: bool) -> &mut List {
        if is_protected {
            &mut self.protected
        } else {
            &mut self.probation
        }
    }

    /// Makes an entry in no list the newest protected one; the oldest protected one may have to leave that list.
    #[inline]
    fn protect(&mut self, slot: Slot) {
        self.push(slot, true);
        if self.protected.count > self.most_protected {
            let oldest = self.protected.oldest;
            self.unlink(oldest);
            self.push(oldest, false);
        }
    }

    #[inline]
    fn push(&mut self, slot: Slot, is_protected: bool) {
        let list = self.list(is_protected);
        list.count += 1;
        let second = std::mem::replace(&mut list.newest, slot);
        if second == NONE {
            list.oldest = slot;
        } else {
            self.entries[second as usize].newer = slot;
        }
        let entry = &mut self.entries[slot as usize];
        entry.newer = NONE;
        entry.older = second;
        entry.is_protected = is_protected;
    }

    #[inline]
    fn unlink(&mut self, slot: Slot) {
        let Entry { newer, older, is_protected, .. } = self.entries[slot as usize];
        let list = self.list(is_protected);
        list.count -= 1;
        if newer == NONE {
            list.newest = older;
        }
        if older == NONE {
            list.oldest = newer;
        }
        if newer != NONE {
            self.entries[newer as usize].older = older;
        }
        if older != NONE {
            self.entries[older as usize].newer = newer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entry evicted for `at`.
    fn ask(cmt: &mut Cmt, at: u32) -> Option<u32> {
        if let Some(slot) = cmt.find(Lpn(at)) {
            cmt.touch(slot);
            return None;
        }
        let gone = (cmt.room() == 0).then(|| cmt.victim());
        let left = gone.map(|slot| cmt.logical_page(slot).0);
        gone.into_iter().for_each(|slot| cmt.remove(slot));
        cmt.insert(Lpn(at), Ppa(at));
        left
    }

    #[test]
    fn what_is_asked_for_again_outlives_what_is_not() {
        let mut cmt = Cmt::new(100, 10, 4, 2);
        assert!((0..4).all(|at| ask(&mut cmt, at).is_none()), "there is room");
        // Protected 3, 2; behind them 1, 0.
        assert_eq!(ask(&mut cmt, 0), None);
        // Protected 0, 3; behind them 2, 1.
        assert_eq!([4, 5, 0, 6, 7].map(|at| ask(&mut cmt, at)), [Some(1), Some(2), None, Some(3), Some(4)]);
        let mut left: Vec<u32> = cmt.iter().map(|(at, ..)| at.0).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 5, 6, 7]);
    }

    #[test]
    fn changed_entries_are_found_by_their_map_page() {
        let mut cmt = Cmt::new(100, 10, 8, 5);
        let slots = [3, 14, 5, 19, 7].map(|at| cmt.insert(Lpn(at), Ppa::NONE));
        slots.iter().for_each(|&slot| cmt.set(slot, Ppa(slot)));
        let dirty = |cmt: &Cmt, map_page| {
            let mut found: Vec<u32> = cmt.dirty_of(map_page).map(|(at, _)| at.0).collect();
            found.sort_unstable();
            found
        };
        assert_eq!((dirty(&cmt, 0), dirty(&cmt, 1), dirty(&cmt, 2)), (vec![3, 5, 7], vec![14, 19], vec![]));
        cmt.set_clean(slots[2]);
        cmt.set_clean(slots[2]);
        assert_eq!(dirty(&cmt, 0), [3, 7]);
        cmt.set_all_clean(0);
        cmt.set(slots[0], Ppa(8));
        assert_eq!((dirty(&cmt, 0), dirty(&cmt, 1)), (vec![3], vec![14, 19]));
        assert!(cmt.is_dirty(slots[0]) && !cmt.is_dirty(slots[4]));
    }
}

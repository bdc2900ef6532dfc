//! Segmented LRU: single entries, protected while they are asked for again.
//!
//! ## Idea
//! An entry is protected when it comes and when it is used again. An entry that falls out of the protected list goes to
//! the other list, and from there out of memory. This is DFTL's own cache.
//!
//! ## Differences
//! The share of protected entries is that of public simulators. A class in Python may decide what leaves, in place of
//! the two lists.
//!
//! ## References
//! A. Gupta, Y. Kim, B. Urgaonkar: DFTL: A Flash Translation Layer Employing Demand-based Selective Caching of
//! Page-level Address Mappings. ASPLOS 2009.

use super::table::{List, Table};
use super::{MapCache, Slot, Step, BYTES, NONE};
use crate::parts::map_entries::entries;
use crate::RamUse;
use nandlab_block::own::Replaces;
use nandlab_nand::{Lpn, Ppa};

/// The entries in two lists.
#[derive(Debug)]
pub(in crate::dftl) struct Segmented {
    table: Table,
    protected: List,
    probation: List,
    most: u32,
    most_protected: u32,
    /// Whether a written map page clears the marks of all its entries, or only of the one that leaves.
    all_clean: bool,
    /// The marked entry that leaves once its map page is written.
    leaving: Option<Slot>,
    /// Somebody's rule in place of the two lists, which it leaves in the order of insertion.
    own: Option<Box<dyn Replaces>>,
}

impl Segmented {
    /// An empty cache for so many entries, and so many of them protected. `all_clean` tells whether a written map page
    /// clears all its marks.
    pub(in crate::dftl) fn new(
        logical_pages: u32,
        per_map_page: u32,
        (most, most_protected): (u32, u32),
        all_clean: bool,
    ) -> Self {
        Self {
            table: Table::new(logical_pages, per_map_page),
            protected: List::EMPTY,
            probation: List::EMPTY,
            most,
            most_protected,
            all_clean,
            leaving: None,
            own: None,
        }
    }

    /// Asks `own`, if there is one, which entry leaves.
    pub(in crate::dftl) fn asking(self, own: Option<Box<dyn Replaces>>) -> Self {
        Self { own, ..self }
    }

    /// Room for entries.
    fn room(&self) -> u32 {
        self.most - self.protected.count - self.probation.count
    }

    /// Adds an entry equal to the one on flash.
    fn insert(&mut self, at: Lpn, page: Ppa) -> Slot {
        debug_assert!(self.room() > 0, "entry {at} comes to a full table");
        let slot = self.table.insert(at, page);
        self.protect(slot);
        if let Some(own) = &mut self.own {
            own.miss(at.0);
            own.insert(at.0);
        }
        slot
    }

    /// The next entry to evict.
    fn victim(&mut self) -> Slot {
        if let Some(own) = &mut self.own {
            let at = own.victim();
            return self.table.find_any(at).unwrap_or_else(|| own.refuse(at));
        }
        if self.probation.oldest == NONE {
            self.protected.oldest
        } else {
            self.probation.oldest
        }
    }

    /// Removes an entry, which must not be marked.
    fn remove(&mut self, slot: Slot) {
        let at = self.table.entries[slot as usize].at;
        self.unlink(slot);
        self.table.remove(slot);
        if let Some(own) = &mut self.own {
            own.evicted(at.0);
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
        let list = if is_protected { &mut self.protected } else { &mut self.probation };
        list.push(&mut self.table.entries, slot);
        self.table.entries[slot as usize].is_protected = is_protected;
    }

    #[inline]
    fn unlink(&mut self, slot: Slot) {
        let is_protected = self.table.entries[slot as usize].is_protected;
        let list = if is_protected { &mut self.protected } else { &mut self.probation };
        list.unlink(&mut self.table.entries, slot);
    }
}

impl MapCache for Segmented {
    #[inline]
    fn find(&self, at: Lpn) -> Option<Slot> {
        self.table.find(at)
    }

    #[inline]
    fn touch(&mut self, slot: Slot) {
        if let Some(own) = &mut self.own {
            return own.hit(self.table.entries[slot as usize].at.0);
        }
        if self.protected.newest == slot {
            return;
        }
        self.unlink(slot);
        self.protect(slot);
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
        if self.room() == 0 {
            let victim = self.leaving.take().unwrap_or_else(|| self.victim());
            if self.table.is_dirty(victim) {
                self.leaving = Some(victim);
                return Step::Write(self.table.map_page(victim));
            }
            self.remove(victim);
        }
        Step::Read(at)
    }

    fn take_in(&mut self, first: Lpn, bytes: &[u8]) {
        self.insert(first, entries(bytes).next().unwrap_or(Ppa::NONE));
    }

    fn moved(&mut self, at: Lpn, to: Ppa) -> bool {
        let slot = self.table.find(at);
        slot.into_iter().for_each(|slot| self.table.set(slot, to));
        slot.is_some()
    }

    fn set_changed(&self, map_page: u32, bytes: &mut [u8]) {
        self.table.set_changed(map_page, bytes);
    }

    fn written(&mut self, map_page: u32) {
        if self.all_clean {
            self.table.set_all_clean(map_page);
        } else if let Some(slot) = self.leaving.filter(|&slot| self.table.map_page(slot) == map_page) {
            self.table.set_clean(slot);
        }
    }

    fn clean(&mut self, at: Lpn) {
        if let Some(slot) = self.table.find(at) {
            self.table.set_clean(slot);
        }
    }

    fn adopt(&mut self, changed: &[(Lpn, Ppa)]) -> bool {
        let has_room = changed.len() <= self.room() as usize;
        if has_room {
            for &(at, page) in changed {
                let slot = self.insert(at, Ppa::NONE);
                self.table.set(slot, page);
            }
        }
        has_room
    }

    fn each(&self, tell: &mut dyn FnMut(Lpn, Ppa, bool)) {
        self.table.iter().for_each(|entry| tell(entry.at, entry.page, entry.is_dirty));
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
        let entries = u64::from(self.most);
        ram.sram.insert("cmt", BYTES * entries);
        ram.sram.insert("cmt_lists", 12 * entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entry evicted for `at`.
    fn ask(cmt: &mut Segmented, at: u32) -> Option<u32> {
        if let Some(slot) = cmt.find(Lpn(at)) {
            cmt.touch(slot);
            return None;
        }
        let gone = (cmt.room() == 0).then(|| cmt.victim());
        let left = gone.map(|slot| cmt.table.entries[slot as usize].at.0);
        assert_eq!(cmt.step(Lpn(at)), Step::Read(Lpn(at)));
        cmt.take_in(Lpn(at), &at.to_le_bytes());
        assert!(matches!(cmt.step(Lpn(at)), Step::Found(slot) if cmt.page(slot) == Ppa(at)));
        left
    }

    #[test]
    fn what_is_asked_for_again_outlives_what_is_not() {
        let mut cmt = Segmented::new(100, 10, (4, 2), true);
        assert!((0..4).all(|at| ask(&mut cmt, at).is_none()), "there is room");
        // Protected 3, 2; behind them 1, 0.
        assert_eq!(ask(&mut cmt, 0), None);
        // Protected 0, 3; behind them 2, 1.
        assert_eq!([4, 5, 0, 6, 7].map(|at| ask(&mut cmt, at)), [Some(1), Some(2), None, Some(3), Some(4)]);
        let mut left = Vec::new();
        cmt.each(&mut |at, _, _| left.push(at.0));
        left.sort_unstable();
        assert_eq!(left, [0, 5, 6, 7]);
    }
}

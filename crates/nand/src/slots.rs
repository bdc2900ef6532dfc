//! Slots by number: open addressing, so a table scales with its entries, not with the device. Nobody goes through the
//! entries, so their order decides nothing.

use crate::prefetch::prefetch;
use crate::tables::filled;

/// No slot.
pub const NONE: u32 = u32::MAX;

/// A map from numbers, such as pages, blocks or times, to slots.
///
/// Linear probing in a table at most half full. A removal moves later entries back, so there are no
/// tombstones.
#[derive(Clone, Debug)]
pub struct SlotTable<K> {
    cells: Vec<Cell<K>>,
    len: usize,
    /// 64 - log2 of the number of cells.
    shift: u32,
}

#[derive(Clone, Copy, Debug)]
struct Cell<K> {
    key: K,
    /// [`NONE`] in an empty cell.
    slot: u32,
}

const LEAST: usize = 16;

impl<K: Copy + Default> Cell<K> {
    fn empty() -> Self {
        Self { key: K::default(), slot: NONE }
    }
}

impl<K: Copy + Default> Default for SlotTable<K> {
    fn default() -> Self {
        Self { cells: vec![Cell::empty(); LEAST], len: 0, shift: 64 - LEAST.trailing_zeros() }
    }
}

impl<K: Copy + Default + Eq + Into<u64>> SlotTable<K> {
    /// Bytes of a table with `entries` entries.
    pub fn bytes(entries: u64) -> u64 {
        (entries * 2).next_power_of_two().max(LEAST as u64) * size_of::<Cell<K>>() as u64
    }

    /// First cell for `key`: the upper bits of its product with 2^64 over the golden ratio, which spreads
    /// neighbours far apart.
    #[inline]
    fn home(&self, key: K) -> usize {
        (key.into().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.cells.len() - 1)
    }

    /// Cell of `key`, or the empty cell for it.
    #[inline]
    fn place(&self, key: K) -> usize {
        let mut at = self.home(key);
        while self.cells[at].slot != NONE && self.cells[at].key != key {
            at = self.next(at);
        }
        at
    }

    /// The slot of `key`.
    #[inline]
    pub fn get(&self, key: K) -> Option<u32> {
        let slot = self.cells[self.place(key)].slot;
        (slot != NONE).then_some(slot)
    }

    /// Starts loading the cell where the search for `key` begins.
    #[inline]
    pub fn prefetch(&self, key: K) {
        prefetch(&self.cells, self.home(key));
    }

    /// A guess at the slot of `key`, for prefetching: the one in its first cell, or [`NONE`].
    #[inline]
    pub fn guess(&self, key: K) -> u32 {
        self.cells[self.home(key)].slot
    }

    /// Gives `key`, which has none, a slot.
    #[inline]
    pub fn insert(&mut self, key: K, slot: u32) {
        let is_new = self.insert_new(key, slot);
        debug_assert!(is_new, "{} is there already", key.into());
    }

    /// Gives `key` a slot unless it has one; true if it had none.
    #[inline]
    pub fn insert_new(&mut self, key: K, slot: u32) -> bool {
        if self.len * 2 >= self.cells.len() {
            self.grow();
        }
        let at = self.place(key);
        if self.cells[at].slot != NONE {
            return false;
        }
        self.cells[at] = Cell { key, slot };
        self.len += 1;
        true
    }

    /// Takes the slot of `key` away. The entries behind move up, so no search for them ends at the free cell.
    #[inline]
    pub fn remove(&mut self, key: K) -> Option<u32> {
        let mut hole = self.place(key);
        let slot = self.cells[hole].slot;
        if slot == NONE {
            return None;
        }
        let mut at = self.next(hole);
        while self.cells[at].slot != NONE {
            let home = self.home(self.cells[at].key);
            // The cell may move back unless its home is behind the hole.
            if at.wrapping_sub(home) & (self.cells.len() - 1) >= at.wrapping_sub(hole) & (self.cells.len() - 1) {
                self.cells[hole] = self.cells[at];
                hole = at;
            }
            at = self.next(at);
        }
        self.cells[hole] = Cell::empty();
        self.len -= 1;
        Some(slot)
    }

    /// Whether no key has a slot.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[cold]
    fn grow(&mut self) {
        let larger = filled(Cell::empty(), self.cells.len() * 2);
        self.shift -= 1;
        for cell in std::mem::replace(&mut self.cells, larger) {
            if cell.slot != NONE {
                let at = self.place(cell.key);
                self.cells[at] = cell;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::collections::BTreeMap;

    #[test]
    fn a_table_does_what_a_map_does() {
        let (mut table, mut map) = (SlotTable::<u32>::default(), BTreeMap::new());
        let mut random = Random::new(11);
        for step in 0..40_000u32 {
            // Growing, then shrinking, with adjacent and scattered numbers.
            let key = (random.below(400) as u32) << if random.chance(0.5) { 0 } else { 20 };
            match map.get(&key) {
                Some(_) if random.chance(if step < 20_000 { 0.3 } else { 0.8 }) => {
                    assert_eq!(table.remove(key), map.remove(&key));
                }
                Some(&slot) => assert_eq!(table.get(key), Some(slot)),
                None => {
                    assert_eq!(table.get(key), None);
                    assert_eq!(table.remove(key), None);
                    table.insert(key, step);
                    map.insert(key, step);
                }
            }
            assert_eq!(table.len, map.len());
            if step % 100 == 0 {
                assert!(map.iter().all(|(&key, &slot)| table.get(key) == Some(slot)));
            }
        }
    }
}

//! The cached part of the map: slots for units of consecutive entries.

use super::changed::ChangedPages;
use super::Replacement;
use nandlab_nand::prefetch::prefetch;
use nandlab_nand::tables::Table;

const NONE: u32 = u32::MAX;

/// A slot.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) unit: u32,
    pub(super) entries: Vec<u32>,
    /// Whether flash has other entries; by map page in the unit, or for a unit smaller than a map page.
    dirty: Vec<bool>,
    /// Used since the hand passed it.
    referenced: bool,
    /// When it was used last, in look-ups.
    asked: u64,
}

/// The cached mapping table.
#[derive(Debug)]
pub(super) struct Cmt {
    /// log2 of the entries per unit.
    shift: u32,
    /// log2 of the entries per dirty mark.
    mark_shift: u32,
    /// By unit: its slot.
    places: Table<u32>,
    pub(super) slots: Vec<Slot>,
    most: usize,
    hand: usize,
    now: u64,
    replacement: Replacement,
    /// log2 of the entries per map page.
    page_shift: u32,
    changed: ChangedPages,
}

impl Cmt {
    /// An empty table for `entries` entries, `per_page` to a map page, in units of 2^shift.
    /// At most `changed` map pages may have changes, if it is not 0.
    pub(super) fn new(
        entries: u32,
        shift: u32,
        per_page: u32,
        most: u32,
        replacement: Replacement,
        changed: u32,
    ) -> Self {
        Self {
            shift,
            mark_shift: shift.min(per_page.trailing_zeros()),
            places: Table::blank(entries.div_ceil(1 << shift) as usize),
            slots: Vec::new(),
            most: most as usize,
            hand: 0,
            now: 0,
            replacement,
            page_shift: per_page.trailing_zeros(),
            changed: ChangedPages::new(changed, entries.div_ceil(per_page)),
        }
    }

    /// The slot with an entry.
    #[inline]
    pub(super) fn find(&self, entry: u32) -> Option<usize> {
        let place = self.places.at((entry >> self.shift) as usize);
        (place != NONE).then_some(place as usize)
    }

    /// The slots with any of these entries, a map page's.
    pub(super) fn slots_of(&self, entries: std::ops::Range<u32>) -> impl Iterator<Item = usize> + '_ {
        let units = entries.start >> self.shift..((entries.end - 1) >> self.shift) + 1;
        units.filter_map(|unit| self.places.get(unit as usize).filter(|&place| place != NONE).map(|at| at as usize))
    }

    /// Starts loading an entry, if it is in memory.
    #[inline]
    pub(super) fn prefetch(&self, entry: u32) {
        if let Some(slot) = self.find(entry) {
            prefetch(&self.slots[slot].entries, (entry & ((1 << self.shift) - 1)) as usize);
        }
    }

    /// Records a look-up in a slot.
    #[inline]
    pub(super) fn touch(&mut self, slot: usize) {
        match self.replacement {
            Replacement::Clock => self.slots[slot].referenced = true,
            Replacement::Lru => {
                self.now += 1;
                self.slots[slot].asked = self.now;
            }
            Replacement::Fifo => {}
        }
    }

    #[inline]
    pub(super) fn get(&self, slot: usize, entry: u32) -> u32 {
        self.slots[slot].entries[(entry & ((1 << self.shift) - 1)) as usize]
    }

    #[inline]
    pub(super) fn set(&mut self, slot: usize, entry: u32, value: u32) {
        let place = entry & ((1 << self.shift) - 1);
        self.slots[slot].entries[place as usize] = value;
        self.mark(slot, (place >> self.mark_shift) as usize);
    }

    /// Marks a part of a slot as changed.
    #[inline]
    pub(super) fn mark(&mut self, slot: usize, mark: usize) {
        let slot = &mut self.slots[slot];
        if !std::mem::replace(&mut slot.dirty[mark], true) {
            self.changed
                .note_change(((slot.unit << self.shift) + ((mark as u32) << self.mark_shift)) >> self.page_shift);
        }
    }

    /// A part of a slot is on flash as it is in memory.
    pub(super) fn is_written(&mut self, slot: usize, mark: usize) {
        if std::mem::replace(&mut self.slots[slot].dirty[mark], false) {
            self.changed.note_write();
        }
    }

    /// By part of a slot: whether flash has other entries.
    pub(super) fn marks(&self, slot: usize) -> &[bool] {
        &self.slots[slot].dirty
    }

    /// The map page whose change is the oldest, if more have changes than may.
    #[inline]
    pub(super) fn overdue(&mut self) -> Option<u32> {
        let (shift, mark_shift, page_shift) = (self.shift, self.mark_shift, self.page_shift);
        let (places, slots) = (&self.places, &self.slots);
        self.changed.overdue(|page| {
            let first = page << page_shift;
            let place = places.at((first >> shift) as usize);
            place != NONE && slots[place as usize].dirty[((first & ((1 << shift) - 1)) >> mark_shift) as usize]
        })
    }

    /// Whether a slot is empty.
    pub(super) fn has_room(&self) -> bool {
        self.slots.len() < self.most
    }

    /// Empty slots.
    pub(super) fn room(&self) -> usize {
        self.most - self.slots.len()
    }

    /// A slot's first entry.
    pub(super) fn first_of(&self, slot: usize) -> u32 {
        self.slots[slot].unit << self.shift
    }

    pub(super) fn unit_of(&self, entry: u32) -> u32 {
        entry >> self.shift
    }

    /// Entries per unit.
    pub(super) fn unit_entries(&self) -> u32 {
        1 << self.shift
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    pub(super) fn units(&self) -> usize {
        self.places.len()
    }

    /// The slot to give up next.
    pub(super) fn victim(&mut self) -> usize {
        match self.replacement {
            Replacement::Lru => {
                let oldest = (0..self.slots.len()).min_by_key(|&at| self.slots[at].asked);
                oldest.expect("a full table has a slot")
            }
            Replacement::Fifo => self.hand,
            Replacement::Clock => {
                while std::mem::take(&mut self.slots[self.hand].referenced) {
                    self.hand = (self.hand + 1) % self.slots.len();
                }
                self.hand
            }
        }
    }

    /// Puts a unit into an empty slot, or a victim's, with its changes already on flash; returns the slot, and a buffer
    /// for reuse.
    pub(super) fn insert(&mut self, unit: u32, victim: Option<usize>, entries: Vec<u32>) -> (usize, Vec<u32>) {
        self.now += 1;
        let marks = (1 << (self.shift - self.mark_shift)) as usize;
        let slot = Slot { unit, entries, dirty: vec![false; marks], referenced: true, asked: self.now };
        let (at, given_up) = match victim {
            Some(at) => {
                let old = std::mem::replace(&mut self.slots[at], slot);
                self.places.set(old.unit as usize, NONE);
                if at == self.hand {
                    self.hand = (self.hand + 1) % self.slots.len();
                }
                (at, old.entries)
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1, Vec::new())
            }
        };
        self.places.set(unit as usize, at as u32);
        (at, given_up)
    }

    pub(super) fn mark_shift(&self) -> u32 {
        self.mark_shift
    }
}

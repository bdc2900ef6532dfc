//! Shadowing: page placement without overwriting.
//!
//! The owner's pages keep their numbers; a page table maps each one to a slot (a device page). The first write to a
//! page since the last flush goes to a free slot, and the slot known to the last flush stays unchanged. A flush also
//! writes the changed table pages to free slots, level by level up to a single page, and then a header naming this
//! page. Only then are the older slots free.

/// Slots 0 and 1 are the headers.
const FIRST_SLOT: u32 = 2;

/// The page table and the slots.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    /// By page: its slot, 0 for a page never written.
    map: Vec<u32>,
    /// By page: whether its slot was taken since the last flush.
    fresh: Vec<bool>,
    fresh_pages: Vec<u32>,
    /// By table level and index: the table page's slot, 0 if never written.
    levels: Vec<Vec<u32>>,
    /// By index: whether the level-0 table page changed since the last flush.
    changed: Vec<bool>,
    /// By slot, one bit each: taken by the state in memory or by the last flush.
    taken: Vec<u64>,
    slots: u32,
    free: u32,
    cursor: u32,
    /// Slots to be freed by the next flush.
    superseded: Vec<u32>,
    entries: usize,
}

/// A page's write target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) slot: u32,
    /// Whether the slot holds the page since the last flush, so a part may be written.
    pub(crate) holds_page: bool,
}

impl Shadow {
    /// No pages, on a device with `slots` pages, `page_bytes` bytes each.
    pub(crate) fn new(slots: u32, page_bytes: usize) -> Self {
        let mut taken = vec![0; slots as usize / 64 + 1];
        taken[0] = (1 << FIRST_SLOT) - 1;
        Self {
            map: Vec::new(),
            fresh: Vec::new(),
            fresh_pages: Vec::new(),
            levels: Vec::new(),
            changed: Vec::new(),
            taken,
            slots,
            free: slots - FIRST_SLOT,
            cursor: FIRST_SLOT,
            superseded: Vec::new(),
            entries: page_bytes / 4,
        }
    }

    /// The table with its root in `root`; `read` returns the numbers in a slot. `None` if it is damaged.
    pub(crate) fn load<E>(
        mut self,
        pages: u32,
        root: u32,
        mut read: impl FnMut(u32) -> Result<Vec<u32>, E>,
    ) -> Result<Option<Self>, E> {
        let mut counts = self.counts(pages as usize);
        let mut slots = vec![root];
        while let Some(count) = counts.pop() {
            let mut below = Vec::new();
            for &slot in &slots {
                if !self.claim(slot) {
                    return Ok(None);
                }
                below.extend(read(slot)?);
            }
            debug_assert_eq!(slots.len(), count);
            self.levels.insert(0, std::mem::replace(&mut slots, below));
            slots.truncate(counts.last().copied().unwrap_or(pages as usize));
        }
        for &slot in &slots {
            if slot != 0 && !self.claim(slot) {
                return Ok(None);
            }
        }
        self.fresh = vec![false; slots.len()];
        self.changed = vec![false; self.levels[0].len()];
        self.map = slots;
        Ok(Some(self))
    }

    /// Table pages by level for `pages` pages: each level lists the one below; the last has one page.
    fn counts(&self, pages: usize) -> Vec<usize> {
        let mut counts = vec![pages.div_ceil(self.entries).max(1)];
        while counts[counts.len() - 1] > 1 {
            counts.push(counts[counts.len() - 1].div_ceil(self.entries));
        }
        counts
    }

    /// Marks a slot as taken; `false` if it is taken or invalid.
    fn claim(&mut self, slot: u32) -> bool {
        let bit = 1 << (slot % 64);
        if slot < FIRST_SLOT || slot >= self.slots || self.taken[slot as usize / 64] & bit != 0 {
            return false;
        }
        self.taken[slot as usize / 64] |= bit;
        self.free -= 1;
        true
    }

    /// The next free slot in circular order, so a flush writes in ascending order.
    fn take(&mut self) -> Option<u32> {
        if self.free == 0 {
            return None;
        }
        loop {
            let slot = self.cursor;
            self.cursor = if slot + 1 == self.slots { FIRST_SLOT } else { slot + 1 };
            if self.taken[slot as usize / 64] == u64::MAX && slot % 64 == 0 {
                // The circle goes over a full word at once.
                self.cursor = if slot + 64 >= self.slots { FIRST_SLOT } else { slot + 64 };
            } else if self.claim(slot) {
                return Some(slot);
            }
        }
    }

    /// A page more, without a slot.
    pub(crate) fn extend(&mut self, pages: u32) {
        self.map.resize(pages as usize, 0);
        self.fresh.resize(pages as usize, false);
        self.changed.resize(self.map.len().div_ceil(self.entries), true);
    }

    /// The slot for `page`; 0: none yet.
    pub(crate) fn slot(&self, page: u32) -> u32 {
        self.map[page as usize]
    }

    /// The write target for `page`; `None` if no slot is free.
    pub(crate) fn place(&mut self, page: u32) -> Option<Place> {
        let at = page as usize;
        if self.fresh[at] {
            return Some(Place { slot: self.map[at], holds_page: true });
        }
        let slot = self.take()?;
        if self.map[at] != 0 {
            self.superseded.push(self.map[at]);
        }
        self.map[at] = slot;
        self.fresh[at] = true;
        self.fresh_pages.push(page);
        self.changed[at / self.entries] = true;
        Some(Place { slot, holds_page: false })
    }

    /// Slots that may be taken up to and with the next flush, for `changed` changed and `new` new pages: one for each,
    /// and the whole table. Changed pages waiting in the pool come on top.
    pub(crate) fn needed(&self, changed: u32, new: u32) -> usize {
        let table: usize = self.counts(self.map.len() + new as usize).iter().sum();
        (changed + new) as usize + table
    }

    /// Free slots.
    pub(crate) fn free(&self) -> usize {
        self.free as usize
    }

    /// Whether `page` was written since the last flush: it takes no other slot before the next.
    pub(crate) fn is_fresh(&self, page: u32) -> bool {
        self.fresh[page as usize]
    }

    /// The table pages a flush must write, with their slots, the root last; `None` if no slot is free.
    pub(crate) fn changed_table(&mut self) -> Option<Vec<(u32, Vec<u8>)>> {
        let counts = self.counts(self.map.len());
        self.levels.resize(counts.len(), Vec::new());
        let mut changed = std::mem::take(&mut self.changed);
        let mut pages = Vec::new();
        for (level, &count) in counts.iter().enumerate() {
            self.levels[level].resize(count, 0);
            changed.resize(count, true);
            let mut above = vec![false; count.div_ceil(self.entries)];
            for at in (0..count).filter(|&at| changed[at]) {
                let slot = self.take()?;
                let old = std::mem::replace(&mut self.levels[level][at], slot);
                if old != 0 {
                    self.superseded.push(old);
                }
                let listed = if level == 0 { &self.map } else { &self.levels[level - 1] };
                let listed = &listed[at * self.entries..listed.len().min((at + 1) * self.entries)];
                let mut bytes: Vec<u8> = listed.iter().flat_map(|slot| slot.to_le_bytes()).collect();
                bytes.resize(self.entries * 4, 0);
                pages.push((slot, bytes));
                above[at / self.entries] = true;
            }
            if level == 0 {
                self.changed = vec![false; count];
            }
            changed = above;
        }
        Some(pages)
    }

    /// Whether a page or the table changed since the last flush.
    pub(crate) fn has_fresh(&self) -> bool {
        !self.fresh_pages.is_empty() || self.changed.contains(&true)
    }

    /// The table root's slot.
    pub(crate) fn root(&self) -> u32 {
        self.levels.last().map_or(0, |top| top[0])
    }

    /// The header naming the table is durable: the previous flush's slots are free.
    pub(crate) fn committed(&mut self) {
        for slot in std::mem::take(&mut self.superseded) {
            self.taken[slot as usize / 64] &= !(1 << (slot % 64));
            self.free += 1;
        }
        for page in std::mem::take(&mut self.fresh_pages) {
            self.fresh[page as usize] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_table_comes_back_at_every_depth() {
        for pages in [2, 100, 128, 129, 20_000] {
            let mut shadow = Shadow::new(60_000, 512);
            shadow.extend(pages);
            let mut written = BTreeMap::new();
            for round in 0..3 {
                for page in (2..pages).step_by(1 + round * 7) {
                    shadow.place(page).unwrap();
                }
                written.extend(shadow.changed_table().unwrap());
                shadow.committed();
            }
            let read = |slot: u32| {
                let numbers = written[&slot].chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
                Ok::<_, ()>(numbers.collect())
            };
            let loaded = Shadow::new(60_000, 512).load(pages, shadow.root(), read).unwrap().unwrap();
            assert_eq!(loaded.map, shadow.map);
            assert_eq!(loaded.levels, shadow.levels);
            assert_eq!((loaded.taken, loaded.free), (shadow.taken, shadow.free), "{pages} pages");
        }
    }

    #[test]
    fn a_slot_of_the_last_flush_is_not_given_out_before_the_next() {
        let mut shadow = Shadow::new(12, 512);
        shadow.extend(4);
        let first = shadow.place(2).unwrap();
        assert_eq!(shadow.place(2), Some(Place { holds_page: true, ..first }));
        shadow.changed_table().unwrap();
        shadow.committed();
        let second = shadow.place(2).unwrap();
        assert!(!second.holds_page && second.slot != first.slot);
        // With 10 slots, two hold page 2 and one the table.
        assert_eq!((shadow.free(), shadow.needed(3, 2)), (7, 6));
        let mut given = Vec::new();
        while let Some(slot) = shadow.take() {
            given.push(slot);
        }
        assert_eq!(given.len(), 7);
        assert!(!given.contains(&first.slot));
    }
}

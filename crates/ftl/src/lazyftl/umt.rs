//! The update map: the entries of pages in the update area and in the cold area, and the blocks of both.

use nandlab_nand::{BlockId, Lpn, Ppa};
use std::collections::{BTreeMap, VecDeque};

/// Where a page was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Area {
    /// Pages of the host.
    Update = 0,
    /// Moved pages.
    Cold = 1,
}

/// An entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The newest copy; none after a trim.
    pub(super) page: Ppa,
    /// Whether the map page has it.
    pub(super) is_committed: bool,
    /// Whether the copy that the map page has, if it has one, still counts as valid.
    pub(super) is_counted: bool,
}

/// A block that waits for its conversion.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) block: BlockId,
    /// The logical pages written to it, superseded ones included.
    pub(super) pages: Vec<Lpn>,
}

/// The update map.
#[derive(Debug, Default)]
pub(super) struct Umt {
    entries: BTreeMap<Lpn, Entry>,
    /// The blocks of each area, the oldest first.
    waiting: [VecDeque<Waiting>; 2],
    counted: u32,
}

impl Umt {
    /// A page's entry.
    #[inline]
    pub(super) fn get(&self, at: Lpn) -> Option<Entry> {
        self.entries.get(&at).copied()
    }

    /// Entries whose older copies may still count as valid.
    pub(super) fn counted(&self) -> u32 {
        self.counted
    }

    /// Sets a page's entry; a page in an area waits with its block.
    #[inline]
    pub(super) fn put(&mut self, at: Lpn, entry: Entry, place: Option<(Area, BlockId)>) {
        self.counted += u32::from(entry.is_counted);
        if let Some(before) = self.entries.insert(at, entry) {
            self.counted -= u32::from(before.is_counted);
        }
        let Some((area, block)) = place else { return };
        let waiting = &mut self.waiting[area as usize];
        match waiting.iter_mut().rfind(|waiting| waiting.block == block) {
            Some(waiting) => waiting.pages.push(at),
            None => waiting.push_back(Waiting { block, pages: vec![at] }),
        }
    }

    /// Notes that the map page's copy counts no more.
    pub(super) fn uncount(&mut self, at: Lpn) {
        if let Some(entry) = self.entries.get_mut(&at) {
            self.counted -= u32::from(std::mem::take(&mut entry.is_counted));
        }
    }

    /// The entries of logical pages from `first` to before `end` that their map page lacks.
    pub(super) fn uncommitted(&self, first: u32, end: u32) -> Vec<(Lpn, Entry)> {
        let range = self.entries.range(Lpn(first)..Lpn(end));
        range.filter(|(_, entry)| !entry.is_committed).map(|(&at, &entry)| (at, entry)).collect()
    }

    /// Notes that an entry is in its map page; a trimmed page's entry leaves.
    pub(super) fn commit(&mut self, at: Lpn) {
        self.uncount(at);
        match self.entries.get_mut(&at) {
            Some(entry) if entry.page.is_some() => entry.is_committed = true,
            _ => drop(self.entries.remove(&at)),
        }
    }

    /// Removes a committed entry.
    pub(super) fn remove(&mut self, at: Lpn) {
        let entry = self.entries.remove(&at).expect("a known entry leaves");
        assert!(entry.is_committed && !entry.is_counted, "the entry of {at} leaves before its map page has it");
    }

    /// Blocks of an area.
    pub(super) fn waiting(&self, area: Area) -> usize {
        self.waiting[area as usize].len()
    }

    /// Takes an area's oldest block.
    pub(super) fn take_oldest(&mut self, area: Area) -> Option<Waiting> {
        self.waiting[area as usize].pop_front()
    }

    /// All entries, by logical page.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Lpn, Entry)> + '_ {
        self.entries.iter().map(|(&at, &entry)| (at, entry))
    }

    /// The blocks of both areas.
    pub(super) fn blocks(&self) -> Vec<BlockId> {
        let mut blocks: Vec<BlockId> = self.waiting.iter().flatten().map(|waiting| waiting.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(page: u32, is_committed: bool, is_counted: bool) -> Entry {
        Entry { page: Ppa(page), is_committed, is_counted }
    }

    #[test]
    fn older_copies_are_counted_once_for_each_page() {
        let mut umt = Umt::default();
        let place = Some((Area::Update, BlockId(3)));
        umt.put(Lpn(5), entry(12, false, true), place);
        umt.put(Lpn(5), entry(13, false, true), place);
        umt.put(Lpn(6), entry(14, false, true), place);
        assert_eq!((umt.counted(), umt.waiting(Area::Update), umt.waiting(Area::Cold)), (2, 1, 0));
        umt.uncount(Lpn(5));
        umt.uncount(Lpn(5));
        assert_eq!(umt.counted(), 1);
        umt.commit(Lpn(6));
        assert_eq!((umt.counted(), umt.get(Lpn(6))), (0, Some(entry(14, true, false))));
        assert_eq!(umt.uncommitted(0, 100), [(Lpn(5), entry(13, false, false))]);
        // A trimmed page's entry leaves with its commit.
        umt.put(Lpn(5), entry(Ppa::NONE.0, false, false), None);
        umt.commit(Lpn(5));
        assert_eq!(umt.get(Lpn(5)), None);
    }
}

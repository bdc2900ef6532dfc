//! A sparse table for exceptions: few pages, or the pages of few blocks. It is empty in most runs, and then
//! costs nothing.

use crate::address::Ppa;
use std::ops::Range;

/// log2(pages in a chunk): at most a usual block, so few chunks span two blocks.
const CHUNK: u32 = 6;

/// Chunks in a group. An entry at the end of a large device takes memory for the chunks of its group alone.
const GROUP: usize = 512;

/// Entries of a chunk of pages, in page order.
type Chunk<T> = Vec<(u32, T)>;

/// Entries by chunks of pages.
#[derive(Clone, Debug)]
pub(crate) struct SideTable<T> {
    groups: Vec<Option<Box<[Chunk<T>; GROUP]>>>,
    count: usize,
}

impl<T> Default for SideTable<T> {
    fn default() -> Self {
        Self { groups: Vec::new(), count: 0 }
    }
}

/// A page's entry index in a chunk, or its insertion index.
#[inline]
fn place<T>(chunk: &[(u32, T)], at: u32) -> Result<usize, usize> {
    let Some(&(first, _)) = chunk.first() else { return Err(0) };
    // If every page after the first has an entry, the index follows directly.
    let dense = at.wrapping_sub(first) as usize;
    if chunk.get(dense).is_some_and(|entry| entry.0 == at) {
        return Ok(dense);
    }
    chunk.binary_search_by_key(&at, |entry| entry.0)
}

impl<T> SideTable<T> {
    #[inline]
    pub(crate) fn get(&self, at: Ppa) -> Option<&T> {
        let number = (at.0 >> CHUNK) as usize;
        let chunk = &self.groups.get(number / GROUP)?.as_ref()?[number % GROUP];
        place(chunk, at.0).ok().map(|place| &chunk[place].1)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn insert(&mut self, at: Ppa, value: T) {
        let number = (at.0 >> CHUNK) as usize;
        let group = number / GROUP;
        if group >= self.groups.len() {
            self.groups.resize_with(group + 1, || None);
        }
        let group = self.groups[group].get_or_insert_with(|| Box::new(std::array::from_fn(|_| Vec::new())));
        let chunk = &mut group[number % GROUP];
        match place(chunk, at.0) {
            Ok(place) => chunk[place].1 = value,
            Err(place) => {
                chunk.insert(place, (at.0, value));
                self.count += 1;
            }
        }
    }

    /// Drops the entries for `pages`.
    #[inline]
    pub(crate) fn remove_range(&mut self, pages: Range<u32>) {
        if self.count > 0 && !pages.is_empty() {
            self.drop_range(pages);
        }
    }

    fn drop_range(&mut self, pages: Range<u32>) {
        let chunks = (pages.start >> CHUNK) as usize..((pages.end - 1) >> CHUNK) as usize + 1;
        for number in chunks {
            let group = self.groups.get_mut(number / GROUP).and_then(Option::as_mut);
            let Some(chunk) = group.map(|group| &mut group[number % GROUP]) else { continue };
            let start = chunk.partition_point(|entry| entry.0 < pages.start);
            let end = chunk.partition_point(|entry| entry.0 < pages.end);
            chunk.drain(start..end);
            self.count -= end - start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::collections::BTreeMap;

    /// Compared with a standard-library map.
    #[test]
    fn it_holds_what_a_map_holds() {
        let (mut random, mut table, mut map) = (Random::new(5), SideTable::default(), BTreeMap::new());
        let mut emptied = 0;
        for round in 0..20_000 {
            let at = random.below(300) as u32;
            if round % 5_000 < 4_000 && random.below(20) > 0 {
                table.insert(Ppa(at), round);
                map.insert(at, round);
            } else {
                let pages = at..at + random.below(100) as u32;
                table.remove_range(pages.clone());
                map.retain(|page, _| !pages.contains(page));
            }
            assert_eq!(table.is_empty(), map.is_empty());
            emptied += u32::from(map.is_empty());
            let asked = random.below(400) as u32;
            assert_eq!(table.get(Ppa(asked)), map.get(&asked));
        }
        assert!(emptied > 100);
    }
}

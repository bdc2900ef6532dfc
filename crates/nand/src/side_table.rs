//! A sparse table for exceptions: few pages, or the pages of few blocks. It is empty in most runs, and then
//! costs nothing.

use crate::address::Ppa;
use std::ops::Range;

/// log2(pages in a chunk): at most a usual block, so few chunks span two blocks.
const CHUNK: u32 = 6;

/// Entries by chunks of pages; each chunk is in page order.
#[derive(Clone, Debug)]
pub(crate) struct SideTable<T> {
    chunks: Vec<Vec<(u32, T)>>,
    count: usize,
}

impl<T> Default for SideTable<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), count: 0 }
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
        let chunk = self.chunks.get((at.0 >> CHUNK) as usize)?;
        place(chunk, at.0).ok().map(|place| &chunk[place].1)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn insert(&mut self, at: Ppa, value: T) {
        let number = (at.0 >> CHUNK) as usize;
        if number >= self.chunks.len() {
            self.chunks.resize_with(number + 1, Vec::new);
        }
        let chunk = &mut self.chunks[number];
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
        let known = chunks.start.min(self.chunks.len())..chunks.end.min(self.chunks.len());
        for chunk in &mut self.chunks[known] {
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

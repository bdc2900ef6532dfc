//! How often each page is written, and whether it is read, in bounded memory.

use std::collections::BTreeMap;

/// Units of a chunk.
const CHUNK: u64 = 256;

/// Chunks that are held at most: 96 MiB of cells.
const MOST_CHUNKS: usize = 96 * 1024;

const WAS_READ: u32 = 1 << 31;
const MOST_WRITES: u32 = WAS_READ - 1;

/// Writes of each unit of address space. A unit is a page, until more are touched than fit: then two units become one,
/// as often as it takes.
#[derive(Debug, Default)]
pub(super) struct Heat {
    chunks: BTreeMap<u64, Box<[u32; CHUNK as usize]>>,
    /// log2 of the pages of a unit.
    shift: u32,
    /// Another limit than the usual one, for tests.
    most_chunks: Option<usize>,
}

impl Heat {
    #[cfg(test)]
    fn with_most(chunks: usize) -> Self {
        Self { most_chunks: Some(chunks), ..Self::default() }
    }

    /// Pages of a unit.
    pub(super) fn unit_pages(&self) -> u64 {
        1 << self.shift
    }

    /// Adds a read or write of the pages from `first` to before `end`.
    pub(super) fn add(&mut self, first: u64, end: u64, is_write: bool) {
        let mut page = first;
        while page < end {
            let unit = page >> self.shift;
            let next = (unit + 1) << self.shift;
            let pages = next.min(end) - page;
            let cell = self.cell(unit);
            if is_write {
                let writes = u64::from(*cell & MOST_WRITES) + pages;
                *cell = *cell & WAS_READ | writes.min(MOST_WRITES.into()) as u32;
            } else {
                *cell |= WAS_READ;
            }
            page = next;
        }
        while self.chunks.len() > self.most_chunks.unwrap_or(MOST_CHUNKS) {
            self.coarsen();
        }
    }

    fn cell(&mut self, unit: u64) -> &mut u32 {
        let chunk = self.chunks.entry(unit / CHUNK).or_insert_with(|| Box::new([0; CHUNK as usize]));
        &mut chunk[(unit % CHUNK) as usize]
    }

    fn coarsen(&mut self) {
        let fine = std::mem::take(&mut self.chunks);
        self.shift += 1;
        for (number, cells) in fine {
            for (at, cell) in cells.iter().enumerate().filter(|(_, &cell)| cell > 0) {
                let merged = self.cell((number * CHUNK + at as u64) / 2);
                let writes = (*merged & MOST_WRITES).saturating_add(cell & MOST_WRITES).min(MOST_WRITES);
                *merged = (*merged | cell) & WAS_READ | writes;
            }
        }
    }

    /// The touched units in the order of their addresses: number, writes, whether it was read.
    pub(super) fn units(&self) -> impl Iterator<Item = (u64, u32, bool)> + '_ {
        self.chunks.iter().flat_map(|(number, cells)| {
            let cells = cells.iter().enumerate().filter(|(_, &cell)| cell > 0);
            cells.map(move |(at, &cell)| (number * CHUNK + at as u64, cell & MOST_WRITES, cell & WAS_READ != 0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarser_units_keep_every_write() {
        let mut fine = Heat::default();
        let mut coarse = Heat::with_most(4);
        let mut random = nandlab_nand::random::Random::new(3);
        let mut writes = 0;
        for _ in 0..5_000 {
            let (first, length) = (random.below(1 << 14), 1 + random.below(30));
            let is_write = random.chance(0.7);
            fine.add(first, first + length, is_write);
            coarse.add(first, first + length, is_write);
            writes += if is_write { length } else { 0 };
        }
        assert_eq!(fine.unit_pages(), 1);
        assert!(coarse.unit_pages() >= 16 && coarse.chunks.len() <= 4);
        let sum = |heat: &Heat| heat.units().map(|(_, writes, _)| u64::from(writes)).sum::<u64>();
        assert_eq!((sum(&fine), sum(&coarse)), (writes, writes));
        let last = |heat: &Heat| heat.units().last().unwrap().0 * heat.unit_pages();
        assert!(last(&coarse) <= last(&fine) && last(&fine) < last(&coarse) + coarse.unit_pages());
    }
}

//! Each page's write count and read flag, in bounded memory.

use std::collections::BTreeMap;

/// Pages per chunk.
const CHUNK: u64 = 256;

/// Most chunks in memory: 96 MiB for cells.
const MOST_CHUNKS: usize = 96 * 1024;

const WAS_READ: u32 = 1 << 31;
const MOST_WRITES: u32 = WAS_READ - 1;

/// Writes to each page. If a trace touches more chunks than fit, the counter drops half, repeatedly if
/// necessary. A hash over the chunk number decides, so the remaining chunks are a fair sample, each counted
/// from the first request to the last.
#[derive(Debug, Default)]
pub(super) struct Heat {
    chunks: BTreeMap<u64, Box<[u32; CHUNK as usize]>>,
    /// log2 of the sampling rate: one chunk in 2^halvings is counted.
    halvings: u32,
    /// Replaces the usual limit in tests.
    most_chunks: Option<usize>,
}

/// Mixes the bits, so consecutive numbers differ in their last bits, too (the finalizer of SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

impl Heat {
    #[cfg(test)]
    fn with_most(chunks: usize) -> Self {
        Self { most_chunks: Some(chunks), ..Self::default() }
    }

    /// Page sampling rate: one in this many is counted; 1 if all are.
    pub(super) fn one_in(&self) -> u64 {
        1 << self.halvings
    }

    fn is_held(&self, chunk: u64) -> bool {
        mixed(chunk) & (self.one_in() - 1) == 0
    }

    /// Adds a read or write to the pages from `first` to before `end`.
    pub(super) fn add(&mut self, first: u64, end: u64, is_write: bool) {
        let mut page = first;
        while page < end {
            let chunk = page / CHUNK;
            let next = end.min((chunk + 1) * CHUNK);
            if self.is_held(chunk) {
                let cells = self.chunks.entry(chunk).or_insert_with(|| Box::new([0; CHUNK as usize]));
                for cell in &mut cells[(page % CHUNK) as usize..=((next - 1) % CHUNK) as usize] {
                    *cell = match (is_write, *cell & MOST_WRITES == MOST_WRITES) {
                        (true, false) => *cell + 1,
                        (true, true) => *cell,
                        (false, _) => *cell | WAS_READ,
                    };
                }
            }
            page = next;
        }
        while self.chunks.len() > self.most_chunks.unwrap_or(MOST_CHUNKS) {
            self.halvings += 1;
            let one_in = self.one_in();
            self.chunks.retain(|&chunk, _| mixed(chunk) & (one_in - 1) == 0);
        }
    }

    /// The sampled pages in address order: number, writes, and whether the page was read.
    pub(super) fn pages(&self) -> impl Iterator<Item = (u64, u32, bool)> + '_ {
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
    fn a_sample_counts_each_of_its_pages_in_full() {
        let (mut all, mut some) = (Heat::default(), Heat::with_most(300));
        let mut random = nandlab_nand::random::Random::new(3);
        for _ in 0..60_000 {
            let (first, length) = (random.below(1 << 20), 1 + random.below(300));
            let is_write = random.chance(0.7);
            all.add(first, first + length, is_write);
            some.add(first, first + length, is_write);
        }
        assert_eq!((all.one_in(), some.one_in()), (1, 16));
        let held: Vec<_> = all.pages().filter(|&(page, ..)| some.is_held(page / CHUNK)).collect();
        assert!(some.pages().eq(held.iter().copied()), "a page of the sample has all its writes");
        let count = |heat: &Heat| heat.pages().count() as f64 * heat.one_in() as f64;
        assert!((count(&some) / count(&all) - 1.0).abs() < 0.15, "{} for {}", count(&some), count(&all));
        let sum = |heat: &Heat| heat.pages().map(|(_, writes, _)| u64::from(writes)).sum::<u64>() as f64;
        let mean = |heat: &Heat| sum(heat) / heat.pages().filter(|page| page.1 > 0).count() as f64;
        assert!((mean(&some) / mean(&all) - 1.0).abs() < 0.03, "{} for {}", mean(&some), mean(&all));
    }

    /// Coarser units would miss this: every page is written three times, and a chunk has few touched pages.
    #[test]
    fn pages_far_apart_are_counted_as_often_as_they_are_written() {
        let mut heat = Heat::with_most(1000);
        for _ in 0..3 {
            for page in 0..20_000 {
                heat.add(page * 997, page * 997 + 1, true);
            }
        }
        assert!(heat.one_in() > 1 && heat.pages().all(|(_, writes, was_read)| writes == 3 && !was_read));
        let pages = heat.pages().count() as f64 * heat.one_in() as f64;
        assert!((pages / 20_000.0 - 1.0).abs() < 0.15, "{pages}");
    }
}

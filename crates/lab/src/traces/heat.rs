//! Each page's write count and read flag, in bounded memory.

use std::collections::BTreeMap;

/// Pages per chunk.
pub const CHUNK: u64 = 256;

/// Most chunks in memory: 96 MiB for cells.
const MOST_CHUNKS: usize = 96 * 1024;

const WAS_READ: u32 = 1 << 31;
const MOST_WRITES: u32 = WAS_READ - 1;

/// Writes to each page. If a trace touches more chunks than fit, the counter drops half, repeatedly if
/// necessary. A hash over the chunk number decides, so the remaining chunks are a fair sample, each counted
/// from the first request to the last.
#[derive(Debug, Default)]
pub struct Heat {
    chunks: BTreeMap<u64, Box<[u32; CHUNK as usize]>>,
    /// log2 of the sampling rate: one chunk in 2^halvings is counted.
    halvings: u32,
    /// Replaces the usual limit.
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
    /// Holds at most this many chunks.
    pub fn with_most(chunks: usize) -> Self {
        Self { most_chunks: Some(chunks), ..Self::default() }
    }

    /// Page sampling rate: one in this many is counted; 1 if all are.
    pub fn one_in(&self) -> u64 {
        1 << self.halvings
    }

    /// Whether the pages of this chunk are in the sample.
    pub fn is_held(&self, chunk: u64) -> bool {
        mixed(chunk) & (self.one_in() - 1) == 0
    }

    /// Adds a read or write to the pages from `first` to before `end`.
    pub fn add(&mut self, first: u64, end: u64, is_write: bool) {
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
    pub fn pages(&self) -> impl Iterator<Item = (u64, u32, bool)> + '_ {
        self.chunks.iter().flat_map(|(number, cells)| {
            let cells = cells.iter().enumerate().filter(|(_, &cell)| cell > 0);
            cells.map(move |(at, &cell)| (number * CHUNK + at as u64, cell & MOST_WRITES, cell & WAS_READ != 0))
        })
    }
}

//! Fitting a trace's addresses into the device.

use nandlab_block::{Op, Request};
use std::collections::BTreeMap;

/// What is done with addresses beyond the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Addresses {
    /// The run is refused; the message names the largest address.
    #[default]
    Reject,
    /// Each request starts at its first sector modulo the device; one that would then reach past the end
    /// moves back as a whole until it ends there. Requests stay whole and in their lengths; different
    /// addresses may fall onto one.
    Fold,
    /// The 4 KiB pages that the trace reads or writes are renumbered in the order of their addresses, without
    /// gaps. Neighbours stay neighbours; trims of pages that are never read or written vanish.
    Compact,
}

/// Sectors per page in [`Addresses::Compact`].
const PAGE_SECTORS: u64 = 8;
/// Pages per bitmap chunk.
const CHUNK_PAGES: u64 = 4096;
const CHUNK_WORDS: usize = CHUNK_PAGES as usize / 64;

/// A chunk's pages; `None` if all are touched, as after a request with many TiB.
type Bits = Option<Box<[u64; CHUNK_WORDS]>>;

fn word(bits: &Bits, at: usize) -> u64 {
    bits.as_ref().map_or(u64::MAX, |bits| bits[at])
}

fn count(bits: &Bits) -> u64 {
    bits.as_ref().map_or(CHUNK_PAGES, |bits| bits.iter().map(|word| u64::from(word.count_ones())).sum())
}

/// The 4 KiB pages touched in a trace: a bitmap in chunks, each for 16 MiB address space.
#[derive(Clone, Debug, Default)]
pub struct TouchedPages {
    chunks: BTreeMap<u64, Bits>,
}

impl TouchedPages {
    /// Adds the pages a read or write touches.
    #[inline]
    pub fn add(&mut self, request: &Request) {
        if !matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        let (mut page, end) = (request.sector / PAGE_SECTORS, request.end().div_ceil(PAGE_SECTORS));
        while page < end {
            let next = (page + 1).next_multiple_of(CHUNK_PAGES).min(end);
            if next - page == CHUNK_PAGES {
                self.chunks.insert(page / CHUNK_PAGES, None);
            } else if let Some(bits) =
                self.chunks.entry(page / CHUNK_PAGES).or_insert_with(|| Some(Box::new([0; CHUNK_WORDS])))
            {
                for bit in (page..next).map(|page| page % CHUNK_PAGES) {
                    bits[(bit / 64) as usize] |= 1 << (bit % 64);
                }
            }
            page = next;
        }
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.chunks.values().map(count).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Numbers the pages by address.
    pub(crate) fn rank(self) -> Ranks {
        let mut next = 0;
        let mut chunks = Vec::with_capacity(self.chunks.len());
        for (number, bits) in self.chunks {
            let first = next;
            next += count(&bits);
            chunks.push(Chunk { number, first, bits });
        }
        Ranks { chunks, pages: next }
    }
}

#[derive(Clone, Debug)]
struct Chunk {
    number: u64,
    /// Number for the chunk's first touched page.
    first: u64,
    bits: Bits,
}

/// The touched pages' new numbers.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    chunks: Vec<Chunk>,
    pages: u64,
}

impl Ranks {
    /// Sectors in all touched pages.
    pub(crate) fn sectors(&self) -> u64 {
        self.pages * PAGE_SECTORS
    }

    /// The touched pages below `page`, and whether `page` itself is one.
    fn below(&self, page: u64) -> (u64, bool) {
        let (number, bit) = (page / CHUNK_PAGES, page % CHUNK_PAGES);
        let at = self.chunks.partition_point(|chunk| chunk.number < number);
        let Some(chunk) = self.chunks.get(at) else { return (self.pages, false) };
        if chunk.number != number {
            return (chunk.first, false);
        }
        let at = (bit / 64) as usize;
        let before: u64 = (0..at).map(|at| u64::from(word(&chunk.bits, at).count_ones())).sum();
        let mask = 1u64 << (bit % 64);
        let inside = u64::from((word(&chunk.bits, at) & (mask - 1)).count_ones());
        (chunk.first + before + inside, word(&chunk.bits, at) & mask != 0)
    }

    /// The new sector; an untouched page maps to the first sector after the touched pages below it.
    fn sector(&self, sector: u64) -> u64 {
        let (rank, touched) = self.below(sector / PAGE_SECTORS);
        rank * PAGE_SECTORS + if touched { sector % PAGE_SECTORS } else { 0 }
    }

    /// `request` with its new addresses; `None` for a trim without touched pages.
    pub(crate) fn translate(&self, request: &Request) -> Option<Request> {
        let sector = self.sector(request.sector);
        if request.op != Op::Trim {
            // All its pages are touched, so their numbers are as dense as before.
            return Some(Request { sector, ..*request });
        }
        let sectors = self.sector(request.end()) - sector;
        (sectors > 0).then_some(Request { sector, sectors: sectors as u32, ..*request })
    }
}

/// `request` folded into a device with `capacity` sectors; only a trim may be longer than the device, and is cut.
pub(crate) fn fold(request: &Request, capacity: u64) -> Request {
    let start = request.sector % capacity;
    let sectors = u64::from(request.sectors).min(capacity);
    Request { sector: start.min(capacity - sectors), sectors: sectors as u32, ..*request }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_requests_stay_whole() {
        let fold = |sector, sectors| fold(&Request::new(Op::Write, sector, sectors), 100).sector;
        assert_eq!(super::fold(&Request::new(Op::Trim, 8, 1000), 100), Request::new(Op::Trim, 0, 100));
        assert_eq!(
            [fold(0, 8), fold(92, 8), fold(93, 8), fold(99, 8), fold(108, 8), fold(250, 100)],
            [0, 92, 92, 92, 8, 0]
        );
    }

    #[test]
    fn touched_pages_are_numbered_in_order_and_keep_their_offsets() {
        let far = 1 << 40;
        let mut touched = TouchedPages::default();
        for (op, sector, sectors) in
            [(Op::Write, 8, 8), (Op::Read, far + 3, 9), (Op::Write, 40_000, 1), (Op::Trim, 800, 8), (Op::Flush, 0, 0)]
        {
            touched.add(&Request::new(op, sector, sectors));
        }
        let ranks = touched.rank();
        assert_eq!(ranks.sectors(), 4 * PAGE_SECTORS);
        let moved = |op, sector, sectors| {
            ranks.translate(&Request::new(op, sector, sectors)).map(|request| (request.sector, request.sectors))
        };
        assert_eq!(moved(Op::Write, 8, 8), Some((0, 8)));
        assert_eq!(moved(Op::Write, 40_001, 1), Some((9, 1)));
        assert_eq!(moved(Op::Read, far + 3, 9), Some((19, 9)));
        assert_eq!(moved(Op::Trim, 800, 8), None, "nothing there is ever read or written");
        assert_eq!(moved(Op::Trim, 0, 80_000), Some((0, 16)));
        assert_eq!(moved(Op::Trim, 12, 100), Some((4, 4)), "half of the first page");
        assert_eq!(moved(Op::Trim, far, u32::MAX), Some((16, 16)));
    }

    #[test]
    fn ranks_agree_with_counting() {
        let mut random = nandlab_nand::random::Random::new(5);
        let mut touched = TouchedPages::default();
        let mut plain = std::collections::BTreeSet::new();
        for _ in 0..2000 {
            // Now and then a request touches whole chunks.
            let longest = if random.below(500) == 0 { 100_000 } else { 30 };
            let request = Request::new(Op::Write, random.below(1 << 24), 1 + random.below(longest) as u32);
            touched.add(&request);
            plain.extend(request.sector / 8..=(request.end() - 1) / 8);
        }
        let ranks = touched.rank();
        for (number, &page) in plain.iter().enumerate() {
            assert_eq!(ranks.below(page), (number as u64, true));
        }
        assert_eq!(ranks.sectors(), plain.len() as u64 * 8);
    }
}

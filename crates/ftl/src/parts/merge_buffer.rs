//! Buffered sectors from several logical pages, to share one flash page.

use crate::FtlError;
use nandlab_nand::{Origin, PageBuf, Time, SECTOR_BYTES};

/// No sector: rewritten or trimmed since.
pub(crate) const DEAD: u32 = u32::MAX;

/// A page being gathered: logical sectors, their authors, and their contents if there are any.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) sectors: Vec<u32>,
    pub(crate) origins: Vec<Origin>,
    bytes: Vec<u8>,
}

impl Gathered {
    pub(crate) fn len(&self) -> usize {
        self.sectors.len()
    }

    pub(crate) fn clear(&mut self) {
        self.sectors.clear();
        self.origins.clear();
        self.bytes.clear();
    }

    /// A logical sector's place.
    #[inline]
    pub(crate) fn find(&self, sector: u32) -> Option<usize> {
        // Usually there is none, and a single pass over all sectors shows it.
        let is_there = self.sectors.iter().fold(false, |found, &at| found | (at == sector));
        if !is_there {
            return None;
        }
        self.sectors.iter().position(|&at| at == sector)
    }

    /// Whether any sector is still needed.
    pub(crate) fn is_needed(&self) -> bool {
        self.sectors.iter().any(|&sector| sector != DEAD)
    }

    /// How many sectors are still needed.
    pub(crate) fn needed(&self) -> u32 {
        self.sectors.iter().filter(|&&sector| sector != DEAD).count() as u32
    }

    /// Marks the sectors selected by `is_gone` as no longer needed.
    pub(crate) fn drop_where(&mut self, is_gone: impl Fn(u32) -> bool) {
        self.sectors.iter_mut().filter(|sector| is_gone(**sector)).for_each(|sector| *sector = DEAD);
    }

    /// Adds a logical sector, with the contents from sector `from` in `page`.
    pub(crate) fn push<B: PageBuf>(&mut self, sector: u32, origin: Origin, page: &B, from: u32) {
        self.sectors.push(sector);
        self.origins.push(origin);
        self.fill(self.sectors.len() - 1, page, from);
    }

    /// Sets the contents of the sector at `place`, if `page` has contents. Above a device without contents some
    /// pages have none, and then the stored value does not matter.
    fn fill<B: PageBuf>(&mut self, place: usize, page: &B, from: u32) {
        if let Some(bytes) = page.bytes() {
            if self.bytes.len() < range(place).end {
                self.bytes.resize(range(place).end, 0);
            }
            self.bytes[range(place)].copy_from_slice(&bytes[range(from as usize)]);
        }
    }

    /// Overwrites the sector at `place`.
    pub(crate) fn overwrite<B: PageBuf>(&mut self, place: usize, origin: Origin, page: &B, from: u32) {
        self.origins[place] = origin;
        self.fill(place, page, from);
    }

    /// Copies `count` sectors from `place` on into `page` from sector `to` on.
    pub(crate) fn copy_out<B: PageBuf>(&self, place: usize, count: usize, page: &mut B, to: usize) {
        let own = self.bytes.get(range(place).start..range(place + count).start);
        if let (Some(bytes), Some(own)) = (page.bytes_mut(), own) {
            bytes[range(to).start..range(to + count).start].copy_from_slice(own);
        }
    }

    /// The sectors still needed.
    pub(crate) fn left(&self) -> Self {
        let mut left = Self::default();
        for (place, &sector) in self.sectors.iter().enumerate().filter(|(_, &sector)| sector != DEAD) {
            left.sectors.push(sector);
            left.origins.push(self.origins[place]);
            if let Some(own) = self.bytes.get(range(place)) {
                left.bytes.resize(range(left.len() - 1).start, 0);
                left.bytes.extend_from_slice(own);
            }
        }
        left
    }

    /// Forgets the sector at `place`.
    pub(crate) fn remove(&mut self, place: usize) {
        self.sectors.remove(place);
        self.origins.remove(place);
        let end = range(place).end.min(self.bytes.len());
        self.bytes.drain(range(place).start.min(end)..end);
    }

    /// Forgets the first `count` sectors.
    pub(crate) fn remove_first(&mut self, count: usize) {
        self.sectors.drain(..count);
        self.origins.drain(..count);
        self.bytes.drain(..range(count).start.min(self.bytes.len()));
    }

    /// The author with most sectors among the `count` from `place` on; in a tie, the first.
    pub(crate) fn author(&self, place: usize, count: usize) -> Origin {
        let mut sectors = [0u16; Origin::COUNT];
        let mut author = self.origins[place];
        for origin in &self.origins[place..place + count] {
            let at = |origin: Origin| usize::from(origin.0) % Origin::COUNT;
            sectors[at(*origin)] += 1;
            if sectors[at(*origin)] > sectors[at(author)] {
                author = *origin;
            }
        }
        author
    }
}

/// A sector's byte range in a page.
fn range(sector: usize) -> std::ops::Range<usize> {
    sector * SECTOR_BYTES as usize..(sector + 1) * SECTOR_BYTES as usize
}

/// Copies sector `from` in one page into sector `to` in another.
pub(crate) fn copy_sector<B: PageBuf>(source: &B, from: usize, page: &mut B, to: usize) {
    if let (Some(target), Some(bytes)) = (page.bytes_mut(), source.bytes()) {
        target[range(to)].copy_from_slice(&bytes[range(from)]);
    }
}

/// Most merge buffers in a controller: 2 GiB with 32 KiB pages.
const MOST_BUFFERS: u32 = 65_536;

/// Refuses more buffers than any controller has.
pub(crate) fn check_buffers(ftl: &str, buffers: u32) -> Result<(), FtlError> {
    if (1..=MOST_BUFFERS).contains(&buffers) {
        return Ok(());
    }
    Err(FtlError::Config(format!("ftl.{ftl}.merge_buffers = {buffers}: it is at least 1 and at most {MOST_BUFFERS}")))
}

/// For each merge buffer, the end of its latest write to flash; the next one to be filled is in front.
#[derive(Debug)]
pub(crate) struct Written {
    ends: Vec<Time>,
    next: usize,
}

impl Written {
    pub(crate) fn new(buffers: u32) -> Self {
        Self { ends: vec![0; buffers as usize], next: 0 }
    }

    /// Records that a buffer is written by `end`; returns the time when the next one to be filled is free.
    pub(crate) fn pass(&mut self, end: Time) -> Time {
        self.ends[self.next] = end;
        self.next = (self.next + 1) % self.ends.len();
        self.ends[self.next]
    }
}

//! Buffered pages: their memory and their dirty sectors.

use super::list::{Links, NONE};
use super::places::{Header, Places};
use super::table::Table;
use crate::{Counts, Memory, MountError};
use nandlab_block::Author;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::prefetch::prefetch;
use nandlab_nand::tables::reserve;
use nandlab_nand::{Geometry, SECTOR_BYTES};

/// A buffered page's number; policies keep their lists over slots.
pub(crate) type Slot = u32;

/// Firmware metadata per page, in bytes: its number, its place, two sector masks, origin and marks.
pub(crate) const FRAME_BYTES: u64 = 28;

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Buffered sectors.
    pub valid: u64,
    /// Dirty sectors: newer than below.
    pub dirty: u64,
    pub lpn: u32,
    /// Its place in NVRAM; [`NONE`] in DRAM.
    pub place: u32,
    /// Who wrote it last.
    pub author: Author,
    pub memory: Memory,
    /// Whether the slot is in `unflushed`.
    pub listed: bool,
    /// A few bits for the policy: referenced, visited, a count.
    pub mark: u8,
}

/// Room for frames at first.
const FIRST_FRAMES: usize = 64;

/// Buffer state without the policy.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    pub(super) frames: Vec<Frame>,
    free: Vec<Slot>,
    table: Table,
    pub(super) page_bytes: usize,
    /// log2 (sectors per page).
    pub(super) page_shift: u32,
    /// Mask with every sector of a page.
    pub(super) full: u64,
    /// Whether requests carry bytes.
    pub(super) has_bytes: bool,
    /// Bytes of DRAM pages, by slot.
    pub(super) dram: Vec<u8>,
    /// A page being moved between memories; zeros in a run without bytes.
    pub(super) scratch: Vec<u8>,
    /// A page as read from below.
    pub(super) fetched: Vec<u8>,
    /// Write-back data.
    pub(super) run_bytes: Vec<u8>,
    /// Write-back pages by number; kept to reuse its allocation.
    pub(super) batch: Vec<(u32, Slot)>,
    /// Slots written in DRAM since the last flush, possibly with others.
    pub(super) unflushed: Vec<Slot>,
    pub(super) places: Places,
    pub(crate) counts: Counts,
    /// DRAM page read and write time, in ns.
    pub(super) dram_ns: (f64, f64),
}

impl Pages {
    /// Loads the pages an earlier run left in `nvram`, with room for `nvram_pages`; returns their slots,
    /// oldest first.
    pub(crate) fn mount(
        geometry: &Geometry,
        nvram: &mut dyn Nvm,
        nvram_pages: u64,
    ) -> Result<(Self, Vec<Slot>), MountError> {
        let mut found = Vec::new();
        let places = Places::mount(nvram, nvram_pages, geometry.page_bytes().into(), &mut found)?;
        let mut pages = Self {
            frames: Vec::new(),
            free: Vec::new(),
            table: Table::default(),
            page_bytes: geometry.page_bytes() as usize,
            page_shift: geometry.sectors_per_page().trailing_zeros(),
            full: geometry.full_mask().0,
            has_bytes: !found.is_empty(),
            dram: Vec::new(),
            scratch: vec![0; geometry.page_bytes() as usize],
            fetched: vec![0; geometry.page_bytes() as usize],
            run_bytes: Vec::new(),
            batch: Vec::new(),
            unflushed: Vec::new(),
            places,
            counts: Counts::default(),
            dram_ns: (0.0, 0.0),
        };
        let mut slots = Vec::new();
        for (Header { lpn, author, dirty, .. }, place) in found {
            if lpn >= geometry.pages() || dirty & !pages.full != 0 {
                return Err(MountError::Config(format!(
                    "the NVRAM holds page {lpn}, which the device below cannot have: it belongs to another device"
                )));
            }
            let slot = pages.take(lpn, Memory::Nvram);
            let frame = &mut pages.frames[slot as usize];
            (frame.valid, frame.dirty, frame.author, frame.place) = (dirty, dirty, author, place);
            slots.push(slot);
        }
        Ok((pages, slots))
    }

    /// A buffered page's slot.
    #[inline]
    pub(crate) fn find(&self, lpn: u32) -> Option<Slot> {
        self.table.get(lpn)
    }

    /// Whether the tables are larger than the processor's cache; a hint for a table in the cache costs more than it saves.
    #[inline]
    pub(crate) fn is_large(&self) -> bool {
        self.frames.len() > 1 << 14
    }

    /// Starts loading what [`Self::find`] looks at.
    #[inline]
    pub(crate) fn prefetch(&self, lpn: u32) {
        self.table.prefetch(lpn);
    }

    /// A guess at a page's slot; its table cell has arrived. It may be another page's slot, or none.
    #[inline]
    pub(crate) fn guess(&self, lpn: u32) -> Slot {
        self.table.guess(lpn)
    }

    /// Starts loading a slot's frame.
    #[inline]
    pub(crate) fn prefetch_slot(&self, slot: Slot) {
        prefetch(&self.frames, slot as usize);
    }

    /// Starts loading what the eviction of the pages at the end of a list needs: the table cell of the last one, whose
    /// frame has arrived, and the frame and links of the one before it.
    #[inline]
    pub(crate) fn prefetch_victims(&self, links: &Links, last: Slot) {
        if last != NONE {
            let before = links.prev(last);
            self.prefetch(self.lpn(last));
            self.prefetch_slot(before);
            links.prefetch(before);
        }
    }

    /// Takes a slot for a new page, without valid sectors.
    #[inline]
    pub(crate) fn take(&mut self, lpn: u32, memory: Memory) -> Slot {
        let fresh =
            Frame { valid: 0, dirty: 0, lpn, place: NONE, author: Author::default(), memory, listed: false, mark: 0 };
        let slot = match self.free.pop() {
            Some(slot) => {
                let frame = &mut self.frames[slot as usize];
                *frame = Frame { listed: frame.listed, ..fresh };
                slot
            }
            None => {
                if self.frames.len() == self.frames.capacity() {
                    let room = (2 * self.frames.len()).max(FIRST_FRAMES);
                    reserve(&mut self.frames, room);
                }
                self.frames.push(fresh);
                self.frames.len() as u32 - 1
            }
        };
        self.table.insert(lpn, slot);
        slot
    }

    /// Forgets a page without dirty data.
    #[inline]
    pub(crate) fn release(&mut self, slot: Slot) {
        let frame = self.frames[slot as usize];
        debug_assert!(frame.dirty == 0, "page {} would be lost", frame.lpn);
        if frame.place != NONE {
            self.places.give_back(frame.place);
        }
        self.table.remove(frame.lpn);
        self.free.push(slot);
    }

    #[inline]
    pub(crate) fn lpn(&self, slot: Slot) -> u32 {
        self.frames[slot as usize].lpn
    }

    #[inline]
    pub(crate) fn memory(&self, slot: Slot) -> Memory {
        self.frames[slot as usize].memory
    }

    /// Whether the page has dirty sectors.
    #[inline]
    pub(crate) fn is_dirty(&self, slot: Slot) -> bool {
        self.frames[slot as usize].dirty != 0
    }

    #[inline]
    pub(crate) fn mark(&self, slot: Slot) -> u8 {
        self.frames[slot as usize].mark
    }

    #[inline]
    pub(crate) fn set_mark(&mut self, slot: Slot, mark: u8) {
        self.frames[slot as usize].mark = mark;
    }

    /// Slots ever used.
    pub(crate) fn slots(&self) -> u32 {
        self.frames.len() as u32
    }

    /// Whether the slot holds a page.
    pub(super) fn is_taken(&self, slot: Slot) -> bool {
        self.find(self.lpn(slot)) == Some(slot)
    }

    /// Sets a page's dirty sectors, and updates the count of pages a power cut would lose.
    #[inline]
    pub(super) fn set_dirty(&mut self, slot: Slot, dirty: u64) {
        let frame = &mut self.frames[slot as usize];
        if frame.memory == Memory::Dram {
            let dram = &mut self.counts.dirty_dram_pages;
            *dram = *dram + u64::from(dirty != 0) - u64::from(frame.dirty != 0);
            self.counts.dirty_dram_pages_max = self.counts.dirty_dram_pages_max.max(*dram);
            if dirty != 0 && !frame.listed {
                frame.listed = true;
                self.unflushed.push(slot);
            }
        }
        frame.dirty = dirty;
    }

    /// A slot's bytes in DRAM.
    pub(super) fn dram_page(&mut self, slot: Slot) -> &mut [u8] {
        let start = slot as usize * self.page_bytes;
        let end = start + self.page_bytes;
        if self.dram.len() < end {
            self.dram.resize((self.frames.len() * self.page_bytes).max(end), 0);
        }
        &mut self.dram[start..end]
    }
}

/// Runs of set bits, as first bit and length.
pub(super) fn runs(mut mask: u64) -> impl Iterator<Item = (u32, u32)> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let first = mask.trailing_zeros();
            let count = (mask >> first).trailing_ones();
            mask &= if first + count == 64 { 0 } else { u64::MAX << (first + count) };
            (first, count)
        })
    })
}

/// Sector byte range in a page.
pub(super) fn bytes_of(first: u32, count: u32) -> std::ops::Range<usize> {
    let start = (first * SECTOR_BYTES) as usize;
    start..start + (count * SECTOR_BYTES) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_bits() {
        assert!(runs(0).eq([]));
        assert!(runs(0b1101_1000).eq([(3, 2), (6, 2)]));
        assert!(runs(u64::MAX).eq([(0, 64)]));
        assert!(runs(1 << 63 | 1).eq([(0, 1), (63, 1)]));
    }
}

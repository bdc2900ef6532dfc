//! Buffers with one memory that evict one page at a time.

use super::cache::{Access, Cached, Policy};
use super::io::Io;
use super::list::Links;
use super::pages::{Pages, Slot, FRAME_BYTES};
use super::sizes::Size;
use super::table::Table;
use crate::{Memory, MountError};
use nandlab_block::{Error, RamUse};
use nandlab_nand::nvm::Nvm;
use nandlab_nand::Geometry;

/// Chooses the victim page.
pub(crate) trait Replacement: Send {
    /// Called when a buffered page is used again.
    fn hit(&mut self, pages: &mut Pages, slot: Slot);

    /// Starts loading what [`Self::miss`] looks up.
    fn prefetch(&self, _lpn: u32) {}

    /// Starts loading what [`Self::hit`] changes.
    fn prefetch_slot(&self, _slot: Slot) {}

    /// The same for its neighbours on the lists.
    fn prefetch_neighbours(&self, _slot: Slot) {}

    /// Starts loading what the next evictions need; called after an eviction.
    fn prefetch_victims(&self, _pages: &Pages) {}

    /// Called for a page outside the buffer, before it is added.
    fn miss(&mut self, _lpn: u32) {}

    /// The next victim; it stays on its list until [`Self::evicted`]. The buffer is full.
    fn victim(&mut self, pages: &mut Pages) -> Slot;

    /// Called after the victim, page `lpn`, was evicted.
    fn evicted(&mut self, slot: Slot, lpn: u32);

    /// Adds the page of the last miss.
    fn insert(&mut self, pages: &mut Pages, slot: Slot);

    /// Removes a trimmed page.
    fn forget(&mut self, pages: &mut Pages, slot: Slot);

    /// Called when every page is clean.
    fn flushed(&mut self, _pages: &mut Pages) {}

    /// Bytes of state besides a list over the pages.
    fn state_bytes(&self) -> u64 {
        0
    }
}

/// A [`Replacement`] with a page capacity.
#[derive(Debug)]
pub(crate) struct Paged<R> {
    replacement: R,
    capacity: u32,
    used: u32,
    page_bytes: u64,
    caches_reads: bool,
}

impl<R: Replacement> Paged<R> {
    /// Opens a buffer of `size`; `make` builds the policy for a page count.
    pub(crate) fn mount(
        geometry: &Geometry,
        nvram: &mut dyn Nvm,
        size: &Size,
        caches_reads: bool,
        make: impl FnOnce(u32) -> R,
    ) -> Result<Cached<Self>, MountError> {
        let capacity = size.units(geometry)?;
        let page_bytes = geometry.page_bytes().into();
        let policy = Self { replacement: make(capacity), capacity, used: 0, page_bytes, caches_reads };
        Ok(Cached::new(Pages::mount(geometry, nvram, 0)?, policy))
    }
}

impl<R: Replacement> Policy for Paged<R> {
    fn caches_reads(&self) -> bool {
        self.caches_reads
    }

    #[inline]
    fn prefetch(&self, lpn: u32) {
        self.replacement.prefetch(lpn);
    }

    #[inline]
    fn prefetch_slot(&self, slot: Slot) {
        self.replacement.prefetch_slot(slot);
    }

    #[inline]
    fn prefetch_neighbours(&self, slot: Slot) {
        self.replacement.prefetch_neighbours(slot);
    }

    #[inline]
    fn touch(&mut self, io: &mut Io<'_>, slot: Slot, _: &Access) -> Result<(), Error> {
        self.replacement.hit(io.pages, slot);
        Ok(())
    }

    #[inline]
    fn admit(&mut self, io: &mut Io<'_>, access: &Access) -> Result<Slot, Error> {
        self.replacement.miss(access.lpn);
        if self.used == self.capacity {
            let victim = self.replacement.victim(io.pages);
            let lpn = io.pages.lpn(victim);
            io.evict(victim)?;
            self.replacement.evicted(victim, lpn);
            if io.pages.is_large() {
                self.replacement.prefetch_victims(io.pages);
            }
            self.used -= 1;
        }
        let slot = io.pages.take(access.lpn, Memory::Dram);
        self.replacement.insert(io.pages, slot);
        self.used += 1;
        Ok(slot)
    }

    fn forget(&mut self, pages: &mut Pages, slot: Slot) {
        self.replacement.forget(pages, slot);
        self.used -= 1;
    }

    fn flushed(&mut self, pages: &mut Pages) {
        self.replacement.flushed(pages);
    }

    fn ram(&self) -> RamUse {
        let pages = u64::from(self.capacity);
        let lists = FRAME_BYTES * pages + Table::bytes(pages) + Links::bytes(pages) + self.replacement.state_bytes();
        RamUse { sram: [("buffer_lists", lists)].into(), dram: [("buffer_pages", pages * self.page_bytes)].into() }
    }
}

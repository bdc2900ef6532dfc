//! Entries between memory and map pages.

use super::cmt::{Slot, Step};
use super::Scheme;
use crate::parts::engine::Pages;
use crate::parts::flash_map::Held;
use crate::parts::map_entries::{entries, set_entry, ENTRY_BYTES};
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Lpn, Nand, NandError, Ppa, Time};

impl Scheme {
    /// A page's entry in memory, read from its map page after a miss; and when that read ends, 0 after a hit.
    #[inline]
    pub(super) fn look_up<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        at: Lpn,
    ) -> Result<(Slot, Time), FtlError> {
        if let Some(slot) = self.cmt.find(at) {
            self.hits += 1;
            self.cmt.touch(slot);
            return Ok((slot, 0));
        }
        self.page_in(pages, nand, at)
    }

    /// Reads the page mistaken for an entry's; its spare area tells the right one. Returns when the place is known.
    #[inline]
    pub(super) fn read_mistaken<N: Nand>(&mut self, nand: &mut N, slot: Slot, known: Time) -> Result<Time, FtlError> {
        let Some(mistaken) = self.cmt.mistaken(slot) else { return Ok(known) };
        self.map_loads += 1;
        let before = nand.ctx().after(known);
        let read = scoped(nand, Cause::Map, |nand| nand.read_spare(mistaken));
        nand.ctx().set_ready(before);
        match read {
            // The block may have been retired.
            Ok(_) | Err(NandError::Uncorrectable(_) | NandError::BadBlock(_)) => Ok(nand.ctx().last()),
            Err(error) => Err(error.into()),
        }
    }

    /// Carries out what the cache needs for an entry.
    #[cold]
    fn page_in<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn) -> Result<(Slot, Time), FtlError> {
        let (mut is_miss, mut read) = (false, None);
        let slot = loop {
            match self.cmt.step(at) {
                Step::Found(slot) => break slot,
                Step::Write(map_page) => {
                    self.dirty_evictions += 1;
                    self.update(pages, nand, map_page, &[])?;
                }
                Step::Read(first) => {
                    let end = self.take_in(pages, nand, first)?;
                    if first.0 / self.per_map_page() == at.0 / self.per_map_page() {
                        (is_miss, read) = (true, end);
                    }
                }
            }
        };
        self.misses += u64::from(is_miss);
        self.hits += u64::from(!is_miss);
        self.map_loads += u64::from(read.is_some());
        Ok((slot, read.unwrap_or(0)))
    }

    /// The page of an entry for which memory has no room, because flash has none for what would leave; and when its read
    /// ends. So a worn-out device can be read.
    #[cold]
    pub(super) fn look_past<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        at: Lpn,
    ) -> Result<(Ppa, Time), FtlError> {
        if let Some(page) = self.cmt.peek(at) {
            return Ok((page, 0));
        }
        let mut bytes = std::mem::take(&mut self.page);
        let start = (at.0 % self.per_map_page() * ENTRY_BYTES) as usize;
        let held = self.load(pages, nand, at.0 / self.per_map_page(), &mut bytes, start);
        let page = entries(&bytes[start..]).next().unwrap_or(Ppa::NONE);
        self.page = bytes;
        if held? == Held::Nothing {
            return Ok((page, 0));
        }
        self.map_loads += 1;
        Ok((page, nand.ctx().last()))
    }

    /// Reads a map page from an entry on, for the cache; returns when that ends, if flash was read.
    fn take_in<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, first: Lpn) -> Result<Option<Time>, FtlError> {
        let (map_page, place) = (first.0 / self.per_map_page(), first.0 % self.per_map_page());
        let mut bytes = std::mem::take(&mut self.page);
        // The entries below need not pass the memory bus.
        let start = (place * ENTRY_BYTES) as usize;
        let held = self.load(pages, nand, map_page, &mut bytes, start);
        if held.is_ok() {
            self.cmt.take_in(first, &bytes[start..]);
        }
        self.page = bytes;
        let held = held?;
        if held == Held::Lost {
            // Written, so that the next miss needs no search.
            self.update(pages, nand, map_page, &[])?;
        }
        Ok((held != Held::Nothing).then(|| nand.ctx().last()))
    }

    /// Writes a map page with its old entries, the entries in `moved`, which memory lacks or has with the same value,
    /// and all its marked entries in memory. A map page that memory has as a whole is not read before.
    pub(super) fn update<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        map_page: u32,
        moved: &[(Lpn, Ppa)],
    ) -> Result<(), FtlError> {
        let mut bytes = std::mem::take(&mut self.page);
        let written = self.fill_in(pages, nand, map_page, &mut bytes).and_then(|read| {
            for &(at, page) in moved {
                set_entry(&mut bytes, at.0 % self.per_map_page(), page);
            }
            self.store_map_page(pages, nand, map_page, &bytes, read)
        });
        self.page = bytes;
        written
    }

    /// A map page's entries as they are; returns when the read for it ends, 0 without one.
    pub(super) fn fill_in<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        map_page: u32,
        bytes: &mut [u8],
    ) -> Result<Time, FtlError> {
        let is_whole = self.cmt.whole(map_page, bytes);
        let held = if is_whole { Held::Nothing } else { self.load(pages, nand, map_page, bytes, 0)? };
        self.cmt.set_changed(map_page, bytes);
        Ok(if held == Held::Nothing { 0 } else { nand.ctx().last() })
    }

    /// Writes a map page with all its entries, after a read that ends at `read`.
    pub(super) fn store_map_page<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        map_page: u32,
        bytes: &[u8],
        read: Time,
    ) -> Result<(), FtlError> {
        let before = nand.ctx().after(read);
        let written = self.map.write(nand, &mut pages.keeper, map_page, bytes, self.mapped);
        nand.ctx().set_ready(before);
        written?;
        if self.trimmed.remove(&map_page) {
            pages.keeper.noted(nand.ctx().last());
        }
        self.cmt.written(map_page);
        let entries = Lpn(map_page * self.per_map_page())..Lpn((map_page + 1) * self.per_map_page());
        self.moved.take(entries).into_iter().for_each(|at| self.cmt.clean(at));
        self.cmt.learn(map_page, bytes);
        Ok(())
    }

    /// Reads a map page from byte `start` on. A page that was never written has no mapped pages; a lost one is rebuilt
    /// as far as possible.
    fn load<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        map_page: u32,
        bytes: &mut [u8],
        start: usize,
    ) -> Result<Held, FtlError> {
        let held = self.map.read(nand, map_page, &mut bytes[start..])?;
        match held {
            Held::Page => {}
            Held::Nothing => bytes.fill(u8::MAX),
            Held::Lost => self.rebuild(pages, nand, map_page, bytes)?,
        }
        self.moved.apply(Lpn(map_page * self.per_map_page()), bytes, start);
        Ok(held)
    }

    /// Rebuilds a lost map page's entries: the valid pages with its logical pages in their spare areas.
    #[cold]
    pub(super) fn rebuild<N: Nand>(
        &self,
        pages: &Pages,
        nand: &mut N,
        map_page: u32,
        bytes: &mut [u8],
    ) -> Result<(), FtlError> {
        bytes.fill(u8::MAX);
        for block in (0..self.geometry.blocks()).map(BlockId) {
            for page in pages.valid_of(block) {
                let oob = match nand.read_spare(page) {
                    Ok(oob) => oob.expect("a valid page is programmed"),
                    Err(NandError::Uncorrectable(_)) => continue,
                    Err(error) => return Err(error.into()),
                };
                if oob.lpn.0 / self.per_map_page() == map_page {
                    set_entry(bytes, oob.lpn.0 % self.per_map_page(), page);
                }
            }
        }
        Ok(())
    }

    /// Writes the map pages with trimmed entries, so that no mount brings the trimmed pages back.
    pub(super) fn write_trims<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        scoped(nand, Cause::Trim, |nand| {
            while let Some(&map_page) = self.trimmed.first() {
                self.update(pages, nand, map_page, &[])?;
            }
            Ok(())
        })
    }

    /// The logical page mapped to `page`: read from the spare area, or found by a search through the map.
    #[cold]
    pub(super) fn owner<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, page: Ppa) -> Result<Lpn, FtlError> {
        match nand.read_spare(page) {
            Ok(oob) => return Ok(oob.expect("a valid page is programmed").lpn),
            Err(NandError::Uncorrectable(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let mut cached = None;
        self.cmt.each(&mut |at, entry, _| {
            if entry == page {
                cached = Some(at);
            }
        });
        if let Some(at) = cached {
            return Ok(at);
        }
        self.search(pages, nand, page)
    }

    /// The logical page mapped to `page` by a map page. Entries changed since in memory count first: a page that was erased
    /// and written anew may still be named by the map page of its former owner.
    #[cold]
    pub(super) fn search<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, page: Ppa) -> Result<Lpn, FtlError> {
        let mut bytes = std::mem::take(&mut self.page);
        let per_map_page = self.per_map_page();
        let found = (0..self.map.pages()).find_map(|map_page| match self.fill_in(pages, nand, map_page, &mut bytes) {
            Ok(_) => {
                let place = entries(&bytes).position(|entry| entry == page)?;
                Some(Ok(Lpn(map_page * per_map_page + place as u32)))
            }
            Err(error) => Some(Err(error)),
        });
        self.page = bytes;
        found.expect("a valid page has an entry")
    }
}

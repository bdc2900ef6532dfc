//! Entries between the update map and map pages: look-ups, conversions, and the map pages in memory.

use super::umt::Area;
use super::Scheme;
use crate::parts::engine::Pages;
use crate::parts::flash_map::Held;
use crate::parts::map_entries::{entries, set_entry};
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Lpn, Nand, NandError, Ppa, Time};

/// The map pages in memory, equal to those on flash; the most recently used one last.
#[derive(Debug, Default)]
pub(super) struct MapCache {
    pages: Vec<(u32, Vec<u8>)>,
    most: usize,
}

impl MapCache {
    pub(super) fn new(most: u32) -> Self {
        Self { pages: Vec::new(), most: most as usize }
    }

    /// Takes a map page out of memory.
    fn take(&mut self, map_page: u32) -> Option<Vec<u8>> {
        let at = self.pages.iter().position(|&(page, _)| page == map_page)?;
        Some(self.pages.remove(at).1)
    }

    /// Puts a map page into memory as the most recently used one; the least recently used one leaves.
    fn put(&mut self, map_page: u32, bytes: Vec<u8>) {
        if self.pages.len() >= self.most {
            self.pages.remove(0);
        }
        self.pages.push((map_page, bytes));
    }

    /// The map pages in memory.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.pages.iter().map(|(page, bytes)| (*page, &bytes[..]))
    }
}

impl Scheme {
    /// A page's newest copy, and when its map page is read, 0 if that was not needed.
    #[inline]
    pub(super) fn look_up<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        at: Lpn,
    ) -> Result<(Ppa, Time), FtlError> {
        if let Some(entry) = self.umt.get(at) {
            self.hits += 1;
            return Ok((entry.page, 0));
        }
        let (map_page, place) = (at.0 / self.per_map_page(), at.0 % self.per_map_page());
        let (bytes, held, read) = self.load(pages, nand, map_page)?;
        let page = entries(&bytes).nth(place as usize).unwrap_or(Ppa::NONE);
        self.cache.put(map_page, bytes);
        if held == Held::Lost {
            // Written, so that the next miss needs no search.
            self.write_map_page(pages, nand, map_page, None)?;
        }
        Ok((page, read))
    }

    /// A map page's bytes, out of memory or read; and when that read ends, 0 without one.
    fn load<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        map_page: u32,
    ) -> Result<(Vec<u8>, Held, Time), FtlError> {
        if let Some(bytes) = self.cache.take(map_page) {
            self.hits += 1;
            return Ok((bytes, Held::Page, 0));
        }
        self.misses += 1;
        let mut bytes = vec![u8::MAX; self.geometry.page_bytes() as usize];
        let held = self.map.read(nand, map_page, &mut bytes)?;
        match held {
            Held::Page => {}
            Held::Nothing => bytes.fill(u8::MAX),
            Held::Lost => self.rebuild(pages, nand, map_page, &mut bytes)?,
        }
        let read = if held == Held::Nothing { 0 } else { nand.ctx().last() };
        Ok((bytes, held, read))
    }

    /// Rebuilds a lost map page's entries: the valid pages with its logical pages in their spare areas. An older copy of
    /// a page in the update map is no longer found by its map page, so it is invalid from now on.
    #[cold]
    fn rebuild<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        map_page: u32,
        bytes: &mut [u8],
    ) -> Result<(), FtlError> {
        bytes.fill(u8::MAX);
        for block in (0..self.geometry.blocks()).map(BlockId) {
            for page in pages.valid_of(block).collect::<Vec<_>>() {
                let oob = match nand.read_spare(page) {
                    Ok(oob) => oob.expect("a valid page is programmed"),
                    Err(NandError::Uncorrectable(_)) => continue,
                    Err(error) => return Err(error.into()),
                };
                if oob.lpn.0 / self.per_map_page() != map_page {
                    continue;
                }
                if self.umt.get(oob.lpn).is_some_and(|entry| entry.page != page) {
                    pages.supersede(page, self.written);
                    self.umt.uncount(oob.lpn);
                } else {
                    set_entry(bytes, oob.lpn.0 % self.per_map_page(), page);
                }
            }
        }
        Ok(())
    }

    /// Writes a map page with all that the update map knows for it; the older copies are invalid then. The entries are
    /// committed, or the one of `only` alone.
    fn write_map_page<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        map_page: u32,
        only: Option<Lpn>,
    ) -> Result<(), FtlError> {
        let (mut bytes, _, read) = self.load(pages, nand, map_page)?;
        let first = map_page * self.per_map_page();
        let changed = self.umt.uncommitted(first, first + self.per_map_page());
        let old: Vec<Ppa> = entries(&bytes).collect();
        for &(at, entry) in &changed {
            set_entry(&mut bytes, at.0 - first, entry.page);
        }
        let before = nand.ctx().after(read);
        let written = self.map.write(nand, &mut pages.keeper, map_page, &bytes, self.written);
        nand.ctx().set_ready(before);
        written?;
        self.cache.put(map_page, bytes);
        for (at, entry) in changed {
            let old = old[(at.0 - first) as usize];
            if entry.is_counted && old.is_some() {
                pages.supersede(old, self.written);
            }
            self.umt.uncount(at);
            if !entry.page.is_some() || only.is_none_or(|only| only == at) {
                self.umt.commit(at);
            }
        }
        if self.trimmed.remove(&map_page) {
            pages.keeper.noted(nand.ctx().last());
        }
        Ok(())
    }

    /// Writes the map pages with trimmed entries, so that no mount brings the trimmed pages back.
    pub(super) fn write_trims<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        scoped(nand, Cause::Trim, |nand| {
            while let Some(&map_page) = self.trimmed.first() {
                self.write_map_page(pages, nand, map_page, None)?;
            }
            Ok(())
        })
    }

    /// Converts blocks until both areas have room, and the older copies that still count do, too.
    #[inline]
    pub(super) fn convert_due<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError> {
        let room = (pages.room() as u32).saturating_sub(self.logical_pages);
        loop {
            let area = if self.umt.waiting(Area::Cold) > self.config.cold_blocks as usize {
                Area::Cold
            } else if self.umt.waiting(Area::Update) > self.config.update_blocks as usize || self.umt.counted() > room {
                Area::Update
            } else {
                return Ok(());
            };
            if !self.convert(pages, nand, area)? {
                return Ok(());
            }
        }
    }

    /// Converts an area's oldest block; false if there is none.
    fn convert<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, area: Area) -> Result<bool, FtlError> {
        let Some(oldest) = self.umt.take_oldest(area) else { return Ok(false) };
        for at in oldest.pages {
            let is_there = |page: Ppa| page.is_some() && self.geometry.block_of(page) == oldest.block;
            let Some(entry) = self.umt.get(at).filter(|entry| is_there(entry.page)) else { continue };
            if !entry.is_committed {
                self.conversions += 1;
                let only = (!self.config.batch_conversion).then_some(at);
                self.write_map_page(pages, nand, at.0 / self.per_map_page(), only)?;
            }
            self.umt.remove(at);
        }
        Ok(true)
    }

    /// The logical page of a valid page: read from the spare area, or found by a search through the map.
    pub(super) fn owner<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, page: Ppa) -> Result<Lpn, FtlError> {
        match nand.read_spare(page) {
            Ok(oob) => return Ok(oob.expect("a valid page is programmed").lpn),
            Err(NandError::Uncorrectable(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some((at, _)) = self.umt.iter().find(|(_, entry)| entry.page == page) {
            return Ok(at);
        }
        for map_page in 0..self.map.pages() {
            let (bytes, ..) = self.load(pages, nand, map_page)?;
            let first = map_page * self.per_map_page();
            let names = (first..).map(Lpn).zip(entries(&bytes)).filter(|&(_, entry)| entry == page);
            // A map page may still name a place that was erased since, for a page in the update map.
            let found = { names }.find(|&(at, _)| self.umt.get(at).is_none_or(|entry| entry.is_counted));
            self.cache.put(map_page, bytes);
            if let Some((at, _)) = found {
                return Ok(at);
            }
        }
        panic!("page {page} is valid and has no entry");
    }
}

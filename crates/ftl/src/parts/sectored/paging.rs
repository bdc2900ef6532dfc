//! Entries between memory and map pages.

use super::{entries_per_map_page, Scheme, SectorMapped, WriteBack, NOTHING, SPLIT, UNSET};
use crate::parts::flash_map::Held;
use crate::parts::merge_buffer::DEAD;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Lpn, Nand, Ppa, Seq, Time};

/// The entries in a map page's bytes.
pub(super) fn entries_in(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

fn put(entries: &[u32], bytes: &mut [u8]) {
    for (bytes, entry) in bytes.chunks_exact_mut(4).zip(entries) {
        bytes.copy_from_slice(&entry.to_le_bytes());
    }
}

/// The source of a map page's entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loaded {
    /// From flash.
    Read,
    /// It was never written.
    Unwritten,
    /// Lost, and rebuilt by a search.
    FoundAnew,
}

impl<S: Scheme> SectorMapped<S> {
    /// An entry's current value; on a miss its unit is read, and the next operations wait for that.
    #[inline]
    pub(super) fn entry<N: Nand>(&mut self, nand: &mut N, entry: u32) -> Result<u32, FtlError> {
        let slot = self.slot(nand, entry)?;
        Ok(self.cmt.get(slot, entry))
    }

    /// Changes an entry.
    #[inline]
    pub(super) fn set_entry<N: Nand>(&mut self, nand: &mut N, entry: u32, value: u32) -> Result<(), FtlError> {
        let slot = self.slot(nand, entry)?;
        self.cmt.set(slot, entry, value);
        Ok(())
    }

    #[inline]
    pub(super) fn slot<N: Nand>(&mut self, nand: &mut N, entry: u32) -> Result<usize, FtlError> {
        if let Some(slot) = self.cmt.find(entry) {
            self.events.map_hits += 1;
            self.cmt.touch(slot);
            return Ok(slot);
        }
        self.page_in(nand, entry)
    }

    /// An entry's value in a map page that was never written.
    pub(super) fn unwritten(&self, map_page: u32) -> u32 {
        if map_page * entries_per_map_page(&self.geometry) < self.first_sector_entry {
            return NOTHING;
        }
        if self.options.hybrid.is_some() {
            UNSET
        } else {
            NOTHING
        }
    }

    #[cold]
    fn page_in<N: Nand>(&mut self, nand: &mut N, entry: u32) -> Result<usize, FtlError> {
        self.events.map_misses += 1;
        let victim = if self.cmt.has_room() { None } else { Some(self.cmt.victim()) };
        if let Some(slot) = victim {
            self.evict(nand, slot)?;
        }
        let (unit, per_page) = (self.cmt.unit_of(entry), entries_per_map_page(&self.geometry));
        let (first, count) = (unit * self.cmt.unit_entries(), self.cmt.unit_entries());
        let pages = first / per_page..(first + count).div_ceil(per_page).min(self.map.pages());
        let mut entries = std::mem::take(&mut self.unit);
        entries.clear();
        let mut bytes = std::mem::take(&mut self.page);
        let (mut ends, mut found_anew, mut was_read) = (0, Vec::new(), false);
        let loaded = pages.clone().try_for_each(|page| {
            let loaded = self.load(nand, page, &mut bytes, (first % per_page) as usize)?;
            if loaded != Loaded::Unwritten {
                ends = ends.max(nand.ctx().last());
                was_read = true;
            }
            if loaded == Loaded::FoundAnew {
                found_anew.push((page - pages.start) as usize);
            }
            let wanted = &bytes[4 * (first % per_page) as usize..];
            entries.extend(entries_in(wanted).take(count as usize));
            Ok(())
        });
        self.page = bytes;
        entries.resize(count as usize, NOTHING);
        nand.ctx().after(ends);
        if let Err(error) = loaded {
            self.unit = entries;
            return Err(error);
        }
        self.map_loads += u64::from(was_read);
        let (slot, given_up) = self.cmt.insert(unit, victim, entries);
        self.unit = given_up;
        // Marked as changed, so that the rebuilt page is written and the next miss needs no search.
        found_anew.into_iter().for_each(|mark| self.cmt.mark(slot, mark));
        Ok(slot)
    }

    /// Reads a map page's entries from `from` on.
    fn load<N: Nand>(&mut self, nand: &mut N, page: u32, bytes: &mut [u8], from: usize) -> Result<Loaded, FtlError> {
        match self.map.read(nand, page, &mut bytes[4 * from..])? {
            Held::Page => Ok(Loaded::Read),
            Held::Nothing => {
                let blank = self.unwritten(page).to_le_bytes();
                bytes.chunks_exact_mut(4).for_each(|entry| entry.copy_from_slice(&blank));
                Ok(Loaded::Unwritten)
            }
            Held::Lost => self.rebuild(nand, page, bytes).map(|()| Loaded::FoundAnew),
        }
    }

    /// Writes a unit's changed map pages before it leaves memory.
    fn evict<N: Nand>(&mut self, nand: &mut N, slot: usize) -> Result<(), FtlError> {
        if !self.cmt.marks(slot).contains(&true) {
            return Ok(());
        }
        self.events.map_dirty_evictions += 1;
        let (first, per_page) = (self.cmt.first_of(slot), entries_per_map_page(&self.geometry));
        for mark in 0..self.cmt.marks(slot).len() {
            let page = (first >> per_page.trailing_zeros()) + mark as u32;
            let is_due = self.cmt.marks(slot)[mark] || self.options.write_back == WriteBack::Unit;
            if is_due && page < self.map.pages() {
                self.write_map_page(nand, page)?;
            }
        }
        Ok(())
    }

    /// Writes map pages until no more have changes than may. The host does not wait for them.
    #[inline]
    pub(super) fn write_overdue<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while let Some(page) = self.cmt.overdue() {
            self.write_map_page(nand, page)?;
        }
        Ok(())
    }

    /// Writes a map page from memory; entries that are not in memory come from flash.
    pub(super) fn write_map_page<N: Nand>(&mut self, nand: &mut N, page: u32) -> Result<(), FtlError> {
        let per_page = entries_per_map_page(&self.geometry);
        self.write_statements_before(nand, page)?;
        let entries = page * per_page..(page + 1) * per_page;
        let slots: Vec<usize> = self.cmt.slots_of(entries.clone()).collect();
        let mut bytes = std::mem::take(&mut self.page);
        let before = nand.ctx().ready();
        let mut done = Ok(());
        if self.cmt.unit_entries() < per_page {
            match self.load(nand, page, &mut bytes, 0) {
                Ok(Loaded::Read | Loaded::FoundAnew) => {
                    let end = nand.ctx().last();
                    nand.ctx().after(end);
                }
                Ok(Loaded::Unwritten) => {}
                Err(error) => done = Err(error),
            }
            for &slot in &slots {
                let at = 4 * (self.cmt.first_of(slot) - entries.start) as usize;
                put(&self.cmt.slots[slot].entries, &mut bytes[at..]);
            }
        } else {
            let slot = *slots.first().expect("a map page of a whole unit is written while that is in memory");
            let at = (entries.start - self.cmt.first_of(slot)) as usize;
            put(&self.cmt.slots[slot].entries[at..at + per_page as usize], &mut bytes);
        }
        done = done.and_then(|()| self.map.write(nand, &mut self.keeper, page, &bytes, self.mapped));
        nand.ctx().set_ready(before);
        self.page = bytes;
        done?;
        for slot in slots {
            let mark = entries.start.saturating_sub(self.cmt.first_of(slot)) >> self.cmt.mark_shift();
            self.cmt.is_written(slot, mark as usize);
        }
        self.statements.remove(&page);
        if self.trimmed.remove(&page) {
            self.keeper.noted(nand.ctx().last());
        }
        Ok(())
    }

    /// An unmapped page's entry hides older copies of its sectors. After a split the sector entries must hide them, so
    /// their map pages are written before the page's map page.
    pub(super) fn write_statements_before<N: Nand>(&mut self, nand: &mut N, page: u32) -> Result<(), FtlError> {
        if page * entries_per_map_page(&self.geometry) < self.first_sector_entry {
            while let Some(&statement) = self.statements.first() {
                self.write_map_page(nand, statement)?;
            }
        }
        Ok(())
    }

    /// Writes the map pages with trimmed entries, so that no mount brings the old copies back.
    pub(super) fn write_trims<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        scoped(nand, Cause::Trim, |nand| {
            while let Some(&page) = self.trimmed.first() {
                self.write_map_page(nand, page)?;
            }
            Ok(())
        })
    }

    /// Starts loading the sectors' entries, which are needed next.
    pub(super) fn prefetch_entries(&self, sectors: &[u32]) {
        for &sector in sectors.iter().filter(|&&sector| sector != DEAD) {
            if self.options.hybrid.is_some() {
                self.cmt.prefetch(sector >> self.page_shift);
            }
            self.cmt.prefetch(self.first_sector_entry + sector);
        }
    }

    /// A logical sector's address; [`NOTHING`] if it was never written.
    #[inline]
    pub(super) fn look_up<N: Nand>(&mut self, nand: &mut N, sector: u32) -> Result<u32, FtlError> {
        if self.options.hybrid.is_none() {
            return self.entry(nand, sector);
        }
        let page = self.entry(nand, sector / self.per_page)?;
        match page {
            NOTHING => Ok(NOTHING),
            SPLIT => Ok(match self.entry(nand, self.first_sector_entry + sector)? {
                UNSET => NOTHING,
                address => address,
            }),
            page => Ok(page * self.per_page + sector % self.per_page),
        }
    }

    /// Maps a logical sector to `address`, or unmaps it. Its old copy is invalid once the operation that ends at `end`
    /// is on flash.
    #[inline]
    pub(super) fn map_sector<N: Nand>(
        &mut self,
        nand: &mut N,
        sector: u32,
        address: u32,
        end: Time,
    ) -> Result<(), FtlError> {
        if self.options.hybrid.is_some() {
            self.split(nand, Lpn(sector / self.per_page))?;
        }
        let entry = self.first_sector_entry + sector;
        let slot = self.slot(nand, entry)?;
        let old = self.cmt.get(slot, entry);
        self.cmt.set(slot, entry, address);
        self.invalidate(old, 1, end);
        if address != NOTHING {
            let block = self.geometry.block_of(self.page_of(address));
            self.counts.add(block, 1);
        }
        Ok(())
    }

    /// Maps a logical page programmed whole as `page`.
    pub(super) fn map_whole<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        (page, seq): (Ppa, Seq),
        end: Time,
    ) -> Result<(), FtlError> {
        let mapped = if self.options.hybrid.is_none() {
            (0..self.per_page).try_for_each(|place| {
                self.map_sector(nand, self.sector(at, place), page.0 * self.per_page + place, end)?;
                self.mapping = Some((page, place + 1));
                Ok(())
            })
        } else {
            self.forget_whole(nand, at, end).and_then(|()| {
                let block = self.geometry.block_of(page);
                self.counts.add(block, self.per_page);
                self.set_entry(nand, at.0, page.0)
            })
        };
        self.end_mapping(seq);
        mapped
    }

    /// Invalidates a logical page's copies; the caller sets the page's entry next.
    pub(super) fn forget_whole<N: Nand>(&mut self, nand: &mut N, at: Lpn, end: Time) -> Result<(), FtlError> {
        match self.entry(nand, at.0)? {
            SPLIT => {
                let first = self.first_sector_entry + at.0 * self.per_page;
                for entry in first..first + self.per_page {
                    let old = self.entry(nand, entry)?;
                    self.invalidate(old, 1, end);
                    // If it stayed, it would hide copies in whole pages written from now on.
                    if old == NOTHING {
                        self.set_entry(nand, entry, UNSET)?;
                    }
                }
            }
            NOTHING => self.mapped = self.mapped.max(end),
            page => self.invalidate(page * self.per_page, self.per_page, end),
        }
        Ok(())
    }

    /// Gives a logical page's sectors entries of their own.
    fn split<N: Nand>(&mut self, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        let page = self.entry(nand, at.0)?;
        if page == SPLIT {
            return Ok(());
        }
        let first = self.first_sector_entry + at.0 * self.per_page;
        for place in 0..self.per_page {
            let address = if page == NOTHING { NOTHING } else { page * self.per_page + place };
            self.set_entry(nand, first + place, address)?;
        }
        if page == NOTHING {
            self.statements.insert(first / entries_per_map_page(&self.geometry));
        }
        self.set_entry(nand, at.0, SPLIT)
    }

    /// Invalidates `count` sectors from `address` on, if it is an address, once the operation that ends at `end` is on
    /// flash.
    #[inline]
    pub(super) fn invalidate(&mut self, address: u32, count: u32, end: Time) {
        if address >= SPLIT {
            self.mapped = self.mapped.max(end);
            return;
        }
        let page = self.page_of(address);
        let block = self.geometry.block_of(page);
        let whole = count;
        let count = if self.is_estimated { count.min(self.counts.valid(block)) } else { count };
        self.counts.sub(block, count);
        self.keeper.supersede(page, end);
        if let Some(emptying) = &mut self.emptying[self.geometry.die_of(block) as usize] {
            if emptying.block() == block {
                emptying.forget(address, whole);
            }
        }
    }
}

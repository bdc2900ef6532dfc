//! Recovery from flash alone.

use super::cmt::Cmt;
use super::copies::Copies;
use super::handles::Placing;
use super::paging::entries_in;
use super::room::Stock;
use super::{entries_per_map_page, Holds, Options, PagesHold, Scheme, SectorMapped, LOST, NOTHING, SPLIT, UNSET};
use crate::parts::blocks::counts::{BlockUse, ValidCounts};
use crate::parts::blocks::frontier::{Frontier, RESUMED};
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::{refuse_foreign, scan_ascending, take_listed, BlockScan, Page, Scans};
use crate::parts::flash_map::FoundMap;
use crate::parts::merge_buffer::{Gathered, Written};
use crate::{Events, FtlError};
use nandlab_nand::{BlockId, Cause, Geometry, Nand, NandError};
use std::collections::{BTreeSet, VecDeque};
use std::marker::PhantomData;

/// The newest copies and the map pages on flash.
struct Found {
    /// The newest copies that count.
    copies: Copies,
    /// By map page: its entries, if it was written.
    said: Vec<Option<Vec<u32>>>,
}

pub(super) fn mount<N: Nand, S: Scheme>(
    nand: &mut N,
    logical_pages: u32,
    options: Options,
) -> Result<SectorMapped<S>, FtlError> {
    let geometry = *nand.geometry();
    let most = options.max_logical_pages(&geometry, S::NAME)?;
    if logical_pages > most {
        return Err(FtlError::Config(format!(
            "{logical_pages} logical pages are more than ftl.{} with reserve_blocks = {}{} and map_spare_percent = {} can \
             export on this device ({most} of {} pages); take a smaller capacity, a larger device or a smaller reserve",
            S::NAME,
            options.reserve_blocks,
            options.placing.map_or(String::new(), |placing| format!(", fdp.handles = {}", placing.handles)),
            options.map_spare_percent,
            geometry.pages()
        )));
    }
    // Everything a mount finds must stay, and a page read once must not vanish later. If no cut came before the mount,
    // programs may still be running.
    nand.ctx().fence();
    let mut scans = scan_ascending(nand)?;
    let shape = options.shape(&geometry, logical_pages);
    let listed = take_listed(&mut scans, RESUMED | LOST);
    refuse_foreign(&geometry, logical_pages, &scans, S::NAME, (None, Some(shape.form())))?;
    let mut ftl = blank::<S>(&geometry, logical_pages, options, &scans);
    let mut found = Found { copies: Copies::new(&geometry, logical_pages * ftl.per_page), said: Vec::new() };
    ftl.read_whole(&scans, &mut found);
    ftl.read_listed(nand, &listed, &mut found)?;
    let map = FoundMap::new(&geometry, shape, &scans);
    ftl.map = map.read(nand, |page, held| {
        let said = held.map(|(seq, bytes)| {
            let entries: Vec<u32> = entries_in(bytes).collect();
            ftl_hides(&options, &geometry, logical_pages, &mut found.copies, (page, seq), &entries);
            entries
        });
        found.said.push(said);
    })?;
    ftl.adopt(nand, &scans, &found)?;
    let is_used = |block: BlockId| matches!(ftl.counts.usage(block), BlockUse::Open | BlockUse::Closed);
    ftl.placing.adopt(&scans, &listed, is_used);
    if !scans.are_untouched() {
        ftl.adopt_stale(nand, &found)?;
    }
    Ok(ftl)
}

/// Applies a map page written at `seq`: if it says "nothing" for a sector, the sector's older copies do not count.
fn ftl_hides(
    options: &Options,
    geometry: &Geometry,
    logical_pages: u32,
    copies: &mut Copies,
    (page, seq): (u32, u64),
    entries: &[u32],
) {
    let per_page = geometry.sectors_per_page() as usize;
    let first = (page * entries_per_map_page(geometry)) as usize;
    let first_sector = options.first_sector_entry(geometry, logical_pages) as usize;
    for entry in (0..entries.len()).filter(|&at| entries[at] == NOTHING).map(|at| first + at) {
        let sectors = match entry.checked_sub(first_sector) {
            Some(sector) => sector..sector + 1,
            None => entry * per_page..(entry + 1) * per_page,
        };
        copies.hide(sectors, seq);
    }
}

fn blank<S: Scheme>(geometry: &Geometry, logical_pages: u32, options: Options, scans: &Scans) -> SectorMapped<S> {
    let highest = scans.highest();
    let shape = options.shape(geometry, logical_pages);
    let entries = options.entries(geometry, logical_pages);
    let shift = (options.unit_bytes / 4).trailing_zeros();
    let units = entries.div_ceil(1 << shift);
    let most = if options.cmt_units == 0 { units } else { options.cmt_units };
    SectorMapped {
        options,
        geometry: *geometry,
        full: geometry.full_mask(),
        logical_pages,
        per_page: geometry.sectors_per_page(),
        page_shift: geometry.sectors_per_page().trailing_zeros(),
        gathered: options.gathered(geometry),
        first_sector_entry: options.first_sector_entry(geometry, logical_pages),
        keeper: Keeper::new(geometry, highest),
        counts: ValidCounts::new(geometry.blocks()),
        holds: PagesHold::nothing(geometry),
        mapping: None,
        active: vec![Frontier::none(); (geometry.dies() * options.handles()) as usize],
        placing: Placing::new(options.placing, geometry),
        emptying: (0..geometry.dies()).map(|_| None).collect(),
        owing: None,
        failing: VecDeque::new(),
        turns: vec![(geometry.dies() as usize - 1, options.pages_per_die); options.handles() as usize],
        stock: Stock::none(geometry),
        map: crate::parts::flash_map::FlashMap::new(geometry, shape),
        cmt: Cmt::new(
            shape.pages * entries_per_map_page(geometry),
            shift,
            entries_per_map_page(geometry),
            most,
            options.replacement,
            options.changed_map_pages,
        ),
        trimmed: BTreeSet::new(),
        statements: BTreeSet::new(),
        mapped: 0,
        buffers: (0..options.handles()).map(|_| Gathered::default()).collect(),
        written: Written::new(options.merge_buffers),
        is_estimated: false,
        rebuilt: 0,
        ended: None,
        page: vec![0; geometry.page_bytes() as usize],
        unit: Vec::new(),
        list: Vec::new(),
        events: Events::default(),
        map_loads: 0,
        scheme: PhantomData,
    }
}

impl<S: Scheme> SectorMapped<S> {
    fn read_whole(&mut self, scans: &Scans, found: &mut Found) {
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            for &Page { place, oob } in scan.iter().flat_map(BlockScan::copies) {
                let page = self.geometry.page(block, place);
                self.holds.set(page, Holds::Whole);
                let first = self.sector(oob.lpn, 0);
                let added = found.copies.add_page(page, oob.seq, first..first + self.per_page);
                added.expect("pages with a larger logical page were refused");
            }
        }
    }

    fn read_listed<N: Nand>(
        &mut self,
        nand: &mut N,
        listed: &[(BlockId, Page)],
        found: &mut Found,
    ) -> Result<(), FtlError> {
        let mut list = vec![0; 4 * self.gathered as usize];
        for &(block, Page { place, oob }) in listed {
            let page = self.geometry.page(block, place);
            match nand.read_tail(page, &mut list) {
                Ok(_) => {}
                Err(NandError::Uncorrectable(_)) => continue,
                Err(error) => return Err(error.into()),
            }
            self.holds.set(page, Holds::Sectors);
            found.copies.add_page(page, oob.seq, entries_in(&list)).map_err(|sector| {
                FtlError::Config(format!(
                    "page {page} holds logical sector {sector} and {} logical pages are exported: the device was used \
                     with a larger capacity",
                    self.logical_pages
                ))
            })?;
        }
        Ok(())
    }

    /// Counts the valid sectors and sorts the blocks into data, map, free and bad ones.
    fn adopt<N: Nand>(&mut self, nand: &mut N, scans: &Scans, found: &Found) -> Result<(), FtlError> {
        if scans.are_untouched() {
            self.keeper.adopt(scans, Cause::Mount, |_| false);
            return self.take_stock();
        }
        let mut valid = vec![0; self.geometry.blocks() as usize];
        for address in found.copies.all() {
            valid[self.geometry.block_of(self.page_of(address)).index()] += 1;
        }
        for (block, &count) in (0..).map(BlockId).zip(&valid).filter(|(_, &count)| count > 0) {
            self.counts.open(block);
            self.counts.add(block, count);
        }
        self.keeper.adopt(scans, Cause::Mount, |block| valid[block.index()] > 0 || self.map.area().has(block));
        for block in self.keeper.free().map(|free| free.block) {
            self.holds.clear(self.geometry.page(block, 0), &self.geometry);
        }
        self.take_stock()?;
        let used = (0..).map(BlockId).zip(&valid).filter(|&(_, &count)| count > 0);
        used.for_each(|(block, _)| self.counts.close(block));
        self.map.close_found(nand, &mut self.keeper, scans)
    }

    /// A map page's entries as they must be.
    fn truth(&self, page: u32, found: &Found) -> Vec<u32> {
        let per_map_page = entries_per_map_page(&self.geometry);
        let entries = page * per_map_page..(page + 1) * per_map_page;
        entries.map(|entry| self.true_entry(entry, found)).collect()
    }

    fn true_entry(&self, entry: u32, found: &Found) -> u32 {
        let unwritten = || self.unwritten(entry / entries_per_map_page(&self.geometry));
        let Some(sector) = entry.checked_sub(self.first_sector_entry) else {
            return if entry < self.logical_pages { self.true_page(entry, found) } else { unwritten() };
        };
        if sector >= self.logical_pages * self.per_page {
            return unwritten();
        }
        if self.options.hybrid.is_none() || self.true_page(sector / self.per_page, found) == SPLIT {
            return found.copies.at(sector);
        }
        // If the page is not split, its "nothing" would hide copies written from now on.
        match self.said(entry, found) {
            NOTHING => UNSET,
            said => said,
        }
    }

    /// A logical page's entry in the hybrid map.
    fn true_page(&self, page: u32, found: &Found) -> u32 {
        let first = page * self.per_page;
        let copies = (first..first + self.per_page).map(|sector| found.copies.at(sector));
        let start = found.copies.at(first);
        if copies.clone().all(|address| address == NOTHING) {
            // If a sector entry says "nothing", it must keep saying so.
            let mut sectors = first..first + self.per_page;
            let says_nothing = sectors.any(|sector| self.said(self.first_sector_entry + sector, found) == NOTHING);
            return if says_nothing { SPLIT } else { NOTHING };
        }
        let is_whole = start != NOTHING
            && start % self.per_page == 0
            && copies.zip(start..).all(|(address, expected)| address == expected)
            && self.holds.at(self.page_of(start)) == Holds::Whole;
        if is_whole {
            start / self.per_page
        } else {
            SPLIT
        }
    }

    /// An entry's value on flash.
    fn said(&self, entry: u32, found: &Found) -> u32 {
        let per_map_page = entries_per_map_page(&self.geometry);
        match &found.said[(entry / per_map_page) as usize] {
            Some(entries) => entries[(entry % per_map_page) as usize],
            None => self.unwritten(entry / per_map_page),
        }
    }

    /// Takes units that differ on flash into memory; without room there, writes their map pages. Sector entries come
    /// first: they say "nothing" for sectors that the page entries will no longer hide.
    fn adopt_stale<N: Nand>(&mut self, nand: &mut N, found: &Found) -> Result<(), FtlError> {
        if found.said.iter().all(Option::is_none) && found.copies.all().next().is_none() {
            return Ok(());
        }
        let per_map_page = entries_per_map_page(&self.geometry);
        for page in (0..self.map.pages()).rev() {
            let (truth, first) = (self.truth(page, found), page * per_map_page);
            let unwritten = self.unwritten(page);
            let said = found.said[page as usize].as_deref();
            let is_stale = |&at: &usize| truth[at] != said.map_or(unwritten, |entries| entries[at]);
            let stale = (0..truth.len()).filter(is_stale);
            let mut units: Vec<u32> = stale.map(|at| self.cmt.unit_of(first + at as u32)).collect();
            units.dedup();
            if units.is_empty() {
                continue;
            }
            let missing = units.iter().filter(|&&unit| self.cmt.find(unit * self.cmt.unit_entries()).is_none()).count();
            if missing > self.cmt.room() {
                self.write_statements_before(nand, page)?;
                let bytes: Vec<u8> = truth.iter().flat_map(|entry| entry.to_le_bytes()).collect();
                self.map.write(nand, &mut self.keeper, page, &bytes, 0)?;
                continue;
            }
            for unit in units {
                let start = unit * self.cmt.unit_entries();
                let slot = self.cmt.find(start).unwrap_or_else(|| {
                    let entries = start..start + self.cmt.unit_entries();
                    let known = self.map.pages() * per_map_page;
                    let entries = entries.map(|at| if at < known { self.true_entry(at, found) } else { NOTHING });
                    let entries = entries.collect();
                    self.cmt.insert(unit, None, entries).0
                });
                let mark = (first.max(start) - start) >> self.cmt.mark_shift();
                self.cmt.mark(slot, mark as usize);
            }
            if self.options.hybrid.is_some() && first >= self.first_sector_entry {
                self.statements.insert(page);
            }
        }
        Ok(())
    }
}

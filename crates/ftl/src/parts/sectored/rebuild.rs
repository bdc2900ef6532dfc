//! Rebuilds map pages lost to bit errors from the data pages on flash.
//!
//! The lists of gathered pages and the spare areas tell each sector's newest copy. That was its entry, unless the
//! sector was trimmed: the trim may have been recorded in the lost page alone. So trimmed sectors may come back and
//! count as valid. The valid counts are estimates from then on, until all entries are counted again
//! ([`SectorMapped::recount`]). An unreadable list hides which sectors had their newest copy there. Then the device
//! takes no more writes, since older copies would pass for the newest.

use super::copies::Copies;
use super::paging::entries_in;
use super::{entries_per_map_page, Holds, Scheme, SectorMapped, NOTHING, SPLIT, UNSET};
use crate::parts::blocks::counts::BlockUse;
use crate::parts::flash_map::Held;
use crate::FtlError;
use nandlab_nand::{BlockId, Nand, NandError, Ppa};
use std::ops::Range;

/// Map pages that may turn out lost during a recount, beyond one loss for each map page. Each rebuilt page is written,
/// so only a device that loses nearly all writes reaches this limit.
const MOST_LOST: u64 = 64;

impl<S: Scheme> SectorMapped<S> {
    /// Rebuilds a lost map page's entries: the newest copies of its sectors, except sectors that are not mapped yet.
    /// Trimmed sectors may come back.
    #[cold]
    pub(super) fn rebuild<N: Nand>(&mut self, nand: &mut N, page: u32, bytes: &mut [u8]) -> Result<(), FtlError> {
        self.rebuilt += 1;
        self.is_estimated = true;
        let copies = match self.newest_copies(nand)? {
            Ok(copies) => copies,
            Err(unreadable) => return Err(self.end(gone(page, unreadable))),
        };
        let per_map_page = entries_per_map_page(&self.geometry);
        let first = page * per_map_page;
        let found: Vec<u32> = if first < self.first_sector_entry {
            self.pages_found(nand, first..first + per_map_page, &copies)?
        } else {
            // Without a copy there is nothing to hide.
            let none = self.unwritten(page);
            let found = (first..first + per_map_page).map(|entry| match copies.at(entry - self.first_sector_entry) {
                NOTHING => none,
                address => address,
            });
            found.collect()
        };
        bytes.chunks_exact_mut(4).zip(found).for_each(|(bytes, entry)| bytes.copy_from_slice(&entry.to_le_bytes()));
        Ok(())
    }

    /// The logical pages' entries as the newest copies tell them.
    fn pages_found<N: Nand>(&self, nand: &mut N, pages: Range<u32>, copies: &Copies) -> Result<Vec<u32>, FtlError> {
        let pages_of_a_map_page = entries_per_map_page(&self.geometry) / self.per_page;
        let mut found = Vec::new();
        for start in pages.step_by(pages_of_a_map_page as usize) {
            let mut of_sectors = None;
            for at in start..start + pages_of_a_map_page {
                let entry = match self.page_found(at, copies) {
                    SPLIT => {
                        if of_sectors.is_none() {
                            of_sectors = Some(self.sector_entries(nand, start)?);
                        }
                        let entries = of_sectors.as_deref().expect("they were read");
                        self.split_or_trimmed(at, &entries[((at - start) * self.per_page) as usize..], copies)
                    }
                    entry => entry,
                };
                found.push(entry);
            }
        }
        Ok(found)
    }

    /// A logical page's entry, as far as its sectors' copies tell.
    fn page_found(&self, at: u32, copies: &Copies) -> u32 {
        let first = at * self.per_page;
        let mut addresses = (first..first + self.per_page).map(|sector| copies.at(sector));
        if addresses.clone().all(|address| address == NOTHING) {
            return NOTHING;
        }
        let start = copies.at(first);
        let is_whole = start != NOTHING
            && self.holds.at(self.page_of(start)) == Holds::Whole
            && addresses.by_ref().zip(start..).all(|(address, expected)| address == expected);
        if is_whole {
            start / self.per_page
        } else {
            SPLIT
        }
    }

    /// The entry of a page with copies in several places: it was split, if its sector entries are the newest copies.
    /// Else they are leftovers from an older split, and the page was trimmed since.
    fn split_or_trimmed(&self, at: u32, entries: &[Option<u32>], copies: &Copies) -> u32 {
        let first = at * self.per_page;
        let sectors = (first..first + self.per_page).zip(entries);
        // A sector entry that was lost too will be rebuilt as the newest copy.
        let mut said = sectors.map(|(sector, &entry)| (sector, entry.unwrap_or_else(|| copies.at(sector))));
        let is_newest = |(sector, entry)| entry >= SPLIT || entry == copies.at(sector);
        let mut has_any = false;
        let are_newest = said.all(|said| {
            has_any |= said.1 < SPLIT;
            is_newest(said)
        });
        if are_newest && has_any {
            SPLIT
        } else {
            NOTHING
        }
    }

    /// All entries in the map page that begins with this logical page's sector entries; `None` for lost ones.
    fn sector_entries<N: Nand>(&self, nand: &mut N, at: u32) -> Result<Vec<Option<u32>>, FtlError> {
        let first = self.first_sector_entry + at * self.per_page;
        let per_map_page = entries_per_map_page(&self.geometry);
        let page = first / per_map_page;
        if page >= self.map.pages() {
            return Ok(vec![Some(UNSET); per_map_page as usize]);
        }
        let mut bytes = vec![0; self.geometry.page_bytes() as usize];
        let mut entries: Vec<Option<u32>> = match self.map.read(nand, page, &mut bytes)? {
            Held::Page => entries_in(&bytes).map(Some).collect(),
            Held::Nothing => vec![Some(self.unwritten(page)); per_map_page as usize],
            Held::Lost => vec![None; per_map_page as usize],
        };
        for (entry, known) in (first..).zip(&mut entries) {
            if let Some(slot) = self.cmt.find(entry) {
                *known = Some(self.cmt.get(slot, entry));
            }
        }
        Ok(entries)
    }

    /// Each logical sector's newest copy, or the page with an unreadable list.
    fn newest_copies<N: Nand>(&self, nand: &mut N) -> Result<Result<Copies, Ppa>, FtlError> {
        const KNOWN: &str = "a mount refuses what is not exported";
        let mut copies = Copies::new(&self.geometry, self.logical_pages * self.per_page);
        let mut list = vec![0; 4 * self.gathered as usize];
        for page in (0..self.geometry.pages()).map(Ppa) {
            let mapped =
                self.mapping.filter(|&(mapping, _)| mapping == page).map_or(self.per_page, |(_, mapped)| mapped);
            match self.holds.at(page) {
                Holds::Nothing => {}
                Holds::Whole => match nand.read_spare(page) {
                    Ok(Some(oob)) => {
                        let first = self.sector(oob.lpn, 0);
                        copies.add_page(page, oob.seq, first..first + mapped).expect(KNOWN);
                    }
                    Ok(None) | Err(NandError::Uncorrectable(_)) => return Ok(Err(page)),
                    Err(error) => return Err(error.into()),
                },
                Holds::Sectors => match nand.read_tail(page, &mut list) {
                    Ok(oob) => {
                        copies.add_page(page, oob.seq, entries_in(&list).take(mapped as usize)).expect(KNOWN);
                    }
                    Err(NandError::Uncorrectable(_)) => return Ok(Err(page)),
                    Err(error) => return Err(error.into()),
                },
            }
        }
        Ok(Ok(copies))
    }

    /// Counts each block's valid sectors again, after lost map pages have made the counts estimates.
    #[cold]
    pub(super) fn recount<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        let before = self.rebuilt;
        while self.is_estimated {
            self.is_estimated = false;
            let mut valid = vec![0; self.geometry.blocks() as usize];
            for sector in 0..self.logical_pages * self.per_page {
                let address = self.look_up(nand, sector)?;
                if address != NOTHING {
                    valid[self.geometry.block_of(self.page_of(address)).index()] += 1;
                }
                if self.rebuilt - before > MOST_LOST + u64::from(self.map.pages()) {
                    return Err(self.end(MAP_IS_LOST.into()));
                }
            }
            if !self.is_estimated {
                let in_use = |&block: &BlockId| matches!(self.counts.usage(block), BlockUse::Open | BlockUse::Closed);
                let blocks: Vec<BlockId> = (0..self.geometry.blocks()).map(BlockId).filter(in_use).collect();
                blocks.into_iter().for_each(|block| self.counts.set(block, valid[block.index()]));
            }
        }
        Ok(())
    }

    /// Repeats `work` until no map page is found lost meanwhile: a rebuilt page may concern sectors that `work` had
    /// passed already.
    pub(super) fn until_nothing_is_lost<N: Nand>(
        &mut self,
        nand: &mut N,
        mut work: impl FnMut(&mut Self, &mut N) -> Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        let mut before = self.rebuilt;
        for _ in 0..MOST_LOST {
            work(self, nand)?;
            if self.rebuilt == before {
                return Ok(());
            }
            before = self.rebuilt;
        }
        Err(self.end(MAP_IS_LOST.into()))
    }

    /// Ends the device's life: from now on it takes no write.
    fn end(&mut self, why: String) -> FtlError {
        self.is_estimated = true;
        self.ended = Some(why.clone());
        FtlError::Full(why)
    }

    /// Fails if a lost part of the map has ended all writes.
    #[inline]
    pub(super) fn refuse_ended(&self) -> Result<(), FtlError> {
        if self.is_estimated {
            if let Some(why) = &self.ended {
                return Err(FtlError::Full(why.clone()));
            }
        }
        Ok(())
    }
}

const MAP_IS_LOST: &str = "map pages are lost to bit errors as fast as they are written, so no write is taken any more";

fn gone(map_page: u32, page: Ppa) -> String {
    format!(
        "map page {map_page} was lost to bit errors, and so was the list of page {page}: which sectors had their newest \
         copy there nothing says any more, so no write is taken"
    )
}

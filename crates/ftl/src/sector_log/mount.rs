//! Recovery from flash alone.

use super::config::gathered;
use super::log::Log;
use super::{Config, SectorLog, OF_LOG};
use crate::parts::blocks::area::Area;
use crate::parts::blocks::frontier::RESUMED;
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::{refuse_foreign, scan_ascending, take_listed, BlockScan, Page};
use crate::parts::merge_buffer::{Gathered, Written, DEAD};
use crate::parts::newest::Newest;
use crate::parts::store::page_bits::PageBits;
use crate::parts::trim_notes::TrimNotes;
use crate::parts::victim::{self, Victim};
use crate::{Events, Ftl, FtlError};
use nandlab_nand::{BlockId, Cause, Geometry, Nand, NandError, Ppa};
use std::cmp::Reverse;

/// A copy of a sector in the log.
struct Copy {
    sector: u32,
    seq: Reverse<u64>,
    page: Ppa,
    place: u32,
}

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<SectorLog, FtlError> {
    let geometry = *nand.geometry();
    let most = SectorLog::max_logical_pages(&geometry, nand.rules(), config)?;
    if logical_pages > most {
        return Err(FtlError::Config(format!(
            "{logical_pages} logical pages are more than ftl.sector_log with reserve_blocks = {} and log_percent = {} can \
             export on this device ({most} of {} pages); take a smaller capacity, a larger device, a smaller log or a \
             smaller reserve",
            config.reserve_blocks,
            config.log_percent,
            geometry.pages()
        )));
    }
    // What a mount finds must stay, and what was read once is there for good. Without a cut before it, programs may still
    // be under way.
    nand.ctx().fence();
    let mut scans = scan_ascending(nand)?;
    let listed = take_listed(&mut scans, RESUMED | OF_LOG);
    // Those of a sector map look alike but for the mark.
    if let Some((block, page)) = listed.iter().find(|(_, page)| page.oob.aux & OF_LOG == 0) {
        return Err(FtlError::Config(format!(
            "page {} has sectors that are in no log: the device was used by another FTL than sector_log",
            geometry.page(*block, page.place)
        )));
    }
    refuse_foreign(&geometry, logical_pages, &scans, "sector_log", (None, None))?;
    let mut ftl = blank(&geometry, logical_pages, config, &scans);
    let mut newest = Newest::of(&geometry, logical_pages, &scans);
    newest.apply_notes(nand, &mut ftl.notes)?;
    ftl.map = newest.map;
    let sectors = ftl.newest_logged(nand, &listed, &newest.seqs)?;
    ftl.adopt(&scans, &sectors);
    ftl.refuse_worn_out()?;
    // A cut may have left a victim of which the merges are lost beside the block that was opened for it, and the log may
    // have been larger before.
    while ftl.log.is_too_large() && ftl.merge_next(nand)? {}
    Ok(ftl)
}

fn blank(geometry: &Geometry, logical_pages: u32, config: &Config, scans: &[Option<BlockScan>]) -> SectorLog {
    let highest = scans.iter().flatten().map(|scan| scan.highest).max().unwrap_or(0);
    let quota = config.log_blocks(geometry);
    SectorLog {
        config: config.clone(),
        geometry: *geometry,
        full: geometry.full_mask(),
        per_page: geometry.sectors_per_page(),
        gathered: gathered(geometry),
        map: Vec::new(),
        keeper: Keeper::new(geometry, highest),
        data: Area::new(geometry, 2 * geometry.dies()),
        log: Log::new(geometry, gathered(geometry), quota),
        logged: PageBits::new(geometry),
        buffer: Gathered::default(),
        written: Written::new(config.merge_buffers),
        list: Vec::new(),
        notes: TrimNotes::new(geometry, logical_pages, true),
        policy: Victim::Greedy.policy(&victim::Options { choices: 1, window: 1, seed: 0 }),
        turn: geometry.dies() as usize - 1,
        log_turn: 0,
        mapped: 0,
        events: Events::default(),
    }
}

impl SectorLog {
    /// Reads the lists of the pages of the log; the newest copy of each sector that is newer than its page, which is mapped.
    fn newest_logged<N: Nand>(
        &self,
        nand: &mut N,
        listed: &[(BlockId, Page)],
        seqs: &[u64],
    ) -> Result<Vec<Copy>, FtlError> {
        let mut copies: Vec<Copy> = Vec::new();
        let mut list = vec![0; 4 * self.gathered as usize];
        for &(block, Page { place, oob }) in listed {
            let page = self.geometry.page(block, place);
            match nand.read_tail(page, &mut list) {
                Ok(_) => {}
                Err(NandError::Uncorrectable(_)) => continue,
                Err(error) => return Err(error.into()),
            }
            for (place, sector) in (0..).zip(sectors_in(&list)).filter(|&(_, sector)| sector != DEAD) {
                let at = (sector / self.per_page) as usize;
                let Some(&below) = self.map.get(at) else {
                    return Err(FtlError::Config(format!(
                        "page {page} holds logical sector {sector} and {} logical pages are exported: the device was \
                         used with a larger capacity",
                        self.logical_pages()
                    )));
                };
                if below.is_some() && seqs[at] < oob.seq.0 {
                    copies.push(Copy { sector, seq: Reverse(oob.seq.0), page, place });
                }
            }
        }
        copies.sort_unstable_by_key(|copy| (copy.sector, copy.seq));
        copies.dedup_by_key(|copy| copy.sector);
        Ok(copies)
    }

    /// Sets what is valid and sorts the blocks into those of data, of the log, free and bad ones.
    fn adopt(&mut self, scans: &[Option<BlockScan>], sectors: &[Copy]) {
        let notes = self.notes.live().map(|(_, page)| page);
        let mut valid: Vec<Ppa> = self.map.iter().copied().chain(notes).filter(|page| page.is_some()).collect();
        valid.sort_unstable();
        for page in valid {
            let block = self.geometry.block_of(page);
            if !self.data.has(block) {
                self.data.found(block);
            }
            self.data.set_valid(page);
        }
        let mut in_log: Vec<BlockId> = sectors.iter().map(|copy| self.geometry.block_of(copy.page)).collect();
        in_log.sort_unstable();
        in_log.dedup();
        in_log.into_iter().for_each(|block| self.log.found(block));
        for &Copy { sector, page, place, .. } in sectors {
            let below = self.map[(sector / self.per_page) as usize];
            self.log.insert(sector, page, place);
            self.logged.insert(self.geometry.block_of(below), self.geometry.page_in_block(below));
        }
        self.keeper.adopt(scans, Cause::Mount, |block| self.data.has(block) || self.log.has(block));
        self.data.resume(scans);
        self.log.resume(scans);
    }
}

/// The logical sectors in a list.
pub(super) fn sectors_in(list: &[u8]) -> impl Iterator<Item = u32> + '_ {
    list.chunks_exact(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

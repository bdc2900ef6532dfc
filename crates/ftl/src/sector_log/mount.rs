//! Recovery from flash alone.

use super::config::gathered;
use super::log::Log;
use super::{Config, Scheme, OF_LOG};
use crate::parts::blocks::frontier::RESUMED;
use crate::parts::blocks::scan::{refuse_foreign, scan_ascending, take_listed, Page};
use crate::parts::engine::adopt::{Found, Needs};
use crate::parts::engine::{self, Collection, Pages};
use crate::parts::merge_buffer::{Gathered, Written, DEAD};
use crate::parts::newest::Newest;
use crate::parts::noted_map::NotedMap;
use crate::parts::store::page_bits::PageBits;
use crate::parts::victim::Victim;
use crate::{error, FtlError};
use nandlab_nand::{BlockId, Lpn, Nand, NandError, Ppa};
use std::cmp::Reverse;

/// A sector's copy in the log.
struct Copy {
    sector: u32,
    seq: Reverse<u64>,
    page: Ppa,
    place: u32,
}

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<(Pages, Scheme), FtlError> {
    let geometry = *nand.geometry();
    let most = config.max_logical_pages(&geometry)?;
    let options = format!(
        "ftl.sector_log with reserve_blocks = {} and log_percent = {}",
        config.reserve_blocks, config.log_percent
    );
    error::refuse_capacity(logical_pages, most, &options, &geometry, "a smaller log or reserve")?;
    // Everything a mount finds must stay, and a page read once must not vanish later. If no cut came before the mount,
    // programs may still be running.
    nand.ctx().fence();
    let mut scans = scan_ascending(nand)?;
    let listed = take_listed(&mut scans, RESUMED | OF_LOG);
    // A sector map's pages look alike except for the mark.
    if let Some((block, page)) = listed.iter().find(|(_, page)| page.oob.aux & OF_LOG == 0) {
        return Err(FtlError::Config(format!(
            "page {} has sectors that are in no log: the device was used by another FTL than sector_log",
            geometry.page(*block, page.place)
        )));
    }
    refuse_foreign(&geometry, logical_pages, &scans, "sector_log", (None, None))?;
    let newest = Newest::of(&geometry, logical_pages, &scans);
    // The log holds the newest sectors of a block with no newest page, too.
    let highest = scans.highest();
    let seqs = newest.seqs.clone();
    let map = NotedMap::found(nand, &geometry, newest, true)?;
    let needs =
        Needs { logical_pages, others: map.most_notes(), blocks: config.log_blocks(&geometry), ..Needs::default() };
    let options = engine::Config::plain(Victim::Greedy, config.reserve_blocks, 0).collecting(Collection::Late);
    let mut pages = Pages::new(nand, &options, needs, highest);
    let mut scheme = Scheme {
        config: config.clone(),
        geometry,
        per_page: geometry.sectors_per_page(),
        gathered: gathered(&geometry),
        map,
        log: Log::new(&geometry, gathered(&geometry), config.log_blocks(&geometry)),
        logged: PageBits::new(&geometry),
        buffer: Gathered::default(),
        written: Written::new(config.merge_buffers),
        list: Vec::new(),
        log_turn: 0,
    };
    let sectors = scheme.newest_logged(nand, &listed, &seqs)?;
    scheme.adopt(&sectors);
    scheme.log.close_found(&scans);
    let valid: Vec<_> = scheme.map.found_owned().collect();
    let found =
        Found { scans: &scans, valid: valid.into_iter(), is_other: |scheme: &Scheme, block| scheme.log.has(block) };
    pages.adopt(&mut scheme, nand, found)?;
    // A cut may have lost a victim's merges and left it beside the block opened for it, and the log may have been
    // larger before.
    while scheme.log.is_too_large() && scheme.merge_next(&mut pages, nand, None)? {}
    Ok((pages, scheme))
}

impl Scheme {
    /// Reads the lists in the log pages; returns each sector's newest copy, if it is newer than its mapped page.
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
            let whole = sectors_in(&list).filter(|&sector| sector != DEAD);
            nand.ctx().doubt_gathered(oob.seq, whole.map(|sector| Lpn(sector / self.per_page)));
            for (place, sector) in (0..).zip(sectors_in(&list)).filter(|&(_, sector)| sector != DEAD) {
                let at = (sector / self.per_page) as usize;
                let Some(below) = self.map.get(at) else {
                    return Err(FtlError::Config(format!(
                        "page {page} holds logical sector {sector} and {} logical pages are exported: the device was \
                         used with a larger capacity",
                        self.map.len()
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

    /// Takes over the log's sectors.
    fn adopt(&mut self, sectors: &[Copy]) {
        let mut in_log: Vec<BlockId> = sectors.iter().map(|copy| self.geometry.block_of(copy.page)).collect();
        in_log.sort_unstable();
        in_log.dedup();
        in_log.into_iter().for_each(|block| self.log.found(block));
        for &Copy { sector, page, place, .. } in sectors {
            let below = self.map.at(Lpn(sector / self.per_page));
            self.log.insert(sector, page, place);
            self.logged.insert(self.geometry.block_of(below), self.geometry.page_in_block(below));
        }
    }
}

/// A list's logical sectors.
pub(super) fn sectors_in(list: &[u8]) -> impl Iterator<Item = u32> + '_ {
    list.chunks_exact(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

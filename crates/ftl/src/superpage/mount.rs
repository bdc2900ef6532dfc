//! Recovery of the super-page map from flash alone.

use super::{Active, Config, Firmware, SuperPage};
use crate::parts::blocks::counts::ValidCounts;
use crate::parts::blocks::frontier::Frontier;
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::{refuse_foreign, scan, BlockScan, Scans};
use crate::parts::blocks::table::BlockUse;
use crate::parts::newest::Newest;
use crate::parts::noted_map::NotedMap;
use crate::{Events, Ftl, FtlError};
use nandlab_nand::{BlockId, Cause, Geometry, Kind, Lpn, Nand};
use std::collections::VecDeque;

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<SuperPage, FtlError> {
    let geometry = *nand.geometry();
    let most = SuperPage::max_logical_pages(&geometry, nand.rules(), config)?;
    if logical_pages > most {
        return Err(FtlError::Config(format!(
            "{logical_pages} logical pages are more than a super-page map with ftl.superpage.reserve_blocks = {} can export \
             on this device ({most} of {} pages); take a smaller capacity, a larger device or a smaller reserve",
            config.reserve_blocks,
            geometry.pages()
        )));
    }
    // Everything a mount finds must stay: superseded blocks are erased without another fence, and a page read once must
    // not vanish later. If no cut came before the mount, programs may still be running.
    nand.ctx().fence();
    let mut scans = scan(nand)?;
    let highest = scans.highest();
    let mut ftl = blank(&geometry, logical_pages, config, highest);
    for (listed, scan) in ftl.listed.iter_mut().zip(scans.iter_mut()) {
        *listed = scan.as_mut().is_some_and(|scan| has_list(scan, ftl.data_pages));
    }
    refuse_foreign(&geometry, logical_pages, &scans, "superpage", (None, None))?;
    let newest = Newest::of(&geometry, logical_pages, &scans);
    ftl.map = NotedMap::found(nand, &geometry, newest, config.durable_trim)?;
    ftl.refuse_misplaced()?;
    ftl.adopt(&scans);
    ftl.refuse_worn_out()?;
    Ok(ftl)
}

/// Sequence numbers go on behind `highest`.
fn blank(geometry: &Geometry, logical_pages: u32, config: &Config, highest: u64) -> SuperPage {
    let first = |block: u32| geometry.blocks_of_die(geometry.die_of(BlockId(block))).start;
    let apart = (0..geometry.blocks()).map(|block| block - first(block) < config.firmware_blocks);
    SuperPage {
        map: NotedMap::none(geometry, logical_pages, config.durable_trim),
        keeper: Keeper::with_apart(geometry, highest, apart.collect()),
        counts: ValidCounts::new(geometry.blocks()),
        failing: VecDeque::new(),
        active: (0..geometry.dies())
            .map(|_| Active { frontier: Frontier::none(), list: Vec::new(), is_whole: false })
            .collect(),
        listed: vec![false; geometry.blocks() as usize],
        turn: geometry.dies() as usize - 1,
        geometry: *geometry,
        full: geometry.full_mask(),
        data_pages: config.data_pages(geometry),
        config: config.clone(),
        survivors: Default::default(),
        events: Events::default(),
    }
}

/// Whether a block ends in a list of its other pages; the list is removed from the scan.
fn has_list(scan: &mut BlockScan, data_pages: u32) -> bool {
    let before = scan.pages.len();
    scan.pages.retain(|page| page.place != data_pages || page.oob.kind != Kind::List);
    scan.pages.len() < before
}

impl SuperPage {
    /// Refuses pages in another bank than this firmware would choose, or in blocks that it does not use.
    fn refuse_misplaced(&self) -> Result<(), FtlError> {
        let banks = self.active.len();
        for page in self.map.found_valid() {
            let block = self.geometry.block_of(page);
            if self.keeper.is_apart(block) {
                return Err(FtlError::Config(format!(
                    "block {block} holds data and ftl.superpage.firmware_blocks = {} leaves it out: the device was used by \
                     another FTL or with other options",
                    self.config.firmware_blocks
                )));
            }
        }
        if self.config.firmware == Firmware::Tutorial {
            return Ok(());
        }
        for (at, page) in self.map.found_pages() {
            let at = at.index();
            if self.bank_of(page) != at % banks {
                return Err(FtlError::Config(format!(
                    "page {page} holds logical page {at}, which superpage keeps in bank {}: the device was used by another \
                     FTL or with other options",
                    at % banks
                )));
            }
        }
        Ok(())
    }

    /// Counts the valid pages and sorts the blocks into free, open, closed and bad ones.
    fn adopt(&mut self, scans: &Scans) {
        let used: Vec<BlockId> =
            (0..).map(BlockId).zip(scans).filter(|(_, scan)| scan.is_some()).map(|(block, _)| block).collect();
        used.iter().for_each(|&block| self.counts.open(block));
        for page in self.map.found_valid() {
            self.counts.add(self.geometry.block_of(page), 1);
        }
        for block in used {
            if self.counts.valid(block) == 0 && !self.keeper.is_apart(block) {
                self.counts.set_free(block);
            }
        }
        let Self { keeper, counts, .. } = self;
        keeper.adopt(scans, Cause::Gc, |block| counts.usage(block) != BlockUse::Free);
        for bank in 0..self.active.len() {
            for block in self.blocks_of(bank) {
                let is_used = self.counts.usage(block) == BlockUse::Open;
                self.listed[block.index()] &= is_used;
                if is_used {
                    self.counts.close(block);
                }
            }
        }
    }

    /// A bank's blocks, without the firmware's own.
    fn blocks_of(&self, bank: usize) -> Vec<BlockId> {
        let blocks = self.geometry.blocks_of_die(bank as u32).map(BlockId);
        blocks.filter(|&block| !self.keeper.is_apart(block)).collect()
    }
}

/// Whether a list entry stands for a page that was unreadable when the list was made.
pub(super) fn is_nobodys(entry: u32) -> bool {
    entry == Lpn::NONE.0
}

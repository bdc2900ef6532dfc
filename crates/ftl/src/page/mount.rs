//! Recovery of the page map from flash alone.
//!
//! A block's pages carry its erase count; a block without pages takes its die's mean. They also tell whether its cells
//! hold one bit. Blocks that were open before the power went are filled further.

use super::dies::Dies;
use super::placing::Placing;
use super::refresh::Refreshing;
use super::slc::{tell_modes, Cache};
use super::{Config, PageMap};
use crate::parts::blocks::frontier::{cycles_in, Frontier};
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::{refuse_foreign, scan, Scans};
use crate::parts::blocks::table::{BlockTable, BlockUse};
use crate::parts::newest::Newest;
use crate::parts::noted_map::NotedMap;
use crate::parts::placement::Placement;
use crate::{Events, Ftl, FtlError};
use nandlab_nand::{BlockId, Cause, Geometry, Nand, Rules};

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<PageMap, FtlError> {
    let most = PageMap::max_logical_pages(nand.geometry(), nand.rules(), config)?;
    let geometry = config.stripe.view(nand.geometry());
    if logical_pages > most {
        let part = match config.placement {
            Placement::Pools(_) => ", or change ftl.page.placement.pools.blocks",
            _ => "",
        };
        return Err(FtlError::Config(format!(
            "{logical_pages} logical pages are more than a page map with ftl.page.reserve_blocks = {} can export on \
             this device ({most} of {} pages); take a smaller capacity, a larger device or a smaller reserve{part}",
            config.reserve_blocks,
            geometry.pages()
        )));
    }
    // Everything a mount finds must stay: superseded blocks are erased without another fence, and a page read once must
    // not vanish later. If no cut came before the mount, programs may still be running.
    nand.ctx().fence();
    let scans = scan(nand)?;
    refuse_foreign(&geometry, logical_pages, &scans, "page", (None, None))?;
    let newest = Newest::of(&geometry, logical_pages, &scans);
    let dies = Dies::new(nand.geometry(), config);
    let mut ftl = blank((&geometry, nand.rules()), logical_pages, config, (dies, newest.highest));
    ftl.map = NotedMap::found(nand, &geometry, newest, config.durable_trim)?;
    ftl.adopt(&scans, &tell_modes(nand, &scans));
    (0..ftl.dies.len()).for_each(|die| ftl.pass_over_weak(die));
    ftl.refuse_worn_out()?;
    Ok(ftl)
}

fn blank(
    (geometry, rules): (&Geometry, &Rules),
    logical_pages: u32,
    config: &Config,
    (dies, highest): (Dies, u64),
) -> PageMap {
    let cache = Cache::new(geometry, rules, config);
    let apart = cache.as_ref().map_or_else(Vec::new, |cache| cache.fixed_blocks(geometry));
    let placing = Placing::new(config, geometry, logical_pages, cache.is_some());
    PageMap {
        map: NotedMap::none(geometry, logical_pages, config.durable_trim),
        table: BlockTable::new(geometry),
        keeper: Keeper::with_apart(geometry, highest, apart),
        dies,
        enough_with: None,
        geometry: *geometry,
        policy: config.victim.policy(&config.victims(geometry), config.seed),
        wear_policy: config.wear.policy(geometry, config.seed),
        refreshing: Refreshing::new(config.refresh_percent, geometry),
        config: config.clone(),
        placing,
        cache,
        events: Events::default(),
    }
}

impl PageMap {
    /// Sets the valid bits and sorts the blocks into free ones, frontiers, closed and bad ones.
    fn adopt(&mut self, scans: &Scans, slc: &[bool]) {
        if scans.are_untouched() && self.cache.is_none() {
            return self.keeper.adopt(scans, Cause::Gc, |_| false);
        }
        for block in 0..self.geometry.blocks() {
            self.table.open(BlockId(block));
        }
        let Self { map, table, .. } = self;
        map.found_valid().for_each(|page| table.set_valid(page));
        for (at, page) in self.map.found_pages() {
            self.placing.own(page, at);
        }
        self.adopt_pools(scans);
        let handles = self.adopt_handles(scans);
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            if scan.is_none() {
                self.table.set_bad(block);
            } else if self.table.valid_pages(block) == 0 {
                self.table.set_free(block);
            }
        }
        self.keeper.adopt(scans, Cause::Gc, |block| self.table.usage(block) != BlockUse::Free);
        for die in 0..self.dies.len() {
            self.adopt_cycles(die, scans);
            self.resume(die, scans, slc, &handles);
            self.resume_cached(die, scans, slc);
        }
        // The other open blocks are closed, in the order in which they were filled.
        let found = (0..).map(BlockId).zip(scans).filter_map(|(block, scan)| Some((scan.as_ref()?.highest, block)));
        let is_frontier = |block| {
            let frontiers = self.dies.iter().flat_map(|die| die.frontiers.iter().chain([&die.slc.frontier]));
            frontiers.into_iter().any(|frontier| frontier.block == block)
        };
        let mut closed: Vec<(u64, BlockId)> =
            found.filter(|&(_, block)| self.table.usage(block) == BlockUse::Open && !is_frontier(block)).collect();
        closed.sort_unstable();
        self.adopt_units(&closed, &handles);
        for (highest, block) in closed {
            if slc[block.index()] && self.adopts(block) {
                self.dies[self.geometry.die_of(block) as usize].slc.full.push_back(block);
            } else {
                self.table.close(block, highest);
            }
        }
    }

    /// Each block's erase count, read from its pages; the die's mean if no page has one.
    fn adopt_cycles(&mut self, die: usize, scans: &Scans) {
        let blocks = self.dies[die].blocks.clone();
        let known: Vec<(BlockId, u32)> = blocks
            .clone()
            .map(BlockId)
            .filter_map(|block| {
                let pages = scans[block.index()].as_ref()?;
                let pages = pages.copies().chain(pages.notes());
                Some((block, pages.map(|page| cycles_in(page.oob.aux)).max()?))
            })
            .collect();
        let sum: u64 = known.iter().map(|&(_, cycles)| u64::from(cycles)).sum();
        let mean = sum.checked_div(known.len() as u64).unwrap_or(0) as u32;
        blocks.map(BlockId).for_each(|block| self.table.set_cycles(block, mean));
        known.into_iter().for_each(|(block, cycles)| self.table.set_cycles(block, cycles));
    }

    /// Fills open blocks further: the roomiest one for relocation, the next one for the host.
    fn resume(&mut self, die: usize, scans: &Scans, slc: &[bool], handles: &[Option<u8>]) {
        let mut partial: Vec<(u32, BlockId)> = self.dies[die]
            .blocks
            .clone()
            .map(BlockId)
            .filter(|&block| !slc[block.index()] && !self.keeper.is_apart(block))
            .filter_map(|block| match &scans[block.index()] {
                Some(scan) if scan.is_open(&self.geometry) && self.table.valid_pages(block) > 0 => {
                    Some((scan.used, block))
                }
                _ => None,
            })
            .collect();
        partial.sort_unstable();
        for (used, block) in partial {
            let frontiers = &self.dies[die].frontiers;
            let open = self.frontiers_for(die, block, handles).into_iter().find(|&at| !frontiers[at].block.is_some());
            if let Some(at) = open {
                let frontier = Frontier::resumed(&self.geometry, block, used).with_cycles(self.table.cycles(block));
                self.dies[die].frontiers[at] = frontier;
                self.join_pool(die, at);
                if self.placing.is_by_host() {
                    self.placing.opened(block, at);
                }
            }
        }
    }
}

//! The data blocks' state from flash alone.
//!
//! A block's pages carry its erase count; a block without pages takes its die's mean. They also tell whether its cells
//! hold one bit. Blocks that were open before the power went are closed: the page behind the last one may hold a cut
//! program that reads as erased.

use super::dies::{Dies, Rest};
pub(crate) use super::needs::Needs;
use super::placing::Placing;
use super::refresh::Refreshing;
use super::slc::{tell_modes, Cache};
use super::{Config, Pages, Scheme};
use crate::parts::blocks::frontier::cycles_in;
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::Scans;
use crate::parts::blocks::table::{BlockTable, BlockUse};
use crate::{Events, FtlError};
use nandlab_nand::{BlockId, Cause, Lpn, Nand, Ppa, ProgramOrder};

/// A mount's finds.
pub(crate) struct Found<'a, V, O> {
    pub(crate) scans: &'a Scans,
    /// The valid pages and their owners.
    pub(crate) valid: V,
    /// Whether a block is the scheme's own.
    pub(crate) is_other: O,
}

impl Pages {
    /// Without any page; sequence numbers go on behind `highest`.
    pub(crate) fn new<N: Nand>(nand: &N, config: &Config, needs: Needs, highest: u64) -> Self {
        let geometry = &config.stripe.view(nand.geometry());
        let cache = Cache::new(geometry, nand.rules(), config);
        let first = |block: u32| geometry.blocks_of_die(geometry.die_of(BlockId(block))).start;
        let apart = match &cache {
            Some(cache) => cache.fixed_blocks(geometry),
            None if needs.apart == 0 => Vec::new(),
            None => (0..geometry.blocks()).map(|block| block - first(block) < needs.apart).collect(),
        };
        let frontiers = if needs.groups > 0 { needs.groups + 1 } else { config.frontiers() };
        let dies = Dies::new(nand.geometry(), config, frontiers);
        Self {
            table: BlockTable::new(geometry),
            keeper: Keeper::with_apart(geometry, highest, apart),
            enough_with: None,
            shared: needs.blocks,
            shares: vec![0; dies.len()],
            dies,
            logical_pages: needs.logical_pages,
            needed: needs.logical_pages + needs.others,
            padding: config.padding(nand.rules()),
            data_pages: geometry.pages_per_block() - needs.list_pages,
            geometry: *geometry,
            policy: config.victim.policy(&config.victims(geometry), config.seed),
            wear_policy: config.wear.policy(geometry, config.seed),
            refreshing: Refreshing::new(config.refresh_percent, geometry),
            config: config.clone(),
            placing: Placing::new(config, geometry, needs, cache.is_some()).with_pairs(nand.rules().pair_distance > 0),
            cache,
            group_turns: vec![geometry.dies() as usize - 1; needs.groups as usize],
            owing: None,
            events: Events::default(),
        }
    }

    /// Sets the valid bits and sorts the blocks into free ones, frontiers, closed and bad ones.
    ///
    /// # Errors
    /// As [`Self::take_stock`].
    pub(crate) fn adopt<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        found: Found<impl Iterator<Item = (Ppa, Lpn)>, impl Fn(&S, BlockId) -> bool>,
    ) -> Result<(), FtlError> {
        let Found { scans, valid, is_other } = found;
        let slc = tell_modes(nand, scans);
        if scans.are_untouched() && self.cache.is_none() {
            self.keeper.adopt(scans, Cause::Gc, |block| is_other(scheme, block));
            return self.take_stock(scheme);
        }
        for block in 0..self.geometry.blocks() {
            self.table.open(BlockId(block));
        }
        for (page, at) in valid {
            self.table.set_valid(page);
            if at != Lpn::NONE {
                self.placing.own(page, at);
            }
        }
        self.adopt_pools(scans);
        let handles = self.adopt_handles(scans);
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            if scan.is_none() {
                self.table.set_bad(block);
            } else if is_other(scheme, block) || self.table.valid_pages(block) == 0 {
                self.table.set_free(block);
            }
        }
        let Self { keeper, table, .. } = self;
        keeper.adopt(scans, Cause::Gc, |block| table.usage(block) != BlockUse::Free || is_other(scheme, block));
        for die in 0..self.dies.len() {
            self.adopt_cycles(die, scans);
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
        let gaps = nand.rules().program_order != ProgramOrder::AscendingDense;
        // On a chip with pairs an upper page would endanger what this mount shows. The device then takes no more pages instead.
        if self.padding == 0 {
            self.note_rests(scans, gaps, &handles);
        }
        self.take_stock(scheme)
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

    /// Notes the rests in closed blocks. The page behind the last one may hold a cut program, so it is left out on a chip with
    /// `gaps`.
    fn note_rests(&mut self, scans: &Scans, gaps: bool, handles: &[Option<u8>]) {
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let Some(scan) = &scans[block.index()] else { continue };
            let next = scan.used + u32::from(gaps);
            if self.table.usage(block) == BlockUse::Closed && next < self.data_pages {
                self.dies[self.geometry.die_of(block) as usize].rests.push(Rest {
                    next,
                    block,
                    handle: handles.get(block.index()).copied().flatten(),
                });
            }
        }
    }
}

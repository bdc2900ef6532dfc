//! Pools with their own blocks: the needs of two pools, and the search for the next victim.

use super::room::usable_pages;
use super::{Config, Pages, Scheme};
use crate::parts::blocks::scan::Scans;
use crate::parts::placement::{Candidates, Placement, TwoPools};
use crate::{error, FtlError};
use nandlab_nand::{BlockId, Geometry, Lpn};

impl Config {
    /// Checks the pools on a device with `blocks` data blocks on each die; returns the most logical pages they hold.
    pub(super) fn pool_pages_at_most(&self, geometry: &Geometry, blocks: u32) -> Result<u32, FtlError> {
        let Placement::Pools(TwoPools { pages, blocks: part }) = self.placement else { return Ok(u32::MAX) };
        let refuse = |why: String| Err(FtlError::Config(format!("ftl.page.placement.pools {why}")));
        if self.wear.has_frontier() {
            return refuse(
                "keeps the pages of two pools apart, and ftl.page.wear would move cold data of both to one block: take \
                 \"none\", \"dynamic\" or \"bet\""
                    .into(),
            );
        }
        error::in_range("ftl.page.placement.pools.pages", pages, 1..=u32::MAX)?;
        // One block in a pool is being filled, and one holds pages to reclaim.
        let shared = blocks.saturating_sub(self.reserve_blocks);
        let most = shared.saturating_sub(2);
        if !(2..=most).contains(&part) {
            return refuse(format!(
                "with blocks = {part}: the first pool has at least 2 and at most {most} of the {} of a {} that \
                 are not in reserve, and the second one the others",
                error::blocks(shared),
                self.stripe.unit()
            ));
        }
        let room = |blocks: u32| geometry.dies() * usable_pages(geometry.pages_per_block(), blocks, 1);
        let (first, second) = (room(part), room(shared + 1 - part));
        if pages > first {
            return refuse(format!(
                "with pages = {pages}: {} of each {} (blocks) hold at most {first} pages, with one of them being filled",
                error::blocks(part),
                self.stripe.unit()
            ));
        }
        Ok(pages + second)
    }

    /// The largest first pool, below this one, with which the options work.
    pub(crate) fn smaller_pool(&self, geometry: &Geometry, works: impl Fn(&Self) -> bool) -> Option<String> {
        let Placement::Pools(TwoPools { pages, blocks }) = self.placement else { return None };
        let with = |blocks| Self { placement: Placement::Pools(TwoPools { pages, blocks }), ..self.clone() };
        let largest = (2..blocks.min(geometry.blocks())).rev().find(|&blocks| works(&with(blocks)))?;
        Some(format!("ftl.page.placement.pools.blocks = {largest}"))
    }

    /// A sentence for a result's reader if the second pool has no page.
    pub(super) fn notice_of_pools(&self, logical_pages: u32) -> Option<String> {
        let Placement::Pools(TwoPools { pages, .. }) = self.placement else { return None };
        (pages >= logical_pages).then(|| {
            format!(
                "ftl.page.placement.pools keeps nothing apart: pages = {pages} are all of the {logical_pages} logical pages"
            )
        })
    }
}

impl Pages {
    /// The block to empty next if there are pools.
    #[cold]
    pub(super) fn victim_of_pools<S: Scheme>(&mut self, scheme: &mut S, die: usize) -> Option<BlockId> {
        self.close_unfilled(die);
        let beyond = i64::from(self.config.reserve_blocks) - 1 - i64::from(self.free_in(scheme, die));
        let last = self.dies[die].last;
        let candidates = self.placing.pools_mut()?.to_collect(die as u32, beyond, last);
        let of = self.placing.pools()?.blocks().of_blocks();
        let full = self.geometry.pages_per_block();
        candidates.into_iter().find_map(|Candidates { pools, is_oldest }| {
            let blocks = self.table.pools(die as u32, pools, of);
            if is_oldest {
                return blocks.oldest();
            }
            let block = self.policy.pick(blocks, self.keeper.seq())?;
            // A policy that weighs more than valid pages may take a full block, if another block is not full.
            let best = [Some(block), blocks.fewest_valid()];
            best.into_iter().flatten().any(|block| blocks.valid_pages(block) < full).then_some(block)
        })
    }

    /// Closes a die's frontiers that get no more pages.
    fn close_unfilled(&mut self, die: usize) {
        let Some(pools) = self.placing.pools() else { return };
        let frontiers = &self.dies[die].frontiers;
        let unfilled: Vec<usize> =
            (0..frontiers.count()).filter(|&at| frontiers[at].block.is_some() && !pools.fills(at)).collect();
        unfilled.into_iter().for_each(|frontier| self.close_frontier(die, frontier));
    }

    /// Tells the pools about blocks found by a mount.
    pub(super) fn adopt_pools(&mut self, scans: &Scans) {
        let Some(pools) = self.placing.pools_mut() else { return };
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            let valid = self.table.valid_pages(block);
            if valid > 0 {
                let page = scan.as_ref().and_then(|scan| scan.copies().next());
                pools.found(block, page.map_or(Lpn(0), |page| page.oob.lpn), valid);
            }
        }
    }

    /// Puts a frontier's block into the frontier's pool, if there are pools.
    pub(super) fn join_pool(&mut self, die: usize, frontier: usize) {
        let block = self.dies[die].frontiers[frontier].block;
        if let (Some(pools), true) = (self.placing.pools_mut(), block.is_some()) {
            pools.blocks_mut().join(block, frontier);
        }
    }
}

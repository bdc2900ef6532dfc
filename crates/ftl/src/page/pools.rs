//! Two pools of blocks: what they ask for, and which of them gives the next victim.

use super::room::usable_pages;
use super::{Config, PageMap};
use crate::parts::blocks::scan::BlockScan;
use crate::parts::placement::{Placement, Placer, Pools, POOLS};
use crate::{error, FtlError};
use nandlab_nand::{BlockId, Geometry};

impl Config {
    /// Checks the pools of a device of which each die has `blocks` for data; the logical pages that they hold at most.
    pub(super) fn pool_pages_at_most(&self, geometry: &Geometry, blocks: u32) -> Result<u32, FtlError> {
        if self.placement != Placement::Pools {
            return Ok(u32::MAX);
        }
        let refuse = |why: String| Err(FtlError::Config(format!("ftl.page.placement = \"pools\" {why}")));
        if self.wear.has_frontier() {
            return refuse(
                "keeps the pages of two pools apart, and ftl.page.wear would move cold data of both to one block: take \
                 \"none\", \"dynamic\" or \"bet\""
                    .into(),
            );
        }
        if self.pool_pages == 0 {
            return refuse("needs ftl.page.pool_pages, the logical pages of the first pool: at least 1".into());
        }
        // One block of a pool is being filled, and one holds what can be reclaimed.
        let shared = blocks.saturating_sub(self.reserve_blocks);
        let most = shared.saturating_sub(2);
        if !(2..=most).contains(&self.pool_blocks) {
            return refuse(format!(
                "with ftl.page.pool_blocks = {}: the first pool has at least 2 and at most {most} of the {} of a {} that \
                 are not in reserve, and the second one the others",
                self.pool_blocks,
                error::blocks(shared),
                self.stripe.unit()
            ));
        }
        let room = |blocks: u32| geometry.dies() * usable_pages(geometry, blocks, 1);
        let (first, second) = (room(self.pool_blocks), room(shared + 1 - self.pool_blocks));
        if self.pool_pages > first {
            return refuse(format!(
                "with ftl.page.pool_pages = {}: {} of each {} (ftl.page.pool_blocks) hold at most {first} pages, with one \
                 of them being filled",
                self.pool_pages,
                error::blocks(self.pool_blocks),
                self.stripe.unit()
            ));
        }
        Ok(self.pool_pages + second)
    }

    /// The largest first pool below this one with which the options work.
    pub(super) fn smaller_pool(&self, geometry: &Geometry, works: impl Fn(&Self) -> bool) -> Option<String> {
        if self.placement != Placement::Pools {
            return None;
        }
        let works = |&pool_blocks: &u32| works(&Self { pool_blocks, ..self.clone() });
        let largest = (2..self.pool_blocks.min(geometry.blocks())).rev().find(works)?;
        Some(format!("ftl.page.pool_blocks = {largest}"))
    }

    /// A sentence for the reader of a result where the second pool has no page.
    pub(super) fn notice_of_pools(&self, logical_pages: u32) -> Option<String> {
        let is_all = self.placement == Placement::Pools && self.pool_pages >= logical_pages;
        is_all.then(|| {
            format!(
                "ftl.page.placement = \"pools\" keeps nothing apart: ftl.page.pool_pages = {} are all of the {logical_pages} \
                 logical pages",
                self.pool_pages
            )
        })
    }
}

impl PageMap {
    /// The block to empty next where there are pools: of the pool that is beyond its part, unless nothing would be gained
    /// there.
    pub(super) fn victim_of_pools(&mut self, die: usize) -> Option<BlockId> {
        let pools = self.placing.pools()?;
        let used = self.table.used_by(die as u32, 0, pools.of_blocks());
        let beyond = i64::from(self.config.reserve_blocks) - 1 - i64::from(self.free_in(die));
        let full = self.geometry.pages_per_block();
        let first = pools.to_collect(used, beyond, self.dies[die].last);
        [first, 1 - first].into_iter().find_map(|pool| {
            let blocks = self.table.pool(die as u32, pool as u8, pools.of_blocks());
            let block = self.policy.pick(blocks, self.keeper.seq())?;
            // A policy that looks at more than valid pages may take a full block, as long as another is not.
            let best = [Some(block), blocks.fewest_valid()];
            best.into_iter().flatten().any(|block| blocks.valid_pages(block) < full).then_some(block)
        })
    }

    /// Tells the pools of the blocks that a mount found: they are those of the pages in them.
    pub(super) fn adopt_pools(&mut self, scans: &[Option<BlockScan>]) {
        let Placer::Pools(pools) = &mut *self.placing else { return };
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            let page = scan.as_ref().and_then(|scan| scan.copies().next());
            pools.join(block, page.map_or(0, |page| pools.of_page(page.oob.lpn)));
        }
    }

    /// The block of a frontier belongs to its pool, where there are pools.
    pub(super) fn join_pool(&mut self, die: usize, frontier: usize) {
        let block = self.dies[die].frontiers[frontier].block;
        if let (Placer::Pools(pools), true) = (&mut *self.placing, block.is_some()) {
            pools.join(block, frontier);
        }
    }

    /// The frontiers that may fill a block further which a mount found: that of its pool, or any.
    pub(super) fn frontiers_for(&self, die: usize, block: BlockId) -> std::ops::Range<usize> {
        match self.placing.pools().map(|pools| pools.of_block(block)) {
            Some(pool) => pool..pool + 1,
            None => 0..self.dies[die].frontiers.all().len(),
        }
    }

    /// The pool of a block that is closed now; 0 where there are none.
    pub(super) fn pool_of(&self, block: BlockId) -> u32 {
        self.placing.pools().map_or(0, |pools| pools.of_block(block) as u32)
    }
}

/// Pools in which a placement keeps the blocks of a die.
pub(super) fn pools_of(placer: &Placer) -> u32 {
    placer.pools().map_or(1, |_: &Pools| POOLS as u32)
}

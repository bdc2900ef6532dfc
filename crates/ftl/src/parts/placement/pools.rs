//! Pools: two parts of the address space in blocks of their own.
//!
//! ## Idea
//! The first `pages` logical pages, meant to be the hot ones, and all others never share a block, not even when
//! they are moved. Each of the two pools has its own part of the blocks, so it behaves like a device of its own with
//! the over-provisioning of that part. Garbage collection empties a block of the pool that is above its part. Free
//! blocks belong to no pool, so the pools share reserve and wear.
//!
//! ## Differences
//! The analysis has only full blocks. Here each pool also has an open block, and may use one block more than its part
//! while a victim is emptied. If all pages of a pool are valid, a block of the other pool is emptied. If failures have
//! used up the reserve, moved pages take the rest of the other pool's open block. The user sets the boundary; nothing
//! is learned.
//!
//! ## References
//! P. Desnoyers: Analytic Models of SSD Write Performance. ACM Transactions on Storage 10(2), 2014 (separated hot and
//! cold data). B. Van Houdt: Performance of Garbage Collection Algorithms for Flash-based Solid State Drives with
//! Hot/Cold Data. Performance Evaluation 70, 2013.

use super::{Candidates, Moved, PlacementPolicy, PoolPolicy, Written};
use crate::parts::blocks::pool_blocks::PoolBlocks;
use nandlab_nand::{BlockId, Geometry, Lpn};

/// The options for pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Logical pages in the first pool, at least 1; all others are in the second one.
    pub pages: u32,
    /// Blocks on each die for the first pool, at least 2. One is being filled, so its over-provisioning is
    /// `(blocks - 1) * pages_per_block * dies / pages - 1`. The second pool's data blocks are all others but
    /// `reserve_blocks`.
    pub blocks: u32,
}

/// Pools, each with one frontier.
pub(crate) const POOLS: u32 = 2;

/// The pool of each page and block.
#[derive(Debug)]
pub struct Pools {
    /// Logical pages in the first pool.
    pages: u32,
    /// Blocks per die in the first pool's part.
    part: u32,
    blocks: PoolBlocks,
}

impl Pools {
    pub(super) fn new(options: Options, geometry: &Geometry) -> Self {
        Self { pages: options.pages, part: options.blocks, blocks: PoolBlocks::new(geometry, POOLS) }
    }

    /// A host page's pool.
    fn of_page(&self, at: Lpn) -> usize {
        usize::from(at.0 >= self.pages)
    }

    /// The pool for the next victim: the one further above its part or, if equal, `last`, which took a block last. The
    /// first pool has `used` blocks on the die; all blocks in use exceed both parts by `beyond`.
    ///
    /// The parts cover all blocks outside the reserve. The block freed by collection goes to either pool, so both pools
    /// are at their goals with one block less, which is when `beyond` is -1.
    pub(super) fn next_pool(&self, used: u32, beyond: i64, last: usize) -> usize {
        let first = i64::from(used) - i64::from(self.part);
        match first.cmp(&(beyond - first)) {
            std::cmp::Ordering::Greater => 0,
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => last % POOLS as usize,
        }
    }
}

impl PlacementPolicy for Pools {
    fn written(&mut self, page: Written) -> usize {
        self.of_page(page.at)
    }

    fn moved(&mut self, Moved { at, from }: Moved) -> usize {
        // A page of the FTL itself stays in the pool of its block.
        if at == Lpn::NONE {
            self.blocks.pool(from).unwrap_or(0)
        } else {
            self.of_page(at)
        }
    }

    fn opened(&mut self, block: BlockId, frontier: usize) {
        self.blocks.join(block, frontier);
    }

    fn emptied(&mut self, block: BlockId) {
        self.blocks.leave(block);
    }

    fn pools(&self) -> Option<&dyn PoolPolicy> {
        Some(self)
    }

    fn pools_mut(&mut self) -> Option<&mut dyn PoolPolicy> {
        Some(self)
    }

    fn bytes(&self) -> u64 {
        self.blocks.of_blocks().len().div_ceil(8) as u64
    }
}

impl PoolPolicy for Pools {
    fn blocks(&self) -> &PoolBlocks {
        &self.blocks
    }

    fn blocks_mut(&mut self) -> &mut PoolBlocks {
        &mut self.blocks
    }

    fn found(&mut self, block: BlockId, first: Lpn, _valid: u32) {
        self.blocks.join(block, self.of_page(first));
    }

    fn fills(&self, _frontier: usize) -> bool {
        true
    }

    fn to_collect(&mut self, die: u32, beyond: i64, last: usize) -> [Candidates; 2] {
        let first = self.next_pool(self.blocks.held(die, 0), beyond, last) as u8;
        [first, 1 - first].map(|pool| Candidates { pools: pool..pool + 1, is_oldest: false })
    }
}

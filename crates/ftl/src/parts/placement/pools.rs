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

use super::{Moved, PlacementPolicy, Written};
use nandlab_nand::{BlockId, Lpn};

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
    blocks: u32,
    /// By block: the pool that fills it or filled it last.
    of: Vec<u8>,
}

impl Pools {
    pub(super) fn new(Options { pages, blocks }: Options, all_blocks: u32) -> Self {
        Self { pages, blocks, of: vec![0; all_blocks as usize] }
    }

    /// A host page's pool.
    pub(crate) fn of_page(&self, at: Lpn) -> usize {
        usize::from(at.0 >= self.pages)
    }

    /// By block: its pool.
    pub(crate) fn of_blocks(&self) -> &[u8] {
        &self.of
    }

    /// A block's pool.
    pub(crate) fn of_block(&self, block: BlockId) -> usize {
        self.of[block.index()].into()
    }

    /// Puts a block into `pool`.
    pub(crate) fn join(&mut self, block: BlockId, pool: usize) {
        self.of[block.index()] = pool as u8;
    }

    /// The pool for the next victim: the one further above its part or, if equal, `last`, which took a block last. The
    /// first pool has `used` blocks on the die; all blocks in use exceed both parts by `beyond`.
    ///
    /// The parts cover all blocks outside the reserve. The block freed by collection goes to either pool, so both pools
    /// are at their goals with one block less, which is when `beyond` is -1.
    pub(crate) fn to_collect(&self, used: u32, beyond: i64, last: usize) -> usize {
        let first = i64::from(used) - i64::from(self.blocks);
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
            self.of_block(from)
        } else {
            self.of_page(at)
        }
    }

    fn opened(&mut self, block: BlockId, frontier: usize) {
        self.join(block, frontier);
    }

    fn pools(&self) -> Option<&Pools> {
        Some(self)
    }

    fn pools_mut(&mut self) -> Option<&mut Pools> {
        Some(self)
    }

    fn bytes(&self) -> u64 {
        self.of.len().div_ceil(8) as u64
    }
}

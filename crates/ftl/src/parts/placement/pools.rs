//! Pools: two parts of the address space in blocks of their own.
//!
//! ## Idea
//! The first `pool_pages` logical pages, which are to be the hot ones, and all others never share a block, also not when
//! they are moved, and each of the two pools has its own part of the blocks. So each behaves like a device of its own
//! with the over-provisioning that its part leaves: garbage collection empties a block of the pool that has more than its
//! part. A free block is of no pool, so that the pools share reserve and wear.
//!
//! ## Differences
//! The analysis has full blocks alone. Here each pool has a block that is being filled, and may have one block more than its
//! part while a victim is being emptied; a pool whose blocks are all valid lets the other one be emptied. Where failures have
//! used up the reserve, pages that are moved take what is left of the other pool's block. Where the boundary lies the user
//! says: nothing is learned.
//!
//! ## References
//! P. Desnoyers: Analytic Models of SSD Write Performance. ACM Transactions on Storage 10(2), 2014 (separated hot and cold
//! data). B. Van Houdt: Performance of Garbage Collection Algorithms for Flash-based Solid State Drives with Hot/Cold Data.
//! Performance Evaluation 70, 2013.

use nandlab_nand::{BlockId, Lpn};

/// Pools, and frontiers: one for each.
pub(crate) const POOLS: usize = 2;

/// Which pages and which blocks belong to which pool.
#[derive(Debug)]
pub(crate) struct Pools {
    /// Logical pages of the first pool.
    pages: u32,
    /// Blocks of each die that are the part of the first pool.
    blocks: u32,
    /// By block: the pool that fills it or did so last.
    of: Vec<u8>,
}

impl Pools {
    pub(super) fn new(options: &super::Options, all_blocks: u32) -> Self {
        let &super::Options { pool_pages: pages, pool_blocks: blocks, .. } = options;
        Self { pages, blocks, of: vec![0; all_blocks as usize] }
    }

    /// The pool of a page of the host.
    pub(crate) fn of_page(&self, at: Lpn) -> usize {
        usize::from(at.0 >= self.pages)
    }

    /// By block: its pool.
    pub(crate) fn of_blocks(&self) -> &[u8] {
        &self.of
    }

    /// The pool of a block.
    pub(crate) fn of_block(&self, block: BlockId) -> usize {
        self.of[block.index()].into()
    }

    /// A block belongs to `pool` from now on.
    pub(crate) fn join(&mut self, block: BlockId, pool: usize) {
        self.of[block.index()] = pool as u8;
    }

    /// The pool whose victim comes next: the one that has more blocks beyond its part, and of two with as many `last`,
    /// which took a block last. `used` blocks of the die are the first pool's, `beyond` more than both parts are in use.
    ///
    /// The parts are the blocks that are not in reserve, and the one that collection makes free goes to either pool: so the
    /// two together are at their goals with a block less, which is when `beyond` is -1.
    pub(crate) fn to_collect(&self, used: u32, beyond: i64, last: usize) -> usize {
        let first = i64::from(used) - i64::from(self.blocks);
        match first.cmp(&(beyond - first)) {
            std::cmp::Ordering::Greater => 0,
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => last % POOLS,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.of.len().div_ceil(8) as u64
    }
}

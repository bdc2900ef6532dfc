//! Greedy: the block that frees most.
//!
//! ## Idea
//! The block with the fewest valid pages costs the least copies now. Best of all where every page is written as often
//! as any other; where some are rarely written, blocks of those are emptied again and again before their time.
//!
//! ## References
//! P. Desnoyers: Analytic Models of SSD Write Performance. ACM Transactions on Storage 10(2), 2014.

use super::{Options, VictimPolicy};
use crate::parts::blocks::table::Blocks;
use nandlab_nand::BlockId;

/// The block with the fewest valid pages, the lowest number among equals.
#[derive(Debug)]
pub(super) struct Greedy;

impl Greedy {
    pub(super) fn new(_: &Options) -> Self {
        Self
    }
}

impl VictimPolicy for Greedy {
    fn pick(&mut self, blocks: Blocks<'_>, _now: u64) -> Option<BlockId> {
        blocks.fewest_valid()
    }
}

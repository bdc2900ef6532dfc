//! Greedy: the block that frees most.
//!
//! ## Idea
//! The block with the fewest valid pages costs the fewest copies now. This is best if all pages are written equally
//! often. If some are rarely written, their blocks are emptied again and again too early.
//!
//! ## References
//! P. Desnoyers: Analytic Models of SSD Write Performance. ACM Transactions on Storage 10(2), 2014.

use super::VictimPolicy;
use crate::parts::blocks::table::Blocks;
use nandlab_nand::BlockId;

/// The block with the fewest valid pages, the lowest number among equals.
#[derive(Debug)]
pub(super) struct Greedy;

impl VictimPolicy for Greedy {
    fn pick(&mut self, blocks: Blocks<'_>, _now: u64) -> Option<BlockId> {
        blocks.fewest_valid()
    }
}

//! FIFO: the block that was filled first.
//!
//! ## Idea
//! Blocks are emptied in the order in which they were filled, so all wear alike and no counts are compared. A block
//! without an invalid page is copied as a whole when its turn comes.
//!
//! ## References
//! P. Desnoyers: Analytic Models of SSD Write Performance. ACM Transactions on Storage 10(2), 2014 (LRU cleaning).

use super::VictimPolicy;
use crate::parts::blocks::table::Blocks;
use nandlab_nand::BlockId;

/// The block that was closed first.
#[derive(Debug)]
pub(super) struct Fifo;

impl VictimPolicy for Fifo {
    fn pick(&mut self, blocks: Blocks<'_>, _now: u64) -> Option<BlockId> {
        blocks.oldest_first().next()
    }
}

//! CAT: cost, age, times.
//!
//! ## Idea
//! Cost-benefit that also spares worn blocks: the price of emptying a block, `u / (1 - u)`, counts against its age and
//! for its erases, and the block where the product `u / (1 - u) / age x erases` is least is emptied.
//!
//! ## References
//! M.-L. Chiang, R.-C. Chang: Cleaning Policies in Mobile Computers Using Flash Memory. Journal of Systems and Software
//! 48(3), 1999.

use super::score::{highest, Score};
use super::VictimPolicy;
use crate::parts::blocks::table::Blocks;
use nandlab_nand::BlockId;

/// The block with the least cost by age and erases.
#[derive(Debug)]
pub(super) struct Cat;

impl Score for Cat {
    #[inline(always)]
    fn score(valid: f32, invalid: f32, age: f32, cycles: f32) -> f32 {
        invalid * age / (valid * cycles)
    }
}

impl VictimPolicy for Cat {
    fn pick(&mut self, blocks: Blocks<'_>, now: u64) -> Option<BlockId> {
        highest::<Self>(blocks, now)
    }
}

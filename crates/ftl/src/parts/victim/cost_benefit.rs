//! Cost-benefit: what is freed and for how long, against what it costs.
//!
//! ## Idea
//! A block left alone for long holds rarely written pages. Its valid pages will stay valid, so waiting gains nothing,
//! and room freed there lasts. So the free share, `1 - u`, is multiplied by the block's age and divided by the price of
//! emptying it. The log-structured file system reads the whole segment and writes `u` of it (`1 + u`); on flash only
//! valid pages are read and written (`2u`), and a block without any is worth more than all others.
//!
//! ## Differences
//! Age is the time since the block was filled, in programs; both papers take the time of its last change.
//!
//! ## References
//! M. Rosenblum, J. Ousterhout: The Design and Implementation of a Log-Structured File System. ACM Transactions on
//! Computer Systems 10(1), 1992. A. Kawaguchi, S. Nishioka, H. Motoda: A Flash-Memory Based File System. USENIX 1995.

use super::score::{highest, Score};
use super::VictimPolicy;
use crate::parts::blocks::table::Blocks;
use nandlab_nand::BlockId;

/// The log-structured file system's form.
#[derive(Debug)]
pub(super) struct Lfs;

impl Score for Lfs {
    #[inline(always)]
    fn score(valid: f32, invalid: f32, age: f32, _cycles: f32) -> f32 {
        invalid * age / (valid + valid + invalid)
    }
}

impl VictimPolicy for Lfs {
    fn pick(&mut self, blocks: Blocks<'_>, now: u64) -> Option<BlockId> {
        highest::<Self>(blocks, now)
    }
}

/// Kawaguchi's form for flash.
#[derive(Debug)]
pub(super) struct Flash;

impl Score for Flash {
    #[inline(always)]
    fn score(valid: f32, invalid: f32, age: f32, _cycles: f32) -> f32 {
        invalid * age / (valid + valid)
    }
}

impl VictimPolicy for Flash {
    fn pick(&mut self, blocks: Blocks<'_>, now: u64) -> Option<BlockId> {
        highest::<Self>(blocks, now)
    }
}

//! SepBIT: separation by the inferred time at which a page will be written again.
//!
//! ## Idea
//! A page that lived shortly before it was written will live shortly again. The host's pages go to class 0 where the
//! version before lived less than `l`, else to class 1. A page that survived in a block of class 0 goes to class 2;
//! other survivors go to classes 3, 4 and 5 by their age: below `4 l`, below `16 l`, more. `l` is the mean time from
//! opening to emptying of 16 blocks of class 0, infinite until there were as many. Times are counted in pages that the
//! host writes.
//!
//! ## Differences
//! When each page was written last is in a table, 8 bytes a page; the original keeps a queue of recent addresses. A
//! mount forgets the times.
//!
//! ## References
//! Q. Wang, J. Li, P. P. C. Lee, T. Ouyang, C. Shi, L. Huang: Separating Data via Block Invalidation Time Inference for
//! Write Amplification Reduction in Log-Structured Storage. FAST 2022.

use nandlab_nand::{BlockId, Geometry, Lpn};

/// Frontiers.
pub(super) const CLASSES: usize = 6;

/// Blocks of class 0 of which the mean is taken.
const BLOCKS: u32 = 16;

/// Times of pages and blocks.
#[derive(Debug)]
pub(crate) struct SepBit {
    /// Pages that the host has written.
    clock: u64,
    /// By page: the clock after it was written last; 0: never.
    written: Vec<u64>,
    /// By block: its class and the clock when it was opened.
    blocks: Vec<(u8, u64)>,
    /// The mean time from opening to emptying of blocks of class 0.
    mean: u64,
    sum: u64,
    emptied: u32,
}

/// The class of a block that a mount has found.
const FOUND: u8 = u8::MAX;

impl SepBit {
    pub(super) fn new(geometry: &Geometry, logical_pages: u32) -> Self {
        Self {
            clock: 0,
            written: vec![0; logical_pages as usize],
            blocks: vec![(FOUND, 0); geometry.blocks() as usize],
            mean: u64::MAX,
            sum: 0,
            emptied: 0,
        }
    }

    pub(super) fn written(&mut self, at: Lpn) -> usize {
        let now = self.clock;
        self.clock += 1;
        let before = std::mem::replace(&mut self.written[at.index()], self.clock);
        // `before` is the clock after that write, so a page written twice in a row lived for one.
        usize::from(before == 0 || now + 1 - before >= self.mean)
    }

    pub(super) fn moved(&mut self, at: Lpn, victim: BlockId) -> usize {
        if self.blocks[victim.index()].0 == 0 {
            return 2;
        }
        let written = self.written.get(at.index()).copied().unwrap_or(0);
        let age = self.clock - written;
        match self.mean {
            mean if written > 0 && age < mean.saturating_mul(4) => 3,
            mean if written > 0 && age < mean.saturating_mul(16) => 4,
            _ => 5,
        }
    }

    pub(super) fn opened(&mut self, block: BlockId, class: usize) {
        self.blocks[block.index()] = (class as u8, self.clock);
    }

    pub(super) fn emptied(&mut self, block: BlockId) {
        let (class, opened) = self.blocks[block.index()];
        if class == 0 {
            self.sum += self.clock - opened;
            self.emptied += 1;
        }
        if self.emptied == BLOCKS {
            self.mean = self.sum / u64::from(BLOCKS);
            (self.sum, self.emptied) = (0, 0);
        }
    }

    pub(super) fn trimmed(&mut self, at: Lpn) {
        self.written[at.index()] = 0;
    }

    pub(super) fn bytes(&self) -> u64 {
        8 * self.written.len() as u64 + 9 * self.blocks.len() as u64
    }
}

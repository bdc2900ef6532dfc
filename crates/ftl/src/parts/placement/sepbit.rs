//! SepBIT: separation by the inferred time at which a page will be written again.
//!
//! ## Idea
//! A page that lived shortly before it was overwritten will live shortly again. A host page goes to class 0 if its
//! older version lived less than `l`, else to class 1. A survivor from a class 0 block goes to class 2; other survivors
//! go to classes 3, 4 and 5 by age: below `4 l`, below `16 l`, older. `l` is the mean time from opening to emptying
//! over 16 class 0 blocks, infinite until then. Times are counted in host page writes.
//!
//! ## Differences
//! A table with 8 bytes per page holds each page's last write time; the original keeps a queue of recent addresses. A
//! mount forgets the times.
//!
//! ## References
//! Q. Wang, J. Li, P. P. C. Lee, T. Ouyang, C. Shi, L. Huang: Separating Data via Block Invalidation Time Inference for
//! Write Amplification Reduction in Log-Structured Storage. FAST 2022.

use super::{Moved, PlacementPolicy, Written};
use nandlab_nand::{BlockId, Geometry, Lpn};

/// Frontiers.
pub(super) const CLASSES: u32 = 6;

/// Class 0 blocks per mean.
const BLOCKS: u32 = 16;

/// Page and block times.
#[derive(Debug)]
pub(crate) struct SepBit {
    /// Host pages written.
    clock: u64,
    /// By page: the clock after its last write; 0: never.
    written: Vec<u64>,
    /// By block: its class and the clock when it was opened.
    blocks: Vec<(u8, u64)>,
    /// The mean time from opening to emptying a class 0 block.
    mean: u64,
    sum: u64,
    emptied: u32,
}

/// The class of a block found by a mount.
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
}

impl PlacementPolicy for SepBit {
    fn written(&mut self, Written { at, .. }: Written) -> usize {
        let now = self.clock;
        self.clock += 1;
        let before = std::mem::replace(&mut self.written[at.index()], self.clock);
        // `before` is the clock after that write, so a page written twice in a row lived for one.
        usize::from(before == 0 || now + 1 - before >= self.mean)
    }

    fn moved(&mut self, Moved { at, from }: Moved) -> usize {
        if self.blocks[from.index()].0 == 0 {
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

    fn opened(&mut self, block: BlockId, class: usize) {
        self.blocks[block.index()] = (class as u8, self.clock);
    }

    fn emptied(&mut self, block: BlockId) {
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

    fn trimmed(&mut self, at: Lpn) {
        self.written[at.index()] = 0;
    }

    fn bytes(&self) -> u64 {
        8 * self.written.len() as u64 + 9 * self.blocks.len() as u64
    }
}

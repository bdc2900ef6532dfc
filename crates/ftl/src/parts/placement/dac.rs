//! DAC: dynamic data clustering.
//!
//! ## Idea
//! Each page is in a region by its temperature. A new page is cold. A host rewrite moves a page one region up, a move
//! by garbage collection one region down. Each region fills its own blocks.
//!
//! ## Differences
//! Temperatures are in memory, one byte per page, and a mount forgets them. The original also requires a minimum time
//! in a region before a page goes up or down.
//!
//! ## References
//! M.-L. Chiang, P. Lee, R.-C. Chang: Using Data Clustering to Improve Cleaning Performance for Flash Memory. Software:
//! Practice and Experience 29(3), 1999.

use nandlab_nand::Lpn;

/// Each page's region.
#[derive(Debug)]
pub(crate) struct Dac {
    /// By page: one more than its region; 0: not written.
    regions: Vec<u8>,
    count: u8,
}

impl Dac {
    pub(super) fn new(regions: u32, logical_pages: u32) -> Self {
        Self { regions: vec![0; logical_pages as usize], count: regions as u8 }
    }

    pub(super) fn written(&mut self, at: Lpn) -> usize {
        let region = &mut self.regions[at.index()];
        *region = (*region + 1).min(self.count);
        usize::from(*region - 1)
    }

    pub(super) fn moved(&mut self, at: Lpn) -> usize {
        // The FTL's own pages are cold, and so are pages with a temperature forgotten by a mount.
        let Some(region) = self.regions.get_mut(at.index()) else { return 0 };
        *region = region.saturating_sub(1).max(1);
        usize::from(*region - 1)
    }

    pub(super) fn trimmed(&mut self, at: Lpn) {
        self.regions[at.index()] = 0;
    }

    pub(super) fn bytes(&self) -> u64 {
        self.regions.len() as u64
    }
}

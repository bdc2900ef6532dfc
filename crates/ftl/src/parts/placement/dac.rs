//! DAC: dynamic data clustering.
//!
//! ## Idea
//! Each page is in one of some regions by its temperature. A new page is cold. A page that the host writes again goes
//! one region up, one that garbage collection has to move goes one down, and each region fills blocks of its own.
//!
//! ## Differences
//! Temperatures are in memory, a byte a page, and a mount forgets them. The original also asks for the time that a page
//! has been in its region before it goes up or down.
//!
//! ## References
//! M.-L. Chiang, P. Lee, R.-C. Chang: Using Data Clustering to Improve Cleaning Performance for Flash Memory. Software:
//! Practice and Experience 29(3), 1999.

use nandlab_nand::Lpn;

/// The region of each page.
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
        // A page of the FTL's own is cold, and so is one whose temperature a mount forgot.
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

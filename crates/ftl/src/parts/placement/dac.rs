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

use super::{Moved, PlacementPolicy, Written, MOST_FRONTIERS};
use crate::options::options;
use crate::{error, FtlError};
use nandlab_nand::Lpn;

options! {
    Options
    /// The option of DAC.
    #[derive(Eq)]
    {
        /// Regions of temperature, 2 to 15. Default 6.
        regions: u32 = 6,
    }
}

impl Options {
    pub(super) fn check(self, key: &str) -> Result<(), FtlError> {
        error::in_range(&format!("{key}.dac.regions"), self.regions, 2..=MOST_FRONTIERS)
    }
}

/// Each page's region.
#[derive(Debug)]
pub(crate) struct Dac {
    /// By page: one more than its region; 0: not written.
    regions: Vec<u8>,
    count: u8,
}

impl Dac {
    pub(super) fn new(options: Options, logical_pages: u32) -> Self {
        Self { regions: vec![0; logical_pages as usize], count: options.regions as u8 }
    }
}

impl PlacementPolicy for Dac {
    fn written(&mut self, Written { at, .. }: Written) -> usize {
        let region = &mut self.regions[at.index()];
        *region = (*region + 1).min(self.count);
        usize::from(*region - 1)
    }

    fn moved(&mut self, Moved { at, .. }: Moved) -> usize {
        // The FTL's own pages are cold, and so are pages with a temperature forgotten by a mount.
        let Some(region) = self.regions.get_mut(at.index()) else { return 0 };
        *region = region.saturating_sub(1).max(1);
        usize::from(*region - 1)
    }

    fn trimmed(&mut self, at: Lpn) {
        self.regions[at.index()] = 0;
    }

    fn bytes(&self) -> u64 {
        self.regions.len() as u64
    }
}

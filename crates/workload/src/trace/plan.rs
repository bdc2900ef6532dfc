//! A trace to play, and whether it fits.

use super::addresses::{Addresses, Ranks};
use super::records::Records;
use super::summary::Summary;
use super::Config;
use crate::WorkloadError;
use nandlab_nand::Time;
use std::path::PathBuf;

/// Nanoseconds for all repetitions: far below a 64-bit clock's limit.
const MAX_SPAN: Time = 1 << 62;

/// The trace, and how to play it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) base: PathBuf,
    pub(crate) capacity: u64,
    /// Bytes of memory for its requests, so that the file is read once; 0 reads it twice.
    pub(crate) most_kept: usize,
}

impl Plan {
    pub(super) fn records(&self) -> Result<Records, WorkloadError> {
        Records::open(&self.config, &self.base)
    }

    pub(super) fn file(&self) -> String {
        self.config.source(&self.base)
    }

    /// Refuses a trace too large for the device.
    pub(super) fn fit(&self, summary: &Summary, end: u64, ranks: Option<&Ranks>) -> Result<(), WorkloadError> {
        let (needed, ways_out) = match ranks {
            Some(ranks) => {
                (ranks.sectors(), ", or set workload.trace.addresses to \"fold\" (addresses modulo the device)")
            }
            None if self.config.addresses == Addresses::Fold => (summary.longest.into(), ""),
            None if summary.has_zones => (end, ""),
            None => (
                end,
                ", or set workload.trace.addresses to \"fold\" (addresses modulo the device) or \"compact\" \
                 (the touched 4 KiB pages without the gaps between them)",
            ),
        };
        if needed > self.capacity {
            return Err(WorkloadError::TooSmall { file: self.file(), needed, device: self.capacity, ways_out });
        }
        let repeat = self.config.repeat;
        let span = u128::from(repeat) * u128::from(summary.period());
        if repeat > 1 && span > u128::from(MAX_SPAN) {
            let why = "the repetitions reach past the 146 years that the clock of a run can hold";
            return Err(WorkloadError::option("repeat", &repeat, why));
        }
        Ok(())
    }
}

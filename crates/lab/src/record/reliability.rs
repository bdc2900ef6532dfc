//! The part of a record that tells of bit errors of cells that age.

use nandlab_ftl::Events;
use nandlab_nand::aging::AgingCounts;
use serde::Serialize;

/// What the ECC had to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReliabilityRecord {
    /// Reads, copies included, of pages that were read again.
    pub retried_reads: u64,
    /// Reads that repeated one, all steps; the cause `read_retry` of the matrix.
    pub retries: u64,
    /// Most steps of one read, preconditioning included.
    pub most_retries: u32,
    /// Reads, copies included, of pages that no step made correctable.
    pub uncorrectable_reads: u64,
    /// Most wrong bits that were expected in a codeword that was read, before any retry; preconditioning included.
    pub most_errors: f64,
    /// Blocks rewritten since their bit errors came near to what the ECC corrects.
    pub refreshes: u64,
    /// Pages whose contents were lost to bit errors while they were moved.
    pub lost_pages: u64,
}

impl ReliabilityRecord {
    /// What was counted between two moments.
    pub(crate) fn between(start: (&AgingCounts, &Events), end: (&AgingCounts, &Events)) -> Self {
        let counts = end.0.since(start.0);
        Self {
            retried_reads: counts.retried_reads,
            retries: counts.retries,
            most_retries: counts.most_retries,
            uncorrectable_reads: counts.uncorrectable_reads,
            most_errors: counts.most_errors,
            refreshes: end.1.refreshes - start.1.refreshes,
            lost_pages: end.1.lost_pages - start.1.lost_pages,
        }
    }
}

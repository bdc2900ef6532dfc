//! The record's part about bit errors in aging cells.

use nandlab_ftl::Events;
use nandlab_nand::aging::AgingCounts;
use serde::Serialize;

/// ECC activity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReliabilityRecord {
    /// Reads, copies included, with at least one retry.
    pub retried_reads: u64,
    /// Repeated reads, all steps; the matrix's cause `read_retry`.
    pub retries: u64,
    /// Most retry steps for one read, preconditioning included.
    pub most_retries: u32,
    /// Page reads, copies included, still uncorrectable after all steps.
    pub uncorrectable_reads: u64,
    /// Most expected wrong bits in a codeword at a read, before any retry; preconditioning included.
    pub most_errors: f64,
    /// Blocks rewritten because their bit errors came near the ECC's limit.
    pub refreshes: u64,
    /// Pages lost to bit errors during a move.
    pub lost_pages: u64,
}

impl ReliabilityRecord {
    /// Counts between two moments.
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

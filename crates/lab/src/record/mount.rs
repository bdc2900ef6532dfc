//! The part of a record that is about mounts.

use serde::Serialize;

/// What opening the device cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MountRecord {
    /// Page reads.
    pub page_reads: u64,
    /// Reads of a spare area alone.
    pub spare_reads: u64,
    /// Accesses to the NVRAM of a file system, both kinds; null without.
    pub nvram_accesses: Option<u64>,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
    /// What of this a file system over an FTL had read; null elsewhere, and before it is made.
    pub fs: Option<MountShare>,
}

/// What a file system reads through an FTL when it is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MountShare {
    /// Page reads.
    pub page_reads: u64,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
}

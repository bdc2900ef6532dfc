//! The record's part about mounts.

use serde::Serialize;

/// Operations of a mount, and their time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MountRecord {
    /// Page reads.
    pub page_reads: u64,
    /// Spare-only reads.
    pub spare_reads: u64,
    /// Accesses to a file system's NVRAM, reads and writes; null without.
    pub nvram_accesses: Option<u64>,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
    /// A file system's share, over an FTL; null elsewhere, and before the file system is made.
    pub fs: Option<MountShare>,
}

/// A file system's reads through an FTL during its mount.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MountShare {
    /// Page reads.
    pub page_reads: u64,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
}

//! The part of a record about mounts.

use serde::Serialize;

/// Cost of opening the device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MountRecord {
    /// Page reads.
    pub page_reads: u64,
    /// Reads of a spare area alone.
    pub spare_reads: u64,
    /// Accesses to the NVRAM of a file system, reads and writes; null without.
    pub nvram_accesses: Option<u64>,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
    /// Share of a file system over an FTL; null elsewhere, and before the file system is made.
    pub fs: Option<MountShare>,
}

/// Reads of a file system through an FTL during its mount.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MountShare {
    /// Page reads.
    pub page_reads: u64,
    /// Simulated time, us; null without time.
    pub time_us: Option<f64>,
}

//! The seam for protocols whose hosts ask a drive about itself.

use crate::{Export, Placed, Zoned};

/// A disk that describes itself. Every call may come from any thread.
pub trait Described: Export {
    /// Its description, the same as long as it is open.
    fn description(&self) -> Description;

    /// Its present health.
    fn health(&self) -> Health;

    /// Its zones, if it has any.
    fn zones(&self) -> Option<&dyn Zoned> {
        None
    }

    /// Its reclaim units, if the host places data.
    fn placement(&self) -> Option<&dyn Placed> {
        None
    }
}

/// A drive's constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// A number for this drive alone, stable over restarts.
    pub identity: u128,
    /// Its model in a few ASCII letters.
    pub model: String,
    /// Whether a trimmed flash page reads as zeros from then on.
    pub trims_read_zeros: bool,
    /// Whether a power cut may take answered writes that nobody flushed.
    pub has_volatile_cache: bool,
}

/// A drive's use and wear since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Good blocks beyond the need, in percent of those at first.
    pub spare_percent: u8,
    /// Mean P/E cycles in percent of the guaranteed ones; may exceed 100.
    pub used_percent: u8,
    /// Sectors read by the host.
    pub read_sectors: u64,
    /// Sectors written by the host.
    pub written_sectors: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Simulated time with power, ns.
    pub powered_ns: u64,
    /// How often it was opened.
    pub power_cycles: u64,
    /// How often its process was killed.
    pub power_cuts: u64,
    /// Requests that failed because data cannot be read.
    pub media_errors: u64,
}

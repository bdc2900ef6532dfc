//! Host request latencies.

use serde::Serialize;

/// Latencies by request kind; null for kinds without requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latencies {
    /// Reads.
    pub read: Option<LatencySummary>,
    /// Writes.
    pub write: Option<LatencySummary>,
    /// Trims.
    pub trim: Option<LatencySummary>,
    /// Flushes.
    pub flush: Option<LatencySummary>,
}

/// From a request's arrival to its end, us; percentiles to three significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// The longest.
    pub max: f64,
    /// Requests.
    pub count: u64,
}

/// Latency buckets: upper bound in us (four per octave), and requests above the previous bound and up to this
/// one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LatencyHistograms {
    /// Reads.
    pub read: Vec<(f64, u64)>,
    /// Writes.
    pub write: Vec<(f64, u64)>,
    /// Trims.
    pub trim: Vec<(f64, u64)>,
    /// Flushes.
    pub flush: Vec<(f64, u64)>,
}

//! The record's part about tenants.

use super::{FileCounts, IndexRecord, Latencies, Stopped, VolumeRecord};
use serde::Serialize;

/// A tenant's part in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TenantRecord {
    /// Its name.
    pub name: String,
    /// Requests that the controller took from its queues.
    pub requests: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Its share of the bytes that all tenants read and wrote; null if there are none.
    pub share: Option<f64>,
    /// Time from the workload's start to the answer to its last request, us.
    pub time_us: f64,
    /// Requests a second in this time; 0 without requests.
    pub requests_per_s: f64,
    /// 10^6 bytes a second in this time; 0 without requests.
    pub mb_per_s: f64,
    /// The part of its reservation that it got, up to 1: the smaller one of requests and bytes; null without a reservation. A
    /// tenant that asks for less gets less.
    pub reserve_met: Option<f64>,
    /// Mean wait in a submission queue, us, and before it for room; null without requests.
    pub wait_us: Option<f64>,
    /// Mean latency of all its requests, us, with the wait; null without requests.
    pub mean_us: Option<f64>,
    /// Latencies by request kind, us, with the wait; null without requests.
    pub latency_us: Option<Latencies>,
    /// Its index; null without one.
    pub index: Option<IndexRecord>,
    /// Its file system; null without one.
    pub files: Option<TenantFiles>,
    /// Why its index or file system could not go on; null if it went on to its end or that of the run.
    pub stopped: Option<Stopped>,
}

/// Operations on a tenant's file system, format and mount not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TenantFiles {
    /// Operations, by kind.
    pub operations: FileCounts,
    /// Transactions begun.
    pub transactions: u64,
    /// Bytes of files read.
    pub read_bytes: u64,
    /// Bytes of files written.
    pub written_bytes: u64,
    /// The volume.
    pub volume: VolumeRecord,
    /// Times of operations, us: `read` for reads, `write` for changes, `flush` for syncs; null without operations.
    pub latency_us: Option<Latencies>,
}

//! A run's speed on this machine: not a result, unlike the rest of the record.

use serde::Serialize;

/// Simulation speed in real time, without preconditioning and mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Speed {
    /// Seconds.
    pub wall_s: f64,
    /// Seconds for each part, in a file workload; null for other workloads.
    pub phases: Option<SpeedPhases>,
    /// Requests a second.
    pub requests_per_s: f64,
    /// Page programs a second.
    pub programs_per_s: f64,
}

/// Seconds for each part in a file workload, as in [`super::FsPhases`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SpeedPhases {
    /// Before the first transaction, format and mount included.
    pub set_up_s: f64,
    /// The transactions.
    pub transactions_s: f64,
    /// After the last.
    pub clean_up_s: f64,
}

//! How long a run took on this machine: the one part of a record that is no result.

use serde::Serialize;

/// How fast the simulation ran, in real time; preconditioning and mount left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Speed {
    /// Seconds.
    pub wall_s: f64,
    /// Those of the parts of a workload of files; null for others.
    pub phases: Option<SpeedPhases>,
    /// Requests a second.
    pub requests_per_s: f64,
    /// Page programs a second.
    pub programs_per_s: f64,
}

/// Seconds that the parts of a workload of files took, as in [`super::FsPhases`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SpeedPhases {
    /// Before the first transaction, format and mount included.
    pub set_up_s: f64,
    /// The transactions.
    pub transactions_s: f64,
    /// After the last.
    pub clean_up_s: f64,
}

//! Latencies by origin, and origin names; only the workload knows some names.

use super::{Latencies, LatencyHistograms, Record};
use nandlab_nand::Origin;
use serde::Serialize;

/// Request latencies for one part of the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OriginLatency {
    /// Its name.
    pub origin: String,
    /// By request kind, us.
    pub latency_us: Latencies,
    /// By request kind, as histograms.
    pub latency_histogram: LatencyHistograms,
}

impl Record {
    /// Replaces these origins' numbers by their names, everywhere in the record.
    pub(crate) fn name_origins(&mut self, names: &[(Origin, String)]) {
        let rename = |origin: &mut String| {
            if let Some((_, name)) = names.iter().find(|(numbered, _)| numbered.name() == *origin) {
                origin.clone_from(name);
            }
        };
        self.matrix.iter_mut().for_each(|row| rename(&mut row.origin));
        self.latency_by_origin.iter_mut().flatten().for_each(|row| rename(&mut row.origin));
        self.longest_request.iter_mut().for_each(|longest| rename(&mut longest.origin));
    }
}

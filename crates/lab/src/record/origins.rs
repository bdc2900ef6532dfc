//! Latencies and names of the parts of the host; only the workload knows some of the names.

use super::{Latencies, LatencyHistograms, Record};
use nandlab_nand::Origin;
use serde::Serialize;

/// Latencies of the requests of one part of the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OriginLatency {
    /// Name of the part.
    pub origin: String,
    /// By kind of request, us.
    pub latency_us: Latencies,
    /// By kind of request, as histograms.
    pub latency_histogram: LatencyHistograms,
}

impl Record {
    /// Replaces the numbers of these origins by their names, everywhere in the record.
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

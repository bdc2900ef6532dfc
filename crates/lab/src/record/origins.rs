//! What the parts of the host had to wait, and their names, some of which only the workload knows.

use super::{Latencies, LatencyHistograms, Record};
use nandlab_nand::Origin;
use serde::Serialize;

/// Latencies of the requests of one part of the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OriginLatency {
    /// The part.
    pub origin: String,
    /// By kind of request, us.
    pub latency_us: Latencies,
    /// By kind of request, as histograms.
    pub latency_histogram: LatencyHistograms,
}

impl Record {
    /// Calls each of these origins by its name, wherever the record does so by its number.
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

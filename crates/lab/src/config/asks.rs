//! A workload's target: sectors, keys or files.

use super::Experiment;
use nandlab_workload::{Asks, Kind, LIST};

/// The workload's target, in words.
pub(super) fn asks(experiment: &Experiment) -> &'static str {
    match experiment.workload.kind() {
        Kind::Requests(_) => "sectors of the device",
        Kind::Keys(_) => "keys of an index",
        Kind::Files(_) => "files",
    }
}

/// Names for all workloads with this target.
pub(super) fn workloads(asks: Asks) -> String {
    let names = LIST.iter().filter(|entry| entry.asks == asks).map(|entry| entry.name);
    names.collect::<Vec<_>>().join(", ")
}

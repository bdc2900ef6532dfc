//! What a workload asks for: sectors, keys or files.

use super::Experiment;
use nandlab_workload::{Asks, Kind, LIST};

/// What the workload asks for, in words.
pub(super) fn asks(experiment: &Experiment) -> &'static str {
    match experiment.workload.kind() {
        Kind::Requests(_) => "sectors of the device",
        Kind::Keys(_) => "keys of an index",
        Kind::Files(_) => "files",
    }
}

/// Names of workloads that ask for this.
pub(super) fn workloads(asks: Asks) -> String {
    let names = LIST.iter().filter(|entry| entry.asks == asks).map(|entry| entry.name);
    names.collect::<Vec<_>>().join(", ")
}

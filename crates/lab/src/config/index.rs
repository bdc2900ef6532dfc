//! Checks that an index, its workload and the device fit together.

use super::asks::{asks, workloads};
use super::tree::KeyError;
use super::{Arrival, Experiment, Host, Sizing};
use nandlab_ftl::FtlConfig;
use nandlab_index::IndexError;
use nandlab_workload::{Asks, Kind};

/// Refuses keys without an index, and an index without keys; then checks its options. Rounded options give a
/// notice.
pub(super) fn check(experiment: &Experiment) -> Result<Option<String>, KeyError> {
    let workload = experiment.workload.name();
    let index = match (experiment.workload.kind(), &experiment.index) {
        (Kind::Requests(_) | Kind::Files(_), None) => return Ok(None),
        (Kind::Keys(_), Some(index)) => index,
        (Kind::Keys(_), None) => {
            let message = format!(
                "workload.{workload} asks for keys, and there is no index that has any: add a table [index.btree] or [index.lsm], or \
                 choose a workload that asks for sectors ({})",
                workloads(Asks::Requests)
            );
            return Err(KeyError::of_key(format!("workload.{workload}"), message));
        }
        (Kind::Requests(_) | Kind::Files(_), Some(index)) => {
            let name = index.name();
            let asks = asks(experiment);
            let message = format!(
                "index.{name} would not be used: workload.{workload} asks for {asks}; leave [index.{name}] out, or choose a \
                 workload that asks for keys ({})",
                workloads(Asks::Keys)
            );
            return Err(KeyError::of_key(format!("index.{name}"), message));
        }
    };
    index.check().map_err(|error| key_error(index.name(), &error))?;
    Ok(index.notice().map(|notice| format!("index.{}.{notice}", index.name())))
}

fn key_error(name: &str, error: &IndexError) -> KeyError {
    match error {
        IndexError::Option { key, .. } => {
            KeyError::of_value(format!("index.{name}.{key}"), format!("index.{name}.{error}"))
        }
        other => KeyError::of_value(format!("index.{name}"), format!("index.{name}: {other}")),
    }
}

/// Refuses host options for request timing: an index waits for each request.
pub(super) fn check_host(experiment: &Experiment) -> Result<(), KeyError> {
    let Host { arrival, queue_depth, .. } = experiment.host;
    let key = |name: &str| format!("host.{name}");
    if arrival == Arrival::Recorded {
        let why = "operations on keys have no times of their own: with an index it is \"closed\"";
        return Err(KeyError::of_value(key("arrival"), format!("host.arrival = \"recorded\" cannot work: {why}")));
    }
    if queue_depth != 1 {
        let why = "an index waits for each request before it makes the next: with one it is 1";
        return Err(KeyError::of_value(
            key("queue_depth"),
            format!("host.queue_depth = {queue_depth} cannot work: {why}"),
        ));
    }
    Ok(())
}

/// Checks that the keys fit the index, and the index fits the device.
pub(super) fn check_fit(experiment: &Experiment, sizing: &Sizing) -> Result<(), KeyError> {
    let (Kind::Keys(keys), Some(index)) = (experiment.workload.kind(), &experiment.index) else { return Ok(()) };
    let name = index.name();
    let largest = keys.largest_key().unwrap_or(0);
    if largest > index.largest_key() {
        let bytes = (64 - largest.leading_zeros()).div_ceil(8);
        let message = format!(
            "index.{name}.key_bytes = {} cannot work: workload.{} asks for keys up to {largest}, which have {bytes} bytes",
            index.key_bytes(),
            experiment.workload.name(),
        );
        return Err(KeyError::of_value(format!("index.{name}.key_bytes"), message));
    }
    if experiment.ftl.as_ref().is_some_and(FtlConfig::has_zones) {
        // The drive's zones decide.
        return Ok(());
    }
    index.check_device(sizing.sectors()).map_err(|error| key_error(name, &error))
}

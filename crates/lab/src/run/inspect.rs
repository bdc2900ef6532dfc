//! An experiment's summary before its run.

use crate::config::Experiment;
use crate::error::LabError;
use crate::json;
use crate::record::{device_record, DeviceRecord};
use crate::run::keys::count;
use crate::run::state;
use crate::stack::unmountable;
use nandlab_fs::Over;
use nandlab_workload::trace::Summary;
use nandlab_workload::{Kind, Setting, WorkloadConfig};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Inspection {
    device: DeviceRecord,
    trace: Option<Summary>,
    /// Total operations on keys.
    operations: Option<u64>,
    notices: Vec<String>,
}

/// Device sizes, trace contents, key-operation count, and notices about rounding, as JSON.
///
/// # Errors
/// The same [`LabError`] as in a run before it starts.
pub fn inspect(experiment: &Experiment, base: &Path) -> Result<String, LabError> {
    let sizing = experiment.sizing()?;
    if let Some(fs) = experiment.fs.as_ref().filter(|fs| fs.over() == Over::Directory) {
        fs.find(base).map_err(|error| experiment.located(unmountable(fs, error)))?;
    }
    if let Some(file) = &experiment.precondition.from_state {
        state::open(&base.join(file), experiment, &sizing).map_err(|error| experiment.located(error))?;
    }
    let mut total = 0;
    let mut look = || {
        let trace = match &experiment.workload {
            WorkloadConfig::Trace(trace) => Some(trace.summary(base, &|_| true)?),
            _ => None,
        };
        // Opening also checks against the device: whether the addresses fit.
        let watch = |_| true;
        let setting = Setting {
            sectors: sizing.sectors(),
            seed: experiment.seed,
            base,
            watch: &watch,
            took: None,
            queues: experiment.host.queues(),
            placements: experiment.ftl_facts().placements,
            zones: experiment.zone_shape(&sizing.geometry),
        };
        match experiment.workload.kind() {
            Kind::Requests(options) => {
                let opened = options.open(&setting)?;
                total = opened.len_hint().unwrap_or(0);
                Ok((trace, None, opened.notices()))
            }
            Kind::Keys(options) => {
                let operations = count(options, &experiment.key_setting(base), &watch)?;
                Ok((None, Some(operations), Vec::new()))
            }
            Kind::Files(_) => Ok((None, None, Vec::new())),
        }
    };
    let (trace, operations, said) = look().map_err(|error| experiment.located(experiment.explain(error)))?;
    experiment.refuse_endless_warm_up(total).map_err(|wrong| experiment.located(wrong.into()))?;
    let device = device_record(&experiment.device, &sizing);
    let notices = [experiment.notices.clone(), said].concat();
    let inspection = Inspection { device, trace, operations, notices };
    Ok(json::text(&inspection))
}

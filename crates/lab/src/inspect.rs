//! What an experiment comes down to before it is run.

use crate::config::{Experiment, Format};
use crate::error::LabError;
use crate::record::DeviceRecord;
use crate::run::device_record;
use nandlab_workload::trace::Summary;
use nandlab_workload::WorkloadConfig;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Inspection {
    device: DeviceRecord,
    trace: Option<Summary>,
    notices: Vec<String>,
}

/// The sizes of the device, what a trace holds, and what was rounded, as JSON; `text` is a resolved experiment.
///
/// # Errors
/// [`LabError`], as a run of the experiment would give it before it starts.
pub fn inspect(text: &str, base: &Path) -> Result<String, LabError> {
    let experiment = Experiment::parse(text, Format::Json, "the resolved experiment", base, &[])?;
    let sizing = experiment.sizing()?;
    let trace = match &experiment.workload {
        WorkloadConfig::Trace(trace) => Some(trace.summary(base, &|_| true)),
        _ => None,
    };
    let trace = trace.transpose().map_err(|error| LabError::from_workload(error, experiment.workload.name()))?;
    // Opening checks what only the device can tell: whether the addresses fit.
    let watch = |_| true;
    let setting = nandlab_workload::Setting { sectors: sizing.sectors(), seed: experiment.seed, base, watch: &watch };
    let opened = experiment.workload.options().open(&setting);
    opened.map_err(|error| LabError::from_workload(error, experiment.workload.name()))?;
    let device = device_record(&experiment.device.profile.name, &sizing);
    let inspection = Inspection { device, trace, notices: experiment.notices };
    Ok(serde_json::to_string(&inspection).expect("an inspection has text keys and finite numbers only"))
}

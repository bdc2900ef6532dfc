//! The writes to come, noted by a run before the run, for a placement with foreknowledge.

use super::{carry_out, Outputs};
use crate::config::Experiment;
use crate::control::Control;
use crate::error::{ConfigError, LabError};
use nandlab_ftl::future::Future;
use nandlab_ftl::FtlConfig;
use std::path::Path;

/// The option's key.
const KEY: &str = "ftl.page.placement.oracle";

/// Death times from a run before the run; `None` if no option asks for them. The earlier run writes no files.
pub(super) fn foreseen(
    experiment: &Experiment,
    base: &Path,
    control: &Control,
    outputs: &Outputs<'_>,
) -> Result<Option<Future>, LabError> {
    let Some(future) = experiment.ftl.as_ref().and_then(FtlConfig::future) else { return Ok(None) };
    if !future.is_nothing() {
        return Ok(None);
    }
    if outputs.save_state.is_some() {
        return Err(refused(
            "knows the writes of a whole run, preconditioning too, and a saved state ends after the preconditioning; save it \
             with another placement",
        ));
    }
    let noting = Future::noting();
    carry_out(&with(experiment, noting.clone()), base, control, Outputs::default())?;
    Ok(Some(noting.foreseen(experiment.sizing()?.logical_pages)))
}

/// The experiment with a known future.
pub(super) fn with(experiment: &Experiment, future: Future) -> Experiment {
    let mut experiment = experiment.clone();
    if let Some(place) = experiment.ftl.as_mut().and_then(FtlConfig::future_mut) {
        *place = future;
    }
    experiment
}

/// Refuses a result if the future came otherwise.
pub(super) fn refuse_strayed(future: &Future) -> Result<(), LabError> {
    match future.strayed() {
        0 => Ok(()),
        strayed => Err(refused(&format!(
            "did not know the future: {strayed} pages died at another time than in the run before. What this workload writes \
             depends on the device: on its times, or on when it wears out"
        ))),
    }
}

fn refused(why: &str) -> LabError {
    ConfigError { message: format!("{KEY} {why}"), key: Some(KEY.to_owned()), ..Default::default() }.into()
}

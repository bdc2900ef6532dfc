//! Refusals beside a placement with foreknowledge.

use super::tree::Part;
use super::Experiment;
use crate::error::ConfigError;
use nandlab_ftl::FtlConfig;

/// The option's key.
const KEY: &str = "ftl.page.placement.oracle";

/// Refuses writes unknown before the run.
pub(super) fn refuse_unknowable(experiment: &Experiment) -> Result<(), ConfigError> {
    if experiment.precondition.steady.is_none() {
        return Ok(());
    }
    refuse(
        experiment,
        "does not go with precondition.steady: how long the preconditioning takes depends on the placement, and the placement \
         asks what is written before it is placed; take precondition.overwrites",
    )
}

/// Refuses a disk.
pub(super) fn refuse_disk(experiment: &Experiment) -> Result<(), ConfigError> {
    refuse(experiment, "does not go with a disk: nobody knows before what programs will write")
}

fn refuse(experiment: &Experiment, why: &str) -> Result<(), ConfigError> {
    if experiment.ftl.as_ref().and_then(FtlConfig::future).is_none() {
        return Ok(());
    }
    Err(experiment.tree.error(KEY, Part::Key, format!("{KEY} {why}")))
}

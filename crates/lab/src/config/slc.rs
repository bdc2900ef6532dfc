//! What blocks with one bit per cell need from the device.

use super::tree::KeyError;
use super::{Experiment, Model};

/// Checks that the profile has times for blocks with one bit per cell, if the FTL uses such blocks.
pub(super) fn has_times(experiment: &Experiment) -> Result<(), KeyError> {
    let device = &experiment.device;
    let ftl = experiment.ftl.as_ref().filter(|ftl| ftl.facts().slc.is_some());
    let Some(ftl) = ftl.filter(|_| device.model != Model::Counting && device.profile.timing.slc.is_none()) else {
        return Ok(());
    };
    let message = format!(
        "ftl.{} uses blocks of one bit a cell, and device.timing.slc is missing: it says their read_us, program_us and \
         erase_us",
        ftl.name()
    );
    Err(KeyError::of_value(format!("ftl.{}", ftl.name()), message))
}

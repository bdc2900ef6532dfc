//! Checks faults and aging cells.

use super::tree::KeyError;
use super::{Experiment, Sizing};

/// A hundred years.
const MAX_SHELF_DAYS: f64 = 36_525.0;

/// True for no days.
#[allow(clippy::trivially_copy_pass_by_ref)] // as serde asks
pub(super) fn is_none(days: &f64) -> bool {
    *days == 0.0
}

/// Checks faults and bit errors against the device; returns sentences about options without effect.
pub(super) fn check(experiment: &Experiment, sizing: &Sizing) -> Result<Vec<String>, KeyError> {
    if let Some(faults) = &experiment.device.faults {
        faults.check(&sizing.geometry).map_err(|error| {
            KeyError::of_value(format!("device.faults.{}", error.key), format!("device.faults.{error}"))
        })?;
    }
    let days = experiment.precondition.shelf_days;
    if !(0.0..=MAX_SHELF_DAYS).contains(&days) {
        let key = "precondition.shelf_days";
        return Err(KeyError::of_value(
            key,
            format!("{key} = {days} cannot work: it is a number of days from 0 to {MAX_SHELF_DAYS}"),
        ));
    }
    let Some(reliability) = &experiment.device.reliability else { return Ok(without_effect(experiment)) };
    reliability.check(&sizing.geometry).map_err(|error| {
        KeyError::of_value(format!("device.reliability.{}", error.key), format!("device.reliability.{error}"))
    })?;
    if experiment.device.faults.as_ref().is_some_and(|faults| faults.bit_errors.is_some()) {
        let message =
            "device.reliability and device.faults.bit_errors are two models of the same bit errors: leave one out";
        return Err(KeyError::of_value("device.faults.bit_errors", message));
    }
    if let Some(slc) = experiment.ftl_facts().slc {
        let message = format!(
            "device.reliability and {} do not go together: blocks of one bit a cell have far fewer errors, and nothing says \
             how many; leave one out",
            slc.key
        );
        return Err(KeyError::of_value(slc.key, message));
    }
    let rates = [reliability.rber, reliability.wear, reliability.retention, reliability.read_disturb];
    let never = rates.iter().all(|&rate| rate == 0.0);
    Ok(never
        .then(|| "device.reliability has no effect: all its rates are 0, so no bit is wrong".to_owned())
        .into_iter()
        .collect())
}

fn without_effect(experiment: &Experiment) -> Vec<String> {
    let mut notices = Vec::new();
    let mut tell = |key: &str| notices.push(format!("{key} has no effect without device.reliability: no cell ages"));
    if experiment.precondition.shelf_days > 0.0 {
        tell("precondition.shelf_days");
    }
    if let Some(refreshes) = experiment.ftl_facts().refreshes {
        tell(refreshes.key);
    }
    notices
}

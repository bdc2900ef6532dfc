//! A long run by windows, with jumps between them.

use super::tree::{KeyError, Refuse};
use super::{Arrival, Experiment, Model, Sizing};
use nandlab_workload::{Kind, Workload, WorkloadConfig};
use serde::{Deserialize, Serialize};

/// Least windows for an interval: with two, Student's t is 12.7 and tells nothing.
const LEAST_WINDOWS: u64 = 3;
/// Most windows, whose figures are kept until the run's end.
const MOST_WINDOWS: u64 = 1_000_000;
/// A warm-up is this part of a window by default.
const WARM_UP_PART: u64 = 10;

/// Windows, and jumps between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Requests measured in one window.
    pub window: u64,
    /// Requests from one window's start to the start of the next one.
    pub every: u64,
    /// Requests played before each window without being measured; a tenth of the window by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<u64>,
}

impl Sampling {
    /// Makes the default explicit.
    pub(super) fn resolve(&mut self) {
        self.warm_up.get_or_insert(self.window / WARM_UP_PART);
    }

    /// Requests before each window.
    pub(crate) fn warm_up(&self) -> u64 {
        self.warm_up.unwrap_or(self.window / WARM_UP_PART)
    }

    /// Requests played for one window, with its warm-up.
    pub(crate) fn played(&self) -> u64 {
        self.window.saturating_add(self.warm_up())
    }

    /// Windows in a workload with `total` requests; an incomplete last one is left out.
    pub(crate) fn windows(&self, total: u64) -> u64 {
        total.checked_sub(self.played()).map_or(0, |left| left / self.every + 1)
    }

    /// Requests needed for the fewest windows.
    fn needed(&self) -> u64 {
        self.every.saturating_mul(LEAST_WINDOWS - 1).saturating_add(self.played())
    }
}

/// Checks the windows, and whether the workload can jump at all.
pub(super) fn check(experiment: &Experiment, refuse: &Refuse<'_>) -> Result<(), KeyError> {
    let Some(sample) = experiment.host.sample else { return Ok(()) };
    if sample.window == 0 {
        return refuse("host.sample.window", &0, "a window measures at least one request");
    }
    if sample.every < sample.played() {
        let why = format!(
            "a window of {} requests and its warm-up of {} take more; expected {} at least",
            sample.window,
            sample.warm_up(),
            sample.played()
        );
        return refuse("host.sample.every", &sample.every, &why);
    }
    let why = match experiment.workload.kind() {
        Kind::Keys(_) => "an index answers each operation from those before, so none can be left out",
        Kind::Files(_) => "a file system's operations need the files of those before, so none can be left out",
        Kind::Requests(_) if matches!(experiment.workload, WorkloadConfig::Trace(_)) => {
            "a trace goes on differently with each record, so its windows do not stand for what is jumped over; play a part \
             of the trace instead"
        }
        Kind::Requests(options) if options.paces_itself() => {
            "each job or tenant asks again when its earlier requests are done, so none can be left out"
        }
        Kind::Requests(_) if experiment.device.model == Model::Counting && has_times(experiment) => {
            "a jump takes as long as its requests' own times, and a device that only counts has no time; leave host.arrival or \
             device.model out"
        }
        Kind::Requests(_) => return Ok(()),
    };
    refuse("host.sample", &"{ ... }", why)
}

/// Refuses a buffer that follows from a pass over the whole workload.
pub(super) fn check_buffer(experiment: &Experiment, sizing: &Sizing) -> Result<(), KeyError> {
    let profiler = experiment.buffer.as_ref().and_then(|buffer| buffer.profiler(&sizing.geometry));
    if experiment.host.sample.is_none() || profiler.is_none() {
        return Ok(());
    }
    let why = "host.sample spares most of the workload, and the buffer's thresholds = \"auto\" need a pass over all of it; give \
               the thresholds";
    Err(KeyError::of_key("host.sample", why.to_owned()))
}

fn has_times(experiment: &Experiment) -> bool {
    experiment.host.arrival == Arrival::Recorded
}

/// Refuses a workload that cannot jump, and one too short for its windows or with too many of them.
pub(super) fn check_fit(experiment: &Experiment, workload: &mut dyn Workload, total: u64) -> Result<(), KeyError> {
    let Some(sample) = experiment.host.sample else { return Ok(()) };
    if workload.leave_out(0).is_none() {
        let name = experiment.workload.name();
        let message = format!("host.sample cannot work: no request of workload.{name} can be left out");
        return Err(KeyError::of_key("host.sample", message));
    }
    let warm_up = experiment.precondition.warm_up;
    let total = total.saturating_sub(warm_up);
    let windows = sample.windows(total);
    if (LEAST_WINDOWS..=MOST_WINDOWS).contains(&windows) {
        return Ok(());
    }
    let every = sample.every;
    let longest = total.saturating_sub(sample.played()) / (LEAST_WINDOWS - 1);
    let way_out = if windows > MOST_WINDOWS {
        format!("expected {MOST_WINDOWS} windows at most, so {} at least", total.div_ceil(MOST_WINDOWS))
    } else if longest >= sample.played() {
        format!(
            "an interval needs {LEAST_WINDOWS} windows: expected {longest} at most, or {} requests",
            sample.needed()
        )
    } else {
        format!("an interval needs {LEAST_WINDOWS} windows: expected {} requests, or smaller windows", sample.needed())
    };
    let message = format!(
        "host.sample.every = {every} makes {windows} windows of the {total} requests to be measured; {way_out}"
    );
    Err(KeyError::of_value("host.sample.every", message))
}

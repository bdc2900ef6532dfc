//! What is asked in a run: requests, or operations on keys or on files.

use crate::config::{Experiment, Sizing};
use crate::control::Control;
use crate::error::LabError;
use crate::run::session::BATCH;
use nandlab_block::{Op, Request};
use nandlab_workload::files::{FileSetting, FileWorkload};
use nandlab_workload::keys::{KeyOptions, KeySetting, KeyWorkload};
use nandlab_workload::trace::Took;
use nandlab_workload::{Kind, Setting, Workload, WorkloadError};
use std::path::Path;

/// The stream of a workload.
pub(crate) enum Source {
    Requests(Box<dyn Workload>),
    /// Operations on keys, and how many.
    Keys(Box<dyn KeyWorkload>, u64),
    /// Operations on files, and how many transactions they are; 0: not known.
    Files(Box<dyn FileWorkload>, u64),
}

impl Source {
    /// Opens the workload, and tells how long the requests of a trace took when they were recorded; a stop while a trace is looked through leaves one without requests.
    pub(crate) fn open(
        experiment: &Experiment,
        sizing: &Sizing,
        base: &Path,
        control: &Control,
        took: Option<&dyn Fn(Op, Took)>,
    ) -> Result<Self, LabError> {
        let watch = |records| {
            control.set_done(records);
            !control.is_cancelled()
        };
        let explain = |error| experiment.explain(error);
        match experiment.workload.kind() {
            Kind::Requests(options) => {
                let setting = Setting { sectors: sizing.sectors(), seed: experiment.seed, base, watch: &watch, took };
                match options.open(&setting) {
                    Err(WorkloadError::Stopped) => Ok(Self::Requests(Box::new(Nothing))),
                    opened => Ok(Self::Requests(opened.map_err(explain)?)),
                }
            }
            Kind::Keys(options) => {
                let setting = experiment.key_setting(base);
                let operations = count(options, &setting, &watch).map_err(explain)?;
                Ok(Self::Keys(options.open(&setting).map_err(explain)?, operations))
            }
            Kind::Files(options) => {
                let setting = FileSetting { seed: experiment.seed, base };
                Ok(Self::Files(options.open(&setting).map_err(explain)?, options.transactions().unwrap_or(0)))
            }
        }
    }

    /// The stream, where it is one of requests.
    pub(crate) fn requests(&mut self) -> Option<&mut Box<dyn Workload>> {
        match self {
            Self::Requests(workload) => Some(workload),
            Self::Keys(..) | Self::Files(..) => None,
        }
    }

    /// Requests, operations on keys or transactions on files in all; 0: not known.
    pub(crate) fn total(&self) -> u64 {
        match self {
            Self::Requests(workload) => workload.len_hint().unwrap_or(0),
            Self::Keys(_, count) | Self::Files(_, count) => *count,
        }
    }

    /// Sectors that the requests touch together, where that is known.
    pub(crate) fn sectors(&self) -> Option<u64> {
        match self {
            Self::Requests(workload) => workload.sectors_hint(),
            Self::Keys(..) | Self::Files(..) => None,
        }
    }
}

/// Operations of a key workload; a trace is read through, so that what is wrong with it is said before the run.
pub(crate) fn count(
    options: &dyn KeyOptions,
    setting: &KeySetting<'_>,
    watch: &dyn Fn(u64) -> bool,
) -> Result<u64, WorkloadError> {
    if let Some(operations) = options.operations() {
        return Ok(operations);
    }
    let mut operations = 0;
    for op in options.open(setting)? {
        op?;
        operations += 1;
        if operations % BATCH == 0 && !watch(operations) {
            break;
        }
    }
    Ok(operations)
}

/// No requests.
pub(crate) struct Nothing;

impl Workload for Nothing {
    fn fill(&mut self, _: &mut Vec<Request>, _: usize) -> Result<usize, WorkloadError> {
        Ok(0)
    }

    fn len_hint(&self) -> Option<u64> {
        Some(0)
    }
}

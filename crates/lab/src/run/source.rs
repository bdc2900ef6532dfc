//! A run's input: requests, or operations on keys or files.

use crate::config::{Experiment, Sizing};
use crate::control::Control;
use crate::error::LabError;
use crate::run::above::AllAbove;
use crate::run::keys::count;
use nandlab_block::{Op, Request};
use nandlab_workload::files::{FileSetting, FileWorkload};
use nandlab_workload::keys::KeyWorkload;
use nandlab_workload::trace::Took;
use nandlab_workload::{Kind, Setting, Workload, WorkloadError};
use std::path::Path;

/// A workload's stream.
pub(crate) enum Source {
    /// Requests, and the tenants among them that have an index or a file system.
    Requests(Box<dyn Workload>, AllAbove),
    /// Operations on keys, and their number.
    Keys(Box<dyn KeyWorkload>, u64),
    /// Operations on files, and the transaction count; 0 if unknown.
    Files(Box<dyn FileWorkload>, u64),
}

impl Source {
    /// Opens the workload, and reports recorded request times of a trace; a cancelled pass over a trace leaves
    /// a stream without requests.
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
                let setting = Setting {
                    sectors: sizing.sectors(),
                    seed: experiment.seed,
                    base,
                    watch: &watch,
                    took,
                    queues: experiment.host.queues(),
                    placements: experiment.ftl_facts().placements,
                    zones: experiment.zone_shape(&sizing.geometry),
                };
                let mut above = AllAbove::default();
                let has_gate = experiment.precondition.load;
                let opened = match experiment.tenants() {
                    Some(tenants) => {
                        tenants.open_with(&setting, &mut |one| above.open(one, &watch, (control.part(), has_gate)))
                    }
                    None => options.open(&setting),
                };
                if let (Some(tenants), true, true) = (experiment.tenants(), has_gate, opened.is_ok()) {
                    let loads = tenants.open_loads(&setting, &mut |one| above.open_load(one, &watch, control.part()));
                    above.set_loads(loads.map_err(explain)?);
                }
                match opened {
                    Err(WorkloadError::Stopped) => Ok(Self::Requests(Box::new(Nothing), above)),
                    opened => Ok(Self::Requests(opened.map_err(explain)?, above)),
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

    /// The stream, if it has requests.
    pub(crate) fn requests(&mut self) -> Option<&mut Box<dyn Workload>> {
        match self {
            Self::Requests(workload, _) => Some(workload),
            Self::Keys(..) | Self::Files(..) => None,
        }
    }

    /// Total requests, operations on keys, or transactions on files; 0 if unknown.
    pub(crate) fn total(&self) -> u64 {
        match self {
            Self::Requests(workload, _) => workload.len_hint().unwrap_or(0),
            Self::Keys(_, count) | Self::Files(_, count) => *count,
        }
    }

    /// Total sectors touched by the requests, if known.
    pub(crate) fn sectors(&self) -> Option<u64> {
        match self {
            Self::Requests(workload, _) => workload.sectors_hint(),
            Self::Keys(..) | Self::Files(..) => None,
        }
    }
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

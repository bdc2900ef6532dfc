//! What is written before the measurement.

use super::host::Refuse;
use super::{reliability, Experiment};
use nandlab_workload::Kind;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is written before the measurement; its counts are kept apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Precondition {
    /// Whether every logical page is written once, and in which order.
    pub fill: Fill,
    /// Uniformly random page writes after that, as a multiple of the exported capacity.
    pub overwrites: f64,
    /// More writes, a capacity at a time, until such windows agree to within this share: the last two in write
    /// amplification, the last third of them and the third before also in where stale pages lie. At least four count,
    /// from where the whole flash was programmed, and no more than that share of the blocks may be on their way to
    /// their first collection since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<f64>,
    /// What these writes are.
    #[serde(skip_serializing_if = "SteadyWrites::is_uniform")]
    pub steady_writes: SteadyWrites,
    /// Most windows that it may take, from 4.
    pub steady_windows: u32,
    /// Requests of the workload, the first ones, that are carried out after that and not measured.
    pub warm_up: u64,
    /// Days that the device lies without power between the preconditioning and the workload: the pages of
    /// `device.reliability` age.
    #[serde(skip_serializing_if = "reliability::is_none")]
    pub shelf_days: f64,
    /// A file with a device that was written like this before (`nandlab run --save-state`), in place of the writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_state: Option<PathBuf>,
}

impl Default for Precondition {
    fn default() -> Self {
        Self {
            fill: Fill::None,
            overwrites: 0.0,
            steady: None,
            steady_writes: SteadyWrites::Uniform,
            steady_windows: WINDOWS,
            warm_up: 0,
            shelf_days: 0.0,
            from_state: None,
        }
    }
}

/// How the device is filled before the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Not at all: the run starts on an erased device.
    #[default]
    None,
    /// Every page once, in ascending order.
    Sequential,
    /// Every page once, in random order.
    Random,
}

/// What is written until the device is steady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyWrites {
    /// Uniformly random pages, past a buffer.
    #[default]
    Uniform,
    /// What the workload asks, through the buffer where there is one, as fast as the device can. When it is over, it begins
    /// anew: a trace from its start, a generator with other random numbers, which are not those of the measurement either.
    /// A window ends where a capacity was written, that of a trace where the trace has ended.
    Workload,
}

impl SteadyWrites {
    fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }
}

const MAX_OVERWRITES: f64 = 10_000.0;
const WINDOWS: u32 = 50;
/// So many count before a device is steady, as `steady` compares two spans of two.
const LEAST_WINDOWS: u32 = 4;
const MAX_WINDOWS: u32 = 10_000;

impl Experiment {
    /// Checks what is written before the measurement.
    pub(super) fn check_precondition(&self, refuse: &Refuse<'_>) -> Result<(), (String, String)> {
        let is_of_requests = matches!(self.workload.kind(), Kind::Requests(_));
        if !(0.0..=MAX_OVERWRITES).contains(&self.precondition.overwrites) {
            let why = "it is a multiple of the capacity from 0 to 10000";
            return refuse("precondition.overwrites", &self.precondition.overwrites, why);
        }
        if let Some(within) = self.precondition.steady.filter(|within| !(0.0..=1.0).contains(within)) {
            let why = "it is a share of the write amplification from 0 to 1, such as 0.01";
            return refuse("precondition.steady", &within, why);
        }
        if !(LEAST_WINDOWS..=MAX_WINDOWS).contains(&self.precondition.steady_windows) {
            let why =
                "it is a number of windows from 4, as a device is steady after that many at the earliest, to 10000";
            return refuse("precondition.steady_windows", &self.precondition.steady_windows, why);
        }
        if self.precondition.warm_up > 0 && !is_of_requests {
            let why = "it counts requests, and this workload asks an index or a file system; leave it out";
            return refuse("precondition.warm_up", &self.precondition.warm_up, why);
        }
        if self.precondition.steady_writes == SteadyWrites::Workload {
            let given = &"\"workload\"";
            if self.precondition.steady.is_none() {
                let why = "set precondition.steady, the share by which two windows may differ, such as 0.01";
                return refuse("precondition.steady_writes", given, why);
            }
            if !is_of_requests {
                let why = "the requests of this workload are those of an index or a file system; take \"uniform\"";
                return refuse("precondition.steady_writes", given, why);
            }
        }
        Ok(())
    }
    /// What of it has no effect, in sentences.
    pub(super) fn unread_precondition(&self) -> Option<String> {
        let Precondition { steady, steady_windows, .. } = self.precondition;
        (steady.is_none() && steady_windows != WINDOWS).then(|| {
            format!(
                "precondition.steady_windows = {steady_windows} has no effect: it counts only with precondition.steady, the \
                 share by which windows may differ, such as 0.01"
            )
        })
    }
}

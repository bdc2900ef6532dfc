//! Writes before the measurement.

use super::fill::Fill;
use super::tree::KeyError;
use super::tree::Refuse;
use super::{reliability, Experiment};
use nandlab_nand::PlacementId;
use nandlab_workload::{Kind, Placement};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

/// Writes before the measurement; their counts are separate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Precondition {
    /// Whether to write logical pages once, and in which order. A share such as 0.75 or "75 %" writes the first pages, and
    /// overwrites go to them alone.
    pub fill: Fill,
    /// Uniformly random page writes after the fill, relative to the exported capacity.
    pub overwrites: f64,
    /// More writes, a capacity at a time, until such windows agree within this share. The write amplification
    /// must agree between the last two windows, and between the last third and the third before; these thirds
    /// must also agree in the distribution of stale pages. At least four windows count, starting when the whole
    /// flash was programmed. At most this share of the blocks may still be on their way to their first
    /// collection since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<f64>,
    /// Kind of writes in this search.
    #[serde(skip_serializing_if = "SteadyWrites::is_uniform")]
    #[schemars(extend("default" = "uniform"))]
    pub steady_writes: SteadyWrites,
    /// Most windows in the search, at least 4.
    pub steady_windows: u32,
    /// The identifier with which the fill and the overwrites are placed (`ftl.page.placement.fdp`, `ftl.sector_map.fdp`), such as 5 or "1:5". A table
    /// has one for each tenant by its name, for the pages of its part, as in { noisy = 1, quiet = 2 }.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<FillPlacement>,
    /// The workload's first requests, carried out after these writes without being measured.
    pub warm_up: u64,
    /// Whether tenants with an index or a file system load it before the measurement, each its own part and all side by side:
    /// the first records of an index, or format, mount and the first files. The others ask for nothing meanwhile. A saved state
    /// holds no loads: they come after it.
    pub load: bool,
    /// Days without power between the preconditioning and the workload: the pages of `device.reliability` age.
    #[serde(skip_serializing_if = "reliability::is_none")]
    #[schemars(extend("default" = 0.0))]
    pub shelf_days: f64,
    /// A file with a device preconditioned earlier (`nandlab run --save-state`), instead of the writes.
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
            placement: None,
            warm_up: 0,
            load: false,
            shelf_days: 0.0,
            from_state: None,
        }
    }
}

/// Through which handles the device is filled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum FillPlacement {
    /// All pages through one.
    All(Placement),
    /// The pages of each tenant's part through its own; others carry no identifier.
    Tenants(BTreeMap<String, Placement>),
}

/// What to write until the device is steady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteadyWrites {
    /// Uniformly random pages, bypassing a buffer.
    #[default]
    Uniform,
    /// The requests of the workload, through the buffer if there is one, at the device's full speed. At its end
    /// it begins anew: a trace from its start, a generator with other random numbers, also different from the
    /// measurement's. A window ends when a capacity was written; a window of a trace ends only with the trace.
    Workload,
}

impl SteadyWrites {
    fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }
}

const MAX_OVERWRITES: f64 = 10_000.0;
const WINDOWS: u32 = 50;
/// Counted windows needed before a device is steady: `steady` compares two spans with two each.
const LEAST_WINDOWS: u32 = 4;
const MAX_WINDOWS: u32 = 10_000;

impl Experiment {
    /// Checks the preconditioning options.
    pub(super) fn check_precondition(&self, refuse: &Refuse<'_>) -> Result<(), KeyError> {
        let is_of_requests = matches!(self.workload.kind(), Kind::Requests(_)) && !self.has_above();
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
        self.check_fill_placement(refuse)?;
        if self.precondition.warm_up > 0 && !is_of_requests {
            let why = "it counts requests, and this workload asks an index or a file system; leave it out";
            return refuse("precondition.warm_up", &self.precondition.warm_up, why);
        }
        if self.precondition.load && !self.has_above() {
            let why = "no tenant has an index or a file system to load; see workload.tenants";
            return refuse("precondition.load", &true, why);
        }
        if self.precondition.load && self.precondition.shelf_days > 0.0 {
            let why = "indexes and file systems that were loaded keep data in memory, and precondition.shelf_days are days without \
                       power; take one of the two";
            return refuse("precondition.load", &true, why);
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

    fn check_fill_placement(&self, refuse: &Refuse<'_>) -> Result<(), KeyError> {
        let Some(placement) = &self.precondition.placement else { return Ok(()) };
        if self.ftl_facts().placements.is_none() {
            let why = "the FTL follows no identifiers; give it ftl.page.placement.fdp or ftl.sector_map.fdp, or leave this out";
            return refuse("precondition.placement", &"...", why);
        }
        let FillPlacement::Tenants(by_name) = placement else { return Ok(()) };
        let Some(tenants) = self.tenants() else {
            let why = "a table has identifiers for tenants, and this workload has none; give one identifier for all";
            return refuse("precondition.placement", &"{ ... }", why);
        };
        if self.precondition.from_state.is_some() {
            let why = "a state does not say where the tenants' parts were; leave this out, or precondition.from_state";
            return refuse("precondition.placement", &"{ ... }", why);
        }
        let is_known = |name: &&String| tenants.tenant.iter().any(|tenant| tenant.name == **name);
        match by_name.keys().find(|name| !is_known(name)) {
            Some(name) => refuse(&format!("precondition.placement.{name}"), &"...", "no tenant has this name"),
            None => Ok(()),
        }
    }

    /// The sectors whose fill carries an identifier, each stretch with its own.
    pub(crate) fn placed_fill(&self, sectors: u64) -> Vec<(Range<u64>, PlacementId)> {
        match &self.precondition.placement {
            None => Vec::new(),
            Some(FillPlacement::All(placement)) => vec![(0..sectors, placement.id())],
            Some(FillPlacement::Tenants(by_name)) => {
                let Some(tenants) = self.tenants() else { return Vec::new() };
                // Parts that do not fit are refused when the workload is opened.
                let parts = tenants.parts(sectors).unwrap_or_default();
                let placed = tenants.tenant.iter().zip(parts);
                placed.filter_map(|(tenant, part)| Some((part, by_name.get(&tenant.name)?.id()))).collect()
            }
        }
    }

    /// Sentences about options without effect.
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

//! Reclaim units of an image with data placement by the host.

use super::Served;
use crate::config::{Experiment, Sizing};
use nandlab_ftl::page::{Placement, Stripe};
use nandlab_ftl::{FtlConfig, PlacementUse};
pub use nandlab_ftl::{LoggedEvent, PlacementEvent, PlacementEvents};
use nandlab_nand::PlacementIds;

/// The constants of data placement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Units {
    /// Groups and handles.
    pub ids: PlacementIds,
    /// By handle: whether its moved pages stay among themselves.
    pub persistent: Vec<bool>,
    /// Bytes of a reclaim unit.
    pub bytes: u64,
}

/// The data placement by the host of an experiment; `None` if the FTL places by itself.
pub(super) fn of(experiment: &Experiment, sizing: &Sizing) -> Option<Units> {
    let Some(FtlConfig::Page(config)) = &experiment.ftl else { return None };
    let Placement::Fdp(options) = config.placement else { return None };
    let geometry = &sizing.geometry;
    let parts = if config.stripe == Stripe::Planes { geometry.planes() } else { geometry.dies() };
    let blocks = if options.unit_blocks == 0 { parts / options.groups } else { options.unit_blocks };
    let page_bytes = u64::from(geometry.page_bytes());
    Some(Units {
        ids: PlacementIds { groups: options.groups, handles: options.handles },
        persistent: (0..options.handles).map(|handle| options.persistent.has(handle)).collect(),
        bytes: u64::from(blocks) * u64::from(geometry.pages_per_block()) * page_bytes,
    })
}

impl Served {
    /// Data placement by the host; `None` if the FTL places by itself.
    pub fn units(&self) -> Option<Units> {
        of(&self.experiment, &self.sizing)
    }

    /// The use of reclaim units since the mount; `None` if the FTL places by itself.
    pub fn use_of_units(&self) -> Option<PlacementUse> {
        self.engine.uses().placement
    }
}

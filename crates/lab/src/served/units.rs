//! Reclaim units of an image with data placement by the host.

use super::Served;
use crate::config::{Experiment, Sizing};
use nandlab_ftl::page::{Placement, Stripe};
use nandlab_ftl::sector_map::SectorHandles;
use nandlab_ftl::{FtlConfig, PlacementUse};
pub use nandlab_ftl::{LoggedEvent, PlacementEvent, PlacementEvents};
use nandlab_nand::{Geometry, PlacementIds, SECTOR_BYTES};

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
    let geometry = &sizing.geometry;
    let sectors = geometry.sectors_per_page();
    match experiment.ftl.as_ref()? {
        FtlConfig::Page(config) => {
            let Placement::Fdp(options) = config.placement else { return None };
            let parts = if config.stripe == Stripe::Planes { geometry.planes() } else { geometry.dies() };
            let blocks = if options.unit_blocks == 0 { parts / options.groups } else { options.unit_blocks };
            let persistent = (0..options.handles).map(|handle| options.persistent.has(handle));
            let ids = PlacementIds { groups: options.groups, handles: options.handles };
            Some(Units::of(ids, persistent.collect(), geometry, (blocks, sectors)))
        }
        FtlConfig::SectorMap(config) => {
            let SectorHandles { handles, .. } = config.fdp?;
            let ids = PlacementIds { groups: 1, handles };
            // A gathering page has a list in its last sector.
            Some(Units::of(ids, vec![true; handles as usize], geometry, (geometry.dies(), (sectors - 1).max(1))))
        }
        _ => None,
    }
}

impl Units {
    /// Units of so many blocks, with so many sectors of the host in a page.
    fn of(ids: PlacementIds, persistent: Vec<bool>, geometry: &Geometry, (blocks, sectors): (u32, u32)) -> Self {
        let pages = u64::from(blocks) * u64::from(geometry.pages_per_block());
        Self { ids, persistent, bytes: pages * u64::from(sectors) * u64::from(SECTOR_BYTES) }
    }
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

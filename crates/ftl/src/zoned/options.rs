//! Options of the host-side page map.

use crate::parts::trim_notes::TrimNotes;
use crate::zones::{Layout, ZoneOptions};
use crate::{error, FtlError, Variant};
use nandlab_nand::Geometry;

/// Options of the host-side page map.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Empty zones that are left when one is opened for the host, at least 1. With 1 a program failure, or notes about trims
    /// that are due during collection, may leave no room. Default 2.
    pub reserve_zones: u32,
    /// Which zone is emptied next.
    pub victim: ZoneVictim,
    /// Who copies a victim's valid pages.
    pub copy: Copying,
    /// The zones of the device: `device.zones`.
    #[serde(skip)]
    pub zones: ZoneOptions,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            reserve_zones: 2,
            victim: ZoneVictim::default(),
            copy: Copying::default(),
            zones: ZoneOptions::default(),
        }
    }
}

/// Which zone is emptied next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ZoneVictim {
    /// The one with the fewest valid pages, the lowest number among equals.
    #[default]
    Greedy,
    /// Most of `(1 - u) age / 2u`, where a share `u` of its pages is valid: Kawaguchi.
    CostBenefit,
}

/// Who copies a victim's valid pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Copying {
    /// The device, by NVMe's Simple Copy.
    #[default]
    Device,
    /// The host, which reads each page and writes it.
    Host,
}

impl Config {
    pub(super) fn variants() -> Vec<Variant<Self>> {
        let base = Self::default();
        let one_die = ZoneOptions { dies: 1, ..base.zones };
        let zones = ZoneOptions { blocks_per_die: 2, spare_blocks: 1, ..base.zones };
        let two_rows = Self { reserve_zones: 1, zones, ..base.clone() };
        let groups = ZoneOptions { pages_per_die: 3, ..base.zones };
        vec![
            Variant::safe("cost_benefit", Self { victim: ZoneVictim::CostBenefit, zones: groups, ..base.clone() }),
            Variant::tight("host_copies", Self { copy: Copying::Host, ..two_rows.clone() }),
            Variant::safe("one_die", Self { zones: one_die, ..base.clone() }),
            Variant::safe("groups", Self { zones: groups, ..base.clone() }),
            Variant::tight("two_rows", two_rows),
            Variant::tight("reserve_1", Self { reserve_zones: 1, ..base }),
        ]
    }

    /// # Errors
    /// [`FtlError::Config`] if the device has too few zones, or an option is out of its range.
    pub(super) fn layout(&self, geometry: &Geometry) -> Result<Layout, FtlError> {
        let layout = Layout::new(geometry, &self.zones)?;
        let areas = [
            ("random_write_area", self.zones.random_write_area.is_some()),
            ("commit_granularity", self.zones.commit_granularity.is_some()),
            ("max_random_write_areas", self.zones.max_random_write_areas > 0),
        ];
        if let Some((key, _)) = areas.iter().find(|(_, is_given)| *is_given) {
            return Err(FtlError::Config(format!(
                "device.zones.{key}: ftl.zoned writes its zones in order and has no use for a random write area; take ftl.zns, \
                 or leave it out"
            )));
        }
        let conventional = [
            ("conventional", self.zones.conventional > 0),
            ("conventional_spare_percent", self.zones.conventional_spare_percent.is_some()),
        ];
        if let Some((key, _)) = conventional.iter().find(|(_, is_given)| *is_given) {
            return Err(FtlError::Config(format!(
                "device.zones.{key}: ftl.zoned maps all pages itself and has no use for conventional zones; take ftl.zns, or leave \
                 it out"
            )));
        }
        let of_hosts =
            [("read_across_zones", !self.zones.read_across_zones), ("max_append", self.zones.max_append.is_some())];
        if let Some((key, _)) = of_hosts.iter().find(|(_, is_given)| *is_given) {
            return Err(FtlError::Config(format!(
                "device.zones.{key}: no host sees the zones of ftl.zoned; take ftl.zns, or leave it out"
            )));
        }
        let most = layout.zones.saturating_sub(Self::filled(geometry, &layout) + 1);
        error::in_range("ftl.zoned.reserve_zones", self.reserve_zones, 1..=most.max(1))?;
        if most == 0 {
            return Err(FtlError::Config(format!(
                "device.zones leaves {} zones: a host that collects them fills {} at a time and needs an empty one and one more \
                 for data; take smaller zones or a larger device",
                layout.zones,
                Self::filled(geometry, &layout)
            )));
        }
        let open = Self::filled(geometry, &layout);
        for (key, limit) in [("max_open", self.zones.max_open), ("max_active", self.zones.max_active)] {
            if limit > 0 && limit < open {
                return Err(FtlError::Config(format!(
                    "device.zones.{key} = {limit}: ftl.zoned fills {open} zones at a time, one on each group of dies and one \
                     with moved pages"
                )));
            }
        }
        Ok(layout)
    }

    /// Zones that are filled at a time: one on each group of dies, and one with moved pages.
    pub(super) fn filled(geometry: &Geometry, layout: &Layout) -> u32 {
        geometry.dies() / layout.dies + 1
    }

    /// Pages that `zones` zones hold while a victim still gains something.
    pub(super) fn usable(&self, geometry: &Geometry, layout: &Layout, zones: u32) -> u32 {
        let full = zones.saturating_sub(self.reserve_zones + Self::filled(geometry, layout));
        (full * layout.capacity).saturating_sub(1)
    }

    pub(super) fn max_logical_pages(&self, geometry: &Geometry) -> Result<u32, FtlError> {
        let layout = self.layout(geometry)?;
        let pages = self.usable(geometry, &layout, layout.zones);
        let most = pages.saturating_sub(TrimNotes::most_pages_for(geometry, pages, true));
        if most == 0 {
            return Err(FtlError::Config(format!(
                "device.zones: {} pages of data in zones of {} pages are fewer than the notes about trimmed pages take; take \
                 larger zones or a larger device",
                pages, layout.capacity
            )));
        }
        Ok(most)
    }
}

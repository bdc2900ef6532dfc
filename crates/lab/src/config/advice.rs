//! Advice for a device of the wrong size. Each piece is tested before it is printed: the advised device is
//! accepted by the FTL, holds the workload, and fits this machine's memory.

use super::device::Device;
use super::footprint::has_room;
use super::over_provisioning;
use super::sizing::{most_pages, sizes, Sizing};
use super::Experiment;
use nandlab_ftl::FtlConfig;
use nandlab_nand::{Geometry, Rules, SECTOR_BYTES};
use nandlab_workload::{ByteCount, Kind, Setting, WorkloadError};

/// Over-provisioning is advised in thousandths, up to the largest allowed value.
const MOST_OVER_PROVISIONING: u64 = 100_000;

/// Limits for useful advice: a device larger than this, and than a multiple of the requested size, helps
/// nobody.
const ABSURD_BYTES: u64 = 8 << 30;
const ABSURD_TIMES: u64 = 16;

/// 512 TiB, more than a device can have.
const MOST_SECTORS: u64 = 1 << 40;

/// An experiment with an unsuitable device, and the requirements for it.
pub(crate) struct Advice<'a> {
    experiment: &'a Experiment,
    device: &'a Device,
    /// Fewest exported sectors.
    sectors: u64,
    /// Whether the FTL can export the current, merely too small device.
    holds: bool,
}

impl<'a> Advice<'a> {
    /// For a device the FTL cannot export.
    pub(super) fn to_fit(experiment: &'a Experiment) -> Self {
        let sectors = match open(experiment, 1) {
            // A trace states its need.
            Err(WorkloadError::TooSmall { needed, .. }) => needed,
            Err(_) if experiment.workload.name() != "trace" => {
                least(1, MOST_SECTORS, |sectors| open(experiment, sectors).is_ok()).unwrap_or(1)
            }
            _ => 1,
        };
        Self { experiment, device: &experiment.device, sectors, holds: false }
    }

    /// For a device too small for a workload with `sectors`.
    pub(crate) fn to_hold(experiment: &'a Experiment, sectors: u64) -> Self {
        Self { experiment, device: &experiment.device, sectors, holds: true }
    }

    /// The advice, such as `set device.over_provisioning = 0.2, or device.capacity = "64 MiB"`; there may be
    /// none.
    pub(crate) fn sentence(&self) -> Option<String> {
        // A search would load the firmware once for each size that it tries.
        if self.experiment.ftl.as_ref().is_some_and(FtlConfig::is_elsewhere) {
            return None;
        }
        if let Some(option) = self.option() {
            return Some(format!("set {option}"));
        }
        let holds = self.holds;
        let ways = match (self.device.capacity, self.device.blocks_per_plane) {
            // A smaller capacity has fewer blocks, and the FTL's own blocks become a larger share.
            (Some(_), None) if holds => vec![self.capacity()],
            (Some(_), None) => vec![self.over_provisioning(), self.capacity()],
            (Some(_), Some(_)) if holds => vec![self.capacity().or_else(|| self.capacity_and_blocks())],
            (Some(_), Some(_)) => {
                let ways = [self.blocks(), self.smaller_capacity()];
                let both = ways.iter().all(Option::is_none).then(|| self.capacity_and_blocks());
                ways.into_iter().chain(both).collect()
            }
            (None, _) if holds => vec![self.blocks_of_shape()],
            (None, _) => vec![self.over_provisioning(), self.blocks_of_shape()],
        };
        let ways: Vec<String> = ways.into_iter().flatten().collect();
        (!ways.is_empty()).then(|| format!("set {}", ways.join(", or ")))
    }

    /// Most pages that the FTL can export; all pages without an FTL.
    fn most_pages(&self, geometry: &Geometry, rules: &Rules) -> Option<u32> {
        match &self.experiment.ftl {
            Some(ftl) => most_pages(ftl, geometry, rules).ok(),
            None => Some(geometry.pages()),
        }
    }

    /// Whether the FTL accepts `device`, and the workload fits it.
    fn works(&self, device: &Device) -> bool {
        let Ok((geometry, pages)) = sizes(device, &mut Vec::new()) else { return false };
        u64::from(pages) * u64::from(geometry.sectors_per_page()) >= self.sectors
            && self.most_pages(&geometry, &device.profile.rules).is_some_and(|most| pages <= most)
    }

    /// Whether a working `device` is also reasonable: its size is in proportion to the request, and it fits
    /// this machine's memory.
    fn is_sane(&self, device: &Device) -> bool {
        let Ok((geometry, logical_pages)) = sizes(device, &mut Vec::new()) else { return false };
        let page = u64::from(geometry.page_bytes());
        let asked = match self.device.capacity {
            Some(capacity) => capacity.0,
            None => sizes(self.device, &mut Vec::new()).map_or(0, |(geometry, _)| u64::from(geometry.pages()) * page),
        };
        let most = asked.max(self.sectors * u64::from(SECTOR_BYTES)).saturating_mul(ABSURD_TIMES).max(ABSURD_BYTES);
        let faults = device.faults.as_ref();
        u64::from(geometry.pages()) * page <= most
            && faults.is_none_or(|faults| faults.check(&geometry).is_ok())
            && has_room(device.model, &Sizing { geometry, logical_pages, notices: Vec::new() })
    }

    /// The smallest number above `now` for a working device, if the device is reasonable.
    fn least(&self, now: u64, most: u64, with: impl Fn(u64) -> Device) -> Option<u64> {
        least(now, most, |number| self.works(&with(number))).filter(|&number| self.is_sane(&with(number)))
    }

    /// An option of the FTL, if this alone helps: nobody wants another device just for an option.
    fn option(&self) -> Option<String> {
        let ftl = self.experiment.ftl.as_ref().filter(|_| !self.holds)?;
        let (geometry, pages) = sizes(self.device, &mut Vec::new()).ok()?;
        if u64::from(pages) * u64::from(geometry.sectors_per_page()) < self.sectors {
            return None;
        }
        ftl.remedy(&geometry, &self.device.profile.rules, pages)
    }

    fn over_provisioning(&self) -> Option<String> {
        let now = (self.device.over_provisioning? * 1000.0) as u64;
        let share = |thousandths: u64| thousandths as f64 / 1000.0;
        let with = |thousandths| Device { over_provisioning: Some(share(thousandths)), ..self.device.clone() };
        let least = self.least(now, MOST_OVER_PROVISIONING, with)?;
        Some(format!("device.over_provisioning = {}", over_provisioning::text(share(least))))
    }

    /// Size of this many blocks.
    fn block_bytes(&self, units: u64) -> ByteCount {
        let shape = &self.device.profile.shape;
        ByteCount(units * u64::from(shape.page_bytes) * u64::from(shape.pages_per_block))
    }

    /// A larger capacity, in whole blocks.
    fn capacity(&self) -> Option<String> {
        let with = |units| Device { capacity: Some(self.block_bytes(units)), ..self.device.clone() };
        let needed = self.device.capacity?.0.max(self.sectors * u64::from(SECTOR_BYTES) - 1);
        let now = needed / self.block_bytes(1).0;
        let units = self.least(now, u32::MAX.into(), with)?;
        Some(capacity_key(self.block_bytes(units)))
    }

    /// The largest capacity for the given blocks.
    fn smaller_capacity(&self) -> Option<String> {
        let (geometry, _) = sizes(self.device, &mut Vec::new()).ok()?;
        let most = self.most_pages(&geometry, &self.device.profile.rules)?;
        let capacity = ByteCount(u64::from(most) * u64::from(geometry.page_bytes()));
        let device = Device { capacity: Some(capacity), ..self.device.clone() };
        (self.works(&device) && self.is_sane(&device)).then(|| capacity_key(capacity))
    }

    fn blocks(&self) -> Option<String> {
        self.with_blocks(self.device.capacity?).map(|blocks| format!("device.blocks_per_plane = {blocks}"))
    }

    fn capacity_and_blocks(&self) -> Option<String> {
        let needed = (self.sectors * u64::from(SECTOR_BYTES)).div_ceil(self.block_bytes(1).0);
        let capacity = self.block_bytes(needed);
        let blocks = self.with_blocks(capacity)?;
        Some(format!("{} with device.blocks_per_plane = {blocks}", capacity_key(capacity)))
    }

    /// Blocks per plane needed to export `capacity`.
    fn with_blocks(&self, capacity: ByteCount) -> Option<u64> {
        let with = |blocks: u64| Device {
            capacity: Some(capacity),
            blocks_per_plane: u32::try_from(blocks).ok(),
            ..self.device.clone()
        };
        self.least(self.device.blocks_per_plane?.into(), u32::MAX.into(), with)
    }

    fn blocks_of_shape(&self) -> Option<String> {
        let with = |blocks: u64| {
            let mut device = self.device.clone();
            device.profile.shape.blocks_per_plane = u32::try_from(blocks).unwrap_or(u32::MAX);
            device
        };
        let now = u64::from(self.device.profile.shape.blocks_per_plane);
        let blocks = self.least(now, u32::MAX.into(), with)?;
        Some(format!("device.shape.blocks_per_plane = {blocks}"))
    }
}

/// Whether the workload fits a device with `sectors`.
fn open(experiment: &Experiment, sectors: u64) -> Result<(), WorkloadError> {
    let watch = |_| true;
    let zones = sizes(&experiment.device, &mut Vec::new()).ok();
    let setting = Setting {
        sectors,
        seed: experiment.seed,
        base: &experiment.base,
        watch: &watch,
        took: None,
        queues: experiment.host.queues(),
        placements: experiment.ftl_facts().placements,
        zones: zones.and_then(|(geometry, _)| experiment.zone_shape(&geometry)),
    };
    match experiment.workload.kind() {
        Kind::Requests(options) => options.open(&setting).map(drop),
        // An index or files reveal their need only when the device is full.
        Kind::Keys(_) | Kind::Files(_) => Ok(()),
    }
}

fn capacity_key(capacity: ByteCount) -> String {
    format!("device.capacity = \"{capacity}\"")
}

/// The smallest number above `now`, up to `most`, with a true `works`, if all larger ones work; otherwise any
/// working one.
pub fn least(now: u64, most: u64, works: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut fails, mut step) = (now, 1);
    let mut found = loop {
        let next = now.saturating_add(step).min(most);
        if next <= fails {
            return None;
        }
        if works(next) {
            break next;
        }
        (fails, step) = (next, step * 2);
    };
    while fails + 1 < found {
        let middle = fails + (found - fails) / 2;
        if works(middle) {
            found = middle;
        } else {
            fails = middle;
        }
    }
    Some(found)
}

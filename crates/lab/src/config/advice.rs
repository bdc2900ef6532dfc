//! Ways out for a device of the wrong size. Each is tried on the device before it is printed: followed as it
//! stands, it gives a device that the FTL accepts.

use super::device::{most_pages, sizes, Device};
use nandlab_ftl::FtlConfig;
use nandlab_nand::SECTOR_BYTES;
use nandlab_workload::ByteCount;

/// Over-provisioning is recommended in thousandths, up to the largest that is allowed.
const MOST_OVER_PROVISIONING: u64 = 100_000;

/// A device that is to be changed, and what it must come to.
pub(crate) struct Advice<'a> {
    device: &'a Device,
    ftl: &'a FtlConfig,
    /// Sectors that it exports at least.
    sectors: u64,
}

impl<'a> Advice<'a> {
    /// For a device that the FTL cannot export as it is.
    pub(super) fn to_fit(device: &'a Device, ftl: &'a FtlConfig) -> Self {
        Self { device, ftl, sectors: 1 }
    }

    /// For a device that exports too little for a workload of `sectors`.
    pub(crate) fn to_hold(device: &'a Device, ftl: &'a FtlConfig, sectors: u64) -> Self {
        Self { device, ftl, sectors }
    }

    /// The ways out, such as `set device.over_provisioning = 0.2, or device.capacity = "64 MiB"`; none is possible too.
    pub(crate) fn sentence(&self) -> Option<String> {
        let holds = self.sectors > 1;
        let ways = match (self.device.capacity, self.device.blocks_per_plane) {
            // A smaller capacity has fewer blocks, and what the FTL keeps for itself is a larger part of them.
            (Some(_), None) if holds => vec![self.capacity()],
            (Some(_), None) => vec![self.over_provisioning(), self.capacity()],
            (Some(_), Some(_)) if holds => vec![self.capacity().or_else(|| self.capacity_and_blocks())],
            (Some(_), Some(_)) => vec![self.blocks(), self.smaller_capacity()],
            (None, _) if holds => vec![self.blocks_of_shape()],
            (None, _) => vec![self.over_provisioning(), self.blocks_of_shape()],
        };
        let ways: Vec<String> = ways.into_iter().flatten().collect();
        (!ways.is_empty()).then(|| format!("set {}", ways.join(", or ")))
    }

    fn works(&self, device: &Device) -> bool {
        let Ok((geometry, pages)) = sizes(device, &mut Vec::new()) else { return false };
        u64::from(pages) * u64::from(geometry.sectors_per_page()) >= self.sectors
            && most_pages(self.ftl, &geometry, &device.profile.rules).is_ok_and(|most| pages <= most)
    }

    fn over_provisioning(&self) -> Option<String> {
        let now = (self.device.over_provisioning? * 1000.0) as u64;
        let share = |thousandths: u64| thousandths as f64 / 1000.0;
        let with = |thousandths| Device { over_provisioning: Some(share(thousandths)), ..self.device.clone() };
        let least = least(now, MOST_OVER_PROVISIONING, |op| self.works(&with(op)))?;
        Some(format!("device.over_provisioning = {}", share(least)))
    }

    /// Bytes of `units` blocks.
    fn block_bytes(&self, units: u64) -> ByteCount {
        let shape = &self.device.profile.shape;
        ByteCount(units * u64::from(shape.page_bytes) * u64::from(shape.pages_per_block))
    }

    /// A larger capacity: in whole blocks.
    fn capacity(&self) -> Option<String> {
        let with = |units| Device { capacity: Some(self.block_bytes(units)), ..self.device.clone() };
        let needed = self.device.capacity?.0.max(self.sectors * u64::from(SECTOR_BYTES) - 1);
        let now = needed / self.block_bytes(1).0;
        let units = least(now, u32::MAX.into(), |units| self.works(&with(units)))?;
        Some(capacity_key(self.block_bytes(units)))
    }

    /// The largest capacity that the blocks allow.
    fn smaller_capacity(&self) -> Option<String> {
        let (geometry, _) = sizes(self.device, &mut Vec::new()).ok()?;
        let most = most_pages(self.ftl, &geometry, &self.device.profile.rules).ok()?;
        let capacity = ByteCount(u64::from(most) * u64::from(geometry.page_bytes()));
        self.works(&Device { capacity: Some(capacity), ..self.device.clone() }).then(|| capacity_key(capacity))
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

    /// How many blocks of a plane export `capacity`.
    fn with_blocks(&self, capacity: ByteCount) -> Option<u64> {
        let with = |blocks: u64| Device {
            capacity: Some(capacity),
            blocks_per_plane: u32::try_from(blocks).ok(),
            ..self.device.clone()
        };
        least(self.device.blocks_per_plane?.into(), u32::MAX.into(), |blocks| self.works(&with(blocks)))
    }

    fn blocks_of_shape(&self) -> Option<String> {
        let with = |blocks: u64| {
            let mut device = self.device.clone();
            device.profile.shape.blocks_per_plane = u32::try_from(blocks).unwrap_or(u32::MAX);
            device
        };
        let now = u64::from(self.device.profile.shape.blocks_per_plane);
        let blocks = least(now, u32::MAX.into(), |blocks| self.works(&with(blocks)))?;
        Some(format!("device.shape.blocks_per_plane = {blocks}"))
    }
}

fn capacity_key(capacity: ByteCount) -> String {
    format!("device.capacity = \"{capacity}\"")
}

/// The least number above `now`, up to `most`, that `works`, if all above it do; any that works otherwise.
fn least(now: u64, most: u64, works: impl Fn(u64) -> bool) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_works_is_found() {
        for limit in 4..200 {
            assert_eq!(least(3, 200, |number| number >= limit), Some(limit));
        }
        assert_eq!(least(3, 200, |_| false), None);
        assert_eq!(least(200, 200, |_| true), None);
        let even = least(3, 200, |number| number >= 50 && number % 2 == 0);
        assert!(even.is_some_and(|number| number >= 50 && number % 2 == 0), "{even:?}");
    }
}

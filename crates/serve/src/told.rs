//! A disk as it describes itself to a host.

use crate::{Described, Description, Disk, Export, Health, Placed, Zoned};
use nandlab_lab::served::LiveKind;

impl Described for Disk {
    fn description(&self) -> Description {
        Description {
            identity: self.identity(),
            model: format!("nandlab {}", self.live().ftl),
            trims_read_zeros: self.trims_last(),
            has_volatile_cache: !self.writes_last(),
        }
    }

    fn zones(&self) -> Option<&dyn Zoned> {
        self.is_zoned().then_some(self as &dyn Zoned)
    }

    fn placement(&self) -> Option<&dyn Placed> {
        self.is_placed().then_some(self as &dyn Placed)
    }

    fn health(&self) -> Health {
        let (live, all) = (self.live(), self.lifetime());
        let count = live.blocks.len().max(1) as u64;
        let cycles: u64 = live.blocks.iter().map(|block| u64::from(block.pe_cycles)).sum();
        let retired = live.blocks.iter().filter(|block| block.kind == LiveKind::Retired).count() as u64;
        let block_bytes = u64::from(live.pages_per_block) * u64::from(self.preferred_block());
        // Blocks beyond those that the exported capacity fills.
        let spare = count.saturating_sub(self.size().div_ceil(block_bytes.max(1))).max(1);
        let guaranteed = count * u64::from(self.endurance().max(1));
        Health {
            spare_percent: (100 * spare.saturating_sub(retired) / spare) as u8,
            used_percent: (100 * cycles / guaranteed).min(255) as u8,
            read_sectors: all.host.read_sectors,
            written_sectors: all.host.written_sectors,
            reads: all.host.reads,
            writes: all.host.writes,
            powered_ns: all.time_ns,
            power_cycles: all.sessions,
            power_cuts: all.unsaved.kills,
            media_errors: all.host.unreadable,
        }
    }
}

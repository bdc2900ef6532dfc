//! The options.

use super::LogVictim;
use crate::parts::engine::room::usable_with;
use crate::parts::engine::Quota;
use crate::parts::merge_buffer::check_buffers;
use crate::parts::trim_notes::TrimNotes;
use crate::{error, FtlError, Variant};
use nandlab_nand::Geometry;

/// The sector log's options.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Blocks in the log, in percent of the device's blocks, rounded up; from 1 to 90. The sector map needs 10 to 12
    /// bytes in memory for each sector in the log. Default 5.
    pub log_percent: u32,
    /// The log block merged with the data when another one is needed.
    pub log_victim: LogVictim,
    /// Pages in memory that gather small writes, 1 to 65,536: while one is filled, the others are being written.
    /// Default 32.
    pub merge_buffers: u32,
    /// Blocks kept free on each die for moved pages; at least 1. With 1, a program failure or a torn page during
    /// collection may leave no room. Default 2.
    pub reserve_blocks: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { log_percent: 5, log_victim: LogVictim::Fifo, merge_buffers: 32, reserve_blocks: 2 }
    }
}

/// Sectors on the largest device: sector numbers and places in the log have 32 bits, and one value says "none".
const MOST_SECTORS: u64 = u32::MAX as u64;

/// Sectors in a log page: its list takes the last one.
pub(super) fn gathered(geometry: &Geometry) -> u32 {
    (geometry.sectors_per_page() - 1).max(1)
}

impl Config {
    fn check(&self, geometry: &Geometry) -> Result<(), FtlError> {
        let refuse = |why: String| Err(FtlError::Config(why));
        if !(1..=90).contains(&self.log_percent) {
            let page_map = if self.log_percent == 0 { "; without a log take ftl.page" } else { "" };
            return refuse(format!(
                "ftl.sector_log.log_percent = {}: it is at least 1 and at most 90{page_map}",
                self.log_percent
            ));
        }
        check_buffers("sector_log", self.merge_buffers)?;
        let sectors = u64::from(geometry.pages()) * u64::from(geometry.sectors_per_page());
        if sectors >= MOST_SECTORS {
            return refuse(format!(
                "sector_log numbers sectors with 32 bits, and this device has {sectors}: it may have {} at most",
                MOST_SECTORS - 1
            ));
        }
        Ok(())
    }

    /// Blocks in the log. Pages with one sector are never written in part, so they need none.
    pub(super) fn log_blocks(&self, geometry: &Geometry) -> u32 {
        match geometry.sectors_per_page() {
            1 => 0,
            _ => (u64::from(geometry.blocks()) * u64::from(self.log_percent)).div_ceil(100) as u32,
        }
    }

    pub(super) fn max_logical_pages(&self, geometry: &Geometry) -> Result<u32, FtlError> {
        self.check(geometry)?;
        let log = self.log_blocks(geometry);
        let own = Quota { shared: log, each: 0 };
        let pages = usable_with(geometry, self.reserve_blocks, own);
        let most = pages.saturating_sub(TrimNotes::most_pages_for(geometry, pages, true));
        error::refuse_reserve("sector_log", self.reserve_blocks, geometry, Some((own, "of the log")), most)
    }
}

/// The option sets for the proofs.
pub(super) fn variants() -> Vec<Variant<Config>> {
    let usual = Config::default;
    vec![
        Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
        Variant::safe("greedy", Config { log_victim: LogVictim::Greedy, log_percent: 20, ..usual() }),
        Variant::safe("long_log", Config { log_percent: 30, merge_buffers: 1, ..usual() }),
    ]
}

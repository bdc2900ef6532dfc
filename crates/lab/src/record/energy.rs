//! Energy for flash, for a buffer's memories, and for everything together.

use super::FsNvramRecord;
use crate::config::{Memory, Powered};
use crate::memories::MemoryCosts;
use nandlab_buffer::Counts;
use nandlab_nand::nvm::WORD_BYTES;
use nandlab_nand::profile::Profile;
use nandlab_nand::{Cell, SECTOR_BYTES};
use serde::Serialize;

/// Flash energy, J; a copy counts as a read and a program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EnergyRecord {
    /// Reads.
    pub read: f64,
    /// Programs.
    pub program: f64,
    /// Erases.
    pub erase: f64,
    /// The sum.
    pub total: f64,
}

impl EnergyRecord {
    /// Energy for these operations; `None` if the profile states none.
    pub(crate) fn of(profile: &Profile, operations: &Cell) -> Option<Self> {
        profile.energy(operations).map(|used| Self {
            read: used.read_j,
            program: used.program_j,
            erase: used.erase_j,
            total: used.total_j(),
        })
    }
}

/// A buffer's energy, J.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BufferEnergyRecord {
    /// DRAM energy.
    pub dram: MemoryEnergyRecord,
    /// NVRAM energy; null without.
    pub nvram: Option<MemoryEnergyRecord>,
    /// Access energy for both.
    pub dynamic: f64,
    /// Standing energy of both while powered; null if no time is kept.
    #[serde(rename = "static")]
    pub standing: Option<f64>,
    /// The sum.
    pub total: Option<f64>,
    /// Powered time, us, by `memory.powered`: from the first recorded arrival to the last, or to the end of the last
    /// operation. Null if no time is kept.
    pub powered_us: Option<f64>,
}

/// A memory's energy, J.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemoryEnergyRecord {
    /// Bytes assigned by the experiment, before rounding to pages or blocks.
    pub bytes: u64,
    /// Read energy; a partial read counts as a page.
    pub read: f64,
    /// Write energy; a partial write counts as a page.
    pub write: f64,
    /// Energy for headers read by a mount, by their words; 0 for DRAM.
    pub header: f64,
    /// Standing energy while powered.
    #[serde(rename = "static")]
    pub standing: Option<f64>,
    /// The sum.
    pub total: Option<f64>,
}

impl MemoryEnergyRecord {
    fn of(costs: &MemoryCosts, bytes: u64, page: u64, (reads, writes, words): (u64, u64, u64), s: Option<f64>) -> Self {
        let (read, write) = costs.energy_j(page, reads, writes);
        let (_, header) = costs.energy_j(WORD_BYTES, 0, words);
        let standing = s.map(|seconds| costs.static_j(bytes, seconds));
        Self { bytes, read, write, header, standing, total: standing.map(|held| held + read + write + header) }
    }

    /// Access energy, J.
    pub(crate) fn dynamic(&self) -> f64 {
        self.read + self.write + self.header
    }
}

/// A buffer's memory sizes, and their powered time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Powers<'a> {
    pub memory: &'a Memory,
    /// DRAM and NVRAM size, bytes.
    pub bytes: (u64, u64),
    pub page_bytes: u64,
    /// The run's simulated time, us.
    pub run_us: Option<f64>,
    /// From the trace's first request to its last, us.
    pub trace_us: Option<f64>,
}

impl BufferEnergyRecord {
    /// Energy for the accesses from `start` to `end`, and for the time between.
    pub(crate) fn between(start: &Counts, end: &Counts, powers: &Powers<'_>) -> Self {
        let Powers { memory, bytes: (dram_bytes, nvram_bytes), page_bytes, .. } = *powers;
        let powered_us = match memory.powered {
            Powered::Run => powers.run_us,
            Powered::Trace => powers.trace_us,
        };
        let seconds = powered_us.map(|us| us / 1e6);
        let count = |of: fn(&Counts) -> u64| of(end) - of(start);
        let in_dram = (count(|all| all.dram.reads), count(|all| all.dram.writes), 0);
        let in_nvram = (count(|all| all.nvram.reads), count(|all| all.nvram.writes), count(|all| all.header_words));
        let dram = MemoryEnergyRecord::of(&memory.dram.costs, dram_bytes, page_bytes, in_dram, seconds);
        let nvram = (nvram_bytes > 0)
            .then(|| MemoryEnergyRecord::of(&memory.nvram.costs, nvram_bytes, page_bytes, in_nvram, seconds));
        let dynamic = dram.dynamic() + nvram.map_or(0.0, |nvram| nvram.dynamic());
        let of_nvram = nvram.and_then(|nvram| nvram.standing).unwrap_or(0.0);
        let standing = dram.standing.map(|held| held + of_nvram);
        Self { dram, nvram, dynamic, standing, total: standing.map(|held| held + dynamic), powered_us }
    }
}

/// Total energy where stated, J: flash, buffer, a file system's NVRAM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WholeEnergyRecord {
    /// Operation energy.
    pub dynamic: f64,
    /// Standing energy of the buffer's memories while powered; null if no time is kept.
    #[serde(rename = "static")]
    pub standing: Option<f64>,
    /// Sum of both.
    pub total: Option<f64>,
    /// The sum per 10^9 bytes written by the host; null if it wrote nothing.
    pub per_gb_written: Option<f64>,
}

impl WholeEnergyRecord {
    /// The sum; `None` if no part states an energy.
    pub(crate) fn of(
        flash: Option<&EnergyRecord>,
        buffer: Option<&BufferEnergyRecord>,
        fs: Option<&FsNvramRecord>,
        written_sectors: u64,
    ) -> Option<Self> {
        if flash.is_none() && buffer.is_none() {
            return None;
        }
        let of_flash = flash.map_or(0.0, |flash| flash.total);
        let of_fs = fs.map_or(0.0, |nvram| nvram.used.energy_j);
        let dynamic = of_flash + of_fs + buffer.map_or(0.0, |buffer| buffer.dynamic);
        let standing = buffer.map_or(Some(0.0), |buffer| buffer.standing);
        let total = standing.map(|held| held + dynamic);
        let gigabytes = (written_sectors * u64::from(SECTOR_BYTES)) as f64 / 1e9;
        let per_gb_written = total.filter(|_| written_sectors > 0).map(|joules| joules / gigabytes);
        Some(Self { dynamic, standing, total, per_gb_written })
    }
}

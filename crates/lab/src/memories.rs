//! Memory profiles for buffers: times, energies and static power.

use crate::bundled::{bundled, Bundled};
use nandlab_nand::nvm::{NvmCost, WORD_BYTES};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Every bundled memory, by its name in `memory.dram.profile` and `memory.nvram.profile`.
pub const LIST: &[Bundled] = bundled! { "memories":
    "wap-cell-dram",
    "wap-cell-pcm",
    "wap-cell-stt-mram",
    "wap-dram",
    "wap-stt-mram",
};

/// A memory: its cost per access, and its idle power.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryProfile {
    /// The name by which experiments ask for it; also the file's name.
    pub name: String,
    /// One-line description.
    pub description: String,
    /// Source for the figures, and their scaling.
    pub source: String,
    /// Access and idle costs.
    #[serde(flatten)]
    pub costs: MemoryCosts,
}

/// Memory costs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryCosts {
    /// Bytes moved by one access; the times and energies below are for this size.
    pub unit_bytes: NonZeroU32,
    /// Read time for `unit_bytes`, ns.
    pub read_ns: f64,
    /// Write time, ns.
    pub write_ns: f64,
    /// Read energy, nJ.
    pub read_nj: f64,
    /// Write energy, nJ.
    pub write_nj: f64,
    /// Static power per GiB, W.
    pub static_w_per_gib: f64,
}

/// Upper limit for any memory's nanoseconds, nanojoules and watts.
const MOST: f64 = 1e9;

impl MemoryCosts {
    /// The key with an impossible value, and the error text.
    pub(crate) fn wrong(&self) -> Option<(&'static str, String)> {
        let numbers = [
            ("read_ns", self.read_ns),
            ("write_ns", self.write_ns),
            ("read_nj", self.read_nj),
            ("write_nj", self.write_nj),
            ("static_w_per_gib", self.static_w_per_gib),
        ];
        let (key, value) = numbers.into_iter().find(|(_, value)| !(0.0..=MOST).contains(value))?;
        Some((key, format!("{value} is not in the range from 0 to 1,000,000,000")))
    }

    /// Cost units in an access to this many bytes.
    fn units(&self, bytes: u64) -> f64 {
        bytes as f64 / f64::from(self.unit_bytes.get())
    }

    /// Read time and write time for this many bytes, ns.
    pub(crate) fn times_ns(&self, bytes: u64) -> (f64, f64) {
        (self.units(bytes) * self.read_ns, self.units(bytes) * self.write_ns)
    }

    /// Energy for reads and writes with this many bytes each, J.
    pub(crate) fn energy_j(&self, bytes: u64, reads: u64, writes: u64) -> (f64, f64) {
        let each = self.units(bytes) * 1e-9;
        (reads as f64 * self.read_nj * each, writes as f64 * self.write_nj * each)
    }

    /// Static energy for `bytes` over this many seconds, J.
    pub(crate) fn static_j(&self, bytes: u64, seconds: f64) -> f64 {
        bytes as f64 / f64::from(1 << 30) * self.static_w_per_gib * seconds
    }

    /// The times per word; the energies are computed later from the buffer's counts.
    pub(crate) fn by_words(&self) -> NvmCost {
        let (read_ns, write_ns) = self.times_ns(WORD_BYTES);
        NvmCost { read_ns, write_ns, ..NvmCost::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_on_the_list_and_a_memory() {
        crate::bundled::assert_complete(LIST, "memories", ".toml");
        for file in LIST {
            let memory: MemoryProfile = toml::from_str(file.text).unwrap_or_else(|e| panic!("{}: {e}", file.name));
            assert_eq!(memory.name, file.name);
            assert_eq!(memory.costs.wrong(), None, "{}", file.name);
            let head: Vec<&str> = file.text.lines().take_while(|line| line.starts_with('#')).collect();
            let head = head.join(" ");
            assert!(head.contains("Source: ") && head.contains("Scaling"), "{} says what it was scaled by", file.name);
        }
    }

    fn of(name: &str) -> MemoryCosts {
        let file = LIST.iter().find(|file| file.name == name).unwrap();
        toml::from_str::<MemoryProfile>(file.text).unwrap().costs
    }

    #[test]
    fn static_power_of_the_papers_buffers() {
        // 32 MB: 31.25 mW of DRAM, 3.125 mW of STT-MRAM, and 28 % of the DRAM figure at 1 : 4.
        let (dram, nvram, size) = (of("wap-dram"), of("wap-stt-mram"), 32 << 20);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(dram.static_j(size, 1.0), 0.03125);
        close(nvram.static_j(size, 1.0), 0.003125);
        close(dram.static_j(size, 0.2) + nvram.static_j(size, 0.8), 0.28 * 0.03125);
    }

    #[test]
    fn energies_by_the_cell_are_those_of_the_cells_of_a_page() {
        let cells = 8.0 * 4096.0;
        for (name, pj) in [("wap-cell-dram", 1.0), ("wap-cell-stt-mram", 1.0), ("wap-cell-pcm", 18.0)] {
            let (read, write) = of(name).energy_j(4096, 1, 1);
            assert!((write / (cells * pj * 1e-12) - 1.0).abs() < 1e-12 && read == write, "{name}: {write}");
        }
    }

    #[test]
    fn a_page_of_another_size_costs_by_its_bytes() {
        let memory = of("wap-stt-mram");
        assert_eq!(memory.times_ns(8192), (22.0, 54.0));
        assert_eq!(memory.energy_j(512, 8, 8), memory.energy_j(4096, 1, 1));
        assert_eq!(memory.by_words().write_ns * 512.0, 27.0);
        assert_eq!(MemoryCosts { read_nj: -1.0, ..memory }.wrong().map(|(key, _)| key), Some("read_nj"));
    }
}

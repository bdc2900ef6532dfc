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
    #[doc(hidden)]
    pub fn wrong(&self) -> Option<(&'static str, String)> {
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
    #[doc(hidden)]
    pub fn times_ns(&self, bytes: u64) -> (f64, f64) {
        (self.units(bytes) * self.read_ns, self.units(bytes) * self.write_ns)
    }

    /// Energy for reads and writes with this many bytes each, J.
    #[doc(hidden)]
    pub fn energy_j(&self, bytes: u64, reads: u64, writes: u64) -> (f64, f64) {
        let each = self.units(bytes) * 1e-9;
        (reads as f64 * self.read_nj * each, writes as f64 * self.write_nj * each)
    }

    /// Static energy for `bytes` over this many seconds, J.
    #[doc(hidden)]
    pub fn static_j(&self, bytes: u64, seconds: f64) -> f64 {
        bytes as f64 / f64::from(1 << 30) * self.static_w_per_gib * seconds
    }

    /// The times per word; the energies are computed later from the buffer's counts.
    #[doc(hidden)]
    pub fn by_words(&self) -> NvmCost {
        let (read_ns, write_ns) = self.times_ns(WORD_BYTES);
        NvmCost { read_ns, write_ns, ..NvmCost::default() }
    }
}

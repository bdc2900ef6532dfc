//! Blocks in a record: wear, contents, lifetime, and the time series.

use nandlab_ftl::BlockState;
use serde::Serialize;
use std::collections::BTreeMap;

/// P/E cycles over the blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wear {
    /// Fewest cycles on one block.
    pub min: u32,
    /// Mean.
    pub mean: f64,
    /// Most cycles on one block.
    pub max: u32,
    /// Standard deviation.
    pub stddev: f64,
    /// Pairs: cycle count, blocks with that count; ascending.
    pub histogram: Vec<(u32, u64)>,
}

impl Wear {
    pub(crate) fn of(pe_cycles: &[u32]) -> Self {
        let mut counts = BTreeMap::new();
        for &cycles in pe_cycles {
            *counts.entry(cycles).or_insert(0u64) += 1;
        }
        // Avoids a division by zero without a device.
        let blocks = pe_cycles.len().max(1) as f64;
        let mean = counts.iter().map(|(&cycles, &n)| f64::from(cycles) * n as f64).sum::<f64>() / blocks;
        let squares = counts
            .iter()
            .map(|(&cycles, &n)| {
                let distance = f64::from(cycles) - mean;
                distance * distance * n as f64
            })
            .sum::<f64>();
        Self {
            min: counts.keys().next().copied().unwrap_or(0),
            mean,
            max: counts.keys().next_back().copied().unwrap_or(0),
            stddev: (squares / blocks).sqrt(),
            histogram: counts.into_iter().collect(),
        }
    }
}

/// Most block groups in a record.
pub const MOST_GROUPS: usize = 256;

/// Block contents when a run ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlocksRecord {
    /// Empty blocks ready to fill: erased already, or erased just before their next use.
    pub free: u64,
    /// Pages with current data; garbage collection would have to copy them. A trimmed page counts until a note of the
    /// trim is on flash.
    pub valid_pages: u64,
    /// Pairs: valid-page count, non-free blocks with that count; ascending.
    pub histogram: Vec<(u32, u64)>,
    /// The blocks in address order, in at most 256 equal groups; the last may be shorter.
    pub groups: Vec<BlockGroup>,
}

/// Adjacent blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BlockGroup {
    /// First block.
    pub first: u64,
    /// Blocks in the group.
    pub blocks: u64,
    /// Free blocks in the group.
    pub free: u64,
    /// Mean valid pages per block.
    pub valid_pages: f64,
    /// Fewest P/E cycles on one block.
    pub pe_cycles_min: u32,
    /// Mean P/E cycles.
    pub pe_cycles_mean: f64,
    /// Most P/E cycles on one block.
    pub pe_cycles_max: u32,
}

impl BlocksRecord {
    #[doc(hidden)]
    pub fn of(states: &[BlockState], pe_cycles: &[u32]) -> Self {
        let mut counts = BTreeMap::new();
        for state in states.iter().filter(|state| !state.is_free) {
            *counts.entry(state.valid).or_insert(0u64) += 1;
        }
        let size = states.len().div_ceil(MOST_GROUPS).max(1);
        let groups = states.chunks(size).zip(pe_cycles.chunks(size)).enumerate();
        Self {
            free: states.iter().filter(|state| state.is_free).count() as u64,
            valid_pages: states.iter().map(|state| u64::from(state.valid)).sum(),
            histogram: counts.into_iter().collect(),
            groups: groups.map(|(at, (states, cycles))| BlockGroup::of((at * size) as u64, states, cycles)).collect(),
        }
    }
}

impl BlockGroup {
    fn of(first: u64, states: &[BlockState], pe_cycles: &[u32]) -> Self {
        let mean = |values: u64| values as f64 / states.len() as f64;
        Self {
            first,
            blocks: states.len() as u64,
            free: states.iter().filter(|state| state.is_free).count() as u64,
            valid_pages: mean(states.iter().map(|state| u64::from(state.valid)).sum()),
            pe_cycles_min: pe_cycles.iter().copied().min().unwrap_or(0),
            pe_cycles_mean: mean(pe_cycles.iter().map(|&cycles| u64::from(cycles)).sum()),
            pe_cycles_max: pe_cycles.iter().copied().max().unwrap_or(0),
        }
    }
}

/// A run's state after some requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Requests so far.
    pub requests: u64,
    /// The refused ones among them: zones did not take them.
    pub refused: u64,
    /// Simulated time so far, us; null without time.
    pub time_us: Option<f64>,
    /// Write amplification since the previous sample; null if nothing was written.
    pub waf: Option<f64>,
    /// Sectors read so far.
    pub read_sectors: u64,
    /// Sectors written so far.
    pub written_sectors: u64,
    /// Page programs so far.
    pub programs: u64,
    /// Erases so far.
    pub erases: u64,
    /// Empty blocks at this moment.
    pub free_blocks: u64,
}

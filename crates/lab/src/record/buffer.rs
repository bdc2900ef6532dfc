//! The record's part about the write buffer.

use super::energy::{BufferEnergyRecord, Powers};
use crate::stack::BufferCounts;
use nandlab_buffer::{Accesses, Counts, Placement};
use nandlab_nand::nvm::NvmUsage;
use nandlab_nand::profile::Profile;
use nandlab_nand::Geometry;
use serde::Serialize;

/// Buffer activity during the workload; a request that touches three pages counts as three accesses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BufferRecord {
    /// Pages read entirely from the buffer, or written while partly buffered.
    pub hits: u64,
    /// All other pages read or written.
    pub misses: u64,
    /// Read hits.
    pub read_hits: u64,
    /// Read misses.
    pub read_misses: u64,
    /// Write hits.
    pub write_hits: u64,
    /// Write misses.
    pub write_misses: u64,
    /// Pages moved from one buffer memory to another.
    pub demotions: u64,
    /// Write-backs: batches with dirty pages.
    pub flushes: u64,
    /// Pages in these batches, without padding.
    pub flushed_pages: u64,
    /// Pages read to complete written-back pages.
    pub fill_reads: u64,
    /// Clean pages written back with dirty ones to complete a block.
    pub padded_pages: u64,
    /// Accesses to DRAM.
    pub dram: MemoryRecord,
    /// Accesses to NVRAM, and their cost; null without NVRAM.
    pub nvram: Option<NvramRecord>,
    /// Highest number of dirty DRAM pages for a capacitor to save at power loss.
    pub saving_max: SavingRecord,
    /// The same when the run ends.
    pub saving_at_end: SavingRecord,
    /// Energy for its memories, J; null if `[memory]` states none.
    pub energy_j: Option<BufferEnergyRecord>,
    /// Decisions by a pattern-based policy; null for the others.
    pub placement: Option<PlacementRecord>,
}

/// Memory accesses; a page or a part counts as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryRecord {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// Accesses to NVRAM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NvramRecord {
    /// Reads; a page or a part counts as one.
    pub reads: u64,
    /// Writes; a page or a part counts as one.
    pub writes: u64,
    /// 8-byte words stored, headers included.
    pub stored_words: u64,
    /// Time for all accesses, us.
    pub time_us: f64,
    /// Energy for all accesses, J.
    pub energy_j: f64,
}

impl NvramRecord {
    /// Cost for all accesses between two moments, each counted once, whatever its length.
    pub(crate) fn between(start: &NvmUsage, end: &NvmUsage) -> Self {
        Self {
            reads: end.reads - start.reads,
            writes: end.writes - start.writes,
            stored_words: end.stored_words - start.stored_words,
            time_us: (end.time_ns - start.time_ns) as f64 / 1e3,
            energy_j: (end.energy_nj - start.energy_nj) / 1e9,
        }
    }
}

/// Dirty pages in DRAM at power loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SavingRecord {
    /// Their size in bytes.
    pub bytes: u64,
    /// Time to program them, evenly over all dies, ms.
    pub ms: f64,
}

/// Decisions by a pattern-based policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlacementRecord {
    /// Intervals in the balanced state.
    pub balanced_intervals: u64,
    /// Intervals in the write-intensive state.
    pub write_intensive_intervals: u64,
    /// Requests placed in DRAM.
    pub dram_requests: u64,
    /// Requests placed in NVRAM.
    pub nvram_requests: u64,
    /// Write-intensive share among the intervals; null without intervals.
    pub write_intensive_share: Option<f64>,
    /// Share placed in NVRAM; null without requests.
    pub nvram_share: Option<f64>,
    /// Mean pages written in a row that make an interval write-intensive; a learned threshold has its final
    /// value.
    pub t_state: f64,
    /// Smallest read size placed in NVRAM while balanced.
    pub t_read: f64,
    /// Smallest write size placed in NVRAM while balanced.
    pub t_write: f64,
    /// True if one state, or one place, has less than 1 %: the thresholds do not fit the workload.
    pub degenerate: bool,
}

/// Limit below which a state or a place counts as never used.
const DEGENERATE: f64 = 0.01;

impl PlacementRecord {
    #[doc(hidden)]
    pub fn of(placement: &Placement) -> Self {
        let Placement { balanced_intervals, write_intensive_intervals, dram_requests, nvram_requests, .. } = *placement;
        let share = |part: u64, other: u64| (part + other > 0).then(|| part as f64 / (part + other) as f64);
        let write_intensive_share = share(write_intensive_intervals, balanced_intervals);
        let nvram_share = share(nvram_requests, dram_requests);
        let is_degenerate =
            |share: Option<f64>| share.is_some_and(|share| !(DEGENERATE..=1.0 - DEGENERATE).contains(&share));
        Self {
            balanced_intervals,
            write_intensive_intervals,
            dram_requests,
            nvram_requests,
            write_intensive_share,
            nvram_share,
            t_state: placement.t_state,
            t_read: placement.t_read,
            t_write: placement.t_write,
            degenerate: is_degenerate(write_intensive_share) || is_degenerate(nvram_share),
        }
    }
}

impl MemoryRecord {
    fn of(end: Accesses, start: Accesses) -> Self {
        Self { reads: end.reads - start.reads, writes: end.writes - start.writes }
    }
}

impl BufferRecord {
    /// Activity from `start` to `end`; `saving_us` gives the program time for a page count.
    pub(crate) fn between(
        start: &BufferCounts,
        end: &BufferCounts,
        (geometry, profile): (&Geometry, &Profile),
        powers: Option<&Powers<'_>>,
    ) -> Self {
        let energy_j = powers.map(|powers| BufferEnergyRecord::between(&start.counts, &end.counts, powers));
        let count = |of: fn(&Counts) -> u64| of(&end.counts) - of(&start.counts);
        let saving = |pages: u64| SavingRecord {
            bytes: pages * u64::from(geometry.page_bytes()),
            ms: saving_us(profile, geometry, pages) / 1000.0,
        };
        let accesses = MemoryRecord::of(end.counts.nvram, start.counts.nvram);
        let placement = end.placement.zip(start.placement).map(|(end, start)| {
            PlacementRecord::of(&Placement {
                balanced_intervals: end.balanced_intervals - start.balanced_intervals,
                write_intensive_intervals: end.write_intensive_intervals - start.write_intensive_intervals,
                dram_requests: end.dram_requests - start.dram_requests,
                nvram_requests: end.nvram_requests - start.nvram_requests,
                ..end
            })
        });
        Self {
            hits: count(Counts::hits),
            misses: count(Counts::misses),
            read_hits: count(|counts| counts.read_hits),
            read_misses: count(|counts| counts.read_misses),
            write_hits: count(|counts| counts.write_hits),
            write_misses: count(|counts| counts.write_misses),
            demotions: count(|counts| counts.demotions),
            flushes: count(|counts| counts.flushes),
            flushed_pages: count(|counts| counts.flushed_pages),
            fill_reads: count(|counts| counts.fill_reads),
            padded_pages: count(|counts| counts.padded_pages),
            dram: MemoryRecord::of(end.counts.dram, start.counts.dram),
            nvram: end.nvram.zip(start.nvram).map(|(end, start)| NvramRecord {
                reads: accesses.reads,
                writes: accesses.writes,
                energy_j: energy_j.and_then(|used| used.nvram).map_or(0.0, |nvram| nvram.dynamic()),
                ..NvramRecord::between(&start, &end)
            }),
            saving_max: saving(end.counts.dirty_dram_pages_max),
            saving_at_end: saving(end.counts.dirty_dram_pages),
            energy_j,
            placement,
        }
    }
}

/// Time to program this many pages, evenly over all dies, us. Transfers on a channel run one after another, and
/// so do programs on a die.
fn saving_us(profile: &Profile, geometry: &Geometry, pages: u64) -> f64 {
    let timing = &profile.timing;
    let (dies, channels) = (u64::from(geometry.dies()), u64::from(geometry.shape().channels));
    let bytes = f64::from(geometry.page_bytes() + geometry.shape().spare_bytes);
    let transfer_us = timing.transfer_ns_per_byte * bytes / 1000.0;
    let programs = pages.div_ceil(dies) as f64 * (timing.program_us + transfer_us);
    programs.max(pages.div_ceil(channels) as f64 * transfer_us)
}

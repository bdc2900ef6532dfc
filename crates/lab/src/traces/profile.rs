//! WAP-LRU's prior profiling on a trace: write runs, sizes, and the thresholds for an interval.

use super::{explained, wrong, Watch};
use crate::error::LabError;
use crate::json;
use crate::record::PlacementRecord;
use nandlab_block::{Op, Request};
use nandlab_buffer::wap_lru::profile::{percentile, Interval, Look, Profiled, Profiler, Thresholds};
use nandlab_buffer::wap_lru::{Config as WapLru, Frequency, SizeUnit};
use nandlab_nand::SECTOR_BYTES;
use nandlab_workload::trace::Config;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Options for trace profiling.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileOptions {
    /// Interval lengths in requests; each gets its own thresholds.
    pub intervals: Vec<u32>,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Divisor for the written pages.
    pub fw: Frequency,
    /// Unit for sizes.
    pub size_unit: SizeUnit,
}

/// Most interval lengths in one pass.
const MOST_INTERVALS: usize = 32;

impl ProfileOptions {
    /// Parses the options from a JSON object.
    ///
    /// # Errors
    /// [`LabError::Config`].
    pub fn from_json(text: &str) -> Result<Self, LabError> {
        let options: Self = serde_json::from_str(text).map_err(|error| wrong(format!("no way to profile: {error}")))?;
        let page = options.page_bytes;
        if page < SECTOR_BYTES || !page.is_power_of_two() || page > 64 * SECTOR_BYTES {
            return Err(wrong(format!(
                "a page of {page} bytes is none of a device with a buffer: 512, 1024, 2048 and so on up to 32768"
            )));
        }
        if options.intervals.is_empty() || options.intervals.len() > MOST_INTERVALS || options.intervals.contains(&0) {
            return Err(wrong(format!("intervals are 1 to {MOST_INTERVALS} numbers of requests, each 1 or more")));
        }
        Ok(options)
    }

    fn look(&self, interval: u32) -> Look {
        let sectors_per_page = self.page_bytes / SECTOR_BYTES;
        Look { interval, fw: self.fw, size_unit: self.size_unit, sectors_per_page }
    }
}

#[derive(Serialize)]
struct Told {
    file: String,
    format: &'static str,
    reads: u64,
    writes: u64,
    page_bytes: u32,
    fw: Frequency,
    size_unit: SizeUnit,
    /// Total sizes per write run, uninterrupted by a read.
    runs: Option<Spread>,
    read_sizes: Option<Spread>,
    write_sizes: Option<Spread>,
    intervals: Vec<OfInterval>,
    notices: Vec<String>,
}

/// Distribution: values and their counts.
#[derive(Serialize)]
struct Spread {
    count: u64,
    mean: f64,
    p25: f64,
    p50: f64,
    p75: f64,
    p99: f64,
    max: f64,
    /// Upper bounds (powers of two), and the number of values up to each.
    buckets: Vec<(f64, u64)>,
}

impl Spread {
    /// From values in ascending order, each with its count.
    fn of(values: &(impl Iterator<Item = (u64, u64)> + Clone)) -> Option<Self> {
        let count: u64 = values.clone().map(|(_, count)| count).sum();
        if count == 0 {
            return None;
        }
        let at = |share: f64| {
            let wanted = (share * count as f64).ceil().max(1.0) as u64;
            let mut seen = 0;
            let found = values.clone().find(|(_, count)| {
                seen += count;
                seen >= wanted
            });
            found.map_or(0.0, |(value, _)| value as f64)
        };
        let mut buckets: Vec<(f64, u64)> = Vec::new();
        for (value, count) in values.clone().filter(|(_, count)| *count > 0) {
            let end = value.next_power_of_two() as f64;
            match buckets.last_mut() {
                Some((last, sum)) if *last == end => *sum += count,
                _ => buckets.push((end, count)),
            }
        }
        let sum: f64 = values.clone().map(|(value, count)| value as f64 * count as f64).sum();
        let mean = sum / count as f64;
        Some(Self { count, mean, p25: at(0.25), p50: at(0.5), p75: at(0.75), p99: at(0.99), max: at(1.0), buckets })
    }
}

/// Results for one interval length.
#[derive(Serialize)]
struct OfInterval {
    interval: u32,
    /// Number of intervals.
    count: usize,
    t_state: Option<f64>,
    t_read: Option<f64>,
    t_write: Option<f64>,
    /// Interval values in ascending order, at most 200.
    w_eval: Vec<f64>,
    longest_read: Vec<f64>,
    longest_write: Vec<f64>,
    /// The buffer's decisions with these thresholds.
    placement: Option<PlacementRecord>,
}

/// Most points on a curve.
const POINTS: usize = 200;

/// Values in ascending order, at evenly spaced shares.
fn curve(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_unstable_by(f64::total_cmp);
    if all.len() <= POINTS {
        return all;
    }
    (0..POINTS).map(|at| percentile(&all, at as f64 / (POINTS - 1) as f64)).collect()
}

/// WAP-LRU's thresholds and statistics for a trace, as JSON; `docs/buffers.md` describes the keys.
///
/// # Errors
/// [`LabError`]: the options, the file, a record, or a trace without reads and writes.
pub fn profile(config: &Config, base: &Path, options: &ProfileOptions, watch: Watch<'_>) -> Result<String, LabError> {
    let mut profilers: Vec<Profiler> =
        options.intervals.iter().map(|&interval| Profiler::new(options.look(interval))).collect();
    let mut counts = [0_u64; 2];
    let (format, notices) = each_request(config, base, watch, |request| {
        counts[usize::from(request.op == Op::Write)] += 1;
        profilers.iter_mut().for_each(|profiler| profiler.add(request));
    })?;
    let [reads, writes] = counts;
    if reads + writes == 0 {
        return Err(wrong(format!("{}: there are no reads and writes to learn from", config.source(base))));
    }
    let profiled: Vec<Profiled> = profilers.into_iter().map(Profiler::finish).collect();
    let placements = placements(config, base, options, &profiled, watch)?;
    let first = &profiled[0];
    let counted = |counts: &BTreeMap<u64, u64>| Spread::of(&counts.iter().map(|(&value, &count)| (value, count)));
    let told = Told {
        file: config.source(base),
        format,
        reads,
        writes,
        page_bytes: options.page_bytes,
        fw: options.fw,
        size_unit: options.size_unit,
        runs: counted(&first.runs),
        read_sizes: counted(&first.reads),
        write_sizes: counted(&first.writes),
        intervals: options
            .intervals
            .iter()
            .zip(&profiled)
            .zip(placements)
            .map(|((&interval, profiled), placement)| of_interval(interval, profiled, placement))
            .collect(),
        notices,
    };
    Ok(json::text(&told))
}

/// Visits a trace's reads and writes; returns its format and the ignored records.
fn each_request(
    config: &Config,
    base: &Path,
    watch: Watch<'_>,
    mut take: impl FnMut(&Request),
) -> Result<(&'static str, Vec<String>), LabError> {
    let mut records = config.records(base).map_err(explained)?;
    let mut seen = 0_u64;
    while let Some((request, _)) = records.next_request().map_err(explained)? {
        seen += 1;
        if seen % (1 << 16) == 1 && !watch(seen) {
            return Err(explained(nandlab_workload::WorkloadError::Stopped));
        }
        if matches!(request.op, Op::Read | Op::Write) {
            take(&request);
        }
    }
    Ok((records.format().name(), records.notices()))
}

/// The buffer's decisions with the thresholds for each interval length.
fn placements(
    config: &Config,
    base: &Path,
    options: &ProfileOptions,
    profiled: &[Profiled],
    watch: Watch<'_>,
) -> Result<Vec<PlacementRecord>, LabError> {
    let none = Thresholds { t_state: 0.0, t_read: 0.0, t_write: 0.0 };
    let mut deciders: Vec<_> = options
        .intervals
        .iter()
        .zip(profiled)
        .map(|(&interval, profiled)| {
            let found = Thresholds::of(&profiled.intervals, none);
            let sizes = WapLru { interval, fw: options.fw, size_unit: options.size_unit, ..WapLru::default() };
            sizes.decider(found, options.page_bytes / SECTOR_BYTES)
        })
        .collect();
    each_request(config, base, watch, |request| deciders.iter_mut().for_each(|decider| decider.take(request)))?;
    Ok(deciders.iter().map(|decider| PlacementRecord::of(&decider.placement())).collect())
}

fn of_interval(interval: u32, profiled: &Profiled, placement: PlacementRecord) -> OfInterval {
    let all = &profiled.intervals;
    let none = Thresholds { t_state: f64::NAN, t_read: f64::NAN, t_write: f64::NAN };
    let found = Thresholds::of(all, none);
    let known = |threshold: f64| Some(threshold).filter(|threshold| !threshold.is_nan());
    let longest = |of: fn(&Interval) -> Option<u64>| curve(all.iter().filter_map(of).map(|size| size as f64));
    OfInterval {
        interval,
        count: all.len(),
        t_state: known(found.t_state),
        t_read: known(found.t_read),
        t_write: known(found.t_write),
        w_eval: curve(all.iter().filter_map(|one| one.w_eval)),
        longest_read: longest(|one| one.longest_read),
        longest_write: longest(|one| one.longest_write),
        placement: Some(placement),
    }
}

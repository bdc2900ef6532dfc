//! Trace statistics: counts, addresses, sizes, times, skew.

use super::heat::Heat;
use super::{explained, Watch};
use crate::error::{ConfigError, LabError};
use crate::json;
use crate::latency::RecordedMeter;
use crate::record::Latencies;
use hdrhistogram::Histogram;
use nandlab_block::{Op, Request};
use nandlab_workload::trace::{Config, Summary, Took};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Options for trace statistics.
#[derive(Clone, Copy, Debug)]
pub struct InfoOptions {
    /// Page size in bytes: the unit for footprint, overwrites, alignment and skew.
    pub page_bytes: u64,
    /// Whether to make the pictures, which takes a second pass.
    pub pictures: bool,
}

const SECTOR: u64 = 512;

/// log2(sectors in each device's address space); the limit for a trace.
const DEVICE_SECTORS: u32 = 49;

/// Columns in the picture "addresses over time".
const COLUMNS: u64 = 160;
const ROWS: u64 = 90;

/// Shares among the written pages in the skew table.
const SHARES: [f64; 6] = [0.01, 0.05, 0.1, 0.2, 0.5, 1.0];

#[derive(Serialize)]
struct Info {
    file: String,
    #[serde(flatten)]
    summary: Summary,
    span_s: f64,
    lowest_sector: u64,
    page_bytes: u64,
    footprint: Footprint,
    overwrites: Overwrites,
    sequential: BTreeMap<&'static str, f64>,
    alignment: BTreeMap<&'static str, f64>,
    size_bytes: BTreeMap<&'static str, Distribution>,
    inter_arrival_us: Option<Distribution>,
    /// Recorded latencies: from a request's arrival to its end, and in the device alone.
    recorded_latency_us: Option<Latencies>,
    recorded_service_us: Option<Latencies>,
    /// For each share among the most-written pages, its share in the writes.
    skew: Vec<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pictures: Option<Pictures>,
}

#[derive(Serialize)]
struct Footprint {
    /// Sampling rate: one stretch (256 pages) in this many was counted; 1 if all were.
    one_in: u64,
    touched_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
}

#[derive(Serialize)]
struct Overwrites {
    page_writes: u64,
    mean: f64,
    most: u32,
}

#[derive(Serialize)]
struct Distribution {
    count: u64,
    mean: f64,
    min: f64,
    p10: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
    /// Upper bounds (powers of two, in the distribution's unit), and the number of values up to each.
    buckets: Vec<(f64, u64)>,
}

#[derive(Serialize)]
struct Pictures {
    /// Cell size in seconds and bytes.
    cell_s: f64,
    cell_bytes: f64,
    /// Column, row, sectors read, sectors written.
    cells: Vec<(u64, u64, u64, u64)>,
    /// Each stretch's middle address, and mean writes per written page.
    heat: Vec<(f64, f64)>,
}

/// First-pass counters.
struct Look {
    page_sectors: u64,
    heat: Heat,
    lowest: u64,
    last_ns: Option<u64>,
    gaps: Histogram<u64>,
    sizes: [Histogram<u64>; 2],
    /// By device: where its last read ended, and its last write.
    ends: Vec<[u64; 2]>,
    follows: [u64; 2],
    aligned_start: u64,
    aligned_size: u64,
    aligned: u64,
    page_writes: u64,
    recorded: RecordedMeter,
}

fn histogram(most: u64) -> Histogram<u64> {
    Histogram::new_with_bounds(1, most, 3).expect("the bounds of a histogram are constants")
}

impl Look {
    fn new(page_sectors: u64) -> Self {
        Self {
            page_sectors,
            heat: Heat::default(),
            lowest: u64::MAX,
            last_ns: None,
            gaps: histogram(1 << 62),
            sizes: [histogram(1 << 32), histogram(1 << 32)],
            ends: Vec::new(),
            follows: [0; 2],
            aligned_start: 0,
            aligned_size: 0,
            aligned: 0,
            page_writes: 0,
            recorded: RecordedMeter::default(),
        }
    }

    fn add(&mut self, request: &Request, device: u32, took: Option<Took>) {
        if let Some(took) = took {
            self.recorded.add(request.op, took);
        }
        if let Some(last) = self.last_ns.replace(request.time) {
            self.gaps.saturating_record((request.time - last).max(1));
        }
        if !matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        let kind = usize::from(request.op == Op::Write);
        let sectors = u64::from(request.sectors);
        self.sizes[kind].saturating_record(sectors);
        self.lowest = self.lowest.min(request.sector);
        let number = device as usize;
        if self.ends.len() <= number {
            self.ends.resize(number + 1, [u64::MAX; 2]);
        }
        self.follows[kind] += u64::from(self.ends[number][kind] == request.sector);
        self.ends[number][kind] = request.end();
        let page = self.page_sectors;
        let (start, size) = (request.sector % page == 0, sectors % page == 0);
        self.aligned_start += u64::from(start);
        self.aligned_size += u64::from(size);
        self.aligned += u64::from(start && size);
        let space = (u64::from(device) << DEVICE_SECTORS) / page;
        let (first, end) = (request.sector / page, request.end().div_ceil(page));
        self.heat.add(space + first, space + end, kind == 1);
        self.page_writes += if kind == 1 { end - first } else { 0 };
    }
}

/// Distribution for the values in `histogram`, scaled by `unit`.
fn distribution(histogram: &Histogram<u64>, unit: f64) -> Option<Distribution> {
    if histogram.is_empty() {
        return None;
    }
    let at = |share: f64| histogram.value_at_quantile(share) as f64 * unit;
    let mut buckets: BTreeMap<u32, u64> = BTreeMap::new();
    for value in histogram.iter_recorded() {
        let power = value.value_iterated_to().next_power_of_two().trailing_zeros();
        *buckets.entry(power).or_default() += value.count_at_value();
    }
    Some(Distribution {
        count: histogram.len(),
        mean: histogram.mean() * unit,
        min: histogram.min() as f64 * unit,
        p10: at(0.1),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: histogram.max() as f64 * unit,
        buckets: buckets.into_iter().map(|(power, count)| ((power as f64).exp2() * unit, count)).collect(),
    })
}

/// For each share in [`SHARES`] among the written pages, most-written first, its share in the writes.
fn skew(heat: &Heat) -> Vec<(f64, f64)> {
    let mut by_writes: BTreeMap<u32, u64> = BTreeMap::new();
    for (_, writes, _) in heat.pages().filter(|page| page.1 > 0) {
        *by_writes.entry(writes).or_default() += 1;
    }
    let units: u64 = by_writes.values().sum();
    let all: f64 = by_writes.iter().map(|(&writes, &units)| f64::from(writes) * units as f64).sum();
    if units == 0 {
        return Vec::new();
    }
    let share_of = |share: f64| {
        let mut left = (units as f64 * share).ceil();
        let mut taken = 0.0;
        for (&writes, &units) in by_writes.iter().rev() {
            let some = left.min(units as f64);
            taken += some * f64::from(writes);
            left -= some;
        }
        taken / all
    };
    SHARES.iter().map(|&share| (share, share_of(share))).collect()
}

/// Trace statistics, as JSON; `docs/traces.md` describes the keys.
///
/// # Errors
/// [`LabError`]: the options, the file, a record.
pub fn info(config: &Config, base: &Path, options: InfoOptions, watch: Watch<'_>) -> Result<String, LabError> {
    let page = options.page_bytes;
    if page < SECTOR || page % SECTOR != 0 || page > 1 << 30 {
        let message = format!("a page of {page} bytes is no whole number of sectors of 512 bytes up to 1 GiB");
        return Err(ConfigError { message, ..Default::default() }.into());
    }
    let mut look = Look::new(page / SECTOR);
    let mut records = config.records(base).map_err(explained)?;
    let summary =
        Summary::of(&mut records, watch, |request, device, took| look.add(request, device, took)).map_err(explained)?;
    // The same errors as in a run.
    config.check_requests(base, &summary).map_err(explained)?;
    let pictures = options.pictures.then(|| pictures(config, base, &summary, &look, watch)).transpose()?;
    let info = described(config, base, summary, &look, pictures);
    Ok(json::text(&info))
}

fn described(config: &Config, base: &Path, summary: Summary, look: &Look, pictures: Option<Pictures>) -> Info {
    let one_in = look.heat.one_in();
    let stands_for = one_in * look.page_sectors * SECTOR;
    let mut footprint = Footprint { one_in, touched_bytes: 0, read_bytes: 0, written_bytes: 0 };
    let (mut most, mut writes_in_all, mut written_pages) = (0, 0, 0u64);
    for (_, writes, was_read) in look.heat.pages() {
        footprint.touched_bytes += stands_for;
        footprint.read_bytes += if was_read { stands_for } else { 0 };
        footprint.written_bytes += if writes > 0 { stands_for } else { 0 };
        most = most.max(writes);
        writes_in_all += u64::from(writes);
        written_pages += u64::from(writes > 0);
    }
    let part = |count: u64, all: u64| if all == 0 { 0.0 } else { count as f64 / all as f64 };
    let transfers = summary.reads + summary.writes;
    let names = ["read", "write"];
    let sizes = names.iter().zip(&look.sizes).filter_map(|(&name, sizes)| Some((name, distribution(sizes, 512.0)?)));
    Info {
        file: config.source(base),
        span_s: (summary.last_ns - summary.first_ns) as f64 / 1e9,
        lowest_sector: if transfers == 0 { 0 } else { look.lowest },
        page_bytes: look.page_sectors * SECTOR,
        overwrites: Overwrites { page_writes: look.page_writes, mean: part(writes_in_all, written_pages), most },
        footprint,
        sequential: BTreeMap::from([
            ("reads", part(look.follows[0], summary.reads)),
            ("writes", part(look.follows[1], summary.writes)),
            ("all", part(look.follows[0] + look.follows[1], transfers)),
        ]),
        alignment: BTreeMap::from([
            ("start", part(look.aligned_start, transfers)),
            ("size", part(look.aligned_size, transfers)),
            ("both", part(look.aligned, transfers)),
        ]),
        size_bytes: sizes.collect(),
        inter_arrival_us: distribution(&look.gaps, 1e-3),
        recorded_latency_us: look.recorded.latencies(),
        recorded_service_us: look.recorded.services(),
        skew: skew(&look.heat),
        summary,
        pictures,
    }
}

/// The pictures, from a second pass: only the first pass reveals their extent.
fn pictures(
    config: &Config,
    base: &Path,
    summary: &Summary,
    look: &Look,
    watch: Watch<'_>,
) -> Result<Pictures, LabError> {
    let (starts, end) = summary.side_by_side();
    let cell_ns = ((summary.last_ns - summary.first_ns) / COLUMNS + 1).max(1);
    let cell_sectors = (end / ROWS + 1).max(1);
    let mut cells: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
    let mut records = config.records(base).map_err(explained)?;
    let mut seen = 0u64;
    while let Some((request, device)) = records.next_request().map_err(explained)? {
        seen += 1;
        if seen % (1 << 16) == 0 && !watch(seen) {
            return Err(explained(nandlab_workload::WorkloadError::Stopped));
        }
        let sectors = u64::from(request.sectors);
        let at = request.sector + starts[device as usize];
        let cell = ((request.time - summary.first_ns) / cell_ns, at / cell_sectors);
        match request.op {
            Op::Read => cells.entry(cell).or_default().0 += sectors,
            Op::Write | Op::Append => cells.entry(cell).or_default().1 += sectors,
            Op::Trim | Op::Flush | Op::UnitUpdate | Op::Zone(_) => {}
        }
    }
    let mut stretches: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    let page = look.page_sectors;
    let stretch = (end / (2 * ROWS) + 1).max(page);
    for (number, writes, _) in look.heat.pages().filter(|page| page.1 > 0) {
        let sector = number * page;
        let device = (sector >> DEVICE_SECTORS) as usize;
        let at = (sector & ((1 << DEVICE_SECTORS) - 1)) + starts.get(device).copied().unwrap_or(0);
        let sum = stretches.entry(at / stretch).or_default();
        *sum = (sum.0 + f64::from(writes), sum.1 + 1.0);
    }
    let middle = |number: u64| (number as f64 + 0.5) * (stretch * SECTOR) as f64;
    Ok(Pictures {
        cell_s: cell_ns as f64 / 1e9,
        cell_bytes: (cell_sectors * SECTOR) as f64,
        cells: cells.into_iter().map(|((column, row), (read, written))| (column, row, read, written)).collect(),
        heat: stretches.into_iter().map(|(number, (writes, units))| (middle(number), writes / units)).collect(),
    })
}

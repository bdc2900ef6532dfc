//! A run by windows: its estimates for the whole workload, means with intervals.

use nandlab_nand::{Time, SECTOR_BYTES};
use serde::Serialize;

/// Least windows for an interval.
const LEAST: usize = 3;
/// Least batches with several windows; with fewer Student's t alone widens the interval.
const LEAST_BATCHES: usize = 5;
/// A normal deviate beyond this comes once in a hundred tests by chance.
const RARE: f64 = 2.576;
/// The trend is sought in at most this many means of neighbouring windows.
const MOST_COMPARED: usize = 500;

/// Estimates for the whole workload. All other counts in the record belong to the simulated requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampledRecord {
    /// Windows measured.
    pub windows: u64,
    /// Requests in the windows.
    pub measured: u64,
    /// Requests simulated: in the windows and their warm-ups. All other counts in the record are theirs.
    pub simulated: u64,
    /// Requests in the whole workload.
    pub requests: u64,
    /// The simulated share.
    pub simulated_share: f64,
    /// Simulated time for the whole workload, jumps included, us; null without time, and if the run was stopped.
    pub time_us: Option<f64>,
    /// Write amplification; null if no window wrote. This and the other estimates are null with fewer than three windows.
    pub waf: Option<Estimate>,
    /// Mean latency over all requests, us; null without time.
    pub mean_us: Option<Estimate>,
    /// 99th percentile latency in a window, its mean over windows, us; null without time.
    pub p99_us: Option<Estimate>,
    /// Requests a second; null without time.
    pub requests_per_s: Option<Estimate>,
    /// Erases per byte written by the host; null if no window wrote.
    pub erases_per_byte: Option<Estimate>,
    /// Projected erases for the whole workload.
    pub erases: Option<Estimate>,
    /// Projected P/E cycles for the mean block over the whole workload.
    pub pe_cycles: Option<Estimate>,
    /// Estimates whose windows rise or fall along the run, by name (the test of Mann and Kendall at 1 %, or the first
    /// third's interval beyond the last third's): their intervals do not cover such a course.
    pub trends: Vec<&'static str>,
}

/// A mean over windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval, by batch means.
    pub half_width: f64,
}

/// One window's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowFigures {
    /// Page programs.
    pub programs: u64,
    /// Block erases.
    pub erases: f64,
    /// Sectors written by the host.
    pub written_sectors: u64,
    /// Requests answered, and the time from the last answer before the window to its own last one, ns; `None` without time.
    pub answered: Option<(u64, Time)>,
    /// Mean and 99th percentile latency, us.
    pub latency: Option<(f64, f64)>,
}

/// The windows' place in the workload and on the device.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// Requests in one window.
    pub window: u64,
    /// Requests simulated.
    pub simulated: u64,
    /// Requests in the whole workload.
    pub requests: u64,
    /// Sectors per page.
    pub sectors_per_page: u32,
    /// The device's blocks.
    pub blocks: u32,
    /// Simulated time for the whole workload, us.
    pub time_us: Option<f64>,
}

impl SampledRecord {
    /// From the windows in their order.
    pub fn of(windows: &[WindowFigures], sampled: &Sampled) -> Self {
        let per_sector = f64::from(sampled.sectors_per_page);
        let waf = ratios(windows, |one| Some((one.programs as f64 * per_sector, one.written_sectors as f64)));
        let mean_us = figures(windows, |one| one.latency.map(|latency| latency.0));
        let p99_us = figures(windows, |one| one.latency.map(|latency| latency.1));
        let answered = |(requests, time): (u64, Time)| (requests as f64, time as f64 / 1e9);
        let requests_per_s = ratios(windows, |one| one.answered.map(answered));
        let bytes = |one: &WindowFigures| one.written_sectors as f64 * f64::from(SECTOR_BYTES);
        let per_byte = ratios(windows, |one| Some((one.erases, bytes(one))));
        let per_request =
            figures(windows, |one| Some(one.erases / sampled.window as f64)).as_deref().and_then(estimate);
        let whole = |factor: f64| per_request.map(|one| one.times(factor));
        let named = [("waf", &waf), ("mean_us", &mean_us), ("p99_us", &p99_us), ("requests_per_s", &requests_per_s)];
        let trends = named.iter().filter(|(_, values)| values.as_deref().is_some_and(has_trend));
        let requests = sampled.requests as f64;
        Self {
            windows: windows.len() as u64,
            measured: windows.len() as u64 * sampled.window,
            simulated: sampled.simulated,
            requests: sampled.requests,
            simulated_share: sampled.simulated as f64 / requests.max(1.0),
            time_us: sampled.time_us,
            erases_per_byte: per_byte.as_deref().and_then(estimate),
            erases: whole(requests),
            pe_cycles: whole(requests / f64::from(sampled.blocks.max(1))),
            trends: trends.map(|&(name, _)| name).collect(),
            waf: waf.as_deref().and_then(estimate),
            mean_us: mean_us.as_deref().and_then(estimate),
            p99_us: p99_us.as_deref().and_then(estimate),
            requests_per_s: requests_per_s.as_deref().and_then(estimate),
        }
    }
}

impl Estimate {
    fn times(&self, factor: f64) -> Self {
        Self { mean: self.mean * factor, half_width: self.half_width * factor }
    }
}

/// One figure by window, if all have it.
fn figures(windows: &[WindowFigures], of: impl Fn(&WindowFigures) -> Option<f64>) -> Option<Vec<f64>> {
    windows.iter().map(of).collect()
}

/// A ratio of sums over the windows, such as requests by time: a value by window whose mean is the ratio, and whose spread is
/// that of the residuals (W. Cochran, Sampling Techniques, 1977, section 6.3). `None` if a window lacks a part, or all
/// parts below the line are zero.
fn ratios(windows: &[WindowFigures], of: impl Fn(&WindowFigures) -> Option<(f64, f64)>) -> Option<Vec<f64>> {
    let parts: Vec<(f64, f64)> = windows.iter().map(of).collect::<Option<_>>()?;
    let (above, below) = parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    if below <= 0.0 {
        return None;
    }
    let (ratio, usual) = (above / below, below / parts.len() as f64);
    Some(parts.iter().map(|part| ratio + (part.0 - ratio * part.1) / usual).collect())
}

/// The mean with its 95 % confidence interval by batch means; `None` for fewer than three windows.
///
/// Each window is a batch at first. Neighbouring windows may resemble each other, because the device remembers what was
/// written. So batches of two, four, ... windows are tried as well, as long as five are left, and the widest interval counts.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    if values.len() < LEAST {
        return None;
    }
    let mut batches = values.to_vec();
    let mut half_width = half_width_of(&batches);
    while batches.len() / 2 >= LEAST_BATCHES {
        batches = batches.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        half_width = half_width.max(half_width_of(&batches));
    }
    Some(Estimate { mean: mean_of(values), half_width })
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Half the interval around independent batches' mean, with one degree of freedom fewer than batches.
fn half_width_of(batches: &[f64]) -> f64 {
    let (mean, freedom) = (mean_of(batches), batches.len() - 1);
    let squares: f64 = batches.iter().map(|batch| (batch - mean).powi(2)).sum();
    student_t(freedom) * (squares / (batches.len() as f64 * freedom as f64)).sqrt()
}

/// The 97.5 % point of Student's t. From 5 degrees of freedom on, by the expansion of Fisher and Cornish (1960), which
/// is exact to 0.02 % there.
///
/// # Panics
/// Below two degrees of freedom.
pub fn student_t(freedom: usize) -> f64 {
    const FEW: [f64; 3] = [4.302_653, 3.182_446, 2.776_445];
    const Z: f64 = 1.959_963_985;
    assert!(freedom >= 2, "Student's t is asked for 2 degrees of freedom or more");
    if let Some(&known) = FEW.get(freedom - 2) {
        return known;
    }
    let (n, square) = (freedom as f64, Z * Z);
    let first = (square + 1.0) / 4.0;
    let second = ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    let fourth = ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0) / 92_160.0;
    Z * (1.0 + (first + (second + (third + fourth / n) / n) / n) / n)
}

/// Whether the values rise or fall along their order: by the test of Mann and Kendall at 1 %, or because the first
/// third's interval lies beyond the last third's. Fewer than six values cannot show it.
pub fn has_trend(values: &[f64]) -> bool {
    let size = values.len().div_ceil(MOST_COMPARED).max(1);
    let values: Vec<f64> = values.chunks(size).map(mean_of).collect();
    rises_or_falls(&values) || thirds_differ(&values)
}

fn rises_or_falls(values: &[f64]) -> bool {
    let later = |at: usize| values[at + 1..].iter().map(move |value| (at, value));
    let pairs = (0..values.len()).flat_map(later);
    let score: i64 = pairs.map(|(at, &value)| i64::from(value > values[at]) - i64::from(value < values[at])).sum();
    let count = values.len() as f64;
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
    score.unsigned_abs().saturating_sub(1) as f64 > RARE * variance.sqrt()
}

fn thirds_differ(values: &[f64]) -> bool {
    let third = values.len() / 3;
    let (first, last) = (estimate(&values[..third]), estimate(&values[values.len() - third..]));
    first.zip(last).is_some_and(|(first, last)| (first.mean - last.mean).abs() > first.half_width + last.half_width)
}

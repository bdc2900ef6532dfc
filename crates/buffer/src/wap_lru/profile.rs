//! Profiling for WAP-LRU before a run: interval statistics, and thresholds derived from them.

pub use super::tally::Interval;
use super::tally::{Frequency, SizeUnit, Sizes, Tally};
use nandlab_block::{Op, Request};
use std::collections::BTreeMap;

/// Profiling options: the interval, and interpretations of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Requests per interval.
    pub interval: u32,
    /// Divisor for the pages written.
    pub fw: Frequency,
    /// Request size unit.
    pub size_unit: SizeUnit,
    /// Sectors per page.
    pub sectors_per_page: u32,
}

/// Thresholds for the state, for reads and for writes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// Threshold for a write-intensive interval: mean pages per write run.
    pub t_state: f64,
    /// Minimum size for reads placed in NVRAM while balanced.
    pub t_read: f64,
    /// Minimum size for writes placed in NVRAM while balanced.
    pub t_write: f64,
}

impl Thresholds {
    /// The paper's recipe. The state threshold is the 75th percentile of pages per write run. The read and
    /// write thresholds are the mean of median and 75th percentile of the longest request per interval.
    /// Values missing from `intervals` come from `before`.
    pub fn of(intervals: &[Interval], before: Self) -> Self {
        let state = sorted(intervals.iter().filter_map(|interval| interval.w_eval));
        let middle = |longest: fn(&Interval) -> Option<u64>| {
            let all = sorted(intervals.iter().filter_map(longest).map(|size| size as f64));
            (!all.is_empty()).then(|| f64::midpoint(percentile(&all, 0.5), percentile(&all, 0.75)))
        };
        Self {
            t_state: if state.is_empty() { before.t_state } else { percentile(&state, 0.75) },
            t_read: middle(|interval| interval.longest_read).unwrap_or(before.t_read),
            t_write: middle(|interval| interval.longest_write).unwrap_or(before.t_write),
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// The `share` percentile in sorted values, with linear interpolation.
///
/// # Panics
/// If there are no values.
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// Profiles requests before a run.
#[derive(Clone, Debug)]
pub struct Profiler {
    sizes: Sizes,
    tally: Tally,
    intervals: Vec<Interval>,
    /// Completed write runs by page count, and the current run's pages.
    runs: BTreeMap<u64, u64>,
    run: u64,
    sizes_of: [BTreeMap<u64, u64>; 2],
}

impl Profiler {
    /// A profiler without requests.
    pub fn new(look: Look) -> Self {
        Self {
            sizes: Sizes::new(look.size_unit, look.sectors_per_page.into()),
            tally: Tally::new(look.interval, look.fw),
            intervals: Vec::new(),
            runs: BTreeMap::new(),
            run: 0,
            sizes_of: [BTreeMap::new(), BTreeMap::new()],
        }
    }

    /// Adds the next request; requests other than reads and writes are ignored.
    pub fn add(&mut self, request: &Request) {
        if !matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        let is_write = request.op == Op::Write;
        let (size, pages) = self.sizes.of(request, is_write);
        *self.sizes_of[usize::from(is_write)].entry(size).or_default() += 1;
        match is_write {
            true => self.run += pages,
            false => self.end_run(),
        }
        self.intervals.extend(self.tally.note(is_write, size, pages));
    }

    fn end_run(&mut self) {
        if self.run > 0 {
            *self.runs.entry(self.run).or_default() += 1;
            self.run = 0;
        }
    }

    /// The results; an incomplete interval counts only if it is the only one.
    pub fn finish(mut self) -> Profiled {
        if self.intervals.is_empty() {
            self.intervals.extend(self.tally.end());
        }
        self.end_run();
        let [reads, writes] = self.sizes_of;
        Profiled { intervals: self.intervals, runs: self.runs, reads, writes }
    }
}

/// Workload summary from a [`Profiler`].
#[derive(Clone, PartialEq, Debug)]
pub struct Profiled {
    /// The intervals, in order.
    pub intervals: Vec<Interval>,
    /// Write runs without a read in between, by page count.
    pub runs: BTreeMap<u64, u64>,
    /// Reads by size.
    pub reads: BTreeMap<u64, u64>,
    /// Writes by size.
    pub writes: BTreeMap<u64, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, page: u64, pages: u32) -> Request {
        Request::new(op, page * 8, pages * 8)
    }

    fn look(interval: u32) -> Look {
        Look { interval, fw: Frequency::Runs, size_unit: SizeUnit::Page, sectors_per_page: 8 }
    }

    const NONE: Thresholds = Thresholds { t_state: 7.0, t_read: 8.0, t_write: 9.0 };

    #[test]
    fn percentiles_are_linear_between_values() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert_eq!([0.0, 0.5, 0.75, 1.0].map(|share| percentile(&values, share)), [1.0, 3.0, 5.0, 8.0]);
    }

    #[test]
    fn an_interval_is_its_runs_of_writes_and_its_longest_requests() {
        let mut profiler = Profiler::new(look(4));
        // Two runs of 3 + 1 and 2 pages, then only reads; the incomplete last interval is dropped.
        for (op, pages) in [
            (Op::Write, 3),
            (Op::Write, 1),
            (Op::Read, 5),
            (Op::Write, 2),
            (Op::Read, 1),
            (Op::Flush, 0),
            (Op::Read, 2),
            (Op::Read, 9),
            (Op::Read, 1),
            (Op::Write, 100),
        ] {
            profiler.add(&request(op, 0, pages));
        }
        let profiled = profiler.finish();
        let first = Interval { w_eval: Some(3.0), longest_read: Some(5), longest_write: Some(3), written: 6 };
        let second = Interval { w_eval: None, longest_read: Some(9), longest_write: None, written: 0 };
        assert_eq!(profiled.intervals, [first, second]);
        assert_eq!(profiled.runs, BTreeMap::from([(2, 1), (4, 1), (100, 1)]));
        assert_eq!((profiled.reads[&1], profiled.reads[&9], profiled.writes[&2]), (2, 1, 1));
        // Reads of 5 and 9: median 7, 75th percentile 8.
        let expected = Thresholds { t_state: 3.0, t_read: 7.5, t_write: 3.0 };
        assert_eq!(Thresholds::of(&profiled.intervals, NONE), expected);
        assert_eq!(Thresholds::of(&[second], NONE), Thresholds { t_read: 9.0, ..NONE });
        assert_eq!(Thresholds::of(&[], NONE), NONE);
    }

    #[test]
    fn a_workload_shorter_than_an_interval_is_one() {
        let mut profiler = Profiler::new(look(1000));
        profiler.add(&request(Op::Write, 0, 6));
        let expected = Interval { w_eval: Some(6.0), longest_read: None, longest_write: Some(6), written: 6 };
        assert_eq!(profiler.finish().intervals, [expected]);
        assert_eq!(Profiler::new(look(1000)).finish().intervals, []);
    }
}

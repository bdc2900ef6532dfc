//! How long requests took.

use crate::record::{Latencies, LatencyHistograms, LatencySummary};
use hdrhistogram::Histogram;
use nandlab_block::{Completion, Op, Request};

/// Latencies by operation, to three significant digits.
#[derive(Debug)]
pub(crate) struct LatencyMeter {
    ops: [OpMeter; 4],
}

#[derive(Debug)]
struct OpMeter {
    histogram: Histogram<u64>,
    /// In nanoseconds.
    sum: u128,
    max: u64,
}

/// The finest difference that is told apart, and the width of the first bucket of a histogram: 1 us.
const FIRST_BUCKET_NS: u64 = 1000;
/// Each bucket of a histogram ends at this multiple of the one before: four buckets an octave.
const BUCKET_GROWTH: f64 = 1.189_207_115_002_721;

impl Default for LatencyMeter {
    fn default() -> Self {
        Self { ops: [(); 4].map(|()| OpMeter::new()) }
    }
}

impl OpMeter {
    fn new() -> Self {
        // Up to a quarter of an hour without growing.
        let histogram = Histogram::new_with_max(1 << 40, 3).expect("the bounds are ordered and 3 digits are allowed");
        Self { histogram, sum: 0, max: 0 }
    }

    #[inline]
    fn add(&mut self, ns: u64) {
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
        self.histogram.saturating_record(ns);
    }

    fn summary(&self) -> Option<LatencySummary> {
        let count = self.histogram.len();
        if count == 0 {
            return None;
        }
        let quantile = |q| us(self.histogram.value_at_quantile(q).min(self.max));
        Some(LatencySummary {
            mean: (self.sum / u128::from(count)) as f64 / 1000.0,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: us(self.max),
            count,
        })
    }

    fn buckets(&self) -> Vec<(f64, u64)> {
        let steps = self.histogram.iter_log(FIRST_BUCKET_NS, BUCKET_GROWTH);
        steps
            .map(|step| (us(step.value_iterated_to()), step.count_since_last_iteration()))
            .skip_while(|&(_, count)| count == 0)
            .collect()
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

impl LatencyMeter {
    #[inline]
    pub(crate) fn add(&mut self, request: &Request, completion: &Completion) {
        self.ops[request.op as usize].add(completion.done - completion.arrival);
    }

    pub(crate) fn summary(&self) -> Latencies {
        let of = |op: Op| self.ops[op as usize].summary();
        Latencies { read: of(Op::Read), write: of(Op::Write), trim: of(Op::Trim), flush: of(Op::Flush) }
    }

    pub(crate) fn histograms(&self) -> LatencyHistograms {
        let of = |op: Op| self.ops[op as usize].buckets();
        LatencyHistograms { read: of(Op::Read), write: of(Op::Write), trim: of(Op::Trim), flush: of(Op::Flush) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_known_latencies() {
        let mut meter = LatencyMeter::default();
        let read = Request::new(Op::Read, 0, 8);
        for us in 1..=1000 {
            meter.add(&read, &Completion { arrival: 5, done: 5 + us * 1000 });
        }
        let summary = meter.summary();
        let read = summary.read.unwrap();
        assert_eq!((read.count, read.max, read.mean), (1000, 1000.0, 500.5));
        for (measured, exact) in [(read.p50, 500.0), (read.p90, 900.0), (read.p99, 990.0), (read.p999, 999.0)] {
            assert!((measured / exact - 1.0).abs() < 1e-3, "{measured} {exact}");
        }
        assert_eq!(summary.write, None);
        let buckets = meter.histograms().read;
        assert_eq!(buckets.iter().map(|&(_, count)| count).sum::<u64>(), 1000);
        assert!(buckets.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!((35..50).contains(&buckets.len()), "ten octaves: {buckets:?}");
    }
}

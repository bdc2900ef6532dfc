//! Request latencies.

use crate::record::{Latencies, LatencyHistograms, LatencySummary, OriginLatency};
use hdrhistogram::Histogram;
use nandlab_block::{Completion, Op, Request};
use nandlab_nand::Origin;
use nandlab_workload::trace::Took;

/// Latencies by origin and operation, to three significant digits.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencyMeter {
    /// Ordered by their first requests.
    origins: Vec<(Origin, ByOp)>,
    /// Index for the latest request's origin.
    last: usize,
}

/// Histograms by operation; `None` for operations without requests.
type ByOp = [Option<OpMeter>; 4];

#[derive(Clone, Debug)]
struct OpMeter {
    histogram: Histogram<u64>,
    /// In nanoseconds.
    sum: u128,
    max: u64,
}

/// Resolution, and width of the first histogram bucket: 1 us.
const FIRST_BUCKET_NS: u64 = 1000;
/// Each histogram bucket ends at this multiple relative to the previous end: four buckets per octave.
const BUCKET_GROWTH: f64 = 1.189_207_115_002_721;

impl OpMeter {
    fn new() -> Self {
        // Up to a quarter of an hour without growing.
        let histogram = Histogram::new_with_max(1 << 40, 3).expect("the bounds are ordered and 3 digits are allowed");
        Self { histogram, sum: 0, max: 0 }
    }

    /// Adds a latency; true if it is longer than all earlier ones.
    #[inline]
    fn add(&mut self, ns: u64) -> bool {
        self.sum += u128::from(ns);
        self.histogram.saturating_record(ns);
        let is_longest = ns > self.max;
        if is_longest {
            self.max = ns;
        }
        is_longest
    }

    fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.histogram.add(&other.histogram).expect("both grow as they need");
    }

    fn summary(&self) -> LatencySummary {
        let count = self.histogram.len();
        let quantile = |q| us(self.histogram.value_at_quantile(q).min(self.max));
        LatencySummary {
            mean: (self.sum / u128::from(count)) as f64 / 1000.0,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: us(self.max),
            count,
        }
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
    /// Adds a request; true if it took longer than all earlier requests with this kind and origin.
    #[inline]
    pub(crate) fn add(&mut self, request: &Request, completion: &Completion) -> bool {
        let ops = match self.origins.get_mut(self.last) {
            Some((origin, ops)) if *origin == request.origin => ops,
            _ => self.other(request.origin),
        };
        let meter = ops[request.op as usize].get_or_insert_with(OpMeter::new);
        meter.add(completion.done - completion.arrival)
    }

    #[cold]
    fn other(&mut self, asks: Origin) -> &mut ByOp {
        let known = self.origins.iter().position(|&(origin, _)| origin == asks);
        self.last = known.unwrap_or_else(|| {
            self.origins.push((asks, ByOp::default()));
            self.origins.len() - 1
        });
        &mut self.origins[self.last].1
    }

    /// All origins together.
    fn all(&self) -> ByOp {
        let mut all = ByOp::default();
        for (_, ops) in &self.origins {
            for (sum, meter) in all.iter_mut().zip(ops) {
                match (sum, meter) {
                    (Some(sum), Some(meter)) => sum.merge(meter),
                    (sum, Some(meter)) => *sum = Some(meter.clone()),
                    (_, None) => {}
                }
            }
        }
        all
    }

    pub(crate) fn summary(&self) -> Latencies {
        summaries(&self.all())
    }

    pub(crate) fn histograms(&self) -> LatencyHistograms {
        histograms(&self.all())
    }

    /// By origin, in numeric order; `None` for one origin or none.
    pub(crate) fn by_origin(&self) -> Option<Vec<OriginLatency>> {
        let mut origins: Vec<_> = self.origins.iter().collect();
        origins.sort_by_key(|(origin, _)| *origin);
        let row = |(origin, ops): &(Origin, ByOp)| OriginLatency {
            origin: origin.name(),
            latency_us: summaries(ops),
            latency_histogram: histograms(ops),
        };
        (origins.len() > 1).then(|| origins.into_iter().map(row).collect())
    }
}

/// Latencies stored in a trace, from its recording, to three significant digits.
#[derive(Debug, Default)]
pub(crate) struct RecordedMeter {
    latency: ByOp,
    service: ByOp,
}

impl RecordedMeter {
    pub(crate) fn add(&mut self, op: Op, took: Took) {
        self.latency[op as usize].get_or_insert_with(OpMeter::new).add(took.latency);
        if let Some(service) = took.service {
            self.service[op as usize].get_or_insert_with(OpMeter::new).add(service);
        }
    }

    /// From a request's arrival to its end; `None` if the trace has no such times.
    pub(crate) fn latencies(&self) -> Option<Latencies> {
        self.latency.iter().any(Option::is_some).then(|| summaries(&self.latency))
    }

    /// In the device alone; `None` if the trace has no such times.
    pub(crate) fn services(&self) -> Option<Latencies> {
        self.service.iter().any(Option::is_some).then(|| summaries(&self.service))
    }

    pub(crate) fn histograms(&self) -> Option<LatencyHistograms> {
        self.latency.iter().any(Option::is_some).then(|| histograms(&self.latency))
    }
}

fn summaries(ops: &ByOp) -> Latencies {
    let of = |op: Op| ops[op as usize].as_ref().map(OpMeter::summary);
    Latencies { read: of(Op::Read), write: of(Op::Write), trim: of(Op::Trim), flush: of(Op::Flush) }
}

fn histograms(ops: &ByOp) -> LatencyHistograms {
    let of = |op: Op| ops[op as usize].as_ref().map(OpMeter::buckets).unwrap_or_default();
    LatencyHistograms { read: of(Op::Read), write: of(Op::Write), trim: of(Op::Trim), flush: of(Op::Flush) }
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
        assert_eq!(meter.by_origin(), None, "one origin asked");
    }

    #[test]
    fn what_was_recorded_is_kept_by_operation() {
        let mut meter = RecordedMeter::default();
        assert_eq!((meter.latencies(), meter.services(), meter.histograms()), (None, None, None));
        meter.add(Op::Write, Took { latency: 5_000, service: None });
        assert_eq!(meter.services(), None, "the trace does not say what the device alone took");
        meter.add(Op::Read, Took { latency: 9_000, service: Some(2_000) });
        let (latencies, services) = (meter.latencies().unwrap(), meter.services().unwrap());
        assert_eq!((latencies.read.unwrap().max, latencies.write.unwrap().max), (9.0, 5.0));
        assert_eq!((services.read.unwrap().max, services.write), (2.0, None));
    }

    #[test]
    fn what_origins_took_sums_to_what_all_took() {
        let mut meter = LatencyMeter::default();
        for n in 0..300u64 {
            let origin = [Origin::JOURNAL, Origin::FILE_DATA, Origin::FAT][n as usize % 3];
            let op = if n % 2 == 0 { Op::Read } else { Op::Write };
            let took = (1 + n % 3) * 1000;
            meter.add(&Request { origin, ..Request::new(op, 0, 8) }, &Completion { arrival: n, done: n + took });
        }
        let rows = meter.by_origin().unwrap();
        let names: Vec<_> = rows.iter().map(|row| row.origin.as_str()).collect();
        assert_eq!(names, ["file_data", "fat", "journal"], "in the order of their numbers");
        let means: Vec<_> = rows.iter().map(|row| row.latency_us.write.unwrap().mean).collect();
        assert_eq!(means, [2.0, 3.0, 1.0]);
        let all = meter.summary();
        let (read, write) = (all.read.unwrap(), all.write.unwrap());
        assert_eq!((read.count, read.max, read.mean, write.count), (150, 3.0, 2.0, 150));
        let counts = |bins: &[(f64, u64)]| bins.iter().map(|&(_, n)| n).sum::<u64>();
        let parts: u64 = rows.iter().map(|row| counts(&row.latency_histogram.read)).sum();
        assert_eq!((parts, counts(&meter.histograms().read)), (150, 150));
    }
}

//! Request latencies.

use crate::record::{Latencies, LatencyHistograms, LatencySummary, OriginLatency, ZoneLatencies};
use hdrhistogram::Histogram;
use nandlab_block::{Completion, Op, Request, ZoneCommand};
use nandlab_nand::Origin;
use nandlab_workload::trace::Took;

/// Latencies by origin and operation, to three significant digits.
#[derive(Clone, Debug, Default)]
pub struct LatencyMeter {
    /// Ordered by their first requests.
    origins: Vec<(Origin, ByOp)>,
    /// Index for the latest request's origin.
    last: usize,
}

/// Histograms by operation; `None` for operations without requests.
type ByOp = [Option<OpMeter>; Op::KINDS];

/// Latencies of one kind of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpMeter {
    /// By class of latencies that an [`Histogram`] holds to be equal; ends with the longest latency's class.
    counts: Vec<u64>,
    /// In nanoseconds.
    sum: u128,
    max: u64,
}

/// Latencies below this are classes of their own; above it, each power of two has half as many.
const EXACT: u64 = 2048;

/// The class of a latency; the same as in a histogram with three significant digits, without its searches.
#[inline]
fn class_of(ns: u64) -> usize {
    let shift = class_shift(ns);
    shift as usize * (EXACT / 2) as usize + (ns >> shift) as usize
}

#[inline]
fn class_shift(ns: u64) -> u32 {
    (ns | (EXACT - 1)).ilog2() - (EXACT - 1).ilog2()
}

/// The shortest latency in a class.
fn shortest_in(class: usize) -> u64 {
    let (class, half) = (class as u64, EXACT / 2);
    let shift = (class / half).saturating_sub(1);
    (class - shift * half) << shift
}

/// Resolution, and width of the first histogram bucket: 1 us.
const FIRST_BUCKET_NS: u64 = 1000;
/// Each histogram bucket ends at this multiple relative to the previous end: four buckets per octave.
const BUCKET_GROWTH: f64 = 1.189_207_115_002_721;

impl OpMeter {
    /// Adds a latency; true if it is longer than all earlier ones.
    #[inline]
    pub(crate) fn add(&mut self, ns: u64) -> bool {
        self.sum += u128::from(ns);
        let class = class_of(ns);
        match self.counts.get_mut(class) {
            Some(count) => *count += 1,
            None => self.add_class(class),
        }
        let is_longest = ns > self.max;
        if is_longest {
            self.max = ns;
        }
        is_longest
    }

    #[cold]
    fn add_class(&mut self, class: usize) {
        self.counts.resize(class + 1, 0);
        self.counts[class] = 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
    }

    fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// To three significant digits, up to a quarter of an hour.
    fn histogram(&self) -> Histogram<u64> {
        let mut histogram =
            Histogram::new_with_max(1 << 40, 3).expect("the bounds are ordered and 3 digits are allowed");
        for (class, &count) in self.counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            histogram.saturating_record_n(shortest_in(class), count);
        }
        histogram
    }

    fn summary(&self) -> LatencySummary {
        let histogram = self.histogram();
        let count = histogram.len();
        let quantile = |q| us(histogram.value_at_quantile(q).min(self.max));
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

    /// Mean and 99th percentile, us, as in a summary but without a histogram; `None` without a latency.
    pub(crate) fn mean_and_p99(&self) -> Option<(f64, f64)> {
        let count = self.count();
        let wanted = (0.99 * count as f64).ceil() as u64;
        let mut seen = 0;
        let class = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted.max(1)
        })?;
        let p99 = (shortest_in(class + 1) - 1).min(self.max);
        Some(((self.sum / u128::from(count)) as f64 / 1000.0, us(p99)))
    }

    fn buckets(&self) -> Vec<(f64, u64)> {
        let histogram = self.histogram();
        let steps = histogram.iter_log(FIRST_BUCKET_NS, BUCKET_GROWTH);
        steps
            .map(|step| (us(step.value_iterated_to()), step.count_since_last_iteration()))
            .skip_while(|&(_, count)| count == 0)
            .collect()
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// Adds the latencies of `ops` to `sums`.
fn add(sums: &mut ByOp, ops: &ByOp) {
    for (sum, meter) in sums.iter_mut().zip(ops) {
        match (sum, meter) {
            (Some(sum), Some(meter)) => sum.merge(meter),
            (sum, Some(meter)) => *sum = Some(meter.clone()),
            (_, None) => {}
        }
    }
}

impl LatencyMeter {
    /// Adds a request; true if it took longer than all earlier requests with this kind and origin.
    #[inline]
    pub fn add(&mut self, request: &Request, completion: &Completion) -> bool {
        let ops = match self.origins.get_mut(self.last) {
            Some((origin, ops)) if *origin == request.origin => ops,
            _ => self.other(request.origin),
        };
        let meter = ops[request.op.number()].get_or_insert_default();
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
        self.origins.iter().for_each(|(_, ops)| add(&mut all, ops));
        all
    }

    /// Adds the latencies of another meter.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (origin, ops) in &other.origins {
            add(self.other(*origin), ops);
        }
    }

    /// Of all origins and kinds together; `None` without a request.
    pub(crate) fn whole(&self) -> Option<LatencySummary> {
        let mut all = OpMeter::default();
        self.origins.iter().flat_map(|(_, ops)| ops.iter().flatten()).for_each(|op| all.merge(op));
        (all.count() > 0).then(|| all.summary())
    }

    /// Means and percentiles, all origins together.
    pub fn summary(&self) -> Latencies {
        summaries(&self.all())
    }

    /// Of changes of zones, all origins together.
    pub(crate) fn of_zones(&self) -> ZoneLatencies {
        let all = self.all();
        let of = |commands: &[ZoneCommand]| {
            let mut sum = OpMeter::default();
            commands
                .iter()
                .filter_map(|&command| all[Op::Zone(command).number()].as_ref())
                .for_each(|op| sum.merge(op));
            (sum.count() > 0).then(|| sum.summary())
        };
        ZoneLatencies {
            open_us: of(&[ZoneCommand::Open, ZoneCommand::OpenRandom]),
            close_us: of(&[ZoneCommand::Close]),
            finish_us: of(&[ZoneCommand::Finish]),
            reset_us: of(&[ZoneCommand::Reset]),
        }
    }

    /// Histograms, all origins together.
    pub fn histograms(&self) -> LatencyHistograms {
        histograms(&self.all())
    }

    /// Of this origin, with the mean over all kinds of requests; `None` without requests.
    pub fn of(&self, asks: Origin) -> Option<(Latencies, f64)> {
        let (_, ops) = self.origins.iter().find(|(origin, _)| *origin == asks)?;
        let ended = ops.iter().flatten();
        let (sum, count) = ended.fold((0, 0), |(sum, count), op| (sum + op.sum, count + op.count()));
        Some((summaries(ops), sum as f64 / count as f64 / 1000.0))
    }

    /// By origin, in numeric order; `None` for one origin or none.
    pub fn by_origin(&self) -> Option<Vec<OriginLatency>> {
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
pub struct RecordedMeter {
    latency: ByOp,
    service: ByOp,
}

impl RecordedMeter {
    /// Adds a request, with what the trace says of it.
    pub fn add(&mut self, op: Op, took: Took) {
        self.latency[op.number()].get_or_insert_default().add(took.latency);
        if let Some(service) = took.service {
            self.service[op.number()].get_or_insert_default().add(service);
        }
    }

    /// From a request's arrival to its end; `None` if the trace has no such times.
    pub fn latencies(&self) -> Option<Latencies> {
        self.latency.iter().any(Option::is_some).then(|| summaries(&self.latency))
    }

    /// In the device alone; `None` if the trace has no such times.
    pub fn services(&self) -> Option<Latencies> {
        self.service.iter().any(Option::is_some).then(|| summaries(&self.service))
    }

    /// From arrival to end, as histograms; `None` if the trace has no such times.
    pub fn histograms(&self) -> Option<LatencyHistograms> {
        self.latency.iter().any(Option::is_some).then(|| histograms(&self.latency))
    }
}

/// Writes and appends together.
fn writes(ops: &ByOp) -> Option<OpMeter> {
    let mut both = [Op::Write, Op::Append].into_iter().filter_map(|op| ops[op.number()].as_ref());
    let mut sum = both.next()?.clone();
    both.for_each(|other| sum.merge(other));
    Some(sum)
}

fn summaries(ops: &ByOp) -> Latencies {
    let of = |op: Op| ops[op.number()].as_ref().map(OpMeter::summary);
    Latencies {
        read: of(Op::Read),
        write: writes(ops).as_ref().map(OpMeter::summary),
        trim: of(Op::Trim),
        flush: of(Op::Flush),
    }
}

fn histograms(ops: &ByOp) -> LatencyHistograms {
    let of = |op: Op| ops[op.number()].as_ref().map(OpMeter::buckets).unwrap_or_default();
    LatencyHistograms {
        read: of(Op::Read),
        write: writes(ops).as_ref().map(OpMeter::buckets).unwrap_or_default(),
        trim: of(Op::Trim),
        flush: of(Op::Flush),
    }
}

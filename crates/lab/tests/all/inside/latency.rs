//! Tests of `src/latency.rs`.

use hdrhistogram::Histogram;
use nandlab_block::{Completion, Op, Request};
use nandlab_lab::inside::{LatencyMeter, RecordedMeter};
use nandlab_nand::random::Random;
use nandlab_nand::Origin;
use nandlab_workload::trace::Took;

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

/// Percentiles of these latencies from a histogram that took each of them, in microseconds.
fn by_histogram(latencies: &[u64]) -> [f64; 4] {
    let mut histogram = Histogram::<u64>::new_with_max(1 << 40, 3).unwrap();
    latencies.iter().for_each(|&ns| histogram.saturating_record(ns));
    let longest = *latencies.iter().max().unwrap();
    [0.5, 0.9, 0.99, 0.999].map(|q| histogram.value_at_quantile(q).min(longest) as f64 / 1000.0)
}

#[test]
fn percentiles_are_those_of_a_histogram_that_took_each_latency() {
    let mut random = Random::new(3);
    let edges = (0..40).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain(0..5_000);
    let alone = edges.map(|ns| vec![ns, ns + (ns >> 3) + 1]);
    let mut one = || {
        let bits = 1 + random.below(43);
        random.below(1 << bits)
    };
    let sets: Vec<Vec<u64>> = (0..2_000).map(|_| (0..5).map(|_| one()).collect()).collect();
    for latencies in alone.chain(sets).chain([vec![1 << 45, 7, 1 << 41]]) {
        let mut meter = LatencyMeter::default();
        for &ns in &latencies {
            meter.add(&Request::new(Op::Write, 0, 8), &Completion { arrival: 9, done: 9 + ns });
        }
        let write = meter.summary().write.unwrap();
        assert_eq!([write.p50, write.p90, write.p99, write.p999], by_histogram(&latencies), "{latencies:?} ns");
    }
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

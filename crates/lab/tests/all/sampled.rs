//! Long runs by windows, compared with the whole runs.

use crate::support::{parse, record, refused};
use nandlab_lab::record::{Estimate, Record};
use nandlab_lab::{run, Control, Outputs};
use std::path::Path;

/// Writes of a page, in a closed loop on four dies.
const WRITES: &str = r#"
[workload.uniform]
requests = 1_980_000
[host]
queue_depth = 8
[precondition]
fill = "random"
overwrites = 4
[ftl.page]
[device]
profile = "generic-8x4"
capacity = "64 MiB"
over_provisioning = 0.28
[device.shape]
channels = 2
dies_per_channel = 2
pages_per_block = 64
"#;

/// A tenth of the requests is simulated, in forty windows.
const SAMPLE: [&str; 2] = ["host.sample.window=4500", "host.sample.every=49_500"];

fn holds(estimate: Option<Estimate>, value: f64) -> bool {
    let Estimate { mean, half_width } = estimate.unwrap();
    (value - mean).abs() <= half_width
}

/// Asserts that the whole run lies in nine of ten intervals: of the write amplification, and of the mean latency. There are
/// 20 seeds with `NANDLAB_LONG`, otherwise the first 6, of which one may miss.
fn assert_covered(sets: &[&str]) {
    let (seeds, least) = if std::env::var_os("NANDLAB_LONG").is_some() { (20, 18) } else { (6, 5) };
    let (mut waf, mut latency) = (0, 0);
    for seed in 1..=seeds {
        let seed = format!("seed={seed}");
        let whole = record(WRITES, &[sets, &[&seed]].concat());
        let part = record(WRITES, &[sets, &SAMPLE, &[&seed]].concat());
        let sample = part.sample.unwrap();
        assert!(sample.windows == 40 && sample.simulated == part.host.requests);
        assert!(sample.simulated * 10 <= sample.requests && sample.requests == whole.host.requests);
        waf += usize::from(holds(sample.waf, whole.waf.unwrap()));
        latency += usize::from(holds(sample.mean_us, whole.latency_us.unwrap().write.unwrap().mean));
    }
    assert!(waf >= least && latency >= least, "{waf} and {latency} of {seeds}");
}

#[test]
fn whole_runs_of_uniform_writes_lie_in_the_intervals() {
    assert_covered(&[]);
}

#[test]
fn whole_runs_of_hot_and_cold_writes_lie_in_the_intervals() {
    let hot_cold = "workload={ hot_cold = { requests = 1_980_000 } }";
    assert_covered(&[hot_cold, "host.queue_depth=1", "device.shape.channels=1", "device.shape.dies_per_channel=1"]);
}

/// The parts of a record that windows without jumps must leave alone.
fn told(record: &Record) -> String {
    let Record { host, flash, time_us, drain_us, in_flight, waf, latency_us, .. } = record;
    let longest = record.longest_request.as_ref().map(|longest| (longest.number, longest.latency_us));
    format!(
        "{host:?} {flash:?} {time_us:?} {drain_us:?} {in_flight:?} {waf:?} {latency_us:?} {longest:?} {:?}",
        record.gc
    )
}

#[test]
fn windows_without_jumps_change_nothing_and_are_the_whole_run() {
    let sets = ["workload.uniform.requests=100_000"];
    let whole = record(WRITES, &sets);
    let windows = ["host.sample.window=10_000", "host.sample.every=10_000", "host.sample.warm_up=0"];
    let part = record(WRITES, &[&sets[..], &windows].concat());
    assert_eq!(told(&whole), told(&part));
    let sample = part.sample.unwrap();
    assert_eq!((sample.windows, sample.simulated_share, sample.time_us), (10, 1.0, whole.time_us));
    let mean = whole.latency_us.unwrap().write.unwrap().mean;
    let close = |estimate: Option<Estimate>, value: f64, within: f64| {
        assert!((estimate.unwrap().mean / value - 1.0).abs() < within, "{estimate:?} {value}");
    };
    close(sample.waf, whole.waf.unwrap(), 1e-9);
    close(sample.erases, whole.flash.erases as f64, 1e-9);
    close(sample.requests_per_s, whole.throughput.unwrap().requests_per_s, 1e-3);
    // A request may end in the window after its own.
    close(sample.mean_us, mean, 1e-3);
}

#[test]
fn the_device_stands_still_in_a_jump() {
    // Warm-ups and windows end where batches of the shorter run end: a batch's end moves some times by a transfer.
    let sample = ["host.sample.window=4000", "host.sample.warm_up=1000", "host.sample.every=50_000"];
    let part = record(WRITES, &[&sample[..], &["workload.uniform.requests=200_000"]].concat());
    let sample = part.sample.as_ref().unwrap();
    assert_eq!((sample.windows, sample.measured, sample.simulated), (4, 16_000, 20_000));
    let shorter = record(WRITES, &["workload.uniform.requests=20_000"]);
    assert_eq!(told(&part), told(&shorter));
}

#[test]
fn the_time_of_the_whole_workload_has_the_jumps() {
    let sets = ["workload.uniform.requests=200_000", "host.sample.window=5000", "host.sample.every=50_000"];
    let whole = record(WRITES, &sets[..1]).time_us.unwrap();
    let part = record(WRITES, &sets);
    let time = part.sample.unwrap().time_us.unwrap();
    assert!((time / whole - 1.0).abs() < 0.05 && part.time_us.unwrap() < whole * 0.2, "{time} {whole}");

    let paced = ["host.arrival=recorded", "host.queue_depth=1", "workload.uniform.requests_per_s=2000"];
    let part = record(WRITES, &[&sets[..], &paced].concat());
    let time = part.sample.as_ref().unwrap().time_us.unwrap();
    assert!((time / 100e6 - 1.0).abs() < 0.01, "{time}");
    // Arrivals are exponential, 2000 a second, and no jump leaves a gap on the device.
    let pace = part.sample.as_ref().unwrap().requests_per_s.unwrap();
    assert!((pace.mean - 2000.0).abs() < 3.0 * pace.half_width.max(20.0), "{pace:?}");
    assert!((part.time_us.unwrap() / 11e6 - 1.0).abs() < 0.05, "{:?}", part.time_us);
}

#[test]
fn a_device_without_time_tells_no_times() {
    let part = record(WRITES, &[&SAMPLE[..], &["device.model=counting", "workload.uniform.requests=300_000"]].concat());
    let sample = part.sample.unwrap();
    assert!(sample.waf.unwrap().mean > 1.5 && sample.erases.unwrap().mean > 0.0);
    assert!(sample.time_us.is_none() && sample.mean_us.is_none() && sample.requests_per_s.is_none());
}

#[test]
fn a_device_not_yet_steady_is_told() {
    let sets = ["workload.uniform.requests=500_000", "host.sample.window=500", "host.sample.every=25_000"];
    let new = record(WRITES, &[&sets[..], &["precondition.overwrites=0"]].concat());
    assert_eq!(new.sample.as_ref().unwrap().trends.first(), Some(&"waf"), "{:?}", new.sample);
    assert!(new.notices.iter().any(|notice| notice.contains("show a trend in waf")), "{:?}", new.notices);
    let empty = record(
        WRITES,
        &[
            "workload.uniform.requests=50_000",
            "host.sample.window=100",
            "host.sample.every=20_000",
            "precondition.fill=none",
            "precondition.overwrites=0",
        ],
    );
    assert!(
        empty.notices.iter().any(|notice| notice.contains("no block was erased in the windows")),
        "{:?}",
        empty.notices
    );
}

#[test]
fn a_workload_beyond_the_endurance_is_told() {
    let sets = ["workload.uniform.requests=1_000_000_000", "host.sample.window=2000", "host.sample.every=200_000_000"];
    let part = record(WRITES, &sets);
    let cycles = part.sample.unwrap().pe_cycles.unwrap().mean;
    assert!(cycles > 50_000.0, "{cycles}");
    assert!(
        part.notices.iter().any(|notice| notice.contains("would be worn out before its end")),
        "{:?}",
        part.notices
    );
}

#[test]
fn a_stopped_run_tells_its_windows() {
    let control = Control::default();
    control.cancel();
    let experiment = parse(WRITES, &SAMPLE).unwrap();
    let record = run(&experiment, Path::new("."), &control, Outputs::default()).unwrap();
    assert!(record.partial && record.sample.is_none_or(|sample| sample.windows == 0 && sample.waf.is_none()));
}

#[test]
fn what_cannot_jump_is_refused() {
    let fits = ["host.sample.window=100", "host.sample.every=1000"];
    let jobs = "workload={ fio = { text = \"[j]\\nrw=randwrite\\nsize=1m\\n\" } }";
    let trace = "workload={ trace = { path = \"x.csv\" } }";
    let counting =
        ["device.model=counting", "host.arrival=recorded", "host.queue_depth=1", "workload.uniform.requests_per_s=9"];
    let keys = ["workload={ inserts = {} }", "index={ btree = {} }", "host.queue_depth=1"];
    let files = ["workload={ postmark = {} }", "fs={ fat = {} }", "host.queue_depth=1"];
    let tenant = "workload={ tenants = { tenant = [{ name = \"a\", workload = { uniform = {} } }] } }";
    for (sets, key, why) in [
        (&["host.sample.window=0", "host.sample.every=9"][..], "host.sample.window", "at least one request"),
        (&["host.sample.window=100", "host.sample.every=109"], "host.sample.every", "expected 110 at least"),
        (&["host.sample.window=100", "host.sample.every=100"], "host.sample.every", "its warm-up of 10 take more"),
        (
            &["host.sample.window=100", "host.sample.every=990_000"],
            "host.sample.every",
            "needs 3 windows: expected 989945 at most",
        ),
        (
            &["host.sample.window=900_000", "host.sample.every=1_000_000"],
            "host.sample.every",
            "expected 2990000 requests",
        ),
        (
            &["workload.uniform.requests=9_000_000", "host.sample.window=1", "host.sample.every=2"],
            "host.sample.every",
            "so 9 at least",
        ),
        (&[fits[0], fits[1], jobs, "host.queue_depth=1"], "host.sample", "each job or tenant asks again"),
        (&[fits[0], fits[1], tenant, "host.queue_depth=1"], "host.sample", "each job or tenant asks again"),
        (&[fits[0], fits[1], trace], "host.sample", "a trace goes on differently"),
        (&[&fits[..], &counting].concat(), "host.sample", "a device that only counts has no time"),
        (&[&fits[..], &keys].concat(), "host.sample", "an index answers each operation"),
        (&[&fits[..], &files].concat(), "host.sample", "a file system's operations need"),
    ] {
        let error = refused(WRITES, sets);
        assert!(error.message.contains(why) && error.key.as_deref() == Some(key), "{sets:?}: {error}");
    }
}

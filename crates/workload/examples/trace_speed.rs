//! How fast a trace is read, and in how much memory: `cargo run --release -p nandlab-workload --example trace_speed FILE`.

use nandlab_workload::trace::{Config, Summary};
use nandlab_workload::WorkloadError;
use std::path::Path;

/// This thread's processor time in seconds.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn main() -> Result<(), WorkloadError> {
    for file in std::env::args().skip(1) {
        let before = cpu_s();
        let mut records = Config::new(&file).records(Path::new(""))?;
        let summary = Summary::of(&mut records, &|_| true, |_, _, _| {})?;
        let seconds = cpu_s() - before;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
        let (count, format) = (summary.requests, summary.format.name());
        println!("{file}: {format}, {count} requests, {:.1} M/s, peak memory {peak}", count as f64 / seconds / 1e6);
    }
    Ok(())
}

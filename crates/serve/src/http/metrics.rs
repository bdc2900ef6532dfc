//! Counters as Prometheus reads them.

use super::{Kind, Snapshot};
use serde_json::Value;
use std::fmt::Write;

/// Counters and gauges: path in the snapshot, name, kind, meaning.
const FIGURES: [(&str, &str, &str, &str); 10] = [
    ("/host/requests", "host_requests_total", "counter", "Requests of the host."),
    ("/host/read_sectors", "host_read_sectors_total", "counter", "Sectors of 512 bytes that the host read."),
    ("/host/written_sectors", "host_written_sectors_total", "counter", "Sectors of 512 bytes that the host wrote."),
    ("/programs", "flash_programs_total", "counter", "Programs of flash pages."),
    ("/erases", "flash_erases_total", "counter", "Erases of flash blocks."),
    ("/gc_runs", "gc_runs_total", "counter", "Victim blocks that were collected."),
    ("/waf", "waf", "gauge", "Flash programs / host writes since the opening."),
    ("/waf_in_all", "waf_in_all", "gauge", "Flash programs / host writes since the image was made."),
    ("/free_blocks", "free_blocks", "gauge", "Blocks that can be filled."),
    ("/time_us", "simulated_time_us", "counter", "Simulated time since the opening, in microseconds."),
];

/// The text for `/metrics`.
pub(super) fn text(now: &Snapshot) -> String {
    let mut text = String::new();
    for (path, name, kind, meaning) in FIGURES {
        if let Some(value) = now.figures.pointer(path).and_then(Value::as_f64) {
            metric(&mut text, name, kind, meaning, &[("", value)]);
        }
    }
    let cycles =
        || now.blocks.iter().filter(|block| block.kind != Kind::Retired).map(|block| f64::from(block.pe_cycles));
    let count = cycles().count().max(1) as f64;
    let wear = [
        ("{of=\"min\"}", cycles().fold(f64::INFINITY, f64::min)),
        ("{of=\"mean\"}", cycles().sum::<f64>() / count),
        ("{of=\"max\"}", cycles().fold(0.0, f64::max)),
    ];
    if !now.blocks.is_empty() {
        metric(&mut text, "pe_cycles", "gauge", "P/E cycles of the good blocks.", &wear);
    }
    text
}

fn metric(text: &mut String, name: &str, kind: &str, meaning: &str, values: &[(&str, f64)]) {
    // Writing into a text does not fail.
    let _ = writeln!(text, "# HELP nandlab_{name} {meaning}\n# TYPE nandlab_{name} {kind}");
    for (label, value) in values {
        let _ = writeln!(text, "nandlab_{name}{label} {value}");
    }
}

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
    askers(&mut text, &now.figures["queues"], "queue", ["controller", "queue"]);
    askers(&mut text, &now.figures["handles"], "handle", ["group", "handle"]);
    text
}

/// Figures of each queue or handle: field, name, kind, meaning.
const OF_ASKERS: [(&str, &str, &str, &str); 3] = [
    ("requests", "requests_total", "counter", "Requests by"),
    ("read_bytes", "read_bytes_total", "counter", "Bytes read by"),
    ("written_bytes", "written_bytes_total", "counter", "Bytes written by"),
];

/// The figures by queue or by handle, named by two labels: `none` where a request names no handle, `others` for rows that made
/// room.
fn askers(text: &mut String, told: &Value, of: &str, names: [&str; 2]) {
    let label = |row: &Value, name: &str| row[name].as_u64().map_or("none".to_owned(), |number| number.to_string());
    let named = told["rows"].as_array().into_iter().flatten();
    let named = named.map(|row| (row, names.map(|name| label(row, name))));
    let others = Some(&told["others"]).filter(|others| others.is_object());
    let rows: Vec<_> = named.chain(others.map(|row| (row, ["others", "others"].map(str::to_owned)))).collect();
    if rows.is_empty() {
        return;
    }
    let labels = |[first, second]: &[String; 2], more: &str| {
        format!("{{{}=\"{first}\",{}=\"{second}\"{more}}}", names[0], names[1])
    };
    for (field, name, kind, meaning) in OF_ASKERS {
        let values = rows.iter().filter_map(|(row, who)| Some((labels(who, ""), row[field].as_f64()?)));
        metric(text, &format!("{of}_{name}"), kind, &format!("{meaning} {of}."), &values.collect::<Vec<_>>());
    }
    let mut values = Vec::new();
    for (row, who) in &rows {
        for (op, figure) in [("read", "mean"), ("read", "p99"), ("write", "mean"), ("write", "p99")] {
            if let Some(value) = row[format!("{op}_latency_us")][figure].as_f64() {
                values.push((labels(who, &format!(",op=\"{op}\",of=\"{figure}\"")), value));
            }
        }
    }
    if !values.is_empty() {
        let meaning = format!("Latency by {of} since the opening, in microseconds of simulated time.");
        metric(text, &format!("{of}_latency_us"), "gauge", &meaning, &values);
    }
}

fn metric(text: &mut String, name: &str, kind: &str, meaning: &str, values: &[(impl std::fmt::Display, f64)]) {
    // Writing into a text does not fail.
    let _ = writeln!(text, "# HELP nandlab_{name} {meaning}\n# TYPE nandlab_{name} {kind}");
    for (label, value) in values {
        let _ = writeln!(text, "nandlab_{name}{label} {value}");
    }
}

//! File workloads over a file system, from the text of an experiment to its record.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::record::{Record, StopReason};
use nandlab_lab::{run, Control, LabError};
use nandlab_workload::{Asks, LIST};
use std::path::Path;

/// A small device, and few of everything.
const SMALL: &str = r#"
[workload.postmark]
number = 40
transactions = 120
[fs.fat]
[ftl.bast]
[device]
capacity = "8 MiB"
over_provisioning = 0.25
shape = { channels = 1, dies_per_channel = 1, planes_per_die = 1, blocks_per_plane = 160, pages_per_block = 32, page_bytes = 2048 }
"#;

fn parse(text: &str, sets: &[&str]) -> Result<Experiment, LabError> {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Experiment::parse(text, Format::Toml, "x.toml", Path::new("."), &sets)
}

fn record(text: &str, sets: &[&str]) -> Record {
    run(&parse(text, sets).unwrap(), Path::new("."), &Control::default(), None).unwrap()
}

#[test]
fn debug() {
    let r = record(SMALL, &[]);
    println!("{:#?} {:#?}", r.fs, r.stopped);
    println!("{:#?}", r.matrix.iter().map(|r| format!("{} {} {} {}", r.origin, r.cause, r.programs, r.erases)).collect::<Vec<_>>());
}

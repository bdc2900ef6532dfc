//! Experiments as text, and their measurements.

use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::record::Record;
use nandlab_lab::{run, ConfigError, Control, LabError, Outputs};
use std::path::Path;

/// Reads, writes and trims of every size, on a filled device of four dies.
pub const MIXED: &str = r#"
[workload.zipf]
requests = 40_000
read_share = 0.3
trim_share = 0.05
flush_every = 50
size = { min = "512 B", max = "24 KiB", step = "512 B" }
alignment = 512
[host]
queue_depth = 8
[precondition]
fill = "random"
[ftl.page]
[device]
profile = "generic-8x4"
capacity = "64 MiB"
over_provisioning = 1.2 # MTBS keeps half of each block as its spare area
[device.shape]
channels = 2
dies_per_channel = 2
pages_per_block = 32
"#;

/// The experiment `x.toml` with these keys overridden.
pub fn parse(text: &str, sets: &[&str]) -> Result<Experiment, LabError> {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Experiment::parse(text, Format::Toml, "x.toml", Path::new("."), &sets)
}

/// The record of its run.
pub fn record(text: &str, sets: &[&str]) -> Record {
    run(&parse(text, sets).unwrap(), Path::new("."), &Control::default(), Outputs::default()).unwrap()
}

/// The reason for its refusal.
pub fn refused(text: &str, sets: &[&str]) -> ConfigError {
    match parse(text, sets) {
        Err(LabError::Config(error)) => *error,
        other => panic!("{text}, {sets:?}: {:?}", other.map(|experiment| experiment.to_json())),
    }
}

/// A file trace of six transactions that leaves nothing behind.
pub const FILE_TRACE: &str = concat!("path=\"", env!("CARGO_MANIFEST_DIR"), "/tests/all/support/files.csv\"");

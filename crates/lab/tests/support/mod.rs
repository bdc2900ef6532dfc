//! Experiments as text, and what they measure.

#![allow(clippy::unwrap_used)]

use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::record::Record;
use nandlab_lab::{run, Control, LabError, Outputs};
use std::path::Path;

/// The experiment `x.toml` with these keys set otherwise.
pub fn parse(text: &str, sets: &[&str]) -> Result<Experiment, LabError> {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Experiment::parse(text, Format::Toml, "x.toml", Path::new("."), &sets)
}

/// What it measures.
#[allow(dead_code, reason = "some tests run nothing")]
pub fn record(text: &str, sets: &[&str]) -> Record {
    run(&parse(text, sets).unwrap(), Path::new("."), &Control::default(), Outputs::default()).unwrap()
}

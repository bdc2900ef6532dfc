//! The target `configuration`: an experiment as text, and its run if small enough.
//!
//! A text that starts with `{` is JSON, every other one TOML; comments `#set KEY=VALUE` are overrides.

use super::sentence;
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::{ConfigError, Control, LabError, Outputs};
use nandlab_workload::Kind;
use serde_json::Value;
use std::path::Path;

/// Experiments above these figures are read and sized, but not run.
const MAX_PAGES: u32 = 4096;
const MAX_REQUESTS: u64 = 300;
const MAX_OVERWRITES: f64 = 1.0;

const SOURCE: &str = "input";

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let format = if text.trim_start().starts_with('{') { Format::Json } else { Format::Toml };
    let sets: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("#set ")).map(str::to_owned).collect();
    match Experiment::parse(text, format, SOURCE, Path::new("."), &sets) {
        Ok(experiment) => accepted(&experiment),
        Err(LabError::Config(error)) => {
            // A value and its override may be quoted, with escapes.
            sentence(&error.to_string(), 16 * text.len());
            located(text, &error);
        }
        Err(error) => panic!("a text is refused as a configuration, not with: {error}"),
    }
}

/// An error names its place in the text, or the override at fault.
fn located(text: &str, error: &ConfigError) {
    if error.file.as_deref() != Some(SOURCE) {
        assert!(error.file.as_ref().is_some_and(|file| file.starts_with("--set ")), "an error from nowhere: {error}");
        return;
    }
    // A key missing at the top has no better place.
    if error.line.is_none() && error.message.starts_with("the experiment needs the key") {
        return;
    }
    let (line, column) = (error.line.unwrap_or(0), error.column.unwrap_or(0));
    assert!(line > 0 && column > 0, "no place: {error}");
    let lines = text.lines().count().max(1) + usize::from(text.ends_with('\n'));
    assert!(line <= lines, "line {line} of {lines}: {error}");
}

/// An accepted experiment is complete: written and read again it is the same, and it can be run.
fn accepted(experiment: &Experiment) {
    let json = experiment.to_json();
    let again = Experiment::parse(&json, Format::Json, "resolved", Path::new("."), &[]);
    let again = again.unwrap_or_else(|error| panic!("a resolved experiment is refused: {error}\n{json}"));
    assert_eq!(again.to_json(), json, "a resolved experiment changes when it is read again");
    let sizing = experiment.sizing().unwrap_or_else(|error| panic!("an accepted experiment has no size: {error}"));
    for notice in &experiment.notices {
        sentence(notice, 0);
    }
    if sizing.geometry.pages() <= MAX_PAGES && is_short(experiment, &json) {
        match nandlab_lab::run(experiment, Path::new("."), &Control::default(), Outputs::default()) {
            Ok(record) => {
                let record: Value = serde_json::from_str(&record.to_json()).expect("a record is JSON");
                assert!(record["flash"]["programs"].is_u64(), "a record without counts");
            }
            Err(LabError::DeviceFull(why)) => sentence(&why, 0),
            // A workload's draws show only in play: PostMark may run out of files, and requests meant to make the
            // device steady may write nothing.
            Err(LabError::Config(error)) if shows_in_play(experiment, &error) => {
                sentence(&error.to_string(), 0);
            }
            Err(error) => panic!("an experiment that was accepted is refused when it is run: {error}"),
        }
    }
}

fn shows_in_play(experiment: &Experiment, error: &ConfigError) -> bool {
    let plays_files = matches!(experiment.workload.kind(), Kind::Files(_));
    let key = error.key.as_deref().unwrap_or_default();
    key == "precondition.steady_writes" || plays_files && key.starts_with("workload.")
}

fn is_short(experiment: &Experiment, json: &str) -> bool {
    let resolved: Value = serde_json::from_str(json).expect("a resolved experiment is JSON");
    let name = experiment.workload.name();
    let length = match experiment.workload.kind() {
        Kind::Requests(_) if name == "trace" => None,
        Kind::Requests(_) => resolved["workload"][name]["requests"].as_u64(),
        Kind::Keys(options) => options.operations(),
        Kind::Files(options) => options.transactions(),
    };
    length.is_some_and(|length| length <= MAX_REQUESTS) && experiment.precondition.overwrites <= MAX_OVERWRITES
}

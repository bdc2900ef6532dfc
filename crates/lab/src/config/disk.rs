//! A device that real programs use: an experiment without a workload.

use super::tree::{Part, Tree};
use super::{future, zones, Experiment, Format};
use crate::error::{ConfigError, LabError};
use nandlab_workload::WorkloadConfig;
use serde_json::{json, Map, Value};
use std::path::Path;

/// Tables that say what is asked of a device, and when: programs do that.
const ASKS: [&str; 3] = ["workload", "host", "precondition"];

/// Keys that an image has no room for.
const NOT_KEPT: [(&str, &str); 2] =
    [("faults", "what failed is not kept in an image"), ("reliability", "the age of cells is not kept in an image")];

/// Whether a workload stands for none.
pub(crate) fn is_none(workload: &WorkloadConfig) -> bool {
    matches!(workload, WorkloadConfig::Trace(trace) if trace.path.as_deref() == Some(""))
}

impl Experiment {
    /// Reads what a disk is made of: an experiment whose workload, if it has one, is left out. The device keeps bytes.
    ///
    /// The arguments are those of [`Experiment::parse`].
    ///
    /// # Errors
    /// [`LabError::Config`].
    pub fn parse_disk(
        text: &str,
        format: Format,
        source: &str,
        base: &Path,
        sets: &[String],
    ) -> Result<Self, LabError> {
        let mut tree = Tree::parse(text, format, source)?;
        for set in sets {
            tree.set(set)?;
        }
        let mut notices = Vec::new();
        refuse_what_a_disk_is_not(&tree)?;
        let root = tree.root.as_object_mut().expect("the root of an experiment is a table");
        for table in ASKS {
            if root.shift_remove(table).is_some_and(|table| !table.is_null()) {
                notices.push(format!("[{table}] has no effect on a disk: programs say what is asked of it, and when"));
            }
        }
        root.insert("workload".into(), json!({ "trace": { "path": "" } }));
        let device = root.entry("device").or_insert(Value::Null);
        if device.is_null() {
            *device = Value::Object(Map::new());
        }
        if let Some(device) = device.as_object_mut() {
            let model = device.insert("model".into(), "bytes".into());
            if model.is_some_and(|model| model != "bytes") {
                notices.push("device.model has no effect on a disk: it keeps bytes and time".to_owned());
            }
        }
        let mut experiment = Self::from_tree(tree, base)?;
        zones::check_disk(&experiment)?;
        future::refuse_disk(&experiment)?;
        if let Some(buffer) = &experiment.buffer {
            if buffer.profiler(&experiment.sizing()?.geometry).is_some() {
                let key = format!("buffer.{}.thresholds", buffer.name());
                let message = format!(
                    "{key} = \"auto\" takes a look at the requests before they are played, and those of programs are not known \
                     then: set t_state, t_read and t_write, or thresholds = \"online\""
                );
                return Err(experiment.tree.error(&key, Part::Value, message).into());
            }
        }
        experiment.notices.splice(0..0, notices);
        Ok(experiment)
    }
}

fn refuse_what_a_disk_is_not(tree: &Tree) -> Result<(), ConfigError> {
    for table in ["ftl", "fs"] {
        if tree.root.get(table).and_then(|table| table.get("firmware")).is_some() {
            let key = format!("{table}.firmware");
            let message = format!("{key} does not go with a disk: its chip is in memory, and no image keeps it");
            return Err(tree.error(&key, Part::Key, message));
        }
    }
    if tree.root.get("index").is_some_and(|table| !table.is_null()) {
        let message = "[index] does not go with a disk: programs bring their own; leave it out".to_owned();
        return Err(tree.error("index", Part::Key, message));
    }
    if tree.root.get("fs").and_then(|fs| fs.get("posix")).is_some() {
        let message = "fs.posix is a directory of this machine, and has no image; leave it out".to_owned();
        return Err(tree.error("fs.posix", Part::Key, message));
    }
    for (key, why) in NOT_KEPT {
        if tree.root.get("device").and_then(|device| device.get(key)).is_some() {
            let key = format!("device.{key}");
            return Err(tree.error(&key, Part::Key, format!("{key} does not go with a disk: {why}; leave it out")));
        }
    }
    Ok(())
}

//! Checks that a file system, its workload and the device fit together.

use super::asks::{asks, workloads};
use super::disk;
use super::tree::{KeyError, Part, Tree};
use super::{Arrival, Experiment, Host, Precondition, Sizing};
use crate::error::ConfigError;
use nandlab_buffer::BufferConfig;
use nandlab_fs::{FsError, Over, LIST};
use nandlab_ftl::FtlConfig;
use nandlab_workload::{Asks, Kind};

/// Refuses files without a file system, and a file system without files; then checks its options.
pub(super) fn check(experiment: &Experiment) -> Result<(), KeyError> {
    let workload = experiment.workload.name();
    let fs = match (experiment.workload.kind(), &experiment.fs) {
        // A directory that programs use.
        (_, Some(fs)) if disk::is_none(&experiment.workload) => fs,
        (Kind::Requests(_) | Kind::Keys(_), None) => return Ok(()),
        (Kind::Files(_), Some(fs)) => fs,
        (Kind::Files(_), None) => {
            let tables: Vec<String> = LIST.iter().map(|entry| format!("[fs.{}]", entry.name)).collect();
            let message = format!(
                "workload.{workload} asks for files, and there is no file system that has any: add a table {}, or choose a \
                 workload that asks for sectors ({})",
                tables.join(" or "),
                workloads(Asks::Requests)
            );
            return Err(KeyError::of_key(format!("workload.{workload}"), message));
        }
        (Kind::Requests(_) | Kind::Keys(_), Some(fs)) => {
            let (name, asks) = (fs.name(), asks(experiment));
            let message = format!(
                "fs.{name} would not be used: workload.{workload} asks for {asks}; leave [fs.{name}] out, or choose a \
                 workload that asks for files ({})",
                workloads(Asks::Files)
            );
            return Err(KeyError::of_key(format!("fs.{name}"), message));
        }
    };
    check_below(experiment, fs.name(), fs.over())?;
    fs.check().map_err(|error| key_error(fs.name(), &error))
}

/// Describes a file system without sectors below it.
fn is_over(over: Over) -> &'static str {
    match over {
        Over::Device => "over sectors",
        Over::Flash => "on bare flash",
        Over::Directory => "a real directory",
    }
}

/// Refuses a device below a real directory.
pub(super) fn refuse_device(tree: &Tree) -> ConfigError {
    let message = format!(
        "device would not be used: fs.posix is {}, with what is below it; leave [device] out (--set device=none), or \
         choose another file system ({}, {})",
        is_over(Over::Directory),
        names(Over::Device),
        names(Over::Flash)
    );
    tree.error("device", Part::Key, message)
}

/// Refuses layers between a device and sectors, for a file system without sectors below it.
fn check_below(experiment: &Experiment, fs: &str, over: Over) -> Result<(), KeyError> {
    if over == Over::Device {
        return Ok(());
    }
    let is = is_over(over);
    let tables = [
        ("ftl", experiment.ftl.as_ref().map(FtlConfig::name)),
        ("buffer", experiment.buffer.as_ref().map(BufferConfig::name)),
    ];
    for (table, name) in tables {
        if let Some(name) = name {
            let message = format!(
                "{table}.{name} would not be used: fs.{fs} is {is}; leave [{table}.{name}] out (--set {table}=none), or \
                 choose a file system over an FTL ({})",
                names(Over::Device)
            );
            return Err(KeyError::of_key(format!("{table}.{name}"), message));
        }
    }
    if experiment.precondition != Precondition::default() {
        let message = format!(
            "[precondition] cannot work: it writes logical pages, and fs.{fs} is {is}, which has none; leave it out \
             (--set precondition=none), or choose a file system over an FTL ({})",
            names(Over::Device)
        );
        return Err(KeyError::of_key("precondition", message));
    }
    Ok(())
}

/// Names for all file systems over this kind of layer.
fn names(over: Over) -> String {
    let names = LIST.iter().filter(|entry| entry.over == over).map(|entry| entry.name);
    names.collect::<Vec<_>>().join(", ")
}

/// Error in a file system's options.
pub(crate) fn key_error(name: &str, error: &FsError) -> KeyError {
    match error {
        FsError::Option { key, .. } => KeyError::of_value(format!("fs.{name}.{key}"), format!("fs.{name}.{error}")),
        other => KeyError::of_value(format!("fs.{name}"), format!("fs.{name}: {other}")),
    }
}

/// Refuses host options for request timing: a file system waits for each request.
pub(super) fn check_host(experiment: &Experiment) -> Result<(), KeyError> {
    let Host { arrival, queue_depth, .. } = experiment.host;
    let key = |name: &str| format!("host.{name}");
    if arrival == Arrival::Recorded {
        let why = "operations on files have no times of their own: with a file system it is \"closed\"";
        return Err(KeyError::of_value(key("arrival"), format!("host.arrival = \"recorded\" cannot work: {why}")));
    }
    if queue_depth != 1 {
        let why = "a file system waits for each request before it makes the next: with one it is 1";
        return Err(KeyError::of_value(
            key("queue_depth"),
            format!("host.queue_depth = {queue_depth} cannot work: {why}"),
        ));
    }
    Ok(())
}

/// Checks that the file system fits the device; whether the files fit appears only during the run.
pub(super) fn check_fit(experiment: &Experiment, sizing: &Sizing) -> Result<(), KeyError> {
    let Some(fs) = &experiment.fs else { return Ok(()) };
    let fits = match fs.over() {
        Over::Device => fs.plan(sizing.sectors()).map(drop),
        Over::Flash => fs.check_flash(&sizing.geometry, &experiment.device.profile.rules),
        // Existence and emptiness are checked at the start of the run.
        Over::Directory => Ok(()),
    };
    fits.map_err(|error| key_error(fs.name(), &error))
}

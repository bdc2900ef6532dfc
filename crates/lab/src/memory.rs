//! Whether the machine has the memory that a simulation needs: a sentence before, instead of an end without one.

use crate::config::{Experiment, Model, Sizing};
use crate::error::{ConfigError, LabError};
use nandlab_workload::ByteCount;

/// Bytes a physical page that the stacks keep at most: metadata, valid bits, a reverse map.
const LEAN_PAGE_BYTES: u64 = 4 + 4 + 1;
const FULL_PAGE_BYTES: u64 = 12 + 8 + 4 + 1;
/// Bytes a block: counts by origin, P/E cycles, state.
const BLOCK_BYTES: u64 = 96;
/// Bytes a logical page of the map, and a sector of the model that reads are compared with.
const MAP_BYTES: u64 = 4;
const ORACLE_BYTES: u64 = 5;

/// Refuses an experiment whose tables are larger than the memory that is free, where the system tells it.
pub(crate) fn refuse_too_large(experiment: &Experiment, sizing: &Sizing) -> Result<(), LabError> {
    let needed = needed_bytes(experiment.device.model, sizing);
    match available_bytes() {
        Some(available) if needed > available => Err(too_large(needed, available, sizing)),
        _ => Ok(()),
    }
}

fn too_large(needed: u64, available: u64, sizing: &Sizing) -> LabError {
    let message = format!(
        "a device of {} needs about {} of memory for its tables, and {} are free on this machine: lower \
         device.capacity, or give the device larger pages",
        ByteCount(sizing.logical_bytes()).rounded(),
        ByteCount(needed).rounded(),
        ByteCount(available).rounded(),
    );
    ConfigError { message, key: Some("device.capacity".into()), ..Default::default() }.into()
}

fn needed_bytes(model: Model, sizing: &Sizing) -> u64 {
    let (pages, blocks) = (u64::from(sizing.geometry.pages()), u64::from(sizing.geometry.blocks()));
    let map = MAP_BYTES * u64::from(sizing.logical_pages);
    let tables = match model {
        Model::Timed | Model::Counting => LEAN_PAGE_BYTES * pages,
        Model::Bytes => FULL_PAGE_BYTES * pages + ORACLE_BYTES * sizing.sectors(),
    };
    map + tables + BLOCK_BYTES * blocks
}

/// Memory that can be had without swapping.
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Format;
    use std::path::Path;

    #[test]
    fn a_device_larger_than_the_memory_gets_a_sentence() {
        let text = "[workload.uniform]\n[ftl.page]\n[device]\ncapacity = \"8 TiB\"\nprofile = \"generic\"";
        let experiment = Experiment::parse(text, Format::Toml, "x", Path::new("."), &[]).unwrap();
        let sizing = experiment.sizing().unwrap();
        let needed = needed_bytes(Model::Counting, &sizing);
        assert!((26 << 30..32 << 30).contains(&needed), "{needed}");
        let sentence = too_large(needed, 1 << 30, &sizing).to_string();
        assert!(
            sentence.contains("a device of 8 TiB needs about 28") && sentence.contains("1 GiB are free"),
            "{sentence}"
        );
        assert!(available_bytes().is_none_or(|bytes| bytes > 0));
    }
}

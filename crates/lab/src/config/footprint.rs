//! Checks that the machine has enough memory for a simulation: an early message instead of a crash.

use super::{Device, Experiment, Model, Sizing};
use crate::error::{ConfigError, LabError};
use nandlab_buffer::BufferConfig;
use nandlab_fs::{FsConfig, Over};
use nandlab_workload::ByteCount;

/// Most bytes per physical page in the stacks: metadata; a bit each for valid and programmed pages.
const LEAN_PAGE_BYTES: u64 = 4 + 1;
const FULL_PAGE_BYTES: u64 = 8 + 1;
/// Bytes per page for a file system's tags beside whole spare areas, in which few pages of a block are alike.
const TAG_BYTES: u64 = 4;
/// Bytes per block: counts by origin, P/E cycles, state.
const BLOCK_BYTES: u64 = 96;
/// Bytes per logical page for the map, and per sector for the read-checking model.
const MAP_BYTES: u64 = 4;
/// Overhead for a page's stored contents, in bytes: their address, and two owner counters.
const STORED_PAGE_BYTES: u64 = 16 + 16;
const ORACLE_BYTES: u64 = 5;
/// Bytes per page in a file system on bare flash; firmware would need only some.
const OWNER_BYTES: u64 = 32;
/// Bytes per page with aging cells: its program time.
const AGE_BYTES: u64 = 8;
/// Bytes per page in a buffer, without the contents.
const BUFFERED_PAGE_BYTES: u64 = 128;

/// Refuses an experiment with tables larger than the free memory, if the system reports it.
pub(crate) fn refuse_too_large(experiment: &Experiment, sizing: &Sizing) -> Result<(), LabError> {
    let Experiment { device, .. } = experiment;
    if experiment.is_in_directory() {
        return Ok(());
    }
    let index = experiment.index.as_ref().map_or(0, |index| index.memory_bytes().min(sizing.logical_bytes()));
    let buffer = experiment.buffer.as_ref().map_or(0, |buffer| buffer_bytes(buffer, device.model, sizing));
    let fs = experiment.fs.as_ref().map_or(0, |fs| fs_bytes(fs, sizing));
    let ages = if device.reliability.is_some() { AGE_BYTES * u64::from(sizing.geometry.pages()) } else { 0 };
    let needed = needed_bytes(device.model, sizing) + index + buffer + fs + ages;
    match available_bytes() {
        Some(available) if needed > available => Err(too_large(needed, available, device, sizing)),
        _ => Ok(()),
    }
}

/// Whether the free memory holds the tables of this device, if the system reports it.
pub(crate) fn has_room(model: Model, sizing: &Sizing) -> bool {
    available_bytes().is_none_or(|available| needed_bytes(model, sizing) <= available)
}

/// The error for a device with larger tables than the free memory.
pub fn too_large(needed: u64, available: u64, device: &Device, sizing: &Sizing) -> LabError {
    let (key, lower) = match (device.capacity, device.blocks_per_plane) {
        (Some(_), None) => ("device.capacity", "device.capacity"),
        (Some(_), Some(_)) => ("device.blocks_per_plane", "device.blocks_per_plane and device.capacity"),
        (None, _) => ("device.shape.blocks_per_plane", "device.shape.blocks_per_plane"),
    };
    let (what, way_out) = match device.model {
        Model::Bytes => ("its tables and the bytes of its pages", "choose another device.model"),
        Model::Timed | Model::Counting => ("its tables", "give the device larger pages"),
    };
    let message = format!(
        "a device of {} needs about {} of memory for {what}, and {} are free on this machine: lower {lower}, or {way_out}",
        ByteCount(sizing.logical_bytes()).rounded(),
        ByteCount(needed).rounded(),
        ByteCount(available).rounded(),
    );
    ConfigError { message, key: Some(key.into()), ..Default::default() }.into()
}

/// Bytes for a buffer's pages and its data about them; at most the device's pages.
fn buffer_bytes(buffer: &BufferConfig, model: Model, sizing: &Sizing) -> u64 {
    let (dram, nvram) = buffer.nominal_bytes();
    let bytes = dram.saturating_add(nvram).min(sizing.logical_bytes());
    let about = BUFFERED_PAGE_BYTES * (bytes / u64::from(sizing.geometry.page_bytes()));
    about + if model == Model::Bytes { bytes } else { 0 }
}

/// Bytes for whole spare areas, for a bare-flash file system's tables and for its NVRAM.
fn fs_bytes(fs: &FsConfig, sizing: &Sizing) -> u64 {
    let owners = if fs.over() == Over::Flash { OWNER_BYTES } else { 0 };
    (FULL_PAGE_BYTES + TAG_BYTES + owners) * u64::from(sizing.geometry.pages()) + fs.nvram_bytes(&sizing.geometry)
}

/// Bytes for the tables of a device, and for its pages' bytes if the model keeps them.
pub fn needed_bytes(model: Model, sizing: &Sizing) -> u64 {
    let (pages, blocks) = (u64::from(sizing.geometry.pages()), u64::from(sizing.geometry.blocks()));
    let map = MAP_BYTES * u64::from(sizing.logical_pages);
    let tables = match model {
        Model::Timed | Model::Counting => LEAN_PAGE_BYTES * pages,
        Model::Bytes => {
            // In the long run every flash page is written.
            let stored = u64::from(sizing.geometry.page_bytes()) + STORED_PAGE_BYTES;
            (FULL_PAGE_BYTES + stored) * pages + ORACLE_BYTES * sizing.sectors()
        }
    };
    map + tables + BLOCK_BYTES * blocks
}

/// Memory available without swapping.
pub fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

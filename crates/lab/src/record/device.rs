//! The part of a record that says what the device is.

use crate::config::{Device, Sizing};
use nandlab_block::RamUse;
use nandlab_nand::Controller;
use serde::Serialize;

/// The device of a run; "none", with zeros, where a real directory takes its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeviceRecord {
    /// Name of the profile.
    pub name: String,
    /// Blocks.
    pub blocks: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Bytes of the flash.
    pub physical_bytes: u64,
    /// Bytes exported.
    pub logical_bytes: u64,
    /// Physical over logical size, minus 1.
    pub over_provisioning: f64,
    /// Dies.
    pub dies: u32,
    /// P/E cycles that a block is made for.
    pub endurance: u32,
}

/// What the device of an experiment is; nothing, where a real directory takes its place.
pub fn device_record(device: &Device, sizing: &Sizing) -> DeviceRecord {
    if device.is_stand_in() {
        return DeviceRecord { name: "none".to_owned(), ..DeviceRecord::default() };
    }
    let geometry = &sizing.geometry;
    DeviceRecord {
        name: device.profile.name.clone(),
        blocks: geometry.blocks(),
        pages_per_block: geometry.pages_per_block(),
        page_bytes: geometry.page_bytes(),
        physical_bytes: u64::from(geometry.pages()) * u64::from(geometry.page_bytes()),
        logical_bytes: sizing.logical_bytes(),
        over_provisioning: sizing.over_provisioning(),
        dies: geometry.dies(),
        endurance: device.profile.rules.endurance,
    }
}

/// The memories of the controller, and what the FTL and the write buffer need of them; a file system is the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ControllerRecord {
    /// Bytes of fast memory on it.
    pub sram_bytes: u64,
    /// Bytes of memory beside it; null where the profile does not say.
    pub dram_bytes: Option<u64>,
    /// Bytes of the former that are needed.
    pub used_sram_bytes: u64,
    /// Bytes of the latter that are needed.
    pub used_dram_bytes: u64,
}

impl ControllerRecord {
    /// What a controller has beside what `ram` needs.
    pub(crate) fn of(controller: Controller, ram: &RamUse) -> Self {
        Self {
            sram_bytes: controller.sram_bytes,
            dram_bytes: controller.dram_bytes,
            used_sram_bytes: ram.sram.values().sum(),
            used_dram_bytes: ram.dram.values().sum(),
        }
    }
}

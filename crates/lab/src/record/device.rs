//! The record's part about the device.

use crate::config::{Device, Sizing};
use nandlab_block::RamUse;
use nandlab_nand::Controller;
use serde::Serialize;

/// The run's device; "none", with zeros, if a real directory takes its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeviceRecord {
    /// Profile name.
    pub name: String,
    /// Blocks.
    pub blocks: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Page size, bytes.
    pub page_bytes: u32,
    /// Flash size, bytes.
    pub physical_bytes: u64,
    /// Bytes exported.
    pub logical_bytes: u64,
    /// Physical over logical size, minus 1.
    pub over_provisioning: f64,
    /// Dies.
    pub dies: u32,
    /// Rated P/E cycles per block.
    pub endurance: u32,
}

/// The experiment's device; empty if a real directory takes its place.
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

/// The controller's memories, and the need of the FTL and the write buffer; a file system uses the host's
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ControllerRecord {
    /// Fast memory on the controller, bytes.
    pub sram_bytes: u64,
    /// Memory beside it, bytes; null if the profile does not say.
    pub dram_bytes: Option<u64>,
    /// Used fast memory, bytes.
    pub used_sram_bytes: u64,
    /// Used memory beside it, bytes.
    pub used_dram_bytes: u64,
}

impl ControllerRecord {
    /// A controller's memories compared with the need in `ram`; `None` if they are unknown.
    pub(crate) fn of(controller: Controller, ram: &RamUse) -> Option<Self> {
        Some(Self {
            sram_bytes: controller.sram_bytes?,
            dram_bytes: controller.dram_bytes,
            used_sram_bytes: ram.sram.values().sum(),
            used_dram_bytes: ram.dram.values().sum(),
        })
    }
}

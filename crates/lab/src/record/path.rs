//! The record's part about the way between host and FTL.

use super::figures::us;
use nandlab_block::PathUse;
use serde::Serialize;

/// How long each part between host and FTL worked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PathRecord {
    /// Processor of the controller, us (`device.controller.*_command_us`, `*_list_us`).
    pub processor_us: f64,
    /// Processor of the firmware, us (`host.firmware_us`, `host.lookup_us`).
    pub firmware_us: f64,
    /// Link from device to host, us.
    pub link_read_us: f64,
    /// Link from host to device, us.
    pub link_write_us: f64,
    /// Writes that waited for space in the controller's write buffer.
    pub buffer_waits: u64,
    /// Their wait, us, summed over the writes.
    pub buffer_wait_us: f64,
    /// Reads that the controller's write buffer answered.
    pub buffer_reads: u64,
    /// Writes that shared their command with others.
    pub packed_writes: u64,
}

impl PathRecord {
    pub(crate) fn of(used: &PathUse) -> Self {
        Self {
            processor_us: us(used.processor),
            firmware_us: us(used.firmware),
            link_read_us: us(used.link_read),
            link_write_us: us(used.link_write),
            buffer_waits: used.buffer_waits,
            buffer_wait_us: us(used.buffer_wait),
            buffer_reads: used.buffer_reads,
            packed_writes: used.packed_writes,
        }
    }
}

//! A device's controller and its link to the host: memories for the firmware, times of commands and data.

mod link;
mod zone_times;

pub use link::{Link, LinkScaling};
pub use zone_times::{ZoneReset, ZoneTimes};

use crate::quantity::quantity;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A controller: the table `[controller]` of a profile.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Controller {
    /// Fast memory on the controller, bytes. Omitted if unknown.
    #[serde(deserialize_with = "some_bytes", skip_serializing_if = "Option::is_none")]
    pub sram_bytes: Option<u64>,
    /// Memory beside it, bytes; 0 for a controller without. Omitted if unknown.
    #[serde(deserialize_with = "bytes", skip_serializing_if = "Option::is_none")]
    pub dram_bytes: Option<u64>,
    /// Constant part of each request's latency in host software, interface and controller, us. It occupies nothing.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "is_nothing")]
    pub latency_us: f64,
    /// The same for a write or an append, us. `latency_us` if omitted.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub write_latency_us: Option<f64>,
    /// Time of the controller's processor for a read command, us. It takes one command at a time, in order of arrival.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "is_nothing")]
    pub read_command_us: f64,
    /// The same for a write, a trim or a flush, us.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "is_nothing")]
    pub write_command_us: f64,
    /// The same for an append to a zone, us. That of a write if omitted.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub append_command_us: Option<f64>,
    /// Additional processor time of a read of more than `read_list_over_bytes`, us: its command refers to a list of memory
    /// pages.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "is_nothing")]
    pub read_list_us: f64,
    /// The same for a write, us.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "is_nothing")]
    pub write_list_us: f64,
    /// The largest read without `read_list_us`, bytes; with 0 every read takes it. 8192 if omitted: two memory pages.
    #[serde(deserialize_with = "bytes", skip_serializing_if = "Option::is_none")]
    pub read_list_over_bytes: Option<u64>,
    /// The largest write without `write_list_us`, bytes. 8192 if omitted.
    #[serde(deserialize_with = "bytes", skip_serializing_if = "Option::is_none")]
    pub write_list_over_bytes: Option<u64>,
    /// Size of the buffer that answers writes before they are in flash, bytes; 0 for none.
    #[serde(deserialize_with = "buffer_bytes", skip_serializing_if = "is_zero")]
    pub write_buffer_bytes: u64,
    /// Whether capacitors protect that buffer from a power cut. If they do, a flush is answered without flash.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub write_buffer_protected: bool,
    /// Whether that buffer answers reads of data that it has, all of it; true if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_buffer_reads: Option<bool>,
    /// Most writes that wait together and go as one command, as eMMC 4.5 packs them: 1 to 63, because the header's 512
    /// bytes list no more. 1 if omitted: each goes alone.
    #[serde(deserialize_with = "packed_writes", skip_serializing_if = "Option::is_none")]
    pub packed_writes: Option<u32>,
    /// Time until a reset of a zone is answered. Omitted: it ends with the erase of the zone's first block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_reset: Option<ZoneReset>,
    /// Time of a command that opens a zone, us. Omitted: none.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub zone_open_us: Option<f64>,
    /// The same before a write or an append that opens its zone, us. `zone_open_us` if omitted.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub zone_implicit_open_us: Option<f64>,
    /// Time of a command that closes a zone, us. Omitted: none.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub zone_close_us: Option<f64>,
}

impl Controller {
    /// Times of changes of zones.
    #[must_use]
    pub fn zone_times(&self) -> ZoneTimes {
        let open_us = self.zone_open_us.unwrap_or(0.0);
        ZoneTimes {
            reset: self.zone_reset,
            open_us,
            implicit_open_us: self.zone_implicit_open_us.unwrap_or(open_us),
            close_us: self.zone_close_us.unwrap_or(0.0),
        }
    }
}

fn some_quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    quantity(deserializer).map(Some)
}

/// Larger than any controller's memory, and exact in JSON.
const MAX_BYTES: u64 = 1 << 50;

/// Checked here, so the error names its line.
fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    within(deserializer, 0).map(Some)
}

fn some_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    within(deserializer, 1).map(Some)
}

fn buffer_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    within(deserializer, 0)
}

fn packed_writes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let value = i64::deserialize(deserializer)?;
    match u32::try_from(value) {
        Ok(writes @ 1..=63) => Ok(Some(writes)),
        _ => Err(D::Error::custom(format!("a command takes 1 to 63 writes, not {value}"))),
    }
}

fn is_nothing(time: &f64) -> bool {
    *time == 0.0
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

fn within<'de, D: Deserializer<'de>>(deserializer: D, least: u64) -> Result<u64, D::Error> {
    let value = i128::from(i64::deserialize(deserializer)?);
    u64::try_from(value).ok().filter(|bytes| (least..=MAX_BYTES).contains(bytes)).ok_or_else(|| {
        D::Error::custom(format!("{value} is no size of a memory: expected {least} to {MAX_BYTES} bytes"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_may_have_no_dram_or_not_say() {
        for (text, dram_bytes) in [("sram_bytes = 65_536", None), ("sram_bytes = 65_536\ndram_bytes = 0", Some(0))] {
            let read = toml::from_str::<Controller>(text).unwrap();
            assert_eq!((read.sram_bytes, read.dram_bytes), (Some(65_536), dram_bytes));
            let again: Controller = toml::from_str(&toml::to_string(&read).unwrap()).unwrap();
            assert_eq!(again, read);
        }
    }

    #[test]
    fn what_is_no_memory_is_refused_with_its_line() {
        for (text, sentence) in [
            ("sram_bytes = 0", "0 is no size of a memory: expected 1 to 1125899906842624 bytes"),
            ("sram_bytes = -5", "-5 is no size of a memory: expected 1 to"),
            ("sram_bytes = 1125899906842625", "1125899906842625 is no size of a memory"),
            ("sram_bytes = 4096\ndram_bytes = -1", "-1 is no size of a memory: expected 0 to"),
            ("sram_bytes = \"96 KiB\"", "expected i64"),
            ("sram_bytes = 1.5", "expected i64"),
            ("latency_us = -1", "-1 is not in the range"),
            ("write_buffer_bytes = -1", "-1 is no size of a memory: expected 0 to"),
            ("read_list_over_bytes = -1", "-1 is no size of a memory: expected 0 to"),
            ("packed_writes = 0", "a command takes 1 to 63 writes, not 0"),
            ("packed_writes = 64", "a command takes 1 to 63 writes, not 64"),
            ("write_list_over_bytes = 16.5", "expected i64"),
            ("sram_bytes = 4096\ndram = 1", "unknown field `dram`, expected one of `sram_bytes`, `dram_bytes`"),
        ] {
            let error = toml::from_str::<Controller>(text).unwrap_err().to_string();
            assert!(error.contains(sentence), "{text}: {error}");
            assert!(error.contains("line "), "{text}: {error}");
        }
    }
}

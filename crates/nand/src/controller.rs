//! Memories of a device's controller, for its firmware.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Memories of a controller, in bytes: the table `[controller]` of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Fast memory on the controller.
    #[serde(deserialize_with = "some_bytes")]
    pub sram_bytes: u64,
    /// Memory beside it; 0 for a controller without. Omitted if unknown.
    #[serde(default, deserialize_with = "bytes", skip_serializing_if = "Option::is_none")]
    pub dram_bytes: Option<u64>,
}

/// Larger than any controller's memory, and exact in JSON.
const MAX_BYTES: u64 = 1 << 50;

/// Checked here, so the error names its line.
fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    within(deserializer, 0).map(Some)
}

fn some_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    within(deserializer, 1)
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
            assert_eq!(read, Controller { sram_bytes: 65_536, dram_bytes });
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
            ("dram_bytes = 4096", "missing field `sram_bytes`"),
            ("sram_bytes = 4096\ndram = 1", "unknown field `dram`, expected `sram_bytes` or `dram_bytes`"),
        ] {
            let error = toml::from_str::<Controller>(text).unwrap_err().to_string();
            assert!(error.contains(sentence), "{text}: {error}");
            assert!(error.contains("line "), "{text}: {error}");
        }
    }
}

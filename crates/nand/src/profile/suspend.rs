//! Times of operations that give way to reads.

use super::{quantity, some_quantity};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// How an erase, or a program in the background, gives way to reads.
///
/// Source: G. Wu, X. He, "Reducing SSD read latency via NAND flash program and erase suspension", FAST 2012; S.
/// Kim et al., "Practical erase suspension for modern low-latency SSDs", USENIX ATC 2019. Data sheets state
/// both times.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspend {
    /// From the command until the array is free for a read.
    #[serde(deserialize_with = "quantity")]
    pub suspend_us: f64,
    /// From the last read's end until the array continues.
    #[serde(deserialize_with = "quantity")]
    pub resume_us: f64,
    /// Most reads that may interrupt one operation (with [`Self::slice_us`]: between two slices); later reads wait. A
    /// convention that guarantees its completion.
    #[serde(default = "most_reads", deserialize_with = "some_reads")]
    pub most_reads: u32,
    /// Whether to suspend programs, too, if no request waits for them.
    #[serde(default)]
    pub programs: bool,
    /// Array time between two points at which an operation can stop, us; if omitted, it can stop at any time.
    #[serde(default, deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub slice_us: Option<f64>,
}

fn most_reads() -> u32 {
    16
}

fn some_reads<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let why = "0 cannot work: an operation gives way to 1 read or more; leave out suspend for none";
    Some(u32::deserialize(deserializer)?).filter(|&reads| reads > 0).ok_or_else(|| D::Error::custom(why))
}

//! The link between host and device.

use super::is_nothing;
use crate::quantity::quantity;
use serde::{Deserialize, Serialize};

/// The link between host and device: the table `[link]` of a profile. Each direction moves one request's data after the
/// other.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// Time of each read in addition to its data, us.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "is_nothing")]
    pub read_command_us: f64,
    /// Time of each write in addition to its data, us.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "is_nothing")]
    pub write_command_us: f64,
    /// From device to host, MB/s (10^6 bytes); 0: no time.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "is_nothing")]
    pub read_mb_s: f64,
    /// From host to device, MB/s; 0: no time.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "is_nothing")]
    pub write_mb_s: f64,
}

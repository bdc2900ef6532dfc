//! The link between host and device.

use super::is_nothing;
use crate::quantity::quantity;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

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
    /// A second, slower speed; omitted: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling: Option<LinkScaling>,
}

/// A link that is slow while the device has little to do: the table `[link.scaling]` of a profile.
///
/// It begins slow. At the end of each period, the share of it in which at least one request was under way decides.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkScaling {
    /// How often the speed may change, us.
    #[serde(deserialize_with = "period")]
    pub period_us: f64,
    /// After a larger share than this the link is fast, with the rates of `[link]`.
    #[serde(deserialize_with = "share")]
    pub up_share: f64,
    /// After a smaller share than this it is slow; between the two it stays.
    #[serde(deserialize_with = "share")]
    pub down_share: f64,
    /// From device to host while it is slow, MB/s; that of `[link]` if omitted.
    #[serde(deserialize_with = "rate", default, skip_serializing_if = "Option::is_none")]
    pub slow_read_mb_s: Option<f64>,
    /// From host to device, MB/s; that of `[link]` if omitted.
    #[serde(deserialize_with = "rate", default, skip_serializing_if = "Option::is_none")]
    pub slow_write_mb_s: Option<f64>,
}

/// A nanosecond at least.
fn period<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match quantity(deserializer)? {
        us if us >= 0.001 => Ok(us),
        us => Err(D::Error::custom(format!("{us} us is no period: expected 0.001 and more"))),
    }
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match f64::deserialize(deserializer)? {
        share if (0.0..1.0).contains(&share) => Ok(share),
        share => {
            Err(D::Error::custom(format!("{share} is no share that a period can exceed: expected 0 to less than 1")))
        }
    }
}

fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match quantity(deserializer)? {
        mb_s if mb_s > 0.0 => Ok(Some(mb_s)),
        _ => Err(D::Error::custom("a link without a rate moves data in no time, and is not slow")),
    }
}

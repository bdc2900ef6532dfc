//! How long a zoned drive's controller takes to change a zone's state.

use crate::quantity::quantity;
use serde::{Deserialize, Serialize};

/// Time until a reset of a zone is answered: the table `[controller.zone_reset]` of a profile.
///
/// Measured drives answer a reset sooner than their flash is erased, and the later the more of the zone was written
/// (K. Doekemeijer et al.: Performance Characterization of NVMe Flash Devices with Zoned Namespaces. CLUSTER 2023). What takes
/// the time is not published. A power function of the written share fits the measured means.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneReset {
    /// For a zone in which next to nothing was written, us.
    #[serde(deserialize_with = "quantity")]
    pub empty_us: f64,
    /// For a zone that was written to its capacity, us.
    #[serde(deserialize_with = "quantity")]
    pub full_us: f64,
    /// Power of the written share in between; 1 is a straight line.
    #[serde(deserialize_with = "quantity")]
    pub exponent: f64,
}

/// Times of changes of zones.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ZoneTimes {
    /// Until a reset is answered; `None`: it ends with the erase of the zone's first block.
    pub reset: Option<ZoneReset>,
    /// Of a command that opens a zone, us.
    pub open_us: f64,
    /// Before a write that opens its zone, us.
    pub implicit_open_us: f64,
    /// Of a command that closes a zone, us.
    pub close_us: f64,
}

impl ZoneReset {
    /// Time for a zone of which `share`, 0 to 1, was written, us.
    #[must_use]
    pub fn us(&self, share: f64) -> f64 {
        // A power of 0 to 0 is 1, and an empty zone is empty.
        let part = if share > 0.0 { libm::pow(share.min(1.0), self.exponent) } else { 0.0 };
        self.empty_us + (self.full_us - self.empty_us) * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_takes_longer_the_more_was_written() {
        let reset = ZoneReset { empty_us: 100.0, full_us: 500.0, exponent: 0.5 };
        assert_eq!([0.0, 0.25, 1.0, 2.0].map(|share| reset.us(share)), [100.0, 300.0, 500.0, 500.0]);
        let line = ZoneReset { exponent: 1.0, ..reset };
        assert_eq!(line.us(0.25), 200.0);
    }
}

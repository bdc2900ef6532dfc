//! Each tenant's part of the device.

use super::Tenant;
use crate::{Footprint, WorkloadError};
use nandlab_block::{ByteCount, ZoneShape};
use nandlab_nand::SECTOR_BYTES;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// Parts begin at multiples of 4 KiB; on a device with zones they are whole zones.
const STEP: u64 = 8;

/// A tenant's part of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// The whole device, which others may use, too.
    Whole,
    /// So much of it, behind the parts of the tenants before.
    Own(Footprint),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("whole"),
            Self::Own(part) => part.fmt(f),
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole => serializer.serialize_str("whole"),
            Self::Own(part) => part.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One;
        impl Visitor<'_> for One {
            type Value = Part;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share of the device such as 0.5, bytes such as \"64 MiB\", or \"whole\"")
            }
            fn visit_f64<E: de::Error>(self, share: f64) -> Result<Part, E> {
                Ok(Part::Own(Footprint::Share(share)))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Part, E> {
                let part =
                    if number <= 1 { Footprint::Share(number as f64) } else { Footprint::Bytes(ByteCount(number)) };
                Ok(Part::Own(part))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Part, E> {
                match text {
                    "whole" => Ok(Part::Whole),
                    _ => text.parse().map(|bytes| Part::Own(Footprint::Bytes(bytes))).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_any(One)
    }
}

impl schemars::JsonSchema for Part {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Part".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["number", "string"], "format": "share, bytes or whole" })
    }
}

/// A tenant's sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub first: u64,
    pub sectors: u64,
}

impl Region {
    /// The zones of the region, as its tenant sees them: it begins with a zone, and the limits are those of the device.
    pub(super) fn zones(&self, of_device: ZoneShape) -> ZoneShape {
        let (before, own) = (self.first / of_device.size, self.sectors / of_device.size);
        let conventional = u64::from(of_device.conventional).saturating_sub(before).min(own) as u32;
        ZoneShape { conventional, ..of_device }
    }
}

fn bytes(sectors: u64) -> ByteCount {
    ByteCount(sectors * u64::from(SECTOR_BYTES))
}

/// The sectors of a part of a device. With zones a share is rounded down to whole zones.
///
/// # Errors
/// Why the part is none of a device with zones.
fn length(part: Footprint, sectors: u64, zone: Option<u64>) -> Result<u64, String> {
    let length = part.sectors(sectors);
    let Some(zone) = zone else { return Ok(length) };
    let is_whole = match part {
        Footprint::Share(_) if length < zone => {
            return Err(format!("it is less than a zone of the device, {}", bytes(zone)));
        }
        Footprint::Share(_) => true,
        Footprint::Bytes(given) => given.0 % bytes(zone).0 == 0,
    };
    if is_whole {
        return Ok(length / zone * zone);
    }
    Err(format!("a part is a whole number of zones, and a zone of the device has {}", bytes(zone)))
}

/// The regions of all tenants on a device with `sectors`, and perhaps with zones: those with a part of their own one behind the
/// other.
///
/// # Errors
/// A part that is none, or parts that exceed the device.
pub(super) fn lay_out(
    tenants: &[Tenant],
    sectors: u64,
    zones: Option<ZoneShape>,
) -> Result<Vec<Region>, WorkloadError> {
    let device = || bytes(sectors);
    let zone = zones.map(|zones| zones.size);
    let step = zone.unwrap_or(STEP);
    let mut lengths = Vec::new();
    let mut stated = 0u64;
    for (at, tenant) in tenants.iter().enumerate() {
        let Some(Part::Own(part)) = tenant.part else {
            lengths.push(0);
            continue;
        };
        let key = format!("tenant[{at}].part");
        let fits = match part {
            Footprint::Share(share) => share > 0.0 && share <= 1.0,
            Footprint::Bytes(bytes) => bytes.0 > 0,
        };
        if !fits {
            let why = "it is a share above 0 and up to 1, a number of bytes, or \"whole\"";
            return Err(WorkloadError::option(&key, &part, why));
        }
        let length = length(part, sectors, zone).map_err(|why| WorkloadError::option(&key, &part, why))?;
        lengths.push(length);
        stated = stated.saturating_add(length);
        if stated > sectors {
            let why = format!("with the parts before it exceeds the device, which exports {}", device());
            return Err(WorkloadError::option(&key, &part, why));
        }
    }
    let unstated = tenants.iter().filter(|tenant| tenant.part.is_none()).count() as u64;
    let left = sectors - stated;
    let each = match unstated {
        0 => 0,
        1 if zone.is_none() => left,
        _ => left / unstated / step * step,
    };
    if unstated > 0 && each == 0 {
        let at = tenants.iter().position(|tenant| tenant.part.is_none()).unwrap_or(0);
        let of_zones = zone.map(|zone| format!(", in whole zones of {}", bytes(zone))).unwrap_or_default();
        let why = format!("nothing is left for it: the other parts take the device of {}{of_zones}", device());
        return Err(WorkloadError::option(&format!("tenant[{at}].part"), &"\"\"", why));
    }
    let mut next = 0u64;
    let region = |(tenant, stated): (&Tenant, u64)| {
        let length = match tenant.part {
            Some(Part::Whole) => return Region { first: 0, sectors },
            Some(Part::Own(_)) => stated,
            None => each,
        };
        // What rounding up would take from the end is at most seven sectors a tenant.
        let first = next.next_multiple_of(step).min(sectors);
        next = (first + length).min(sectors);
        Region { first, sectors: next - first }
    };
    Ok(tenants.iter().zip(lengths).map(region).collect())
}

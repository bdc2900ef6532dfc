//! Zones: changes by the host, and refused requests.

use super::LatencySummary;
use nandlab_block::ZoneFault;
use nandlab_ftl::ZoneUse;
use serde::Serialize;
use std::collections::BTreeMap;

/// A device of zones as its host used it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZonesRecord {
    /// Appends carried out.
    pub appends: u64,
    /// Zones opened by a command.
    pub opens: u64,
    /// Zones closed by a command.
    pub closes: u64,
    /// Zones finished by a command.
    pub finishes: u64,
    /// Zones emptied by a command.
    pub resets: u64,
    /// Open zones closed by the device, because another one needed the place.
    pub implicit_closes: u64,
    /// Pages written to fill finished zones.
    pub filled_pages: u64,
    /// Most zones open at a time since the mount.
    pub most_open: u32,
    /// Most zones active at a time since the mount.
    pub most_active: u32,
    /// Refused requests by the reason's name; a reason without one is left out.
    pub refused: BTreeMap<&'static str, u64>,
    /// Latencies of finishes; null without one, or without time.
    pub finish_us: Option<LatencySummary>,
    /// Latencies of resets; null without one, or without time.
    pub reset_us: Option<LatencySummary>,
}

impl ZonesRecord {
    pub(crate) fn between(
        start: Option<&ZoneUse>,
        end: Option<&ZoneUse>,
        (finish_us, reset_us): (Option<LatencySummary>, Option<LatencySummary>),
    ) -> Option<Self> {
        let (now, then) = (end?, start.copied().unwrap_or_default());
        let refused = ZoneFault::ALL.iter().zip(now.refused.iter().zip(&then.refused));
        Some(Self {
            appends: now.appends - then.appends,
            opens: now.opens - then.opens,
            closes: now.closes - then.closes,
            finishes: now.finishes - then.finishes,
            resets: now.resets - then.resets,
            implicit_closes: now.implicit_closes - then.implicit_closes,
            filled_pages: now.filled_pages - then.filled_pages,
            most_open: now.most_open,
            most_active: now.most_active,
            refused: refused.map(|(fault, (now, then))| (fault.name(), now - then)).filter(|(_, n)| *n > 0).collect(),
            finish_us,
            reset_us,
        })
    }
}

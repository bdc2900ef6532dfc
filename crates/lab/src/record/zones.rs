//! Zones: changes by the host, and refused requests.

use super::LatencySummary;
use nandlab_block::ZoneFault;
use nandlab_ftl::ZoneUse;
use serde::Serialize;
use std::collections::BTreeMap;

/// A device of zones as its host used it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZonesRecord {
    /// Changes of zones, and the most open and active ones.
    #[serde(flatten)]
    pub used: ZoneUse,
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
        let used = end?.since(&start.copied().unwrap_or_default());
        let refused = ZoneFault::ALL.iter().map(|fault| fault.name()).zip(used.refused);
        Some(Self { used, refused: refused.filter(|&(_, count)| count > 0).collect(), finish_us, reset_us })
    }
}

//! Zones: changes by the host, refused requests, and a report of all zones.

use super::LatencySummary;
use nandlab_block::ZoneFault;
use nandlab_ftl::{ZoneCount, ZoneUse};
use nandlab_nand::SECTOR_BYTES;
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
    /// Latencies of changes.
    #[serde(flatten)]
    pub latencies: ZoneLatencies,
    /// All zones at the end in the order of their sectors; neighbours that are alike share a row.
    pub report: Vec<ZoneRun>,
}

/// Latencies of changes of zones by commands.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ZoneLatencies {
    /// Latencies of commands that opened a zone; null without one, or without time.
    pub open_us: Option<LatencySummary>,
    /// Latencies of commands that closed a zone; null without one, or without time.
    pub close_us: Option<LatencySummary>,
    /// Latencies of finishes; null without one, or without time.
    pub finish_us: Option<LatencySummary>,
    /// Latencies of resets; null without one, or without time.
    pub reset_us: Option<LatencySummary>,
}

/// Neighbouring zones that are alike at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ZoneRun {
    /// The first zone, counted from 0.
    pub first: u32,
    /// Zones in the row.
    pub zones: u32,
    /// Their state: empty, implicitly_opened, explicitly_opened, closed, full, read_only, or not_write_pointer for conventional
    /// zones.
    pub state: &'static str,
    /// Bytes from a zone's start to its write pointer; null for a zone that takes no writes.
    pub write_pointer_bytes: Option<u64>,
    /// Bytes that the host wrote to each of them; in a random write area a sector counts each time.
    pub written_bytes: u64,
    /// Times that the host emptied each of them by a command.
    pub resets: u64,
}

impl ZonesRecord {
    pub(crate) fn new(used: ZoneUse, latencies: ZoneLatencies, report: Vec<ZoneRun>) -> Self {
        let refused = ZoneFault::ALL.iter().map(|fault| fault.name()).zip(used.refused);
        Self { used, refused: refused.filter(|&(_, count)| count > 0).collect(), latencies, report }
    }
}

impl ZoneRun {
    /// The rows of all zones at `end`, with what was done since `start`; an empty `start` is a new drive.
    pub(crate) fn all(start: &[ZoneCount], end: &[ZoneCount]) -> Vec<Self> {
        let bytes = |sectors: u64| sectors * u64::from(SECTOR_BYTES);
        let mut rows: Vec<Self> = Vec::new();
        for (zone, now) in end.iter().enumerate() {
            let (written, resets) = start.get(zone).map_or((0, 0), |then| (then.written_sectors, then.resets));
            let row = Self {
                first: zone as u32,
                zones: 1,
                state: now.state.name(),
                write_pointer_bytes: now.write_pointer.map(bytes),
                written_bytes: bytes(now.written_sectors - written),
                resets: now.resets - resets,
            };
            match rows.last_mut() {
                Some(last) if last.is_like(&row) => last.zones += 1,
                _ => rows.push(row),
            }
        }
        rows
    }

    fn is_like(&self, other: &Self) -> bool {
        Self { first: 0, zones: 1, ..self.clone() } == Self { first: 0, ..other.clone() }
    }
}

//! The zones themselves: write pointers, states, and requests to them.

use super::super::queue::Queue;
use super::super::storage::Lifetime;
use super::step::{Extent, Step};
use crate::IndexError;
use nandlab_block::{BlockDevice, Error, Op, Payload, Request, ZoneCommand, ZoneFault, ZoneShape, ZoneState};
use nandlab_nand::{Origin, SECTOR_BYTES};

/// A zone as its host knows it.
#[derive(Clone, Debug)]
pub(super) struct Zone {
    pub(super) start: u64,
    pub(super) capacity: u64,
    /// Sectors before the write pointer; all of them if the zone takes no more.
    pub(super) written: u64,
    /// Whether the device has no good block left for it.
    read_only: bool,
    /// The lifetime of its files; `None` without any.
    pub(super) lifetime: Option<Lifetime>,
    /// The job that wrote to it last.
    pub(super) writer: Option<u64>,
}

impl Zone {
    pub(super) fn left(&self) -> u64 {
        self.capacity - self.written
    }

    pub(super) fn is_active(&self) -> bool {
        self.written > 0 && self.left() > 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written == 0 && !self.read_only
    }
}

/// The device, and its zones.
pub(super) struct Space<'d> {
    pub(super) queue: Queue<'d, Step>,
    shape: ZoneShape,
    pub(super) zones: Vec<Zone>,
    /// Sectors of a unit.
    unit: u64,
}

impl<'d> Space<'d> {
    pub(super) fn new(device: &'d mut dyn BlockDevice, shape: ZoneShape, unit_bytes: u32) -> Self {
        let mut zones = Vec::new();
        for start in (0..device.sectors() / shape.size).map(|zone| zone * shape.size) {
            let report = device.zone_at(start).expect("the device has as many zones as it tells");
            let written = report.write_pointer.map_or(report.capacity, |pointer| pointer - start);
            let read_only = report.state == ZoneState::ReadOnly;
            zones.push(Zone { start, capacity: report.capacity, written, read_only, lifetime: None, writer: None });
        }
        Self { queue: Queue::new(device), shape, zones, unit: u64::from(unit_bytes / SECTOR_BYTES) }
    }

    pub(super) fn max_active(&self) -> u32 {
        self.shape.max_active
    }

    pub(super) fn zone_of(&self, sector: u64) -> usize {
        (sector / self.shape.size) as usize
    }

    /// Adds an extent to a file's; one that follows in the same zone makes the last one longer.
    pub(super) fn join(&self, extents: &mut Vec<Extent>, next: Extent) {
        match extents.last_mut() {
            Some(last) if last.end() == next.start && self.zone_of(last.start) == self.zone_of(next.start) => {
                last.sectors += next.sectors;
            }
            _ => extents.push(next),
        }
    }

    /// Sectors in whole units that an empty zone takes.
    pub(super) fn whole(&self, zone: usize) -> u64 {
        let capacity = self.zones[zone].capacity;
        capacity - capacity % self.unit
    }

    /// Sectors in whole units that a zone still takes.
    pub(super) fn room(&self, zone: usize) -> u64 {
        let left = self.zones[zone].left();
        left - left % self.unit
    }

    pub(super) fn active(&self) -> u32 {
        self.zones.iter().filter(|zone| zone.is_active()).count() as u32
    }

    /// Whether an empty zone can be opened.
    pub(super) fn may_open(&self) -> bool {
        self.max_active() == 0 || self.active() < self.max_active()
    }

    /// Asserts that the zones are as the device reports them.
    pub(super) fn check(&self) {
        for (at, zone) in self.zones.iter().enumerate() {
            let report = self.queue.device().zone_at(zone.start).expect("the zone is there");
            let written = report.write_pointer.map_or(report.capacity, |pointer| pointer - report.start);
            assert_eq!(zone.written, written, "zone {at}");
        }
    }

    fn command(&mut self, zone: usize, command: ZoneCommand) -> Result<(), IndexError> {
        let origin = Origin::INDEX_HEADER;
        self.queue.command(Request { origin, ..Request::new(Op::Zone(command), self.zones[zone].start, 0) })
    }

    /// Whether another job than the one whose step takes place goes on with a zone.
    pub(super) fn is_held(&self, zone: usize) -> bool {
        let writer = self.zones[zone].writer.filter(|&writer| Some(writer) != self.queue.job());
        writer.is_some_and(|writer| self.queue.goes_on(writer))
    }

    /// Empties a zone, if it is not empty.
    pub(super) fn reset(&mut self, zone: usize) -> Result<(), IndexError> {
        self.zones[zone].lifetime = None;
        if self.zones[zone].written == 0 || self.zones[zone].read_only {
            return Ok(());
        }
        self.command(zone, ZoneCommand::Reset)?;
        self.zones[zone].written = 0;
        Ok(())
    }

    /// Makes a zone full; it is no longer active then.
    pub(super) fn finish(&mut self, zone: usize) -> Result<(), IndexError> {
        self.command(zone, ZoneCommand::Finish)?;
        self.zones[zone].written = self.zones[zone].capacity;
        Ok(())
    }

    /// Writes whole units at a zone's write pointer; returns where. A zone with less than a unit left is finished.
    pub(super) fn write(&mut self, zone: usize, bytes: &[u8], origin: Origin) -> Result<Extent, IndexError> {
        let Zone { start, written, .. } = self.zones[zone];
        self.zones[zone].writer = self.queue.job();
        let extent = Extent { start: start + written, sectors: bytes.len() as u64 / u64::from(SECTOR_BYTES) };
        let request = Request { origin, ..Request::new(Op::Write, extent.start, extent.sectors as u32) };
        self.queue.make(request, Payload::Write(bytes)).map_err(worn)?;
        self.zones[zone].written += extent.sectors;
        if self.zones[zone].left() > 0 && self.room(zone) == 0 {
            self.finish(zone)?;
        }
        Ok(extent)
    }

    /// Reads `bytes` from `sector` on, within one zone; sectors behind the write pointer are zeros without a request.
    pub(super) fn read(&mut self, sector: u64, bytes: &mut [u8], origin: Origin) -> Result<(), IndexError> {
        let zone = &self.zones[self.zone_of(sector)];
        let there = (zone.start + zone.written).saturating_sub(sector) * u64::from(SECTOR_BYTES);
        let (there, behind) = bytes.split_at_mut(there.min(bytes.len() as u64) as usize);
        behind.fill(0);
        if there.is_empty() {
            return Ok(());
        }
        let sectors = (there.len() / SECTOR_BYTES as usize) as u32;
        self.queue.make(Request { origin, ..Request::new(Op::Read, sector, sectors) }, Payload::Read(there))
    }
}

/// A zone that can no longer be written ends the index: the device has no good block left for it.
fn worn(error: IndexError) -> IndexError {
    match error {
        IndexError::Device(Error::Zone { zone, fault: fault @ ZoneFault::ReadOnly }) => {
            Error::WornOut(format!("zone {zone}: {fault}")).into()
        }
        error => error,
    }
}

//! The zones of a tenant's part, as a program in the part sees them.
//!
//! The program cannot ask the device while it has its turn. Nobody else writes to its zones, so it knows their write pointers
//! from its own requests.

use crate::stack::Engine;
use nandlab_block::{Error, Op, Request, ZoneCommand, ZoneFault, ZoneReport, ZoneShape, ZoneState};

/// The zones of a part; sectors count from the start of the part.
pub(super) struct OwnZones {
    shape: ZoneShape,
    first: u64,
    sectors: u64,
    reports: Vec<ZoneReport>,
}

impl OwnZones {
    /// Zones of this shape in a part with so many sectors from `first` on.
    pub(super) fn new(shape: ZoneShape, (first, sectors): (u64, u64)) -> Self {
        Self { shape, first, sectors, reports: Vec::new() }
    }

    /// Takes the zones as the device has them now.
    pub(super) fn see(&mut self, engine: &dyn Engine) {
        let (first, starts) = (self.first, (0..self.sectors / self.shape.size).map(|zone| zone * self.shape.size));
        let reports = starts.map_while(|start| engine.zone_at(first + start)).map(|there| ZoneReport {
            start: there.start - first,
            write_pointer: there.write_pointer.map(|pointer| pointer - first),
            ..there
        });
        self.reports = reports.collect();
    }

    pub(super) fn shape(&self) -> ZoneShape {
        self.shape
    }

    pub(super) fn at(&self, sector: u64) -> Option<ZoneReport> {
        self.reports.get((sector / self.shape.size) as usize).copied()
    }

    /// The program makes a request.
    pub(super) fn follow(&mut self, request: &Request) {
        let Some(zone) = self.reports.get_mut((request.sector / self.shape.size) as usize) else { return };
        let end = zone.start + zone.capacity;
        let (pointer, state) = match request.op {
            Op::Write => (request.end(), ZoneState::ImplicitlyOpened),
            Op::Zone(ZoneCommand::Finish) => (end, ZoneState::Full),
            Op::Zone(ZoneCommand::Reset) => (zone.start, ZoneState::Empty),
            _ => return,
        };
        (zone.write_pointer, zone.state) = if pointer < end { (Some(pointer), state) } else { (None, ZoneState::Full) };
    }

    /// What a write or a command means that the device did not carry out. Limits and write pointers are kept, so the zone has no
    /// good block left.
    pub(super) fn refused(&self, request: &Request) -> Error {
        let zone = (self.first + request.sector) / self.shape.size;
        Error::WornOut(format!("zone {zone}: {}", ZoneFault::ReadOnly))
    }
}

//! A zoned device as a disk of zones.

use super::{Disk, Inner, SECTOR};
use crate::{Due, RandomArea, Zoned, Zoning};
use nandlab_block::{Error, Op, Payload, ZoneCommand, ZoneFault, ZoneReport, ZoneState};
use nandlab_nand::Time;
use std::io;

impl Disk {
    /// Whether it takes writes at the write pointers of zones alone.
    pub fn is_zoned(&self) -> bool {
        self.lock().is_zoned
    }

    pub(crate) fn zoning_if_any(&self) -> Option<Zoning> {
        let inner = self.lock();
        let shape = inner.served.zone_shape()?;
        let options = inner.served.experiment().device.zones.unwrap_or_default();
        let area = options.random_write_area.map(|area| RandomArea {
            sectors: area.0 / SECTOR,
            granularity: options.commit_granularity.map_or(u64::from(self.page_bytes), |bytes| bytes.0) / SECTOR,
            most: options.max_random_write_areas,
        });
        Some(Zoning {
            count: inner.served.sectors() / shape.size,
            shape,
            area,
            reads_across: options.read_across_zones,
            max_append: options.max_append.map(|bytes| bytes.0),
        })
    }
}

impl Zoned for Disk {
    fn zoning(&self) -> Zoning {
        self.zoning_if_any().expect("the disk was asked whether it has zones")
    }

    fn reports(&self, sector: u64) -> Vec<ZoneReport> {
        self.lock().reports(sector)
    }

    fn append(&self, sector: u64, data: &[u8], fua: bool) -> io::Result<(u64, Due)> {
        self.refuse_writes()?;
        let mut first = sector;
        let due = self.change(fua, |inner| {
            first = inner.served.zone_at(sector).and_then(|zone| zone.write_pointer).unwrap_or(sector);
            inner.ask(Op::Append, sector, data.len() as u64 / SECTOR, Payload::Write(data))
        })?;
        Ok((first, due))
    }

    fn change(&self, sector: u64, command: ZoneCommand, flushes: bool) -> io::Result<Due> {
        self.refuse_writes()?;
        Disk::change(self, flushes, |inner| inner.ask(Op::Zone(command), sector, 0, Payload::None))
    }

    fn change_all(&self, command: ZoneCommand, flushes: bool) -> io::Result<Due> {
        self.refuse_writes()?;
        Disk::change(self, flushes, |inner| inner.change_all(command))
    }
}

/// Whether a command for all zones changes one in this state.
fn concerns(command: ZoneCommand, state: ZoneState) -> bool {
    match command {
        ZoneCommand::Open => state == ZoneState::Closed,
        ZoneCommand::Close => state.is_open(),
        ZoneCommand::Finish => state.is_active(),
        ZoneCommand::Reset => state.is_active() || state == ZoneState::Full,
        ZoneCommand::OpenRandom | ZoneCommand::Commit => false,
    }
}

impl Inner {
    fn reports(&self, sector: u64) -> Vec<ZoneReport> {
        let Some(shape) = self.served.zone_shape() else { return Vec::new() };
        let starts = (sector / shape.size..).map(|zone| zone * shape.size);
        starts.map_while(|start| self.served.zone_at(start)).collect()
    }

    fn change_all(&mut self, command: ZoneCommand) -> Result<Time, Error> {
        let zones = self.reports(0);
        let max_open = self.served.zone_shape().map_or(0, |shape| shape.max_open) as usize;
        let opened = |zone: &&ZoneReport| matches!(zone.state, ZoneState::ExplicitlyOpened | ZoneState::Closed);
        // Zones that writes have opened give way; the others do not.
        if command == ZoneCommand::Open && max_open > 0 && zones.iter().filter(opened).count() > max_open {
            return Err(Error::Zone { zone: 0, fault: ZoneFault::TooManyOpen });
        }
        let mut done = 0;
        for zone in zones.iter().filter(|zone| concerns(command, zone.state)) {
            // An opened zone may have closed another one since the report.
            done = done.max(self.ask(Op::Zone(command), zone.start, 0, Payload::None)?);
        }
        Ok(done)
    }

    /// Writes zeros at a zone's write pointer, as one write.
    pub(super) fn zero_in_zone(&mut self, offset: u64, length: u64) -> Result<Time, Error> {
        let zeros = std::mem::take(&mut self.zeros);
        let done = match usize::try_from(length).ok().and_then(|length| zeros.get(..length)) {
            Some(data) => self.write_bytes(offset, data),
            None => Err(Error::Zone { zone: 0, fault: ZoneFault::InvalidField }),
        };
        self.zeros = zeros;
        done
    }
}

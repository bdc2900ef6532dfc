//! Bytes at any offset on a disk of sectors.

use super::{Disk, Inner, SECTOR, TRIMMED, ZEROS};
use nandlab_block::{Error, Op, Payload};
use nandlab_nand::Time;
use std::io;

/// The sectors holding these bytes, and the bytes' start inside them.
fn around(offset: u64, length: u64) -> (u64, u64, usize) {
    let first = offset / SECTOR;
    let end = (offset + length).div_ceil(SECTOR);
    (first, end - first, (offset % SECTOR) as usize)
}

impl Inner {
    /// Reads whole sectors.
    pub(super) fn read(&mut self, mut sector: u64, mut out: &mut [u8]) -> Result<Time, Error> {
        let mut done = 0;
        while !out.is_empty() {
            let sectors = self.regions.alike(sector, out.len() as u64 / SECTOR);
            let (now, later) = out.split_at_mut((sectors * SECTOR) as usize);
            done = done.max(self.ask(Op::Read, sector, sectors, Payload::Read(now))?);
            (sector, out) = (sector + sectors, later);
        }
        Ok(done)
    }

    /// Writes whole sectors.
    pub(super) fn write(&mut self, mut sector: u64, mut data: &[u8]) -> Result<Time, Error> {
        if self.is_zoned {
            return self.ask(Op::Write, sector, data.len() as u64 / SECTOR, Payload::Write(data));
        }
        let mut done = 0;
        while !data.is_empty() {
            let sectors = self.regions.alike(sector, data.len() as u64 / SECTOR);
            let (now, later) = data.split_at((sectors * SECTOR) as usize);
            done = done.max(self.ask(Op::Write, sector, sectors, Payload::Write(now))?);
            (sector, data) = (sector + sectors, later);
        }
        Ok(done)
    }

    /// Trims whole sectors.
    pub(super) fn trim(&mut self, mut sector: u64, mut sectors: u64) -> Result<Time, Error> {
        let mut done = 0;
        while sectors > 0 {
            let now = self.regions.alike(sector, sectors.min(TRIMMED));
            done = done.max(self.ask(Op::Trim, sector, now, Payload::None)?);
            (sector, sectors) = (sector + now, sectors - now);
        }
        Ok(done)
    }

    /// Reads any bytes.
    pub(super) fn read_bytes(&mut self, offset: u64, out: &mut [u8]) -> Result<Time, Error> {
        let (sector, sectors, start) = around(offset, out.len() as u64);
        if start == 0 && out.len() as u64 == sectors * SECTOR {
            return self.read(sector, out);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize((sectors * SECTOR) as usize, 0);
        let done = self.read(sector, &mut scratch);
        out.copy_from_slice(&scratch[start..start + out.len()]);
        self.scratch = scratch;
        done
    }

    /// Writes any bytes: partial sectors are read, changed and written.
    pub(super) fn write_bytes(&mut self, offset: u64, data: &[u8]) -> Result<Time, Error> {
        let (sector, sectors, start) = around(offset, data.len() as u64);
        if start == 0 && data.len() as u64 == sectors * SECTOR {
            return self.write(sector, data);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize((sectors * SECTOR) as usize, 0);
        let done = self.write_parts(sector, &mut scratch, start, data);
        self.scratch = scratch;
        done
    }

    /// Writes `sectors` with `data` in them from `start` on; the rest in the first and the last one stays.
    fn write_parts(&mut self, sector: u64, sectors: &mut [u8], start: usize, data: &[u8]) -> Result<Time, Error> {
        let one = SECTOR as usize;
        let last = sectors.len() - one;
        if start > 0 {
            self.read(sector, &mut sectors[..one])?;
        }
        if (start + data.len()) % one > 0 && (last > 0 || start == 0) {
            self.read(sector + (last / one) as u64, &mut sectors[last..])?;
        }
        sectors[start..start + data.len()].copy_from_slice(data);
        self.write(sector, sectors)
    }

    /// Writes zeros.
    pub(super) fn zero(&mut self, mut offset: u64, mut length: u64) -> Result<Time, Error> {
        let zeros = std::mem::take(&mut self.zeros);
        let mut done = Ok(0);
        while length > 0 && done.is_ok() {
            // The next piece begins with a multiple.
            let now = length.min(ZEROS as u64 - offset % ZEROS as u64);
            done = self.write_bytes(offset, &zeros[..now as usize]);
            (offset, length) = (offset + now, length - now);
        }
        self.zeros = zeros;
        done
    }

    /// Makes bytes zero: whole pages by a trim, if trims last.
    pub(super) fn zero_or_trim(&mut self, offset: u64, length: u64, page: u64) -> Result<Time, Error> {
        let (first, end) = (offset.next_multiple_of(page), (offset + length) / page * page);
        if !self.trims_last || first >= end {
            return self.zero(offset, length);
        }
        let mut done = self.zero(offset, first - offset)?;
        done = done.max(self.trim(first / SECTOR, (end - first) / SECTOR)?);
        Ok(done.max(self.zero(end, offset + length - end)?))
    }
}

impl Disk {
    pub(super) fn refuse_writes(&self) -> io::Result<()> {
        match self.is_read_only {
            true => Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the image was opened to be read only")),
            false => Ok(()),
        }
    }
}

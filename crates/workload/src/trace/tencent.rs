//! Tencent: block traces of cloud disks.
//!
//! `time,offset,size,type,volume`: seconds, first 512-byte sector, sector count, 0 for a read and 1 for a write, a
//! number. Each volume is a device.
//!
//! Source: Zhang et al., "OSCA: An Online-Model Based Cache Allocation Scheme", USENIX ATC 2020.

use super::fields::{in_sectors, Columns, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};
use nandlab_block::Op;

/// Reads one line.
#[derive(Debug)]
pub struct Tencent(TimeUnit);

impl Tencent {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self(options.time_unit(TimeUnit::S))
    }
}

impl Format for Tencent {
    fn names(&self) -> Option<&'static [&'static str]> {
        Some(&["time", "offset", "size", "type|op", "volume"])
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        let time = fields.time("time", self.0)?;
        fields.byte(b',', "offset")?;
        let address = fields.at;
        let sector = fields.number("offset, a whole number of 512-byte sectors", u64::MAX)?;
        fields.byte(b',', "size")?;
        let size = fields.at;
        let sectors = fields.number("size, a whole number of 512-byte sectors", u64::MAX)?;
        fields.byte(b',', "0 (read) or 1 (write)")?;
        let op = if fields.bit("0 (read) or 1 (write)")? { Op::Write } else { Op::Read };
        fields.byte(b',', "volume")?;
        let volume = fields.at;
        fields.number("volume, a whole number", u64::MAX)?;
        let device = &line[volume..fields.at];
        fields.end()?;
        in_sectors((time, op), (sector, sectors), device, Columns { address, size })
    }
}

//! SPC: the traces of the Storage Performance Council's form, such as Financial and WebSearch of UMass.
//!
//! `ASU,LBA,size,opcode,timestamp`: application storage unit, first 512-byte sector, size in bytes, `r` or `w` (either
//! case), seconds. Each unit is a device. More fields may follow and are not read.
//!
//! Source: Storage Performance Council, "SPC Trace File Format Specification", revision 1.0.1, 2002.

use super::fields::{in_bytes, Columns, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};

/// Reads one line.
#[derive(Debug)]
pub struct Spc(TimeUnit);

impl Spc {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self(options.time_unit(TimeUnit::S))
    }
}

impl Format for Spc {
    fn names(&self) -> Option<&'static [&'static str]> {
        Some(&["asu", "lba", "size|bytes|length", "op|rw|type", "time"])
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        fields.number("ASU, a whole number", u64::from(u32::MAX))?;
        let device = &line[..fields.at];
        fields.byte(b',', "LBA")?;
        let address = fields.at;
        let sector = fields.number("LBA, a whole number of 512-byte sectors", u64::MAX >> 9)?;
        fields.byte(b',', "size")?;
        let size = fields.at;
        let bytes = fields.number("size, a whole number of bytes", u64::MAX)?;
        fields.byte(b',', "opcode")?;
        let op = fields.read_or_write()?;
        fields.byte(b',', "timestamp")?;
        let time = fields.time("timestamp", self.0)?;
        if fields.peek() != Some(b',') {
            fields.end()?;
        }
        in_bytes((time, op), (sector << 9, bytes), device, Columns { address, size })
    }
}

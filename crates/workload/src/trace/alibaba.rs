//! Alibaba: block traces of cloud disks.
//!
//! `device,op,offset,bytes,time`: a number, `R` or `W`, bytes, bytes, microseconds. A header line
//! `device_id,opcode,offset,length,timestamp` is skipped if present.
//!
//! Source: Li et al., "An In-Depth Analysis of Cloud Block Storage Workloads", IISWC 2020.

use super::fields::{in_bytes, Columns, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};

/// Reads one line.
#[derive(Debug)]
pub struct Alibaba(TimeUnit);

impl Alibaba {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self(options.time_unit(TimeUnit::Us))
    }
}

impl Format for Alibaba {
    fn names(&self) -> Option<&'static [&'static str]> {
        Some(&["dev|volume", "op|rw|type", "offset", "length|size|bytes", "time"])
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        fields.number("device, a whole number", u64::MAX)?;
        let device = &line[..fields.at];
        fields.byte(b',', "R (read) or W (write)")?;
        let op = fields.read_or_write()?;
        fields.byte(b',', "offset")?;
        let address = fields.at;
        let offset = fields.number("offset, a whole number of bytes", u64::MAX)?;
        fields.byte(b',', "bytes")?;
        let size = fields.at;
        let bytes = fields.number("bytes, a whole number", u64::MAX)?;
        fields.byte(b',', "time")?;
        let time = fields.time("time", self.0)?;
        fields.end()?;
        in_bytes((time, op), (offset, bytes), device, Columns { address, size })
    }
}

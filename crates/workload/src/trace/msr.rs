//! MSR Cambridge: block traces of the servers of a research laboratory.
//!
//! `timestamp,host,disk,type,offset,size,response time`, one request a line.
//!
//! The time is a Windows file time, 100 ns since 1601; the type `Read` or `Write`; offset and size are bytes. Host and
//! disk together are the device, as in `hm,1`. The response time, in 100 ns, is kept as the recorded latency. Requests
//! were recorded when they ended, so a few times go back.
//!
//! Source: Narayanan, Donnelly & Rowstron, "Write off-loading", FAST 2008; SNIA IOTTA repository.

use super::fields::{in_bytes, Columns, Fields};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed, Took};
use nandlab_block::Op;

/// Reads one line.
#[derive(Debug)]
pub struct Msr {
    /// Ticks to subtract: 1970's, unless the file starts earlier.
    epoch: Option<u64>,
    /// The last line's response time.
    response: u64,
}

/// 100 ns ticks from 1601 to 1970.
const UNIX_EPOCH: u64 = 116_444_736_000_000_000;

impl Msr {
    pub(crate) fn new(_: &ReaderOptions) -> Self {
        Self { epoch: None, response: 0 }
    }
}

impl Format for Msr {
    fn names(&self) -> Option<&'static [&'static str]> {
        Some(&["time", "host|server|machine", "disk", "type|op|rw", "offset", "size|length|bytes", "resp|latency"])
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        let ticks = fields.number("timestamp, a whole number of 100 ns", u64::MAX / 100)?;
        fields.byte(b',', "host")?;
        let device = fields.at;
        fields.until("host", |byte| byte == b',')?;
        fields.byte(b',', "disk")?;
        fields.number("disk, a whole number", u64::from(u32::MAX))?;
        let device = &line[device..fields.at];
        fields.byte(b',', "type")?;
        let op = match fields.until("type, Read or Write", |byte| byte == b',')? {
            b"Read" | b"read" | b"R" => Op::Read,
            b"Write" | b"write" | b"W" => Op::Write,
            other => {
                fields.at -= other.len();
                return Err(fields.unexpected("type, Read or Write"));
            }
        };
        fields.byte(b',', "offset")?;
        let address = fields.at;
        let offset = fields.number("offset, a whole number of bytes", u64::MAX)?;
        fields.byte(b',', "size")?;
        let size = fields.at;
        let bytes = fields.number("size, a whole number of bytes", u64::MAX)?;
        fields.byte(b',', "response time")?;
        let response = fields.number("response time, a whole number of 100 ns", u64::MAX)?;
        fields.end()?;
        let epoch = *self.epoch.get_or_insert(if ticks >= UNIX_EPOCH { UNIX_EPOCH } else { 0 });
        let Some(since) = ticks.checked_sub(epoch) else {
            return Err(Malformed::new(0, "expected a timestamp after 1970, as on the line before".to_owned()));
        };
        if since > super::fields::MAX_TIME / 100 {
            return Err(Malformed::new(0, "timestamp is beyond the 292 years that a trace can span".to_owned()));
        }
        self.response = response;
        in_bytes((since * 100, op), (offset, bytes), device, Columns { address, size })
    }

    fn took(&self) -> Option<Took> {
        Some(Took { latency: self.response.saturating_mul(100), service: None })
    }
}

//! vscsi2: the second version of the binary traces of virtual disks.
//!
//! 40-byte records, little-endian: SCSI command (2 bytes), record version (2, here 0x0200), serial number (4), bytes
//! (4), scatter list elements (4), logical block (8), time in microseconds (8), response time in microseconds (8), kept
//! as the recorded latency. Reads, writes, UNMAP and SYNCHRONIZE CACHE are requests; other commands are none. `vscsi`
//! is the first version.
//!
//! Source: the reader of libCacheSim, which names the fields of both versions; Waldspurger, Park, Garthwaite & Ahmad,
//! "Efficient MRC Construction with SHARDS", FAST 2015.

use super::format::{Format, ReaderOptions};
use super::line::{Frame, Line, Malformed, Took};
use super::vscsi::{little, request, Places};

/// Reads one record.
#[derive(Debug, Default)]
pub struct Vscsi2 {
    /// From the last record, in microseconds.
    response: u64,
}

impl Vscsi2 {
    pub(crate) fn new(_: &ReaderOptions) -> Self {
        Self::default()
    }
}

const PLACES: Places = Places { record: 40, command: 0, version: 2, size: 8, block: 16, time: 24, number: 2 };

impl Format for Vscsi2 {
    fn frame(&self) -> Frame {
        Frame::Bytes(PLACES.record)
    }

    #[inline]
    fn record<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let line = request(bytes, &PLACES)?;
        self.response = little(&bytes[32..40]);
        Ok(line)
    }

    fn took(&self) -> Option<Took> {
        Some(Took { latency: self.response.saturating_mul(1000), service: None })
    }

    fn others(&self) -> &'static str {
        super::vscsi::OTHERS
    }
}

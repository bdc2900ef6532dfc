//! BIOtracer: applications on a smartphone with eMMC.
//!
//! `sector sectors bytes flags created fetched issued completed`, tabs between: first 512-byte sector, sector count,
//! the same in bytes, flags with bit 0 set for a write. Then four times in seconds: the request was made, taken by the
//! driver, given to the device, and completed. The first time is the request's time; up to the last one is the recorded
//! latency, and the device's own share runs from the third to the last. A packed eMMC write has one header sector
//! without data: a write with 8 n + 1 sectors counts 8 n. Requests that waited were recorded later than they were made,
//! so times may go back.
//!
//! Source: Zhou et al., "An Empirical Study of File-System I/O on Smartphones", IISWC 2015.

use super::clock::LONGEST_PAUSE;
use super::fields::{in_sectors, Columns, Fields, TimeUnit, PAGE_SECTORS};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed, Took};
use nandlab_block::Op;

/// Reads one line.
#[derive(Debug)]
pub struct Biotracer {
    unit: TimeUnit,
    /// From the last line.
    took: Option<Took>,
}

impl Biotracer {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self { unit: options.time_unit(TimeUnit::S), took: None }
    }
}

impl Format for Biotracer {
    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        let sector = fields.number("sector, a whole number of 512-byte sectors", u64::MAX)?;
        fields.blank("sectors")?;
        let size = fields.at;
        let mut sectors = fields.number("sectors, a whole number of 512-byte sectors", u64::MAX >> 10)?;
        fields.blank("bytes")?;
        let at = fields.at;
        if fields.number("bytes, a whole number", u64::MAX)? != sectors * 512 {
            fields.at = at;
            return Err(fields.unexpected(&format!("bytes, here {} as there are {sectors} sectors", sectors * 512)));
        }
        fields.blank("flags")?;
        let flags = fields.number("flags, a whole number", u64::from(u32::MAX))?;
        fields.blank("the time when the request was made")?;
        let time = fields.time("the time when the request was made", self.unit)?;
        let mut after = [0; 3];
        for (at, name) in ["fetched", "issued", "completed"].into_iter().enumerate() {
            fields.blank(name)?;
            after[at] = fields.time(name, self.unit)?;
        }
        fields.end()?;
        let [_, issued, completed] = after;
        // If the clock was set in between, the latency is unknown.
        let latency = completed.checked_sub(time).filter(|&latency| latency <= LONGEST_PAUSE as u64);
        self.took = latency.map(|latency| Took { latency, service: completed.checked_sub(issued) });
        let op = if flags & 1 == 1 { Op::Write } else { Op::Read };
        if op == Op::Write && sectors % PAGE_SECTORS == 1 && sectors > 1 {
            sectors -= 1;
        }
        in_sectors((time, op), (sector, sectors), b"", Columns { address: 0, size })
    }

    fn took(&self) -> Option<Took> {
        self.took
    }
}

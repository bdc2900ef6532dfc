//! Pixel: applications on a Pixel 6a with UFS storage.
//!
//! The header is `proces,device,rw_flag,sector,size,timestamp` (so spelled); a line has a process (it may hold commas),
//! the device, `R` or `W`, the first 512-byte sector, the sector count and seconds.
//!
//! Source: the traces of mobile applications on UFS published with a paper of SYSTOR 2024.

use super::fields::{in_sectors, shown, Columns, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};

/// Reads one line.
#[derive(Debug)]
pub struct Pixel(TimeUnit);

impl Pixel {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self(options.time_unit(TimeUnit::S))
    }
}

const HEADERS: [&[u8]; 2] =
    [b"proces,device,rw_flag,sector,size,timestamp", b"process,device,rw_flag,sector,size,timestamp"];

impl Format for Pixel {
    fn header(&mut self, line: &[u8]) -> Result<bool, Malformed> {
        if HEADERS.contains(&line.trim_ascii_end()) {
            return Ok(true);
        }
        let message =
            format!("expected the header `proces,device,rw_flag,sector,size,timestamp`, found {}", shown(line));
        Err(Malformed::new(0, message))
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        // The process may hold commas: the five columns are counted from the end.
        let mut commas = line.iter().enumerate().rev().filter(|(_, &byte)| byte == b',');
        let Some((process, _)) = commas.nth(4) else {
            fields.at = line.len();
            return Err(fields.unexpected("six columns: process, device, R or W, sector, size, timestamp"));
        };
        fields.at = process + 1;
        let device = fields.until("device", |byte| byte == b',')?;
        fields.byte(b',', "R (read) or W (write)")?;
        let op = fields.read_or_write()?;
        fields.byte(b',', "sector")?;
        let address = fields.at;
        let sector = fields.number("sector, a whole number of 512-byte sectors", u64::MAX)?;
        fields.byte(b',', "size")?;
        let size = fields.at;
        let sectors = fields.number("size, a whole number of 512-byte sectors", u64::MAX)?;
        fields.byte(b',', "timestamp")?;
        let time = fields.time("timestamp", self.0)?;
        fields.end()?;
        in_sectors((time, op), (sector, sectors), device, Columns { address, size })
    }
}

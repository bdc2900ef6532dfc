//! vscsi: the binary traces of virtual disks by CloudPhysics.
//!
//! 32-byte records, little-endian: serial number (4 bytes), bytes (4), scatter list elements (4), SCSI command (2),
//! record version (2, here 0x0100), logical block (8), time in microseconds (8). Reads, writes, UNMAP and SYNCHRONIZE
//! CACHE are requests; other commands are none. `vscsi2` is the second version.
//!
//! Source: Waldspurger, Park, Garthwaite & Ahmad, "Efficient MRC Construction with SHARDS", FAST 2015.

use super::fields::{in_bytes, Columns, MAX_TIME};
use super::format::{Format, ReaderOptions};
use super::line::{Frame, Line, Malformed};
use nandlab_block::Op;

/// Reads one record.
#[derive(Debug)]
pub struct Vscsi;

impl Vscsi {
    pub(crate) fn new(_: &ReaderOptions) -> Self {
        Self
    }
}

/// The field positions in a record.
pub(super) struct Places {
    /// Bytes per record.
    pub(super) record: usize,
    pub(super) command: usize,
    pub(super) version: usize,
    pub(super) size: usize,
    pub(super) block: usize,
    pub(super) time: usize,
    /// The version accepted.
    pub(super) number: u64,
}

const PLACES: Places = Places { record: 32, command: 12, version: 14, size: 4, block: 16, time: 24, number: 1 };

pub(super) const OTHERS: &str = "hold SCSI commands that move no data";

pub(super) fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// A record's request.
#[inline]
pub(super) fn request<'a>(bytes: &[u8], at: &Places) -> Result<Line<'a>, Malformed> {
    if bytes.len() != at.record {
        let message = format!("expected a record of {} bytes, found the end after {}", at.record, bytes.len());
        return Err(Malformed::new(0, message));
    }
    let number = |start: usize, length: usize| little(&bytes[start..start + length]);
    let (size, command, version) = (number(at.size, 4), number(at.command, 2), number(at.version, 2));
    let (block, time_us) = (number(at.block, 8), number(at.time, 8));
    if version >> 8 != at.number {
        let wanted = at.number;
        let message = format!("expected version {wanted} of the record (0x0{wanted}00), found {version:#06x}");
        return Err(Malformed::new(at.version, message));
    }
    let op = match command {
        0x08 | 0x28 | 0x88 | 0xA8 => Op::Read,
        0x0A | 0x2A | 0x8A | 0xAA => Op::Write,
        0x42 => Op::Trim,
        0x35 | 0x91 => Op::Flush,
        0x00..=0xFF => return Ok(Line::Other),
        _ => {
            let message = format!("expected a SCSI command of one byte, found {command:#06x}");
            return Err(Malformed::new(at.command, message));
        }
    };
    if time_us > MAX_TIME / 1000 {
        return Err(Malformed::new(at.time, "time is beyond the 292 years that a trace can span".to_owned()));
    }
    if block > u64::MAX >> 9 {
        return Err(Malformed::new(at.block, format!("logical block {block} is beyond any device")));
    }
    in_bytes((time_us * 1000, op), (block << 9, size), b"", Columns { address: at.block, size: at.size })
}

impl Format for Vscsi {
    fn frame(&self) -> Frame {
        Frame::Bytes(PLACES.record)
    }

    #[inline]
    fn record<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Line<'a>, Malformed> {
        request(bytes, &PLACES)
    }

    fn others(&self) -> &'static str {
        OTHERS
    }
}

//! vscsi: the binary traces of virtual disks by CloudPhysics.
//!
//! Records of 32 bytes, little-endian: serial number (4 bytes), bytes (4), elements of the scatter list (4), SCSI command
//! (2), version of the record (2, here 0x0100), logical block (8), time in microseconds (8). Reads, writes, UNMAP and
//! SYNCHRONIZE CACHE are requests; other commands are none.
//!
//! Source: Waldspurger, Park, Garthwaite & Ahmad, "Efficient MRC Construction with SHARDS", FAST 2015.

use super::fields::{in_bytes, Columns, MAX_TIME};
use super::format::{Format, Frame, Line, Malformed, ReaderOptions};
use nandlab_block::Op;

/// The reader of one record.
#[derive(Debug)]
pub struct Vscsi;

impl Vscsi {
    pub(crate) fn new(_: &ReaderOptions) -> Self {
        Self
    }
}

/// Bytes of a record.
const RECORD: usize = 32;

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

impl Format for Vscsi {
    fn frame(&self) -> Frame {
        Frame::Bytes(RECORD)
    }

    #[inline]
    fn record<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Line<'a>, Malformed> {
        if bytes.len() != RECORD {
            let message = format!("expected a record of {RECORD} bytes, found the end after {}", bytes.len());
            return Err(Malformed::new(0, message));
        }
        let (size, command, version) = (little(&bytes[4..8]), little(&bytes[12..14]), little(&bytes[14..16]));
        let (block, time_us) = (little(&bytes[16..24]), little(&bytes[24..32]));
        if version >> 8 != 1 {
            let message = format!("expected version 1 of the record (0x0100), found {version:#06x}");
            return Err(Malformed::new(14, message));
        }
        let op = match command {
            0x08 | 0x28 | 0x88 | 0xA8 => Op::Read,
            0x0A | 0x2A | 0x8A | 0xAA => Op::Write,
            0x42 => Op::Trim,
            0x35 | 0x91 => Op::Flush,
            0x00..=0xFF => return Ok(Line::Other),
            _ => return Err(Malformed::new(12, format!("expected a SCSI command of one byte, found {command:#06x}"))),
        };
        if time_us > MAX_TIME / 1000 {
            return Err(Malformed::new(24, "time is beyond the 292 years that a trace can span".to_owned()));
        }
        if block > u64::MAX >> 9 {
            return Err(Malformed::new(16, format!("logical block {block} is beyond any device")));
        }
        in_bytes((time_us * 1000, op), (block << 9, size), b"", Columns { address: 16, size: 4 })
    }

    fn others(&self) -> &'static str {
        "hold SCSI commands that move no data"
    }
}

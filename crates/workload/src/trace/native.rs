//! Native: the project's own binary format, for traces that are read often.
//!
//! Everything a trace can hold (time in nanoseconds, operation, sectors, origin, placement, device) in 5 to 10 bytes a
//! record, without loss, in blocks with checksums. `nandlab trace convert` writes it.
//!
//! ## Bytes
//! Versions 1 and 2. All numbers are little-endian. A varint has seven bits a byte, the lowest first; the top bit
//! announces another byte.
//!
//! * Header, 16 bytes: `89 4E 4C 54 52 0D 0A 1A`, version (2 bytes: 1, or 2 if a write of the trace has a placement),
//!   zero (2), CRC-32 of these 12 bytes (4).
//! * Blocks: body length in bytes (4, at most 196,608), record count (4), CRC-32 of the body (4), body. The last block
//!   has no body and no records, and the file ends there.
//! * A record starts with a tag: bits 0 and 1 the operation (0 read, 1 write, 2 trim, 3 flush), bit 2 the address equals
//!   the previous end, bit 3 as many sectors as the one before, bit 4 another origin, bit 5 another device, bit 6 the
//!   same time. In version 2 bit 7 says another placement; in version 1 it is zero. Then, unless the tag says they are
//!   absent: origin, device, placement (varint), nanoseconds since the record before (varint), distance from the previous
//!   request's end to the address (varint, zigzag), sectors (varint). A flush has neither address nor sectors.
//! * An origin or a device is a varint, its number in the table of this block; a number one past the table's end adds the
//!   name that follows (length as varint, bytes).
//! * A placement is 0 for none, or 1 + handle + 256 x group. It stays for the block's next writes. Other requests have
//!   none: a flush with a placement is an update of its unit.
//! * Every block starts from time 0, end 0, no sectors, no placement, and empty tables: a record then belongs to the host
//!   and to a device without a name.

mod run;
#[cfg(test)]
mod tests;

use super::fields::{most_sectors, MAX_SECTOR, MAX_TIME};
use super::format::{Format, ReaderOptions};
use super::line::{Found, Frame, Line, Malformed};
use flate2::Crc;
use nandlab_block::{Op, Request};
use nandlab_nand::{Origin, PlacementId, Time};
use std::io::{self, Write};

/// A file's first bytes. The very first is no text; damaged line ends show up here.
pub(crate) const MAGIC: [u8; 8] = *b"\x89NLTR\r\n\x1A";

/// File header bytes: magic, version, flags, checksum.
pub(crate) const HEADER_BYTES: usize = 16;

/// Block header bytes: body bytes, records, body checksum.
pub(crate) const BLOCK_HEADER_BYTES: usize = 12;

/// A file without placements, and one with them: the tag's highest bit then announces one.
const VERSION: u16 = 1;
const PLACED: u16 = 2;

/// Records in a block.
const BLOCK_RECORDS: u32 = 4096;

/// Most bytes in a body.
pub(crate) const MAX_BODY_BYTES: usize = 192 * 1024;

/// A body this long is written whatever its record count: one record is far shorter than the rest.
const FULL_BODY_BYTES: usize = 160 * 1024;

const MAX_NAME_BYTES: usize = 4096;

const FOLLOWS: u8 = 1 << 2;
const SAME_SECTORS: u8 = 1 << 3;
const HAS_ORIGIN: u8 = 1 << 4;
const HAS_DEVICE: u8 = 1 << 5;
const SAME_TIME: u8 = 1 << 6;
const HAS_PLACEMENT: u8 = 1 << 7;

/// The base for the next record's differences.
#[derive(Debug, Default)]
struct State {
    time: Time,
    end: u64,
    sectors: u32,
    origin: usize,
    device: usize,
    placement: PlacementId,
}

/// Reads one record.
#[derive(Debug)]
pub struct Native {
    /// Whether records may have placements.
    is_placed: bool,
    state: State,
    origins: Vec<Origin>,
    devices: Vec<Vec<u8>>,
    taken: usize,
}

impl Native {
    pub(crate) fn new(_: &ReaderOptions) -> Self {
        Self::reading(true)
    }

    fn reading(is_placed: bool) -> Self {
        Self { is_placed, state: State::default(), origins: Vec::new(), devices: Vec::new(), taken: 0 }
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Checks a file header; returns the version.
fn check_header(header: &[u8]) -> Result<u16, String> {
    if header.len() < HEADER_BYTES || header[..8] != MAGIC {
        return Err("expected the header of a native trace".to_owned());
    }
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if number(12) != checksum(&header[..12]) {
        return Err("the header is damaged: its checksum does not fit".to_owned());
    }
    let version = number(8) as u16;
    if ![VERSION, PLACED].contains(&version) || number(8) >> 16 != 0 {
        return Err(format!("the trace has version {version} of the native format, expected {VERSION} or {PLACED}"));
    }
    Ok(version)
}

/// A block header's fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockHeader {
    pub(crate) bytes: usize,
    pub(crate) records: u32,
    checksum: u32,
}

impl BlockHeader {
    pub(crate) fn read(header: &[u8; BLOCK_HEADER_BYTES]) -> Result<Self, String> {
        let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let block = Self { bytes: number(0) as usize, records: number(4), checksum: number(8) };
        if block.bytes > MAX_BODY_BYTES {
            return Err(format!("expected a block of at most {MAX_BODY_BYTES} bytes, found one of {}", block.bytes));
        }
        Ok(block)
    }

    /// The last block has no records.
    pub(crate) fn is_last(&self) -> bool {
        self.records == 0
    }

    pub(crate) fn check(&self, body: &[u8]) -> Result<(), String> {
        if checksum(body) == self.checksum {
            Ok(())
        } else {
            Err("a block is damaged: its checksum does not fit".to_owned())
        }
    }
}

struct Body<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Body<'a> {
    #[inline]
    fn byte(&mut self) -> Result<u8, Malformed> {
        let Some(&byte) = self.bytes.get(self.at) else {
            return Err(Malformed::new(self.at, "expected more of a record, found the end of its block".to_owned()));
        };
        self.at += 1;
        Ok(byte)
    }

    /// Seven bits a byte, the lowest first.
    #[inline]
    fn number(&mut self) -> Result<u64, Malformed> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(first.into());
        }
        let mut value = u64::from(first & 0x7F);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 && (shift < 63 || byte < 2) {
                return Ok(value);
            }
            if shift == 63 {
                break;
            }
        }
        Err(Malformed::new(self.at, "expected a number of at most 64 bits".to_owned()))
    }

    /// A placement: 0 for none, or the number of the identifier and 1.
    fn placement(&mut self) -> Result<PlacementId, Malformed> {
        let number = self.number()?;
        let placement = number.checked_sub(1).map_or(Some(PlacementId::NONE), |number| {
            let placement = PlacementId::from_number(u16::try_from(number).ok()?);
            (placement.is_some() && u32::from(placement.handle) < PlacementId::HANDLES).then_some(placement)
        });
        placement.ok_or_else(|| Malformed::new(self.at, format!("expected the number of a placement, found {number}")))
    }

    /// A number in a table in this block; with the name if it is new.
    fn entry(&mut self, known: usize) -> Result<(usize, Option<&'a [u8]>), Malformed> {
        let number = self.number()? as usize;
        if number < known {
            return Ok((number, None));
        }
        let length = self.number()? as usize;
        if number > known || length > MAX_NAME_BYTES || length > self.bytes.len() - self.at {
            return Err(Malformed::new(self.at, "expected an origin or device of this block".to_owned()));
        }
        let name = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok((number, Some(name)))
    }
}

impl Format for Native {
    fn frame(&self) -> Frame {
        Frame::Block
    }

    fn header(&mut self, header: &[u8]) -> Result<bool, Malformed> {
        let version = check_header(header).map_err(|message| Malformed::new(0, message))?;
        *self = Self::reading(version == PLACED);
        Ok(true)
    }

    #[inline]
    fn record<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut body = Body { bytes, at: 0 };
        let tag = body.byte()?;
        if tag & HAS_PLACEMENT != 0 && !self.is_placed {
            return Err(Malformed::new(0, "expected the first byte of a record".to_owned()));
        }
        if tag & (HAS_DEVICE | HAS_ORIGIN) != 0 {
            self.names(tag, &mut body)?;
        }
        if tag & HAS_PLACEMENT != 0 {
            self.state.placement = body.placement()?;
        }
        let mut op = [Op::Read, Op::Write, Op::Trim, Op::Flush][usize::from(tag & 3)];
        let state = &mut self.state;
        // No flush has a placement.
        if op == Op::Flush && tag & HAS_PLACEMENT != 0 && state.placement.is_some() {
            op = Op::UnitUpdate;
        }
        if tag & SAME_TIME == 0 {
            state.time = state.time.saturating_add(body.number()?);
            if state.time > MAX_TIME {
                return Err(Malformed::new(body.at, "a time is beyond the 292 years of a trace".to_owned()));
            }
        }
        let mut request = Request { time: state.time, origin: Origin::HOST, ..Request::new(op, 0, 0) };
        if op.has_sectors() {
            if tag & FOLLOWS == 0 {
                let step = body.number()?;
                state.end = state.end.wrapping_add(step >> 1 ^ (step & 1).wrapping_neg());
            }
            if tag & SAME_SECTORS == 0 {
                state.sectors = u32::try_from(body.number()?).unwrap_or(u32::MAX);
            }
            let sectors = u64::from(state.sectors);
            if state.end > MAX_SECTOR || sectors == 0 || sectors > most_sectors(op) {
                let message = format!("expected sectors of a request, found {sectors} from {} on", state.end);
                return Err(Malformed::new(body.at, message));
            }
            (request.sector, request.sectors) = (state.end, state.sectors);
            state.end += sectors;
        }
        self.taken = body.at;
        if let Some(&origin) = self.origins.get(state.origin) {
            request.origin = origin;
        }
        if matches!(op, Op::Write | Op::UnitUpdate) {
            request.placement = state.placement;
        }
        let device = self.devices.get(state.device).map_or(&b""[..], Vec::as_slice);
        Ok(Line::Request(Found::new(request, device)))
    }

    fn taken(&self) -> usize {
        self.taken
    }

    fn run(&mut self, bytes: &[u8], most: usize, into: &mut Vec<Request>) -> usize {
        self.plain_run(bytes, most, into)
    }

    fn start_block(&mut self) {
        *self = Self::reading(self.is_placed);
    }

    fn keeps_order(&self) -> bool {
        true
    }
}

impl Native {
    fn names(&mut self, tag: u8, body: &mut Body<'_>) -> Result<(), Malformed> {
        if tag & HAS_ORIGIN != 0 {
            let (number, name) = body.entry(self.origins.len())?;
            if let Some(name) = name {
                let origin = std::str::from_utf8(name).ok().and_then(Origin::from_name);
                self.origins.push(origin.ok_or_else(|| {
                    Malformed::new(body.at, format!("origin {} is not known", super::fields::shown(name)))
                })?);
            }
            self.state.origin = number;
        }
        if tag & HAS_DEVICE != 0 {
            let (number, name) = body.entry(self.devices.len())?;
            if let Some(name) = name {
                self.devices.push(name.to_vec());
            }
            self.state.device = number;
        }
        Ok(())
    }
}

/// Writes a native trace.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    is_placed: bool,
    body: Vec<u8>,
    records: u32,
    state: State,
    origins: Vec<Origin>,
    devices: Vec<Vec<u8>>,
}

impl<W: Write> Writer<W> {
    /// Writes the header; only if the trace `is_placed`, requests may have placements.
    ///
    /// # Errors
    /// As `out`.
    pub fn new(mut out: W, is_placed: bool) -> io::Result<Self> {
        let mut header = Vec::from(MAGIC);
        header.extend(if is_placed { PLACED } else { VERSION }.to_le_bytes());
        header.extend([0, 0]);
        header.extend(checksum(&header).to_le_bytes());
        out.write_all(&header)?;
        let body = Vec::with_capacity(MAX_BODY_BYTES);
        let state = State::default();
        Ok(Self { out, is_placed, body, records: 0, state, origins: Vec::new(), devices: Vec::new() })
    }

    /// Appends a request to `device`; times do not decrease, and a device name has at most 4096 bytes.
    ///
    /// # Errors
    /// As `out`.
    pub fn write(&mut self, request: &Request, device: &[u8]) -> io::Result<()> {
        let device = &device[..device.len().min(MAX_NAME_BYTES)];
        let tag_at = self.body.len();
        let mut tag = match request.op {
            Op::Read => 0,
            Op::Write | Op::Append => 1,
            Op::Trim => 2,
            Op::Flush | Op::UnitUpdate | Op::Zone(_) => 3,
        };
        self.body.push(tag);
        // Without a table, a record belongs to the host and an unnamed device.
        let first_origin = self.origins.is_empty() && request.origin != Origin::HOST;
        if first_origin || self.origins.get(self.state.origin).is_some_and(|&origin| origin != request.origin) {
            tag |= HAS_ORIGIN;
            let name = request.origin.name();
            self.state.origin = enter(&mut self.origins, &mut self.body, &request.origin, name.as_bytes());
        }
        let first_device = self.devices.is_empty() && !device.is_empty();
        if first_device || self.devices.get(self.state.device).is_some_and(|known| known != device) {
            tag |= HAS_DEVICE;
            self.state.device = enter(&mut self.devices, &mut self.body, &device.to_vec(), device);
        }
        let is_new = request.op == Op::Write && request.placement != self.state.placement;
        if is_new || request.op == Op::UnitUpdate {
            assert!(self.is_placed, "a trace begun without placements has none");
            tag |= HAS_PLACEMENT;
            let number = if request.placement.is_some() { u64::from(request.placement.number()) + 1 } else { 0 };
            put(&mut self.body, number);
            self.state.placement = request.placement;
        }
        match request.time.saturating_sub(self.state.time) {
            0 => tag |= SAME_TIME,
            gap => put(&mut self.body, gap),
        }
        self.state.time = self.state.time.max(request.time);
        if request.op.has_sectors() {
            match request.sector.wrapping_sub(self.state.end) {
                0 => tag |= FOLLOWS,
                step => put(&mut self.body, step << 1 ^ ((step as i64) >> 63) as u64),
            }
            match request.sectors {
                same if same == self.state.sectors => tag |= SAME_SECTORS,
                sectors => put(&mut self.body, sectors.into()),
            }
            (self.state.end, self.state.sectors) = (request.end(), request.sectors);
        }
        self.body[tag_at] = tag;
        self.records += 1;
        if self.records == BLOCK_RECORDS || self.body.len() >= FULL_BODY_BYTES {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.out.write_all(&(self.body.len() as u32).to_le_bytes())?;
        self.out.write_all(&self.records.to_le_bytes())?;
        self.out.write_all(&checksum(&self.body).to_le_bytes())?;
        self.out.write_all(&self.body)?;
        self.body.clear();
        self.records = 0;
        (self.state, self.origins, self.devices) = (State::default(), Vec::new(), Vec::new());
        Ok(())
    }

    /// Writes the rest and the end mark.
    ///
    /// # Errors
    /// As the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.records > 0 {
            self.end_block()?;
        }
        self.end_block()?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Writes the number for a table entry, with its name if it is new; returns the number.
fn enter<T: PartialEq + Clone>(table: &mut Vec<T>, body: &mut Vec<u8>, entry: &T, name: &[u8]) -> usize {
    let known = table.iter().position(|one| one == entry);
    let number = known.unwrap_or(table.len());
    put(body, number as u64);
    if known.is_none() {
        put(body, name.len() as u64);
        body.extend(name);
        table.push(entry.clone());
    }
    number
}

fn put(body: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        body.push(value as u8 | 0x80);
        value >>= 7;
    }
    body.push(value as u8);
}

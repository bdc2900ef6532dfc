//! Etw: disk events of Windows' event trace, as xperf prints them.
//!
//! `DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, IrpFlags,
//! DiskSvcTime, ...`, likewise `DiskWrite`; `DiskFlush` lacks `ByteOffset` and `IOSize`. Addresses and sizes are bytes, in
//! hexadecimal with `0x`; times are microseconds. A line comes when its request is done: the request's time is `TimeStamp`
//! less `ElapsedTime`, that of its `DiskReadInit`, and both durations are recorded latencies. `DiskNum` is the device. The
//! lines between `BeginHeader` and `EndHeader` name the columns; without them they are those above. Other events are
//! skipped.
//!
//! Source: Microsoft, Windows Performance Toolkit, `xperf -a dumper`; Kavalanekar et al., "Characterization of Storage
//! Workload Traces from Production Windows Servers", IISWC 2008.

use super::cells::{bytes_of, Split};
use super::column_options::Separator;
use super::fields::{flush, in_bytes, Columns as Places, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed, Took};
use nandlab_block::Op;
use nandlab_nand::Time;

/// Reads one line.
#[derive(Debug)]
pub struct Etw {
    unit: TimeUnit,
    /// The columns of a read, a write and a flush.
    columns: [At; 3],
    /// Whether the file began with `BeginHeader`: any line with an event's name then belongs to it.
    has_header: bool,
    in_header: bool,
    took: Option<Took>,
}

/// The places of an event's columns, from 0.
#[derive(Clone, Copy, Debug)]
struct At {
    address: usize,
    size: usize,
    elapsed: usize,
    device: usize,
    service: usize,
}

const EVENTS: [(&[u8], Op); 3] = [(b"DiskRead", Op::Read), (b"DiskWrite", Op::Write), (b"DiskFlush", Op::Flush)];
const NONE: usize = usize::MAX;
const MOVING: At = At { address: 5, size: 6, elapsed: 7, device: 8, service: 10 };
const FLUSHING: At = At { address: NONE, size: NONE, elapsed: 5, device: 6, service: 8 };

impl At {
    /// As the line of an event in the header has them; `None` if one is missing.
    fn of(line: &[u8], op: Op) -> Option<Self> {
        let names: Vec<&[u8]> =
            Split::new(line, Separator::Comma).map(|(start, end)| line[start..end].trim_ascii()).collect();
        let at = |name: &[u8]| names.iter().position(|known| known.eq_ignore_ascii_case(name));
        let moving = |name| if op == Op::Flush { Some(NONE) } else { at(name) };
        Some(Self {
            address: moving(b"ByteOffset")?,
            size: moving(b"IOSize")?,
            elapsed: at(b"ElapsedTime")?,
            device: at(b"DiskNum")?,
            service: at(b"DiskSvcTime").unwrap_or(NONE),
        })
    }
}

impl Etw {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self {
            unit: options.time_unit(TimeUnit::Us),
            columns: [MOVING, MOVING, FLUSHING],
            has_header: false,
            in_header: false,
            took: None,
        }
    }

    /// A line of the header; it may name the columns of an event that is read.
    fn named<'a>(&mut self, line: &[u8]) -> Result<Line<'a>, Malformed> {
        let name = event(line).unwrap_or_default();
        self.in_header = name != b"EndHeader";
        if let Some(at) = EVENTS.iter().position(|(known, _)| *known == name) {
            self.columns[at] = At::of(line, EVENTS[at].1).ok_or_else(|| {
                let message =
                    "expected the columns ByteOffset, IOSize, ElapsedTime and DiskNum of this event".to_owned();
                Malformed::new(0, message)
            })?;
        }
        Ok(Line::Other)
    }

    /// A request in the columns at `at`; the name of its event is read.
    fn request<'a>(&mut self, line: &'a [u8], op: Op, at: At) -> Result<Line<'a>, Malformed> {
        let mut found = [(line.len(), line.len()); 6];
        let wanted = [1, at.address, at.size, at.elapsed, at.device, at.service];
        for (number, place) in Split::new(line, Separator::Comma).enumerate() {
            for (slot, _) in found.iter_mut().zip(wanted).filter(|(_, at)| *at == number) {
                *slot = place;
            }
        }
        let [time, address, size, elapsed, device, service] = found;
        let field = |place: (usize, usize)| {
            let blanks = line[place.0..place.1].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            Fields { line: &line[..place.1], at: place.0 + blanks }
        };
        let unit = self.unit;
        let when = |place, name| -> Result<Time, Malformed> {
            let mut fields = field(place);
            let time = fields.time(name, unit)?;
            fields.end().map(|()| time)
        };
        let number = |place: (usize, usize), what| {
            bytes_of(&line[place.0..place.1], 1).ok_or_else(|| field(place).unexpected(what))
        };
        let (end, latency) = (when(time, "TimeStamp")?, when(elapsed, "ElapsedTime")?);
        let name = field(device);
        if name.at == device.1 {
            return Err(name.unexpected("DiskNum"));
        }
        let device = &line[name.at..device.1];
        self.took = Some(Took { latency, service: when(service, "DiskSvcTime").ok() });
        let begin = end.saturating_sub(latency);
        if op == Op::Flush {
            return Ok(flush(begin, device));
        }
        let offset = number(address, "ByteOffset, a whole number of bytes")?;
        let bytes = number(size, "IOSize, a whole number of bytes")?;
        in_bytes((begin, op), (offset, bytes), device, Places { address: address.0, size: size.0 })
    }
}

/// The name in a line's first column, if it may be an event's.
fn event(line: &[u8]) -> Option<&[u8]> {
    let end = line.iter().position(|&byte| byte == b',').unwrap_or(line.len());
    let name = line[..end].trim_ascii();
    let is_name = name.len() > 2 && name[0].is_ascii_uppercase();
    is_name.then_some(name)
}

/// Whether it is an event of another kind in a file without its header: a word and a time, in columns aligned with blanks.
fn is_aligned(line: &[u8], name: &[u8]) -> bool {
    let is_word = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"/-_".contains(byte));
    let time = line.split(|&byte| byte == b',').nth(1).unwrap_or_default();
    let is_time = time.starts_with(b" ") && time.trim_ascii().iter().all(u8::is_ascii_digit);
    line.starts_with(b" ") && is_word && is_time && !time.trim_ascii().is_empty()
}

impl Format for Etw {
    fn header(&mut self, line: &[u8]) -> Result<bool, Malformed> {
        self.has_header = line.trim_ascii() == b"BeginHeader";
        self.in_header = self.has_header;
        Ok(self.has_header)
    }

    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        const WHAT: &str = "an event such as DiskRead, DiskWrite or DiskFlush";
        if self.in_header {
            return self.named(line);
        }
        if line.trim_ascii() == b"BeginHeader" {
            // A file may be several traces, one behind the other.
            (self.has_header, self.in_header) = (true, true);
            return Ok(Line::Other);
        }
        let Some(name) = event(line) else {
            return Err(Fields { line, at: 0 }.unexpected(WHAT));
        };
        if let Some(at) = EVENTS.iter().position(|(known, _)| *known == name) {
            return self.request(line, EVENTS[at].1, self.columns[at]);
        }
        if self.has_header || is_aligned(line, name) {
            Ok(Line::Other)
        } else {
            Err(Fields { line, at: 0 }.unexpected(WHAT))
        }
    }

    fn took(&self) -> Option<Took> {
        self.took
    }

    fn no_request(&self) -> Option<String> {
        Some("the disk events are those of `xperf -on DiskIO+DISK_IO_INIT` with FLUSH_BUFFERS for flushes".to_owned())
    }

    fn others(&self) -> &'static str {
        "are events of other kinds"
    }
}

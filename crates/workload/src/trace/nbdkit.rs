//! nbdkit: what nbdkit's filter `log` writes, the requests of a network block device.
//!
//! `2026-05-31 12:30:00.250000 connection=1 Write id=7 offset=0x1000 count=0x2000 fua=0 ...`, likewise `Read`, `Trim` and
//! `Zero`, and `Flush` without a place. Offsets and counts are bytes, in hexadecimal with `0x`. A `Zero` that may trim
//! (`trim=1`) is a trim, another one a write; `fua=1` asks for a flush behind the request. All connections are one device, as
//! one server has one disk. The end of a request (`...Write id=7 return=0`) has a line of its own, which is skipped, as are
//! connections, `Cache` and `Extents`.
//!
//! Source: nbdkit-log-filter(1), run with nbdkit 1.32.

use super::cells::bytes_of;
use super::fields::{flush, in_bytes, Columns, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};
use nandlab_block::Op;
use nandlab_nand::Time;

/// Reads one line.
#[derive(Debug)]
pub struct Nbdkit;

/// Events of the server itself; all others have a connection or an `id`.
const OF_SERVER: [&[u8]; 4] = [b"Ready", b"Fork", b"Load", b"Unload"];

/// A value such as `offset=0x1000`, and its place in the line.
struct Value {
    at: usize,
    number: u64,
}

impl Nbdkit {
    pub(crate) fn new(_options: &ReaderOptions) -> Self {
        Self
    }
}

/// A request's values, from its name on.
fn request<'a>(time: Time, op: Op, mut fields: Fields<'a>) -> Result<Line<'a>, Malformed> {
    let [mut offset, mut count, mut trim, mut fua] = [const { None }; 4];
    loop {
        fields.blanks();
        let at = fields.at;
        let Ok(word) = fields.word("") else { break };
        let Some(sign) = word.iter().position(|&byte| byte == b'=') else { continue };
        let slot = match &word[..sign] {
            b"offset" => &mut offset,
            b"count" => &mut count,
            b"trim" => &mut trim,
            b"fua" => &mut fua,
            _ => continue,
        };
        let at = at + sign + 1;
        let field = Fields { line: fields.line, at };
        let number = bytes_of(&word[sign + 1..], 1).ok_or_else(|| field.unexpected("a whole number"))?;
        *slot = Some(Value { at, number });
    }
    if op == Op::Flush {
        return Ok(flush(time, b""));
    }
    let missing = |name: &str| fields.unexpected(&format!("`{name}=` and a number of bytes"));
    let offset = offset.ok_or_else(|| missing("offset"))?;
    let count = count.ok_or_else(|| missing("count"))?;
    let is_set = |flag: Option<Value>| flag.is_some_and(|flag| flag.number != 0);
    let op = if op == Op::Trim && trim.as_ref().is_some_and(|flag| flag.number == 0) { Op::Write } else { op };
    let mut line =
        in_bytes((time, op), (offset.number, count.number), b"", Columns { address: offset.at, size: count.at })?;
    if let Line::Request(found) = &mut line {
        found.has_flush_behind = is_set(fua);
    }
    Ok(line)
}

impl Format for Nbdkit {
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        const WHAT: &str = "an event such as Read, Write or Flush";
        let mut fields = Fields::new(line);
        let time = fields.time("time", TimeUnit::DateTime)?;
        fields.blank(WHAT)?;
        let mut at = fields.at;
        let mut name = fields.word(WHAT)?;
        let has_connection = name.starts_with(b"connection=");
        if has_connection {
            fields.blank(WHAT)?;
            at = fields.at;
            name = fields.word(WHAT)?;
        }
        let op = match name {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            b"Trim" | b"Zero" => Op::Trim,
            b"Flush" => Op::Flush,
            _ => {
                let has_id = line[fields.at..].starts_with(b" id=");
                let is_event = has_connection || has_id || OF_SERVER.contains(&name);
                fields.at = at;
                return if is_event { Ok(Line::Other) } else { Err(fields.unexpected(WHAT)) };
            }
        };
        request(time, op, fields)
    }

    fn no_request(&self) -> Option<String> {
        Some("the log begins with a connection: let a client read or write before it is read".to_owned())
    }

    fn others(&self) -> &'static str {
        "are ends of requests, connections, Cache or Extents"
    }
}

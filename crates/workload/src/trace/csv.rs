//! The project's own trace format: comma-separated text, one request a line.
//!
//! The first line is the header `time_us,op,sector,sectors,origin` (or without `,origin`). `time_us` is a
//! whole number of microseconds that never decreases; `op` is `R` read, `W` write, `T` trim or `F` flush;
//! `sector` and `sectors` count 512-byte sectors and are 0 for a flush; `origin` names the part of the host
//! that asks (`database`, `journal`, `wal`, ...; `host` where the column is missing or empty).

use super::format::{Format, Malformed};
use nandlab_block::{nearest, Op, Request};
use nandlab_nand::Origin;

/// The reader of one line.
#[derive(Debug, Default)]
pub struct Csv {
    has_origin: bool,
    /// The origin of the line before, by name: most lines have the same one.
    last_origin: Vec<u8>,
    last: Origin,
}

const HEADER: &str = "time_us,op,sector,sectors";
const MAX_TIME_US: u64 = u64::MAX / 1000 / 2;
/// 2^53 sectors are 4 EiB.
const MAX_SECTOR: u64 = 1 << 53;
/// A trim of 1 TiB.
const MAX_TRIM: u64 = 1 << 31;
/// A read or write of 1 GiB.
const MAX_TRANSFER: u64 = 1 << 21;

impl Format for Csv {
    fn header(&mut self, line: &[u8]) -> Result<(), Malformed> {
        // Spreadsheets put a byte order mark first.
        let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        match text.strip_prefix(HEADER.as_bytes()) {
            Some(b"") => self.has_origin = false,
            Some(b",origin") => self.has_origin = true,
            _ => {
                return Err(Malformed::new(0, format!("expected the header `{HEADER},origin`, found {}", shown(text))))
            }
        }
        Ok(())
    }

    #[inline]
    fn record(&mut self, line: &[u8]) -> Result<Request, Malformed> {
        let mut fields = Fields { line, at: 0 };
        let time_us = fields.number("time_us, a whole number of microseconds", MAX_TIME_US)?;
        fields.comma("op")?;
        let op = fields.op()?;
        fields.comma("sector")?;
        let sector = fields.number("sector, a whole number of 512-byte sectors", MAX_SECTOR)?;
        fields.comma("sectors")?;
        let start = fields.at;
        let most = if op == Op::Trim { MAX_TRIM } else { MAX_TRANSFER };
        let sectors = fields.number("sectors, a whole number of 512-byte sectors", most)?;
        let mut origin = Origin::HOST;
        if self.has_origin {
            fields.comma("origin")?;
            origin = self.origin(fields.at, &line[fields.at..])?;
        } else if fields.at != line.len() {
            return Err(fields.unexpected("the end of the line: the header names four columns"));
        }
        if op == Op::Flush {
            return Ok(Request { time: time_us * 1000, sector: 0, sectors: 0, op, origin });
        }
        if sectors == 0 {
            return Err(Malformed::new(start, "expected sectors, at least 1; only a flush (F) has none".to_owned()));
        }
        Ok(Request { time: time_us * 1000, sector, sectors: sectors as u32, op, origin })
    }
}

impl Csv {
    #[inline]
    fn origin(&mut self, column: usize, name: &[u8]) -> Result<Origin, Malformed> {
        if name == self.last_origin {
            return Ok(self.last);
        }
        self.last = match std::str::from_utf8(name) {
            Ok("") => Origin::HOST,
            Ok(text) => Origin::from_name(text).ok_or_else(|| unknown_origin(column, name))?,
            Err(_) => return Err(unknown_origin(column, name)),
        };
        self.last_origin.clear();
        self.last_origin.extend_from_slice(name);
        Ok(self.last)
    }
}

#[cold]
fn unknown_origin(column: usize, name: &[u8]) -> Malformed {
    let near = std::str::from_utf8(name).ok().and_then(|name| nearest(name, Origin::NAMES));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let known = Origin::NAMES.join(", ");
    Malformed::new(column, format!("origin {} is not known{hint} (known: {known})", shown(name)))
}

struct Fields<'a> {
    line: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    #[inline]
    fn number(&mut self, what: &str, max: u64) -> Result<u64, Malformed> {
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit) = self.line.get(self.at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            // 19 digits cannot overflow, and no column allows more.
            if self.at - start == 19 {
                value = u64::MAX;
                break;
            }
            value = value * 10 + u64::from(digit);
            self.at += 1;
        }
        if self.at == start {
            return Err(self.unexpected(what));
        }
        if value > max {
            return Err(Malformed::new(start, format!("expected {what}, at most {max}")));
        }
        Ok(value)
    }

    #[inline]
    fn comma(&mut self, next: &str) -> Result<(), Malformed> {
        if self.line.get(self.at) != Some(&b',') {
            return Err(self.unexpected(&format!("`,` and then {next}")));
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn op(&mut self) -> Result<Op, Malformed> {
        let op = match self.line.get(self.at) {
            Some(b'W') => Op::Write,
            Some(b'R') => Op::Read,
            Some(b'T') => Op::Trim,
            Some(b'F') => Op::Flush,
            _ => return Err(self.unexpected("op, one of R, W, T, F")),
        };
        self.at += 1;
        Ok(op)
    }

    #[cold]
    fn unexpected(&self, expected: &str) -> Malformed {
        Malformed::new(self.at, format!("expected {expected}, found {}", shown(&self.line[self.at..])))
    }
}

/// The start of `rest` as it may be shown in a message.
fn shown(rest: &[u8]) -> String {
    if rest.is_empty() {
        return "the end of the line".to_owned();
    }
    let cut = &rest[..rest.len().min(40)];
    let more = if cut.len() < rest.len() { "..." } else { "" };
    format!("`{}{more}`", String::from_utf8_lossy(cut).escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(header: &str) -> Csv {
        let mut csv = Csv::default();
        csv.header(header.as_bytes()).unwrap();
        csv
    }

    #[test]
    fn records_of_every_op() {
        let mut csv = csv("time_us,op,sector,sectors,origin");
        let mut record = |line: &str| csv.record(line.as_bytes()).unwrap();
        let write = Request { time: 12_000, sector: 4096, sectors: 8, op: Op::Write, origin: Origin::JOURNAL };
        assert_eq!(record("12,W,4096,8,journal"), write);
        assert_eq!(record("12,R,4096,8,").origin, Origin::HOST);
        assert_eq!(record("13,T,0,128,wal").op, Op::Trim);
        assert_eq!(record("13,F,9,9,wal").sectors, 0);
    }

    #[test]
    fn origin_column_may_be_missing() {
        let mut csv = csv("time_us,op,sector,sectors");
        assert_eq!(csv.record(b"0,R,1,2").unwrap().origin, Origin::HOST);
        assert_eq!(csv.record(b"0,R,1,2,wal").unwrap_err().column, 7);
    }

    #[test]
    fn every_malformed_field_is_named_with_its_place() {
        let mut csv = csv("time_us,op,sector,sectors,origin");
        for (line, column, expected) in [
            ("", 0, "expected time_us"),
            ("1.5,W,0,8,wal", 1, "expected `,` and then op"),
            ("-1,W,0,8,wal", 0, "expected time_us"),
            ("1,w,0,8,wal", 2, "one of R, W, T, F"),
            ("1,Write,0,8,wal", 3, "expected `,` and then sector"),
            ("1,W,,8,wal", 4, "expected sector"),
            ("1,W,0,0,wal", 6, "at least 1"),
            ("1,W,0,8", 7, "expected `,` and then origin, found the end of the line"),
            ("1,W,0,4294967296,wal", 6, "at most 2097152"),
            ("1,T,0,4294967296,wal", 6, "at most 2147483648"),
            ("99999999999999999999,W,0,8,wal", 0, "at most"),
            ("1,W,0,8,databse", 8, "did you mean `database`?"),
            ("1,W,0,8,wal,9", 8, "origin `wal,9` is not known"),
        ] {
            let error = csv.record(line.as_bytes()).unwrap_err();
            assert!(error.message.contains(expected), "{line}: {error:?}");
            assert_eq!(error.column, column, "{line}: {error:?}");
        }
    }

    #[test]
    fn another_header_is_refused() {
        let error = Csv::default().header(b"0,W,1,2,wal").unwrap_err();
        assert!(error.message.contains("expected the header `time_us,op,sector,sectors,origin`, found `0,W,1,2,wal`"));
    }
}

//! Csv: the project's own text format.
//!
//! Comma-separated, one request a line. The first line is the header
//! `time_us,op,sector,sectors,origin,placement,device`; its last columns may be missing: `device`, `placement`, both, or
//! `origin` with them. `time_us` is a time in microseconds, with three decimals or an exponent, and never decreases. `op`
//! is `R` read, `W` write, `T` trim, `F` flush or `U` update, or such a word, in capitals or not. On a device of zones it
//! is also `A` append, `O` open, `C` close, `X` finish, `Z` reset, `P` open with a random write area or `K` commit.
//! `sector` and `sectors` count 512-byte sectors and are 0 for a flush and an update. An append and a change of a zone name
//! the zone's first sector, a commit the last sector that is to be final; a change has no sectors. `origin` names the asking
//! part on the host (`database`, `journal`, `wal`, ...; `host` if the column is missing or empty). `placement` says where
//! the host asks a write to go: a reclaim unit handle (`5`), or a reclaim group and a handle (`1:5`); empty for none. An
//! update begins another reclaim unit for its handle. Only writes and updates keep the placement. `device` is any text up
//! to the end of the line.

use super::fields::{in_sectors, most_sectors, shown, Columns, Fields, TimeUnit, MAX_SECTOR};
use super::format::{Format, ReaderOptions};
use super::line::{Found, Line, Malformed};
use crate::placement;
use nandlab_block::{nearest, Op, Request, ZoneCommand};
use nandlab_nand::{Origin, PlacementId};
use std::io::{self, Write};

/// Reads one line.
#[derive(Debug)]
pub struct Csv {
    has: Optional,
    /// The previous line's origin, by name: most lines repeat it.
    last_origin: Vec<u8>,
    last: Origin,
}

/// The columns that a file may lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Optional {
    pub(crate) origin: bool,
    pub(crate) placement: bool,
    pub(crate) device: bool,
}

impl Optional {
    /// The columns behind the first four, each with its comma.
    fn names(self) -> String {
        let columns = [(self.origin, ",origin"), (self.placement, ",placement"), (self.device, ",device")];
        columns.into_iter().filter_map(|(is_there, name)| is_there.then_some(name)).collect()
    }

    /// The columns in a header's `rest`.
    fn of(rest: &[u8]) -> Option<Self> {
        let with_origin = [(false, false), (false, true), (true, false), (true, true)]
            .map(|(placement, device)| Self { origin: true, placement, device });
        let mut all = [Self::default()].into_iter().chain(with_origin);
        all.find(|columns| columns.names().as_bytes() == rest)
    }
}

const HEADER: &str = "time_us,op,sector,sectors";

impl Csv {
    pub(crate) fn new(_: &ReaderOptions) -> Self {
        Self { has: Optional::default(), last_origin: Vec::new(), last: Origin::HOST }
    }
}

impl Format for Csv {
    fn header(&mut self, line: &[u8]) -> Result<bool, Malformed> {
        let rest = line.trim_ascii().strip_prefix(HEADER.as_bytes());
        self.has = rest.and_then(Optional::of).ok_or_else(|| {
            let message = format!("expected the header `{HEADER},origin`, found {}", shown(line.trim_ascii()));
            Malformed::new(0, message)
        })?;
        Ok(true)
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        let time = fields.time("time_us", TimeUnit::Us)?;
        fields.byte(b',', "op")?;
        let op = op(&mut fields)?;
        fields.byte(b',', "sector")?;
        let address = fields.at;
        let sector = fields.number("sector, a whole number of 512-byte sectors", MAX_SECTOR)?;
        fields.byte(b',', "sectors")?;
        let size = fields.at;
        let sectors = fields.number("sectors, a whole number of 512-byte sectors", most_sectors(op))?;
        let (origin, placement, device) = self.who(&mut fields)?;
        if !op.has_sectors() {
            if op == Op::UnitUpdate && !placement.is_some() {
                let message =
                    "expected a handle in the column placement: an update (U) begins its next unit".to_owned();
                return Err(Malformed::new(line.len(), message));
            }
            let sector = if matches!(op, Op::Zone(_)) { sector } else { 0 };
            let request = Request { time, origin, ..Request::new(op, sector, 0) };
            let mut line = Line::Request(Found::new(request, device));
            set_author(&mut line, (origin, placement));
            return Ok(line);
        }
        if sectors == 0 {
            let message = "expected sectors, at least 1; only a flush (F), an update (U) and a change of a zone (O, C, X, Z, P, K) have none"
                .to_owned();
            return Err(Malformed::new(size, message));
        }
        let mut line = in_sectors((time, op), (sector, sectors), device, Columns { address, size })?;
        set_author(&mut line, (origin, placement));
        Ok(line)
    }

    fn keeps_order(&self) -> bool {
        true
    }
}

#[inline]
fn set_author(line: &mut Line<'_>, (origin, placement): (Origin, PlacementId)) {
    if let Line::Request(found) = line {
        found.request.origin = origin;
        if matches!(found.request.op, Op::Write | Op::Append | Op::UnitUpdate) {
            found.request.placement = placement;
        }
    }
}

#[inline]
fn op(fields: &mut Fields<'_>) -> Result<Op, Malformed> {
    let op = match fields.peek() {
        Some(b'W') => Op::Write,
        Some(b'R') => Op::Read,
        Some(b'T') => Op::Trim,
        Some(b'F') => Op::Flush,
        Some(b'U') => Op::UnitUpdate,
        Some(b'A') => Op::Append,
        Some(b'O') => Op::Zone(ZoneCommand::Open),
        Some(b'C') => Op::Zone(ZoneCommand::Close),
        Some(b'X') => Op::Zone(ZoneCommand::Finish),
        Some(b'Z') => Op::Zone(ZoneCommand::Reset),
        Some(b'P') => Op::Zone(ZoneCommand::OpenRandom),
        Some(b'K') => Op::Zone(ZoneCommand::Commit),
        _ => return op_word(fields),
    };
    if fields.line.get(fields.at + 1) != Some(&b',') {
        return op_word(fields);
    }
    fields.at += 1;
    Ok(op)
}

/// An operation as a word or a small letter.
#[cold]
fn op_word(fields: &mut Fields<'_>) -> Result<Op, Malformed> {
    let rest = &fields.line[fields.at..];
    let word = &rest[..rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len())];
    let op = match word.to_ascii_lowercase().as_slice() {
        b"w" | b"write" => Op::Write,
        b"r" | b"read" => Op::Read,
        b"t" | b"trim" => Op::Trim,
        b"f" | b"flush" => Op::Flush,
        b"u" | b"update" => Op::UnitUpdate,
        b"a" | b"append" => Op::Append,
        b"o" | b"open" => Op::Zone(ZoneCommand::Open),
        b"c" | b"close" => Op::Zone(ZoneCommand::Close),
        b"x" | b"finish" => Op::Zone(ZoneCommand::Finish),
        b"z" | b"reset" => Op::Zone(ZoneCommand::Reset),
        b"p" | b"open_random" => Op::Zone(ZoneCommand::OpenRandom),
        b"k" | b"commit" => Op::Zone(ZoneCommand::Commit),
        _ => {
            return Err(fields.unexpected(
                "op, one of R, W, T, F, U or read, write, trim, flush, update; for zones A, O, C, X, Z, P, K or append, open, \
                 close, finish, reset, open_random, commit",
            ))
        }
    };
    fields.at += word.len();
    Ok(op)
}

impl Csv {
    /// Origin, placement and device, as far as the header names them.
    #[inline]
    fn who<'a>(&mut self, fields: &mut Fields<'a>) -> Result<(Origin, PlacementId, &'a [u8]), Malformed> {
        let line = fields.line;
        let Optional { origin, placement, device } = self.has;
        let mut found = (Origin::HOST, PlacementId::NONE, &b""[..]);
        if !origin {
            if fields.at != line.len() {
                return Err(fields.unexpected("the end of the line: the header names four columns"));
            }
            return Ok(found);
        }
        fields.byte(b',', "origin")?;
        let name = cell(&line[fields.at..], !placement && !device);
        found.0 = self.origin(fields.at, name)?;
        fields.at += name.len();
        if placement {
            fields.byte(b',', "placement")?;
            let text = cell(&line[fields.at..], !device);
            found.1 = placement::parse(text).map_err(|message| Malformed::new(fields.at, message))?;
            fields.at += text.len();
        }
        if device {
            fields.byte(b',', "device")?;
            found.2 = &line[fields.at..];
        }
        Ok(found)
    }

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

/// The text before the next comma, or `rest` as a whole in the last column.
#[inline]
fn cell(rest: &[u8], is_last: bool) -> &[u8] {
    let end = if is_last { None } else { rest.iter().position(|&byte| byte == b',') };
    &rest[..end.unwrap_or(rest.len())]
}

/// Writes the header.
pub(crate) fn write_header(out: &mut impl Write, has: Optional) -> io::Result<()> {
    writeln!(out, "{HEADER}{}", has.names())
}

/// Writes a request; placement and device only if the header names them.
pub(crate) fn write_record(out: &mut impl Write, has: Optional, request: &Request, device: &[u8]) -> io::Result<()> {
    write!(out, "{}", request.time / 1000)?;
    if request.time % 1000 > 0 {
        let decimals = format!("{:03}", request.time % 1000);
        write!(out, ".{}", decimals.trim_end_matches('0'))?;
    }
    let op = match request.op {
        Op::Read => 'R',
        Op::Write => 'W',
        Op::Trim => 'T',
        Op::Flush => 'F',
        Op::UnitUpdate => 'U',
        Op::Append => 'A',
        Op::Zone(ZoneCommand::Open) => 'O',
        Op::Zone(ZoneCommand::Close) => 'C',
        Op::Zone(ZoneCommand::Finish) => 'X',
        Op::Zone(ZoneCommand::Reset) => 'Z',
        Op::Zone(ZoneCommand::OpenRandom) => 'P',
        Op::Zone(ZoneCommand::Commit) => 'K',
    };
    write!(out, ",{op},{},{},{}", request.sector, request.sectors, request.origin.name())?;
    if has.placement {
        write!(out, ",{}", placement::text(request.placement))?;
    }
    if has.device {
        out.write_all(b",")?;
        out.write_all(device)?;
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(header: &str) -> Csv {
        let mut csv = Csv::new(&ReaderOptions::default());
        csv.header(header.as_bytes()).unwrap();
        csv
    }

    fn request(csv: &mut Csv, line: &str) -> Request {
        match csv.record(line.as_bytes()).unwrap() {
            Line::Request(found) => found.request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn records_of_every_op() {
        let mut csv = csv("time_us,op,sector,sectors,origin");
        let mut record = |line: &str| request(&mut csv, line);
        let write = Request {
            time: 12_000,
            sector: 4096,
            sectors: 8,
            op: Op::Write,
            origin: Origin::JOURNAL,
            placement: PlacementId::NONE,
        };
        assert_eq!(record("12,W,4096,8,journal"), write);
        assert_eq!(record("12,R,4096,8,").origin, Origin::HOST);
        assert_eq!(record("13,T,0,128,wal").op, Op::Trim);
        assert_eq!(record("13,F,9,9,wal").sectors, 0);
        for (words, op) in
            [("w write Write", Op::Write), ("r READ", Op::Read), ("t trim", Op::Trim), ("f flush", Op::Flush)]
        {
            for word in words.split(' ') {
                assert_eq!(record(&format!("13,{word},9,9,wal")).op, op, "{word}");
            }
        }
    }

    #[test]
    fn origin_column_may_be_missing() {
        let mut csv = csv("time_us,op,sector,sectors");
        assert_eq!(request(&mut csv, "0,R,1,2").origin, Origin::HOST);
        assert_eq!(csv.record(b"0,R,1,2,wal").unwrap_err().column, 7);
    }

    #[test]
    fn every_malformed_field_is_named_with_its_place() {
        let mut csv = csv("time_us,op,sector,sectors,origin");
        for (line, column, expected) in [
            ("", 0, "expected time_us"),
            ("1.,W,0,8,wal", 2, "digits after the point"),
            ("-1,W,0,8,wal", 0, "expected time_us"),
            ("1,q,0,8,wal", 2, "one of R, W, T, F, U or read, write, trim, flush, update"),
            (
                "1,Wr,0,8,wal",
                2,
                "A, O, C, X, Z, P, K or append, open, close, finish, reset, open_random, commit, found `Wr,0,8,wal`",
            ),
            ("1,W", 3, "expected `,` and then sector"),
            ("1,W,,8,wal", 4, "expected sector"),
            ("1,W,0,0,wal", 6, "at least 1"),
            ("1,W,0,8", 7, "expected `,` and then origin, found the end of the line"),
            ("1,W,0,137438953473,wal", 6, "at most 137438953472"),
            ("1,T,0,1099511627777,wal", 6, "at most 1099511627776"),
            ("99999999999999999999,W,0,8,wal", 0, "292 years"),
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
        let error = Csv::new(&ReaderOptions::default()).header(b"0,W,1,2,wal").unwrap_err();
        assert!(error.message.contains("expected the header `time_us,op,sector,sectors,origin`, found `0,W,1,2,wal`"));
    }

    #[test]
    fn changes_of_zones_have_a_sector_and_no_sectors() {
        let mut csv = csv("time_us,op,sector,sectors");
        for (line, op, sector, sectors) in [
            ("0,A,64,8", Op::Append, 64, 8),
            ("1,append,64,8", Op::Append, 64, 8),
            ("2,O,64,0", Op::Zone(ZoneCommand::Open), 64, 0),
            ("3,close,64,0", Op::Zone(ZoneCommand::Close), 64, 0),
            ("4,X,128,0", Op::Zone(ZoneCommand::Finish), 128, 0),
            ("5,Z,64,0", Op::Zone(ZoneCommand::Reset), 64, 0),
            ("6,P,64,0", Op::Zone(ZoneCommand::OpenRandom), 64, 0),
            ("7,commit,71,0", Op::Zone(ZoneCommand::Commit), 71, 0),
        ] {
            let found = request(&mut csv, line);
            assert_eq!((found.op, found.sector, found.sectors), (op, sector, sectors), "{line}");
            let mut text = Vec::new();
            write_record(&mut text, Optional::default(), &found, b"").unwrap();
            let text = String::from_utf8(text).unwrap();
            let again = request(&mut csv, text.trim_end().rsplit_once(',').unwrap().0);
            assert_eq!(again, found, "{line}: {text}");
        }
    }

    #[test]
    fn writes_keep_the_placement_of_their_line() {
        let mut alone = csv("time_us,op,sector,sectors,origin,placement");
        let placed = |csv: &mut Csv, line: &str| request(csv, line).placement;
        assert_eq!(placed(&mut alone, "0,W,0,8,wal,5"), PlacementId::of(5));
        assert_eq!(placed(&mut alone, "0,W,0,8,,1:5"), PlacementId { group: 1, handle: 5 });
        assert_eq!(placed(&mut alone, "0,W,0,8,wal,"), PlacementId::NONE);
        let update = request(&mut alone, "3,U,0,0,wal,1:5");
        assert_eq!(
            (update.op, update.sectors, update.placement),
            (Op::UnitUpdate, 0, PlacementId { group: 1, handle: 5 })
        );
        let nothing = alone.record(b"3,U,0,0,wal,").unwrap_err();
        assert!(nothing.message.contains("a handle in the column placement"), "{nothing:?}");
        for op in ["R", "T", "F"] {
            assert_eq!(placed(&mut alone, &format!("0,{op},0,8,wal,5")), PlacementId::NONE, "{op}");
        }
        let mut both = csv("time_us,op,sector,sectors,origin,placement,device");
        match both.record(b"0,W,0,8,wal,7,a,b").unwrap() {
            Line::Request(found) => {
                assert_eq!((found.request.placement, found.device), (PlacementId::of(7), &b"a,b"[..]));
            }
            other => panic!("{other:?}"),
        }
        for (line, column, expected) in [
            ("0,W,0,8,wal", 11, "expected `,` and then placement, found the end of the line"),
            ("0,W,0,8,wal,128", 12, "`128` is no placement: a handle is a number from 0 to 127"),
            ("0,W,0,8,wal,255:1", 12, "`255:1` is no placement: a group is a number from 0 to 254"),
            ("0,R,0,8,wal,x", 12, "`x` is no placement: expected a handle such as 5"),
            ("0,W,0,8,wal,1:", 12, "`1:` is no placement"),
            ("0,W,0,8,wal,1,2", 12, "`1,2` is no placement"),
        ] {
            let error = alone.record(line.as_bytes()).unwrap_err();
            assert!(error.message.contains(expected), "{line}: {error:?}");
            assert_eq!(error.column, column, "{line}: {error:?}");
        }
        assert!(Csv::new(&ReaderOptions::default()).header(b"time_us,op,sector,sectors,placement").is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let has = Optional { origin: true, placement: true, device: true };
        let mut header = Vec::new();
        write_header(&mut header, has).unwrap();
        assert_eq!(header, b"time_us,op,sector,sectors,origin,placement,device\n");
        let mut csv = csv("time_us,op,sector,sectors,origin,placement,device");
        for (time, device) in [(12_345, "hm,1"), (12_340, ""), (12_000, "8,16"), (0, "a b")] {
            let written = Request {
                time,
                sector: 9,
                sectors: 3,
                op: Op::Write,
                origin: Origin::JOURNAL,
                placement: if time == 0 { PlacementId::NONE } else { PlacementId { group: 3, handle: 4 } },
            };
            let mut text = Vec::new();
            write_record(&mut text, has, &written, device.as_bytes()).unwrap();
            match csv.record(text.trim_ascii_end()).unwrap() {
                Line::Request(found) => assert_eq!((found.request, found.device), (written, device.as_bytes())),
                other => panic!("{other:?}"),
            }
        }
    }
}

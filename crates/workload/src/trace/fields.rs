//! Fields in a line: numbers, words and separators. Only messages allocate here.

mod dates;

use super::line::{Found, Line, Malformed};
use nandlab_block::{Op, Request};
use nandlab_nand::{Origin, PlacementId, Time};

/// The unit that a column of times counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
    /// Dates with times of day, as ISO 8601 writes them, or times of day alone.
    DateTime,
}

impl TimeUnit {
    /// Nanoseconds per unit.
    #[inline]
    pub(crate) fn ns(self) -> Time {
        match self {
            Self::S => 1_000_000_000,
            Self::Ms => 1_000_000,
            Self::Us => 1_000,
            Self::Ns | Self::DateTime => 1,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::S => "a number of seconds",
            Self::Ms => "a number of milliseconds",
            Self::Us => "a number of microseconds",
            Self::Ns => "a number of nanoseconds",
            Self::DateTime => "a date and time such as 2024-05-31 12:30:00.25",
        }
    }
}

/// The latest time: 292 years.
pub(crate) const MAX_TIME: Time = u64::MAX / 2;
/// 2^49 sectors are 256 PiB; every device's addresses fit 64 bits together.
pub(crate) const MAX_SECTOR: u64 = 1 << SECTOR_BITS;
pub(crate) const SECTOR_BITS: u32 = 49;
/// Sectors in a 4 KiB page.
pub(crate) const PAGE_SECTORS: u64 = 8;
/// A 512 TiB trim.
const MAX_TRIM: u64 = 1 << 40;
/// A 64 TiB read or write: the largest device has 2^32 pages with 16 KiB each.
const MAX_TRANSFER: u64 = 1 << 37;

/// Most sectors in one record, by kind: a drive-sized record is accepted.
pub(crate) fn most_sectors(op: Op) -> u64 {
    if op == Op::Trim {
        MAX_TRIM
    } else {
        MAX_TRANSFER
    }
}

/// A line, read from its start to its end.
pub(crate) struct Fields<'a> {
    pub(crate) line: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Fields<'a> {
    #[inline]
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// A whole number up to `max`.
    #[inline]
    pub(crate) fn number(&mut self, what: &str, max: u64) -> Result<u64, Malformed> {
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            // 19 digits cannot overflow, and no column allows more.
            let is_long = self.at - start >= 19;
            value = if is_long { u64::MAX } else { value * 10 + u64::from(digit) };
            self.at += 1;
        }
        if self.at == start {
            return Err(self.unexpected(what));
        }
        if value > max || value == u64::MAX {
            return Err(too_large(start, what, max));
        }
        Ok(value)
    }

    /// A time up to 292 years, with a fraction or without; nanoseconds, rounded.
    #[inline]
    pub(crate) fn time(&mut self, name: &str, unit: TimeUnit) -> Result<Time, Malformed> {
        let start = self.at;
        if unit == TimeUnit::DateTime {
            return dates::date_time(self).ok_or_else(|| {
                self.at = start;
                self.no_time(name, unit)
            });
        }
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.no_time(name, unit));
        }
        let whole = self.number(name, u64::MAX).ok().and_then(|whole| whole.checked_mul(unit.ns()));
        let Some(mut time) = whole else { return Err(too_late(start, name)) };
        if self.peek() == Some(b'.') {
            self.at += 1;
            let first = self.at;
            let mut place = unit.ns();
            let mut round_up = false;
            while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
                if place > 1 {
                    place /= 10;
                    time = time.saturating_add(u64::from(digit) * place);
                } else if place == 1 {
                    round_up = digit >= 5;
                    place = 0;
                }
                self.at += 1;
            }
            if self.at == first {
                return Err(self.unexpected("digits after the point"));
            }
            time = time.saturating_add(u64::from(round_up));
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            return self.with_exponent(start, name, unit);
        }
        if time > MAX_TIME {
            return Err(too_late(start, name));
        }
        Ok(time)
    }

    /// A time such as `5e-05`, as programs write small and large floats, from `start` on.
    #[cold]
    fn with_exponent(&mut self, start: usize, name: &str, unit: TimeUnit) -> Result<Time, Malformed> {
        self.at += 1;
        self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
        let first = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == first {
            return Err(self.unexpected("the digits of the exponent"));
        }
        let text = std::str::from_utf8(&self.line[start..self.at]).expect("digits, a point and an exponent are ASCII");
        let number: f64 = text.parse().expect("digits, a point and an exponent make a float");
        // Beyond the largest integer the cast stays there.
        let time = (number * unit.ns() as f64).round() as u64;
        if time > MAX_TIME {
            Err(too_late(start, name))
        } else {
            Ok(time)
        }
    }

    #[cold]
    fn no_time(&self, name: &str, unit: TimeUnit) -> Malformed {
        let no_sign = if self.peek() == Some(b'-') { " that is not negative" } else { "" };
        self.unexpected(&format!("{name}, {}{no_sign}", unit.words()))
    }

    /// The byte `separator`, before the field `next`.
    #[inline]
    pub(crate) fn byte(&mut self, separator: u8, next: &str) -> Result<(), Malformed> {
        if self.peek() != Some(separator) {
            return Err(self.unexpected(&format!("`{}` and then {next}", char::from(separator))));
        }
        self.at += 1;
        Ok(())
    }

    /// Spaces and tabs, at least one, before the field `next`.
    #[inline]
    pub(crate) fn blank(&mut self, next: &str) -> Result<(), Malformed> {
        if !matches!(self.peek(), Some(b' ' | b'\t')) {
            return Err(self.unexpected(&format!("a space or tab and then {next}")));
        }
        self.blanks();
        Ok(())
    }

    /// Spaces and tabs, if there are any.
    #[inline]
    pub(crate) fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// The bytes before the next space or tab; at least one.
    #[inline]
    pub(crate) fn word(&mut self, what: &str) -> Result<&'a [u8], Malformed> {
        self.until(what, |byte| byte == b' ' || byte == b'\t')
    }

    /// The bytes before the next `separator` or the end; at least one.
    #[inline]
    pub(crate) fn until(&mut self, what: &str, is_end: impl Fn(u8) -> bool) -> Result<&'a [u8], Malformed> {
        let rest = &self.line[self.at..];
        let length = rest.iter().position(|&byte| is_end(byte)).unwrap_or(rest.len());
        if length == 0 || rest[..length].contains(&0) {
            return Err(self.unexpected(what));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// Nothing more but blanks.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        self.blanks();
        if self.at != self.line.len() {
            return Err(self.unexpected("the end of the line"));
        }
        Ok(())
    }

    /// `0` or `1`.
    #[inline]
    pub(crate) fn bit(&mut self, what: &str) -> Result<bool, Malformed> {
        let bit = match self.peek() {
            Some(b'0') => false,
            Some(b'1') => true,
            _ => return Err(self.unexpected(what)),
        };
        self.at += 1;
        Ok(bit)
    }

    /// A letter: `R`, `r`, `W` or `w`.
    #[inline]
    pub(crate) fn read_or_write(&mut self) -> Result<Op, Malformed> {
        let op = match self.peek() {
            Some(b'R' | b'r') => Op::Read,
            Some(b'W' | b'w') => Op::Write,
            _ => return Err(self.unexpected("R (read) or W (write)")),
        };
        self.at += 1;
        Ok(op)
    }

    #[cold]
    pub(crate) fn unexpected(&self, expected: &str) -> Malformed {
        Malformed::new(self.at, format!("expected {expected}, found {}", shown(&self.line[self.at..])))
    }
}

#[cold]
fn too_large(column: usize, what: &str, max: u64) -> Malformed {
    Malformed::new(column, format!("expected {what}, at most {max}"))
}

#[cold]
fn too_late(column: usize, name: &str) -> Malformed {
    Malformed::new(column, format!("{name} is beyond the 292 years that a trace can span"))
}

/// A request without data, as in some logs; no reason to give up the rest.
const SIZE_ZERO: &str = "expected a size of at least 1, found 0; on_error = \"skip\" of workload.trace (`--on-error \
                         skip` of `nandlab trace`) passes such records over and counts them";

/// A request's field positions, for messages.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    pub(crate) address: usize,
    pub(crate) size: usize,
}

/// A request in sectors.
#[inline]
pub(crate) fn in_sectors<'a>(
    (time, op): (Time, Op),
    (sector, sectors): (u64, u64),
    device: &'a [u8],
    at: Columns,
) -> Result<Line<'a>, Malformed> {
    if op == Op::Flush {
        return Ok(flush(time, device));
    }
    if sector > MAX_SECTOR {
        return Err(too_large(at.address, "an address in 512-byte sectors", MAX_SECTOR));
    }
    if sectors == 0 {
        return Err(Malformed::new(at.size, SIZE_ZERO.to_owned()));
    }
    if sectors > most_sectors(op) {
        return Err(too_large(at.size, "a size in 512-byte sectors", most_sectors(op)));
    }
    let first = sectors.min(Found::MOST_SECTORS.into()) as u32;
    let request = Request { time, sector, sectors: first, op, origin: Origin::HOST, placement: PlacementId::NONE };
    Ok(Line::Request(Found { rest: sectors - u64::from(first), ..Found::new(request, device) }))
}

/// A request in bytes; a partial sector counts as a whole one.
#[inline]
pub(crate) fn in_bytes<'a>(
    when: (Time, Op),
    (offset, bytes): (u64, u64),
    device: &'a [u8],
    at: Columns,
) -> Result<Line<'a>, Malformed> {
    let sector = offset / 512;
    let sectors = if bytes == 0 { 0 } else { (offset % 512 + bytes.min(1 << 62)).div_ceil(512) };
    let mut line = in_sectors(when, (sector, sectors), device, at)?;
    if let Line::Request(found) = &mut line {
        found.is_rounded = (offset | bytes) % 512 != 0;
    }
    Ok(line)
}

/// A flush.
#[inline]
pub(crate) fn flush(time: Time, device: &[u8]) -> Line<'_> {
    let request = Request { time, ..Request::new(Op::Flush, 0, 0) };
    Line::Request(Found::new(request, device))
}

/// How a simulator writes the five columns: time, device, first sector, size, and 1 for a read or 0 for a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FiveColumns {
    pub(crate) time: TimeUnit,
    /// Whether a time may have a fraction.
    pub(crate) has_fraction: bool,
    /// Sectors per size unit.
    pub(crate) size_sectors: u64,
    pub(crate) size_words: &'static str,
}

/// A line with five columns, spaces or tabs between.
#[inline]
pub(crate) fn five_columns(line: &[u8], format: FiveColumns) -> Result<Line<'_>, Malformed> {
    let mut fields = Fields::new(line);
    fields.blanks();
    let time = fields.time("time", format.time)?;
    if !format.has_fraction && line[..fields.at].contains(&b'.') {
        return Err(Malformed::new(0, format!("expected time, a whole number, found {}", shown(line))));
    }
    fields.blank("device")?;
    let device = fields.word("device")?;
    fields.blank("sector")?;
    let address = fields.at;
    let sector = fields.number("sector, a whole number of 512-byte sectors", u64::MAX)?;
    fields.blank("size")?;
    let size = fields.at;
    let units = fields.number(format.size_words, MAX_TRIM)?;
    fields.blank("0 (write) or 1 (read)")?;
    let op = if fields.bit("0 (write) or 1 (read)")? { Op::Read } else { Op::Write };
    fields.end()?;
    in_sectors((time, op), (sector, units * format.size_sectors), device, Columns { address, size })
}

/// Decimals in the number at the line's start, if any.
pub(crate) fn decimals(line: &[u8]) -> Option<usize> {
    let text = line.trim_ascii_start();
    let point = text.iter().position(|byte| !byte.is_ascii_digit())?;
    (text[point] == b'.').then(|| text[point + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// The start of `rest`, made safe for a message.
pub(crate) fn shown(rest: &[u8]) -> String {
    if rest.is_empty() {
        return "the end of the line".to_owned();
    }
    let cut = &rest[..rest.len().min(40)];
    let more = if cut.len() < rest.len() { "..." } else { "" };
    // As in the file, except for bytes a terminal would not show.
    let mut text = String::new();
    for letter in String::from_utf8_lossy(cut).chars() {
        match letter {
            _ if letter.is_control() => text.extend(letter.escape_debug()),
            _ => text.push(letter),
        }
    }
    format!("`{text}{more}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str, unit: TimeUnit) -> Result<Time, Malformed> {
        Fields::new(text.as_bytes()).time("time", unit)
    }

    #[test]
    fn times_of_every_unit_are_nanoseconds() {
        assert_eq!(time("1398406382.756832267", TimeUnit::S), Ok(1_398_406_382_756_832_267));
        assert_eq!(time("26.214000", TimeUnit::Ms), Ok(26_214_000));
        assert_eq!(time("7.5", TimeUnit::Us), Ok(7_500));
        assert_eq!(time("7", TimeUnit::Ns), Ok(7));
        assert_eq!(time("7.4", TimeUnit::Ns), Ok(7));
        assert_eq!(time("7.5", TimeUnit::Ns), Ok(8));
        assert_eq!(time("5e-05", TimeUnit::S), Ok(50_000));
        assert_eq!(time("1.25e+3", TimeUnit::Ms), Ok(1_250_000_000));
        assert_eq!(time("9.99E-07", TimeUnit::S), Ok(999));
        assert_eq!(time("159273.83748699998", TimeUnit::S), Ok(159_273_837_487_000));
    }

    #[test]
    fn times_that_are_none() {
        for (text, unit, expected) in [
            ("-1.5", TimeUnit::S, "a number of seconds that is not negative, found `-1.5`"),
            ("", TimeUnit::Ns, "a number of nanoseconds, found the end of the line"),
            ("x", TimeUnit::Us, "a number of microseconds, found `x`"),
            ("1.", TimeUnit::Ms, "digits after the point"),
            ("1e", TimeUnit::S, "the digits of the exponent"),
            ("1e+x", TimeUnit::S, "the digits of the exponent"),
            ("1e400", TimeUnit::S, "beyond the 292 years"),
            ("9.9e11", TimeUnit::S, "beyond the 292 years"),
            ("10000000000", TimeUnit::S, "beyond the 292 years"),
            ("99999999999999999999", TimeUnit::Ns, "beyond the 292 years"),
            ("18446744073709551615", TimeUnit::Us, "beyond the 292 years"),
        ] {
            let message = time(text, unit).unwrap_err().message;
            assert!(message.contains(expected), "{text}: {message}");
        }
    }

    #[test]
    fn bytes_become_the_sectors_that_they_touch() {
        let at = Columns { address: 0, size: 0 };
        let touched = |offset, bytes| match in_bytes((0, Op::Read), (offset, bytes), b"", at) {
            Ok(Line::Request(found)) => (found.request.sector, found.request.sectors, found.is_rounded),
            other => panic!("{other:?}"),
        };
        assert_eq!(touched(1024, 512), (2, 1, false));
        assert_eq!(touched(1023, 2), (1, 2, true));
        assert_eq!(touched(0, 1), (0, 1, true));
        let Ok(Line::Request(trim)) = in_bytes((0, Op::Trim), (0, 3_801_035_759_616), b"", at) else { panic!() };
        assert_eq!(u64::from(trim.request.sectors) + trim.rest, 3_801_035_759_616 / 512, "more than 32 bits");
        assert!(in_bytes((0, Op::Read), (1, 0), b"", at).is_err());
        assert!(in_bytes((0, Op::Read), (u64::MAX, u64::MAX), b"", at).is_err());
    }
}

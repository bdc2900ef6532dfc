//! Table cells as people write them: parted by a sign, quoted, with their own units.

use super::column_options::Separator;
use super::fields::{Fields, TimeUnit};
use nandlab_nand::Time;

/// Bytes from an unusual number: `0x1f00` and `4096.0` in units, `4K` and `1 MiB` as written; whole ones only.
pub(super) fn bytes_of(field: &[u8], unit: u32) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim();
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return u64::from_str_radix(digits, 16).ok().filter(|_| is_hex)?.checked_mul(unit.into());
    }
    let joined = without_thousands(text);
    let text = joined.as_deref().unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let unit: u64 = match suffix.trim_start().to_ascii_lowercase().as_str() {
        "" => unit.into(),
        "b" | "bytes" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let part = part.trim_end_matches('0');
    if whole.is_empty() || whole.len() > 19 || part.len() > 9 || part.contains('.') {
        return None;
    }
    let bytes = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    if part.is_empty() {
        return Some(bytes);
    }
    // A fraction must give a whole byte count.
    let all = part.parse::<u64>().ok()?.checked_mul(unit)?;
    let parts = 10u64.pow(part.len() as u32);
    (all % parts == 0).then(|| bytes.checked_add(all / parts))?
}

/// A whole number without the signs between its groups of three digits, as in `12,345` and `1'234'567`; `None` without any. A
/// single point may begin a fraction, so `12.345` is none.
pub(super) fn without_thousands(text: &str) -> Option<String> {
    let sign = text.chars().find(|letter| !letter.is_ascii_digit())?;
    let is_sign = matches!(sign, ',' | '.' | '\'' | '_' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2019}');
    let groups: Vec<&str> = text.split(sign).collect();
    let all_digits = groups.iter().all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()));
    let fits = groups[0].len() <= 3 && !groups[0].starts_with('0') && groups[1..].iter().all(|group| group.len() == 3);
    let is_sure = sign != '.' || groups.len() > 2;
    (is_sign && all_digits && fits && is_sure).then(|| groups.concat())
}

/// An unusual time in nanoseconds: `0,5` with a decimal comma, `2.471ms` with its own unit, and `12.5:` as the kernel
/// prints it.
#[cold]
pub(super) fn time_of(field: &[u8], unit: TimeUnit) -> Option<Time> {
    let text = std::str::from_utf8(field).ok()?.trim();
    let text = text.strip_suffix(':').unwrap_or(text);
    let (number, unit) = match own_unit(text) {
        Some(own) if unit != TimeUnit::DateTime => own,
        _ => (text, unit),
    };
    let is_comma = number.matches(',').count() == 1 && (unit == TimeUnit::DateTime || !number.contains('.'));
    let number = if is_comma { number.replace(',', ".") } else { number.to_owned() };
    let mut fields = Fields::new(number.as_bytes());
    let time = fields.time("time", unit).ok()?;
    (fields.at == number.len()).then_some(time)
}

/// A time's number, and the unit behind it.
pub(super) fn own_unit(text: &str) -> Option<(&str, TimeUnit)> {
    let end = text.rfind(|letter: char| letter.is_ascii_digit())? + 1;
    let unit = match text[end..].trim_start().to_lowercase().as_str() {
        "s" | "sec" | "secs" => TimeUnit::S,
        "ms" | "msec" | "msecs" => TimeUnit::Ms,
        // The micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" | "usec" | "usecs" => TimeUnit::Us,
        "ns" | "nsec" | "nsecs" => TimeUnit::Ns,
        _ => return None,
    };
    Some((&text[..end], unit))
}

/// Start and end for each cell in a line, without surrounding blanks and quotes.
pub(super) struct Split<'a> {
    line: &'a [u8],
    at: Option<usize>,
    separator: Separator,
}

impl<'a> Split<'a> {
    pub(super) fn new(line: &'a [u8], separator: Separator) -> Self {
        let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = if separator == Separator::Blanks { blanks } else { 0 };
        Self { line, at: Some(start), separator }
    }

    #[inline]
    fn is_end(&self, byte: u8) -> bool {
        match self.separator {
            Separator::Comma => byte == b',',
            Separator::Semicolon => byte == b';',
            Separator::Tab => byte == b'\t',
            Separator::Pipe => byte == b'|',
            Separator::Blanks => byte == b' ' || byte == b'\t',
        }
    }

    /// The end for the quoted cell starting at `open`, including quotes; doubled quotes stand for one. `None` if no
    /// quote closes before a separator or the end: then the cell is taken literally.
    #[cold]
    fn quoted(&self, open: usize) -> Option<usize> {
        let mut at = open + 1;
        loop {
            at += self.line.get(at..)?.iter().position(|&byte| byte == b'"')?;
            if self.line.get(at + 1) != Some(&b'"') {
                break;
            }
            at += 2;
        }
        let rest = &self.line[at + 1..];
        let is_closed = match rest.iter().find(|&&byte| self.is_end(byte) || !byte.is_ascii_whitespace()) {
            Some(&byte) => self.is_end(byte),
            None => true,
        };
        is_closed.then_some(at + 1)
    }
}

impl Iterator for Split<'_> {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.at?;
        let mut first = start;
        let is_blank = |byte: u8| byte.is_ascii_whitespace() && !self.is_end(byte);
        while self.line.get(first).is_some_and(|&byte| is_blank(byte)) {
            first += 1;
        }
        let quoted = if self.line.get(first) == Some(&b'"') { self.quoted(first) } else { None };
        let from = quoted.unwrap_or(start);
        let length = self.line[from..].iter().position(|&byte| self.is_end(byte));
        let end = length.map_or(self.line.len(), |length| from + length);
        self.at = length.map(|_| {
            let mut next = end + 1;
            while self.separator == Separator::Blanks && self.line.get(next).is_some_and(|&byte| self.is_end(byte)) {
                next += 1;
            }
            next
        });
        if let Some(end) = quoted {
            return Some((first + 1, end - 1));
        }
        let mut last = end;
        first = first.min(last);
        while first < last && self.line[last - 1].is_ascii_whitespace() {
            last -= 1;
        }
        Some((first, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_form_are_bytes() {
        for (text, unit, bytes) in [
            ("8", 512, Some(4096)),
            ("4096.0", 1, Some(4096)),
            ("0.5", 1024, Some(512)),
            ("0x10", 512, Some(8192)),
            ("4K", 512, Some(4096)),
            ("1.5 MiB", 1, Some(3 << 19)),
            ("16kb", 7, Some(16_384)),
            ("12 B", 512, Some(12)),
            ("0.3", 1, None),
            ("0.1K", 1, None),
            ("4Kx", 1, None),
            ("", 1, None),
            (".5", 1024, None),
            ("1.2.3", 1000, None),
            ("0x", 1, None),
            ("0x+1", 1, None),
            ("12,345", 512, Some(6_320_640)),
            ("1'234'567", 1, Some(1_234_567)),
            ("1.234.567", 1, Some(1_234_567)),
            ("12.345", 1, None),
            ("12,34", 1, None),
            ("1,2345", 1, None),
            ("0,123", 1, None),
            ("1,234.5", 1, None),
            ("-1", 1, None),
            ("99999999999999999999", 1, None),
            ("18446744073709551615G", 1, None),
        ] {
            assert_eq!(bytes_of(text.as_bytes(), unit), bytes, "{text} of {unit} bytes");
        }
    }

    #[test]
    fn times_of_every_form_are_nanoseconds() {
        use TimeUnit::{DateTime, Ms, Us, S};
        for (text, unit, time) in [
            ("0,5", S, Some(500_000_000)),
            ("1234,25", Ms, Some(1_234_250_000)),
            ("2.471ms", Us, Some(2_471_000)),
            ("12,5 \u{b5}s", S, Some(12_500)),
            ("7 ns", S, Some(7)),
            ("3s", Us, Some(3_000_000_000)),
            ("12.25:", S, Some(12_250_000_000)),
            ("2024-05-31 12:30:00,250", DateTime, Some(1_717_158_600_250_000_000)),
            ("31.05.2024 12:30:00,250", DateTime, Some(1_717_158_600_250_000_000)),
            // Thousands, or a fraction: nobody can tell.
            ("1,234,567", Us, None),
            ("1,234.5", Us, None),
            ("5 min", S, None),
            ("ms", S, None),
            ("", S, None),
        ] {
            assert_eq!(time_of(text.as_bytes(), unit), time, "{text}");
        }
    }

    #[test]
    fn quotes_hold_separators_together() {
        let cells = |line: &str, separator| {
            let cells = Split::new(line.as_bytes(), separator).map(|(start, end)| line[start..end].to_owned());
            cells.collect::<Vec<_>>()
        };
        assert_eq!(cells("1,\"a,b\" ,W", Separator::Comma), ["1", "a,b", "W"]);
        assert_eq!(cells("\"a\"\"b,\";\"\";x", Separator::Semicolon), ["a\"\"b,", "", "x"]);
        assert_eq!(cells(" \"a b\"  W 8", Separator::Blanks), ["a b", "W", "8"]);
        assert_eq!(cells("\"a\"\t5", Separator::Tab), ["a", "5"]);
        assert_eq!(cells("a | b|", Separator::Pipe), ["a", "b", ""]);
        // Unmatched quotes are taken literally.
        assert_eq!(cells("\"a,b", Separator::Comma), ["\"a", "b"]);
        assert_eq!(cells("\"a\"x,b", Separator::Comma), ["\"a\"x", "b"]);
        assert_eq!(cells("5\",6\"", Separator::Comma), ["5\"", "6\""]);
    }
}

//! A job file's lines and numbers.

use super::Malformed;

/// A key with its value, as it stands in a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    /// From 1.
    pub(super) line: u64,
    pub(super) key: &'a str,
    /// `None` for a key alone.
    pub(super) value: Option<&'a str>,
    /// The value's first byte in the line, from 1; the key's if there is no value.
    pub(super) column: usize,
}

/// A section: `[global]`, or a job.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) line: u64,
    pub(super) name: &'a str,
    pub(super) entries: Vec<Entry<'a>>,
}

impl Entry<'_> {
    /// An error about this value.
    pub(super) fn wrong(&self, message: impl Into<String>) -> Malformed {
        Malformed { line: self.line, column: self.column, message: message.into() }
    }
}

/// A line without its comment, from `;` or `#` to the end.
pub(super) fn bare(line: &str) -> &str {
    line.find([';', '#']).map_or(line, |at| &line[..at])
}

/// Divides a job file into its sections.
pub(super) fn sections(text: &str) -> Result<Vec<Section<'_>>, Malformed> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (line, whole) in (1..).zip(text.lines()) {
        let bare = bare(whole);
        let words = bare.trim();
        if words.is_empty() {
            continue;
        }
        let column = 1 + bare.len() - bare.trim_start().len();
        let wrong = |message: &str| Malformed { line, column, message: message.to_owned() };
        if let Some(name) = words.strip_prefix('[') {
            let name = name.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| wrong("expected a section such as `[job1]`"))?;
            sections.push(Section { line, name, entries: Vec::new() });
            continue;
        }
        let Some(section) = sections.last_mut() else {
            return Err(wrong("expected a section such as `[global]` or `[job1]` before the first key"));
        };
        let (key, value) =
            words.split_once('=').map_or((words, None), |(key, value)| (key.trim_end(), Some(value.trim())));
        let after = value.map_or(0, |value| words.len() - value.len());
        section.entries.push(Entry { line, key, value, column: column + after });
    }
    Ok(sections)
}

/// A byte count, a percentage, or a count of zones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Amount {
    Bytes(u64),
    Percent(u64),
    Zones(u64),
}

/// The base for `k`: 1024 as in fio, with `ki` then 1000; or the other way round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KbBase(pub(super) u64);

/// Decimal or hexadecimal digits, and the rest.
fn split_number(text: &str) -> Option<(u64, &str)> {
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        _ => (text, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], radix).ok().map(|number| (number, &digits[end..]))
}

/// Decimal or hexadecimal digits and nothing else.
pub(super) fn whole_number(text: &str) -> Option<u64> {
    split_number(text).and_then(|(number, rest)| rest.is_empty().then_some(number))
}

/// A whole number.
pub(super) fn number(entry: &Entry<'_>, least: u64, most: u64) -> Result<u64, Malformed> {
    let value = entry.value.unwrap_or("");
    match split_number(value) {
        Some((number, "")) if (least..=most).contains(&number) => Ok(number),
        _ => {
            Err(entry
                .wrong(format!("{} = {value} cannot work: expected a whole number from {least} to {most}", entry.key)))
        }
    }
}

/// On or off; a key alone is on.
pub(super) fn switch(entry: &Entry<'_>) -> Result<bool, Malformed> {
    match entry.value {
        None | Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(other) => Err(entry.wrong(format!("{} = {other} cannot work: expected 1 or 0", entry.key))),
    }
}

/// A byte count with fio's suffixes, or a percentage.
pub(super) fn amount(entry: &Entry<'_>, value: &str, base: KbBase) -> Result<Amount, Malformed> {
    let wrong = || {
        let what = "expected a number of bytes such as 4096, 4k or 1g, or a percentage such as 20%";
        entry.wrong(format!("{} = {value} cannot work: {what}", entry.key))
    };
    let (number, suffix) = split_number(value).ok_or_else(wrong)?;
    if suffix == "%" {
        return match number {
            // 0 per cent is 0 bytes, whatever the whole.
            0 => Ok(Amount::Bytes(0)),
            1..=100 => Ok(Amount::Percent(number)),
            _ => Err(wrong()),
        };
    }
    // fio 3.33 takes this letter in decimal numbers alone, and not as a capital.
    if suffix == "z" && !value.starts_with("0x") {
        return Ok(if number == 0 { Amount::Bytes(0) } else { Amount::Zones(number) });
    }
    let suffix = suffix.to_ascii_lowercase();
    let bare = suffix.strip_suffix('b').unwrap_or(&suffix);
    let (prefix, other) = bare.strip_suffix('i').map_or((bare, false), |prefix| (prefix, true));
    let power = match prefix {
        "" if !other => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(wrong()),
    };
    let kilo = if other { 2024 - base.0 } else { base.0 };
    let bytes = kilo.checked_pow(power).and_then(|factor| number.checked_mul(factor));
    bytes.filter(|&bytes| bytes <= i64::MAX as u64).map(Amount::Bytes).ok_or_else(wrong)
}

/// A byte count.
pub(super) fn bytes(entry: &Entry<'_>, value: &str, base: KbBase) -> Result<u64, Malformed> {
    match amount(entry, value, base)? {
        Amount::Bytes(bytes) => Ok(bytes),
        Amount::Percent(_) | Amount::Zones(_) => Err(entry.wrong(format!(
            "{} = {value} cannot work: expected a number of bytes, not a percentage or zones",
            entry.key
        ))),
    }
}

/// A time in ns; a bare number counts `unit_ns` units.
pub(super) fn time(entry: &Entry<'_>, unit_ns: u64) -> Result<u64, Malformed> {
    const US: u64 = 1000;
    const S: u64 = 1_000_000 * US;
    /// A year: far below the run clock's limit.
    const MOST: u64 = 365 * 86_400 * S;
    let value = entry.value.unwrap_or("");
    let parsed = split_number(value).and_then(|(number, suffix)| {
        let unit = match suffix.to_ascii_lowercase().as_str() {
            "" => unit_ns,
            "us" | "usec" => US,
            "ms" | "msec" => 1000 * US,
            "s" | "sec" => S,
            "m" => 60 * S,
            "h" => 3600 * S,
            "d" => 86_400 * S,
            _ => return None,
        };
        number.checked_mul(unit).filter(|&ns| ns <= MOST)
    });
    parsed.ok_or_else(|| {
        let what = "expected a time such as 500us, 10ms, 30s or 2m, a year at most";
        entry.wrong(format!("{} = {value} cannot work: {what}", entry.key))
    })
}

/// Values for reads, writes and trims: one for all, or up to three between commas; the last also covers the missing
/// ones. `None` for an empty value.
pub(super) fn by_direction<'a>(entry: &Entry<'a>) -> Result<[Option<&'a str>; 3], Malformed> {
    let value = entry.value.unwrap_or("");
    let parts: Vec<&str> = value.split(',').map(str::trim).collect();
    if parts.len() > 3 || parts.iter().all(|part| part.is_empty()) {
        let what = "expected a value, or values for reads, writes and trims between commas";
        return Err(entry.wrong(format!("{} = {value} cannot work: {what}", entry.key)));
    }
    let given = |at: usize| parts.get(at).or(parts.last()).copied().filter(|part| !part.is_empty());
    Ok([given(0), given(1), given(2)])
}

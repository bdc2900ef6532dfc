//! Columns: any text with one request a line, whose columns and units the experiment names.
//!
//! `[workload.trace.columns]` says where the time, the operation, the address, the size and the device stand, by the
//! names in the first line or by numbers from 1, what separates them, and how many bytes a unit of the address and of the
//! size has. `time_unit` is that of the times, microseconds unless it is set; without a column of times all are 0. Quotes
//! around a field are taken off; a separator inside them still separates. Lines that start with `#` are passed over.

use super::fields::{in_bytes, shown, Columns as Places, Fields, TimeUnit};
use super::format::{Format, Line, Malformed, ReaderOptions};
use crate::WorkloadError;
use nandlab_block::{nearest, Op};
use serde::{Deserialize, Serialize};

/// A column, by its name in the first line or by its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Column {
    /// From 1.
    Number(u32),
    /// As the first line has it.
    Name(String),
}

/// What stands between two columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Separator {
    /// `,`
    #[default]
    Comma,
    /// `;`
    Semicolon,
    /// A tab.
    Tab,
    /// Any number of spaces and tabs.
    Blanks,
}

/// The table `[workload.trace.columns]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnOptions {
    /// The time; without it all are 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Column>,
    /// Read, write, trim or flush.
    pub op: Column,
    /// Where the request starts.
    pub address: Column,
    /// How long it is.
    pub size: Column,
    /// The device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Column>,
    /// What stands between two columns.
    #[serde(default)]
    pub separator: Separator,
    /// Whether the first line names the columns; it does where one of them is given by its name.
    #[serde(default)]
    pub header: bool,
    /// Bytes of a unit of the address.
    #[serde(default = "sector")]
    pub address_unit_bytes: u32,
    /// Bytes of a unit of the size.
    #[serde(default = "sector")]
    pub size_unit_bytes: u32,
    /// What a read is called.
    #[serde(default = "read")]
    pub read: Vec<String>,
    /// What a write is called.
    #[serde(default = "write")]
    pub write: Vec<String>,
    /// What a trim is called.
    #[serde(default = "trim")]
    pub trim: Vec<String>,
    /// What a flush is called.
    #[serde(default = "flush")]
    pub flush: Vec<String>,
}

fn sector() -> u32 {
    512
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn read() -> Vec<String> {
    words(&["R", "r", "read", "Read", "READ"])
}

fn write() -> Vec<String> {
    words(&["W", "w", "write", "Write", "WRITE"])
}

fn trim() -> Vec<String> {
    words(&["T", "D", "trim", "discard", "unmap"])
}

fn flush() -> Vec<String> {
    words(&["F", "flush", "sync"])
}

impl ColumnOptions {
    fn wanted(&self) -> [Option<&Column>; 5] {
        [self.time.as_ref(), Some(&self.op), Some(&self.address), Some(&self.size), self.device.as_ref()]
    }

    fn has_header(&self) -> bool {
        self.header || self.wanted().into_iter().flatten().any(|column| matches!(column, Column::Name(_)))
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        for (key, column) in KEYS.iter().zip(self.wanted()) {
            if column == Some(&Column::Number(0)) {
                return Err(WorkloadError::option(&format!("columns.{key}"), &0, "columns are numbered from 1"));
            }
        }
        for (key, unit) in [("address_unit_bytes", self.address_unit_bytes), ("size_unit_bytes", self.size_unit_bytes)]
        {
            if !(1..=1 << 30).contains(&unit) {
                let why = "a unit has 1 byte to 1 GiB";
                return Err(WorkloadError::option(&format!("columns.{key}"), &unit, why));
            }
        }
        Ok(())
    }
}

const KEYS: [&str; 5] = ["time", "op", "address", "size", "device"];

/// The reader of one line.
#[derive(Debug)]
pub struct Columns {
    options: Option<Box<ColumnOptions>>,
    unit: TimeUnit,
    /// Where the five columns stand, from 0; `usize::MAX` for one that is not there.
    at: [usize; 5],
}

impl Columns {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        let at = options.columns.as_ref().map_or([usize::MAX; 5], |columns| {
            columns.wanted().map(|column| match column {
                Some(&Column::Number(number)) => (number as usize).wrapping_sub(1),
                _ => usize::MAX,
            })
        });
        Self { options: options.columns.clone(), unit: options.time_unit(TimeUnit::Us), at }
    }

    fn separator(&self) -> Separator {
        self.options.as_ref().map_or(Separator::Comma, |options| options.separator)
    }
}

const NO_OPTIONS: &str = "the format `columns` needs the table workload.trace.columns, which says where the time, the \
                          operation, the address and the size stand";

impl Format for Columns {
    fn header(&mut self, line: &[u8]) -> Result<bool, Malformed> {
        let Some(options) = &self.options else { return Err(Malformed::new(0, NO_OPTIONS.to_owned())) };
        if !options.has_header() {
            return Ok(false);
        }
        let names: Vec<String> = Split::new(line, self.separator())
            .map(|(start, end)| String::from_utf8_lossy(&line[start..end]).into_owned())
            .collect();
        for (at, column) in self.at.iter_mut().zip(options.wanted()) {
            let Some(Column::Name(name)) = column else { continue };
            *at = names.iter().position(|found| found == name).ok_or_else(|| {
                let known = names.iter().map(String::as_str);
                let hint = nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let line = shown(line);
                Malformed::new(0, format!("expected a column {}{hint}, found {line}", shown(name.as_bytes())))
            })?;
        }
        Ok(true)
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let Some(options) = &self.options else { return Err(Malformed::new(0, NO_OPTIONS.to_owned())) };
        if self.is_comment(line) {
            return Ok(Line::Other);
        }
        let mut found = [(line.len(), line.len()); 5];
        for (number, place) in Split::new(line, options.separator).enumerate() {
            for (slot, &at) in found.iter_mut().zip(&self.at) {
                if at == number {
                    *slot = place;
                }
            }
        }
        let [time, op, address, size, device] = found;
        let field = |(start, end): (usize, usize)| Fields { line: &line[..end], at: start };
        let name = &line[op.0..op.1];
        let is = |names: &[String]| names.iter().any(|known| known.as_bytes() == name);
        let kind = match () {
            () if is(&options.read) => Op::Read,
            () if is(&options.write) => Op::Write,
            () if is(&options.trim) => Op::Trim,
            () if is(&options.flush) => Op::Flush,
            () => {
                let known =
                    [&options.read, &options.write, &options.trim, &options.flush].map(|names| names.join(", "));
                let known: String = known.join(", ").chars().take(200).collect();
                return Err(Malformed::new(op.0, format!("expected an operation ({known}), found {}", shown(name))));
            }
        };
        let mut when = 0;
        if options.time.is_some() {
            let mut fields = field(time);
            when = fields.time("time", self.unit)?;
            fields.end()?;
        }
        let number = |place, what, unit: u32| {
            let mut fields = field(place);
            let value = fields.number(what, u64::MAX / u64::from(unit))?;
            fields.end().map(|()| value * u64::from(unit))
        };
        let (mut start, mut bytes) = (0, 0);
        if kind != Op::Flush {
            start = number(address, "an address, a whole number", options.address_unit_bytes)?;
            bytes = number(size, "a size, a whole number", options.size_unit_bytes)?;
        }
        in_bytes((when, kind), (start, bytes), &line[device.0..device.1], Places { address: address.0, size: size.0 })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn is_comment(&self, line: &[u8]) -> bool {
        line.starts_with(b"#")
    }
}

/// Where the columns of a line start and end, without blanks and quotes around them.
struct Split<'a> {
    line: &'a [u8],
    at: Option<usize>,
    separator: Separator,
}

impl<'a> Split<'a> {
    fn new(line: &'a [u8], separator: Separator) -> Self {
        let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = if separator == Separator::Blanks { blanks } else { 0 };
        Self { line, at: Some(start), separator }
    }

    fn is_end(&self, byte: u8) -> bool {
        match self.separator {
            Separator::Comma => byte == b',',
            Separator::Semicolon => byte == b';',
            Separator::Tab => byte == b'\t',
            Separator::Blanks => byte == b' ' || byte == b'\t',
        }
    }
}

impl Iterator for Split<'_> {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.at?;
        let rest = &self.line[start..];
        let length = rest.iter().position(|&byte| self.is_end(byte));
        self.at = length.map(|length| {
            let mut next = start + length + 1;
            while self.separator == Separator::Blanks && self.line.get(next).is_some_and(|&byte| self.is_end(byte)) {
                next += 1;
            }
            next
        });
        let (mut first, mut last) = (start, start + length.unwrap_or(rest.len()));
        while first < last && self.line[first].is_ascii_whitespace() {
            first += 1;
        }
        while first < last && self.line[last - 1].is_ascii_whitespace() {
            last -= 1;
        }
        if last - first >= 2 && self.line[first] == b'"' && self.line[last - 1] == b'"' {
            (first, last) = (first + 1, last - 1);
        }
        Some((first, last))
    }
}

//! Key trace: operations on keys that were recorded.
//!
//! ## Idea
//! Comma-separated text, plain or compressed with gzip, one operation a line. The first line is the header `op,key`.
//! `op` is `I` insert, `U` update, `P` put (insert or update), `R` read, `M` read-modify-write, `S` scan or `D` delete;
//! `key` is a whole number up to 2^64 - 1. A scan returns `scan_records` records. A malformed line ends the stream; the
//! error has the place and the expected text.

use super::{Action, KeyOp, KeyOptions, KeySetting, KeyWorkload};
use crate::trace::lines::{sentence, Lines};
use crate::WorkloadError;
use std::path::PathBuf;

/// Options of `[workload.keys]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The file; a relative path starts at the folder of the experiment.
    pub path: String,
    /// Records that a scan returns.
    #[serde(default = "hundred")]
    pub scan_records: u32,
}

fn hundred() -> u32 {
    100
}

const HEADER: &[u8] = b"op,key";

impl KeyOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        if self.path.is_empty() {
            return Err(WorkloadError::option("path", &"\"\"", "expected the path of a key trace"));
        }
        if self.scan_records == 0 {
            return Err(WorkloadError::option("scan_records", &0, "a scan returns at least 1 record"));
        }
        Ok(())
    }

    fn largest_key(&self) -> Option<u64> {
        None
    }

    fn operations(&self) -> Option<u64> {
        None
    }

    fn open(&self, setting: &KeySetting<'_>) -> Result<Box<dyn KeyWorkload>, WorkloadError> {
        self.check()?;
        let file = setting.base.join(&self.path);
        let lines = Lines::open(&file, None).map_err(|error| unreadable(&file, &error))?;
        let mut trace = Trace {
            file,
            lines,
            line: 0,
            scan_records: self.scan_records,
            largest_key: setting.largest_key,
            ended: false,
        };
        let header = trace.line()?.unwrap_or_default();
        // Spreadsheets put a byte order mark first.
        let text = header.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&header).trim_ascii();
        if text != HEADER {
            return Err(trace.malformed(0, &format!("expected the header `op,key`, found {}", shown(text))));
        }
        Ok(Box::new(trace))
    }
}

struct Trace {
    file: PathBuf,
    lines: Lines,
    line: u64,
    scan_records: u32,
    largest_key: u64,
    ended: bool,
}

fn unreadable(file: &std::path::Path, error: &std::io::Error) -> WorkloadError {
    WorkloadError::File { file: file.display().to_string(), message: sentence(error) }
}

impl Trace {
    fn line(&mut self) -> Result<Option<Vec<u8>>, WorkloadError> {
        self.line += 1;
        let line = self.lines.next().map_err(|error| unreadable(&self.file, &error))?;
        Ok(line.map(<[u8]>::to_vec))
    }

    fn malformed(&self, column: usize, message: &str) -> WorkloadError {
        let file = self.file.display().to_string();
        WorkloadError::Record { file, line: self.line, column: column + 1, message: message.to_owned() }
    }

    fn operation(&mut self) -> Result<Option<KeyOp>, WorkloadError> {
        let Some(line) = self.line()? else { return Ok(None) };
        let action = match line.first() {
            Some(b'I') => Action::Insert,
            Some(b'U') => Action::Update,
            Some(b'P') => Action::Put,
            Some(b'R') => Action::Read,
            Some(b'M') => Action::ReadModifyWrite,
            Some(b'S') => Action::Scan(self.scan_records),
            Some(b'D') => Action::Delete,
            _ => {
                let message = format!("expected op, one of I, U, P, R, M, S, D, found {}", shown(&line));
                return Err(self.malformed(0, &message));
            }
        };
        if line.get(1) != Some(&b',') {
            return Err(self.malformed(1, &format!("expected `,` and then key, found {}", shown(&line[1..]))));
        }
        let digits = &line[2..];
        let number = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        match number.and_then(|text| text.parse().ok()) {
            Some(key) if key > self.largest_key => {
                let message = format!("key {key} is too long for the index, whose keys end at {}", self.largest_key);
                Err(self.malformed(2, &message))
            }
            Some(key) => Ok(Some(KeyOp { action, key })),
            None => {
                let message = format!("expected key, a whole number up to 2^64 - 1, found {}", shown(digits));
                Err(self.malformed(2, &message))
            }
        }
    }
}

impl Iterator for Trace {
    type Item = Result<KeyOp, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let operation = self.operation().transpose();
        self.ended = !matches!(operation, Some(Ok(_)));
        operation
    }
}

/// The start of `rest`, made safe for a message.
fn shown(rest: &[u8]) -> String {
    if rest.is_empty() {
        return "the end of the line".to_owned();
    }
    let cut = &rest[..rest.len().min(40)];
    let more = if cut.len() < rest.len() { "..." } else { "" };
    format!("`{}{more}`", String::from_utf8_lossy(cut).escape_debug())
}

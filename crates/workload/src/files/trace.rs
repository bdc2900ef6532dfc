//! File trace: operations on files that were recorded, or written by hand.
//!
//! ## Idea
//! Text, plain or compressed with gzip, one operation a line; its parts are separated by commas, so a path has none:
//!
//! | line | operation |
//! |---|---|
//! | `create,PATH` | makes an empty file, or cuts one to nothing, and opens it |
//! | `open,PATH`, `close,PATH`, `sync,PATH` | opens a file; closes it; makes it survive a power cut |
//! | `write,PATH,AT,BYTES`, `read,PATH,AT,BYTES` | transfers bytes of an open file |
//! | `truncate,PATH,BYTES` | cuts or extends an open file |
//! | `rename,PATH,PATH`, `remove,PATH` | gives a closed file another name, takes one away |
//! | `mkdir,PATH`, `rmdir,PATH` | makes a directory, takes an empty one away |
//! | `transaction` | a transaction begins; what stands before the first one is the set-up |
//!
//! A malformed line ends the stream; the error has the place and the expected text.

use super::{FileOp, FileOptions, FileSetting, FileWorkload, Slot};
use crate::trace::lines::{sentence, Lines};
use crate::WorkloadError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Options of `[workload.files]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The file; a relative path starts at the folder of the experiment.
    pub path: String,
}

impl FileOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        if self.path.is_empty() {
            return Err(WorkloadError::option("path", &"\"\"", "expected the path of a file trace"));
        }
        Ok(())
    }

    fn transactions(&self) -> Option<u64> {
        None
    }

    fn open(&self, setting: &FileSetting<'_>) -> Result<Box<dyn FileWorkload>, WorkloadError> {
        self.check()?;
        let file = setting.base.join(&self.path);
        let lines = Lines::open(&file, None).map_err(|error| unreadable(&file, &error))?;
        Ok(Box::new(Trace { file, lines, line: 0, open: BTreeMap::new(), ended: false }))
    }
}

struct Trace {
    file: PathBuf,
    lines: Lines,
    line: u64,
    /// Slots of open files.
    open: BTreeMap<String, Slot>,
    ended: bool,
}

fn unreadable(file: &Path, error: &std::io::Error) -> WorkloadError {
    WorkloadError::File { file: file.display().to_string(), message: sentence(error) }
}

impl Iterator for Trace {
    type Item = Result<FileOp, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let op = self.operation().transpose();
        self.ended = !matches!(op, Some(Ok(_)));
        op
    }
}

impl Trace {
    fn operation(&mut self) -> Result<Option<FileOp>, WorkloadError> {
        self.line += 1;
        let line = self.lines.next().map_err(|error| unreadable(&self.file, &error))?;
        let Some(line) = line.map(|line| String::from_utf8_lossy(line).trim_end().to_owned()) else { return Ok(None) };
        let parts: Vec<&str> = line.split(',').collect();
        self.parsed(&parts).map(Some).map_err(|why| WorkloadError::Record {
            file: self.file.display().to_string(),
            line: self.line,
            column: 1,
            message: format!("{why}, found '{line}'"),
        })
    }

    fn parsed(&mut self, parts: &[&str]) -> Result<FileOp, String> {
        Ok(match *parts {
            ["transaction"] => FileOp::Transaction,
            ["mkdir", path] => FileOp::Mkdir(path.into()),
            ["rmdir", path] => FileOp::Rmdir(path.into()),
            ["remove", path] => FileOp::Unlink(self.closed(path)?.into()),
            ["rename", from, to] => FileOp::Rename { from: self.closed(from)?.into(), to: self.closed(to)?.into() },
            ["create", path] => FileOp::Create { file: self.slot(path)?, path: path.into() },
            ["open", path] => FileOp::Open { file: self.slot(path)?, path: path.into() },
            ["close", path] => {
                let slot = self.opened(path)?;
                self.open.remove(path);
                FileOp::Close(slot)
            }
            ["sync", path] => FileOp::Sync(self.opened(path)?),
            ["read", path, at, bytes] => {
                FileOp::Read { file: self.opened(path)?, at: number(at)?, bytes: number(bytes)? }
            }
            ["write", path, at, bytes] => {
                FileOp::Write { file: self.opened(path)?, at: number(at)?, bytes: number(bytes)? }
            }
            ["truncate", path, bytes] => FileOp::Truncate { file: self.opened(path)?, bytes: number(bytes)? },
            _ => {
                return Err("expected transaction, or one of create, open, close, sync, remove, mkdir, rmdir with a \
                            path, read and write with a path, position and bytes, truncate with a path and bytes, \
                            rename with two paths"
                    .into())
            }
        })
    }

    fn opened(&self, path: &str) -> Result<Slot, String> {
        self.open.get(path).copied().ok_or_else(|| format!("expected an open file, and '{path}' is closed"))
    }

    fn closed<'a>(&self, path: &'a str) -> Result<&'a str, String> {
        match self.open.contains_key(path) {
            true => Err(format!("expected a closed file, and '{path}' is open")),
            false => Ok(path),
        }
    }

    /// The lowest free slot, for a file that opens.
    fn slot(&mut self, path: &str) -> Result<Slot, String> {
        self.closed(path)?;
        let free = (0..).find(|slot| !self.open.values().any(|used| used == slot)).expect("few files are open");
        self.open.insert(path.to_owned(), free);
        Ok(free)
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("expected a whole number in place of '{text}'"))
}

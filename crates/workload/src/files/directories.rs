//! Directories and small files: a directory is made and filled, then emptied and removed.
//!
//! ## Idea
//! A transaction makes a directory and creates `files` files with `file_bytes` bytes in it, each written and closed
//! before the next. It deletes them in the same order and removes the directory. Nothing is left behind, so every
//! transaction starts from the same state. Data is short-lived; nearly all work is on directories and the allocation
//! table.
//!
//! This is the "directory / small file" workload a study on block recycling ran with PostMark: "transactions that
//! create and delete a directory and 50 files of 512 bytes", taken literally.
//!
//! ## Differences
//! The study gives neither the transaction count nor the names. Names are numbers: a FAT without long names keeps them
//! unchanged.
//!
//! ## References
//! The settings: a study of migration beside merge in block-mapped FTLs under FAT, 2007, section 6.1.

use super::parts::{put_file, within, Part, Played, Steps};
use super::records::MOST;
use super::{FileOp, FileOptions, FileSetting, FileWorkload};
use crate::{ByteCount, WorkloadError};
use std::collections::VecDeque;

/// Options of `[workload.directories]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Transactions.
    pub transactions: u32,
    /// Files of a directory.
    pub files: u32,
    /// Bytes of a file.
    pub file_bytes: ByteCount,
    /// Most bytes of a write; of a larger file each write but the last has so many.
    pub write_bytes: ByteCount,
}

impl Default for Config {
    fn default() -> Self {
        Self { transactions: 2_000, files: 50, file_bytes: ByteCount(512), write_bytes: ByteCount(4096) }
    }
}

impl FileOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        within("files", self.files.into(), 0, MOST, "the files of a directory are")?;
        within("file_bytes", self.file_bytes.0, 0, MOST, "the bytes of a file are")?;
        within("write_bytes", self.write_bytes.0, 1, MOST, "the bytes of a write are")
    }

    fn transactions(&self) -> Option<u64> {
        Some(self.transactions.into())
    }

    fn open(&self, _: &FileSetting<'_>) -> Result<Box<dyn FileWorkload>, WorkloadError> {
        self.check()?;
        Ok(Box::new(Played::new(Directories { config: self.clone(), transaction: 0, phase: Phase::Begin })))
    }
}

/// A transaction's next action.
enum Phase {
    Begin,
    /// The file to create.
    Create(u32),
    /// The file to delete.
    Delete(u32),
}

struct Directories {
    config: Config,
    /// The current transaction, from 1.
    transaction: u32,
    phase: Phase,
}

impl Directories {
    fn file(&self, file: u32) -> Box<str> {
        format!("{}/{}", self.transaction, file + 1).into()
    }
}

impl Steps for Directories {
    fn step(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError> {
        self.phase = match self.phase {
            Phase::Begin if self.transaction == self.config.transactions => return Ok(()),
            Phase::Begin => {
                self.transaction += 1;
                parts.push_back(Part::Op(FileOp::Transaction));
                parts.push_back(Part::Op(FileOp::Mkdir(self.transaction.to_string().into())));
                Phase::Create(0)
            }
            Phase::Create(file) if file < self.config.files => {
                put_file(parts, &self.file(file), self.config.file_bytes.0, self.config.write_bytes.0 as u32);
                Phase::Create(file + 1)
            }
            Phase::Create(_) if self.config.files > 0 => {
                parts.push_back(Part::Op(FileOp::Unlink(self.file(0))));
                Phase::Delete(1)
            }
            Phase::Delete(file) if file < self.config.files => {
                parts.push_back(Part::Op(FileOp::Unlink(self.file(file))));
                Phase::Delete(file + 1)
            }
            Phase::Create(_) | Phase::Delete(_) => {
                parts.push_back(Part::Op(FileOp::Rmdir(self.transaction.to_string().into())));
                Phase::Begin
            }
        };
        Ok(())
    }
}

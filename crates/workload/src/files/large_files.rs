//! Large files: a large file is created and written from start to end, then deleted.
//!
//! ## Idea
//! A transaction creates a file with `file_bytes` bytes, writes it in pieces with `write_bytes` each, closes it and
//! deletes it. Data is sequential; a directory entry and the allocation table change again and again beside it.
//!
//! This is the "large file" workload a study on block recycling ran with PostMark: "transactions that create and delete
//! a file of 1 MByte".
//!
//! ## Differences
//! The study gives neither the transaction count nor the write size; pieces are as large as a common FAT cluster. Each
//! file has a different name, its number, as in PostMark.
//!
//! ## References
//! The settings: a study of migration beside merge in block-mapped FTLs under FAT, 2007, section 6.1.

use super::parts::{put_file, within, Part, Played, Steps};
use super::records::MOST;
use super::{FileOp, FileOptions, FileSetting, FileWorkload};
use crate::{ByteCount, WorkloadError};
use std::collections::VecDeque;

/// Options of `[workload.large_files]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Transactions.
    pub transactions: u32,
    /// Bytes of a file.
    pub file_bytes: ByteCount,
    /// Bytes of a write; the last one of a file may have fewer.
    pub write_bytes: ByteCount,
}

impl Default for Config {
    fn default() -> Self {
        Self { transactions: 200, file_bytes: ByteCount(1 << 20), write_bytes: ByteCount(4096) }
    }
}

/// Most bytes in a file, 1 TiB.
const MOST_BYTES: u64 = 1 << 40;

impl FileOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        within("file_bytes", self.file_bytes.0, 0, MOST_BYTES, "the bytes of a file are")?;
        within("write_bytes", self.write_bytes.0, 1, MOST, "the bytes of a write are")
    }

    fn transactions(&self) -> Option<u64> {
        Some(self.transactions.into())
    }

    fn open(&self, _: &FileSetting<'_>) -> Result<Box<dyn FileWorkload>, WorkloadError> {
        self.check()?;
        Ok(Box::new(Played::new(LargeFiles { config: self.clone(), transaction: 0 })))
    }
}

struct LargeFiles {
    config: Config,
    /// Transactions so far.
    transaction: u32,
}

impl Steps for LargeFiles {
    fn step(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError> {
        if self.transaction < self.config.transactions {
            self.transaction += 1;
            let path = self.transaction.to_string();
            parts.push_back(Part::Op(FileOp::Transaction));
            put_file(parts, &path, self.config.file_bytes.0, self.config.write_bytes.0 as u32);
            parts.push_back(Part::Op(FileOp::Unlink(path.into())));
        }
        Ok(())
    }
}

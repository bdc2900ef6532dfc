//! File system workloads: streams of operations on files.
//!
//! A workload never sees an answer, so its options and the seed fully determine the stream. Each open file has a slot,
//! a small number the workload chooses. A new file workload is one file here and one line in the list in `lib.rs`.

pub mod camera;
pub mod directories;
pub mod event_recorder;
pub mod fax;
pub mod large_files;
mod parts;
pub mod phone;
pub mod postmark;
mod records;
pub mod trace;

use crate::WorkloadError;
use std::path::Path;

/// A workload's number for an open file; free for reuse after [`FileOp::Close`].
pub type Slot = u32;

/// One operation. Paths are names joined by `/`, from the root.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FileOp {
    /// A transaction begins. Operations before the first one are the set-up, measured apart.
    Transaction,
    /// The transactions are over. The operations after it delete files, measured apart.
    CleanUp,
    /// Make a directory.
    Mkdir(Box<str>),
    /// Take an empty directory away.
    Rmdir(Box<str>),
    /// Make an empty file, or cut one to nothing, and open it.
    Create {
        /// The open file's slot.
        file: Slot,
        /// Its path.
        path: Box<str>,
    },
    /// Open a file.
    Open {
        /// The open file's slot.
        file: Slot,
        /// Its path.
        path: Box<str>,
    },
    /// Close a file.
    Close(Slot),
    /// Read.
    Read {
        /// The open file.
        file: Slot,
        /// First byte's position.
        at: u64,
        /// Bytes.
        bytes: u32,
    },
    /// Write; the contents are up to whoever carries it out.
    Write {
        /// The open file.
        file: Slot,
        /// First byte's position.
        at: u64,
        /// Bytes.
        bytes: u32,
    },
    /// Cut or extend an open file.
    Truncate {
        /// The open file.
        file: Slot,
        /// File size afterwards, in bytes.
        bytes: u64,
    },
    /// Make a file survive a power cut.
    Sync(Slot),
    /// Give another name.
    Rename {
        /// The path before.
        from: Box<str>,
        /// The path after.
        to: Box<str>,
    },
    /// Take a file away.
    Unlink(Box<str>),
}

/// A stream of operations; it ends after the first error.
pub trait FileWorkload: Iterator<Item = Result<FileOp, WorkloadError>> + Send {}

impl<T: Iterator<Item = Result<FileOp, WorkloadError>> + Send> FileWorkload for T {}

/// Setting for opening a file workload.
#[derive(Clone, Copy, Debug)]
pub struct FileSetting<'a> {
    /// The experiment's seed.
    pub seed: u64,
    /// Folder for relative paths.
    pub base: &'a Path,
}

/// A file workload's options.
pub trait FileOptions {
    /// Checks the options without files.
    ///
    /// # Errors
    /// [`WorkloadError::Option`] with the key, the given value and the allowed ones.
    fn check(&self) -> Result<(), WorkloadError>;

    /// Total transactions, if known; for progress.
    fn transactions(&self) -> Option<u64>;

    /// Makes the stream; the same options and seed make the same stream.
    ///
    /// # Errors
    /// As [`Self::check`].
    fn open(&self, setting: &FileSetting<'_>) -> Result<Box<dyn FileWorkload>, WorkloadError>;
}

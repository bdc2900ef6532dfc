//! What is asked of a file system: streams of operations on files.
//!
//! A workload never sees an answer, so a stream is a pure function of its options and the seed. Files that are open
//! have a slot, a small number that the workload chooses. A new file workload is one file here and one line of the list
//! in `lib.rs`.

pub mod camera;
pub mod directories;
pub mod event_recorder;
pub mod fax;
pub mod large_files;
mod parts;
pub mod phone;
pub mod postmark;
mod records;

use crate::WorkloadError;
use std::path::Path;

/// The number that a workload gives to a file while it is open; it may be used again after [`FileOp::Close`].
pub type Slot = u32;

/// One operation. Paths are names joined by `/`, from the root.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FileOp {
    /// A transaction begins; what came before the first is the set-up, measured apart.
    Transaction,
    /// The transactions are over; what follows takes files away, measured apart.
    CleanUp,
    /// Make a directory.
    Mkdir(Box<str>),
    /// Take an empty directory away.
    Rmdir(Box<str>),
    /// Make an empty file, or cut one to nothing, and open it.
    Create {
        /// Slot of the open file.
        file: Slot,
        /// Its path.
        path: Box<str>,
    },
    /// Open a file.
    Open {
        /// Slot of the open file.
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
        /// Position of the first byte.
        at: u64,
        /// Bytes.
        bytes: u32,
    },
    /// Write; the contents are up to whoever carries it out.
    Write {
        /// The open file.
        file: Slot,
        /// Position of the first byte.
        at: u64,
        /// Bytes.
        bytes: u32,
    },
    /// Cut or extend an open file.
    Truncate {
        /// The open file.
        file: Slot,
        /// Bytes that it has afterwards.
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

/// What a file workload is opened for.
#[derive(Clone, Copy, Debug)]
pub struct FileSetting<'a> {
    /// Seed of the experiment.
    pub seed: u64,
    /// Folder that relative paths start from.
    pub base: &'a Path,
}

/// The options of a file workload.
pub trait FileOptions {
    /// Checks what can be checked without files.
    ///
    /// # Errors
    /// [`WorkloadError::Option`] with the key, what was given and what is allowed.
    fn check(&self) -> Result<(), WorkloadError>;

    /// Transactions in all, where that is known; for progress.
    fn transactions(&self) -> Option<u64>;

    /// Makes the stream; the same options and seed make the same stream.
    ///
    /// # Errors
    /// As [`Self::check`].
    fn open(&self, setting: &FileSetting<'_>) -> Result<Box<dyn FileWorkload>, WorkloadError>;
}

//! File systems.
//!
//! Read this file first: [`FileSystem`] is the contract. A mounted file system is RAM over a device that it borrows;
//! `drop` is the power cut.

mod error;

pub use error::FsError;

use nandlab_block::RamUse;

/// An open file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Handle(pub u32);

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Bytes.
    File,
    /// Names.
    Directory,
    /// Another path.
    Symlink,
}

/// What is known of a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stat {
    /// What it stands for.
    pub kind: Kind,
    /// Bytes of a file; 0 of a directory.
    pub bytes: u64,
}

/// Space of a file system.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Space {
    /// Bytes that files can have together, about.
    pub total_bytes: u64,
    /// Bytes of it that no file uses.
    pub free_bytes: u64,
}

/// A mounted file system.
///
/// Paths are names joined by `/`, from the root; an empty path is the root. What a call has done is visible to the next;
/// it survives a power cut after [`Self::sync`] or [`Self::sync_all`], on a file system that promises more, earlier.
///
/// # Errors
/// Every call fails with the reasons of [`FsError`]; a call that failed for the name or for space has changed nothing.
pub trait FileSystem {
    /// Makes an empty file and opens it; a file of that name is cut to nothing.
    fn create(&mut self, path: &str) -> Result<Handle, FsError>;

    /// Opens a file.
    fn open(&mut self, path: &str) -> Result<Handle, FsError>;

    /// Closes a file.
    fn close(&mut self, file: Handle) -> Result<(), FsError>;

    /// Fills `bytes` from position `at` of the file on and returns how many there were before the end.
    fn read(&mut self, file: Handle, at: u64, bytes: &mut [u8]) -> Result<usize, FsError>;

    /// Writes `bytes` from position `at` on; a gap behind the end reads as zeros.
    fn write(&mut self, file: Handle, at: u64, bytes: &[u8]) -> Result<(), FsError>;

    /// Cuts or extends a file to so many bytes; what is new reads as zeros.
    fn truncate(&mut self, file: Handle, bytes: u64) -> Result<(), FsError>;

    /// Makes the contents and the size of a file survive a power cut, with its name.
    fn sync(&mut self, file: Handle) -> Result<(), FsError>;

    /// Makes everything survive a power cut.
    fn sync_all(&mut self) -> Result<(), FsError>;

    /// Bytes of an open file.
    fn len(&mut self, file: Handle) -> Result<u64, FsError>;

    /// Gives a file or directory another name; a file of that name goes.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), FsError>;

    /// Takes a file away.
    fn unlink(&mut self, path: &str) -> Result<(), FsError>;

    /// Makes a directory.
    fn mkdir(&mut self, path: &str) -> Result<(), FsError>;

    /// Takes an empty directory away.
    fn rmdir(&mut self, path: &str) -> Result<(), FsError>;

    /// What a name stands for.
    fn stat(&mut self, path: &str) -> Result<Stat, FsError>;

    /// The names in a directory, in ascending order.
    fn list(&mut self, path: &str) -> Result<Vec<String>, FsError>;

    /// Space of the file system.
    fn space(&mut self) -> Result<Space, FsError>;

    /// Memory that the file system needs, by structure.
    fn ram(&self) -> RamUse;
}

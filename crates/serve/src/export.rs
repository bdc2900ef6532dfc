//! The seam between protocols and disks.

use crate::Due;
use std::io::{Error, ErrorKind, Result};

/// A byte disk. Every call may come from any thread.
///
/// Offsets and lengths are in bytes and need no alignment. A request beyond the end fails and changes nothing.
/// A write is readable at once; it survives a power cut after [`Self::flush`], or with `fua`. A protocol answers changes only
/// after [`Self::hand_over`].
///
/// # Errors
/// All functions return the error of the disk: `StorageFull` when it takes no more writes, `InvalidInput` for a range
/// beyond its end, another kind when data is lost or the disk is gone.
#[allow(clippy::missing_errors_doc)]
pub trait Export: Send + Sync {
    /// Size in bytes.
    fn size(&self) -> u64;

    /// The block size in bytes that costs least: the flash page.
    fn preferred_block(&self) -> u32;

    /// Whether every change is refused.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Fills `out` from `offset` on.
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<Due>;

    /// Stores `data` at `offset`; with `fua` it survives a power cut from the answer on.
    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<Due>;

    /// Makes `length` bytes read as zeros; with `may_trim` the disk may drop their contents instead.
    fn write_zeroes(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> Result<Due>;

    /// Drops the contents of `length` bytes. Sectors covered only in part stay unchanged.
    fn trim(&self, offset: u64, length: u64, fua: bool) -> Result<Due>;

    /// Makes every change so far survive the end of this process. One call for several changes costs less.
    fn hand_over(&self) -> Result<()>;

    /// Makes every answered write survive a power cut.
    fn flush(&self) -> Result<Due>;
}

/// Refuses a range beyond the end on a disk with `size` bytes.
///
/// # Errors
/// `InvalidInput`, with the range and the size.
pub fn check_range(size: u64, offset: u64, length: u64) -> Result<()> {
    if offset.checked_add(length).is_some_and(|end| end <= size) {
        return Ok(());
    }
    let message = format!("{length} bytes at {offset} are beyond the end of a disk of {size} bytes");
    Err(Error::new(ErrorKind::InvalidInput, message))
}

//! A simulated flash device as a disk that real programs use.
//!
//! [`Disk`] is a device in an image; it answers an [`Export`], which is what a protocol serves. A protocol knows nothing of
//! flash, and the disk knows nothing of protocols.

mod clock;
pub mod control;
mod disk;
pub mod nbd;
mod record;
pub mod regions;

pub use disk::{Disk, Options};

use std::io;
use std::time::Instant;

/// What a protocol serves: a disk of bytes. Every call may come from any thread.
#[allow(clippy::missing_errors_doc)] // Those of the device, as an error of the operating system's kinds.
pub trait Export: Send + Sync {
    /// Bytes.
    fn size(&self) -> u64;
    /// Bytes that are best asked for at once: the flash page.
    fn preferred_block(&self) -> u32;
    /// Fills `out` with the bytes from `offset` on.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<Due>;
    /// Stores `data` from `offset` on; `fua`: it survives a power cut when this returns.
    fn write(&self, offset: u64, data: &[u8], fua: bool) -> io::Result<Due>;
    /// Makes `length` bytes zero; `may_trim`: they need no room afterwards.
    fn write_zeroes(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> io::Result<Due>;
    /// The contents of these bytes are no longer needed. Partial sectors at the ends stay.
    fn trim(&self, offset: u64, length: u64, fua: bool) -> io::Result<Due>;
    /// Makes everything that was answered survive a power cut.
    fn flush(&self) -> io::Result<Due>;
}

/// When an answer may go out: at once, or, with `--pace`, when the simulated time of the request is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due(Option<Instant>);

impl Due {
    /// At once.
    pub const NOW: Self = Self(None);

    /// At a moment, or at once if that is over.
    pub fn at(moment: Instant) -> Self {
        Self(Some(moment))
    }

    /// The moment; `None`: at once.
    pub fn moment(self) -> Option<Instant> {
        self.0
    }

    /// Waits until then.
    pub fn wait(self) {
        if let Some(left) = self.0.and_then(|moment| moment.checked_duration_since(Instant::now())) {
            std::thread::sleep(left);
        }
    }

    /// The later one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

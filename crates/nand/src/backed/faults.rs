//! Faults of the host under an image, for tests: one refused or shortened call to the operating system.

use std::fmt::Debug;

/// A call for an image's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Reads bytes.
    Read,
    /// Writes bytes.
    Write,
    /// Waits until all written bytes are on the disk.
    Sync,
    /// Gives the room of bytes back.
    Punch,
}

/// What happens instead of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Nothing is done; the call returns this error number.
    Error(i32),
    /// So many bytes are read or written, at least one, and the call says so.
    Short(usize),
    /// So many bytes are written, and the call returns this error number.
    Torn(usize, i32),
}

/// Decides about each call for an image's file, from any thread.
pub trait Faults: Send + Sync + Debug {
    /// The fault for a call for `length` bytes from `place` on; `None` lets it through.
    fn next(&self, call: Call, place: u64, length: usize) -> Option<Fault>;
}

//! The calls of the operating system that an image needs, and what takes their place where they are missing.

use std::fs::File;
use std::io;
use std::ops::Range;

/// Fills `bytes` from `place` on.
#[cfg(unix)]
pub(super) fn read_at(file: &File, place: u64, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, place)
}

/// Writes `bytes` from `place` on.
#[cfg(unix)]
pub(super) fn write_at(file: &File, place: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, place)
}

/// Fills `bytes` from `place` on.
#[cfg(not(unix))]
pub(super) fn read_at(mut file: &File, place: u64, bytes: &mut [u8]) -> io::Result<()> {
    use std::io::{Read, Seek};
    file.seek(io::SeekFrom::Start(place))?;
    file.read_exact(bytes)
}

/// Writes `bytes` from `place` on.
#[cfg(not(unix))]
pub(super) fn write_at(mut file: &File, place: u64, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, Write};
    file.seek(io::SeekFrom::Start(place))?;
    file.write_all(bytes)
}

/// Locks `file` for this process until it is closed; false where another one has it. A kill ends the lock too.
#[cfg(unix)]
pub(super) fn lock(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Locks nothing: this system has no such lock.
#[cfg(not(unix))]
pub(super) fn lock(_: &File) -> io::Result<bool> {
    Ok(true)
}

/// Gives the room of these bytes of `file` back; they read as zeros or as before. A file system that cannot do that keeps
/// the room.
#[cfg(target_os = "linux")]
pub(super) fn punch(file: &File, bytes: Range<u64>) {
    use rustix::fs::FallocateFlags as Flags;
    let length = bytes.end - bytes.start;
    // Nothing depends on it.
    let _ = rustix::fs::fallocate(file, Flags::PUNCH_HOLE | Flags::KEEP_SIZE, bytes.start, length);
}

/// Keeps the room.
#[cfg(not(target_os = "linux"))]
pub(super) fn punch(_: &File, _: Range<u64>) {}

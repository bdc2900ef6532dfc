//! The calls of the operating system that an image needs.

use std::fs::File;
use std::io;
use std::ops::Range;

/// Fills `bytes` from `place` on.
pub(super) fn read_at(file: &File, place: u64, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, place)
}

/// Writes `bytes` from `place` on.
pub(super) fn write_at(file: &File, place: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, place)
}

/// Locks `file` for this process until it is closed; false where another one has it. A kill ends the lock too.
pub(super) fn lock(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
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

/// Room that `file` takes, holes left out.
pub(super) fn allocated(file: &File) -> io::Result<u64> {
    Ok(std::os::unix::fs::MetadataExt::blocks(&file.metadata()?) * 512)
}

//! The calls of the operating system that an image needs.

use crate::content::Bytes;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::ops::Range;

/// Fills `bytes` from `place` on.
pub(super) fn read_at(file: &File, place: u64, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, place)
}

/// Fills `pages` one after the other from `place` on.
pub(super) fn read_pages_at<'a>(
    file: &File,
    mut place: u64,
    pages: impl Iterator<Item = &'a mut Bytes>,
) -> io::Result<()> {
    let mut slices: Vec<_> = pages.map(|page| IoSliceMut::new(page)).collect();
    let mut left = &mut slices[..];
    while !left.is_empty() {
        match rustix::io::preadv(file, left, place) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                place += read as u64;
                IoSliceMut::advance_slices(&mut left, read);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes `bytes` from `place` on.
pub(super) fn write_at(file: &File, place: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, place)
}

/// Locks `file` for this process until it is closed; false where another one has it. A kill ends the lock too.
pub(super) fn lock(file: &File) -> io::Result<bool> {
    flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
}

/// The same beside others that only read.
pub(super) fn lock_shared(file: &File) -> io::Result<bool> {
    flock(file, rustix::fs::FlockOperation::NonBlockingLockShared)
}

fn flock(file: &File, how: rustix::fs::FlockOperation) -> io::Result<bool> {
    match rustix::fs::flock(file, how) {
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

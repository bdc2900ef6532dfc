//! The calls of the operating system that an image needs.

use super::faults::{Call, Fault, Faults};
use crate::content::Bytes;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// How often a read is tried that the host fails: an FTL that cannot read a page when it moves it has lost the page.
const TRIES: u32 = 3;
/// Bytes written again at once.
const PIECE: usize = 1 << 20;

/// An image's file. Every call for it goes through this file, so a test can make any of them fail.
#[derive(Debug)]
pub(super) struct HostFile {
    file: File,
    /// Empty outside tests.
    faults: OnceLock<Arc<dyn Faults>>,
}

impl From<File> for HostFile {
    fn from(file: File) -> Self {
        read_without_a_trace(&file);
        Self { file, faults: OnceLock::new() }
    }
}

/// Opens an image.
pub(super) fn open(path: &Path, to_write: bool) -> io::Result<HostFile> {
    open_as(path, OpenOptions::new().read(true).write(to_write)).map(HostFile::from)
}

/// Opens a regular file to read it. Anything else is refused at once: to open a pipe would wait for its other end, and a
/// device may have no end.
///
/// # Errors
/// As the system has them, or it is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_as(path, OpenOptions::new().read(true))
}

fn open_as(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let at_once = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let other = || io::Error::other("it is no regular file");
    let file = options.custom_flags(at_once).open(path).map_err(|error| match Errno::from_io_error(&error) {
        // A socket cannot be opened.
        Some(Errno::NXIO) => other(),
        _ => error,
    })?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    kind.is_file().then_some(file).ok_or_else(other)
}

/// Leaves the time of the last read as it is: to look at it takes a tenth of a page's read. Only an owner may do so.
#[cfg(target_os = "linux")]
fn read_without_a_trace(file: &File) {
    use rustix::fs::{fcntl_getfl, fcntl_setfl, OFlags};
    let _ = fcntl_getfl(file).and_then(|flags| fcntl_setfl(file, flags | OFlags::NOATIME));
}

#[cfg(not(target_os = "linux"))]
fn read_without_a_trace(_: &File) {}

impl HostFile {
    /// Asks `faults` about every call from now on.
    pub fn set_faults(&self, faults: Arc<dyn Faults>) {
        // The first ones stay.
        let _ = self.faults.set(faults);
    }

    fn fault(&self, call: Call, place: u64, length: usize) -> Option<Fault> {
        self.faults.get()?.next(call, place, length)
    }

    pub fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    pub fn set_length(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }
}

/// Fills `bytes` from `place` on.
pub(super) fn read_at(file: &HostFile, mut place: u64, mut bytes: &mut [u8]) -> io::Result<()> {
    let mut failed = 0;
    while !bytes.is_empty() {
        let read = match file.fault(Call::Read, place, bytes.len()) {
            None => rustix::io::pread(&file.file, &mut *bytes, place),
            Some(Fault::Short(most)) => {
                let most = most.clamp(1, bytes.len());
                rustix::io::pread(&file.file, &mut bytes[..most], place)
            }
            Some(Fault::Error(number) | Fault::Torn(_, number)) => Err(Errno::from_raw_os_error(number)),
        };
        match read {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                place += read as u64;
                bytes = &mut bytes[read..];
            }
            Err(Errno::INTR) => {}
            Err(Errno::IO) if failed + 1 < TRIES => failed += 1,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Fills `pages` one after the other from `place` on.
pub(super) fn read_pages_at<'a>(
    file: &HostFile,
    mut place: u64,
    pages: impl Iterator<Item = &'a mut Bytes>,
) -> io::Result<()> {
    let mut slices: Vec<_> = pages.map(|page| IoSliceMut::new(page)).collect();
    let mut left = &mut slices[..];
    while !left.is_empty() {
        let read = match file.fault(Call::Read, place, left.iter().map(|slice| slice.len()).sum()) {
            None => rustix::io::preadv(&file.file, left, place),
            Some(Fault::Short(most)) => {
                let most = most.clamp(1, left[0].len());
                rustix::io::pread(&file.file, &mut left[0][..most], place)
            }
            Some(Fault::Error(number) | Fault::Torn(_, number)) => Err(Errno::from_raw_os_error(number)),
        };
        match read {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                place += read as u64;
                IoSliceMut::advance_slices(&mut left, read);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes `bytes` from `place` on. After an error any part may be written.
pub(super) fn write_at(file: &HostFile, mut place: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = match file.fault(Call::Write, place, bytes.len()) {
            None => rustix::io::pwrite(&file.file, bytes, place),
            Some(Fault::Short(most)) => rustix::io::pwrite(&file.file, &bytes[..most.clamp(1, bytes.len())], place),
            Some(Fault::Error(number)) => Err(Errno::from_raw_os_error(number)),
            Some(Fault::Torn(most, number)) => {
                rustix::io::pwrite(&file.file, &bytes[..most.min(bytes.len())], place)?;
                Err(Errno::from_raw_os_error(number))
            }
        };
        match written {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                place += written as u64;
                bytes = &bytes[written..];
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits until all written bytes are on the disk. After an error the kernel may count bytes as written that are not:
/// only [`write_again`] makes a later call tell the truth.
pub(super) fn sync(file: &HostFile) -> io::Result<()> {
    loop {
        let synced = match file.fault(Call::Sync, 0, 0) {
            Some(Fault::Error(number) | Fault::Torn(_, number)) => Err(io::Error::from_raw_os_error(number)),
            None | Some(Fault::Short(_)) => file.file.sync_data(),
        };
        match synced {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            synced => return synced,
        }
    }
}

/// Writes all bytes in the file over themselves, so the kernel counts none of them as being on the disk. Holes stay.
pub(super) fn write_again(file: &HostFile) -> io::Result<()> {
    let mut bytes = vec![0; PIECE];
    let mut end = 0;
    while let Some(data) = data_behind(&file.file, end)? {
        let mut place = data.start;
        while place < data.end {
            let piece = &mut bytes[..(data.end - place).min(PIECE as u64) as usize];
            read_at(file, place, piece)?;
            write_at(file, place, piece)?;
            place += piece.len() as u64;
        }
        end = data.end;
    }
    Ok(())
}

/// The next range without holes from `place` on.
#[cfg(target_os = "linux")]
fn data_behind(file: &File, place: u64) -> io::Result<Option<Range<u64>>> {
    use rustix::fs::{seek, SeekFrom};
    match seek(file, SeekFrom::Data(place)) {
        Ok(start) => Ok(Some(start..seek(file, SeekFrom::Hole(start))?)),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn data_behind(file: &File, place: u64) -> io::Result<Option<Range<u64>>> {
    let end = file.metadata()?.len();
    Ok((place < end).then_some(place..end))
}

/// Locks `file` for this process until it is closed; false where another one has it. A kill ends the lock too.
pub(super) fn lock(file: &HostFile) -> io::Result<bool> {
    flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
}

/// The same beside others that only read.
pub(super) fn lock_shared(file: &HostFile) -> io::Result<bool> {
    flock(file, rustix::fs::FlockOperation::NonBlockingLockShared)
}

fn flock(file: &HostFile, how: rustix::fs::FlockOperation) -> io::Result<bool> {
    match rustix::fs::flock(&file.file, how) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Gives the room of these bytes of `file` back; they read as zeros or as before. A file system that cannot do that keeps
/// the room.
#[cfg(target_os = "linux")]
pub(super) fn punch(file: &HostFile, bytes: Range<u64>) {
    use rustix::fs::FallocateFlags as Flags;
    let length = bytes.end - bytes.start;
    if file.fault(Call::Punch, bytes.start, length as usize).is_none() {
        // Nothing depends on it.
        let _ = rustix::fs::fallocate(&file.file, Flags::PUNCH_HOLE | Flags::KEEP_SIZE, bytes.start, length);
    }
}

/// Keeps the room.
#[cfg(not(target_os = "linux"))]
pub(super) fn punch(_: &HostFile, _: Range<u64>) {}

/// Room that `file` takes, holes left out.
pub(super) fn allocated(file: &HostFile) -> io::Result<u64> {
    Ok(std::os::unix::fs::MetadataExt::blocks(&file.file.metadata()?) * 512)
}

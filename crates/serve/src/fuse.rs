//! A directory with one file, `disk`, holding an export's bytes.
//!
//! ## Idea
//! The kernel sends the file's reads and writes as they come (direct I/O), so its page cache neither hides nor merges
//! them. `fsync` is a flush; punching a hole drops contents. The file keeps its size. Losetup, `fuse2fs`, qemu and
//! `mkfs` take it as a disk; no root is needed if `fusermount3` is installed.
//!
//! ## References
//! The FUSE protocol, <https://docs.kernel.org/filesystems/fuse.html>, by the library `fuser`.

use crate::{Due, Export};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, MountOption,
    OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The file's name.
pub const FILE: &str = "disk";

const DISK: INodeNo = INodeNo(2);
/// How long the kernel may keep attributes: they never change.
const FOREVER: Duration = Duration::from_secs(3600);
/// Requests carried out at the same time; a paced disk needs several to keep its dies busy.
const THREADS: usize = 8;

/// How long a directory's threads may take to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// `fallocate` modes.
mod mode {
    pub const KEEP_SIZE: i32 = 1;
    pub const PUNCH_HOLE: i32 = 2;
    pub const ZERO_RANGE: i32 = 0x10;
}

/// A mounted export; it is unmounted when this is dropped.
pub struct Mounted {
    session: Option<fuser::BackgroundSession>,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            unmount(session);
        }
    }
}

/// Unmounts a directory and waits until its threads have ended: they hold the image open.
///
/// They go on while a program has a file open there, so the wait has a limit.
pub(crate) fn unmount(session: fuser::BackgroundSession) {
    let (ended, has_ended) = std::sync::mpsc::channel();
    let wait = move || {
        let _ = session.umount_and_join();
        let _ = ended.send(());
    };
    // Without a thread the session is dropped, which unmounts it, too.
    let _ = std::thread::Builder::new().name("nandlab unmount".into()).spawn(wait);
    let _ = has_ended.recv_timeout(PATIENCE);
}

/// Our source name in the mount table.
pub(crate) const SOURCE: &str = "nandlab";

/// The directory to mount on. A mount left by a killed process is removed first.
///
/// # Errors
/// It is no directory; it is a dead mount that cannot be removed, or another program's.
pub(crate) fn mount_point(at: &Path) -> io::Result<std::fs::Metadata> {
    let folder = match std::fs::metadata(at) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOTCONN.raw_os_error()) => {
            take_away(at)?;
            std::fs::metadata(at)?
        }
        folder => folder?,
    };
    match folder.is_dir() {
        true => Ok(folder),
        false => Err(io::Error::new(io::ErrorKind::NotADirectory, "the mount point is not a directory")),
    }
}

/// Unmounts a mount left by a killed process.
fn take_away(at: &Path) -> io::Result<()> {
    // A dead directory cannot be asked for its own path.
    let path = match (at.parent().map(std::fs::canonicalize), at.file_name()) {
        (Some(Ok(parent)), Some(name)) if !parent.as_os_str().is_empty() => parent.join(name),
        (_, Some(name)) => std::env::current_dir()?.join(name),
        _ => at.to_owned(),
    };
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let is_ours = is_mount_of_ours(&mounts, &path);
    let unmounted = is_ours && Command::new("fusermount3").arg("-u").arg(&path).output()?.status.success();
    if unmounted {
        return Ok(());
    }
    let why =
        format!("a process that ended has left a dead mount there: `fusermount3 -u {}` takes it away", at.display());
    Err(io::Error::new(io::ErrorKind::NotConnected, why))
}

/// Whether the last mount on `path` in a mount table is ours: source, directory and type come first in a line, with
/// spaces in octal.
fn is_mount_of_ours(mounts: &str, path: &Path) -> bool {
    let wanted = path.to_string_lossy().replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011");
    let mut sources = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let source = words.next()?;
        (words.next()? == wanted).then_some(source)
    });
    sources.next_back() == Some(SOURCE)
}

/// Mounts `export` on the directory `at`.
///
/// # Errors
/// As the operating system: no such directory, no FUSE, no permission.
pub fn mount(at: &Path, export: Arc<dyn Export>) -> io::Result<Mounted> {
    let folder = mount_point(at)?;
    let is_read_only = export.is_read_only();
    let served = Served { export, owner: (folder.uid(), folder.gid()), since: SystemTime::now() };
    let mut config = fuser::Config::default();
    config.mount_options = vec![MountOption::FSName(SOURCE.into()), MountOption::NoAtime, MountOption::NoSuid];
    config.mount_options.extend(is_read_only.then_some(MountOption::RO));
    config.n_threads = Some(THREADS);
    Ok(Mounted { session: Some(fuser::spawn_mount(served, at, &config)?) })
}

struct Served {
    export: Arc<dyn Export>,
    owner: (u32, u32),
    since: SystemTime,
}

impl Served {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_disk = inode == DISK;
        let size = if is_disk { self.export.size() } else { 0 };
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: self.since,
            mtime: self.since,
            ctime: self.since,
            crtime: self.since,
            kind: if is_disk { FileType::RegularFile } else { FileType::Directory },
            perm: if is_disk { 0o600 } else { 0o700 },
            nlink: if is_disk { 1 } else { 2 },
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: self.export.preferred_block(),
            flags: 0,
        }
    }

    /// The part inside the file for a read or write.
    fn length(&self, offset: u64, length: usize) -> usize {
        let left = self.export.size().saturating_sub(offset);
        usize::try_from(left).map_or(length, |left| left.min(length))
    }
}

/// Waits until the answer may go out; an error number if there is none.
fn settled(done: io::Result<Due>) -> Result<(), Errno> {
    done.map(Due::sleep).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull => Errno::ENOSPC,
        io::ErrorKind::InvalidInput => Errno::EINVAL,
        _ => Errno::EIO,
    })
}

fn answer(done: io::Result<Due>, reply: ReplyEmpty) {
    match settled(done) {
        Ok(()) => reply.ok(),
        Err(number) => reply.error(number),
    }
}

impl Served {
    /// A change that survives the end of this process.
    fn handed_over(&self, done: io::Result<Due>) -> io::Result<Due> {
        let due = done?;
        self.export.hand_over()?;
        Ok(due)
    }

    fn zeroed(&self, offset: u64, length: u64, may_trim: bool) -> io::Result<Due> {
        self.handed_over(self.export.write_zeroes(offset, length, may_trim, false))
    }
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == FILE {
            reply.entry(&FOREVER, &self.attributes(DISK), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        if inode == DISK || inode == INodeNo::ROOT {
            reply.attr(&FOREVER, &self.attributes(inode));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    /// Programs may set times and modes, without effect; the size stays.
    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<fuser::TimeOrNow>,
        _: Option<fuser::TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if size.is_some_and(|size| inode != DISK || size != self.export.size()) {
            reply.error(Errno::EPERM);
        } else {
            reply.attr(&FOREVER, &self.attributes(inode));
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (DISK, FileType::RegularFile, FILE),
        ];
        for (next, (inode, kind, name)) in (1..).zip(entries).skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut bytes = vec![0; self.length(offset, size as usize)];
        match settled(self.export.read(offset, &mut bytes)) {
            Ok(()) => reply.data(&bytes),
            Err(number) => reply.error(number),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length = self.length(offset, data.len());
        if length == 0 && !data.is_empty() {
            return reply.error(Errno::ENOSPC);
        }
        let written = self.export.write(offset, &data[..length], false);
        match settled(self.handed_over(written)) {
            Ok(()) => reply.written(length as u32),
            Err(number) => reply.error(number),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // A close makes nothing durable.
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(self.export.flush(), reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let length = length.min(self.export.size().saturating_sub(offset));
        match mode & !mode::KEEP_SIZE {
            0 => reply.ok(),
            mode::PUNCH_HOLE => answer(self.zeroed(offset, length, true), reply),
            mode::ZERO_RANGE => answer(self.zeroed(offset, length, false), reply),
            _ => reply.error(Errno::EOPNOTSUPP),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_of_ours_is_told_from_others_by_its_source() {
        let mounts =
            "proc /proc proc rw 0 0\nnandlab /a\\040b fuse rw 0 0\nsshfs /c fuse rw 0 0\nnandlab /c fuse rw 0 0\n\
                      nandlab /d fuse rw 0 0\ntmpfs /d tmpfs rw 0 0\n";
        let of = |path: &str| is_mount_of_ours(mounts, Path::new(path));
        assert!(of("/a b") && of("/c"), "the last mount counts");
        assert!(!of("/d") && !of("/a") && !of("/proc"));
    }
}

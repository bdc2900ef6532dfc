//! The kernel's requests, handed to the worker.

use super::names::{Change, Entry, Kind, Maker, Names, Status, ROOT};
use super::other::refuse_other_volumes;
use super::worker::Worker;
use crate::fuse::{mount_point, unmount};
use crate::Disk;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, SessionACL, TimeOrNow, WriteFlags,
};
use nandlab_fs::{fat, FileSystem, FsConfig};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the kernel may cache answers. Only the kernel changes files.
const KEPT: Duration = Duration::from_secs(60);
/// How long it may cache names on a case-insensitive file system: the kernel does not know that `README` and `readme`
/// are one.
const NOT_KEPT: Duration = Duration::ZERO;
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const APPEND: i32 = 0o2000;

/// Who gathers small writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cache {
    /// The kernel, in its page cache, until the file is closed or synced, or the memory is needed.
    #[default]
    Writeback,
    /// Nobody: a program's write goes to the file system before it returns.
    Through,
}

impl std::str::FromStr for Cache {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "writeback" => Ok(Self::Writeback),
            "through" => Ok(Self::Through),
            other => Err(format!("cache = {other} cannot work: it is writeback or through")),
        }
    }
}

/// A mounted file system; it is unmounted when this is dropped.
pub struct Mounted {
    session: Option<fuser::BackgroundSession>,
    worker: Arc<Worker>,
    fs: &'static str,
    at: PathBuf,
    /// The device below the mount's folder.
    below: u64,
}

/// Asks the kernel to hand over data it has gathered for open files: an unmount does not wait for it.
fn hand_over(at: &Path, below: u64) {
    let is_there = std::fs::metadata(at).is_ok_and(|folder| folder.dev() != below);
    if let Some(folder) = is_there.then(|| std::fs::File::open(at).ok()).flatten() {
        // Whoever has the file open is told at its close or fsync.
        let _ = rustix::fs::syncfs(folder);
    }
}

impl Mounted {
    /// The file system's name.
    pub fn fs(&self) -> &'static str {
        self.fs
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            hand_over(&self.at, self.below);
            // Data in closed files is stored before the file system ends.
            unmount(session);
        }
        self.worker.stop();
    }
}

/// Mounts the file system on `disk` on the directory `at`: the image's own, or else a FAT volume. `others`: other users
/// may use the directory, too, as far as modes allow it.
///
/// # Errors
/// There is no such file system on the disk, or it is damaged; the operating system refuses.
pub fn mount(at: &Path, disk: Arc<Disk>, others: bool, cache: Cache) -> io::Result<Mounted> {
    let folder = mount_point(at)?;
    if disk.fs().is_none() {
        refuse_other_volumes(&disk)?;
    }
    let block_bytes = crate::Export::preferred_block(&*disk);
    let is_read_only = crate::Export::is_read_only(&*disk);
    let folds_case = !disk.is_bare();
    let fs = disk.fs().unwrap_or_else(|| FsConfig::Fat(fat::Config::default()));
    let name = fs.name();
    let worker = Arc::new(Worker::start(disk, fs, Names::new(folder.uid(), folder.gid()))?);
    let directory = Directory {
        worker: Arc::clone(&worker),
        block_bytes,
        names_kept: if folds_case { NOT_KEPT } else { KEPT },
        gathers: cache == Cache::Writeback,
        listings: Mutex::default(),
    };
    let mut config = fuser::Config::default();
    config.acl = if others { SessionACL::All } else { SessionACL::Owner };
    config.mount_options = vec![
        MountOption::FSName(crate::fuse::SOURCE.into()),
        MountOption::DefaultPermissions,
        MountOption::NoAtime,
        MountOption::NoDev,
        MountOption::NoSuid,
    ];
    config.mount_options.extend(is_read_only.then_some(MountOption::RO));
    let session = fuser::spawn_mount(directory, at, &config).inspect_err(|_| worker.stop())?;
    Ok(Mounted { session: Some(session), worker, fs: name, at: at.to_owned(), below: folder.dev() })
}

/// A file system as the kernel sees it.
struct Directory {
    worker: Arc<Worker>,
    block_bytes: u32,
    /// How long the kernel may keep names.
    names_kept: Duration,
    /// Whether the kernel gathers writes. It then keeps a file's size and time itself and sends both.
    gathers: bool,
    listings: Mutex<Listings>,
}

/// Directories as they were when programs opened them: the places in them stay while files come and go.
#[derive(Default)]
struct Listings {
    last: u64,
    open: BTreeMap<u64, Arc<[Entry]>>,
}

fn time(ns: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(ns)
}

fn kind(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
    }
}

/// A name in our file systems' encoding.
fn text(name: &OsStr) -> Result<String, Errno> {
    name.to_str().map(str::to_owned).ok_or(Errno::EILSEQ)
}

fn maker(request: &Request, mode: u32) -> Maker {
    Maker { mode, owner: request.uid(), group: request.gid() }
}

impl Directory {
    fn ask<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Names, &mut dyn FileSystem) -> Result<R, Errno> + Send + 'static,
    ) -> Result<R, Errno> {
        self.worker.ask(work)
    }

    fn file_attr(&self, status: &Status) -> FileAttr {
        let changed = time(status.attributes.changed_ns);
        FileAttr {
            ino: INodeNo(status.number),
            size: status.bytes,
            blocks: status.bytes.div_ceil(512),
            atime: changed,
            mtime: changed,
            ctime: time(status.status_ns),
            crtime: changed,
            kind: kind(status.kind),
            perm: (status.attributes.mode & 0o7777) as u16,
            nlink: status.links,
            uid: status.attributes.owner,
            gid: status.attributes.group,
            rdev: 0,
            blksize: self.block_bytes,
            flags: 0,
        }
    }

    fn entry(&self, found: Result<Status, Errno>, reply: ReplyEntry) {
        match found {
            Ok(status) => {
                let generation = Generation(status.generation);
                reply.entry_with_ttls(&KEPT, &self.names_kept, &self.file_attr(&status), generation);
            }
            Err(error) => reply.error(error),
        }
    }

    fn attr(&self, found: Result<Status, Errno>, reply: ReplyAttr) {
        match found {
            Ok(status) => reply.attr(&KEPT, &self.file_attr(&status)),
            Err(error) => reply.error(error),
        }
    }

    fn listings(&self) -> MutexGuard<'_, Listings> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn empty(done: Result<(), Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for Directory {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A kernel unable to gather hands over every write at once.
        self.gathers = self.gathers && config.add_capabilities(InitFlags::FUSE_WRITEBACK_CACHE).is_ok();
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = text(name).and_then(|name| {
            self.ask(move |names, fs| {
                let number = names.find(fs, parent.0, &name)?;
                names.status(fs, number)
            })
        });
        self.entry(found, reply);
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.attr(self.ask(move |names, fs| names.status(fs, inode.0)), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        owner: Option<u32>,
        group: Option<u32>,
        bytes: Option<u64>,
        _: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let modified = modified.map(|modified| match modified {
            TimeOrNow::SpecificTime(time) => time,
            TimeOrNow::Now => SystemTime::now(),
        });
        let ns = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        let change = Change { mode, owner, group, bytes, changed_ns: modified.map(ns) };
        let is_time = Change { changed_ns: None, ..change } == Change::default();
        let changed = self.ask(move |names, fs| names.change(fs, inode.0, change));
        let changed = match changed {
            // A gathering kernel also sends the times for a file whose last name it has just removed.
            Err(error) if error == Errno::ESTALE && is_time && self.gathers => Ok(Status::removed(inode.0)),
            changed => changed,
        };
        self.attr(changed, reply);
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        match self.ask(move |names, fs| names.target(fs, inode.0)) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(error),
        }
    }

    /// Regular files alone: flash has no room for devices, sockets and pipes.
    fn mknod(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, _: u32, reply: ReplyEntry) {
        if mode & TYPE != REGULAR {
            return reply.error(Errno::EPERM);
        }
        let maker = maker(request, mode);
        let made = text(name).and_then(|name| {
            self.ask(move |names, fs| {
                let number = names.create(fs, parent.0, &name, maker)?.number;
                names.release(fs, number)?;
                names.status(fs, number)
            })
        });
        self.entry(made, reply);
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        let maker = maker(request, mode);
        let made =
            text(name).and_then(|name| self.ask(move |names, fs| names.make_directory(fs, parent.0, &name, maker)));
        self.entry(made, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(text(name).and_then(|name| self.ask(move |names, fs| names.unlink(fs, parent.0, &name))), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let removed =
            text(name).and_then(|name| self.ask(move |names, fs| names.remove_directory(fs, parent.0, &name)));
        empty(removed, reply);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let maker = maker(request, 0o777);
        let made = text(name).and_then(|name| {
            let target = text(target.as_os_str())?;
            self.ask(move |names, fs| names.make_link(fs, (parent.0, &name), &target, maker))
        });
        self.entry(made, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        to: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !(flags - RenameFlags::RENAME_NOREPLACE).is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let replaces = flags.is_empty();
        let renamed = text(name).and_then(|name| {
            let new_name = text(new_name)?;
            self.ask(move |names, fs| names.rename(fs, (parent.0, &name), (to.0, &new_name), replaces))
        });
        empty(renamed, reply);
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.ask(move |names, fs| names.open(fs, inode.0)) {
            // The kernel's cached contents stay valid: files change through it alone.
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(error),
        }
    }

    fn create(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, _: i32, reply: ReplyCreate) {
        let maker = maker(request, mode);
        match text(name).and_then(|name| self.ask(move |names, fs| names.create(fs, parent.0, &name, maker))) {
            Ok(status) => {
                let generation = Generation(status.generation);
                reply.created(
                    &self.names_kept,
                    &self.file_attr(&status),
                    generation,
                    FileHandle(0),
                    FopenFlags::FOPEN_KEEP_CACHE,
                );
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.ask(move |names, fs| names.read(fs, inode.0, offset, size as usize)) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        written: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // A gathering kernel knows the file's end better than we do.
        let appends = flags.0 & APPEND != 0 && !self.gathers && !written.contains(WriteFlags::FUSE_WRITE_CACHE);
        let at = (!appends).then_some(offset);
        let bytes = data.to_vec();
        match self.ask(move |names, fs| names.write(fs, inode.0, at, &bytes)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // A close makes nothing durable.
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        empty(self.ask(move |names, fs| names.release(fs, inode.0)), reply);
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, data: bool, reply: ReplyEmpty) {
        let synced = self.ask(move |names, fs| names.sync(fs, inode.0, data));
        empty(synced.and_then(|()| self.worker.keep()), reply);
    }

    fn fsyncdir(&self, request: &Request, inode: INodeNo, handle: FileHandle, data: bool, reply: ReplyEmpty) {
        self.fsync(request, inode, handle, data, reply);
    }

    fn opendir(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.ask(move |names, fs| names.list(fs, inode.0)) {
            Ok(entries) => {
                let mut listings = self.listings();
                listings.last += 1;
                let last = listings.last;
                listings.open.insert(last, entries.into());
                reply.opened(FileHandle(last), FopenFlags::empty());
            }
            Err(error) => reply.error(error),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let Some(entries) = self.listings().open.get(&handle.0).cloned() else { return reply.error(Errno::EBADF) };
        for (next, entry) in (1..).zip(entries.iter()).skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
            let name = OsStr::from_bytes(entry.name.as_bytes());
            if reply.add(INodeNo(entry.number), next, kind(entry.kind), name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.listings().open.remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let found = self.ask(|names, fs| {
            let space = fs.space().map_err(|_| Errno::EIO)?;
            Ok((space, names.longest()))
        });
        match found {
            Ok((space, longest)) => {
                let bytes = u64::from(self.block_bytes);
                let (all, free) = (space.total_bytes / bytes, space.free_bytes / bytes);
                reply.statfs(all, free, free, 0, 0, self.block_bytes, longest as u32, self.block_bytes);
            }
            Err(error) => reply.error(error),
        }
    }
}

const _: () = assert!(ROOT == 1, "the kernel's number of the root directory");

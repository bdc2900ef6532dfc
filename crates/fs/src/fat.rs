//! FAT: the file system of memory cards, with tables of 12, 16 or 32 bits.
//!
//! ## Idea
//! The library `fatfs` implements the format; this file adapts it to [`FileSystem`] on any device.
//! The library writes a few bytes at a time, so a sector cache below it decides when to write to
//! the device: `write_through`. Every request carries its origin: boot sector, FAT, root directory,
//! another directory, or file data.
//!
//! ## Write path
//! A write that needs clusters takes the next free one after the last allocated cluster,
//! cyclically. This is the library's rule: a freed cluster is reused only after the search has come
//! round. After each mount, FAT12 and FAT16 start at the first cluster, FAT32 at the cluster
//! recorded on the volume. Each new cluster changes two FAT entries, and the same entries in the
//! copies. A file's directory entry, with its size, is written when the file is closed or synced.
//! Every name takes a long entry in addition to its short one, even if the short one would suffice.
//!
//! With `write_through = "sector"` two windows are open: the metadata sector being changed (a FAT
//! sector with its copies) and a run of adjacent file data sectors. Each window is written when the
//! library moves to another place, and at the end of each operation. Adjacent sectors written
//! together form one request, and so does clearing a new cluster of a directory. The first change
//! after a mount sets the in-use mark in the boot sector; the unmount clears it.
//!
//! ## Recovery
//! None: FAT has no journal. After a sync everything is on the device. A later cut may leave lost
//! clusters, or a directory entry and a chain that disagree. If the device keeps write order,
//! everything stays readable and fsck repairs the rest. If it does not, run fsck before mounting,
//! because the library trusts the volume's contents.
//!
//! ## Invariants
//! The FAT copies are equal after every operation. The free cluster count kept here matches the
//! FAT.
//!
//! ## Differences
//! This file fills gaps in the library:
//! * `..` is set in a moved directory, and in a directory below the FAT32 root directory.
//! * `.` and `..` get no long entries.
//! * New clusters of the FAT32 root directory are cleared.
//! * An operation without enough room is refused before anything is written.
//! * An open file is not removed.
//!
//! Time stamps do not come from a clock: each change is two seconds after the previous one, so a
//! directory entry changes as on a device in use.
//!
//! Names are as in the Linux kernel's `vfat`. A name finds the file that has it as its long or its short name, in
//! any case. Dots at the end are dropped. A name has at most 255 bytes; it has no control character and none
//! of `" * / : < > ? \ |`, and does not end with a space. A short name is the name itself if that has
//! the form 8.3, otherwise it ends with `~` and a number that no other short name in the directory has.
//! So a new file `LONGFI~1.TXT` gets that short name if it is free; if it is the short name of
//! `long file name.txt`, the name means that file. Stricter than the kernel: DEL and characters above
//! U+FFFF are refused, which the library cannot store. Upper case is that of Unicode: `ß` is `SS`.
//!
//! ## References
//! Microsoft, "FAT: General Overview of On-Disk Format", version 1.03, 2000. The two windows are
//! those of ChaN's FatFs in its usual configuration.

mod cache;
mod config;
mod directory;
mod format;
mod io;
mod layout;
mod shape;
mod spelling;
mod stamps;

pub use config::{Config, FatType, TimeStamps, WriteThrough};
pub use shape::Shape;

use crate::{FileSystem, FsError, Handle, Kind, Space, Stat};
use cache::Cache;
use fatfs::FsOptions;
use io::Io;
use layout::Layout;
use nandlab_block::{BlockDevice, Error, RamUse};
use stamps::STAMPS;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

impl Config {
    /// Mounts the volume on `device`, runs `work` on it, and unmounts it.
    ///
    /// After a device failure the volume is left as it is; `work` has seen the failure.
    ///
    /// # Errors
    /// [`FsError::Damaged`] if there is no volume, and device errors.
    pub fn mounted<R>(
        &self,
        device: &mut dyn BlockDevice,
        work: impl FnOnce(&mut Fat<'_, '_>) -> R,
    ) -> Result<R, FsError> {
        // What is generic is small: the rest is compiled once.
        let (mut work, mut out) = (Some(work), None);
        self.while_mounted(device, &mut |fat| out = work.take().map(|work| work(fat)))?;
        Ok(out.expect("work is done once"))
    }

    fn while_mounted(
        &self,
        device: &mut dyn BlockDevice,
        work: &mut dyn FnMut(&mut Fat<'_, '_>),
    ) -> Result<(), FsError> {
        let start = self.start(device.sectors())?;
        let mut cache = Cache::new(device, start, self.write_through, self.cache_bytes.0, self.trim);
        let layout = cache.find_layout()?.map_err(FsError::Damaged)?;
        let cache = Rc::new(RefCell::new(cache));
        let volume = fatfs::FileSystem::new(Io(cache.clone()), FsOptions::new().time_provider(&STAMPS))
            .map_err(|error| failure(&cache, &error))?;
        let mut fat = Fat {
            volume: &volume,
            cache: cache.clone(),
            layout,
            open: BTreeMap::new(),
            handles: BTreeMap::new(),
            next_handle: 0,
            changes: 0,
            counts: self.time_stamps == TimeStamps::Counted,
        };
        work(&mut fat);
        if cache.borrow().failure().is_some() {
            return Ok(());
        }
        fat.sync_all()?;
        drop(fat);
        volume.unmount().map_err(|error| failure(&cache, &error))?;
        cache.borrow_mut().flush()?;
        Ok(())
    }
}

/// The device's error if it failed, otherwise a damaged volume.
fn failure(cache: &RefCell<Cache<'_>>, error: &std::io::Error) -> FsError {
    match cache.borrow().failure() {
        Some(failure) => FsError::Device(failure.clone()),
        None => FsError::Damaged(error.to_string()),
    }
}

/// A mounted FAT volume.
pub struct Fat<'v, 'd> {
    volume: &'v fatfs::FileSystem<Io<'d>>,
    cache: Rc<RefCell<Cache<'d>>>,
    layout: Layout,
    /// Open files by path, in lower case.
    open: BTreeMap<Rc<str>, Open<'v, 'd>>,
    handles: BTreeMap<u32, Rc<str>>,
    next_handle: u32,
    changes: u64,
    counts: bool,
}

type Dir<'v, 'd> = fatfs::Dir<'v, Io<'d>>;
type File<'v, 'd> = fatfs::File<'v, Io<'d>>;

/// An open file, shared by all its handles.
struct Open<'v, 'd> {
    file: File<'v, 'd>,
    bytes: u64,
    handles: u32,
}

/// Maximum file size.
const MOST_FILE_BYTES: u64 = u32::MAX as u64;

impl std::fmt::Debug for Fat<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fat({:?}, {} open files)", self.layout, self.open.len())
    }
}

impl<'v, 'd> Fat<'v, 'd> {
    /// Shape of the volume.
    pub fn shape(&self) -> Shape {
        self.layout.into()
    }

    /// Begins a changing operation.
    fn change(&mut self) {
        self.changes += 1;
        stamps::set(if self.counts { self.changes } else { 0 });
        self.cache.borrow_mut().touches_file = false;
    }

    /// Begins a read-only operation.
    fn look(&self) {
        self.cache.borrow_mut().touches_file = false;
    }

    /// Ends an operation and writes its changes to the device.
    fn end(&self) -> Result<(), FsError> {
        Ok(self.cache.borrow_mut().end_operation()?)
    }

    fn failure(&self, error: &std::io::Error) -> FsError {
        failure(&self.cache, error)
    }

    fn opened(&mut self, file: Handle) -> Result<&mut Open<'v, 'd>, FsError> {
        let path = self.handles.get(&file.0).ok_or(FsError::Closed)?;
        Ok(self.open.get_mut(path).expect("a handle names an open file"))
    }

    fn hand_out(&mut self, key: Rc<str>) -> Handle {
        let handle = self.next_handle;
        self.next_handle += 1;
        self.open.get_mut(&key).expect("it was opened before").handles += 1;
        self.handles.insert(handle, key);
        Handle(handle)
    }

    /// Refuses a change to an open file or to a directory above it.
    fn refuse_open(&self, path: &str) -> Result<(), FsError> {
        let key = spelling::key(path);
        let below = format!("{key}/");
        let is_open = self.open.keys().any(|open| **open == *key || open.starts_with(&below));
        if is_open {
            Err(FsError::Busy { path: path.to_owned() })
        } else {
            Ok(())
        }
    }

    /// Refuses growth from `now` to `then` bytes if the file would be too long or clusters are
    /// missing.
    fn refuse_too_long(&self, now: u64, then: u64) -> Result<(), FsError> {
        if then > MOST_FILE_BYTES {
            return Err(FsError::TooLong { most: MOST_FILE_BYTES });
        }
        let cluster = self.layout.cluster_bytes();
        let lacking = then.div_ceil(cluster).saturating_sub(now.div_ceil(cluster));
        let free = u64::from(self.cache.borrow().free_clusters());
        if lacking <= free {
            return Ok(());
        }
        let what = format!("{lacking} clusters of {cluster} bytes are needed, and {free} are free");
        Err(FsError::Full { what })
    }

    /// Writes inside the file or directly at its end.
    fn put(&mut self, file: Handle, at: u64, bytes: &[u8]) -> Result<(), FsError> {
        let end = self.opened(file)?.bytes;
        self.cache.borrow_mut().enter_file(at, end);
        let open = self.opened(file)?;
        let put = open.file.seek(SeekFrom::Start(at)).and_then(|_| open.file.write_all(bytes));
        open.bytes = open.bytes.max(at + bytes.len() as u64);
        self.cache.borrow_mut().touches_file = false;
        put.map_err(|error| self.failure(&error))
    }

    /// Fills a file with zeros up to a position.
    fn extend(&mut self, file: Handle, end: u64) -> Result<(), FsError> {
        let zeros = [0; 4096];
        loop {
            let at = self.opened(file)?.bytes;
            if at >= end {
                return Ok(());
            }
            self.put(file, at, &zeros[..(end - at).min(4096) as usize])?;
        }
    }

    fn cut(&mut self, file: Handle, bytes: u64) -> Result<(), FsError> {
        let open = self.opened(file)?;
        let cut = open.file.seek(SeekFrom::Start(bytes)).and_then(|_| open.file.truncate());
        open.bytes = bytes;
        cut.map_err(|error| self.failure(&error))
    }

    fn flush_entry(&mut self, file: Handle) -> Result<(), FsError> {
        let flushed = self.opened(file)?.file.flush();
        flushed.map_err(|error| self.failure(&error))
    }

    fn open_at(&mut self, path: &str, mut file: File<'v, 'd>) -> Result<Handle, FsError> {
        let key: Rc<str> = spelling::key(path).into();
        if !self.open.contains_key(&key) {
            let bytes = file.seek(SeekFrom::End(0)).map_err(|error| self.failure(&error))?;
            self.open.insert(key.clone(), Open { file, bytes, handles: 0 });
        }
        Ok(self.hand_out(key))
    }
}

impl FileSystem for Fat<'_, '_> {
    fn create(&mut self, path: &str) -> Result<Handle, FsError> {
        self.change();
        let path = &*self.spelled(path)?;
        if self.open.contains_key(&*spelling::key(path)) {
            let handle = self.hand_out(spelling::key(path).into());
            self.cut(handle, 0)?;
            self.end()?;
            return Ok(handle);
        }
        let (parent, name) = self.parent(path)?;
        let handle = match parent.open_file(name) {
            Ok(file) => {
                let handle = self.open_at(path, file)?;
                self.cut(handle, 0)?;
                handle
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.refuse_no_room(&parent, path, name, 0)?;
                let file = parent.create_file(name).map_err(|error| self.failure(&error))?;
                self.open_at(path, file)?
            }
            Err(error) => return Err(self.not_a_file(path, &error)),
        };
        self.end()?;
        Ok(handle)
    }

    fn open(&mut self, path: &str) -> Result<Handle, FsError> {
        self.look();
        let path = &*self.spelled(path)?;
        let key = spelling::key(path);
        if self.open.contains_key(&*key) {
            return Ok(self.hand_out(key.into()));
        }
        let (parent, name) = self.parent(path)?;
        let file = parent.open_file(name).map_err(|error| self.not_a_file(path, &error))?;
        self.open_at(path, file)
    }

    fn close(&mut self, file: Handle) -> Result<(), FsError> {
        self.look();
        let open = self.opened(file)?;
        open.handles -= 1;
        let is_last = open.handles == 0;
        let flushed = if is_last { self.flush_entry(file) } else { Ok(()) };
        let key = self.handles.remove(&file.0).expect("it was found above");
        if is_last {
            self.open.remove(&key);
        }
        flushed?;
        self.end()
    }

    fn read(&mut self, file: Handle, at: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        let open = self.opened(file)?;
        let wanted = open.bytes.saturating_sub(at).min(bytes.len() as u64) as usize;
        if wanted == 0 {
            return Ok(0);
        }
        self.cache.borrow_mut().touches_file = true;
        let open = self.opened(file)?;
        let sought = open.file.seek(SeekFrom::Start(at));
        let read = sought.and_then(|_| open.file.read_exact(&mut bytes[..wanted]));
        self.cache.borrow_mut().touches_file = false;
        let read = read.map(|()| wanted).map_err(|error| self.failure(&error));
        if matches!(read, Err(FsError::Device(Error::Unreadable { .. }))) {
            self.cache.borrow_mut().go_on();
        }
        read
    }

    fn write(&mut self, file: Handle, at: u64, bytes: &[u8]) -> Result<(), FsError> {
        let now = self.opened(file)?.bytes;
        if bytes.is_empty() {
            return Ok(());
        }
        self.refuse_too_long(now, at.saturating_add(bytes.len() as u64).max(now))?;
        self.change();
        self.extend(file, at)?;
        self.put(file, at, bytes)?;
        self.end()
    }

    fn truncate(&mut self, file: Handle, bytes: u64) -> Result<(), FsError> {
        let now = self.opened(file)?.bytes;
        self.refuse_too_long(now, bytes)?;
        self.change();
        if bytes < now {
            self.cut(file, bytes)?;
        } else {
            self.extend(file, bytes)?;
        }
        self.end()
    }

    fn sync(&mut self, file: Handle) -> Result<(), FsError> {
        self.look();
        self.flush_entry(file)?;
        self.end()?;
        Ok(self.cache.borrow_mut().flush()?)
    }

    fn sync_all(&mut self) -> Result<(), FsError> {
        self.look();
        for open in self.open.values_mut() {
            open.file.flush().map_err(|error| failure(&self.cache, &error))?;
        }
        self.end()?;
        Ok(self.cache.borrow_mut().flush()?)
    }

    fn len(&mut self, file: Handle) -> Result<u64, FsError> {
        Ok(self.opened(file)?.bytes)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), FsError> {
        self.change();
        self.move_entry(&self.spelled(from)?, &self.spelled(to)?)?;
        self.end()
    }

    fn unlink(&mut self, path: &str) -> Result<(), FsError> {
        self.change();
        let path = &*self.spelled(path)?;
        let (parent, name) = self.parent(path)?;
        parent.open_file(name).map_err(|error| self.not_a_file(path, &error))?;
        self.refuse_open(path)?;
        parent.remove(name).map_err(|error| self.failure(&error))?;
        self.end()
    }

    fn mkdir(&mut self, path: &str) -> Result<(), FsError> {
        self.change();
        self.make_directory(&self.spelled(path)?)?;
        self.end()
    }

    fn rmdir(&mut self, path: &str) -> Result<(), FsError> {
        self.change();
        self.remove_directory(&self.spelled(path)?)?;
        self.end()
    }

    fn stat(&mut self, path: &str) -> Result<Stat, FsError> {
        self.look();
        let path = &*self.spelled(path)?;
        if spelling::names(path)?.is_empty() {
            return Ok(Stat { kind: Kind::Directory, bytes: 0 });
        }
        if let Some(open) = self.open.get(&*spelling::key(path)) {
            return Ok(Stat { kind: Kind::File, bytes: open.bytes });
        }
        let (parent, name) = self.parent(path)?;
        match parent.open_file(name) {
            Ok(mut file) => {
                let bytes = file.seek(SeekFrom::End(0)).map_err(|error| self.failure(&error))?;
                Ok(Stat { kind: Kind::File, bytes })
            }
            Err(error) => match self.not_a_file(path, &error) {
                FsError::WrongKind { .. } => Ok(Stat { kind: Kind::Directory, bytes: 0 }),
                other => Err(other),
            },
        }
    }

    fn list(&mut self, path: &str) -> Result<Vec<String>, FsError> {
        self.look();
        self.names_in(&self.directory(path)?)
    }

    fn spelling(&mut self, path: &str) -> Result<String, FsError> {
        self.look();
        self.stored_name(path)
    }

    fn space(&mut self) -> Result<Space, FsError> {
        let cluster = self.layout.cluster_bytes();
        let free = u64::from(self.cache.borrow().free_clusters());
        Ok(Space { total_bytes: u64::from(self.layout.clusters) * cluster, free_bytes: free * cluster })
    }

    fn ram(&self) -> RamUse {
        let (sectors, directory) = self.cache.borrow().ram();
        // State firmware keeps for a volume and for an open file, in words: location and read
        // position.
        let (volume, files) = (64, self.open.len() as u64 * 48);
        RamUse {
            sram: [
                ("fat_sectors", sectors),
                ("fat_sector_table", directory),
                ("fat_volume", volume),
                ("open_files", files),
            ]
            .into(),
            ..RamUse::default()
        }
    }
}

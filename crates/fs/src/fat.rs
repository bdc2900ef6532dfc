//! FAT: the file system of memory cards, with tables of 12, 16 or 32 bits.
//!
//! ## Idea
//! The library `fatfs` knows the format; this file makes it a [`FileSystem`] over any device. The library writes a few
//! bytes at a time, so below it lies a cache of sectors that decides when the device is written: `write_through`. Every
//! request says what it is for: boot sector, FAT, root directory, another directory, or file data.
//!
//! ## Write path
//! A write that needs clusters takes the next free one after the one taken last, round the volume (the library's rule:
//! what was freed is not taken again before the search comes round; FAT12 and FAT16 start at the first cluster after each
//! mount, FAT32 where the volume says). Each cluster changes two entries of the FAT, and those of its copies. The directory
//! entry of a file, with its size, is written when the file is closed or synced. Every name takes a long entry beside its
//! short one, also where the short one would do.
//! With `write_through = "sector"` two windows are open: the sector of metadata that is being changed (a FAT sector
//! with its copies) and a run of neighbouring sectors of file data; each is written when the library moves on to
//! another place, and at the end of each operation. Neighbouring sectors that are written together are one request; a
//! cluster that a directory gets is cleared in one. The first change after a mount marks the volume as in use in its
//! boot sector, the unmount takes the mark off.
//!
//! ## Recovery
//! None: FAT has no journal. After a sync everything is on the device; a cut later may leave lost clusters, or an entry
//! and a chain that do not agree. On a device that keeps the order of its writes everything can be read all the same, and
//! fsck mends the rest; on another one fsck comes first, since the library trusts what it reads.
//!
//! ## Invariants
//! The copies of the FAT are equal after every operation, and the free clusters counted here are those of the FAT.
//!
//! ## Differences
//! The library leaves some things undone that are done here: `..` of a directory that moves, and of one in the root
//! directory of FAT32, is set; `.` and `..` get no long entries; what the root directory of FAT32 grows by is cleared; what
//! does not fit is refused before anything is written;
//! an open file is not removed. Names differ by more than their case, and have no `~`, which short names have. Time
//! stamps do not come from a clock: each change is two seconds after the one before, so that a directory entry changes
//! as on a device in use.
//!
//! ## References
//! Microsoft, "FAT: General Overview of On-Disk Format", version 1.03, 2000. The two windows are those of ChaN's FatFs
//! in its usual configuration.

mod cache;
mod config;
mod directory;
mod format;
mod io;
mod layout;
mod stamps;

pub use config::{Config, FatType, TimeStamps, WriteThrough};

use crate::{FileSystem, FsError, Handle, Kind, Space, Stat, Volume};
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

/// What a volume turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits of a FAT entry.
    pub fat_bits: u32,
    /// Sectors of one copy of the FAT.
    pub fat_sectors: u32,
    /// Sectors of the root directory; 0 where it grows.
    pub root_sectors: u32,
    /// Bytes of a cluster.
    pub cluster_bytes: u32,
    /// Clusters.
    pub clusters: u32,
}

impl From<Layout> for Shape {
    fn from(layout: Layout) -> Self {
        Self {
            fat_bits: layout.width.bits(),
            fat_sectors: layout.fat_sectors,
            root_sectors: layout.root_sectors,
            cluster_bytes: layout.cluster_bytes() as u32,
            clusters: layout.clusters,
        }
    }
}

impl From<Shape> for Volume {
    fn from(shape: Shape) -> Self {
        Self { unit_bytes: shape.cluster_bytes.into(), units: shape.clusters.into() }
    }
}

impl Config {
    /// Mounts the volume on `device`, lets `work` use it, and unmounts it.
    ///
    /// A device that failed meanwhile is left as it is: `work` knows.
    ///
    /// # Errors
    /// [`FsError::Damaged`] where there is no volume, and what the device failed with.
    pub fn mounted<R>(
        &self,
        device: &mut dyn BlockDevice,
        work: impl FnOnce(&mut Fat<'_, '_>) -> R,
    ) -> Result<R, FsError> {
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
        let out = work(&mut fat);
        if cache.borrow().failure().is_some() {
            return Ok(out);
        }
        fat.sync_all()?;
        drop(fat);
        volume.unmount().map_err(|error| failure(&cache, &error))?;
        cache.borrow_mut().flush()?;
        Ok(out)
    }
}

/// What is wrong: the device's reason where there is one.
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
    /// By path, in lower case.
    open: BTreeMap<Rc<str>, Open<'v, 'd>>,
    handles: BTreeMap<u32, Rc<str>>,
    next_handle: u32,
    changes: u64,
    counts: bool,
}

type Dir<'v, 'd> = fatfs::Dir<'v, Io<'d>>;
type File<'v, 'd> = fatfs::File<'v, Io<'d>>;

/// An open file, which all its handles share.
struct Open<'v, 'd> {
    file: File<'v, 'd>,
    bytes: u64,
    handles: u32,
}

/// The longest file.
const MOST_FILE_BYTES: u64 = u32::MAX as u64;

impl std::fmt::Debug for Fat<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fat({:?}, {} open files)", self.layout, self.open.len())
    }
}

impl<'v, 'd> Fat<'v, 'd> {
    /// What the volume is.
    pub fn shape(&self) -> Shape {
        self.layout.into()
    }

    /// Begins an operation that changes something.
    fn change(&mut self) {
        self.changes += 1;
        stamps::set(if self.counts { self.changes } else { 0 });
        self.cache.borrow_mut().touches_file = false;
    }

    /// Begins an operation that only looks.
    fn look(&self) {
        self.cache.borrow_mut().touches_file = false;
    }

    /// Ends an operation: what it changed goes to the device.
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

    /// Refuses what may not happen to open files.
    fn refuse_open(&self, path: &str) -> Result<(), FsError> {
        let key = directory::key(path);
        let below = format!("{key}/");
        let is_open = self.open.keys().any(|open| **open == *key || open.starts_with(&below));
        if is_open {
            Err(FsError::Busy { path: path.to_owned() })
        } else {
            Ok(())
        }
    }

    /// Whether the clusters that a file lacks for so many bytes are there.
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

    /// Writes at the end of what is there, or over it.
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
        let key: Rc<str> = directory::key(path).into();
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
        if self.open.contains_key(&*directory::key(path)) {
            let handle = self.hand_out(directory::key(path).into());
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
        let key = directory::key(path);
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
        self.move_entry(from, to)?;
        self.end()
    }

    fn unlink(&mut self, path: &str) -> Result<(), FsError> {
        self.change();
        let (parent, name) = self.parent(path)?;
        parent.open_file(name).map_err(|error| self.not_a_file(path, &error))?;
        self.refuse_open(path)?;
        parent.remove(name).map_err(|error| self.failure(&error))?;
        self.end()
    }

    fn mkdir(&mut self, path: &str) -> Result<(), FsError> {
        self.change();
        self.make_directory(path)?;
        self.end()
    }

    fn rmdir(&mut self, path: &str) -> Result<(), FsError> {
        self.change();
        self.remove_directory(path)?;
        self.end()
    }

    fn stat(&mut self, path: &str) -> Result<Stat, FsError> {
        self.look();
        if directory::names(path)?.is_empty() {
            return Ok(Stat { kind: Kind::Directory, bytes: 0 });
        }
        if let Some(open) = self.open.get(&*directory::key(path)) {
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

    fn space(&mut self) -> Result<Space, FsError> {
        let cluster = self.layout.cluster_bytes();
        let free = u64::from(self.cache.borrow().free_clusters());
        Ok(Space { total_bytes: u64::from(self.layout.clusters) * cluster, free_bytes: free * cluster })
    }

    fn ram(&self) -> RamUse {
        let (sectors, directory) = self.cache.borrow().ram();
        // What firmware keeps of a volume and of an open file, in words: where it lies, and where it is read.
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

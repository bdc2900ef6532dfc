//! The tree: records go to the log and the memtable; a full memtable becomes a table; tables are merged.

use super::beside::Beside;
use super::bloom;
use super::extents::{Extents, Room};
use super::manifest::Manifest;
use super::memtable::{record_bytes, Memtable};
use super::options::{Config, Placement};
use super::stats::Stats;
use super::storage::{FileId, Lifetime, Storage};
use super::table::{Io, Lookup};
use super::version::{Edit, FileMeta, LogMeta, Version, LEVELS};
use super::wal::{self, Wal};
use super::zones::ZoneFiles;
use crate::IndexError;
use nandlab_block::BlockDevice;
use nandlab_nand::Time;

/// Logs that a memtable may have before it becomes a table early: padding fills logs faster than memtables.
const MOST_LOGS: usize = 4;

/// An LSM tree.
pub struct Tree<'d> {
    pub(super) config: Config,
    pub(super) io: Io<'d>,
    pub(super) memtable: Memtable,
    pub(super) wal: Option<Wal>,
    pub(super) manifest: Manifest,
    pub(super) version: Version,
    pub(super) stats: Stats,
    pub(super) beside: Beside,
    broken: bool,
}

impl std::fmt::Debug for Tree<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("version", &self.version).field("stats", &self.stats).finish_non_exhaustive()
    }
}

impl<'d> Tree<'d> {
    /// An empty tree on a device whose contents are given up; it is there once this returns.
    ///
    /// # Errors
    /// [`IndexError::Option`], [`IndexError::NoSpace`], [`IndexError::Device`].
    pub fn create(device: &'d mut dyn BlockDevice, config: &Config) -> Result<Self, IndexError> {
        Self::create_on(over(device, config)?, config)
    }

    /// An empty tree on a storage whose contents are given up.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_on(mut store: Box<dyn Storage + 'd>, config: &Config) -> Result<Self, IndexError> {
        let mut version =
            Version { key_bytes: config.key_bytes as u16, next_file: 1, next_age: 1, ..Version::default() };
        turn_on_jobs(&mut *store, config);
        // A former tree is given up first: its log must not be taken for the new one.
        let manifest = Manifest::clear(&mut *store)?;
        let wal = begin_log(&mut *store, config, &mut version)?;
        let manifest = manifest.create(&mut *store, &version)?;
        Ok(Self::over(store, config, wal, manifest, version))
    }

    /// The tree on the device: everything of the last acknowledged flush is in it.
    ///
    /// # Errors
    /// [`IndexError::NoIndex`], [`IndexError::Mismatch`], [`IndexError::DamagedFile`], and as [`Self::create`].
    pub fn open(device: &'d mut dyn BlockDevice, config: &Config) -> Result<Self, IndexError> {
        Self::open_on(over(device, config)?, config)
    }

    /// The tree on a storage.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_on(mut store: Box<dyn Storage + 'd>, config: &Config) -> Result<Self, IndexError> {
        turn_on_jobs(&mut *store, config);
        let (mut manifest, mut version) = Manifest::open(&mut *store)?;
        let stored = usize::from(version.key_bytes);
        if stored != config.key_bytes {
            let (stored, given) = (stored.to_string(), config.key_bytes.to_string());
            return Err(IndexError::Mismatch { key: "key_bytes", stored, given });
        }
        for (level, file) in version.files() {
            store.adopt(file.id, &file.place, Lifetime::Level(level as u8))?;
        }
        for log in &version.logs {
            store.adopt(log.id, &log.place, Lifetime::Log)?;
        }
        store.give_up_rest(false)?;
        let mut memtable = Memtable::default();
        let mut empty = Vec::new();
        for log in &mut version.logs {
            let frames = wal::recover(&mut *store, log.id, log.sealed, config.key_bytes, &mut memtable)?;
            log.sealed = Some(frames);
            empty.extend((frames == 0).then_some(log.id));
        }
        version.logs.retain(|log| !empty.contains(&log.id));
        make_room_for_log(&mut *store, config, &mut manifest, &mut version)?;
        let wal = begin_log(&mut *store, config, &mut version)?;
        manifest.checkpoint(&mut *store, &version)?;
        for file in empty {
            store.delete(file)?;
        }
        Ok(Self { memtable, ..Self::over(store, config, wal, manifest, version) })
    }

    fn over(
        store: Box<dyn Storage + 'd>,
        config: &Config,
        wal: Option<Wal>,
        manifest: Manifest,
        version: Version,
    ) -> Self {
        let io = Io::new(store, config.cache_bytes, config.key_bytes);
        let (memtable, stats) = (Memtable::default(), Stats::default());
        let beside = Beside::default();
        Self { config: config.clone(), io, memtable, wal, manifest, version, stats, beside, broken: false }
    }

    /// Sets a key's value, whether it existed or not.
    ///
    /// # Errors
    /// [`IndexError::Length`], [`IndexError::NoSpace`], [`IndexError::Device`], [`IndexError::DamagedFile`],
    /// [`IndexError::Broken`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), IndexError> {
        if value.len() > self.config.value_bytes {
            let allowed = format!("this index takes up to {}", self.config.value_bytes);
            return Err(IndexError::Length { what: "value", bytes: value.len(), allowed });
        }
        self.set(key, Some(value))
    }

    /// Deletes a key, whether it existed or not.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete(&mut self, key: &[u8]) -> Result<(), IndexError> {
        self.set(key, None)
    }

    fn set(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), IndexError> {
        self.check_key(key)?;
        self.guarded(|tree| {
            let record = record_bytes(key, value);
            let beside = tree.beside();
            if let Some(options) = &beside {
                tree.make_way(options, record)?;
            }
            let memory = Memtable::memory_bytes(key, value);
            if !tree.memtable.is_empty() && tree.memtable.bytes() + memory > tree.config.write_buffer_bytes {
                match beside {
                    Some(_) => tree.freeze()?,
                    None => tree.write_memtable()?,
                }
            }
            if tree.wal.as_ref().is_some_and(|wal| !wal.has_room(record)) {
                tree.next_log()?;
            }
            if let Some(wal) = &mut tree.wal {
                tree.stats.wal_bytes += wal.add(&mut *tree.io.store, key, value)?;
            }
            tree.memtable.set(key, value);
            tree.stats.user_bytes += (key.len() + value.map_or(0, <[u8]>::len)) as u64;
            Ok(())
        })
    }

    /// Begins another log, or makes the memtable a table if it has too many.
    fn next_log(&mut self) -> Result<(), IndexError> {
        match self.beside() {
            Some(_) if self.own_logs() >= MOST_LOGS => self.freeze(),
            None if self.version.logs.len() >= MOST_LOGS => self.write_memtable(),
            _ => self.begin_log(),
        }
    }

    /// Begins another log, if there are any.
    pub(super) fn begin_log(&mut self) -> Result<(), IndexError> {
        let Some(wal) = &mut self.wal else { return Ok(()) };
        self.stats.wal_bytes += wal.sync(&mut *self.io.store)?;
        let sealed = Some((wal.file(), wal.frames()));
        let (bytes, file) = (self.config.write_buffer_bytes, self.new_file());
        let wal = match self.beside() {
            Some(options) => self.create_log(&options, file)?,
            None => {
                self.make_room(bytes, Lifetime::Log)?;
                Wal::create(&mut *self.io.store, file, bytes)?
            }
        };
        let log = Some(LogMeta { id: file, sealed: None, place: self.io.store.place(file) });
        self.commit(Edit { sealed, log, ..Edit::default() })?;
        self.wal = Some(wal);
        Ok(())
    }

    /// Moves tables until a new file finds room, or until moves no longer help.
    pub(super) fn make_room(&mut self, bytes: u64, lifetime: Lifetime) -> Result<(), IndexError> {
        let unit_bytes = self.io.store.unit_bytes();
        let bytes = if lifetime == Lifetime::Log { Wal::bytes(bytes, unit_bytes) } else { bytes };
        loop {
            let movable: Vec<FileId> = self.version.files().map(|(_, file)| file.id).collect();
            let moved = self.io.store.make_room(bytes, lifetime, &movable)?;
            if moved.is_empty() {
                return Ok(());
            }
            let of_moved = self.version.files().filter(|(_, file)| moved.contains(&file.id));
            let mut added: Vec<(usize, FileMeta)> = of_moved.map(|(level, file)| (level, file.clone())).collect();
            added.iter_mut().for_each(|(_, file)| file.place = self.io.store.place(file.id));
            let committed = self.commit(Edit { removed: moved, added, ..Edit::default() });
            self.io.store.end_moves(committed.is_ok())?;
            committed?;
        }
    }

    /// A new file's number.
    pub(super) fn new_file(&mut self) -> FileId {
        self.version.next_file += 1;
        FileId(self.version.next_file - 1)
    }

    /// Makes `edit` true on the device and here; what is no longer in the tree is deleted.
    pub(super) fn commit(&mut self, mut edit: Edit) -> Result<(), IndexError> {
        self.wait_for_commit()?;
        (edit.next_file, edit.next_age) = (self.version.next_file, self.version.next_age);
        let mut next = self.version.clone();
        next.apply(&edit);
        let committed = self.manifest.commit(&mut *self.io.store, &edit, &next);
        if let Err(IndexError::NoSpace { .. }) = committed {
            for file in edit.made() {
                self.io.delete(file)?;
            }
        }
        committed?;
        self.switch_to(next, &edit)
    }

    /// `next`, the version after `edit`, is on the device.
    pub(super) fn switch_to(&mut self, next: Version, edit: &Edit) -> Result<(), IndexError> {
        self.version = next;
        self.beside.is_due = true;
        if self.config.jobs.is_some() {
            self.beside.pending_bytes = self.config.compaction.pending_bytes(&self.version);
        }
        for &file in &edit.removed {
            if !edit.added.iter().any(|(_, added)| added.id == file) {
                self.io.delete(file)?;
            }
        }
        Ok(())
    }

    /// The value for `key`.
    ///
    /// # Errors
    /// [`IndexError::Length`], [`IndexError::Device`], [`IndexError::DamagedFile`], [`IndexError::Broken`].
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, IndexError> {
        self.check_key(key)?;
        self.guarded(Self::settle)?;
        let frozen = self.beside.frozen.as_ref().map(|frozen| &frozen.memtable);
        if let Some(entry) = self.memtable.get(key).or_else(|| frozen?.get(key)) {
            return Ok(entry.clone());
        }
        let hash = bloom::hash(key);
        for level in 0..LEVELS {
            let files = &self.version.levels[level];
            let candidates: Vec<(FileId, u64)> = if level == 0 {
                files.iter().filter(|file| file.overlaps(key, key)).map(|file| (file.id, file.bytes)).collect()
            } else {
                let at = files.partition_point(|file| file.largest[..] < *key);
                files
                    .get(at)
                    .filter(|file| file.overlaps(key, key))
                    .map(|file| (file.id, file.bytes))
                    .into_iter()
                    .collect()
            };
            for (file, bytes) in candidates {
                if let Some(entry) = self.look_up(file, bytes, key, hash)? {
                    return Ok(entry);
                }
            }
        }
        Ok(None)
    }

    fn look_up(
        &mut self,
        file: FileId,
        bytes: u64,
        key: &[u8],
        hash: u64,
    ) -> Result<Option<Option<Vec<u8>>>, IndexError> {
        let table = self.io.table(file, bytes)?;
        let found = table.get(&mut self.io, key, hash)?;
        let bloom = &mut self.stats.bloom;
        if table.has_filter() {
            bloom.asked += 1;
            bloom.negative += u64::from(found == Lookup::Filtered);
            bloom.false_positive += u64::from(found == Lookup::Absent);
        }
        Ok(match found {
            Lookup::Found(entry) => Some(entry),
            Lookup::Filtered | Lookup::Absent => None,
        })
    }

    /// Makes everything so far survive a power cut.
    ///
    /// # Errors
    /// [`IndexError::NoSpace`], [`IndexError::Device`], [`IndexError::Broken`].
    pub fn flush(&mut self) -> Result<(), IndexError> {
        self.guarded(|tree| {
            if let Some(wal) = &mut tree.wal {
                tree.stats.wal_bytes += wal.sync(&mut *tree.io.store)?;
                return Ok(());
            }
            if tree.beside().is_none() {
                return tree.write_memtable();
            }
            tree.freeze()?;
            tree.wait_for_memtable()
        })
    }

    /// Runs a change unless an earlier one failed half way, and remembers if this one does.
    pub(super) fn guarded<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, IndexError>) -> Result<T, IndexError> {
        self.check_whole()?;
        let result = run(self);
        self.broken =
            matches!(&result, Err(error) if !matches!(error, IndexError::NoSpace { .. } | IndexError::BulkLoad { .. }));
        result
    }

    pub(super) fn check_whole(&self) -> Result<(), IndexError> {
        if self.broken {
            Err(IndexError::Broken)
        } else {
            Ok(())
        }
    }

    pub(super) fn check_key(&self, key: &[u8]) -> Result<(), IndexError> {
        if key.len() == self.config.key_bytes {
            return Ok(());
        }
        let allowed = format!("this index takes keys of {}", self.config.key_bytes);
        Err(IndexError::Length { what: "key", bytes: key.len(), allowed })
    }

    /// The counts so far.
    pub fn stats(&self) -> Stats {
        Stats {
            manifest_bytes: self.manifest.written,
            moved_bytes: self.io.store.moved_bytes(),
            trim: self.io.store.trims(),
            read_bytes: self.io.read_bytes,
            cache_hits: self.io.cache.hits,
            cache_misses: self.io.cache.misses,
            ..self.stats
        }
    }

    /// Tables and bytes of each level.
    pub fn levels(&self) -> [(u64, u64); LEVELS] {
        std::array::from_fn(|level| (self.version.levels[level].len() as u64, self.version.bytes(level)))
    }

    /// Memory that the memtables take.
    pub fn memtable_bytes(&self) -> u64 {
        self.memtable.bytes() + self.beside.frozen.as_ref().map_or(0, |frozen| frozen.memtable.bytes())
    }

    /// Bytes of indexes and filters in memory.
    pub fn table_memory_bytes(&self) -> u64 {
        self.io.tables.values().map(|table| table.memory_bytes()).sum()
    }

    /// The time after the last request.
    pub fn now(&self) -> Time {
        self.io.store.now()
    }

    /// Lets the next request come no earlier than `time`.
    pub fn set_now(&mut self, time: Time) {
        self.io.store.set_now(time);
    }
}

/// Lets flushes and compactions be jobs, if they are to be and can.
fn turn_on_jobs(store: &mut dyn Storage, config: &Config) {
    if let Some(jobs) = store.jobs().filter(|_| config.jobs.is_some()) {
        jobs.turn_on();
    }
}

fn over<'d>(device: &'d mut dyn BlockDevice, config: &Config) -> Result<Box<dyn Storage + 'd>, IndexError> {
    if let Some(shape) = device.zone_shape() {
        return Ok(Box::new(ZoneFiles::new(device, shape, config.unit_bytes, config.table_write_bytes)?));
    }
    let by_level = config.placement == Placement::Levels;
    let room = Room { piece_bytes: config.extent_bytes, by_level, trim: config.trim, allocation: config.allocation };
    Ok(Box::new(Extents::new(device, config.unit_bytes, room)?))
}

/// Moves tables if a log for a tree that is opened finds no room otherwise.
fn make_room_for_log(
    store: &mut dyn Storage,
    config: &Config,
    manifest: &mut Manifest,
    version: &mut Version,
) -> Result<(), IndexError> {
    if !config.wal {
        return Ok(());
    }
    loop {
        let movable: Vec<FileId> = version.files().map(|(_, file)| file.id).collect();
        let moved =
            store.make_room(Wal::bytes(config.write_buffer_bytes, store.unit_bytes()), Lifetime::Log, &movable)?;
        if moved.is_empty() {
            return Ok(());
        }
        for file in version.levels.iter_mut().flatten().filter(|file| moved.contains(&file.id)) {
            file.place = store.place(file.id);
        }
        // The moved tables are there before the checkpoint names them.
        store.sync()?;
        manifest.checkpoint(store, version)?;
        store.end_moves(true)?;
    }
}

/// A log for a tree that is made or opened, if it has any.
fn begin_log(store: &mut dyn Storage, config: &Config, version: &mut Version) -> Result<Option<Wal>, IndexError> {
    if !config.wal {
        return Ok(None);
    }
    let file = FileId(version.next_file);
    version.next_file += 1;
    let wal = Wal::create(store, file, config.write_buffer_bytes)?;
    version.logs.push(LogMeta { id: file, sealed: None, place: store.place(file) });
    Ok(Some(wal))
}

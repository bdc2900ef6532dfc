//! FAT directories: paths, room for names, and fixes for gaps in the library.

use super::cache::SLOT;
use super::spelling::{key, names};
use super::{Dir, Fat, File};
use crate::FsError;
use nandlab_nand::SECTOR_BYTES;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};

/// Name characters per long entry.
const LETTERS: usize = 13;
/// A removed entry's first byte.
const REMOVED: u8 = 0xE5;

impl<'v, 'd> Fat<'v, 'd> {
    /// The directory at a path.
    pub(super) fn directory(&self, path: &str) -> Result<Dir<'v, 'd>, FsError> {
        self.walk(&names(path)?)
    }

    fn walk(&self, names: &[&str]) -> Result<Dir<'v, 'd>, FsError> {
        let mut directory = self.volume.root_dir();
        for (n, name) in names.iter().enumerate() {
            directory = directory.open_dir(name).map_err(|error| {
                let path = names[..=n].join("/");
                match error.kind() {
                    ErrorKind::NotFound => FsError::NotFound { path },
                    _ if self.cache.borrow().failure().is_some() => self.failure(&error),
                    _ => FsError::WrongKind { path, is: "file", needed: "directory" },
                }
            })?;
        }
        Ok(directory)
    }

    /// A path's parent directory, and the last name.
    pub(super) fn parent<'p>(&self, path: &'p str) -> Result<(Dir<'v, 'd>, &'p str), FsError> {
        let names = names(path)?;
        let Some((&name, above)) = names.split_last() else {
            return Err(FsError::WrongKind { path: "/".to_owned(), is: "directory", needed: "file" });
        };
        Ok((self.walk(above)?, name))
    }

    /// The reason a name could not be opened as a file.
    pub(super) fn not_a_file(&self, path: &str, error: &io::Error) -> FsError {
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::NotFound => FsError::NotFound { path },
            _ if self.cache.borrow().failure().is_some() => self.failure(error),
            _ => FsError::WrongKind { path, is: "directory", needed: "file" },
        }
    }

    pub(super) fn names_in(&self, directory: &Dir<'v, 'd>) -> Result<Vec<String>, FsError> {
        let mut names = Vec::new();
        for entry in directory.iter() {
            let name = entry.map_err(|error| self.failure(&error))?.file_name();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Looks up a name in `parent`: `Some(Some(file))` for a file, `Some(None)` for a directory,
    /// `None` if it does not exist.
    fn find(&self, parent: &Dir<'v, 'd>, path: &str, name: &str) -> Result<Option<Option<File<'v, 'd>>>, FsError> {
        match parent.open_file(name) {
            Ok(file) => Ok(Some(Some(file))),
            Err(error) => match self.not_a_file(path, &error) {
                FsError::NotFound { .. } => Ok(None),
                FsError::WrongKind { .. } => Ok(Some(None)),
                other => Err(other),
            },
        }
    }

    pub(super) fn make_directory(&mut self, path: &str) -> Result<(), FsError> {
        let exists = || FsError::Exists { path: path.to_owned() };
        if names(path)?.is_empty() {
            return Err(exists());
        }
        let (parent, name) = self.parent(path)?;
        if self.find(&parent, path, name)?.is_some() {
            return Err(exists());
        }
        self.refuse_no_room(&parent, path, name, 1)?;
        let made = parent.create_dir(name).map_err(|error| self.failure(&error))?;
        let above = if is_in_root(path) { None } else { Some(self.first_sector(&parent)?) };
        self.mend_dots(&made, above)
    }

    pub(super) fn remove_directory(&mut self, path: &str) -> Result<(), FsError> {
        if names(path)?.is_empty() {
            let why = "the root directory stays".to_owned();
            return Err(FsError::BadName { path: "/".to_owned(), why });
        }
        let directory = self.directory(path)?;
        if !self.names_in(&directory)?.is_empty() {
            return Err(FsError::NotEmpty { path: path.to_owned() });
        }
        let (parent, name) = self.parent(path)?;
        parent.remove(name).map_err(|error| self.failure(&error))
    }

    pub(super) fn move_entry(&mut self, from: &str, to: &str) -> Result<(), FsError> {
        if names(from)?.is_empty() || names(to)?.is_empty() {
            let why = "the root directory stays".to_owned();
            return Err(FsError::BadName { path: "/".to_owned(), why });
        }
        let (parent, name) = self.parent(from)?;
        let Some(source) = self.find(&parent, from, name)? else {
            return Err(FsError::NotFound { path: from.to_owned() });
        };
        let is_directory = source.is_none();
        drop(source);
        let (into, new_name) = self.parent(to)?;
        if is_directory && key(to).starts_with(&format!("{}/", key(from))) {
            let why = format!("it is inside '{from}'");
            return Err(FsError::BadName { path: to.to_owned(), why });
        }
        self.refuse_open(from)?;
        if key(from) == key(to) {
            return Ok(());
        }
        let replaced = self.find(&into, to, new_name)?;
        match &replaced {
            None => {}
            Some(None) => return Err(FsError::Exists { path: to.to_owned() }),
            Some(Some(_)) if is_directory => {
                return Err(FsError::WrongKind { path: to.to_owned(), is: "file", needed: "directory" });
            }
            Some(Some(_)) => self.refuse_open(to)?,
        }
        let replaces = replaced.is_some();
        drop(replaced);
        self.refuse_no_room(&into, to, new_name, 0)?;
        if replaces {
            into.remove(new_name).map_err(|error| self.failure(&error))?;
        }
        parent.rename(name, &into, new_name).map_err(|error| self.failure(&error))?;
        if is_directory {
            let above = if is_in_root(to) { None } else { Some(self.first_sector(&into)?) };
            let moved = into.open_dir(new_name).map_err(|error| self.failure(&error))?;
            self.mend_dots(&moved, above)?;
        }
        Ok(())
    }

    /// A directory's first sector: the library's first read when it searches the directory.
    fn first_sector(&self, directory: &Dir<'v, 'd>) -> Result<u64, FsError> {
        self.cache.borrow_mut().first_read = None;
        if let Some(Err(error)) = directory.iter().next() {
            return Err(self.failure(&error));
        }
        let read = self.cache.borrow().first_read.expect("a directory has a first entry, or its end");
        Ok(read / u64::from(SECTOR_BYTES))
    }

    /// Makes `.` and `..` a directory's first two entries, without long names. `..` points to the
    /// directory with first sector `above`; `None` is the root directory, stored as cluster 0.
    fn mend_dots(&self, directory: &Dir<'v, 'd>, above: Option<u64>) -> Result<(), FsError> {
        let start = self.first_sector(directory)? * u64::from(SECTOR_BYTES);
        let above = above.and_then(|sector| self.layout.cluster_of(sector)).unwrap_or(0);
        let mut volume = super::Io(self.cache.clone());
        let mut slots = [0; 4 * SLOT as usize];
        let mut mend = || {
            volume.seek(SeekFrom::Start(start))?;
            volume.read_exact(&mut slots)?;
            let (own, parent) = slots.split_at_mut(2 * SLOT as usize);
            let is_fresh = own[0] & 0xBF == 1 && own[11] == 0x0F;
            let length = if is_fresh { 4 } else { 2 } * SLOT as usize;
            if is_fresh {
                own.copy_within(32.., 0);
                own[32..].copy_from_slice(&parent[32..]);
                parent.fill(0);
            }
            own[32 + 20..32 + 22].copy_from_slice(&((above >> 16) as u16).to_le_bytes());
            own[32 + 26..32 + 28].copy_from_slice(&(above as u16).to_le_bytes());
            volume.seek(SeekFrom::Start(start))?;
            volume.write_all(&slots[..length])
        };
        mend().map_err(|error: io::Error| self.failure(&error))
    }

    /// Refuses a new name if the directory, plus `more` clusters for its contents, does not fit.
    /// The library would notice only after writing half of the entries.
    pub(super) fn refuse_no_room(
        &self,
        directory: &Dir<'v, 'd>,
        path: &str,
        name: &str,
        more: u64,
    ) -> Result<(), FsError> {
        let slots = name.encode_utf16().count().div_ceil(LETTERS) as u64 + 1;
        let free = u64::from(self.cache.borrow().free_clusters());
        let cluster = self.layout.cluster_bytes();
        let is_fixed = is_in_root(path) && self.layout.root_sectors > 0;
        if !is_fixed && free >= more + (slots * SLOT).div_ceil(cluster) {
            return Ok(());
        }
        let lacking = slots.saturating_sub(self.room(directory, is_fixed, slots)?);
        if is_fixed && lacking > 0 {
            let entries = u64::from(self.layout.root_sectors) * u64::from(SECTOR_BYTES) / SLOT;
            return Err(FsError::RootFull { entries, needed: slots, name: name.to_owned() });
        }
        let needed = more + (lacking * SLOT).div_ceil(cluster);
        if needed > free {
            let what = format!("{needed} clusters of {cluster} bytes are needed for '{name}', and {free} are free");
            return Err(FsError::Full { what });
        }
        Ok(())
    }

    /// Length of the free run of entries the library would use for `slots` of them.
    fn room(&self, directory: &Dir<'v, 'd>, is_fixed: bool, slots: u64) -> Result<u64, FsError> {
        let mut sectors: Vec<u64> = Vec::new();
        if is_fixed {
            sectors.extend(self.layout.root_region());
        } else {
            let first = self.first_sector(directory)?;
            let mut cluster = self.layout.cluster_of(first).expect("a directory that grows lies among the clusters");
            while self.layout.is_link(cluster) && sectors.len() < 1 << 20 {
                let start = self.layout.sector_of(cluster);
                sectors.extend(start..start + u64::from(self.layout.cluster_sectors));
                cluster = self.cache.borrow_mut().entry(cluster)?;
            }
        }
        let mut volume = super::Io(self.cache.clone());
        let mut free = 0;
        for (n, sector) in sectors.iter().enumerate() {
            let mut bytes = [0; SECTOR_BYTES as usize];
            let read = volume
                .seek(SeekFrom::Start(sector * u64::from(SECTOR_BYTES)))
                .and_then(|_| volume.read_exact(&mut bytes));
            read.map_err(|error| self.failure(&error))?;
            for (slot, entry) in bytes.chunks(SLOT as usize).enumerate() {
                match entry[0] {
                    0 => {
                        let before = n as u64 * u64::from(SECTOR_BYTES) / SLOT + slot as u64;
                        return Ok(free + sectors.len() as u64 * u64::from(SECTOR_BYTES) / SLOT - before);
                    }
                    REMOVED => free += 1,
                    _ => free = 0,
                }
                if free == slots {
                    return Ok(free);
                }
            }
        }
        Ok(free)
    }
}

/// Whether a path is a name in the root directory.
fn is_in_root(path: &str) -> bool {
    path.split('/').filter(|name| !name.is_empty()).count() == 1
}

//! A real directory of this machine, with the contract of the file systems here.
//!
//! To compare with: it says what the calls mean to a system that nobody here wrote. It has no device, so its time means
//! nothing, and it is not on the list. Paths that lead out of the directory, also over symbolic links, are refused.

use crate::{FileSystem, FsError, Handle, Kind, Space, Stat};
use nandlab_block::RamUse;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A directory that is used as a file system.
#[derive(Debug)]
pub struct Posix {
    root: PathBuf,
    open: BTreeMap<u32, (PathBuf, fs::File)>,
    next: u32,
}

impl Posix {
    /// The directory `root`, which must exist.
    ///
    /// # Errors
    /// Where it does not exist, or is no directory.
    pub fn at(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::from(ErrorKind::NotADirectory));
        }
        Ok(Self { root, open: BTreeMap::new(), next: 0 })
    }

    /// Where a path leads; every name above the last must be a directory, and none a link.
    fn place(&self, path: &str) -> Result<PathBuf, FsError> {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let mut place = self.root.clone();
        for (n, name) in names.iter().enumerate() {
            if *name == "." || *name == ".." || name.contains('\0') {
                let why = "paths stay inside the directory".to_owned();
                return Err(FsError::BadName { path: path.to_owned(), why });
            }
            place.push(name);
            let above = || names[..=n].join("/");
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_symlink() => {
                    let why = "links may lead out of the directory".to_owned();
                    return Err(FsError::BadName { path: above(), why });
                }
                Ok(found) if n + 1 < names.len() && !found.is_dir() => {
                    return Err(FsError::WrongKind { path: above(), is: "file", needed: "directory" });
                }
                Err(error) if n + 1 < names.len() => return Err(explain(&above(), &error)),
                _ => {}
            }
        }
        Ok(place)
    }

    /// What stands at a place; `None`: nothing.
    fn kind(place: &Path) -> Option<Kind> {
        let found = fs::symlink_metadata(place).ok()?;
        Some(if found.is_dir() { Kind::Directory } else { Kind::File })
    }

    /// The place of a file; refuses a directory, and nothing.
    fn file(&self, path: &str) -> Result<PathBuf, FsError> {
        let place = self.place(path)?;
        match Self::kind(&place) {
            Some(Kind::Directory) => Err(is_directory(path)),
            Some(_) => Ok(place),
            None => Err(FsError::NotFound { path: path.to_owned() }),
        }
    }

    fn refuse_open(&self, path: &str, place: &Path) -> Result<(), FsError> {
        if self.open.values().any(|(open, _)| open.starts_with(place)) {
            return Err(FsError::Busy { path: path.to_owned() });
        }
        Ok(())
    }

    fn opened(&mut self, file: Handle) -> Result<&mut fs::File, FsError> {
        Ok(&mut self.open.get_mut(&file.0).ok_or(FsError::Closed)?.1)
    }

    fn hand_out(&mut self, place: PathBuf, file: fs::File) -> Handle {
        self.next += 1;
        self.open.insert(self.next, (place, file));
        Handle(self.next)
    }

    fn refuse_root(&self, path: &str, place: &Path) -> Result<(), FsError> {
        if place == self.root {
            let why = "the root directory stays".to_owned();
            return Err(FsError::BadName { path: path.to_owned(), why });
        }
        Ok(())
    }
}

fn is_directory(path: &str) -> FsError {
    FsError::WrongKind { path: path.to_owned(), is: "directory", needed: "file" }
}

/// An error of the machine about a path.
fn explain(path: &str, error: &io::Error) -> FsError {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::NotFound => FsError::NotFound { path },
        ErrorKind::AlreadyExists => FsError::Exists { path },
        ErrorKind::DirectoryNotEmpty => FsError::NotEmpty { path },
        ErrorKind::NotADirectory => FsError::WrongKind { path, is: "file", needed: "directory" },
        ErrorKind::IsADirectory => is_directory(&path),
        ErrorKind::InvalidFilename | ErrorKind::PermissionDenied => FsError::BadName { path, why: error.to_string() },
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            FsError::Full { what: error.to_string() }
        }
        _ => FsError::Damaged(error.to_string()),
    }
}

fn failed(error: &io::Error) -> FsError {
    explain("", error)
}

impl FileSystem for Posix {
    fn create(&mut self, path: &str) -> Result<Handle, FsError> {
        let place = self.place(path)?;
        if Self::kind(&place) == Some(Kind::Directory) {
            return Err(is_directory(path));
        }
        let options = fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&place);
        Ok(self.hand_out(place, options.map_err(|error| explain(path, &error))?))
    }

    fn open(&mut self, path: &str) -> Result<Handle, FsError> {
        let place = self.file(path)?;
        let file = fs::OpenOptions::new().read(true).write(true).open(&place);
        Ok(self.hand_out(place, file.map_err(|error| explain(path, &error))?))
    }

    fn close(&mut self, file: Handle) -> Result<(), FsError> {
        self.open.remove(&file.0).map(drop).ok_or(FsError::Closed)
    }

    fn read(&mut self, file: Handle, at: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        let file = self.opened(file)?;
        let mut read = 0;
        file.seek(SeekFrom::Start(at)).map_err(|error| failed(&error))?;
        while read < bytes.len() {
            match file.read(&mut bytes[read..]).map_err(|error| failed(&error))? {
                0 => break,
                more => read += more,
            }
        }
        Ok(read)
    }

    fn write(&mut self, file: Handle, at: u64, bytes: &[u8]) -> Result<(), FsError> {
        let file = self.opened(file)?;
        let written = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes));
        written.map_err(|error| failed(&error))
    }

    fn truncate(&mut self, file: Handle, bytes: u64) -> Result<(), FsError> {
        self.opened(file)?.set_len(bytes).map_err(|error| failed(&error))
    }

    fn sync(&mut self, file: Handle) -> Result<(), FsError> {
        self.opened(file)?.sync_all().map_err(|error| failed(&error))
    }

    fn sync_all(&mut self) -> Result<(), FsError> {
        self.open.values().try_for_each(|(_, file)| file.sync_all().map_err(|error| failed(&error)))
    }

    fn len(&mut self, file: Handle) -> Result<u64, FsError> {
        Ok(self.opened(file)?.metadata().map_err(|error| failed(&error))?.len())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), FsError> {
        let source = self.place(from)?;
        self.refuse_root(from, &source)?;
        let kind = Self::kind(&source).ok_or_else(|| FsError::NotFound { path: from.to_owned() })?;
        let target = self.place(to)?;
        self.refuse_root(to, &target)?;
        if kind == Kind::Directory && target != source && target.starts_with(&source) {
            return Err(FsError::BadName { path: to.to_owned(), why: format!("it is inside '{from}'") });
        }
        self.refuse_open(from, &source)?;
        if source == target {
            return Ok(());
        }
        match (Self::kind(&target), kind) {
            (None, _) => {}
            (Some(Kind::Directory), _) => return Err(FsError::Exists { path: to.to_owned() }),
            (Some(_), Kind::Directory) => {
                return Err(FsError::WrongKind { path: to.to_owned(), is: "file", needed: "directory" });
            }
            (Some(_), _) => self.refuse_open(to, &target)?,
        }
        fs::rename(source, target).map_err(|error| explain(from, &error))
    }

    fn unlink(&mut self, path: &str) -> Result<(), FsError> {
        let place = self.file(path)?;
        self.refuse_open(path, &place)?;
        fs::remove_file(place).map_err(|error| explain(path, &error))
    }

    fn mkdir(&mut self, path: &str) -> Result<(), FsError> {
        let place = self.place(path)?;
        fs::create_dir(place).map_err(|error| explain(path, &error))
    }

    fn rmdir(&mut self, path: &str) -> Result<(), FsError> {
        let place = self.place(path)?;
        self.refuse_root(path, &place)?;
        fs::remove_dir(place).map_err(|error| explain(path, &error))
    }

    fn stat(&mut self, path: &str) -> Result<Stat, FsError> {
        let found = fs::symlink_metadata(self.place(path)?).map_err(|error| explain(path, &error))?;
        let kind = if found.is_dir() { Kind::Directory } else { Kind::File };
        Ok(Stat { kind, bytes: if kind == Kind::File { found.len() } else { 0 } })
    }

    fn list(&mut self, path: &str) -> Result<Vec<String>, FsError> {
        let entries = fs::read_dir(self.place(path)?).map_err(|error| explain(path, &error))?;
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(|error| explain(path, &error))?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn space(&mut self) -> Result<Space, FsError> {
        Err(FsError::Unsupported("asking for free space"))
    }

    fn ram(&self) -> RamUse {
        RamUse::default()
    }
}

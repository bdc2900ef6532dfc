//! A real directory of this machine, on whatever file system is there.
//!
//! ## Idea
//! The same workloads run through operating system calls. This shows how another file system treats
//! them, and how long they take on this machine. There is no device: all flash results are zero,
//! and no time is simulated. The measured wall-clock time is in `speed`, with the parts of the run.
//! It differs from run to run, and reflects the system's cache more than its disk unless the
//! workload syncs. It includes the checks that keep a run inside the directory, one call for each
//! name of a path.
//!
//! ## Write path
//! Each operation becomes the system call of the same name; reads and writes seek to their position
//! first. A sync is an fsync of the file. At the end, every open file gets an fsync.
//!
//! ## Recovery
//! None. The directory must be empty at the start. At the end of a run, or after Ctrl-C, the run
//! removes its own files and directories, so the directory is empty again. Files from other
//! programs are never opened, overwritten or removed.
//!
//! ## Invariants
//! Nothing outside the directory is touched. Paths that lead out of it, also over symbolic links,
//! are refused.
//!
//! ## Differences
//! An open file is not removed, as on the other file systems. Free space is not queried, because
//! the answer would change from run to run.
//!
//! ## References
//! IEEE Std 1003.1, The Open Group Base Specifications, System Interfaces.

use crate::{FileSystem, FsError, Handle, Kind, Space, Stat};
use nandlab_block::RamUse;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Options of `[fs.posix]`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The directory, which must be empty; a relative path starts from the folder of the
    /// experiment's file.
    pub directory: String,
}

/// A file made and removed at once, to test whether files can be created.
const PROBE: &str = "nandlab-probe";

impl Config {
    /// Checks the options without looking at the machine.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn check(&self) -> Result<(), FsError> {
        match self.directory.is_empty() || self.directory.contains('\0') {
            true => Err(self.refuse("it is the path of an empty directory".into())),
            false => Ok(()),
        }
    }

    /// Checks that the directory exists and is empty; relative paths start at `base`.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn find(&self, base: &Path) -> Result<PathBuf, FsError> {
        let place = base.join(&self.directory);
        let shown = place.display();
        let root = place.canonicalize().map_err(|error| match error.kind() {
            ErrorKind::NotFound => self.refuse(format!("there is no directory {shown}; make an empty one for the run")),
            _ => self.refuse(format!("{shown} cannot be opened: {error}")),
        })?;
        if !root.is_dir() {
            return Err(self.refuse(format!("{shown} is a file, and an empty directory is needed")));
        }
        let mut names = fs::read_dir(&root).map_err(|error| self.refuse(format!("{shown} cannot be read: {error}")))?;
        match names.next() {
            None => Ok(root),
            Some(Err(error)) => Err(self.refuse(format!("{shown} cannot be read: {error}"))),
            Some(Ok(entry)) => {
                let name = entry.file_name();
                let why = format!("the run needs an empty directory, and {shown} holds `{}`", name.to_string_lossy());
                Err(self.refuse(why))
            }
        }
    }

    /// Claims the directory for a run.
    ///
    /// # Errors
    /// [`FsError::Option`]: as [`Self::find`], and if no file can be created there.
    pub fn take(&self, base: &Path) -> Result<Posix, FsError> {
        let root = self.find(base)?;
        let probe = root.join(PROBE);
        let probed = fs::File::create_new(&probe).and_then(|mut file| {
            let written = file.write_all(b"probe");
            fs::remove_file(&probe).and(written)
        });
        probed.map_err(|error| self.refuse(format!("no file can be written in {}: {error}", root.display())))?;
        Ok(Posix { root, open: BTreeMap::new(), next: 0, made: Some(BTreeMap::new()) })
    }

    fn refuse(&self, why: String) -> FsError {
        FsError::option("directory", &format!("\"{}\"", self.directory), why)
    }
}

/// A directory used as a file system.
#[derive(Debug)]
pub struct Posix {
    root: PathBuf,
    open: BTreeMap<u32, (PathBuf, fs::File)>,
    next: u32,
    /// Files and directories made by this run, to be removed at the end. `None`: nothing is
    /// removed, and existing files may be used.
    made: Option<BTreeMap<String, Kind>>,
}

impl Posix {
    /// Opens the existing directory `root` with its contents.
    ///
    /// # Errors
    /// If `root` does not exist or is not a directory.
    pub fn at(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::from(ErrorKind::NotADirectory));
        }
        Ok(Self { root, open: BTreeMap::new(), next: 0, made: None })
    }

    /// Removes everything this run made, unless it is to stay. Returns the paths still there, such
    /// as a directory with a foreign file in it.
    pub fn clean_up(&mut self) -> Vec<String> {
        self.open.clear();
        let mut left = Vec::new();
        // In reverse order, the contents of a directory come before the directory.
        for (path, kind) in self.made.take().unwrap_or_default().into_iter().rev() {
            let removed = self.place(&path).and_then(|place| {
                let removed = if kind == Kind::Directory { fs::remove_dir(place) } else { fs::remove_file(place) };
                removed.map_err(|error| explain(&path, &error))
            });
            if !matches!(removed, Ok(()) | Err(FsError::NotFound { .. })) {
                left.push(path);
            }
        }
        left
    }

    /// Refuses a file or directory made by another program.
    fn refuse_foreign(&self, path: &str, place: &Path) -> Result<(), FsError> {
        let is_ours = self.made.as_ref().is_none_or(|made| made.contains_key(&normal(path)));
        if is_ours || Self::kind(place).is_none() {
            return Ok(());
        }
        Err(FsError::System(format!("`{path}` was put there by somebody else")))
    }

    fn note_made(&mut self, path: &str, kind: Kind) {
        if let Some(made) = &mut self.made {
            made.insert(normal(path), kind);
        }
    }

    fn note_removed(&mut self, path: &str) {
        if let Some(made) = &mut self.made {
            made.remove(&normal(path));
        }
    }

    /// Renames the recorded entry and, for a directory, its contents.
    fn note_moved(&mut self, from: &str, to: &str) {
        let (from, to) = (normal(from), normal(to));
        let Some(made) = &mut self.made else { return };
        let below = format!("{from}/");
        let moved: Vec<String> =
            made.keys().filter(|path| **path == from || path.starts_with(&below)).cloned().collect();
        for path in moved {
            let kind = made.remove(&path).expect("the path was just there");
            made.insert(format!("{to}{}", &path[from.len()..]), kind);
        }
    }

    /// Resolves a path; every name above the last must be a directory, not a link.
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

    /// Type of a place; `None` if nothing is there.
    fn kind(place: &Path) -> Option<Kind> {
        let found = fs::symlink_metadata(place).ok()?;
        Some(if found.is_dir() { Kind::Directory } else { Kind::File })
    }

    /// The place of a file; refuses a directory or a missing name.
    fn file(&self, path: &str) -> Result<PathBuf, FsError> {
        let place = self.place(path)?;
        match Self::kind(&place) {
            Some(Kind::Directory) => Err(is_directory(path)),
            Some(_) => self.refuse_foreign(path, &place).map(|()| place),
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

impl Drop for Posix {
    fn drop(&mut self) {
        self.clean_up();
    }
}

/// A path with empty names removed.
fn normal(path: &str) -> String {
    path.split('/').filter(|name| !name.is_empty()).collect::<Vec<_>>().join("/")
}

fn is_directory(path: &str) -> FsError {
    FsError::WrongKind { path: path.to_owned(), is: "directory", needed: "file" }
}

/// Converts an operating system error about a path.
fn explain(path: &str, error: &io::Error) -> FsError {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::NotFound => FsError::NotFound { path },
        ErrorKind::AlreadyExists => FsError::Exists { path },
        ErrorKind::DirectoryNotEmpty => FsError::NotEmpty { path },
        ErrorKind::NotADirectory => FsError::WrongKind { path, is: "file", needed: "directory" },
        ErrorKind::IsADirectory => is_directory(&path),
        ErrorKind::InvalidFilename => FsError::BadName { path, why: error.to_string() },
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            FsError::Full { what: error.to_string() }
        }
        _ if path.is_empty() => FsError::System(error.to_string()),
        _ => FsError::System(format!("`{path}`: {error}")),
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
        self.refuse_foreign(path, &place)?;
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true);
        let file = match options.clone().create_new(true).open(&place) {
            Ok(file) => {
                self.note_made(path, Kind::File);
                Ok(file)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => options.truncate(true).open(&place),
            Err(error) => Err(error),
        };
        Ok(self.hand_out(place, file.map_err(|error| explain(path, &error))?))
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
        self.refuse_foreign(from, &source)?;
        self.refuse_foreign(to, &target)?;
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
        fs::rename(source, target).map_err(|error| explain(from, &error))?;
        self.note_moved(from, to);
        Ok(())
    }

    fn unlink(&mut self, path: &str) -> Result<(), FsError> {
        let place = self.file(path)?;
        self.refuse_open(path, &place)?;
        fs::remove_file(place).map_err(|error| explain(path, &error))?;
        self.note_removed(path);
        Ok(())
    }

    fn mkdir(&mut self, path: &str) -> Result<(), FsError> {
        let place = self.place(path)?;
        fs::create_dir(place).map_err(|error| explain(path, &error))?;
        self.note_made(path, Kind::Directory);
        Ok(())
    }

    fn rmdir(&mut self, path: &str) -> Result<(), FsError> {
        let place = self.place(path)?;
        self.refuse_root(path, &place)?;
        self.refuse_foreign(path, &place)?;
        fs::remove_dir(place).map_err(|error| explain(path, &error))?;
        self.note_removed(path);
        Ok(())
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

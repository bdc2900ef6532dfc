//! A plain tree of names and bytes, with the allowed states after a power cut.

use nandlab_fs::FsError;
use nandlab_nand::random::Random;
use std::collections::BTreeMap;

/// An operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Create(String),
    Write(String, u64, usize, u8),
    Truncate(String, u64),
    Open(String),
    Close(String),
    Sync(String),
    SyncAll,
    Unlink(String),
    Rename(String, String),
    Mkdir(String),
    Rmdir(String),
    Link(String, String),
    Symlink(String, String),
}

/// Contents of a write.
pub(crate) fn bytes(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed) | 1).collect()
}

/// Operations on few names, so they collide; `large` makes longer files.
pub(crate) fn script(seed: u64, steps: usize, large: bool) -> Vec<Op> {
    let mut random = Random::stream(seed, 0xF5);
    let mut below = |bound: u64| random.below(bound);
    let mut script = Vec::new();
    while script.len() < steps {
        let names = ["a", "b", "c", "d/a", "d/b", "d/e/a", "l"];
        let directories = ["d", "d/e", "f"];
        let name = names[below(names.len() as u64) as usize].to_owned();
        let other = names[below(names.len() as u64) as usize].to_owned();
        let directory = directories[below(directories.len() as u64) as usize].to_owned();
        let most = if large { 6000 } else { 900 };
        script.push(match below(30) {
            0..=4 => Op::Create(name),
            5..=12 => Op::Write(name, below(most), 1 + below(most / 2) as usize, below(256) as u8),
            13 => Op::Truncate(name, below(most)),
            14 => Op::Truncate(name, 0),
            15 | 16 => Op::Open(name),
            17..=19 => Op::Close(name),
            20 => Op::Sync(name),
            21 => Op::SyncAll,
            22 | 23 => Op::Unlink(name),
            24 | 25 => Op::Rename(name, other),
            26 => Op::Mkdir(directory),
            27 => match below(3) {
                0 => Op::Rename(directory, "f".into()),
                1 => Op::Rename("f".into(), directory),
                _ => Op::Rmdir(directory),
            },
            28 => Op::Link(name, other),
            _ => Op::Symlink(name, other),
        });
    }
    script
}

/// Versions of a file since it was last durable, newest last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct File {
    pub(crate) versions: Vec<Vec<u8>>,
}

impl File {
    pub(crate) fn now(&self) -> &[u8] {
        self.versions.last().map_or(&[], Vec::as_slice)
    }

    fn settle(&mut self) {
        self.versions = vec![self.now().to_vec()];
    }

    /// Whether these bytes are allowed after a cut.
    fn allows(&self, seen: &[u8]) -> bool {
        let shortest = self.versions.iter().map(Vec::len).min().unwrap_or(0);
        let longest = self.versions.iter().map(Vec::len).max().unwrap_or(0);
        (shortest..=longest).contains(&seen.len())
            && seen.iter().enumerate().all(|(at, byte)| {
                self.versions.iter().any(|version| version.get(at).map_or(*byte == 0, |held| held == byte))
            })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    File(u32),
    Directory,
    Symlink(String),
}

/// Result of a walk over a file system.
pub(crate) type Seen = BTreeMap<String, SeenEntry>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SeenEntry {
    File(Vec<u8>),
    Directory,
    Symlink(String),
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Model {
    pub(crate) names: BTreeMap<String, Entry>,
    pub(crate) files: BTreeMap<u32, File>,
    pub(crate) open: BTreeMap<String, u32>,
    next: u32,
}

type Answer = Result<(), FsError>;

fn not_found() -> FsError {
    FsError::NotFound { path: String::new() }
}

fn exists() -> FsError {
    FsError::Exists { path: String::new() }
}

fn wrong_kind() -> FsError {
    FsError::WrongKind { path: String::new(), is: "", needed: "" }
}

fn busy() -> FsError {
    FsError::Busy { path: String::new() }
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(above, _)| above)
}

impl Model {
    /// Fails if the parent of the last name is not a directory.
    fn above(&self, path: &str) -> Answer {
        let Some(above) = parent(path) else { return Ok(()) };
        self.above(above)?;
        match self.names.get(above) {
            Some(Entry::Directory) => Ok(()),
            Some(Entry::File(_)) => Err(wrong_kind()),
            // Symbolic links in the scripts point to file names.
            Some(Entry::Symlink(_)) => self.file(above).and(Err(wrong_kind())),
            None => Err(not_found()),
        }
    }

    fn entry(&self, path: &str) -> Result<Entry, FsError> {
        self.above(path)?;
        self.names.get(path).cloned().ok_or_else(not_found)
    }

    /// The file at a path, through links.
    pub(crate) fn file(&self, path: &str) -> Result<u32, FsError> {
        let mut at = path.to_owned();
        for _ in 0..=8 {
            match self.entry(&at)? {
                Entry::File(file) => return Ok(file),
                Entry::Directory => return Err(wrong_kind()),
                Entry::Symlink(target) => at = target,
            }
        }
        Err(FsError::BadName { path: path.into(), why: String::new() })
    }

    /// The file opened by this path, or the file it would open.
    fn opened(&self, path: &str) -> Result<u32, FsError> {
        self.open.get(path).copied().map_or_else(|| self.file(path), Ok)
    }

    fn refuse_open(&self, path: &str) -> Answer {
        let inside = format!("{path}/");
        let is_open = |file: &u32| self.open.values().any(|open| open == file);
        for (name, entry) in &self.names {
            let Entry::File(file) = entry else { continue };
            if (name == path || name.starts_with(&inside)) && is_open(file) {
                return Err(busy());
            }
        }
        Ok(())
    }

    fn vacant(&self, path: &str) -> Answer {
        match self.entry(path) {
            Ok(_) => Err(exists()),
            Err(FsError::NotFound { .. }) => self.above(path),
            Err(error) => Err(error),
        }
    }

    fn change(&mut self, file: u32, change: impl FnOnce(&mut Vec<u8>)) {
        let held = self.files.get_mut(&file).expect("the file is there");
        let mut bytes = held.now().to_vec();
        change(&mut bytes);
        held.versions.push(bytes);
    }

    fn cut(&mut self, file: u32, len: u64) {
        let held = self.files.get_mut(&file).expect("the file is there");
        held.versions.iter_mut().for_each(|version| version.resize(len as usize, 0));
    }

    /// Applies an operation, or returns the expected error.
    pub(crate) fn apply(&mut self, op: &Op) -> Answer {
        match op {
            Op::Create(path) => self.create(path),
            Op::Write(path, at, len, seed) => self.write(path, *at as usize, &bytes(*len, *seed)),
            Op::Truncate(path, len) => self.truncate(path, *len),
            Op::Open(path) => {
                let file = self.file(path)?;
                self.open.entry(path.clone()).or_insert(file);
                Ok(())
            }
            Op::Close(path) => {
                let file = self.open.remove(path).ok_or(FsError::Closed)?;
                self.files.get_mut(&file).expect("there").settle();
                Ok(())
            }
            Op::Sync(path) => {
                let file = *self.open.get(path).ok_or(FsError::Closed)?;
                self.files.get_mut(&file).expect("there").settle();
                Ok(())
            }
            Op::SyncAll => {
                self.files.values_mut().for_each(File::settle);
                Ok(())
            }
            Op::Unlink(path) => self.unlink(path),
            Op::Rename(from, to) => self.rename(from, to),
            Op::Mkdir(path) => {
                self.vacant(path)?;
                self.names.insert(path.clone(), Entry::Directory);
                Ok(())
            }
            Op::Rmdir(path) => self.rmdir(path),
            Op::Link(from, to) => {
                let file = self.file(from)?;
                self.vacant(to)?;
                self.names.insert(to.clone(), Entry::File(file));
                Ok(())
            }
            Op::Symlink(target, path) => {
                self.vacant(path)?;
                self.names.insert(path.clone(), Entry::Symlink(target.clone()));
                Ok(())
            }
        }
    }

    fn write(&mut self, path: &str, at: usize, bytes: &[u8]) -> Answer {
        let file = self.opened(path)?;
        self.change(file, |held| {
            let end = at + bytes.len();
            if held.len() < end {
                held.resize(end, 0);
            }
            held[at..end].copy_from_slice(bytes);
        });
        self.close_unless_open(path, file);
        Ok(())
    }

    fn truncate(&mut self, path: &str, len: u64) -> Answer {
        let file = self.opened(path)?;
        if self.files[&file].now().len() as u64 != len {
            self.cut(file, len);
        }
        self.close_unless_open(path, file);
        Ok(())
    }

    /// A file opened for one operation is durable once it is closed.
    fn close_unless_open(&mut self, path: &str, file: u32) {
        if !self.open.contains_key(path) {
            self.files.get_mut(&file).expect("the file is there").settle();
        }
    }

    fn unlink(&mut self, path: &str) -> Answer {
        if self.entry(path)? == Entry::Directory {
            return Err(wrong_kind());
        }
        self.refuse_open(path)?;
        self.names.remove(path);
        Ok(())
    }

    fn rmdir(&mut self, path: &str) -> Answer {
        if self.entry(path)? != Entry::Directory {
            return Err(wrong_kind());
        }
        let inside = format!("{path}/");
        if self.names.keys().any(|name| name.starts_with(&inside)) {
            return Err(FsError::NotEmpty { path: path.to_owned() });
        }
        self.names.remove(path);
        Ok(())
    }

    /// Allowed state after a cut during an operation: the file it writes is not yet durable.
    pub(crate) fn interrupted(&self, op: &Op) -> Self {
        let mut after = self.clone();
        if let Op::Write(path, ..) | Op::Truncate(path, _) = op {
            if let Ok(file) = self.opened(path) {
                after.open.insert(path.clone(), file);
            }
        }
        match after.apply(op) {
            Ok(()) => after,
            Err(_) => self.clone(),
        }
    }

    fn create(&mut self, path: &str) -> Answer {
        match self.vacant(path) {
            Err(FsError::Exists { .. }) => {
                let file = self.file(path)?;
                self.cut(file, 0);
                Ok(())
            }
            Err(error) => Err(error),
            Ok(()) => {
                self.next += 1;
                self.files.insert(self.next, File { versions: vec![Vec::new()] });
                self.names.insert(path.to_owned(), Entry::File(self.next));
                Ok(())
            }
        }
    }

    fn rename(&mut self, from: &str, to: &str) -> Answer {
        let source = self.entry(from)?;
        let target = match self.entry(to) {
            Ok(entry) => Some(entry),
            Err(FsError::NotFound { .. }) => {
                self.above(to)?;
                None
            }
            Err(error) => return Err(error),
        };
        if source == Entry::Directory && to.starts_with(&format!("{from}/")) {
            return Err(FsError::BadName { path: to.into(), why: String::new() });
        }
        self.refuse_open(from)?;
        if from == to {
            return Ok(());
        }
        match (&target, &source) {
            (None, _) => {}
            (Some(Entry::File(a)), Entry::File(b)) if a == b => return Ok(()),
            (Some(Entry::Directory), _) => return Err(exists()),
            (Some(_), Entry::Directory) => return Err(wrong_kind()),
            _ => self.refuse_open(to)?,
        }
        let inside = format!("{from}/");
        let moved: Vec<String> =
            self.names.keys().filter(|name| *name == from || name.starts_with(&inside)).cloned().collect();
        for name in moved {
            let entry = self.names.remove(&name).expect("the name is there");
            self.names.insert(format!("{to}{}", &name[from.len()..]), entry);
        }
        Ok(())
    }

    /// Names that are missing, extra, or not as expected, without those in `failing`.
    pub(crate) fn differs(&self, seen: &Seen, failing: &[String]) -> Vec<String> {
        let names = self.names.keys().chain(seen.keys()).filter(|name| !failing.contains(name));
        let mut differ: Vec<String> = names
            .filter(|name| match (self.names.get(*name), seen.get(*name)) {
                (Some(Entry::File(file)), Some(SeenEntry::File(bytes))) => !self.files[file].allows(bytes),
                (Some(Entry::Directory), Some(SeenEntry::Directory)) => false,
                (Some(Entry::Symlink(target)), Some(SeenEntry::Symlink(found))) => target != found,
                _ => true,
            })
            .map(|name| format!("{name}{}", if seen.contains_key(name) { "" } else { " is missing" }))
            .collect();
        differ.dedup();
        differ
    }

    /// Whether a walk result is allowed.
    pub(crate) fn allows(&self, seen: &Seen) -> Result<(), String> {
        if let Some(name) = self.names.keys().find(|name| !seen.contains_key(*name)) {
            return Err(format!("'{name}' is missing"));
        }
        for (name, found) in seen {
            let fits = match (self.names.get(name), found) {
                (Some(Entry::File(file)), SeenEntry::File(bytes)) => self.files[file].allows(bytes),
                (Some(Entry::Directory), SeenEntry::Directory) => true,
                (Some(Entry::Symlink(target)), SeenEntry::Symlink(found)) => target == found,
                _ => false,
            };
            if !fits {
                let expected = self.names.get(name).map(|entry| match entry {
                    Entry::File(file) => {
                        let newest = self.files[file].now();
                        let seen = match found {
                            SeenEntry::File(bytes) => bytes.as_slice(),
                            _ => &[],
                        };
                        let at = newest.iter().zip(seen).position(|(a, b)| a != b);
                        format!("file of {} bytes, found {}, first difference {at:?}", newest.len(), seen.len())
                    }
                    other => format!("{other:?}"),
                });
                return Err(format!("'{name}' is not as expected: {expected:?}"));
            }
        }
        Ok(())
    }

    /// Continues after a power cut from the observed state, without open files.
    pub(crate) fn adopt(&mut self, seen: &Seen) {
        self.open.clear();
        for (name, found) in seen {
            if let (Some(Entry::File(file)), SeenEntry::File(bytes)) = (self.names.get(name), found) {
                self.files.insert(*file, File { versions: vec![bytes.clone()] });
            }
        }
    }

    /// Marks everything as durable and closed.
    pub(crate) fn settle(&mut self) {
        self.open.clear();
        self.files.values_mut().for_each(File::settle);
    }
}

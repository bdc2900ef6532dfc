//! Kernel semantics for names and files, over a path-based file system.
//!
//! * Each file has a number. It stays the same while the file exists; where the file system numbers its files itself, it
//!   is also the same after the next mount.
//! * Our file systems refuse to remove or rename an open file. So a file is closed below before that and opened again
//!   when it is used. A file that loses its last name while a program has it open is renamed to a hidden name in the
//!   root directory, and removed when the program closes it, or at the next mount.
//! * An open file's mode, owner and time are stored when the last program closes it, and at its fsync: each store takes
//!   a page.

mod files;
mod node;
mod tree;

use super::errno::errno;
pub(super) use files::{Change, Status};
use fuser::Errno;
use nandlab_fs::{Attributes, FileSystem, FsError};
use nandlab_lab::served::Asked;
pub(super) use node::Kind;
use node::Node;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
pub(super) use tree::{Entry, Maker};

/// The kernel's number for the root directory.
pub(super) const ROOT: u64 = 1;
/// A file system's own numbers begin here.
const FIRST: u64 = 2;
/// How hidden names begin.
const HIDDEN: &str = ".nandlab-removed-";

/// Known names and files while mounted.
///
/// Files stay known until they are removed, about 150 bytes each: the kernel may forget them, but `git` and others
/// remember their numbers.
pub(super) struct Names {
    nodes: BTreeMap<u64, Node>,
    places: BTreeMap<(u64, String), u64>,
    /// The next number, if the file system has none.
    next: u64,
    /// Tells apart files with the same number, one after the other.
    generation: u64,
    /// Whether mode, owner and time are stored.
    keeps: bool,
    /// Whether the file system numbers its files itself.
    numbers: bool,
    longest: usize,
    /// Attributes for files without stored ones.
    default: Attributes,
    /// The last job's request to a file.
    pub(super) asked: Option<Asked>,
}

/// Nanoseconds since 1970.
pub(super) fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

fn failed<T>(done: Result<T, FsError>) -> Result<T, Errno> {
    done.map_err(|error| errno(&error))
}

impl Names {
    /// For files with this owner and group, if the file system stores none.
    pub(super) fn new(owner: u32, group: u32) -> Self {
        let default = Attributes { mode: 0, owner, group, changed_ns: now_ns() };
        let root = Node::new(ROOT, String::new(), Kind::Directory, 0);
        Self {
            nodes: BTreeMap::from([(ROOT, root)]),
            places: BTreeMap::new(),
            next: FIRST,
            generation: 0,
            keeps: false,
            numbers: false,
            longest: 255,
            default,
            asked: None,
        }
    }

    /// Checks the file system's abilities, and removes files left open when it last ended.
    pub(super) fn begin(&mut self, fs: &mut dyn FileSystem) {
        self.keeps = matches!(fs.attributes(""), Ok(Some(_)));
        self.numbers = matches!(fs.number(""), Ok(Some(_)));
        self.longest = fs.longest_name();
        for name in fs.list("").unwrap_or_default() {
            if name.starts_with(HIDDEN) {
                // Unremovable files stay hidden.
                let _ = fs.unlink(&name);
            }
        }
    }

    /// Stores what is pending, closes every file and removes hidden ones.
    pub(super) fn end(&mut self, fs: &mut dyn FileSystem) {
        let numbers: Vec<u64> = self.nodes.keys().copied().collect();
        for number in numbers {
            // The disk tells its failure to whoever closes it.
            let _ = self.store(fs, number);
            let _ = self.close(fs, number);
            if self.nodes.get(&number).is_some_and(|node| node.is_hidden) {
                let _ = self.path(number).map(|path| fs.unlink(&path));
            }
        }
        let _ = fs.sync_all();
    }

    /// Most bytes in a name.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    fn node(&self, number: u64) -> Result<&Node, Errno> {
        self.nodes.get(&number).ok_or(Errno::ESTALE)
    }

    fn node_mut(&mut self, number: u64) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&number).ok_or(Errno::ESTALE)
    }

    /// A file's path.
    fn path(&self, number: u64) -> Result<String, Errno> {
        let mut names = Vec::new();
        let mut at = number;
        while at != ROOT {
            let node = self.node(at)?;
            names.push(node.name.as_str());
            at = node.parent;
        }
        names.reverse();
        Ok(names.join("/"))
    }

    /// The path for a name in a directory, if the name is valid.
    fn path_of(&self, parent: u64, name: &str) -> Result<String, Errno> {
        if name.len() > self.longest {
            return Err(Errno::ENAMETOOLONG);
        }
        if parent == ROOT && name.starts_with(HIDDEN) {
            return Err(Errno::EPERM);
        }
        let above = self.path(parent)?;
        Ok(if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") })
    }

    /// The number for the file with this name.
    pub(super) fn find(&mut self, fs: &mut dyn FileSystem, parent: u64, name: &str) -> Result<u64, Errno> {
        self.look(fs, parent, name, false)
    }

    /// The same; `is_exact`: the name is written as it is stored.
    fn look(&mut self, fs: &mut dyn FileSystem, parent: u64, name: &str, is_exact: bool) -> Result<u64, Errno> {
        let path = match self.path_of(parent, name) {
            // A hidden name.
            Err(error) if error == Errno::EPERM => return Err(Errno::ENOENT),
            path => path?,
        };
        if let Some(&number) = self.places.get(&(parent, name.to_owned())) {
            return Ok(number);
        }
        let stat = fs.stat(&path).map_err(|error| match error {
            FsError::BadName { .. } => Errno::ENOENT,
            error => errno(&error),
        })?;
        let name = if is_exact { name.to_owned() } else { self.as_stored(fs, parent, name)? };
        if let Some(&number) = self.places.get(&(parent, name.clone())) {
            return Ok(number);
        }
        let kind = match stat.kind {
            nandlab_fs::Kind::Directory => Kind::Directory,
            nandlab_fs::Kind::Symlink => Kind::Symlink,
            nandlab_fs::Kind::File => {
                let stored = failed(fs.attributes(&path))?;
                if stored.is_some_and(|stored| node::is_symlink(stored.mode)) {
                    Kind::Symlink
                } else {
                    Kind::File
                }
            }
        };
        self.add(fs, parent, &name, kind)
    }

    /// The directory's spelling for a name just made or found: FAT drops trailing dots.
    fn as_stored(&self, fs: &mut dyn FileSystem, parent: u64, name: &str) -> Result<String, Errno> {
        match self.numbers {
            true => Ok(name.to_owned()),
            false => failed(fs.spelling(&self.path_of(parent, name)?)),
        }
    }

    /// Gives the file with this name its number.
    fn add(&mut self, fs: &mut dyn FileSystem, parent: u64, name: &str, kind: Kind) -> Result<u64, Errno> {
        let path = self.path_of(parent, name)?;
        let number = match failed(fs.number(&path))? {
            Some(number) => FIRST + u64::from(number),
            None => {
                self.next += 1;
                self.next
            }
        };
        self.generation += 1;
        self.nodes.insert(number, Node::new(parent, name.to_owned(), kind, self.generation));
        self.places.insert((parent, name.to_owned()), number);
        Ok(number)
    }

    /// Forgets a file that is gone.
    fn remove(&mut self, number: u64) {
        if let Some(node) = self.nodes.remove(&number) {
            self.places.remove(&(node.parent, node.name));
        }
    }
}

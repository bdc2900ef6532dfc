//! Expected behaviour of a file system in its plainest form: a map of paths, and random operations to compare
//! with it.

use nandlab_fs::{FileSystem, FsError, Handle, Kind};
use nandlab_nand::random::Random;
use std::collections::BTreeMap;
use std::mem::discriminant;

#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    File(Vec<u8>),
    Directory,
}

/// Paths and their nodes, without the root.
pub type Tree = BTreeMap<String, Node>;

/// One looks like the short name of another, but for its number.
const NAMES: [&str; 9] = [
    "a",
    "b.txt",
    "c~",
    "Some longer name.data",
    "d",
    "ANOTHE~9",
    "\u{e4}\u{f6}\u{fc}",
    "f.tar.gz",
    "another long name in here",
];

/// A tree, the open files, and the random generator.
pub struct Model {
    pub tree: Tree,
    open: Vec<(Handle, String)>,
    pub random: Random,
    /// Most bytes in a write.
    most: u64,
    pub full: u64,
    pub errors: BTreeMap<&'static str, u64>,
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

fn not_found(path: &str) -> FsError {
    FsError::NotFound { path: path.to_owned() }
}

fn wrong_kind(path: &str) -> FsError {
    FsError::WrongKind { path: path.to_owned(), is: "", needed: "" }
}

impl Model {
    pub fn new(seed: u64, most: u64) -> Self {
        Self {
            tree: Tree::new(),
            open: Vec::new(),
            random: Random::stream(seed, 77),
            most,
            full: 0,
            errors: BTreeMap::new(),
        }
    }

    fn path(&mut self) -> String {
        let depth = [1, 1, 2, 2, 3][self.random.below(5) as usize];
        let names: Vec<&str> = (0..depth).map(|_| NAMES[self.random.below(NAMES.len() as u64) as usize]).collect();
        names.join("/")
    }

    /// A path, mostly an existing one.
    fn known(&mut self) -> String {
        if self.tree.is_empty() || self.random.chance(0.1) {
            return self.path();
        }
        let at = self.random.below(self.tree.len() as u64) as usize;
        self.tree.keys().nth(at).unwrap().clone()
    }

    /// Refuses a path with a missing parent directory.
    fn above(&self, path: &str) -> Result<(), FsError> {
        let mut end = 0;
        while let Some(at) = path[end..].find('/') {
            end += at;
            match self.tree.get(&path[..end]) {
                Some(Node::Directory) => {}
                Some(Node::File(_)) => return Err(wrong_kind(&path[..end])),
                None => return Err(not_found(&path[..end])),
            }
            end += 1;
        }
        Ok(())
    }

    fn is_open(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.open.iter().any(|(_, open)| open == path || open.starts_with(&below))
    }

    fn holds(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.tree.keys().any(|other| other.starts_with(&below))
    }

    fn bytes(&mut self, path: &str) -> &mut Vec<u8> {
        match self.tree.get_mut(path) {
            Some(Node::File(bytes)) => bytes,
            other => panic!("{path} is open, and it is {other:?}"),
        }
    }

    /// Compares an answer with the expected one; true if the operation succeeded.
    fn agree<T>(&mut self, what: &str, must: &Result<(), FsError>, got: &Result<T, FsError>) -> bool {
        match (must, got) {
            (Ok(()), Ok(_)) => true,
            (Ok(()), Err(FsError::Full { .. } | FsError::NvramFull { .. } | FsError::RootFull { .. })) => {
                self.full += 1;
                false
            }
            (Err(must), Err(got)) => {
                assert_eq!(discriminant(must), discriminant(got), "{what}: {got}, and not {must}");
                let name = match must {
                    FsError::NotFound { .. } => "not found",
                    FsError::Exists { .. } => "exists",
                    FsError::WrongKind { .. } => "wrong kind",
                    FsError::NotEmpty { .. } => "not empty",
                    FsError::Busy { .. } => "busy",
                    FsError::BadName { .. } => "bad name",
                    other => panic!("{other}"),
                };
                *self.errors.entry(name).or_default() += 1;
                false
            }
            (must, got) => panic!("{what}: {:?}, and not {must:?}", got.as_ref().err()),
        }
    }

    /// One random operation on both.
    pub fn step(&mut self, fs: &mut dyn FileSystem) {
        match self.random.below(18) {
            0..=2 => self.create(fs),
            3 => self.open(fs),
            4..=5 => self.close(fs),
            6..=9 => self.write(fs),
            10..=11 => self.read(fs),
            12 => self.truncate(fs),
            13 => self.rename(fs),
            14 => self.unlink(fs),
            15..=16 => self.mkdir(fs),
            _ => self.rmdir(fs),
        }
    }

    fn create(&mut self, fs: &mut dyn FileSystem) {
        let path = if self.random.chance(0.3) { self.known() } else { self.path() };
        let must = self.above(&path).and_then(|()| match self.tree.get(&path) {
            Some(Node::Directory) => Err(wrong_kind(&path)),
            _ => Ok(()),
        });
        let got = fs.create(&path);
        if self.agree(&format!("create {path}"), &must, &got) {
            self.tree.insert(path.clone(), Node::File(Vec::new()));
            self.open.push((got.unwrap(), path));
        }
    }

    fn open(&mut self, fs: &mut dyn FileSystem) {
        let path = self.known();
        let must = self.above(&path).and_then(|()| match self.tree.get(&path) {
            Some(Node::File(_)) => Ok(()),
            Some(Node::Directory) => Err(wrong_kind(&path)),
            None => Err(not_found(&path)),
        });
        let got = fs.open(&path);
        if self.agree(&format!("open {path}"), &must, &got) {
            self.open.push((got.unwrap(), path));
        }
    }

    fn an_open_file(&mut self) -> Option<(usize, Handle, String)> {
        let at = self.random.below(self.open.len().max(1) as u64) as usize;
        self.open.get(at).map(|(handle, path)| (at, *handle, path.clone()))
    }

    fn close(&mut self, fs: &mut dyn FileSystem) {
        let Some((at, handle, _)) = self.an_open_file() else { return };
        if self.random.chance(0.2) {
            fs.sync(handle).unwrap();
        }
        fs.close(handle).unwrap();
        self.open.swap_remove(at);
        assert_eq!(fs.close(handle), Err(FsError::Closed));
    }

    fn write(&mut self, fs: &mut dyn FileSystem) {
        let Some((_, handle, path)) = self.an_open_file() else { return };
        let most = self.most;
        let length = self.bytes(&path).len() as u64;
        let at = match self.random.below(4) {
            0 | 1 => length,
            2 => self.random.below(length + 1),
            _ => self.random.below(length + most),
        };
        let mut bytes = vec![0; self.random.below(most) as usize];
        bytes.iter_mut().for_each(|byte| *byte = self.random.next_u64() as u8);
        let got = fs.write(handle, at, &bytes);
        if self.agree(&format!("write {} bytes at {at} of {path}", bytes.len()), &Ok(()), &got) && !bytes.is_empty() {
            let at = at as usize;
            let file = self.bytes(&path);
            file.resize(file.len().max(at + bytes.len()), 0);
            file[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        let length = self.bytes(&path).len() as u64;
        assert_eq!(fs.len(handle).unwrap(), length);
        assert_eq!(fs.stat(&path).unwrap().bytes, length);
    }

    fn read(&mut self, fs: &mut dyn FileSystem) {
        let Some((_, handle, path)) = self.an_open_file() else { return };
        let length = self.bytes(&path).len();
        let at = self.random.below(length as u64 + 10) as usize;
        let mut read = vec![0xEE; self.random.below(self.most * 2) as usize];
        let got = fs.read(handle, at as u64, &mut read).unwrap();
        let must = &self.bytes(&path)[at.min(length)..];
        let must = &must[..must.len().min(read.len())];
        assert!(read[..got] == *must, "read at {at} of {path}: {got} bytes, and not {}", must.len());
    }

    fn truncate(&mut self, fs: &mut dyn FileSystem) {
        let Some((_, handle, path)) = self.an_open_file() else { return };
        let length = self.bytes(&path).len() as u64;
        let bytes = if self.random.chance(0.2) { length / 512 * 512 } else { self.random.below(length * 5 / 4 + 1) };
        let got = fs.truncate(handle, bytes);
        if self.agree(&format!("truncate {path} to {bytes}"), &Ok(()), &got) {
            self.bytes(&path).resize(bytes as usize, 0);
        }
    }

    fn rename(&mut self, fs: &mut dyn FileSystem) {
        let (from, to) = (self.known(), if self.random.chance(0.3) { self.known() } else { self.path() });
        let must = self.may_rename(&from, &to);
        let got = fs.rename(&from, &to);
        if self.agree(&format!("rename {from} to {to}"), &must, &got) && from != to {
            let below = format!("{from}/");
            let moved: Vec<String> =
                self.tree.keys().filter(|path| **path == from || path.starts_with(&below)).cloned().collect();
            for path in moved {
                let node = self.tree.remove(&path).unwrap();
                self.tree.insert(format!("{to}{}", &path[from.len()..]), node);
            }
        }
    }

    fn may_rename(&self, from: &str, to: &str) -> Result<(), FsError> {
        self.above(from)?;
        let source = self.tree.get(from).ok_or_else(|| not_found(from))?;
        let is_directory = *source == Node::Directory;
        if is_directory && to.starts_with(&format!("{from}/")) {
            // A missing parent directory may be reported first.
            self.above(to)?;
            return Err(FsError::BadName { path: to.to_owned(), why: String::new() });
        }
        self.above(to)?;
        let busy = |path: &str| Err(FsError::Busy { path: path.to_owned() });
        if self.is_open(from) {
            return busy(from);
        }
        match self.tree.get(to) {
            _ if from == to => Ok(()),
            Some(Node::Directory) => Err(FsError::Exists { path: to.to_owned() }),
            Some(Node::File(_)) if is_directory => Err(wrong_kind(to)),
            Some(Node::File(_)) if self.is_open(to) => busy(to),
            _ => Ok(()),
        }
    }

    fn unlink(&mut self, fs: &mut dyn FileSystem) {
        let path = self.known();
        let must = self.above(&path).and_then(|()| match self.tree.get(&path) {
            None => Err(not_found(&path)),
            Some(Node::Directory) => Err(wrong_kind(&path)),
            Some(_) if self.is_open(&path) => Err(FsError::Busy { path: path.clone() }),
            Some(_) => Ok(()),
        });
        let got = fs.unlink(&path);
        if self.agree(&format!("unlink {path}"), &must, &got) {
            self.tree.remove(&path);
        }
    }

    fn mkdir(&mut self, fs: &mut dyn FileSystem) {
        let path = self.path();
        let must = self.above(&path).and_then(|()| match self.tree.get(&path) {
            Some(_) => Err(FsError::Exists { path: path.clone() }),
            None => Ok(()),
        });
        let got = fs.mkdir(&path);
        if self.agree(&format!("mkdir {path}"), &must, &got) {
            self.tree.insert(path, Node::Directory);
        }
    }

    fn rmdir(&mut self, fs: &mut dyn FileSystem) {
        let path = self.known();
        let must = self.above(&path).and_then(|()| match self.tree.get(&path) {
            None => Err(not_found(&path)),
            Some(Node::File(_)) => Err(wrong_kind(&path)),
            Some(_) if self.holds(&path) => Err(FsError::NotEmpty { path: path.clone() }),
            Some(_) => Ok(()),
        });
        let got = fs.rmdir(&path);
        if self.agree(&format!("rmdir {path}"), &must, &got) {
            self.tree.remove(&path);
        }
    }

    /// Closes all files after an unmount.
    pub fn unmounted(&mut self) {
        self.open.clear();
    }
}

/// Everything in a file system.
pub fn tree_of(fs: &mut dyn FileSystem) -> Tree {
    let mut tree = Tree::new();
    let mut left = vec![String::new()];
    while let Some(directory) = left.pop() {
        for name in fs.list(&directory).unwrap() {
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            assert_eq!(parent(&path), directory);
            let stat = fs.stat(&path).unwrap();
            let node = match stat.kind {
                Kind::Directory => {
                    left.push(path.clone());
                    Node::Directory
                }
                Kind::File => {
                    let file = fs.open(&path).unwrap();
                    let mut bytes = vec![0; stat.bytes as usize + 1];
                    let read = fs.read(file, 0, &mut bytes).unwrap();
                    assert_eq!(read as u64, stat.bytes, "{path}");
                    bytes.truncate(read);
                    fs.close(file).unwrap();
                    Node::File(bytes)
                }
                Kind::Symlink => panic!("{path}"),
            };
            tree.insert(path, node);
        }
    }
    tree
}

/// Asserts that two trees are equal; names the first difference.
pub fn assert_same(left: &Tree, right: &Tree, what: &str) {
    for (path, node) in left {
        assert!(right.get(path) == Some(node), "{what}: {path} differs, or is on one side only");
    }
    assert_eq!(left.len(), right.len(), "{what}: {:?} and {:?}", left.keys(), right.keys());
}

//! Steps on files, over a few fixed paths.

use nandlab_nand::random::Random;
use std::fmt;

/// A path in scripts, by its place in [`Path::NAMES`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Path(pub u8);

impl Path {
    /// Every path in scripts: three files, two folders, and files in them.
    pub const NAMES: [&'static str; 8] = ["a", "b", "c", "d", "e", "d/a", "d/b", "e/a"];
    const FOLDERS: [u8; 2] = [3, 4];

    /// Every path.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::NAMES.len() as u8).map(Self)
    }

    /// The path's text.
    pub fn name(self) -> &'static str {
        Self::NAMES[usize::from(self.0)]
    }

    /// Whether scripts make a folder there, never a file.
    pub fn is_folder(self) -> bool {
        Self::FOLDERS.contains(&self.0)
    }

    /// The folder that holds the path; `None`: the root.
    pub fn folder(self) -> Option<Self> {
        let (folder, _) = self.name().split_once('/')?;
        Self::all().find(|path| path.name() == folder)
    }

    fn parse(text: &str) -> Option<Self> {
        Self::all().find(|path| path.name() == text)
    }

    fn drawn(random: &mut Random, folder: bool) -> Self {
        loop {
            let path = Self(random.below(Self::NAMES.len() as u64) as u8);
            if path.is_folder() == folder {
                return path;
            }
        }
    }
}

/// A step on files. A step without sense, such as a file in a missing folder, is passed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileStep {
    /// `put:a:200`: writes a file anew with this many bytes, syncs and closes it.
    Put(Path, u32),
    /// `append:a:20`: writes behind the end, and closes without a sync.
    Append(Path, u32),
    /// `truncate:a:9`: cuts a file to this many bytes, syncs and closes it.
    Truncate(Path, u32),
    /// `move:a:d/b`: renames a file, and replaces another one.
    Move(Path, Path),
    /// `remove:a`: removes a file or an empty folder.
    Remove(Path),
    /// `mkdir:d`: makes a folder.
    Mkdir(Path),
}

impl fmt::Display for FileStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(path, bytes) => write!(f, "put:{}:{bytes}", path.name()),
            Self::Append(path, bytes) => write!(f, "append:{}:{bytes}", path.name()),
            Self::Truncate(path, bytes) => write!(f, "truncate:{}:{bytes}", path.name()),
            Self::Move(from, to) => write!(f, "move:{}:{}", from.name(), to.name()),
            Self::Remove(path) => write!(f, "remove:{}", path.name()),
            Self::Mkdir(path) => write!(f, "mkdir:{}", path.name()),
        }
    }
}

impl FileStep {
    /// Most bytes in a step.
    const MOST_BYTES: u32 = 100_000;

    pub(super) fn parse(word: &str) -> Option<Self> {
        let mut parts = word.split(':');
        let (kind, path) = (parts.next()?, Path::parse(parts.next()?)?);
        let rest = parts.next();
        if parts.next().is_some() {
            return None;
        }
        let bytes = || rest?.parse().ok().filter(|&bytes| bytes <= Self::MOST_BYTES);
        let file = !path.is_folder();
        match kind {
            "put" if file => Some(Self::Put(path, bytes()?)),
            "append" if file => Some(Self::Append(path, bytes()?)),
            "truncate" if file => Some(Self::Truncate(path, bytes()?)),
            "move" if file => Path::parse(rest?).filter(|to| !to.is_folder()).map(|to| Self::Move(path, to)),
            "remove" if rest.is_none() => Some(Self::Remove(path)),
            "mkdir" if rest.is_none() && !file => Some(Self::Mkdir(path)),
            _ => None,
        }
    }

    pub(super) fn drawn(random: &mut Random) -> Self {
        let file = Path::drawn(random, false);
        let most = if random.chance(0.2) { 1500 } else { 300 };
        let bytes = 1 + random.below(most) as u32;
        match random.below(16) {
            0..5 => Self::Put(file, bytes),
            5..7 => Self::Append(file, bytes),
            7 => Self::Truncate(file, bytes),
            8..11 => Self::Move(file, Path::drawn(random, false)),
            11 => Self::Remove(file),
            12 => Self::Remove(Path::drawn(random, true)),
            _ => Self::Mkdir(Path::drawn(random, true)),
        }
    }
}

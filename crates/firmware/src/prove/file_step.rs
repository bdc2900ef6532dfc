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

    /// A step that makes sense in this tree; the tree then has its outcome.
    pub(super) fn drawn(random: &mut Random, tree: &mut Tree) -> Self {
        loop {
            let step = Self::any(random);
            if tree.take(step) {
                return step;
            }
        }
    }

    fn any(random: &mut Random) -> Self {
        let file = Path::drawn(random, false);
        let most = if random.chance(0.2) { 1500 } else { 300 };
        let bytes = 1 + random.below(most) as u32;
        match random.below(16) {
            0..4 => Self::Put(file, bytes),
            4..6 => Self::Append(file, bytes),
            6 => Self::Truncate(file, bytes),
            7..11 => Self::Move(file, Path::drawn(random, false)),
            11 => Self::Remove(file),
            12 => Self::Remove(Path::drawn(random, true)),
            _ => Self::Mkdir(Path::drawn(random, true)),
        }
    }
}

/// Sizes of the files in a drawn script, and its folders with the size 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tree([Option<u32>; Path::NAMES.len()]);

impl Tree {
    /// Takes a step if it makes sense, and tells whether it does.
    fn take(&mut self, step: FileStep) -> bool {
        let place = |path: Path| usize::from(path.0);
        let now = |path: Path| self.0[place(path)];
        let has_room = |path: Path| path.folder().is_none_or(|folder| now(folder).is_some());
        let is_used = |folder: Path| Path::all().any(|path| path.folder() == Some(folder) && now(path).is_some());
        match step {
            FileStep::Put(path, bytes) if has_room(path) => self.0[place(path)] = Some(bytes),
            FileStep::Append(path, bytes) if now(path).is_some() => {
                self.0[place(path)] = now(path).map(|before| before + bytes);
            }
            FileStep::Truncate(path, bytes) if now(path).is_some_and(|before| before >= bytes) => {
                self.0[place(path)] = Some(bytes);
            }
            FileStep::Move(from, to) if from != to && now(from).is_some() && has_room(to) => {
                self.0[place(to)] = self.0[place(from)].take();
            }
            FileStep::Remove(path) if now(path).is_some() && !is_used(path) => self.0[place(path)] = None,
            FileStep::Mkdir(path) if now(path).is_none() => self.0[place(path)] = Some(0),
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_step_makes_sense_after_the_steps_before_it() {
        let mut random = Random::new(1);
        let mut tree = Tree::default();
        let mut kinds = [0; 6];
        for _ in 0..2000 {
            let before = tree;
            let step = FileStep::drawn(&mut random, &mut tree);
            let has = |path: Path| before.0[usize::from(path.0)].is_some();
            let kind = match step {
                FileStep::Put(path, _) => (0, path.folder().is_none_or(has)),
                FileStep::Append(path, _) => (1, has(path)),
                FileStep::Truncate(path, _) => (2, has(path)),
                FileStep::Move(from, to) => (3, has(from) && to.folder().is_none_or(has)),
                FileStep::Remove(path) => (4, has(path)),
                FileStep::Mkdir(path) => (5, !has(path)),
            };
            assert!(kind.1, "{step}");
            kinds[kind.0] += 1;
        }
        assert!(kinds.iter().all(|&drawn| drawn > 50), "{kinds:?}");
    }
}

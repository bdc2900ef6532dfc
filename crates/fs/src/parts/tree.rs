//! What a path means, and what may be done with it: the same for every file system on bare flash.

use crate::{FsError, Kind};

/// Symbolic links that a path may lead over.
const MAX_LINKS: u32 = 8;

/// Names in directories. Entries and contents are numbers; a hard link is an entry of its own, for the contents of
/// another.
pub(crate) trait Tree {
    const ROOT: u32;
    /// Most bytes of a name.
    fn name_bytes(&self) -> usize;
    fn find(&mut self, directory: u32, name: &str) -> Result<Option<u32>, FsError>;
    /// What an entry is; a hard link is a file.
    fn kind(&mut self, entry: u32) -> Result<Kind, FsError>;
    fn parent(&mut self, entry: u32) -> Result<u32, FsError>;
    /// Where a symbolic link leads.
    fn target(&mut self, entry: u32) -> Result<String, FsError>;
    /// The entry that has the bytes.
    fn contents(&mut self, entry: u32) -> Result<u32, FsError>;
    /// Entries whose bytes are open, every name of a file.
    fn open_entries(&mut self) -> Result<Vec<u32>, FsError>;
}

/// Where a name is or could be.
pub(crate) struct Place {
    pub(crate) directory: u32,
    pub(crate) name: String,
    pub(crate) entry: Option<u32>,
}

/// A rename that may be done.
pub(crate) struct Renaming {
    pub(crate) entry: u32,
    pub(crate) to: Place,
}

pub(crate) fn not_found(path: &str) -> FsError {
    FsError::NotFound { path: path.to_owned() }
}

pub(crate) fn exists(path: &str) -> FsError {
    FsError::Exists { path: path.to_owned() }
}

fn bad_name(path: &str, why: impl Into<String>) -> FsError {
    FsError::BadName { path: path.to_owned(), why: why.into() }
}

fn wrong_kind(path: &str, is: Kind, needed: &'static str) -> FsError {
    let is = match is {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Symlink => "symbolic link",
    };
    FsError::WrongKind { path: path.to_owned(), is, needed }
}

fn names<'p, T: Tree>(tree: &T, path: &'p str) -> Result<Vec<&'p str>, FsError> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    for name in &names {
        if matches!(*name, "." | "..") || name.contains('\0') {
            return Err(bad_name(path, "`.`, `..` and names with a zero byte are not names here"));
        }
        if name.len() > tree.name_bytes() {
            return Err(bad_name(path, format!("a name has at most {} bytes", tree.name_bytes())));
        }
    }
    Ok(names)
}

/// The directory that `names` lead to, over symbolic links.
fn walk<T: Tree>(tree: &mut T, path: &str, names: &[&str], links: &mut u32) -> Result<u32, FsError> {
    let mut directory = T::ROOT;
    for (n, name) in names.iter().enumerate() {
        let above = || names[..=n].join("/");
        let entry = tree.find(directory, name)?.ok_or_else(|| not_found(&above()))?;
        directory = match tree.kind(entry)? {
            Kind::Directory => entry,
            Kind::Symlink => follow(tree, path, entry, links)?,
            Kind::File => return Err(wrong_kind(&above(), Kind::File, "directory")),
        };
        if tree.kind(directory)? != Kind::Directory {
            return Err(wrong_kind(&above(), Kind::File, "directory"));
        }
    }
    Ok(directory)
}

/// What a symbolic link stands for in the end.
fn follow<T: Tree>(tree: &mut T, path: &str, entry: u32, links: &mut u32) -> Result<u32, FsError> {
    *links += 1;
    if *links > MAX_LINKS {
        return Err(bad_name(path, format!("it leads over more than {MAX_LINKS} symbolic links")));
    }
    let target = tree.target(entry)?;
    let to = located(tree, &target, links)?.ok_or_else(|| not_found(path))?;
    match tree.kind(to)? {
        Kind::Symlink => follow(tree, path, to, links),
        _ => Ok(to),
    }
}

fn located<T: Tree>(tree: &mut T, path: &str, links: &mut u32) -> Result<Option<u32>, FsError> {
    let names = names(tree, path)?;
    match names.split_last() {
        None => Ok(Some(T::ROOT)),
        Some((name, above)) => {
            let directory = walk(tree, path, above, links)?;
            tree.find(directory, name)
        }
    }
}

/// The entry at `path`, a symbolic link as such.
pub(crate) fn entry<T: Tree>(tree: &mut T, path: &str) -> Result<u32, FsError> {
    located(tree, path, &mut 0)?.ok_or_else(|| not_found(path))
}

/// Where the last name of `path` is or could be; `None`: the path is the root.
pub(crate) fn place<T: Tree>(tree: &mut T, path: &str) -> Result<Option<Place>, FsError> {
    let names = names(tree, path)?;
    let Some((&name, above)) = names.split_last() else { return Ok(None) };
    let directory = walk(tree, path, above, &mut 0)?;
    let entry = tree.find(directory, name)?;
    Ok(Some(Place { directory, name: name.to_owned(), entry }))
}

/// Where a new name can be made.
pub(crate) fn vacant<T: Tree>(tree: &mut T, path: &str) -> Result<Place, FsError> {
    match place(tree, path)? {
        Some(place) if place.entry.is_none() => Ok(place),
        _ => Err(exists(path)),
    }
}

/// The file that an entry leads to.
pub(crate) fn file_of<T: Tree>(tree: &mut T, path: &str, entry: u32) -> Result<u32, FsError> {
    let at = match tree.kind(entry)? {
        Kind::Symlink => follow(tree, path, entry, &mut 0)?,
        _ => entry,
    };
    match tree.kind(at)? {
        Kind::File => tree.contents(at),
        other => Err(wrong_kind(path, other, "file")),
    }
}

/// The file at `path`, over symbolic links.
pub(crate) fn file<T: Tree>(tree: &mut T, path: &str) -> Result<u32, FsError> {
    let at = entry(tree, path)?;
    file_of(tree, path, at)
}

/// The symbolic link at `path`.
pub(crate) fn symlink<T: Tree>(tree: &mut T, path: &str) -> Result<u32, FsError> {
    let at = entry(tree, path)?;
    match tree.kind(at)? {
        Kind::Symlink => Ok(at),
        other => Err(wrong_kind(path, other, "symbolic link")),
    }
}

/// The directory at `path`, over symbolic links.
pub(crate) fn directory<T: Tree>(tree: &mut T, path: &str) -> Result<u32, FsError> {
    let names = names(tree, path)?;
    walk(tree, path, &names, &mut 0)
}

/// The entry of a file or symbolic link that may be taken away.
pub(crate) fn removable<T: Tree>(tree: &mut T, path: &str) -> Result<u32, FsError> {
    let at = entry(tree, path)?;
    if tree.kind(at)? == Kind::Directory {
        return Err(wrong_kind(path, Kind::Directory, "file"));
    }
    refuse_open(tree, path, at)?;
    Ok(at)
}

/// The entry of a directory that may be taken away if it is empty.
pub(crate) fn removable_directory<T: Tree>(tree: &mut T, path: &str) -> Result<u32, FsError> {
    let at = entry(tree, path)?;
    if at == T::ROOT {
        return Err(bad_name(path, "the root directory stays"));
    }
    match tree.kind(at)? {
        Kind::Directory => Ok(at),
        other => Err(wrong_kind(path, other, "directory")),
    }
}

/// Refuses what is open, and what has something open below.
fn refuse_open<T: Tree>(tree: &mut T, path: &str, entry: u32) -> Result<(), FsError> {
    let contents = tree.contents(entry)?;
    for open in tree.open_entries()? {
        let mut at = open;
        if tree.contents(open)? == contents {
            return Err(FsError::Busy { path: path.to_owned() });
        }
        while at != T::ROOT {
            if at == entry {
                return Err(FsError::Busy { path: path.to_owned() });
            }
            at = tree.parent(at)?;
        }
    }
    Ok(())
}

fn is_below<T: Tree>(tree: &mut T, mut at: u32, above: u32) -> Result<bool, FsError> {
    loop {
        if at == above {
            return Ok(true);
        }
        if at == T::ROOT {
            return Ok(false);
        }
        at = tree.parent(at)?;
    }
}

/// What a rename does; `None`: nothing, since both paths are the same place.
pub(crate) fn renaming<T: Tree>(tree: &mut T, from: &str, to: &str) -> Result<Option<Renaming>, FsError> {
    let stays = |path: &str| bad_name(path, "the root directory stays");
    let source = place(tree, from)?.ok_or_else(|| stays(from))?;
    let entry = source.entry.ok_or_else(|| not_found(from))?;
    let target = place(tree, to)?.ok_or_else(|| stays(to))?;
    let kind = tree.kind(entry)?;
    if kind == Kind::Directory && target.entry != Some(entry) && is_below(tree, target.directory, entry)? {
        return Err(bad_name(to, format!("it is inside '{from}'")));
    }
    refuse_open(tree, from, entry)?;
    match target.entry {
        // Two names of one file: nothing happens, as POSIX has it.
        Some(other) if tree.contents(other)? == tree.contents(entry)? => return Ok(None),
        Some(other) => match (tree.kind(other)?, kind) {
            (Kind::Directory, _) => return Err(exists(to)),
            (is, Kind::Directory) => return Err(wrong_kind(to, is, "directory")),
            _ => refuse_open(tree, to, other)?,
        },
        None => {}
    }
    Ok(Some(Renaming { entry, to: target }))
}

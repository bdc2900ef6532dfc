//! Path lookup and the rules for names, shared by the file systems on bare flash.

use crate::{FsError, Kind};

/// Most symbolic links in a path lookup.
const MAX_LINKS: u32 = 8;

/// A directory tree. Entries and contents are numbers; a hard link is its own entry, for the
/// contents of another.
pub(crate) trait Tree {
    const ROOT: u32;
    /// Most bytes in a name.
    fn name_bytes(&self) -> usize;
    fn find(&mut self, directory: u32, name: &str) -> Result<Option<u32>, FsError>;
    /// An entry's type; a hard link is a file.
    fn kind(&mut self, entry: u32) -> Result<Kind, FsError>;
    fn parent(&mut self, entry: u32) -> Result<u32, FsError>;
    /// A symbolic link's target path.
    fn target(&mut self, entry: u32) -> Result<String, FsError>;
    /// The entry owning the contents.
    fn contents(&mut self, entry: u32) -> Result<u32, FsError>;
    /// Entries with open contents, including an open file's other names.
    fn open_entries(&mut self) -> Result<Vec<u32>, FsError>;
}

/// An existing or new name's place.
pub(crate) struct Place {
    pub(crate) directory: u32,
    pub(crate) name: String,
    pub(crate) entry: Option<u32>,
}

/// An allowed rename.
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

/// Follows `names` to a directory, through symbolic links.
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

/// A symbolic link's final target.
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

/// The entry at `path`; a final symbolic link is not followed.
pub(crate) fn entry<T: Tree>(tree: &mut T, path: &str) -> Result<u32, FsError> {
    located(tree, path, &mut 0)?.ok_or_else(|| not_found(path))
}

/// The last name's place in `path`; `None` for the root.
pub(crate) fn place<T: Tree>(tree: &mut T, path: &str) -> Result<Option<Place>, FsError> {
    let names = names(tree, path)?;
    let Some((&name, above)) = names.split_last() else { return Ok(None) };
    let directory = walk(tree, path, above, &mut 0)?;
    let entry = tree.find(directory, name)?;
    Ok(Some(Place { directory, name: name.to_owned(), entry }))
}

/// The place for a new name.
pub(crate) fn vacant<T: Tree>(tree: &mut T, path: &str) -> Result<Place, FsError> {
    match place(tree, path)? {
        Some(place) if place.entry.is_none() => Ok(place),
        _ => Err(exists(path)),
    }
}

/// The file behind an entry, through symbolic links.
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

/// The file at `path`, through symbolic links.
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

/// The directory at `path`, through symbolic links.
pub(crate) fn directory<T: Tree>(tree: &mut T, path: &str) -> Result<u32, FsError> {
    let names = names(tree, path)?;
    walk(tree, path, &names, &mut 0)
}

/// A removable file's or symbolic link's entry.
pub(crate) fn removable<T: Tree>(tree: &mut T, path: &str) -> Result<u32, FsError> {
    let at = entry(tree, path)?;
    if tree.kind(at)? == Kind::Directory {
        return Err(wrong_kind(path, Kind::Directory, "file"));
    }
    refuse_open(tree, path, at)?;
    Ok(at)
}

/// A directory's entry, removable if empty.
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

/// Refuses an open entry, or a directory with an open entry below it.
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

/// Checks a rename; `None` if both paths are the same file and nothing happens.
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
        // Two names of one file: nothing happens, as in POSIX.
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

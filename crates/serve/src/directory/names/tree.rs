//! Names: made, renamed, removed, listed.

use super::files::Status;
use super::node::Kind;
use super::{failed, Names, HIDDEN, ROOT};
use fuser::Errno;
use nandlab_fs::{Attributes, FileSystem, FsError};

/// Who makes a file, and with which permissions.
#[derive(Clone, Copy, Debug)]
pub(in crate::directory) struct Maker {
    pub mode: u32,
    pub owner: u32,
    pub group: u32,
}

/// A name in a directory.
#[derive(Clone, Debug)]
pub(in crate::directory) struct Entry {
    pub number: u64,
    pub kind: Kind,
    pub name: String,
}

impl Names {
    /// The path for a name not yet taken.
    fn vacant(&mut self, fs: &mut dyn FileSystem, parent: u64, name: &str) -> Result<String, Errno> {
        let path = self.path_of(parent, name)?;
        match fs.stat(&path) {
            Ok(_) => Err(Errno::EEXIST),
            Err(FsError::NotFound { .. }) => Ok(path),
            Err(error) => failed(Err(error)),
        }
    }

    /// A new name: its number, and whose it is.
    fn made(
        &mut self,
        fs: &mut dyn FileSystem,
        (parent, name): (u64, &str),
        kind: Kind,
        Maker { mode, owner, group }: Maker,
    ) -> Result<u64, Errno> {
        let name = self.as_stored(fs, parent, name)?;
        let number = self.add(fs, parent, &name, kind)?;
        self.touch(fs, parent);
        let attributes: Attributes = self.owned(kind, mode, owner, group);
        self.node_mut(number)?.pending = Some(attributes);
        Ok(number)
    }

    /// Makes a file and opens it.
    pub(in crate::directory) fn create(
        &mut self,
        fs: &mut dyn FileSystem,
        parent: u64,
        name: &str,
        maker: Maker,
    ) -> Result<Status, Errno> {
        let path = self.vacant(fs, parent, name)?;
        let handle = failed(fs.create(&path))?;
        let number = self.made(fs, (parent, name), Kind::File, maker)?;
        let node = self.node_mut(number)?;
        (node.handle, node.opens) = (Some(handle), 1);
        self.status(fs, number)
    }

    /// Makes a directory.
    pub(in crate::directory) fn make_directory(
        &mut self,
        fs: &mut dyn FileSystem,
        parent: u64,
        name: &str,
        maker: Maker,
    ) -> Result<Status, Errno> {
        let path = self.vacant(fs, parent, name)?;
        failed(fs.mkdir(&path))?;
        let number = self.made(fs, (parent, name), Kind::Directory, maker)?;
        self.store(fs, number)?;
        self.status(fs, number)
    }

    /// Makes a symbolic link; a target too long for the format goes into a file with a link's mode.
    pub(in crate::directory) fn make_link(
        &mut self,
        fs: &mut dyn FileSystem,
        (parent, name): (u64, &str),
        target: &str,
        maker: Maker,
    ) -> Result<Status, Errno> {
        let path = self.vacant(fs, parent, name)?;
        let links = fs.links().ok_or(Errno::EPERM)?;
        match links.symlink(target, &path) {
            Err(FsError::BadName { path: refused, .. }) if refused == target => match self.keeps {
                true => make_long_link(fs, &path, target)?,
                false => return Err(Errno::ENAMETOOLONG),
            },
            made => failed(made)?,
        }
        let number = self.made(fs, (parent, name), Kind::Symlink, Maker { mode: 0o777, ..maker })?;
        self.store(fs, number)?;
        self.status(fs, number)
    }

    /// Removes a file or a symbolic link; an open one stays, without a name.
    pub(in crate::directory) fn unlink(
        &mut self,
        fs: &mut dyn FileSystem,
        parent: u64,
        name: &str,
    ) -> Result<(), Errno> {
        let number = self.find(fs, parent, name)?;
        if self.node(number)?.kind == Kind::Directory {
            return Err(Errno::EISDIR);
        }
        self.touch(fs, parent);
        if self.node(number)?.opens > 0 {
            return self.hide(fs, number);
        }
        self.close(fs, number)?;
        failed(fs.unlink(&self.path(number)?))?;
        self.remove(number);
        Ok(())
    }

    /// Takes an open file's name away.
    fn hide(&mut self, fs: &mut dyn FileSystem, number: u64) -> Result<(), Errno> {
        self.close(fs, number)?;
        let name = format!("{HIDDEN}{number}-{}", self.node(number)?.generation);
        failed(fs.rename(&self.path(number)?, &name))?;
        self.place(number, ROOT, name)?;
        self.node_mut(number)?.is_hidden = true;
        Ok(())
    }

    /// Gives a file another place.
    fn place(&mut self, number: u64, parent: u64, name: String) -> Result<(), Errno> {
        let node = self.node_mut(number)?;
        node.status_ns = super::now_ns();
        let before = (std::mem::replace(&mut node.parent, parent), std::mem::replace(&mut node.name, name.clone()));
        self.places.remove(&before);
        self.places.insert((parent, name), number);
        Ok(())
    }

    /// Removes an empty directory.
    pub(in crate::directory) fn remove_directory(
        &mut self,
        fs: &mut dyn FileSystem,
        parent: u64,
        name: &str,
    ) -> Result<(), Errno> {
        let number = self.find(fs, parent, name)?;
        if self.node(number)?.kind != Kind::Directory {
            return Err(Errno::ENOTDIR);
        }
        failed(fs.rmdir(&self.path(number)?))?;
        self.remove(number);
        self.touch(fs, parent);
        Ok(())
    }

    /// Renames a file or a directory, over another one if there is one and `replaces`.
    pub(in crate::directory) fn rename(
        &mut self,
        fs: &mut dyn FileSystem,
        (from, name): (u64, &str),
        (to, new_name): (u64, &str),
        replaces: bool,
    ) -> Result<(), Errno> {
        let number = self.find(fs, from, name)?;
        let path = self.path_of(to, new_name)?;
        let there = match self.find(fs, to, new_name) {
            Err(error) if error == Errno::ENOENT => None,
            there => Some(there?),
        };
        if there.is_some() && !replaces {
            return Err(Errno::EEXIST);
        }
        // README over readme is the same file on FAT.
        let there = there.filter(|&there| there != number);
        self.close_below(fs, number)?;
        if let Some(there) = there {
            self.make_room(fs, number, there)?;
        }
        failed(fs.rename(&self.path(number)?, &path))?;
        if let Some(there) = there.filter(|there| self.nodes.get(there).is_some_and(|node| !node.is_hidden)) {
            self.remove(there);
        }
        let stored = self.as_stored(fs, to, new_name)?;
        self.place(number, to, stored)?;
        self.touch(fs, from);
        self.touch(fs, to);
        Ok(())
    }

    /// Prepares `there` for its replacement by `number`.
    fn make_room(&mut self, fs: &mut dyn FileSystem, number: u64, there: u64) -> Result<(), Errno> {
        match (self.node(number)?.kind, self.node(there)?.kind) {
            (Kind::Directory, Kind::Directory) => failed(fs.rmdir(&self.path(there)?)),
            (Kind::Directory, _) => Err(Errno::ENOTDIR),
            (_, Kind::Directory) => Err(Errno::EISDIR),
            _ if self.node(there)?.opens > 0 => self.hide(fs, there),
            _ => self.close(fs, there),
        }
    }

    /// Closes a file, and every file below a directory: an open one cannot be renamed.
    fn close_below(&mut self, fs: &mut dyn FileSystem, number: u64) -> Result<(), Errno> {
        let open: Vec<u64> = self.nodes.iter().filter(|(_, node)| node.handle.is_some()).map(|(&at, _)| at).collect();
        for file in open {
            let mut at = file;
            while at != ROOT && at != number {
                at = self.node(at)?.parent;
            }
            if at == number {
                self.close(fs, file)?;
            }
        }
        Ok(())
    }

    /// The names in a directory, `.` and `..` first.
    pub(in crate::directory) fn list(&mut self, fs: &mut dyn FileSystem, number: u64) -> Result<Vec<Entry>, Errno> {
        let parent = if number == ROOT { ROOT } else { self.node(number)?.parent };
        let dot = |number, name: &str| Entry { number, kind: Kind::Directory, name: name.to_owned() };
        let mut entries = vec![dot(number, "."), dot(parent, "..")];
        for name in failed(fs.list(&self.path(number)?))? {
            if number == ROOT && name.starts_with(HIDDEN) {
                continue;
            }
            let at = self.look(fs, number, &name, true)?;
            entries.push(Entry { number: at, kind: self.node(at)?.kind, name });
        }
        Ok(entries)
    }
}

fn make_long_link(fs: &mut dyn FileSystem, path: &str, target: &str) -> Result<(), Errno> {
    let handle = failed(fs.create(path))?;
    let written = fs.write(handle, 0, target.as_bytes());
    failed(fs.close(handle))?;
    if written.is_err() {
        failed(fs.unlink(path))?;
    }
    failed(written)
}

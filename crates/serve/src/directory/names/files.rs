//! Contents and attributes.

use super::node::{self, Kind, Node};
use super::{failed, now_ns, Names, ROOT};
use fuser::Errno;
use nandlab_block::Op;
use nandlab_fs::{Attributes, FileSystem, Handle};
use nandlab_lab::served::Asked;

/// Permission bits if none are stored, as the kernel shows a FAT volume.
const PERMISSIONS: u32 = 0o755;

/// A file's `stat` data.
#[derive(Clone, Copy, Debug)]
pub(in crate::directory) struct Status {
    pub number: u64,
    pub generation: u64,
    pub kind: Kind,
    pub bytes: u64,
    pub links: u32,
    pub attributes: Attributes,
    /// When attributes, name or contents changed last, ns since 1970.
    pub status_ns: u64,
}

impl Status {
    /// For a removed file.
    pub fn removed(number: u64) -> Self {
        let attributes = Attributes::default();
        Self { number, generation: 0, kind: Kind::File, bytes: 0, links: 0, attributes, status_ns: now_ns() }
    }
}

/// A program's changes; `None` stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::directory) struct Change {
    pub mode: Option<u32>,
    pub owner: Option<u32>,
    pub group: Option<u32>,
    pub bytes: Option<u64>,
    pub changed_ns: Option<u64>,
}

impl Names {
    /// A file's status.
    pub(in crate::directory) fn status(&mut self, fs: &mut dyn FileSystem, number: u64) -> Result<Status, Errno> {
        let stat = failed(fs.stat(&self.path(number)?))?;
        let attributes = self.attributes(fs, number)?;
        let bytes = match stat.kind {
            nandlab_fs::Kind::Symlink => self.target(fs, number)?.len() as u64,
            _ => stat.bytes,
        };
        let &Node { kind, generation, is_hidden, status_ns, .. } = self.node(number)?;
        let status_ns = if status_ns == 0 { attributes.changed_ns } else { status_ns };
        Ok(Status { number, generation, kind, bytes, links: u32::from(!is_hidden), attributes, status_ns })
    }

    /// A file's mode, owner and time.
    fn attributes(&self, fs: &mut dyn FileSystem, number: u64) -> Result<Attributes, Errno> {
        let node = self.node(number)?;
        if let Some(pending) = node.pending {
            return Ok(pending);
        }
        let stored = match self.keeps {
            true => failed(fs.attributes(&self.path(number)?))?,
            false => None,
        };
        let mode = node.kind.mode() | PERMISSIONS;
        Ok(stored.filter(|stored| stored.mode != 0).unwrap_or(Attributes { mode, ..self.default }))
    }

    /// A new file's attributes, with its owner if the file system stores it.
    pub(super) fn owned(&self, kind: Kind, mode: u32, owner: u32, group: u32) -> Attributes {
        let changed_ns = now_ns();
        match self.keeps {
            true => Attributes { mode: kind.mode() | mode & 0o7777, owner, group, changed_ns },
            false => Attributes { mode: kind.mode() | PERMISSIONS, changed_ns, ..self.default },
        }
    }

    /// Names in a directory, or contents, have changed: the time is stored with the next attributes.
    pub(super) fn touch(&mut self, fs: &mut dyn FileSystem, number: u64) {
        if let Ok(attributes) = self.attributes(fs, number) {
            let now = now_ns();
            if let Some(node) = self.nodes.get_mut(&number) {
                (node.pending, node.status_ns) = (Some(Attributes { changed_ns: now, ..attributes }), now);
            }
        }
    }

    /// Stores pending attributes, if the file system has room for them.
    pub(super) fn store(&mut self, fs: &mut dyn FileSystem, number: u64) -> Result<(), Errno> {
        if !self.keeps || number == ROOT {
            return Ok(());
        }
        let Some(pending) = self.node(number)?.pending else { return Ok(()) };
        failed(fs.set_attributes(&self.path(number)?, pending))?;
        self.node_mut(number)?.pending = None;
        Ok(())
    }

    /// Makes a program's changes.
    pub(in crate::directory) fn change(
        &mut self,
        fs: &mut dyn FileSystem,
        number: u64,
        change: Change,
    ) -> Result<Status, Errno> {
        let mut attributes = self.attributes(fs, number)?;
        if !self.keeps {
            let is_other = |is: Option<u32>, was: u32| is.is_some_and(|is| is != was);
            let is_refused = is_other(change.owner, attributes.owner)
                || is_other(change.group, attributes.group)
                || change.mode.is_some_and(|mode| mode & 0o7000 != 0);
            if is_refused {
                return Err(Errno::EPERM);
            }
        }
        if let Some(bytes) = change.bytes {
            if self.node(number)?.kind == Kind::Directory {
                return Err(Errno::EISDIR);
            }
            let handle = self.handle(fs, number)?;
            failed(fs.truncate(handle, bytes))?;
            attributes.changed_ns = now_ns();
        }
        if let Some(mode) = change.mode.filter(|_| self.keeps) {
            attributes.mode = attributes.mode & node::TYPE | mode & !node::TYPE;
        }
        attributes.owner = change.owner.unwrap_or(attributes.owner);
        attributes.group = change.group.unwrap_or(attributes.group);
        attributes.changed_ns = change.changed_ns.unwrap_or(attributes.changed_ns);
        let node = self.node_mut(number)?;
        (node.pending, node.status_ns) = (Some(attributes), now_ns());
        if node.opens == 0 {
            self.store(fs, number)?;
            self.close(fs, number)?;
        }
        self.status(fs, number)
    }

    /// The file, open below.
    fn handle(&mut self, fs: &mut dyn FileSystem, number: u64) -> Result<Handle, Errno> {
        if let Some(handle) = self.node(number)?.handle {
            return Ok(handle);
        }
        let handle = failed(fs.open(&self.path(number)?))?;
        self.node_mut(number)?.handle = Some(handle);
        Ok(handle)
    }

    /// Closes a file below; programs may still have it open.
    pub(super) fn close(&mut self, fs: &mut dyn FileSystem, number: u64) -> Result<(), Errno> {
        match self.node_mut(number)?.handle.take() {
            Some(handle) => failed(fs.close(handle)),
            None => Ok(()),
        }
    }

    /// A program opens a file.
    pub(in crate::directory) fn open(&mut self, fs: &mut dyn FileSystem, number: u64) -> Result<(), Errno> {
        self.handle(fs, number)?;
        self.node_mut(number)?.opens += 1;
        Ok(())
    }

    /// A program closes a file.
    pub(in crate::directory) fn release(&mut self, fs: &mut dyn FileSystem, number: u64) -> Result<(), Errno> {
        let node = self.node_mut(number)?;
        node.opens = node.opens.saturating_sub(1);
        if node.opens > 0 {
            return Ok(());
        }
        if node.is_hidden {
            self.close(fs, number)?;
            let path = self.path(number)?;
            self.remove(number);
            return failed(fs.unlink(&path));
        }
        // The file is closed, even if its attributes were not stored.
        let stored = self.store(fs, number);
        self.close(fs, number).and(stored)
    }

    /// Reads up to `bytes` bytes.
    pub(in crate::directory) fn read(
        &mut self,
        fs: &mut dyn FileSystem,
        number: u64,
        at: u64,
        bytes: usize,
    ) -> Result<Vec<u8>, Errno> {
        let handle = self.handle(fs, number)?;
        let mut out = vec![0; bytes];
        let read = failed(fs.read(handle, at, &mut out))?;
        out.truncate(read);
        self.asked = Some(Asked { op: Op::Read, at, bytes: read as u64 });
        Ok(out)
    }

    /// Writes at `at`, or at the file's end.
    pub(in crate::directory) fn write(
        &mut self,
        fs: &mut dyn FileSystem,
        number: u64,
        at: Option<u64>,
        bytes: &[u8],
    ) -> Result<(), Errno> {
        let handle = self.handle(fs, number)?;
        let at = match at {
            Some(at) => at,
            None => failed(fs.len(handle))?,
        };
        failed(fs.write(handle, at, bytes))?;
        self.asked = Some(Asked { op: Op::Write, at, bytes: bytes.len() as u64 });
        self.touch(fs, number);
        Ok(())
    }

    /// Makes a file survive a power cut; with `data`, its contents and length alone: fdatasync.
    pub(in crate::directory) fn sync(&mut self, fs: &mut dyn FileSystem, number: u64, data: bool) -> Result<(), Errno> {
        self.asked = Some(Asked { op: Op::Flush, at: 0, bytes: 0 });
        let is_data = data && self.node(number)?.kind == Kind::File;
        if !is_data {
            self.store(fs, number)?;
        }
        match self.node(number)?.kind {
            Kind::File => {
                let handle = self.handle(fs, number)?;
                failed(if is_data { fs.sync_data(handle) } else { fs.sync(handle) })
            }
            Kind::Directory | Kind::Symlink => failed(fs.sync_all()),
        }
    }

    /// A symbolic link's target.
    pub(in crate::directory) fn target(&mut self, fs: &mut dyn FileSystem, number: u64) -> Result<Vec<u8>, Errno> {
        if self.node(number)?.kind != Kind::Symlink {
            return Err(Errno::EINVAL);
        }
        let path = self.path(number)?;
        if failed(fs.stat(&path))?.kind == nandlab_fs::Kind::Symlink {
            let links = fs.links().ok_or(Errno::EINVAL)?;
            return failed(links.read_link(&path)).map(String::into_bytes);
        }
        // A target too long for the format.
        let handle = self.handle(fs, number)?;
        let bytes = failed(fs.len(handle))?;
        let mut target = vec![0; bytes as usize];
        failed(fs.read(handle, 0, &mut target))?;
        self.close(fs, number)?;
        Ok(target)
    }
}

//! Implements [`FileSystem`] on top of the operations of a file system on bare flash.

use super::chunks::Chunked;
use super::tree::{self, Place, Renaming, Tree};
use crate::{Attributes, FileSystem, FsError, Handle, Kind, Links, Space, Stat};
use nandlab_block::RamUse;

/// Most bytes in a symbolic link's target, as in YAFFS.
pub(crate) const TARGET_BYTES: usize = 159;

/// Operations specific to each file system. The caller has looked up the paths and refused invalid
/// requests.
pub(crate) trait Volume: Chunked + Tree {
    /// Creates an empty file.
    fn make_file(&mut self, place: &Place) -> Result<u32, FsError>;
    fn make_directory(&mut self, place: &Place) -> Result<(), FsError>;
    fn make_symlink(&mut self, place: &Place, target: &str) -> Result<(), FsError>;
    /// Gives a file a second name.
    fn make_link(&mut self, place: &Place, file: u32) -> Result<(), FsError>;
    fn move_entry(&mut self, renaming: &Renaming) -> Result<(), FsError>;
    /// Removes an entry; contents with another name stay.
    fn remove(&mut self, entry: u32) -> Result<(), FsError>;
    /// Names in a directory, ascending.
    fn names_in(&mut self, directory: u32) -> Result<Vec<String>, FsError>;
    fn is_empty(&mut self, directory: u32) -> Result<bool, FsError>;
    /// Makes all remaining state durable; open files already are.
    fn save(&mut self) -> Result<(), FsError>;
    /// Pages in all usable blocks.
    fn usable_pages(&self) -> u64;
    fn memory(&self) -> RamUse;
    /// As [`FileSystem::attributes`].
    fn stored_attributes(&self, _entry: u32) -> Option<Attributes> {
        None
    }
    /// As [`FileSystem::set_attributes`].
    fn store_attributes(&mut self, _entry: u32, _attributes: Attributes) -> Result<(), FsError> {
        Err(FsError::Unsupported("a stored mode, owner or time"))
    }
}

impl<V: Volume> FileSystem for V {
    fn create(&mut self, path: &str) -> Result<Handle, FsError> {
        self.alive()?;
        let file = match tree::place(self, path)? {
            Some(place) if place.entry.is_none() => self.make_file(&place)?,
            _ => {
                let file = tree::file(self, path)?;
                self.resize(file, 0)?;
                file
            }
        };
        Ok(self.handles_mut().hand_out(file))
    }

    fn open(&mut self, path: &str) -> Result<Handle, FsError> {
        self.alive()?;
        let file = tree::file(self, path)?;
        Ok(self.handles_mut().hand_out(file))
    }

    fn close(&mut self, handle: Handle) -> Result<(), FsError> {
        let file = self.opened(handle)?;
        self.flush_closed(file)?;
        self.handles_mut().close(handle);
        Ok(())
    }

    fn read(&mut self, handle: Handle, at: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        let file = self.opened(handle)?;
        self.read_file(file, at, bytes)
    }

    fn write(&mut self, handle: Handle, at: u64, bytes: &[u8]) -> Result<(), FsError> {
        let file = self.opened(handle)?;
        self.write_file(file, at, bytes)
    }

    fn truncate(&mut self, handle: Handle, bytes: u64) -> Result<(), FsError> {
        let file = self.opened(handle)?;
        self.resize(file, bytes)
    }

    fn sync(&mut self, handle: Handle) -> Result<(), FsError> {
        let file = self.opened(handle)?;
        self.flush(file)
    }

    fn sync_data(&mut self, handle: Handle) -> Result<(), FsError> {
        let file = self.opened(handle)?;
        self.flush_data(file)
    }

    fn sync_all(&mut self) -> Result<(), FsError> {
        self.alive()?;
        self.handles().files().into_iter().try_for_each(|file| self.flush(file))?;
        self.save()
    }

    fn len(&mut self, handle: Handle) -> Result<u64, FsError> {
        let file = self.opened(handle)?;
        self.size(file)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), FsError> {
        self.alive()?;
        match tree::renaming(self, from, to)? {
            Some(renaming) => self.move_entry(&renaming),
            None => Ok(()),
        }
    }

    fn unlink(&mut self, path: &str) -> Result<(), FsError> {
        self.alive()?;
        let entry = tree::removable(self, path)?;
        self.remove(entry)
    }

    fn mkdir(&mut self, path: &str) -> Result<(), FsError> {
        self.alive()?;
        let place = tree::vacant(self, path)?;
        self.make_directory(&place)
    }

    fn rmdir(&mut self, path: &str) -> Result<(), FsError> {
        self.alive()?;
        let entry = tree::removable_directory(self, path)?;
        if !self.is_empty(entry)? {
            return Err(FsError::NotEmpty { path: path.to_owned() });
        }
        self.remove(entry)
    }

    fn stat(&mut self, path: &str) -> Result<Stat, FsError> {
        let entry = tree::entry(self, path)?;
        let kind = self.kind(entry)?;
        let contents = self.contents(entry)?;
        let bytes = if kind == Kind::Directory { 0 } else { self.size(contents)? };
        Ok(Stat { kind, bytes })
    }

    fn list(&mut self, path: &str) -> Result<Vec<String>, FsError> {
        let directory = tree::directory(self, path)?;
        self.names_in(directory)
    }

    fn space(&mut self) -> Result<Space, FsError> {
        let bytes = |pages: u64| pages.saturating_sub(self.reserve()) * self.page_bytes();
        Ok(Space { total_bytes: bytes(self.usable_pages()), free_bytes: bytes(self.free_pages()) })
    }

    fn ram(&self) -> RamUse {
        let mut used = self.memory();
        used.sram.insert("handles", self.handles().bytes());
        used
    }

    fn longest_name(&self) -> usize {
        self.name_bytes()
    }

    fn number(&mut self, path: &str) -> Result<Option<u32>, FsError> {
        tree::entry(self, path).map(Some)
    }

    fn attributes(&mut self, path: &str) -> Result<Option<Attributes>, FsError> {
        let entry = tree::entry(self, path)?;
        Ok(self.stored_attributes(entry))
    }

    fn set_attributes(&mut self, path: &str, attributes: Attributes) -> Result<(), FsError> {
        self.alive()?;
        let entry = tree::entry(self, path)?;
        self.store_attributes(entry, attributes)
    }

    fn links(&mut self) -> Option<&mut dyn Links> {
        Some(self)
    }
}

impl<V: Volume> Links for V {
    fn symlink(&mut self, target: &str, path: &str) -> Result<(), FsError> {
        self.alive()?;
        if target.len() > TARGET_BYTES {
            let why = format!("a symbolic link leads to at most {TARGET_BYTES} bytes");
            return Err(FsError::BadName { path: target.to_owned(), why });
        }
        let place = tree::vacant(self, path)?;
        self.make_symlink(&place, target)
    }

    fn read_link(&mut self, path: &str) -> Result<String, FsError> {
        let entry = tree::symlink(self, path)?;
        self.target(entry)
    }

    fn link(&mut self, from: &str, to: &str) -> Result<(), FsError> {
        self.alive()?;
        let file = tree::file(self, from)?;
        let place = tree::vacant(self, to)?;
        self.make_link(&place, file)
    }
}

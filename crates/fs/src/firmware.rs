//! Firmware: a file firmware of your own in C, in place of a file system on bare flash.
//!
//! ## Idea
//! The shared object that `nandlab prove` takes runs under a file workload, beside the other file systems. It works on a chip
//! of its own with raw pages. The device of the experiment counts each of its commands and takes its time.
//!
//! ## Write path
//! Each operation becomes calls of the firmware's table; a gap behind the end of a file is written with zeros. A plain model
//! holds every name and byte, and each read and list is compared with it. Sizes and kinds come from the model, without a
//! command. The firmware waits for each command, so its commands never overlap, not even on different dies.
//!
//! Commands count under the cause that the firmware names with `nl_cause()`, otherwise under `firmware`. A later program of a
//! page's part counts as a spare program: it fills no page.
//!
//! ## Recovery
//! The mount at a run's end loads the firmware anew on its chip, as after a power cut between two operations. `nandlab prove`
//! is there for cuts.
//!
//! ## Invariants
//! Names, sizes and bytes are those of the model.
//!
//! ## Differences
//! A failed call, a broken rule of the chip or a difference from the model ends the run. A crash ends the whole program.
//! Folders cannot be renamed.
//!
//! ## References
//! `include/nandlab.h`; docs/firmware.md.

use crate::flash::{BlockUse, FlashFs, FlashOptions};
use crate::parts::collector::Counts;
use crate::{FileSystem, FsError, Handle, Kind, Space, Stat};
use nandlab_block::firmware::{self, About, Files, Flash, Follower, Told, Unheard};
use nandlab_block::{Error, RamUse};
use nandlab_nand::nvm::{NvmCost, Nvram};
use nandlab_nand::{Cause, Geometry, Nand, Rules};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options of `[fs.firmware]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The shared object; a relative path starts at the experiment's folder.
    pub path: String,
    /// A text for the firmware alone, which reads it with `nl_options()`.
    pub options: String,
    /// The experiment's folder.
    #[serde(skip)]
    pub base: PathBuf,
}

impl Config {
    /// Checks the options, without a look at the shared object.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn check(&self) -> Result<(), FsError> {
        if self.path.is_empty() {
            return Err(self.wrong("it names no shared object; expected one such as \"./fw.so\""));
        }
        Ok(())
    }

    fn wrong(&self, why: &str) -> FsError {
        FsError::option("path", &format!("\"{}\"", self.path), why)
    }

    fn open(&self, geometry: &Geometry, rules: &Rules, told: &mut dyn Told) -> Result<Box<dyn Files>, FsError> {
        let path = self.base.join(&self.path);
        let about = About { path: &path, options: &self.options, geometry: *geometry, rules: *rules };
        firmware::open_files(&about, told).map_err(|why| self.wrong(&format!("it {why}")))
    }
}

fn no_nvram() -> Nvram {
    Nvram::new(0, NvmCost::default())
}

impl FlashOptions for Config {
    fn check_device(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FsError> {
        self.open(geometry, rules, &mut Unheard).map(drop)
    }

    fn nvram_bytes(&self, _: &Geometry) -> u64 {
        0
    }

    fn nvram(&self, _: &Geometry) -> Nvram {
        no_nvram()
    }

    fn mount<N: Nand + Send + 'static>(&self, mut nand: N, _: Nvram) -> Result<Box<dyn FlashFs<N>>, FsError> {
        let (geometry, rules) = (*nand.geometry(), *nand.rules());
        let mut flash = Flash::new(&geometry);
        let mut told = Follower { nand: &mut nand, flash: &mut flash, usual: Cause::Mount };
        let files = self.open(&geometry, &rules, &mut told)?;
        Ok(Box::new(Firmware { files, nand, flash, nodes: BTreeMap::new(), open: BTreeMap::new(), last: 0 }))
    }
}

/// A path's contents; `None` is a folder.
type Node = Option<Vec<u8>>;

/// A firmware in a run.
struct Firmware<N> {
    files: Box<dyn Files>,
    nand: N,
    flash: Flash,
    /// The model: every path but the root.
    nodes: BTreeMap<String, Node>,
    /// Open files: the path, and the firmware's own handle.
    open: BTreeMap<u32, (String, usize)>,
    last: u32,
}

/// The folder of a path.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn failed(sentence: String) -> FsError {
    FsError::Device(Error::WornOut(sentence))
}

impl<N: Nand> Firmware<N> {
    /// Calls the firmware; its commands count on the device.
    fn call<R>(&mut self, call: impl FnOnce(&mut dyn Files, &mut dyn Told) -> Result<R, String>) -> Result<R, FsError> {
        let mut told = Follower { nand: &mut self.nand, flash: &mut self.flash, usual: Cause::Firmware };
        call(&mut *self.files, &mut told).map_err(failed)
    }

    fn is_folder(&self, path: &str) -> Result<bool, FsError> {
        match self.nodes.get(path) {
            _ if path.is_empty() => Ok(true),
            Some(node) => Ok(node.is_none()),
            None => Err(FsError::NotFound { path: path.to_owned() }),
        }
    }

    /// Refuses a path in a missing folder, or in a file.
    fn has_folder(&self, path: &str) -> Result<(), FsError> {
        let folder = parent(path);
        if self.is_folder(folder)? {
            return Ok(());
        }
        Err(FsError::WrongKind { path: folder.to_owned(), is: "file", needed: "directory" })
    }

    fn is_file(&self, path: &str) -> Result<(), FsError> {
        if self.is_folder(path)? {
            return Err(FsError::WrongKind { path: path.to_owned(), is: "directory", needed: "file" });
        }
        Ok(())
    }

    /// Refuses an open file.
    fn is_closed(&self, path: &str) -> Result<(), FsError> {
        if self.open.values().any(|(open, _)| open == path) {
            return Err(FsError::Busy { path: path.to_owned() });
        }
        Ok(())
    }

    fn opened(&self, file: Handle) -> Result<(String, usize), FsError> {
        self.open.get(&file.0).cloned().ok_or(FsError::Closed)
    }

    fn bytes_of(&mut self, path: &str) -> &mut Vec<u8> {
        self.nodes.get_mut(path).and_then(Option::as_mut).expect("an open file is in the model")
    }

    fn hand_out(&mut self, path: &str, own: usize) -> Handle {
        self.last += 1;
        self.open.insert(self.last, (path.to_owned(), own));
        Handle(self.last)
    }

    /// Names in a folder of the model.
    fn names(&self, folder: &str) -> Vec<String> {
        let inside = |path: &&String| parent(path) == folder;
        self.nodes.keys().filter(inside).map(|path| path.rsplit('/').next().unwrap_or(path).to_owned()).collect()
    }

    /// Writes at a position that is not behind the end.
    fn write_at(&mut self, (path, own): &(String, usize), at: u64, bytes: &[u8]) -> Result<(), FsError> {
        self.call(|files, told| files.write(*own, at, bytes, told))?;
        let held = self.bytes_of(path);
        let (start, end) = (at as usize, at as usize + bytes.len());
        held.resize(held.len().max(end), 0);
        held[start..end].copy_from_slice(bytes);
        Ok(())
    }
}

impl<N: Nand> FileSystem for Firmware<N> {
    fn create(&mut self, path: &str) -> Result<Handle, FsError> {
        self.has_folder(path)?;
        if self.nodes.contains_key(path) {
            self.is_file(path)?;
        }
        let own = self.call(|files, told| files.open(path, true, told))?;
        if self.nodes.insert(path.to_owned(), Some(Vec::new())).is_some() {
            self.call(|files, told| files.truncate(own, 0, told))?;
        }
        Ok(self.hand_out(path, own))
    }

    fn open(&mut self, path: &str) -> Result<Handle, FsError> {
        self.is_file(path)?;
        let own = self.call(|files, told| files.open(path, true, told))?;
        Ok(self.hand_out(path, own))
    }

    fn close(&mut self, file: Handle) -> Result<(), FsError> {
        let (_, own) = self.open.remove(&file.0).ok_or(FsError::Closed)?;
        self.call(|files, told| files.close(own, told))
    }

    fn read(&mut self, file: Handle, at: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        let (path, own) = self.opened(file)?;
        let read = self.call(|files, told| files.read(own, at, bytes, told))?;
        let held = self.bytes_of(&path);
        let start = held.len().min(at as usize);
        let end = held.len().min(start + bytes.len());
        if bytes.get(..read) != Some(&held[start..end]) {
            return Err(failed(format!("the firmware read bytes from '{path}' that are not those written last")));
        }
        Ok(read)
    }

    fn write(&mut self, file: Handle, at: u64, bytes: &[u8]) -> Result<(), FsError> {
        let opened = self.opened(file)?;
        let end = self.bytes_of(&opened.0).len() as u64;
        if at > end {
            self.write_at(&opened, end, &vec![0; (at - end) as usize])?;
        }
        self.write_at(&opened, at, bytes)
    }

    fn truncate(&mut self, file: Handle, bytes: u64) -> Result<(), FsError> {
        let opened = self.opened(file)?;
        let end = self.bytes_of(&opened.0).len() as u64;
        if bytes > end {
            return self.write_at(&opened, end, &vec![0; (bytes - end) as usize]);
        }
        self.call(|files, told| files.truncate(opened.1, bytes, told))?;
        self.bytes_of(&opened.0).truncate(bytes as usize);
        Ok(())
    }

    fn sync(&mut self, file: Handle) -> Result<(), FsError> {
        let (_, own) = self.opened(file)?;
        self.call(|files, told| files.sync(own, told))
    }

    fn sync_all(&mut self) -> Result<(), FsError> {
        self.call(|files, told| files.sync_all(told))?;
        self.nand.ctx().fence();
        Ok(())
    }

    fn len(&mut self, file: Handle) -> Result<u64, FsError> {
        let (path, _) = self.opened(file)?;
        Ok(self.bytes_of(&path).len() as u64)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), FsError> {
        if self.is_folder(from)? {
            return Err(FsError::Unsupported("the rename of a directory"));
        }
        self.has_folder(to)?;
        if self.nodes.contains_key(to) {
            self.is_file(to)?;
        }
        self.is_closed(from)?;
        self.is_closed(to)?;
        if from == to {
            return Ok(());
        }
        self.call(|files, told| files.rename(from, to, told))?;
        let node = self.nodes.remove(from).expect("it is a file");
        self.nodes.insert(to.to_owned(), node);
        Ok(())
    }

    fn unlink(&mut self, path: &str) -> Result<(), FsError> {
        self.is_file(path)?;
        self.is_closed(path)?;
        self.call(|files, told| files.remove(path, told))?;
        self.nodes.remove(path);
        Ok(())
    }

    fn mkdir(&mut self, path: &str) -> Result<(), FsError> {
        self.has_folder(path)?;
        if path.is_empty() || self.nodes.contains_key(path) {
            return Err(FsError::Exists { path: path.to_owned() });
        }
        if !self.call(|files, told| files.mkdir(path, told))? {
            return Err(failed("the firmware has no folders, and the workload makes one".to_owned()));
        }
        self.nodes.insert(path.to_owned(), None);
        Ok(())
    }

    fn rmdir(&mut self, path: &str) -> Result<(), FsError> {
        if !self.is_folder(path)? {
            return Err(FsError::WrongKind { path: path.to_owned(), is: "file", needed: "directory" });
        }
        if path.is_empty() || !self.names(path).is_empty() {
            return Err(FsError::NotEmpty { path: path.to_owned() });
        }
        self.call(|files, told| files.remove(path, told))?;
        self.nodes.remove(path);
        Ok(())
    }

    fn stat(&mut self, path: &str) -> Result<Stat, FsError> {
        match self.nodes.get(path) {
            Some(Some(bytes)) => Ok(Stat { kind: Kind::File, bytes: bytes.len() as u64 }),
            _ => self.is_folder(path).map(|_| Stat { kind: Kind::Directory, bytes: 0 }),
        }
    }

    fn list(&mut self, path: &str) -> Result<Vec<String>, FsError> {
        if !self.is_folder(path)? {
            return Err(FsError::WrongKind { path: path.to_owned(), is: "file", needed: "directory" });
        }
        let mut names = self.call(|files, told| files.list(path, told))?;
        names.sort();
        let held = self.names(path);
        if names != held {
            let told = format!("the firmware lists {} names in '{path}', and {} are there", names.len(), held.len());
            return Err(failed(told));
        }
        Ok(names)
    }

    fn space(&mut self) -> Result<Space, FsError> {
        let geometry = self.nand.geometry();
        let total_bytes = u64::from(geometry.pages()) * u64::from(geometry.page_bytes());
        let held: usize = self.nodes.values().flatten().map(Vec::len).sum();
        Ok(Space { total_bytes, free_bytes: total_bytes.saturating_sub(held as u64) })
    }

    fn ram(&self) -> RamUse {
        let mut ram = RamUse::default();
        if let Some(bytes) = self.files.ram() {
            ram.dram.insert("firmware", bytes);
        }
        ram
    }
}

impl<N: Nand + Send> FlashFs<N> for Firmware<N> {
    fn files(&mut self) -> &mut dyn FileSystem {
        self
    }

    fn nand(&self) -> &N {
        &self.nand
    }

    fn nand_mut(&mut self) -> &mut N {
        &mut self.nand
    }

    fn nvram(&self) -> Option<&Nvram> {
        None
    }

    fn collections(&self) -> Counts {
        Counts::default()
    }

    fn retired_blocks(&self) -> u64 {
        self.flash.retired()
    }

    /// Nobody but the firmware knows its live pages, so every programmed page of a block counts.
    fn blocks(&self) -> Vec<BlockUse> {
        self.flash.blocks().map(|(live, empty)| BlockUse { live, empty }).collect()
    }

    fn mount_again(&mut self) -> Option<Result<(), FsError>> {
        self.open.clear();
        let mut told = Follower { nand: &mut self.nand, flash: &mut self.flash, usual: Cause::Mount };
        Some(self.files.mount_again(&mut told).map_err(failed))
    }

    /// The firmware's own tables are out of reach.
    fn check(&mut self) {}

    fn into_devices(self: Box<Self>) -> (N, Nvram) {
        (self.nand, no_nvram())
    }
}

//! MiNV: all metadata in NVRAM, only the contents of files in the NAND.
//!
//! ## Idea
//! Byte-addressable memory that survives holds everything that is not file data: objects with their names and lengths,
//! the map from the pages of files to pages of flash, the state of the blocks. Nothing of it is written to flash,
//! nothing is kept twice, and there is nothing to scan at mount. Garbage collection is that of YAFFS
//! ([`crate::parts::collector`]).
//!
//! ## Write path
//! A write reads the old page where it covers only a part, merges and programs the next page. Then one store of eight
//! bytes in NVRAM makes the map refer to it, and the old page is void. A write that also changes the length, or the
//! shape of the map, and every operation on names changes several words: they go to an intent record first, and the
//! store of its length makes all of them valid. There is nothing to do at close and sync. The pages of a removed or
//! shortened file are given up one by one after the change of the name or length; the NVRAM says which file that is, so
//! that a mount goes on with it.
//!
//! ## Recovery
//! Mount ends what an intent record says, looks at the bits of the two pages of the last map entry, reads the spare
//! area at the allocation point (a page may be programmed there to which nothing refers), erases the block again whose
//! erase may have been cut, and goes on giving up pages. No other page is read.
//!
//! ## Invariants
//! The bits of pages in use are those of the map; the tags of each page say which chunk it holds, and of all pages with
//! the same tags the map has the newest: after a cut a page that was programmed in vain is followed by a copy of the
//! one in use. Every node is in one map, one symbolic link or the free list. Every call is durable when it returns.
//!
//! ## Differences
//! The layout is not published; ours is in `minv/layout.rs`. Tags are written with the sequence number of their block,
//! at every page size, and no page gets a deletion mark. Names have at most 88 bytes. Where a page was written before
//! the mount collection reads its tags, which is charged; what it holds otherwise is known from memory that is not
//! counted, as with YAFFS.
//!
//! ## References
//! I. H. Doh, J. Choi, D. Lee, S. H. Noh: Exploiting Non-Volatile RAM to Enhance Flash File System Performance. EMSOFT
//! 2007. I. H. Doh et al.: Assessment of the Efficiency of Garbage Collection for the MiNV File System, Journal of
//! KIISE 14(2), 2008.

mod check;
mod files;
mod layout;
mod map;
mod memory;
mod mount;
mod names;
mod pages;

use crate::flash::{check_blocks, BlockUse};
use crate::parts::collector::{Collector, Config as Collection, Counts};
use crate::parts::{failed, tree};
use crate::{FileSystem, FsError, Handle, Kind, Space, Stat};
use layout::{Layout, CHILDREN, SIZE};
use nandlab_block::RamUse;
use nandlab_nand::nvm::{Nvm, NvmCost, WORD_BYTES};
use nandlab_nand::{BlockId, Geometry, Nand, NandError};
use pages::{Owner, Registers};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Options of MiNV.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Garbage collection.
    pub gc: Collection,
    /// Files, directories and links that the NVRAM has room for, the root directory included: 128 bytes each, and as
    /// much for their maps. From 2 to 262142.
    pub objects: u32,
    /// What an access to the NVRAM costs; nothing unless given.
    pub nvram: Memory,
}

impl Default for Config {
    fn default() -> Self {
        Self { gc: Collection::default(), objects: 2048, nvram: Memory::default() }
    }
}

/// Time and energy of the NVRAM. An access that touches several units costs as many times as much.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Memory {
    /// Bytes of a unit: 8 where the data sheet speaks of words.
    pub unit_bytes: u32,
    /// Reading a unit, ns.
    pub read_ns: f64,
    /// Writing a unit, ns.
    pub write_ns: f64,
    /// Reading a unit, nJ.
    pub read_nj: f64,
    /// Writing a unit, nJ.
    pub write_nj: f64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { unit_bytes: WORD_BYTES as u32, read_ns: 0.0, write_ns: 0.0, read_nj: 0.0, write_nj: 0.0 }
    }
}

/// Most that an access may cost, in ns and nJ: a second, a joule.
const MOST_COST: f64 = 1e9;

impl Memory {
    fn check(&self) -> Result<(), FsError> {
        if self.unit_bytes == 0 {
            let why = "the costs are those of so many bytes, so at least 1";
            return Err(FsError::option("nvram.unit_bytes", &self.unit_bytes, why));
        }
        for (key, cost) in [
            ("nvram.read_ns", self.read_ns),
            ("nvram.write_ns", self.write_ns),
            ("nvram.read_nj", self.read_nj),
            ("nvram.write_nj", self.write_nj),
        ] {
            if !(0.0..=MOST_COST).contains(&cost) {
                return Err(FsError::option(key, &cost, "it is a number from 0 to 1e9"));
            }
        }
        Ok(())
    }

    pub(crate) fn cost(&self) -> NvmCost {
        let Self { unit_bytes, read_ns, write_ns, read_nj, write_nj } = *self;
        NvmCost {
            unit_bytes: NonZeroU32::new(unit_bytes).unwrap_or(NonZeroU32::MIN),
            read_ns,
            write_ns,
            read_nj,
            write_nj,
        }
    }
}

impl Config {
    /// Checks what can be checked without a device.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn check(&self) -> Result<(), FsError> {
        if !(2..crate::parts::tags::MAX_OBJECT).contains(&self.objects) {
            let why = "it is a number from 2, for the root directory and a file, to 262142";
            return Err(FsError::option("objects", &self.objects, why));
        }
        self.nvram.check()?;
        self.gc.check()
    }

    /// Checks whether the file system can live on such a device.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn check_device(&self, geometry: &Geometry) -> Result<(), FsError> {
        check_blocks(geometry, self.gc.reserved_blocks)
    }

    /// Bytes of NVRAM that the metadata of a device takes.
    pub fn nvram_bytes(&self, geometry: &Geometry) -> u64 {
        Layout::new(geometry, self.objects).bytes()
    }
}

/// A mounted MiNV; dropping it is a power cut.
#[derive(Debug)]
pub struct Minv<N: Nand, V: Nvm> {
    nand: N,
    nvm: V,
    config: Config,
    geometry: Geometry,
    layout: Layout,
    registers: Registers,
    collector: Collector,
    /// The block that is being collected.
    collecting: Option<BlockId>,
    /// Blocks in which a program failed since the mount.
    failing: Vec<BlockId>,
    retired: u64,
    owners: Vec<Option<Owner>>,
    open: BTreeMap<u32, u32>,
    next_handle: u32,
    /// Where the search for room for an object begins.
    next_object: u32,
    /// The flash failed in the middle of a change: the tables may be half changed.
    broken: Cell<bool>,
}

impl<N: Nand, V: Nvm> Minv<N, V> {
    /// The flash.
    pub fn nand(&self) -> &N {
        &self.nand
    }

    /// The flash.
    pub fn nand_mut(&mut self) -> &mut N {
        &mut self.nand
    }

    /// The NVRAM.
    pub fn nvm(&self) -> &V {
        &self.nvm
    }

    /// Flash and NVRAM without their file system: a power cut.
    pub fn into_devices(self) -> (N, V) {
        (self.nand, self.nvm)
    }

    /// What garbage collection did since the mount.
    pub fn collections(&self) -> Counts {
        self.collector.counts
    }

    /// Blocks that were retired since the mount.
    pub fn retired_blocks(&self) -> u64 {
        self.retired
    }

    /// What became of each block; looking at it is no access to the NVRAM.
    pub fn block_uses(&self) -> Vec<BlockUse> {
        self.uses()
    }

    /// Blocks without a page in use or void.
    pub fn empty_blocks(&self) -> u32 {
        self.registers.empty
    }

    fn failed(&self, error: NandError) -> FsError {
        self.broken.set(self.broken.get() || !matches!(error, NandError::Uncorrectable(_)));
        failed(&self.geometry, error)
    }

    /// Refuses further work after the flash failed, until the next mount.
    fn alive(&self) -> Result<(), FsError> {
        if self.broken.get() {
            return Err(self.failed(NandError::PowerLost));
        }
        Ok(())
    }

    fn page_bytes(&self) -> u64 {
        self.geometry.page_bytes().into()
    }

    /// Pages that file data must leave free.
    fn reserve(&self) -> u64 {
        u64::from(self.config.gc.reserved_blocks) * u64::from(self.geometry.pages_per_block())
    }

    fn opened(&self, file: Handle) -> Result<u32, FsError> {
        self.alive()?;
        self.open.get(&file.0).copied().ok_or(FsError::Closed)
    }

    fn hand_out(&mut self, object: u32) -> Handle {
        self.next_handle += 1;
        self.open.insert(self.next_handle, object);
        Handle(self.next_handle)
    }

    fn size(&mut self, object: u32) -> Result<u64, FsError> {
        let at = self.field(object, SIZE);
        self.now(at)
    }
}

impl<N: Nand, V: Nvm> FileSystem for Minv<N, V> {
    fn create(&mut self, path: &str) -> Result<Handle, FsError> {
        self.alive()?;
        let object = self.create_file(path)?;
        Ok(self.hand_out(object))
    }

    fn open(&mut self, path: &str) -> Result<Handle, FsError> {
        self.alive()?;
        let object = tree::file(self, path)?;
        Ok(self.hand_out(object))
    }

    fn close(&mut self, file: Handle) -> Result<(), FsError> {
        self.alive()?;
        self.open.remove(&file.0).map(drop).ok_or(FsError::Closed)
    }

    fn read(&mut self, file: Handle, at: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        let object = self.opened(file)?;
        self.read_file(object, at, bytes)
    }

    fn write(&mut self, file: Handle, at: u64, bytes: &[u8]) -> Result<(), FsError> {
        let object = self.opened(file)?;
        self.write_file(object, at, bytes)
    }

    fn truncate(&mut self, file: Handle, bytes: u64) -> Result<(), FsError> {
        let object = self.opened(file)?;
        self.resize(object, bytes)
    }

    fn sync(&mut self, file: Handle) -> Result<(), FsError> {
        self.opened(file).map(drop)
    }

    fn sync_all(&mut self) -> Result<(), FsError> {
        self.alive()?;
        self.retire_failing()
    }

    fn len(&mut self, file: Handle) -> Result<u64, FsError> {
        let object = self.opened(file)?;
        self.size(object)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), FsError> {
        self.alive()?;
        self.rename_entry(from, to)
    }

    fn unlink(&mut self, path: &str) -> Result<(), FsError> {
        self.alive()?;
        let entry = tree::removable(self, path)?;
        self.remove(entry)
    }

    fn mkdir(&mut self, path: &str) -> Result<(), FsError> {
        self.alive()?;
        self.make_directory(path)
    }

    fn rmdir(&mut self, path: &str) -> Result<(), FsError> {
        self.alive()?;
        let entry = tree::removable_directory(self, path)?;
        if self.now(self.field(entry, CHILDREN))? > 0 {
            return Err(FsError::NotEmpty { path: path.to_owned() });
        }
        self.remove(entry)
    }

    fn stat(&mut self, path: &str) -> Result<Stat, FsError> {
        use tree::Tree;
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
        let all = u64::from(self.registers.usable) * u64::from(self.geometry.pages_per_block());
        let bytes = |pages: u64| pages.saturating_sub(self.reserve()) * self.page_bytes();
        Ok(Space { total_bytes: bytes(all), free_bytes: bytes(self.free_pages()) })
    }

    fn ram(&self) -> RamUse {
        let mut used = RamUse::default();
        used.sram.insert("registers", 32);
        used.sram.insert("handles", self.open.len() as u64 * 8);
        used
    }
}

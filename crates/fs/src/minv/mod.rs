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
mod mounted;
mod names;
mod pages;

use crate::flash::{check_blocks, BlockUse};
use crate::parts::collector::{Collector, Config as Collection, Counts};
use crate::parts::driver::{Driver, Handles};
use crate::FsError;
use layout::Layout;
use nandlab_nand::nvm::{Nvm, NvmCost, WORD_BYTES};
use nandlab_nand::{BlockId, Geometry, Nand};
use pages::{Owner, Registers};
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
    handles: Handles,
    /// Where the search for room for an object begins.
    next_object: u32,
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
}

impl<N: Nand, V: Nvm> Driver for Minv<N, V> {
    type Flash = N;

    fn flash(&mut self) -> &mut N {
        &mut self.nand
    }

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn handles(&self) -> &Handles {
        &self.handles
    }

    fn handles_mut(&mut self) -> &mut Handles {
        &mut self.handles
    }
}

//! MiNV: all metadata in NVRAM, only file contents in NAND.
//!
//! ## Idea
//! A byte-addressable nonvolatile memory (NVRAM) holds everything except file data: objects with their names
//! and lengths, the map from file chunks to flash pages, and the block states. No metadata is written to
//! flash, nothing is stored twice, and mount needs no scan. Garbage collection works as in YAFFS
//! ([`crate::parts::collector`]).
//!
//! ## Write path
//! A partial write reads the old page, merges it with the new bytes and programs the next page. Then one
//! eight-byte NVRAM store points the map to the new page, and the old page becomes void. A write that also
//! changes the file's length or the map's shape changes several words, and so does every operation on names.
//! These words go to an intent record first; storing the record's length makes them all valid. Close and
//! sync have nothing to do. When a file is removed or shortened, its name or length changes first, and its
//! pages are given up one by one afterwards. The NVRAM records the file, so a mount can finish this work.
//!
//! ## Recovery
//! Mount takes these steps:
//! 1. Complete a valid intent record.
//! 2. Check the bits for both pages in the last map entry.
//! 3. Read the spare area at the allocation point, because an unmapped page may be programmed there.
//! 4. Repeat the block erase that may have been cut.
//! 5. Finish giving up pages.
//!
//! It reads no other page.
//!
//! ## Invariants
//! The bits of used pages match the map. The tags of each page name its chunk, and among pages with the same
//! tags, the map has the newest: after a cut, an unmapped programmed page is followed by a fresh copy of the
//! page in use. Every node is in one map, one symbolic link or the free list. Every call is durable when it
//! returns.
//!
//! ## Differences
//! The original layout is not published; ours is in `minv/layout.rs`. Tags contain the block's sequence
//! number at every page size, and pages get no deletion mark. Names have at most 88 bytes. If a page was
//! written before the mount, collection reads its tags, and the read is charged. For other pages, the
//! contents are known from uncounted memory, as with YAFFS.
//!
//! ## References
//! I. H. Doh, J. Choi, D. Lee, S. H. Noh: Exploiting Non-Volatile RAM to Enhance Flash File System
//! Performance. EMSOFT 2007. I. H. Doh et al.: Assessment of the Efficiency of Garbage Collection for the
//! MiNV File System, Journal of KIISE 14(2), 2008.

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

/// MiNV options.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Garbage collection.
    pub gc: Collection,
    /// Maximum number of files, directories and links, including the root directory; from 2 to 262142. Each
    /// takes 128 bytes of NVRAM, and as much again for its map.
    pub objects: u32,
    /// NVRAM access cost. Default: none.
    pub nvram: Memory,
}

impl Default for Config {
    fn default() -> Self {
        Self { gc: Collection::default(), objects: 2048, nvram: Memory::default() }
    }
}

/// NVRAM time and energy. An access to several units costs the sum.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Memory {
    /// Bytes per unit; 8 if the data sheet gives costs per word.
    pub unit_bytes: u32,
    /// Read time per unit, ns.
    pub read_ns: f64,
    /// Write time per unit, ns.
    pub write_ns: f64,
    /// Read energy per unit, nJ.
    pub read_nj: f64,
    /// Write energy per unit, nJ.
    pub write_nj: f64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { unit_bytes: WORD_BYTES as u32, read_ns: 0.0, write_ns: 0.0, read_nj: 0.0, write_nj: 0.0 }
    }
}

/// Most an access may cost, in ns and nJ: a second, a joule.
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
    /// Checks the options, as far as possible without a device.
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

    /// Checks whether the file system can use this device.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn check_device(&self, geometry: &Geometry) -> Result<(), FsError> {
        check_blocks(geometry, self.gc.reserved_blocks)
    }

    /// Bytes of NVRAM for a device's metadata.
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
    /// The block being collected.
    collecting: Option<BlockId>,
    /// Blocks with failed programs since the mount.
    failing: Vec<BlockId>,
    retired: u64,
    owners: Vec<Option<Owner>>,
    handles: Handles,
    /// Start of the search for a free object.
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

    /// Flash and NVRAM without the file system: a power cut.
    pub fn into_devices(self) -> (N, V) {
        (self.nand, self.nvm)
    }

    /// Garbage collection counts since the mount.
    pub fn collections(&self) -> Counts {
        self.collector.counts
    }

    /// Blocks retired since the mount.
    pub fn retired_blocks(&self) -> u64 {
        self.retired
    }

    /// Each block's use; reading it is no NVRAM access.
    pub fn block_uses(&self) -> Vec<BlockUse> {
        self.uses()
    }

    /// Blocks without used or void pages.
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

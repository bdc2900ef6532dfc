//! YAFFS: a file system on bare flash, every page with its tags.
//!
//! ## Idea
//! Pages are written one after the other, block by block, and never in place. The tags in the spare area say which
//! piece (chunk) of which object a page holds; chunk 0 is the object's header with its name, directory, size and time.
//! Tables in memory, rebuilt at mount, find the newest copy of everything.
//!
//! ## Write path
//! A write reads the old page where it covers only a part, merges, and programs the whole page at the allocation point.
//! The page before is void then: with pages of 512 B (`yaffs1`) its spare area is programmed again, a deletion mark;
//! with larger ones (`yaffs2`) the sequence number of the block tells. A file that was changed gets a new header when
//! it is closed or synced; the old header is read for it, as YAFFS does. A full block whose last page is given up is
//! erased at once. Garbage collection is asked before each data page, header and change of length
//! ([`crate::parts::collector`]). A removed file gets a header in the `unlinked` directory; its pages stay until their
//! blocks are collected. Without `cache_pages` nothing is written later than asked.
//!
//! ## Recovery
//! `yaffs1` reads the spare areas of the first two pages of each block, then every spare area of the blocks in use, and
//! the page of each live header. Of two copies the serial number (2 bits) tells the newer. `yaffs2` sorts the blocks by
//! sequence number and reads them backwards: the first copy of a chunk that it meets is the newest. A header that cut a
//! file voids what older pages hold behind its end, so its block is not erased before all older blocks with void pages
//! are. After `sync_all` a checkpoint of the tables spares the scan; the first change erases it. The page that was
//! being programmed when the power went reads as one that failed: `yaffs1` reads the last page of each block and marks
//! it, `yaffs2` reads the newest page and writes the chunk anew, so that no later mount meets it as the newest copy.
//!
//! ## Invariants
//! Every page is erased, void, or in use by exactly one chunk of one object, and the newest copy on flash is that one;
//! the counts of the blocks are those of their pages. Directory operations are durable when they return, data after a
//! sync. A rename over a file writes one header that shadows the file it replaces, so both never show.
//!
//! ## Differences
//! Ours, written from descriptions. The length of a file in `yaffs1` is what its header says (YAFFS takes the end of
//! its last chunk), so that a cut never leaves half of a truncation. A new length goes to flash before pages are given
//! up. The piece of a page behind a new end is not rewritten at once but when the file grows again. Blocks that read as
//! erased after a mount by scan are erased again before use: an erase may have been cut. The driver waits for each
//! operation, as YAFFS's does, so several dies do not overlap. Collection knows from memory what a page holds, in place
//! of reading the tags with the page that it copies; that table is not counted.
//!
//! ## References
//! C. Manning: How YAFFS Works, 2010. I. H. Doh et al.: Assessment of the Efficiency of Garbage Collection for the MiNV
//! File System, Journal of KIISE 14(2), 2008.

mod blocks;
mod cache;
mod check;
mod checkpoint;
mod collect;
mod files;
mod flash;
mod header;
mod mount;
mod mounted;
mod names;
mod objects;
mod scan_large;
mod scan_small;

pub use crate::parts::collector::{Config as Collection, Counts};
pub use crate::parts::tags::Tags;

use crate::flash::{check_blocks, BlockUse};
use crate::parts::collector::Collector;
use crate::parts::driver::{Driver, Handles};
use crate::FsError;
use blocks::{Block, Blocks, State};
use cache::Cache;
use nandlab_nand::{BlockId, Geometry, Nand, Rules};
use objects::{Objects, Owner};

/// Options of YAFFS.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The form on flash; `auto`: by the size of a page.
    pub format: Format,
    /// Garbage collection.
    pub gc: Collection,
    /// Pages of the cache for writes of a part of a page; 0: none, as in the measurements of Doh et al.
    pub cache_pages: u32,
    /// `yaffs2`: whether `sync_all` saves the tables, so that a mount need not scan.
    pub checkpoint: bool,
    /// `yaffs1`: whether pages that collection has copied get a deletion mark before their block is erased.
    pub mark_copied: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { format: Format::Auto, gc: Collection::default(), cache_pages: 0, checkpoint: true, mark_copied: true }
    }
}

/// The form on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// `yaffs1` with pages of 512 B, else `yaffs2`.
    #[default]
    Auto,
    /// Pages of 512 B; void pages get a deletion mark.
    Yaffs1,
    /// Pages of 1 KiB or more; blocks have sequence numbers.
    Yaffs2,
}

impl Config {
    /// Checks what can be checked without a device.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn check(&self) -> Result<(), FsError> {
        self.gc.check()
    }

    /// Checks whether the file system can live on such a device.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn check_device(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FsError> {
        self.is_small(geometry, rules)?;
        check_blocks(geometry, self.gc.reserved_blocks)
    }

    /// Whether the form is that of small pages.
    fn is_small(&self, geometry: &Geometry, rules: &Rules) -> Result<bool, FsError> {
        let bytes = geometry.page_bytes();
        let refuse = |given: &str, why: String| Err(FsError::option("format", &given, why));
        match self.format {
            Format::Yaffs1 if bytes != 512 => {
                refuse("yaffs1", format!("its tags are for pages of 512 bytes, and those of the device have {bytes}"))
            }
            Format::Yaffs2 if bytes < 1024 => {
                refuse("yaffs2", format!("it needs pages of at least 1024 bytes, and those of the device have {bytes}"))
            }
            Format::Yaffs1 | Format::Auto if bytes == 512 => {
                if rules.partial_programs < 2 {
                    return refuse(
                        "yaffs1",
                        "a deletion mark programs a spare area again, and this chip programs a page once".into(),
                    );
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// A mounted YAFFS; dropping it is a power cut.
#[derive(Debug)]
pub struct Yaffs<N: Nand> {
    nand: N,
    config: Config,
    geometry: Geometry,
    /// Pages of 512 B with deletion marks.
    small: bool,
    blocks: Blocks,
    collector: Collector,
    /// The lowest sequence number of a block with void pages, where it was asked for in this search.
    oldest_dirty: Option<u32>,
    /// Blocks in which a program failed.
    failing: Vec<BlockId>,
    objects: Objects,
    /// What each page in use holds.
    owners: Vec<Owner>,
    handles: Handles,
    /// The sequence number of the next block.
    sequence: u32,
    /// Changes so far, the time in headers.
    time: u64,
    cache: Cache<N::Buf>,
    /// Blocks of the checkpoint that is on flash and true.
    checkpoint: Vec<BlockId>,
    retired: u64,
}

impl<N: Nand> Yaffs<N> {
    /// The device.
    pub fn nand(&self) -> &N {
        &self.nand
    }

    /// The device.
    pub fn nand_mut(&mut self) -> &mut N {
        &mut self.nand
    }

    /// The device, without its file system: a power cut.
    pub fn into_nand(self) -> N {
        self.nand
    }

    /// What garbage collection did since the mount.
    pub fn collections(&self) -> Counts {
        self.collector.counts
    }

    /// Blocks that were retired since the mount.
    pub fn retired_blocks(&self) -> u64 {
        self.retired
    }

    /// What became of each block; pages of deleted files are not live.
    pub fn block_uses(&self) -> Vec<BlockUse> {
        let of = |block: &Block| BlockUse { live: block.live(), empty: matches!(block.state, State::Empty { .. }) };
        self.blocks.iter().map(|(_, block)| of(block)).collect()
    }

    /// Blocks without a page in use or void.
    pub fn empty_blocks(&self) -> u32 {
        self.blocks.empty()
    }

    /// Whether a checkpoint is on flash that spares the next mount a scan.
    pub fn has_checkpoint(&self) -> bool {
        !self.checkpoint.is_empty()
    }
}

impl<N: Nand> Driver for Yaffs<N> {
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

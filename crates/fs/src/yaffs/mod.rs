//! YAFFS: a file system on bare flash, with tags on every page.
//!
//! ## Idea
//! Pages are written sequentially, block by block, and never in place. The tags in a page's spare area name
//! its object and its piece (chunk) of that object; chunk 0 is the object header with name, directory, size
//! and time. Tables in memory locate the newest copy of everything. Mount rebuilds them.
//!
//! ## Write path
//! A partial write reads the old page, merges it with the new bytes, and programs the whole page at the
//! allocation point. The old page is now void. With 512 B pages (`yaffs1`) its spare area is programmed again
//! with a deletion mark. With larger pages (`yaffs2`) the block's sequence number shows which copy is newer.
//! A changed file gets a new header when it is closed or synced; YAFFS reads the old header first, so this
//! file does too. When the last page of a full block is given up, the block is erased at once. Garbage
//! collection is called before each data page, header and length change: while less than a quarter of the free pages is
//! erased, a call moves five pages (`yaffs/gradual.rs`); with `code = "2007"` it empties whole blocks
//! ([`crate::parts::collector`]). A removed file gets a header in the `unlinked` directory. In `yaffs1` its pages stay until
//! their blocks are collected; in `yaffs2` they are void at once, and its header is written twice.
//!
//! `short_op_cache` pages hold pages that were written, or read in part; the Linux driver has ten. A page goes to flash
//! when the cache needs its place, and when the file is closed, synced or cut. A power cut loses what is only there: data
//! that was not yet synced. With 0, every write goes to flash immediately.
//!
//! With `code = "2007"` pages of a removed `yaffs2` file wait for collection too, which reads each one, and the header is
//! written once. A write of a whole page goes past the cache and reads no old page. A page that makes room takes all others
//! of its file along. A truncation leaves the last page as it is.
//!
//! ## Recovery
//! `yaffs1` reads the spare areas of the first two pages in each block, then every spare area of the used
//! blocks, and the page of each live header. Of two copies, the serial number (2 bits) tells the newer. It
//! also reads the last page of each block, and marks it deleted if it is unreadable.
//!
//! `yaffs2` sorts the blocks by sequence number and reads them backwards: the first copy found of a chunk is
//! the newest. A header that shortened a file voids older pages behind the new end, so its block is not
//! erased before all older blocks with void pages. After `sync_all`, a checkpoint of the tables avoids the
//! scan; the first change erases it. The page being programmed at a power cut reads like a failed program.
//! `yaffs2` reads the newest page and, if it is torn, writes its chunk again. Otherwise a later mount could
//! take the torn page for the newest copy.
//!
//! An object whose newest header is unreadable is a file in the directory `lost+found`, with its number for a name (`obj257`),
//! the data that its tags tell, and a new header; it is a directory if another object is in it. Older headers are ignored:
//! their name may belong to another object by now. Pages cut off by a header that is unreadable may count again.
//!
//! ## Invariants
//! Every page is erased, void, or used by exactly one chunk of one object, and the used page is the newest
//! copy on flash. Block counts match their pages. Directory operations are durable when they return, data
//! after a sync. A rename over a file writes one header that shadows the replaced file, so both never show.
//!
//! ## Differences
//! This implementation is our own, written from descriptions.
//! * The length of a `yaffs1` file is the length in its header (YAFFS takes the end of its last chunk), so a
//!   cut never leaves half a truncation.
//! * A new length goes to flash before pages are given up. YAFFS also cuts a removed file under its name and then removes
//!   it; here the first of both headers removes it.
//! * With `code = "2007"` the rest of the last page is not rewritten at once after a truncation, but when the file grows
//!   again.
//! * The header of a truncation keeps its block from being erased, too. YAFFS since 2010 does that for holes and removals.
//! * A block with a failed program is emptied at once, whole; later codes of YAFFS prefer it, five pages at a write.
//! * YAFFS has no checkpoint on less than 60 blocks. Here there is one, and collection keeps room for just its blocks; from 60
//!   blocks on it keeps three more, as YAFFS does.
//! * No summaries: YAFFS2 since 2011 writes the tags of a block into its last page, one program in 64.
//! * A block found erased is not read before and behind its first program, and directories keep no time of change.
//! * Blocks found erased by a mount scan are erased again before use, because an erase may have been cut.
//! * The driver waits for each operation, as in YAFFS, so several dies do not overlap.
//! * Collection knows a page's contents from memory, instead of reading the tags with the page it copies;
//!   this table is not counted as RAM.
//!
//! RAM is counted as the code of 2007 needs it on a machine of 32 bits, from the structures in its `yaffs_guts.h`:
//!
//! | structure | bytes |
//! |---|---|
//! | `objects` | 124 for each file, directory and link, and for four that are not on flash; in hundreds |
//! | `names` | name and end of a name above 15 bytes; targets of symbolic links |
//! | `tnodes` | a tree for each file, of 16 pages a leaf and 8 tnodes a node: 32 a tnode, or 2 for each bit of a page number if it has more than 16; in hundreds |
//! | `blocks` | 8 a block |
//! | `page_bits` | a bit a page, in whole bytes for a block |
//! | `short_op_cache` | a page and 28 for each of its pages |
//! | `device` | 3,072 for the hash table of objects, four pages for temporary contents, 4 for each page of a block |
//!
//! ## References
//! C. Manning: How YAFFS Works, 2010. I. H. Doh et al.: Assessment of the Efficiency of Garbage Collection
//! for the MiNV File System, Journal of KIISE 14(2), 2008.

mod blocks;
mod cache;
mod check;
mod checkpoint;
mod collect;
mod files;
mod flash;
mod gradual;
mod header;
mod lost;
mod mount;
mod mounted;
mod names;
mod objects;
mod options;
mod ram;
mod scan_large;
mod scan_small;

pub use crate::parts::collector::Counts;
pub use crate::parts::tags::Tags;
pub use options::Collection;

use crate::flash::{check_blocks, BlockUse};
use crate::parts::collector::Collector;
use crate::parts::driver::{Driver, Handles};
use crate::FsError;
use blocks::{Block, Blocks, State};
use cache::Cache;
use gradual::Gradual;
use lost::Unfound;
use nandlab_nand::{BlockId, Geometry, Nand, Rules};
use objects::{Objects, Owner};

/// Options of YAFFS.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Format on flash; `auto` picks it by page size.
    pub format: Format,
    /// Year of the code to follow where YAFFS has changed. Papers before 2010 had that of 2007.
    pub code: Code,
    /// Garbage collection.
    pub gc: Collection,
    /// Pages in the cache for reads and writes of a part of a page; 0 for no cache. Default: 10, as in the code of
    /// 2007 under Linux.
    pub short_op_cache: u32,
    /// `yaffs2`: whether `sync_all` saves the tables, so a mount needs no scan.
    pub checkpoint: bool,
    /// `yaffs1`: whether collection puts a deletion mark on copied pages before it erases their block. Of one paper: minv.
    pub mark_copied: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            format: Format::Auto,
            code: Code::default(),
            gc: Collection::default(),
            short_op_cache: 10,
            checkpoint: true,
            mark_copied: true,
        }
    }
}

/// Format on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// `yaffs1` for 512 B pages, otherwise `yaffs2`.
    #[default]
    Auto,
    /// 512 B pages; void pages get a deletion mark.
    Yaffs1,
    /// Pages of 1 KiB or more; blocks have sequence numbers.
    Yaffs2,
}

/// Code of YAFFS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub enum Code {
    /// Up to 2010. Pages of a removed file wait for collection, which empties whole blocks. A write of a whole page goes past
    /// the cache. A page that makes room in the cache takes all others of its file along.
    #[serde(rename = "2007")]
    Of2007,
    /// Since July 2014. `yaffs2` gives up a removed file's pages at once. A write of a whole page reads the old one, as
    /// a write of a part does, and stays in the cache. A page makes room alone. A truncation writes the last page again.
    /// Collection moves a few pages at each write, once few of the free pages are erased.
    #[default]
    #[serde(rename = "2014")]
    Of2014,
}

impl Config {
    /// Checks the options, as far as possible without a device.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn check(&self) -> Result<(), FsError> {
        self.gc.check(self.code)
    }

    /// Checks whether the file system can use this device.
    ///
    /// # Errors
    /// [`FsError::Option`].
    pub fn check_device(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FsError> {
        self.is_small(geometry, rules)?;
        check_blocks(geometry, self.gc.reserved_blocks)
    }

    /// Whether the format is `yaffs1`.
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
    /// True for 512 B pages with deletion marks.
    small: bool,
    blocks: Blocks,
    collector: Collector,
    gradual: Gradual,
    /// Lowest sequence number of a block with void pages, if already computed in this search.
    oldest_dirty: Option<u32>,
    /// Blocks with failed programs.
    failing: Vec<BlockId>,
    objects: Objects,
    /// Contents of each used page.
    owners: Vec<Owner>,
    handles: Handles,
    /// The sequence number of the next block.
    sequence: u32,
    /// Number of changes so far; the time in headers.
    time: u64,
    cache: Cache<N::Buf>,
    /// Blocks of the valid checkpoint on flash.
    checkpoint: Vec<BlockId>,
    retired: u64,
    /// What the mount did not find as it was.
    unfound: Unfound,
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

    /// The device without the file system: a power cut.
    pub fn into_nand(self) -> N {
        self.nand
    }

    /// Garbage collection counts since the mount.
    pub fn collections(&self) -> Counts {
        self.collector.counts
    }

    /// What the mount did not find as it was, in sentences.
    pub fn notices(&self) -> Vec<String> {
        self.unfound.told()
    }

    /// Blocks retired since the mount.
    pub fn retired_blocks(&self) -> u64 {
        self.retired
    }

    /// Use of each block; pages of deleted files are not live.
    pub fn block_uses(&self) -> Vec<BlockUse> {
        let of = |block: &Block| BlockUse { live: block.live(), empty: matches!(block.state, State::Empty { .. }) };
        self.blocks.iter().map(|(_, block)| of(block)).collect()
    }

    /// Whether the code before March 2010 is followed.
    fn is_old(&self) -> bool {
        self.config.code == Code::Of2007
    }

    /// Blocks without used or void pages.
    pub fn empty_blocks(&self) -> u32 {
        self.blocks.empty()
    }

    /// Whether flash holds a checkpoint, so the next mount needs no scan.
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

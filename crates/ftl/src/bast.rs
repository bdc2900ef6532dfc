//! BAST: block-associative sector translation, log blocks of one logical block each.
//!
//! ## Idea
//! Data blocks are mapped by block. A few log blocks take overwrites; each belongs to one logical block and is
//! mapped by page, so a small table serves a large device.
//!
//! ## Write path
//! ```text
//! page that is not mapped -> its place in the data block (`first_write = "data"`), which is taken when it is missing
//! every other page        -> next page of the log block of its logical block
//! log block full          -> it is merged, and a new one is taken
//! ```
//! A page is not mapped if it was never written or was trimmed since. With `first_write = "log"` these pages
//! always go to the log block: only merges make data blocks, and the FTL never uses a place left erased by a
//! merge. With `"data"` a page still goes to the log block if its place in the data block is programmed, or if
//! the place lies below the last programmed page on a chip that programs in ascending order. For a partial page
//! write the FTL first reads the page, merges the new sectors and writes the whole page; if the page is not
//! mapped, it fills the rest with zeros and reads nothing.
//!
//! The FTL takes a new log block in three steps. First, while `log_blocks` log blocks are in use, it merges the
//! victim. Second, it merges the victim while the number of free blocks is at most `reserve_blocks` plus the
//! blocks that notes of trims may still take. Third, it takes a free block. Before it takes a missing data
//! block, the FTL does the second step alone. `victim` selects the log block to merge. A log block counts as
//! written when it is taken and with every host page. No two have the same age, so there are no ties.
//!
//! The FTL merges a log block only as a victim, or when it is full and the host writes to its logical block
//! again. The kind of merge depends on its contents. Its pages are *in order* if page i holds the newest copy
//! of page i of the logical block, for all programmed pages.
//! ```text
//! in order, and all pages of the logical block             switch   no copy
//! in order, and no other page of the logical block mapped  switch   no copy
//! in order, other pages mapped, `partial_merge`            partial  the other mapped pages are copied to their places
//!                                                                   in the log block, in ascending order
//! else                                                     full     all mapped pages are copied to their places in a
//!                                                                   block that is taken, in ascending order
//! ```
//! After a switch or a partial merge the log block is the data block. After each merge the FTL erases the old
//! data block, if there is one, and after a full merge the log block too. A logical block without a data block
//! thus costs one erase less: none for a switch or a partial merge, one for a full merge. A merge skips
//! unmapped pages; on a chip that programs without gaps it pads them, one program each, up to the last copied
//! page. The host page that triggered the merge is programmed afterwards, to the new log block.
//!
//! A trim unmaps a page and programs nothing. When a logical block has no mapped page left, its blocks are
//! erased. Before it erases a block with trimmed pages, and at a flush, the FTL programs a note of the trims
//! (`durable_trim`).
//!
//! ## Recovery
//! Mount reads every spare area. The newest copy of a page wins, and an interrupted merge is dropped. A logical
//! block lies in one block or two: the block with pages in place is the data block, the other one the log
//! block.
//!
//! ## Invariants
//! A logical block has at most one data and one log block, and no page elsewhere; a data block holds pages in
//! their places only; at most `log_blocks` log blocks are bound; `reserve_blocks` stay free when a block is
//! opened.
//!
//! ## Differences
//! The paper erases emptied blocks right after a merge and does not name its victim rule; both are options
//! here. Trims, recovery and failing blocks are our additions.
//!
//! ## References
//! J. Kim, J. M. Kim, S. H. Noh, S. L. Min, Y. Cho: A Space-Efficient Flash Translation Layer for CompactFlash
//! Systems. IEEE Transactions on Consumer Electronics 48(2), 2002.

use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::bound_logs::{BoundLogs, LogOptions};
pub use crate::parts::bound_logs::{FirstWrite, Victim};
use crate::parts::store::{EraseWhen, Found, Options, Store};
use crate::{FtlError, RamUse, Variant};
use nandlab_nand::{BlockId, Geometry, Lpn, Nand};

/// The FTL.
pub type Bast = BlockMapped<Scheme>;

/// Options of BAST.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most log blocks in use at once, at least 1; fewer if the free blocks allow fewer. Default 8, a
    /// convention: the paper evaluates 4 to 64.
    pub log_blocks: u32,
    /// The log block to reclaim when all are in use. Default lru.
    pub victim: Victim,
    /// Destination of an unmapped page. Default data.
    pub first_write: FirstWrite,
    /// Whether to complete a log block with a prefix in order by copying the other pages; otherwise it is
    /// merged in full. If no other page is mapped, it becomes the data block unchanged, either way. Default
    /// true.
    pub partial_merge: bool,
    /// When to erase a block without valid pages. Default `on_free`.
    pub erase_when: EraseWhen,
    /// Blocks of the device kept free for merges; at least 1. With 1, a program failure or a torn page during a
    /// merge may leave no room; the default, 2, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut. This costs a note page per trimmed segment of the
    /// address space, and at least one block for the notes. Default true.
    pub durable_trim: bool,
    /// Seed of random victims; not an option, but set from the experiment's seed.
    #[serde(skip)]
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            log_blocks: 8,
            victim: Victim::Lru,
            first_write: FirstWrite::Data,
            partial_merge: true,
            erase_when: EraseWhen::OnFree,
            reserve_blocks: 2,
            durable_trim: true,
            seed: 0,
        }
    }
}

/// The tables of BAST.
#[derive(Debug)]
pub struct Scheme {
    first_write: FirstWrite,
    logs: BoundLogs,
}

impl Scheme {
    /// Reclaims log blocks until a block may be taken.
    fn make_room<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        while !store.has_room() {
            self.reclaim_victim(store, nand)?;
        }
        Ok(())
    }

    /// Binds a new log block to a logical block, after reclaiming others until there is room.
    fn bind<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        while self.logs.is_full() {
            self.reclaim_victim(store, nand)?;
        }
        self.make_room(store, nand)?;
        let block = store.open(nand, self.logs.data(group))?;
        self.logs.bind(group, block);
        Ok(())
    }

    fn open_data<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        self.make_room(store, nand)?;
        // The log block of this logical block may have become its data block just now.
        if !self.logs.data(group).is_some() {
            let block = store.open(nand, BlockId::NONE)?;
            self.logs.set_data(group, block);
        }
        Ok(())
    }

    fn reclaim_victim<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        let victim = self.logs.victim(store)?;
        store.events.gc_runs += 1;
        self.reclaim(store, nand, victim)
    }

    /// Ends the log block of a logical block.
    fn reclaim<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        let kind = self.logs.kind_of_merge(store, group);
        self.logs.merge(store, nand, group, kind)
    }
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "bast";
    const SURVIVES_UNSTABLE_PAGES: bool = true;

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        vec![
            Variant::safe("log_1", Config { log_blocks: 1, ..usual() }),
            Variant::safe("fifo", Config { victim: Victim::Fifo, partial_merge: false, ..usual() }),
            Variant::safe("random", Config { victim: Victim::Random, log_blocks: 2, ..usual() }),
            Variant::safe("fullest", Config { victim: Victim::Fullest, log_blocks: 2, ..usual() }),
            Variant::safe("log_first", Config { first_write: FirstWrite::Log, ..usual() }),
            Variant::safe("on_alloc", Config { erase_when: EraseWhen::OnAlloc, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
        ]
    }

    fn set_seed(config: &mut Config, seed: u64) {
        config.seed = seed;
    }

    block_mapped::common_options!();

    fn options(config: &Config, geometry: &Geometry) -> Result<Options, FtlError> {
        if config.log_blocks == 0 {
            return Err(FtlError::Config(
                "ftl.bast.log_blocks = 0 cannot work: a page that is written again needs a log block".into(),
            ));
        }
        Ok(Self::common(config, geometry))
    }

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let options = LogOptions {
            log_blocks: config.log_blocks,
            victim: config.victim,
            partial_merge: config.partial_merge,
            seed: config.seed,
        };
        let mut logs = BoundLogs::new(store.groups(), options);
        for found in found {
            let group = store.sole_group(found, "bast")?;
            if !logs.adopt(store, group, found) {
                return Err(store.foreign("bast", group));
            }
        }
        Ok(Self { first_write: config.first_write, logs })
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        loop {
            let data = self.logs.data(group);
            let in_place = self.first_write == FirstWrite::Data;
            if in_place && !data.is_some() {
                self.open_data(store, nand, group)?;
            } else if in_place && store.takes(data, place) && !store.lookup(at).is_some() {
                if store.put(nand, at, (data, place), page)? {
                    return Ok(());
                }
            } else {
                match self.logs.log(group) {
                    None => self.bind(store, nand, group)?,
                    Some(log) if store.is_full(log) => self.reclaim(store, nand, group)?,
                    Some(_) if self.logs.append(store, nand, (group, at), page)? => return Ok(()),
                    Some(_) => {}
                }
            }
        }
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let group = self.logs.owner(block).expect("a failing block is in use");
        self.logs.renew(store, nand, group)
    }

    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        let both = usize::from(self.logs.data(group).is_some()) + usize::from(self.logs.log(group).is_some());
        if store.may_drop(both) {
            self.logs.drop_group(group)
        } else {
            Vec::new()
        }
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.logs.blocks().collect()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.logs.log_blocks().collect()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        self.logs.ram(store, ram);
    }

    fn check(&self, store: &Store) {
        self.logs.check(store, None);
    }
}

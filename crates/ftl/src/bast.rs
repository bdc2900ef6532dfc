//! BAST: block-associative sector translation, log blocks of one logical block each.
//!
//! ## Idea
//! Data blocks are mapped by block. A few log blocks take what is written again; each belongs to one logical
//! block and is mapped by page, so a small table serves a large device.
//!
//! ## Write path
//! ```text
//! page that is not mapped -> its place in the data block (`first_write = "data"`), which is taken when it is missing
//! every other page        -> next page of the log block of its logical block
//! log block full          -> it is merged, and a new one is taken
//! ```
//! A page is not mapped if it was never written or was trimmed since. With `first_write = "log"` these pages go to
//! the log block as well, always: only merges make data blocks, and a place that a merge leaves erased is never used.
//! With `"data"` a page goes to the log block, too, where its place in the data block is programmed, or lies below
//! the last programmed page on a chip that programs in ascending order. A page that the host writes in part is read
//! first, merged and written whole; the part of a page that is not mapped is written with zeros around it and read
//! from nowhere.
//!
//! A new log block is taken in this order. While `log_blocks` log blocks are in use, the victim is merged. While no
//! more blocks are free than `reserve_blocks` and those that notes of trims may still take, the victim is merged.
//! Then a free block is taken. A missing data block is taken after the second step alone. The victim is the log block
//! that `victim` names. A log block counts as written when it is taken and with every page of the host. No two have
//! the same age, so there are no ties.
//!
//! A log block is merged only as a victim, or when it is full and its logical block is written again. What kind of
//! merge it is follows from what it holds then. Its pages are *in order* if page i of it holds the newest copy of
//! page i of the logical block, for all pages programmed.
//! ```text
//! in order, and all pages of the logical block             switch   no copy
//! in order, and no other page of the logical block mapped  switch   no copy
//! in order, other pages mapped, `partial_merge`            partial  the other mapped pages are copied to their places
//!                                                                   in the log block, in ascending order
//! else                                                     full     all mapped pages are copied to their places in a
//!                                                                   block that is taken, in ascending order
//! ```
//! After a switch or a partial merge the log block is the data block. After each merge the old data block is erased,
//! if there is one, and after a full merge the log block too. A logical block without a data block so costs one erase
//! less: none for a switch or a partial merge, one for a full merge. Pages that are not mapped are skipped; on a chip
//! that programs without gaps they are padded, one program each, up to the last page copied. The page of the host
//! that led to the merge is programmed afterwards, to the new log block.
//!
//! A trim unmaps a page and programs nothing. When no page of a logical block is mapped its blocks are erased. Before
//! the erase of a block with trimmed pages, and at a flush, a note of the trims is programmed (`durable_trim`).
//!
//! ## Recovery
//! Mount reads every spare area; the newest copy of a page wins, a merge that was cut is dropped, and a logical
//! block lies in one block or two: the one in place is the data block, the other one the log block.
//!
//! ## Invariants
//! A logical block has at most one data and one log block, and no page elsewhere; a data block holds pages in their
//! places only; at most `log_blocks` log blocks are bound; `reserve_blocks` stay free when a block is opened.
//!
//! ## Differences
//! The paper erases what a merge leaves at once and does not name its victim rule; both are options here. Trims,
//! recovery and failing blocks are ours.
//!
//! ## References
//! J. Kim, J. M. Kim, S. H. Noh, S. L. Min, Y. Cho: A Space-Efficient Flash Translation Layer for CompactFlash
//! Systems. IEEE Transactions on Consumer Electronics 48(2), 2002.

#[cfg(test)]
mod tests;

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
    /// Most log blocks in use at once, at least 1; as many as the free blocks allow where that is less. Default 8,
    /// a convention: the paper shows what 4 to 64 bring.
    pub log_blocks: u32,
    /// Which log block is reclaimed when all are in use. Default lru.
    pub victim: Victim,
    /// Where a page goes that is not mapped. Default data.
    pub first_write: FirstWrite,
    /// Whether a log block that holds a prefix in order is completed by copies of the other pages; else it is merged in
    /// full. Where no other page is mapped it becomes the data block as it is, either way. Default true.
    pub partial_merge: bool,
    /// When a block that holds nothing any more is erased. Default `on_free`.
    pub erase_when: EraseWhen,
    /// Blocks of the device that stay free for merges; at least 1. With 1 a program failure or a torn page
    /// during a merge may leave no room; the default, 2, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut, at the price of a note page for each segment of the
    /// address space that was trimmed, and of a block or more for the notes. Default true.
    pub durable_trim: bool,
    /// Seed of random victims: no option, the experiment's seed comes here.
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

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        self.logs.ram(store, ram);
    }

    fn check(&self, store: &Store) {
        self.logs.check(store, None);
    }
}

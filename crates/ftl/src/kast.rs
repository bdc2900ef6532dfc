//! KAST: K-associative sector translation, log blocks of at most K logical blocks each.
//!
//! ## Idea
//! Data blocks are mapped by block. A log block takes overwrites of several logical blocks, but of no more than
//! `associativity` of them. Its reclaim merges at most so many, so the longest wait of a host write has a bound, and
//! an option sets it. BAST is near one end (one logical block a log block), FAST is the other (any number). A few log
//! blocks take sequential writes and become data blocks.
//!
//! ## Write path
//! The first matching line decides. A page is not mapped if it was never written or was trimmed since. A logical block
//! has a *sequence* if one of the sequential log blocks is its own.
//! ```text
//! not mapped, no sequence    -> its place in the data block, which is taken when it is missing; if that place is spent,
//!                               the lines below
//! sequence, the next page    -> the sequence; with the last page of the logical block it becomes the data block (switch)
//! sequence, any other page   -> the sequence becomes a random log block of this logical block; then the lines below
//! first page, no log block   -> page 0 of a new sequence
//! else                       -> a random log block
//! ```
//! A place is spent if it is programmed, or lies below the last programmed page on a chip that programs in ascending
//! order, or is not the next one on a chip without gaps. A partial page write reads the page, merges the new sectors
//! and writes the whole page.
//!
//! **The random log block** for a page is the first of these that exists: one with room that its logical block wrote to
//! already; one with room and fewer than `associativity` logical blocks, of these the one with the fewest, the oldest
//! among equals; a new one. With `share = "last"` a new one comes second, while fewer than `log_blocks` are in use and
//! a free block may be taken, unless one with room has no logical block. A logical block counts from its first page in the log block until its next merge, even
//! if all its pages there are superseded.
//!
//! **A new log block** is taken while fewer than `log_blocks` are in use, sequences included, and more blocks are free
//! than `reserve_blocks`, those that notes of trims may still take, and one for each logical block with pages in random
//! log blocks and no data block. Otherwise a victim is reclaimed first: the random log block with the fewest logical
//! blocks, the oldest among equals; without one, the sequence written longest ago. A new sequence also ends this one
//! if `sequential_blocks` sequences are in use.
//!
//! **A reclaim** of a random log block merges each logical block with a newest copy in it and erases the block. A full
//! merge gathers the newest copies of all mapped pages in a new block and erases the data block. A sequence ends in a
//! partial merge: the missing pages are copied to their places, and it is the data block; without copies this is a
//! switch. So a reclaim copies at most `associativity` times the pages of a block, and erases one block more than it
//! merges.
//!
//! ## Recovery
//! Mount reads every spare area. The newest copy of a page wins, and an interrupted merge is dropped. The oldest block
//! with pages of one logical block in their places is its data block, a younger one with a prefix is a sequence; the
//! others are random log blocks, by age. A logical block counts for a random log block if it has newest copies there.
//!
//! ## Invariants
//! The newest copy of a page lies in its place in the data block, in the sequence of its logical block, or in a random
//! log block; a random log block opened since the mount has at most `associativity` logical blocks; a sequence holds
//! the first pages of its logical block in order.
//!
//! ## Differences
//! The paper names neither the order of the second and third choice of a log block nor the victim; the text above has
//! our reading, and `share` has the other one. It bounds the time of a reclaim. Here one host write may reclaim two
//! log blocks when free blocks are short, because a trim or a retired block left a logical block without data block.
//! A logical block with a page in a random log block starts no sequence, or a first page written often would take a
//! new log block each time. Trims, recovery and failing blocks are our additions.
//!
//! ## References
//! H. Cho, D. Shin, Y. I. Eom: KAST: K-Associative Sector Translation for NAND Flash Memory in Real-Time Systems.
//! DATE 2009.

use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::bound_logs::{LogOptions, Victim};
use crate::parts::shared_logs::SharedLogs;
use crate::parts::store::{EraseWhen, Found, Options, Store};
use crate::{FtlError, RamUse, Variant};
use nandlab_nand::{BlockId, Geometry, Lpn, Nand};

/// The FTL.
pub type Kast = BlockMapped<Scheme>;

/// Options of KAST.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most log blocks in use, sequential ones included, at least 1; fewer if the free blocks allow fewer. Default 8,
    /// a convention.
    pub log_blocks: u32,
    /// Most logical blocks with pages in one random log block (K), at least 1. Default 4, a convention.
    pub associativity: u32,
    /// Most log blocks that take sequential writes, fewer than `log_blocks`. Default 2, a convention.
    pub sequential_blocks: u32,
    /// When a logical block without a log block shares one. Default first.
    pub share: Share,
    /// When to erase a block without valid pages. Default `on_free`.
    pub erase_when: EraseWhen,
    /// Blocks of the device kept free for merges; at least 1. With 1, a program failure or a torn page during a
    /// merge may leave no room; the default, 2, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut. This costs a note page per trimmed segment of the
    /// address space, and at least one block for the notes. Default true.
    pub durable_trim: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            log_blocks: 8,
            associativity: 4,
            sequential_blocks: 2,
            share: Share::First,
            erase_when: EraseWhen::OnFree,
            reserve_blocks: 2,
            durable_trim: true,
        }
    }
}

/// When a logical block without a log block shares one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Before a new log block is taken.
    #[default]
    First,
    /// Only if no new log block may be taken.
    Last,
}

/// The tables of KAST.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    /// The data blocks, the sequences as bound log blocks, and the random log blocks as shared ones.
    logs: SharedLogs,
}

impl Scheme {
    /// Whether a block may be taken, given those needed later by logical blocks without a data block.
    fn has_room(&self, store: &Store) -> bool {
        store.has_room_beside(self.logs.owed())
    }

    /// Whether another log block may be taken now.
    fn may_open(&self, store: &Store) -> bool {
        let in_use = self.logs.logs().len() + self.logs.bound.log_blocks().count();
        in_use < self.config.log_blocks as usize && self.has_room(store)
    }

    /// Reclaims log blocks until a block may be taken.
    fn make_room<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        while !self.has_room(store) {
            self.reclaim_victim(store, nand)?;
        }
        Ok(())
    }

    /// Reclaims the random log block with the fewest logical blocks, or else a sequence.
    fn reclaim_victim<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        let logs = self.logs.logs().iter().enumerate();
        match logs.min_by_key(|(_, log)| log.groups.len()).map(|(index, _)| index) {
            Some(index) => self.logs.reclaim(store, nand, index),
            None => self.logs.reclaim_bound(store, nand),
        }
    }

    fn open_data<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        self.make_room(store, nand)?;
        // A merge may have made a data block of this logical block just now.
        if self.logs.bound.data(group).is_some() {
            return Ok(());
        }
        self.logs.open_data(store, nand, group)
    }

    /// Starts a sequence.
    fn start_sequence<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        while self.logs.bound.is_full() {
            self.logs.reclaim_bound(store, nand)?;
        }
        while !self.may_open(store) {
            self.reclaim_victim(store, nand)?;
        }
        let block = store.open(nand, self.logs.bound.data(group))?;
        self.logs.bound.bind(group, block);
        Ok(())
    }

    /// Writes a page to the sequence of its logical block, if it is the next one there, or else makes the sequence a
    /// random log block; whether the page was written.
    fn continue_sequence<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        (at, log): (Lpn, BlockId),
        page: &N::Buf,
    ) -> Result<bool, FtlError> {
        let (group, place) = store.split(at);
        if place != store.high_water(log) {
            self.logs.unbind(store, group);
            return Ok(false);
        }
        let written = self.logs.bound.append(store, nand, (group, at), page)?;
        if written && place + 1 == store.pages_of(group).len() as u32 {
            self.logs.merge_group(store, nand, group)?;
        }
        Ok(written)
    }

    /// The log block in use that takes a page of a logical block, by the order in the head comment.
    fn log_for(&self, store: &Store, group: u32) -> Option<usize> {
        let with_room = || self.logs.logs().iter().enumerate().filter(|(_, log)| !store.is_full(log.block));
        let own = with_room().find(|(_, log)| log.has(group));
        if let Some((index, _)) = own.or_else(|| with_room().find(|(_, log)| log.groups.is_empty())) {
            return Some(index);
        }
        if self.config.share == Share::Last && self.may_open(store) {
            return None;
        }
        let most = self.config.associativity as usize;
        let may_share = with_room().filter(|(_, log)| log.groups.len() < most);
        may_share.min_by_key(|(_, log)| log.groups.len()).map(|(index, _)| index)
    }

    /// Writes a page to a random log block; false if none takes it yet, or its block failed.
    fn append<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<bool, FtlError> {
        let (group, _) = store.split(at);
        if self.logs.would_owe(group) {
            self.make_room(store, nand)?;
            self.logs.owe(group);
        }
        if let Some(index) = self.log_for(store, group) {
            return self.logs.append(store, nand, (index, at), page);
        }
        if self.may_open(store) {
            let block = store.open(nand, BlockId::NONE)?;
            self.logs.push(block);
        } else {
            self.reclaim_victim(store, nand)?;
        }
        Ok(false)
    }
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "kast";
    const SURVIVES_UNSTABLE_PAGES: bool = true;

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        vec![
            Variant::safe("log_1", Config { log_blocks: 1, sequential_blocks: 0, ..usual() }),
            Variant::safe("associativity_1", Config { associativity: 1, log_blocks: 3, ..usual() }),
            Variant::safe("no_sequential", Config { sequential_blocks: 0, log_blocks: 2, ..usual() }),
            Variant::safe("sequential_1", Config { sequential_blocks: 1, log_blocks: 2, ..usual() }),
            Variant::safe("share_last", Config { share: Share::Last, associativity: 2, log_blocks: 3, ..usual() }),
            Variant::safe("on_alloc", Config { erase_when: EraseWhen::OnAlloc, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
        ]
    }

    block_mapped::common_options!();

    fn options(config: &Config, geometry: &Geometry) -> Result<Options, FtlError> {
        if config.log_blocks == 0 {
            return Err(FtlError::Config(
                "ftl.kast.log_blocks = 0 cannot work: a page that is written again needs a log block".into(),
            ));
        }
        if config.associativity == 0 {
            return Err(FtlError::Config(
                "ftl.kast.associativity = 0 cannot work: a log block serves at least 1 logical block".into(),
            ));
        }
        if config.sequential_blocks >= config.log_blocks {
            return Err(FtlError::Config(format!(
                "ftl.kast.sequential_blocks = {}: it is at most {}, one less than log_blocks, because other pages need a \
                 log block too",
                config.sequential_blocks,
                config.log_blocks - 1
            )));
        }
        Ok(Self::common(config, geometry))
    }

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let options =
            LogOptions { log_blocks: config.sequential_blocks, victim: Victim::Lru, partial_merge: true, seed: 0 };
        let is_prefix = |pages: &[(u32, Lpn)]| {
            (0..).zip(pages).all(|(next, &(place, at))| place == next && store.split(at).1 == next)
        };
        let logs = SharedLogs::mount(store, options, found, is_prefix);
        Ok(Self { config: config.clone(), logs })
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        loop {
            let (data, sequence) = (self.logs.bound.data(group), self.logs.bound.log(group));
            let in_place = sequence.is_none() && !store.lookup(at).is_some();
            let written = if in_place && !data.is_some() {
                self.open_data(store, nand, group)?;
                false
            } else if in_place && store.takes(data, place) {
                store.put(nand, at, (data, place), page)?
            } else if let Some(log) = sequence {
                self.continue_sequence(store, nand, (at, log), page)?
            } else if place == 0
                && self.config.sequential_blocks > 0
                && !self.logs.logs().iter().any(|log| log.has(group))
            {
                self.start_sequence(store, nand, group)?;
                false
            } else {
                self.append(store, nand, at, page)?
            };
            if written {
                return Ok(());
            }
        }
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        self.logs.vacate(store, nand, block)
    }

    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        self.logs.drop_group(store, group)
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.logs.blocks()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.logs.log_blocks()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        let logs = u64::from(self.config.log_blocks.min(store.geometry().blocks()));
        let sequences = u64::from(self.config.sequential_blocks.min(store.geometry().blocks()));
        let associativity = u64::from(self.config.associativity.min(store.groups()));
        ram.sram.insert("block_map", 4 * u64::from(store.groups()));
        // For each log block: its number, the logical page of each of its pages, and its logical blocks.
        let pages = u64::from(store.geometry().pages_per_block());
        ram.sram.insert("log_map", logs * (4 + 4 * pages + 4 * associativity));
        ram.sram.insert("sequential_blocks", 8 * sequences);
    }

    fn check(&self, store: &Store) {
        self.logs.check(store);
        for log in self.logs.logs().iter().filter(|log| !log.is_found) {
            let groups = log.groups.len();
            assert!(groups <= self.config.associativity as usize, "{groups} logical blocks in log block {}", log.block);
        }
    }
}

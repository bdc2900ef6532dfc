//! BAST: block-associative sector translation, log blocks of one logical block each.
//!
//! ## Idea
//! Data blocks are mapped by block. A few log blocks take what is written again; each belongs to one logical
//! block and is mapped by page, so a small table serves a large device.
//!
//! ## Write path
//! ```text
//! page never written   -> its place in the data block
//! page written before  -> next page of the log block of its logical block
//! log block full       -> reclaim it:  all pages in order        switch   the log block is the data block
//!                                      a prefix in order         partial  the rest is copied behind it
//!                                      else                      full     everything is gathered in a new block
//! no log block free    -> reclaim a victim, mostly empty, and take its place
//! ```
//! On chips that program in ascending order a page below the last programmed one of its data block goes to
//! the log as well. A page that the host writes in part is read first, merged and written whole.
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
use crate::parts::store::{EraseWhen, Found, Options, Store};
use crate::{FtlError, RamUse, Variant};
use nandlab_nand::random::Random;
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand};

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
    /// Where a page goes that was never written. Default data.
    pub first_write: FirstWrite,
    /// Whether a log block that holds a prefix in order is completed; else it is merged in full. Default true.
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

/// Which log block is reclaimed when all are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Victim {
    /// The one that was written to longest ago.
    #[default]
    Lru,
    /// The one that was bound longest ago.
    Fifo,
    /// Any, drawn from the seed of the experiment.
    Random,
    /// The one with the most programmed pages, the least recently written among equals.
    Fullest,
}

/// Where a page goes that was never written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstWrite {
    /// To its place in the data block.
    #[default]
    Data,
    /// To the log block, like every other write; merges alone make data blocks.
    Log,
}

/// A log block in use.
#[derive(Clone, Copy, Debug)]
struct Log {
    group: u32,
    block: BlockId,
    /// When it was bound, in writes of the scheme.
    bound: u64,
    /// When it was written to.
    written: u64,
}

const NO_LOG: u32 = u32::MAX;

/// The stream of the seed that victims are drawn from; workloads and preconditioning draw from 1 to 3.
const VICTIM_STREAM: u64 = 4;

/// The tables of BAST.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    /// The data block of each logical block.
    data: Vec<BlockId>,
    /// The index of its log block in `logs`.
    log_of: Vec<u32>,
    logs: Vec<Log>,
    writes: u64,
    random: Random,
}

impl Scheme {
    /// Writes a page to the log of its logical block; false where the log block failed.
    #[inline]
    fn append<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        at: Lpn,
        page: &N::Buf,
        log: usize,
    ) -> Result<bool, FtlError> {
        self.writes += 1;
        let log = &mut self.logs[log];
        log.written = self.writes;
        store.put(nand, at, (log.block, store.high_water(log.block)), page)
    }

    /// Binds a new log block to a logical block, after reclaiming others until there is room.
    fn bind<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        while self.logs.len() >= self.config.log_blocks as usize || !store.has_room() {
            self.reclaim_victim(store, nand)?;
        }
        let block = store.open(nand, self.data[group as usize])?;
        self.log_of[group as usize] = self.logs.len() as u32;
        self.writes += 1;
        self.logs.push(Log { group, block, bound: self.writes, written: self.writes });
        Ok(())
    }

    fn open_data<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        while !store.has_room() {
            self.reclaim_victim(store, nand)?;
        }
        // The log block of this logical block may have become its data block just now.
        if !self.data[group as usize].is_some() {
            self.data[group as usize] = store.open(nand, BlockId::NONE)?;
        }
        Ok(())
    }

    fn reclaim_victim<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        let logs = self.logs.iter().enumerate();
        let victim = match self.config.victim {
            Victim::Lru => logs.min_by_key(|(_, log)| log.written).map(|(at, _)| at),
            Victim::Fifo => logs.min_by_key(|(_, log)| log.bound).map(|(at, _)| at),
            Victim::Random => (!self.logs.is_empty()).then(|| self.random.below(self.logs.len() as u64) as usize),
            Victim::Fullest => logs
                .max_by_key(|(_, log)| (store.high_water(log.block), std::cmp::Reverse(log.written)))
                .map(|(at, _)| at),
        };
        let Some(victim) = victim else { return Err(store.no_block_left()) };
        store.events.gc_runs += 1;
        self.reclaim(store, nand, self.logs[victim].group)
    }

    /// Ends the log block of a logical block.
    fn reclaim<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        let log = self.logs[self.log_of[group as usize] as usize].block;
        let data = self.data[group as usize];
        let (filled, pages) = (store.high_water(log), store.pages_of(group).len() as u32);
        let in_order = filled > 0 && store.is_in_place(group, log, 0..filled.min(pages));
        if in_order && (filled >= pages || !data.is_some() || store.is_stale(data)) {
            store.events.switch_merges += 1;
            return scoped(nand, Cause::SwitchMerge, |nand| self.promote(store, nand, group));
        }
        if in_order && self.config.partial_merge {
            return scoped(nand, Cause::PartialMerge, |nand| {
                if !store.complete(nand, group, log, filled..pages)? {
                    // The log block failed: it is left, and the block that is gathered takes its place.
                    return scoped(nand, Cause::BadBlock, |nand| self.renew(store, nand, group));
                }
                store.events.partial_merges += 1;
                self.promote(store, nand, group)
            });
        }
        store.events.full_merges += 1;
        scoped(nand, Cause::FullMerge, |nand| self.renew(store, nand, group))
    }

    /// The log block becomes the data block.
    fn promote<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        let log = self.unbind(group).expect("a log block is promoted");
        let data = std::mem::replace(&mut self.data[group as usize], log);
        if data.is_some() {
            store.release(nand, data)?;
        }
        Ok(())
    }

    /// Gathers a logical block in a new data block.
    fn renew<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        let data = self.data[group as usize];
        let target = store.gather(nand, group, data, None)?;
        self.data[group as usize] = target;
        let log = self.unbind(group);
        if data.is_some() {
            store.release(nand, data)?;
        }
        log.map_or(Ok(()), |log| store.release(nand, log))
    }

    /// Takes the log block of a logical block off the list.
    fn unbind(&mut self, group: u32) -> Option<BlockId> {
        let at = std::mem::replace(&mut self.log_of[group as usize], NO_LOG) as usize;
        if at == NO_LOG as usize {
            return None;
        }
        let log = self.logs.swap_remove(at);
        if let Some(moved) = self.logs.get(at) {
            self.log_of[moved.group as usize] = at as u32;
        }
        Some(log.block)
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

    fn is_trim_durable(config: &Config) -> bool {
        config.durable_trim
    }

    fn options(config: &Config, geometry: &Geometry) -> Result<Options, FtlError> {
        if config.log_blocks == 0 {
            return Err(FtlError::Config(
                "ftl.bast.log_blocks = 0 cannot work: a page that is written again needs a log block".into(),
            ));
        }
        Ok(Options {
            span: geometry.pages_per_block(),
            reserve_blocks: config.reserve_blocks,
            extra_blocks: 1,
            durable_trim: config.durable_trim,
            erase_when: config.erase_when,
        })
    }

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let groups = store.groups() as usize;
        let mut scheme = Self {
            config: config.clone(),
            data: vec![BlockId::NONE; groups],
            log_of: vec![NO_LOG; groups],
            logs: Vec::new(),
            writes: 0,
            random: Random::stream(config.seed, VICTIM_STREAM),
        };
        for found in found {
            let group = store.sole_group(found, "bast")?;
            let in_place = store.holds_in_place(group, found.block);
            let data = &mut scheme.data[group as usize];
            if in_place && !data.is_some() {
                *data = found.block;
            } else if scheme.log_of[group as usize] == NO_LOG {
                scheme.log_of[group as usize] = scheme.logs.len() as u32;
                scheme.writes += 1;
                let now = scheme.writes;
                scheme.logs.push(Log { group, block: found.block, bound: now, written: now });
            } else {
                return Err(store.foreign("bast", group));
            }
        }
        Ok(scheme)
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        loop {
            let data = self.data[group as usize];
            let log = self.log_of[group as usize];
            if data.is_some() && store.takes(data, place) && !store.lookup(at).is_some() {
                if store.put(nand, at, (data, place), page)? {
                    return Ok(());
                }
            } else if !data.is_some() && self.config.first_write == FirstWrite::Data {
                self.open_data(store, nand, group)?;
            } else if log == NO_LOG {
                self.bind(store, nand, group)?;
            } else if store.is_full(self.logs[log as usize].block) {
                self.reclaim(store, nand, group)?;
            } else if self.append(store, nand, at, page, log as usize)? {
                return Ok(());
            }
        }
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let of_log = self.logs.iter().find(|log| log.block == block).map(|log| log.group);
        let of_data = || self.data.iter().position(|&data| data == block).map(|group| group as u32);
        let group = of_log.or_else(of_data).expect("a failing block is in use");
        self.renew(store, nand, group)
    }

    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        let data = self.data[group as usize];
        let both = usize::from(data.is_some()) + usize::from(self.log_of[group as usize] != NO_LOG);
        if !store.may_drop(both) {
            return Vec::new();
        }
        self.data[group as usize] = BlockId::NONE;
        let log = self.unbind(group);
        [data].into_iter().filter(|block| block.is_some()).chain(log).collect()
    }

    fn blocks(&self) -> Vec<BlockId> {
        let data = self.data.iter().copied().filter(|block| block.is_some());
        data.chain(self.logs.iter().map(|log| log.block)).collect()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        let logs = u64::from(self.config.log_blocks.min(store.geometry().blocks()));
        ram.sram.insert("block_map", 4 * self.data.len() as u64);
        // Each log block: its number, its logical block, and the offset that each page holds.
        ram.sram.insert("log_map", logs * (8 + 2 * u64::from(store.geometry().pages_per_block())));
    }

    fn check(&self, store: &Store) {
        for (group, &data) in self.data.iter().enumerate() {
            let log = self.logs.get(self.log_of[group] as usize).map_or(BlockId::NONE, |log| log.block);
            store.check_group(group as u32, data, &[log]);
        }
        assert!(
            self.logs.iter().enumerate().all(|(at, log)| self.log_of[log.group as usize] == at as u32),
            "log table"
        );
    }
}

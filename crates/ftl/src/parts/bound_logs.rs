//! Log blocks bound to one logical block each, beside block-mapped data blocks.

use super::store::{Found, Store};
use crate::{FtlError, RamUse};
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::{scoped, BlockId, Cause, Lpn, Nand};

/// The log block to reclaim when all are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Victim {
    /// The least recently written one.
    #[default]
    Lru,
    /// The one bound longest ago.
    Fifo,
    /// Any, drawn from the experiment's seed.
    Random,
    /// The one with the most programmed pages, the least recently written among equals.
    Fullest,
}

impl Victim {
    /// Names and descriptions of all policies.
    pub const LIST: &'static [(&'static str, &'static str)] = &[
        ("lru", "Of log blocks: the one that was written to longest ago."),
        ("fifo", "Of log blocks: the one that was bound longest ago."),
        ("random", "Of log blocks: any, drawn from the seed of the experiment."),
        ("fullest", "Of log blocks: the one with the most programmed pages, the least recently written among equals."),
    ];
}

/// Destination for an unmapped page: never written, or trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstWrite {
    /// To its place in the data block, if that place is still erased and the chip's program order allows it.
    #[default]
    Data,
    /// To the log, like every other page. Only merges make data blocks, and places left erased by a merge stay
    /// erased.
    Log,
}

/// How a log block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Merge {
    /// It holds every mapped page, in order, and becomes the data block without a copy.
    Switch,
    /// It holds a prefix in order, takes copies of the other pages and becomes the data block.
    Partial,
    /// Everything is gathered in a new block.
    Full,
}

/// A log block in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    pub(crate) group: u32,
    pub(crate) block: BlockId,
    /// When it was bound, counted in the scheme's writes.
    bound: u64,
    /// When it was last written.
    pub(crate) written: u64,
}

const NO_LOG: u32 = u32::MAX;

/// Log-block options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogOptions {
    /// Most log blocks in use.
    pub(crate) log_blocks: u32,
    pub(crate) victim: Victim,
    /// Whether to complete a log block with a prefix in order.
    pub(crate) partial_merge: bool,
    pub(crate) seed: u64,
}

/// Each logical block's data block and log block.
#[derive(Debug)]
pub(crate) struct BoundLogs {
    options: LogOptions,
    data: Vec<BlockId>,
    /// By logical block: its log block's index in `logs`.
    log_of: Vec<u32>,
    logs: Vec<Log>,
    writes: u64,
    random: Random,
}

impl BoundLogs {
    pub(crate) fn new(groups: u32, options: LogOptions) -> Self {
        Self {
            data: vec![BlockId::NONE; groups as usize],
            log_of: vec![NO_LOG; groups as usize],
            logs: Vec::new(),
            writes: 0,
            random: Random::of(options.seed, Stream::LogVictims),
            options,
        }
    }

    /// A logical block's data block, or none.
    #[inline]
    pub(crate) fn data(&self, group: u32) -> BlockId {
        self.data[group as usize]
    }

    pub(crate) fn set_data(&mut self, group: u32, block: BlockId) {
        self.data[group as usize] = block;
    }

    /// A logical block's log block.
    #[inline]
    pub(crate) fn log(&self, group: u32) -> Option<BlockId> {
        self.logs.get(self.log_of[group as usize] as usize).map(|log| log.block)
    }

    /// Whether as many log blocks are in use as allowed.
    pub(crate) fn is_full(&self) -> bool {
        self.logs.len() >= self.options.log_blocks as usize
    }

    /// Binds `block` as log block to a logical block without one.
    pub(crate) fn bind(&mut self, group: u32, block: BlockId) {
        self.log_of[group as usize] = self.logs.len() as u32;
        self.writes += 1;
        self.logs.push(Log { group, block, bound: self.writes, written: self.writes });
    }

    /// Replaces a logical block's log block by `block`; returns the previous one.
    pub(crate) fn rebind(&mut self, group: u32, block: BlockId) -> BlockId {
        let log = &mut self.logs[self.log_of[group as usize] as usize];
        std::mem::replace(&mut log.block, block)
    }

    /// Removes a logical block's log block from the list.
    pub(crate) fn unbind(&mut self, group: u32) -> Option<BlockId> {
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

    /// Writes a page to its logical block's log block; false if the log block failed.
    #[inline]
    pub(crate) fn append<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        (group, at): (u32, Lpn),
        page: &N::Buf,
    ) -> Result<bool, FtlError> {
        self.writes += 1;
        let log = &mut self.logs[self.log_of[group as usize] as usize];
        log.written = self.writes;
        store.put(nand, at, (log.block, store.high_water(log.block)), page)
    }

    /// The logical block whose log block is the next victim.
    ///
    /// # Errors
    /// [`FtlError::WornOut`] if no log block is in use.
    pub(crate) fn victim(&mut self, store: &Store) -> Result<u32, FtlError> {
        let logs = self.logs.iter().enumerate();
        let victim = match self.options.victim {
            Victim::Lru => logs.min_by_key(|(_, log)| log.written).map(|(at, _)| at),
            Victim::Fifo => logs.min_by_key(|(_, log)| log.bound).map(|(at, _)| at),
            Victim::Random => (!self.logs.is_empty()).then(|| self.random.below(self.logs.len() as u64) as usize),
            Victim::Fullest => logs
                .max_by_key(|(_, log)| (store.high_water(log.block), std::cmp::Reverse(log.written)))
                .map(|(at, _)| at),
        };
        victim.map(|at| self.logs[at].group).ok_or_else(|| store.no_block_left())
    }

    /// The merge that would end a logical block's log block now.
    pub(crate) fn kind_of_merge(&self, store: &Store, group: u32) -> Merge {
        let log = self.log(group).expect("a logical block with a log block");
        let data = self.data(group);
        let (filled, pages) = (store.high_water(log), store.pages_of(group).len() as u32);
        if filled == 0 || !store.is_in_place(group, log, 0..filled.min(pages)) {
            Merge::Full
        } else if filled >= pages || !data.is_some() || store.mapped_to(data) == 0 {
            Merge::Switch
        } else if self.options.partial_merge {
            Merge::Partial
        } else {
            Merge::Full
        }
    }

    /// Ends a logical block's log block with a merge by `kind`.
    pub(crate) fn merge<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        group: u32,
        kind: Merge,
    ) -> Result<(), FtlError> {
        match kind {
            Merge::Switch => {
                store.events.switch_merges += 1;
                scoped(nand, Cause::SwitchMerge, |nand| self.promote(store, nand, group))
            }
            Merge::Partial => scoped(nand, Cause::PartialMerge, |nand| {
                let log = self.log(group).expect("a logical block with a log block");
                let places = store.high_water(log)..store.pages_of(group).len() as u32;
                if !store.complete(nand, group, log, places)? {
                    // The log block failed, so a newly gathered block replaces it.
                    return scoped(nand, Cause::BadBlock, |nand| self.renew(store, nand, group));
                }
                store.events.partial_merges += 1;
                self.promote(store, nand, group)
            }),
            Merge::Full => {
                store.events.full_merges += 1;
                scoped(nand, Cause::FullMerge, |nand| self.renew(store, nand, group))
            }
        }
    }

    /// Makes the log block the data block.
    fn promote<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        let log = self.unbind(group).expect("a log block is promoted");
        let data = std::mem::replace(&mut self.data[group as usize], log);
        if data.is_some() {
            store.release(nand, data)?;
        }
        Ok(())
    }

    /// Gathers a logical block in a new data block.
    pub(crate) fn renew<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        let data = self.data[group as usize];
        let target = store.gather(nand, group, data, None)?;
        self.data[group as usize] = target;
        let log = self.unbind(group);
        if data.is_some() {
            store.release(nand, data)?;
        }
        log.map_or(Ok(()), |log| store.release(nand, log))
    }

    /// Takes over a used block found by a mount: a block with pages in place is the data block, another one the
    /// log block; false if the logical block has both.
    pub(crate) fn adopt(&mut self, store: &Store, group: u32, found: &Found) -> bool {
        if store.holds_in_place(group, found.block) && !self.data(group).is_some() {
            self.set_data(group, found.block);
        } else if self.log(group).is_none() {
            self.bind(group, found.block);
        } else {
            return false;
        }
        true
    }

    /// The logical block with this data or log block.
    pub(crate) fn owner(&self, block: BlockId) -> Option<u32> {
        let of_log = self.logs.iter().find(|log| log.block == block).map(|log| log.group);
        of_log.or_else(|| self.data.iter().position(|&data| data == block).map(|group| group as u32))
    }

    /// Removes a logical block's blocks from the tables.
    pub(crate) fn drop_group(&mut self, group: u32) -> Vec<BlockId> {
        let data = std::mem::replace(&mut self.data[group as usize], BlockId::NONE);
        let log = self.unbind(group);
        [data].into_iter().filter(|block| block.is_some()).chain(log).collect()
    }

    /// Blocks in use.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let data = self.data.iter().copied().filter(|block| block.is_some());
        data.chain(self.log_blocks())
    }

    /// Log blocks in use.
    pub(crate) fn log_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.logs.iter().map(|log| log.block)
    }

    /// Adds the tables' memory.
    pub(crate) fn ram(&self, store: &Store, ram: &mut RamUse) {
        let logs = u64::from(self.options.log_blocks.min(store.geometry().blocks()));
        ram.sram.insert("block_map", 4 * self.data.len() as u64);
        // Per log block: its number, its logical block, and each page's offset.
        ram.sram.insert("log_map", logs * (8 + 2 * u64::from(store.geometry().pages_per_block())));
    }

    /// Asserts that every page lies in place in the data block, in the log block, or in `beside`, an additional
    /// block for the given logical block.
    ///
    /// # Panics
    /// With the page elsewhere.
    pub(crate) fn check(&self, store: &Store, beside: Option<(u32, BlockId)>) {
        for (group, &data) in (0..).zip(&self.data) {
            let log = self.log(group).unwrap_or(BlockId::NONE);
            let beside = beside.filter(|&(other, _)| other == group).map_or(BlockId::NONE, |(_, block)| block);
            store.check_group(group, data, &[log, beside]);
        }
        let listed = |(at, log): (usize, &Log)| self.log_of[log.group as usize] == at as u32;
        assert!(self.logs.iter().enumerate().all(listed), "log table");
    }
}

//! FAST: fully associative sector translation, log blocks shared by all logical blocks.
//!
//! ## Idea
//! Data blocks are mapped by block. Overwrites go to the log, whose blocks take pages of any logical block, so
//! they are full before they are merged. One additional log block takes sequential writes and becomes a data
//! block.
//!
//! ## Write path
//! The first matching line decides. A page is not mapped if it was never written or was trimmed since; the
//! owner is the logical block of the sequential log block.
//! ```text
//! not mapped, `first_write = "data"`  -> its place in the data block, which is taken when it is missing and the logical
//!                                        block is not the owner; if that place is spent, the lines below
//! first page of a logical block       -> page 0 of a new sequential log block (`sw_rule`), after the one before has ended
//! owner's page, the next one          -> the sequential log block, which ends when that was its last page
//! owner's page, further on            -> the same, which is completed around it and ends
//! owner's page, held already          -> a full merge of the owner with this page; the sequential log block is gone
//! else                                -> the next page of the youngest random log block
//! ```
//! A place is spent if it is programmed, or lies below the last programmed page on a chip that programs in
//! ascending order, or is not the next one on a chip without gaps. With `first_write = "log"` the first line
//! never matches: only merges make data blocks, and the FTL never uses a place left erased by a merge. For a
//! partial page write the FTL first reads the page, merges the new sectors and writes the whole page.
//!
//! **The sequential log block ends** in a partial merge: the FTL copies its missing pages to their places, in
//! ascending order, makes it the data block, and erases the old data block if there is one. Without copies this
//! is a switch. With `sequential_merge = "data_block"`, the default, the FTL copies every mapped page from the
//! data block if it holds a copy there, even one superseded in a random log block; the newer page stays valid
//! in the log. With `"newest"` it copies the newest copy of every mapped page, from any block. A full merge
//! gathers the newest copy of every mapped page in a newly taken block, and erases the data block and, if its
//! logical block is the owner, the sequential log block.
//!
//! **Random log blocks.** When the youngest one is full, the FTL takes another if fewer than `log_blocks` are
//! in use and there is room; otherwise the oldest becomes the victim, until one can be taken. The FTL examines
//! the victim's pages in write order. If a page is the newest copy, its logical block is merged in full, which
//! takes its pages from all log blocks. A page of the owner instead ends the sequential log block, with the
//! newest copy of every missing page. With `skip_stale = false` a superseded page also causes this merge if its
//! logical block has newest pages in any random log block. Then the FTL erases the victim.
//!
//! **Room.** The FTL takes a block for the host only while more than a minimum are free: `reserve_blocks`, the
//! blocks that notes of trims may still take, and one for each logical block with pages in random log blocks
//! and no data block. Such a logical block counts before its first page goes to the log. Without room the FTL
//! merges victims, the oldest first, and when none is left it ends the sequential log block with the newest
//! pages. It takes a new sequential log block only after the previous one has ended. Merges ignore this limit.
//!
//! With `migrate` the FTL renews a victim that is less than half valid instead: it copies the valid pages to
//! the head of a new log block, which takes the next pages. It does so at most half as many times in a row as a
//! log block has pages. If it needs a block beside the log, it merges victims, because a migration frees none.
//! On a chip without gaps, skipped places are padded, one program each.
//!
//! ## Recovery
//! Mount reads every spare area. The newest copy of a page wins, and an interrupted merge is dropped. The
//! oldest block with pages of one logical block in their places is its data block, a younger one with a prefix
//! is the sequential log block; the others are random log blocks, by age.
//!
//! ## Invariants
//! The newest copy of a page lies in its place in the data block or the sequential log block of its logical
//! block, or in a random log block; at most `log_blocks` random log blocks are in use when one is opened.
//!
//! ## Differences
//! The algorithm of the paper lets a page at offset 0 "merge the SW log block with its corresponding data
//! block" (quoted from the comments of fast_ftl.cpp in FlashSim by M. Bjorling, which reproduce it). It names
//! no random log block, and a read looks in the log first, so `sequential_merge = "data_block"` is the default.
//! The simulator of Gupta et al. (DFTL) copies the newest pages and empties their places in the log, which is
//! `"newest"`. That makes up to 12 % fewer programs of random writes (docs/validation.md). A comment of the
//! algorithm has both blocks erased after this merge, as after one into a new block. Here it is a partial merge
//! with one erase, as in the simulator of Gupta et al.
//!
//! The paper merges every logical block with any page in the victim; with `skip_stale` only logical blocks with
//! pages not superseded by newer log pages are merged. Without this no published count can be reached.
//! Migration comes from the cost-based block recycling of Park et al., adapted to shared log blocks. Trims,
//! recovery and failing blocks are our additions. On flash the copy of a superseded page is marked as padding,
//! so a mount finds the newer one.
//!
//! ## References
//! S.-W. Lee, D.-J. Park, T.-S. Chung, D.-H. Lee, S. Park, H.-J. Song: A Log Buffer-Based Flash Translation
//! Layer Using Fully-Associative Sector Translation. ACM Transactions on Embedded Computing Systems 6(3), 2007.
//! A. Gupta, Y. Kim, B. Urgaonkar: DFTL: A Flash Translation Layer Employing Demand-based Selective Caching of
//! Page-level Address Mappings. ASPLOS 2009.

mod reclaim;
mod sequence;

use crate::parts::block_mapped::{self, BlockMapped};
pub use crate::parts::bound_logs::FirstWrite;
use crate::parts::store::{EraseWhen, Found, Options, Store};
use crate::{FtlError, RamUse, Variant};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand};
use sequence::Sequential;
pub use sequence::SequentialMerge;
use std::collections::{BTreeSet, VecDeque};

/// The FTL.
pub type Fast = BlockMapped<Scheme>;

/// Options of FAST.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most random log blocks in use, at least 1; fewer if the free blocks allow fewer. Default 8, a
    /// convention.
    pub log_blocks: u32,
    /// Whether an additional log block takes sequential writes. Of one paper: btree. Default true.
    pub sequential_block: bool,
    /// First pages of logical blocks that start a sequential log block. Default always.
    pub sw_rule: SwRule,
    /// Pages that complete a sequential log block when another one replaces it. Default data_block, as in the
    /// paper. Of one paper: btree.
    pub sequential_merge: SequentialMerge,
    /// Destination of an unmapped page. Default data, as in the paper.
    pub first_write: FirstWrite,
    /// Whether to skip logical blocks whose pages in the victim are all superseded by newer log pages. Of
    /// one paper: btree. Default true.
    pub skip_stale: bool,
    /// Whether to renew a victim that is less than half valid, instead of merging it. Of one paper: migration. Default false.
    pub migrate: bool,
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
            sequential_block: true,
            sw_rule: SwRule::Always,
            sequential_merge: SequentialMerge::DataBlock,
            first_write: FirstWrite::Data,
            skip_stale: true,
            migrate: false,
            erase_when: EraseWhen::OnFree,
            reserve_blocks: 2,
            durable_trim: true,
        }
    }
}

/// First pages of logical blocks that start a sequential log block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwRule {
    /// All first pages.
    #[default]
    Always,
    /// First pages of logical blocks without newest pages in random log blocks.
    IfNotInLog,
    /// None.
    Never,
}

/// A random log block.
#[derive(Debug)]
struct Log {
    block: BlockId,
    /// Places and their pages, in write order.
    entries: Vec<(u32, Lpn)>,
}

/// The tables of FAST.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    /// The data block of each logical block.
    data: Vec<BlockId>,
    /// With [`SequentialMerge::DataBlock`], by logical page: whether its place in the data block holds a copy
    /// of it. Firmware finds out when it reads the page for a merge.
    held: Vec<bool>,
    sequential: Option<Sequential>,
    /// The oldest first.
    logs: VecDeque<Log>,
    /// Logical blocks with pages in the log and no data block: their merge will take a block.
    homeless: BTreeSet<u32>,
    /// Migrations since the last merge of a victim.
    migrations: u32,
}

impl Scheme {
    /// Whether a block may be taken, given the blocks needed later by logical blocks without a data block.
    fn has_room(&self, store: &Store) -> bool {
        store.has_room_beside(self.homeless.len() as u32)
    }

    /// Merges log blocks until a block may be taken; a migration would free none.
    fn make_room<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        while !self.has_room(store) {
            if !self.logs.is_empty() {
                store.events.gc_runs += 1;
                self.merge_front(store, nand)?;
            } else if self.sequential.is_some() {
                self.end_sequential(store, nand)?;
            } else {
                return Err(store.no_block_left());
            }
        }
        Ok(())
    }

    fn open_data<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        self.make_room(store, nand)?;
        // A merge may have made a data block of this logical block just now.
        if !self.data[group as usize].is_some() {
            let block = store.open(nand, BlockId::NONE)?;
            self.settle(store, group, block);
        }
        Ok(())
    }

    /// Sets the data block of a logical block, or clears it; returns the previous one.
    fn settle(&mut self, store: &Store, group: u32, block: BlockId) -> BlockId {
        self.homeless.remove(&group);
        if !self.held.is_empty() {
            store.pages_of(group).for_each(|at| self.held[at as usize] = store.is_in(Lpn(at), block));
        }
        std::mem::replace(&mut self.data[group as usize], block)
    }

    /// Whether a random log block holds the newest copy of a page of a logical block.
    fn is_in_log(&self, store: &Store, group: u32) -> bool {
        let sequential = self.sequential.map_or(BlockId::NONE, |sequential| sequential.block);
        store.pages_of(group).map(Lpn).any(|at| {
            store.lookup(at).is_some() && !store.is_in(at, self.data[group as usize]) && !store.is_in(at, sequential)
        })
    }

    /// Gathers a logical block in a new data block.
    fn renew<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        cause: Cause,
        group: u32,
        pending: Option<(Lpn, &N::Buf)>,
    ) -> Result<(), FtlError> {
        scoped(nand, cause, |nand| {
            let data = self.data[group as usize];
            let pending = pending.map(|(at, page)| (at, std::slice::from_ref(page)));
            let target = store.gather(nand, group, data, pending)?;
            self.settle(store, group, target);
            if data.is_some() {
                store.release(nand, data)?;
            }
            match self.sequential.take_if(|sequential| sequential.group == group) {
                Some(sequential) => store.release(nand, sequential.block),
                None => Ok(()),
            }
        })
    }

    /// Writes a page to the random log; false if its block failed.
    #[inline]
    fn append<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<bool, FtlError> {
        let (group, _) = store.split(at);
        if !self.data[group as usize].is_some() && !self.homeless.contains(&group) {
            self.make_room(store, nand)?;
            self.homeless.insert(group);
        }
        if self.logs.back().is_none_or(|log| store.is_full(log.block)) {
            self.open_log(store, nand)?;
        }
        let log = self.logs.back_mut().expect("a log block was opened");
        let place = store.high_water(log.block);
        log.entries.push((place, at));
        store.put(nand, at, (log.block, place), page)
    }

    /// Ensures that the last random log block has room for a page.
    fn open_log<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        // A migration leaves a block with room for more pages.
        while self.logs.back().is_none_or(|log| store.is_full(log.block)) {
            let may_open = self.logs.len() < self.config.log_blocks as usize;
            if may_open && self.has_room(store) {
                let block = store.open(nand, BlockId::NONE)?;
                self.logs.push_back(Log { block, entries: Vec::new() });
            } else if self.logs.is_empty() {
                self.make_room(store, nand)?;
            } else {
                self.reclaim(store, nand)?;
            }
        }
        Ok(())
    }
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "fast";

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        vec![
            Variant::safe("log_1", Config { log_blocks: 1, ..usual() }),
            Variant::safe("no_sequential", Config { sequential_block: false, log_blocks: 2, ..usual() }),
            Variant::safe("if_not_in_log", Config { sw_rule: SwRule::IfNotInLog, log_blocks: 2, ..usual() }),
            Variant::safe("never", Config { sw_rule: SwRule::Never, ..usual() }),
            Variant::safe("newest", Config { sequential_merge: SequentialMerge::Newest, ..usual() }),
            Variant::safe("log_first", Config { first_write: FirstWrite::Log, log_blocks: 2, ..usual() }),
            Variant::safe("merge_stale", Config { skip_stale: false, log_blocks: 2, ..usual() }),
            Variant::safe("migrate", Config { migrate: true, log_blocks: 2, ..usual() }),
            Variant::safe("on_alloc", Config { erase_when: EraseWhen::OnAlloc, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
        ]
    }

    block_mapped::common_options!();

    fn options(config: &Config, geometry: &Geometry) -> Result<Options, FtlError> {
        if config.log_blocks == 0 {
            return Err(FtlError::Config(
                "ftl.fast.log_blocks = 0 cannot work: a page that is written again needs a log block".into(),
            ));
        }
        Ok(Self::common(config, geometry))
    }

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let mut scheme = Self {
            config: config.clone(),
            data: vec![BlockId::NONE; store.groups() as usize],
            held: Vec::new(),
            sequential: None,
            logs: VecDeque::new(),
            homeless: BTreeSet::new(),
            migrations: 0,
        };
        for Found { block, pages } in found {
            let (group, _) = store.split(pages[0].1);
            let in_place = pages.iter().all(|&(place, at)| store.split(at) == (group, place));
            let prefix = (0..).zip(pages).all(|(next, &(place, _))| place == next);
            let block = *block;
            if in_place && !scheme.data[group as usize].is_some() {
                scheme.data[group as usize] = block;
            } else if in_place && prefix && config.sequential_block && scheme.sequential.is_none() {
                scheme.sequential = Some(Sequential { group, block });
            } else {
                scheme.logs.push_back(Log { block, entries: pages.clone() });
            }
        }
        // Only groups and pages that were found: a blank device has as many of both, and none in use.
        let groups: BTreeSet<u32> =
            found.iter().flat_map(|found| &found.pages).map(|&(_, at)| store.split(at).0).collect();
        let has_no_data = |&group: &u32| !scheme.data[group as usize].is_some() && store.mapped_in(group) > 0;
        scheme.homeless = groups.into_iter().filter(has_no_data).collect();
        if config.sequential_block && config.sequential_merge == SequentialMerge::DataBlock {
            scheme.held = vec![false; store.logical_pages() as usize];
            for Found { block, pages } in found {
                for &(_, at) in pages.iter().filter(|&&(_, at)| scheme.data[store.split(at).0 as usize] == *block) {
                    scheme.held[at.index()] = store.is_in(at, *block);
                }
            }
        }
        Ok(scheme)
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        loop {
            let data = self.data[group as usize];
            let sequential = self.sequential.filter(|sequential| sequential.group == group);
            let in_place = self.config.first_write == FirstWrite::Data && !store.lookup(at).is_some();
            let written = if in_place && !data.is_some() && sequential.is_none() {
                self.open_data(store, nand, group)?;
                false
            } else if in_place && data.is_some() && store.takes(data, place) {
                let written = store.put(nand, at, (data, place), page)?;
                if let Some(held) = self.held.get_mut(at.index()) {
                    *held = written;
                }
                written
            } else if self.starts_sequence(store, group, place) {
                self.start_sequence(store, nand, at, page)?
            } else if let Some(sequential) = sequential {
                self.continue_sequence(store, nand, at, page, sequential)?
            } else {
                self.append(store, nand, at, page)?
            };
            if written {
                return Ok(());
            }
        }
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        if let Some(at) = self.logs.iter().position(|log| log.block == block) {
            let log = self.logs.remove(at).expect("the log block was found");
            self.logs.push_front(log);
            return self.merge_front(store, nand);
        }
        let of_sequential = self.sequential.filter(|sequential| sequential.block == block);
        let of_data = || self.data.iter().position(|&data| data == block).map(|group| group as u32);
        let group = of_sequential.map(|sequential| sequential.group).or_else(of_data);
        self.renew(store, nand, Cause::BadBlock, group.expect("a failing block is in use"), None)
    }

    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        let sequential = self.sequential.filter(|sequential| sequential.group == group);
        let data = Some(self.data[group as usize]).filter(|data| data.is_some());
        let blocks: Vec<BlockId> = data.into_iter().chain(sequential.map(|sequential| sequential.block)).collect();
        self.homeless.remove(&group);
        if !store.may_drop(blocks.len()) {
            return Vec::new();
        }
        self.settle(store, group, BlockId::NONE);
        self.sequential = self.sequential.filter(|sequential| sequential.group != group);
        blocks
    }

    fn blocks(&self) -> Vec<BlockId> {
        let data = self.data.iter().copied().filter(|block| block.is_some());
        data.chain(self.log_blocks()).collect()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        let logs = self.logs.iter().map(|log| log.block);
        logs.chain(self.sequential.map(|sequential| sequential.block)).collect()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        let logs = u64::from(self.config.log_blocks.min(store.geometry().blocks()));
        ram.sram.insert("block_map", 4 * self.data.len() as u64);
        // For each random log block: its number, and the logical page of each of its pages.
        ram.sram.insert("log_map", logs * (4 + 4 * u64::from(store.geometry().pages_per_block())));
        ram.sram.insert("sequential_block", if self.config.sequential_block { 8 } else { 0 });
    }

    fn check(&self, store: &Store) {
        let logs: Vec<BlockId> = self.logs.iter().map(|log| log.block).collect();
        for (group, &data) in (0..).zip(&self.data) {
            let sequential = self.sequential.filter(|sequential| sequential.group == group);
            let others: Vec<BlockId> =
                logs.iter().copied().chain(sequential.map(|sequential| sequential.block)).collect();
            store.check_group(group, data, &others);
        }
        for log in &self.logs {
            let held = |&&(place, at): &&(u32, Lpn)| store.lookup(at) == store.geometry().page(log.block, place);
            let held = log.entries.iter().filter(held).count() as u32;
            let valid = store.valid_in(log.block) - store.pinned_in(log.block);
            assert_eq!(valid, held, "log block {} holds pages that it has no entry of", log.block);
        }
    }
}

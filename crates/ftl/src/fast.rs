//! FAST: fully associative sector translation, log blocks shared by all logical blocks.
//!
//! ## Idea
//! Data blocks are mapped by block. What is written again goes to the log, whose blocks take pages of any logical block,
//! so they are full before they are merged. One log block more takes sequential writes and becomes a data block.
//!
//! ## Write path
//! The first line that fits a page decides. A page is not mapped if it was never written or was trimmed since; the
//! owner is the logical block of the sequential log block.
//! ```text
//! not mapped                          -> its place in the data block, which is taken when it is missing and the logical
//!                                        block is not the owner; if that place is spent, the lines below
//! first page of a logical block       -> page 0 of a new sequential log block (`sw_rule`), after the one before has ended
//! owner's page, the next one          -> the sequential log block, which ends when that was its last page
//! owner's page, further on            -> the same, which is completed around it and ends
//! owner's page, held already          -> a full merge of the owner with this page; the sequential log block is gone
//! else                                -> the next page of the youngest random log block
//! ```
//! A place is spent if it is programmed, or lies below the last programmed page on a chip that programs in ascending
//! order. A page that the host writes in part is read first, merged and written whole.
//!
//! **The sequential log block ends** in a partial merge: pages that it lacks are copied to their places in it, in
//! ascending order, it becomes the data block, and the old data block is erased if there is one. It is a switch where
//! nothing is copied. What is copied is the newest copy of every mapped page, wherever it lies. A full merge gathers
//! the newest copy of every mapped page in a block that is taken, and erases the data block and, if its logical block
//! is the owner, the sequential log block.
//!
//! **Random log blocks.** When the youngest one is full, another is taken if fewer than `log_blocks` are in use and
//! there is room; else the oldest is the victim, until one can be taken. The pages of the victim are looked at in the
//! order in which they were written. Where a page is the newest copy, its logical block is merged in full, which
//! takes its pages from all log blocks. A page of the owner ends the sequential log block in place of that. With
//! `skip_stale = false` a page that is not the newest copy does the same if the logical block has newest pages in any
//! random log block. Then the victim is erased.
//!
//! **Room.** A block is taken for the host while more are free than `reserve_blocks`, those that notes of trims may
//! still take, and one for each logical block with pages in random log blocks and no data block. Without room victims
//! are merged, the oldest first, and when none is left the sequential log block ends with the newest pages. A new
//! sequential log block is taken after the one before has ended. Merges take no notice of room.
//!
//! With `migrate` a victim that is less than half valid is renewed instead: its valid pages are copied to the head of
//! a new log block, which takes the next pages, as often in a row as a log block has half its pages. Where a block is
//! needed beside the log, victims are merged: a migration gives none back. On a chip without gaps, places that are
//! skipped are padded, one program each.
//!
//! ## Recovery
//! Mount reads every spare area; the newest copy of a page wins, and a merge that was cut is dropped. The oldest block
//! with pages of one logical block in their places is its data block, a younger one that holds a prefix the sequential
//! log block; the others are random log blocks, by age.
//!
//! ## Invariants
//! The newest copy of a page lies in its place in the data block or the sequential log block of its logical block, or
//! in a random log block; at most `log_blocks` random log blocks are in use when one is opened.
//!
//! ## Differences
//! The paper merges every logical block that the victim has ever taken a page of; with `skip_stale` only those with
//! pages that no newer log page superseded, without which no published count can be reached. Migration is that of the
//! cost-based block recycling of Park et al., made for shared log blocks. Trims, recovery and failing blocks are
//! ours.
//!
//! ## References
//! S.-W. Lee, D.-J. Park, T.-S. Chung, D.-H. Lee, S. Park, H.-J. Song: A Log Buffer-Based Flash Translation Layer Using
//! Fully-Associative Sector Translation. ACM Transactions on Embedded Computing Systems 6(3), 2007.

mod reclaim;
#[cfg(test)]
mod tests;

use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::store::{EraseWhen, Found, Options, Store};
use crate::{FtlError, RamUse, Variant};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand};
use std::collections::{BTreeSet, VecDeque};

/// The FTL.
pub type Fast = BlockMapped<Scheme>;

/// Options of FAST.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most random log blocks in use, at least 1; as many as the free blocks allow where that is less. Default 8, a
    /// convention.
    pub log_blocks: u32,
    /// Whether one log block more takes sequential writes. Default true.
    pub sequential_block: bool,
    /// Which first page of a logical block starts a sequential log block. Default always.
    pub sw_rule: SwRule,
    /// Whether a victim's logical blocks are left alone where newer log pages have superseded all their pages in it.
    /// Default true.
    pub skip_stale: bool,
    /// Whether a victim that is less than half valid is renewed instead of merged. Default false.
    pub migrate: bool,
    /// When a block that holds nothing any more is erased. Default `on_free`.
    pub erase_when: EraseWhen,
    /// Blocks of the device that stay free for merges; at least 1. With 1 a program failure or a torn page
    /// during a merge may leave no room; the default, 2, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut, at the price of a note page for each segment of the
    /// address space that was trimmed, and of a block or more for the notes. Default true.
    pub durable_trim: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            log_blocks: 8,
            sequential_block: true,
            sw_rule: SwRule::Always,
            skip_stale: true,
            migrate: false,
            erase_when: EraseWhen::OnFree,
            reserve_blocks: 2,
            durable_trim: true,
        }
    }
}

/// Which first page of a logical block starts a sequential log block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwRule {
    /// Every one.
    #[default]
    Always,
    /// One of a logical block without newest pages in random log blocks.
    IfNotInLog,
    /// None.
    Never,
}

/// The sequential log block.
#[derive(Clone, Copy, Debug)]
struct Sequential {
    group: u32,
    block: BlockId,
}

/// A random log block.
#[derive(Debug)]
struct Log {
    block: BlockId,
    /// What was written where, in order.
    entries: Vec<(u32, Lpn)>,
}

/// The tables of FAST.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    /// The data block of each logical block.
    data: Vec<BlockId>,
    sequential: Option<Sequential>,
    /// The oldest first.
    logs: VecDeque<Log>,
    /// Logical blocks with pages in the log and no data block, as a mount may find them: a merge will take a block.
    homeless: BTreeSet<u32>,
    /// Migrations since the last merge of a victim.
    migrations: u32,
}

impl Scheme {
    /// Whether a block may be taken beside those that logical blocks without a data block will take.
    fn has_room(&self, store: &Store) -> bool {
        store.has_room_beside(self.homeless.len() as u32)
    }

    /// Merges log blocks until a block may be taken; a migration would give none back.
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
            self.settle(group, block);
        }
        Ok(())
    }

    /// Gives a logical block a data block; returns the one before.
    fn settle(&mut self, group: u32, block: BlockId) -> BlockId {
        self.homeless.remove(&group);
        std::mem::replace(&mut self.data[group as usize], block)
    }

    /// Whether a random log block holds the newest copy of a page of a logical block.
    fn is_in_log(&self, store: &Store, group: u32) -> bool {
        let sequential = self.sequential.map_or(BlockId::NONE, |sequential| sequential.block);
        store.pages_of(group).map(Lpn).any(|at| {
            store.lookup(at).is_some() && !store.is_in(at, self.data[group as usize]) && !store.is_in(at, sequential)
        })
    }

    /// Whether a page starts a sequential log block.
    fn starts_sequence(&self, store: &Store, group: u32, place: u32) -> bool {
        place == 0
            && self.config.sequential_block
            && match self.config.sw_rule {
                SwRule::Always => true,
                SwRule::IfNotInLog => !self.is_in_log(store, group),
                SwRule::Never => false,
            }
    }

    /// Starts a sequential log block with the first page of a logical block; false where that block failed.
    fn start_sequence<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        at: Lpn,
        page: &N::Buf,
    ) -> Result<bool, FtlError> {
        self.end_sequential(store, nand)?;
        self.make_room(store, nand)?;
        let (group, _) = store.split(at);
        let block = store.open(nand, self.data[group as usize])?;
        self.sequential = Some(Sequential { group, block });
        store.put(nand, at, (block, 0), page)
    }

    /// Writes a page of the logical block of the sequential log block, which may end with it; false where the page was
    /// not written.
    fn continue_sequence<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        at: Lpn,
        page: &N::Buf,
        Sequential { group, block }: Sequential,
    ) -> Result<bool, FtlError> {
        let (_, place) = store.split(at);
        let (next, pages) = (store.high_water(block), store.pages_of(group).len() as u32);
        let goes_on = place == next || (place > next && store.takes_rest(group, block, Some(at)));
        if !goes_on {
            store.events.full_merges += 1;
            self.renew(store, nand, Cause::FullMerge, group, Some((at, page)))?;
            return Ok(true);
        }
        let copies = place > next && store.lacks(group, block, next..place);
        if copies && !scoped(nand, Cause::PartialMerge, |nand| store.complete(nand, group, block, next..place))? {
            return Ok(false);
        }
        let written = store.put(nand, at, (block, place), page)?;
        if written && (place > next || place + 1 == pages) {
            self.end_sequence(store, nand, copies)?;
        }
        Ok(written)
    }

    /// Makes the sequential log block a data block.
    fn end_sequential<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        self.end_sequence(store, nand, false)
    }

    /// As [`Self::end_sequential`], where the log block may have taken `copies` before. Pages that are unmapped are
    /// never in the way; what was trimmed and written again to the data block may be.
    fn end_sequence<N: Nand>(&mut self, store: &mut Store, nand: &mut N, copies: bool) -> Result<(), FtlError> {
        let Some(Sequential { group, block }) = self.sequential else { return Ok(()) };
        let places = 0..store.pages_of(group).len() as u32;
        let copies_more = store.lacks(group, block, places.clone());
        if !copies && !copies_more {
            store.events.switch_merges += 1;
            return scoped(nand, Cause::SwitchMerge, |nand| self.promote(store, nand, group, block));
        }
        if !store.takes_rest(group, block, None) {
            store.events.full_merges += 1;
            return self.renew(store, nand, Cause::FullMerge, group, None);
        }
        scoped(nand, Cause::PartialMerge, |nand| {
            if copies_more && !store.complete(nand, group, block, places)? {
                return self.renew(store, nand, Cause::BadBlock, group, None);
            }
            store.events.partial_merges += 1;
            self.promote(store, nand, group, block)
        })
    }

    fn promote<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        group: u32,
        block: BlockId,
    ) -> Result<(), FtlError> {
        self.sequential = None;
        let data = self.settle(group, block);
        if data.is_some() {
            store.release(nand, data)?;
        }
        Ok(())
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
            self.settle(group, target);
            if data.is_some() {
                store.release(nand, data)?;
            }
            match self.sequential.take_if(|sequential| sequential.group == group) {
                Some(sequential) => store.release(nand, sequential.block),
                None => Ok(()),
            }
        })
    }

    /// Writes a page to the random log; false where its block failed.
    #[inline]
    fn append<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<bool, FtlError> {
        if self.logs.back().is_none_or(|log| store.is_full(log.block)) {
            self.open_log(store, nand)?;
        }
        let log = self.logs.back_mut().expect("a log block was opened");
        let place = store.high_water(log.block);
        log.entries.push((place, at));
        store.put(nand, at, (log.block, place), page)
    }

    /// Makes sure that the last random log block takes a page.
    fn open_log<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        // A migration leaves a block that is filled further.
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
        let has_no_data = |&group: &u32| !scheme.data[group as usize].is_some() && store.mapped_in(group) > 0;
        scheme.homeless = (0..store.groups()).filter(has_no_data).collect();
        Ok(scheme)
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        loop {
            let data = self.data[group as usize];
            let sequential = self.sequential.filter(|sequential| sequential.group == group);
            let written = if !data.is_some() && !store.lookup(at).is_some() && sequential.is_none() {
                self.open_data(store, nand, group)?;
                false
            } else if data.is_some() && store.takes(data, place) && !store.lookup(at).is_some() {
                store.put(nand, at, (data, place), page)?
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
        self.settle(group, BlockId::NONE);
        self.sequential = self.sequential.filter(|sequential| sequential.group != group);
        blocks
    }

    fn blocks(&self) -> Vec<BlockId> {
        let data = self.data.iter().copied().filter(|block| block.is_some());
        let logs = self.logs.iter().map(|log| log.block);
        data.chain(logs).chain(self.sequential.map(|sequential| sequential.block)).collect()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        let logs = u64::from(self.config.log_blocks.min(store.geometry().blocks()));
        ram.sram.insert("block_map", 4 * self.data.len() as u64);
        // Each random log block: its number, and the logical page that each of its pages holds.
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

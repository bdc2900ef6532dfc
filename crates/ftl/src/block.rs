//! Block map: a map entry for every logical block.
//!
//! ## Idea
//! Every page has a fixed place in the data block of its logical block, so one map entry serves a whole block.
//! An overwrite goes to the same place in a replacement block; when the replacement block cannot take it, the
//! FTL merges the logical block into one block.
//!
//! ## Write path
//! A write goes to its place in the newest block of its logical block: the replacement block if there is one,
//! else the data block. If that place in the data block is programmed, or was passed over on a chip that
//! programs in ascending order, the FTL opens a replacement block. A replacement block ends in one of three
//! merges: it holds every valid page and becomes the data block (switch); it takes the valid pages of the data
//! block and becomes the data block (partial); or both are gathered, with the pending host page, into a new
//! block (full). Then the FTL erases the old blocks, the older one first. If replacement blocks or free blocks
//! run out, the FTL merges the logical block with the fewest pages to copy. On a chip without gaps it fills
//! gaps: with valid pages of the data block, which a merge would copy later, or with padding pages if there are
//! none. For a partial page write the FTL first reads the page, merges the new sectors and writes the whole
//! page. A logical block without valid pages returns its blocks without a copy. A logical block stays on its
//! die if possible; new logical blocks use the dies in turn.
//!
//! ## Recovery
//! Mount reads every spare area. The newest copy of a page wins, and an interrupted full merge is dropped: the
//! two older blocks hold all acknowledged data. Of the blocks with newest copies, the older one is the data
//! block. The last programmed page of a block may be torn, so mount reads it in full. A block that was open takes
//! no more pages: each of its erased pages may have a cut program. The FTL erases a free block again before its first page.
//! It reuses empty blocks first, and keeps the last block in use when that block is trimmed: so written flash
//! never looks blank. Note pages in blocks of their own hold the trims. The FTL writes them at a flush, and
//! before it erases the last copy of a trimmed page. A note is a bitmap of the unmapped pages in one segment of
//! the address space, and hides every copy older than itself.
//!
//! ## Invariants
//! A logical block has at most one data and one replacement block, with its pages in their places; a note, or
//! the next flush, records each unmapped page; `reserve_blocks` stay free when a block is opened for the host,
//! so a merge always finds its target.
//!
//! ## Differences
//! Ban chains any number of replacement units; here there is one. When room runs out, this FTL merges the
//! cheapest logical block: our reading of the greedy collection of Kim, Choi and Kwak, who only say of their
//! FTL that it maps blocks and collects greedily. Flash of Ban's time programs pages in any order; gaps,
//! padding and early copies are our additions. A valid bit per page counts as memory here, while a small
//! controller reads spare areas.
//!
//! ## References
//! A. Ban: Flash File System. US Patent 5,404,485, 1995. A. Ban: Flash File System Optimized for Page-Mode
//! Flash Technologies. US Patent 5,937,425, 1999 (replacement units). K. M. Kim, J.-H. Choi, J. W. Kwak:
//! WAP-LRU: Write Pattern Analysis Based Hybrid Disk Buffer Management in Flash Storage Systems. 2018.

use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::store::{EraseWhen, Found, Options, Source, Store};
use crate::{FtlError, RamUse, Variant};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand};

/// The FTL.
pub type BlockMap = BlockMapped<Scheme>;

/// Options of the block map.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most replacement blocks in use at once; fewer if the free blocks allow fewer. With 0, each overwrite
    /// costs a full merge. Default 8, a convention: the patent has no such limit.
    pub replacement_blocks: u32,
    /// When to erase a block without valid pages. Default `on_free`.
    pub erase_when: EraseWhen,
    /// Blocks of the device kept free for merges; at least 1. With 1, a program failure or a torn page during a
    /// merge may leave no room; the default, 2, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut. This costs a note page per trimmed segment of the
    /// address space, and at least one block for the notes. Without it there are no notes, and a mount may
    /// bring back the contents of a trimmed page until they are erased. Default true.
    pub durable_trim: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { replacement_blocks: 8, erase_when: EraseWhen::OnFree, reserve_blocks: 2, durable_trim: true }
    }
}

/// The blocks of a logical block; [`BlockId::NONE`] for a missing block.
#[derive(Clone, Copy, Debug)]
struct Entry {
    data: BlockId,
    replacement: BlockId,
}

impl Entry {
    const NONE: Self = Self { data: BlockId::NONE, replacement: BlockId::NONE };

    /// The most recently opened block.
    #[inline]
    fn newest(&self) -> BlockId {
        if self.replacement.is_some() {
            self.replacement
        } else {
            self.data
        }
    }

    /// The existing blocks, the older one first.
    fn blocks(&self) -> impl Iterator<Item = BlockId> {
        [self.data, self.replacement].into_iter().filter(|block| block.is_some())
    }
}

/// How a replacement block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Merge {
    /// It holds every valid page and becomes the data block.
    Switch,
    /// It takes the valid pages of the data block and becomes the data block.
    Partial,
    /// Both are gathered into a new block.
    Full,
}

/// The tables of the block map.
#[derive(Debug)]
pub struct Scheme {
    replacement_blocks: u32,
    /// By logical block.
    map: Vec<Entry>,
    /// Logical blocks with a replacement block.
    replaced: Vec<u32>,
}

impl Scheme {
    /// Writes a page to the newest block of its logical block, which must have room; false if the block failed.
    #[inline]
    fn put<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<bool, FtlError> {
        let (group, place) = store.split(at);
        let block = self.map[group as usize].newest();
        let gap = store.high_water(block)..place;
        if store.is_dense() && !scoped(nand, Cause::PartialMerge, |nand| store.advance(nand, group, block, gap))? {
            return Ok(false);
        }
        store.put(nand, at, (block, place), page)
    }

    /// Opens a data block, after merging logical blocks until there is room.
    fn open_data<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        while !store.has_room() {
            self.reclaim(store, nand)?;
        }
        self.map[group as usize].data = store.open(nand, BlockId::NONE)?;
        Ok(())
    }

    /// Opens a replacement block, after merging logical blocks until there is room.
    fn open_replacement<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        while self.replaced.len() >= self.replacement_blocks as usize || !store.has_room() {
            self.reclaim(store, nand)?;
        }
        let entry = &mut self.map[group as usize];
        entry.replacement = store.open(nand, entry.data)?;
        self.replaced.push(group);
        Ok(())
    }

    /// Merges the logical block with the fewest pages to copy.
    fn reclaim<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        let cost = |&group: &u32| (self.copies(store, group), group);
        let Some(victim) = self.replaced.iter().copied().min_by_key(cost) else { return Err(store.no_block_left()) };
        store.events.gc_runs += 1;
        self.merge(store, nand, victim, None).map(drop)
    }

    /// The merge that would end the replacement block of a logical block now.
    fn kind_of_merge(&self, store: &Store, group: u32) -> Merge {
        let Entry { data, replacement } = self.map[group as usize];
        if store.mapped_to(data) == 0 {
            Merge::Switch
        } else if store.takes_rest(Source::Newest, (group, replacement), None) {
            Merge::Partial
        } else {
            Merge::Full
        }
    }

    /// Pages to copy in a merge of a logical block now.
    fn copies(&self, store: &Store, group: u32) -> u32 {
        match self.kind_of_merge(store, group) {
            Merge::Switch => 0,
            Merge::Partial => store.mapped_to(self.map[group as usize].data),
            Merge::Full => store.mapped_in(group),
        }
    }

    /// Ends the replacement block of a logical block; true if this also wrote the `pending` page.
    fn merge<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        group: u32,
        pending: Option<(Lpn, &N::Buf)>,
    ) -> Result<bool, FtlError> {
        let replacement = self.map[group as usize].replacement;
        match self.kind_of_merge(store, group) {
            Merge::Switch => {
                store.events.switch_merges += 1;
                self.replace(store, nand, Cause::SwitchMerge, group, replacement)?;
            }
            Merge::Partial => {
                let places = 0..store.geometry().pages_per_block();
                let complete =
                    scoped(nand, Cause::PartialMerge, |nand| store.complete(nand, group, replacement, places))?;
                if !complete {
                    self.renew(store, nand, Cause::BadBlock, group, pending)?;
                    return Ok(pending.is_some());
                }
                store.events.partial_merges += 1;
                self.replace(store, nand, Cause::PartialMerge, group, replacement)?;
            }
            Merge::Full => {
                store.events.full_merges += 1;
                self.renew(store, nand, Cause::FullMerge, group, pending)?;
                return Ok(pending.is_some());
            }
        }
        Ok(false)
    }

    /// Gathers a logical block, with the `pending` page, in a new data block.
    fn renew<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        cause: Cause,
        group: u32,
        pending: Option<(Lpn, &N::Buf)>,
    ) -> Result<(), FtlError> {
        let near = self.map[group as usize].data;
        let target = scoped(nand, cause, |nand| {
            store.gather(nand, group, near, pending.map(|(at, page)| (at, std::slice::from_ref(page))))
        })?;
        self.replace(store, nand, cause, group, target)
    }

    /// Makes `target` the only block of a logical block; it already holds every page.
    fn replace<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        cause: Cause,
        group: u32,
        target: BlockId,
    ) -> Result<(), FtlError> {
        let old = std::mem::replace(&mut self.map[group as usize], Entry { data: target, ..Entry::NONE });
        self.replaced.retain(|&other| other != group);
        scoped(nand, cause, |nand| {
            old.blocks().filter(|&block| block != target).try_for_each(|block| store.release(nand, block))
        })
    }
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "block";
    const SURVIVES_UNSTABLE_PAGES: bool = true;

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        vec![
            Variant::safe("replacement_0", Config { replacement_blocks: 0, ..usual() }),
            Variant::safe("replacement_1", Config { replacement_blocks: 1, ..usual() }),
            Variant::safe("on_alloc", Config { erase_when: EraseWhen::OnAlloc, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::tight("least", Config { replacement_blocks: 0, reserve_blocks: 1, ..usual() }),
            Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
            Variant::safe("forget_on_alloc", Config { durable_trim: false, erase_when: EraseWhen::OnAlloc, ..usual() }),
        ]
    }

    block_mapped::common_options!();

    fn options(config: &Config, geometry: &Geometry) -> Result<Options, FtlError> {
        // Room for one replacement block.
        Ok(Options { extra_blocks: config.replacement_blocks.min(1), ..Self::common(config, geometry) })
    }

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let map = vec![Entry::NONE; store.groups() as usize];
        let mut scheme = Self { replacement_blocks: config.replacement_blocks, map, replaced: Vec::new() };
        for found in found {
            let group = store.sole_group(found, Self::NAME)?;
            let entry = &mut scheme.map[group as usize];
            if !store.holds_in_place(group, found.block) || entry.replacement.is_some() {
                return Err(store.foreign(Self::NAME, group));
            }
            if entry.data.is_some() {
                entry.replacement = found.block;
                scheme.replaced.push(group);
            } else {
                entry.data = found.block;
            }
        }
        Ok(scheme)
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        loop {
            let entry = self.map[group as usize];
            let newest = entry.newest();
            if newest.is_some() && store.reaches(newest, place) {
                if self.put(store, nand, at, page)? {
                    return Ok(());
                }
                return self.renew(store, nand, Cause::BadBlock, group, Some((at, page)));
            }
            if entry.replacement.is_some() {
                if self.merge(store, nand, group, Some((at, page)))? {
                    return Ok(());
                }
            } else if !entry.data.is_some() {
                self.open_data(store, nand, group)?;
            } else if self.replacement_blocks == 0 {
                store.events.full_merges += 1;
                return self.renew(store, nand, Cause::FullMerge, group, Some((at, page)));
            } else {
                self.open_replacement(store, nand, group)?;
            }
        }
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let group = self.map.iter().position(|entry| entry.blocks().any(|other| other == block));
        let group = group.expect("a failing block is in use") as u32;
        self.renew(store, nand, Cause::BadBlock, group, None)
    }

    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        let entry = std::mem::replace(&mut self.map[group as usize], Entry::NONE);
        self.replaced.retain(|&other| other != group);
        let mut dropped: Vec<BlockId> = entry.blocks().collect();
        if !store.may_drop(dropped.len()) {
            self.map[group as usize].data = dropped.pop().unwrap_or(BlockId::NONE);
        }
        dropped
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.map.iter().flat_map(Entry::blocks).collect()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.map.iter().map(|entry| entry.replacement).filter(|block| block.is_some()).collect()
    }

    fn ram(&self, _: &Store, ram: &mut RamUse) {
        ram.sram.insert("map", 8 * self.map.len() as u64);
        ram.sram.insert("replaced", 4 * u64::from(self.replacement_blocks.min(self.map.len() as u32)));
    }

    fn check(&self, store: &Store) {
        for (group, entry) in (0..).zip(&self.map) {
            store.check_group(group, entry.data, &[entry.replacement]);
            let in_place = entry.blocks().all(|block| store.holds_in_place(group, block));
            assert!(in_place, "logical block {group} holds pages out of their places");
        }
        let mut replaced = self.replaced.clone();
        replaced.sort_unstable();
        let expected = (0..).zip(&self.map).filter(|(_, entry)| entry.replacement.is_some()).map(|(group, _)| group);
        assert!(replaced.into_iter().eq(expected), "the list of replacement blocks");
    }
}

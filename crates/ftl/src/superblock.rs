//! Superblock: a few neighbouring logical blocks share their blocks, mapped by page inside.
//!
//! ## Idea
//! A superblock is `superblock_blocks` (N) neighbouring logical blocks. Between superblocks the map is by block; inside
//! one a page may lie anywhere in the superblock's blocks. So a log block never has to be merged into place: collection
//! moves the valid pages of one block, as in a page map, and only those. Pages written often gather in the youngest
//! blocks, the others stay behind, so most victims are nearly empty.
//!
//! ## Write path
//! ```text
//! page written   -> the next page of its superblock's open block
//! none, or full  -> the first of these, and again:
//!                   1. a block of the superblock without valid pages is erased
//!                   2. fewer than N + K blocks, and there is room: a free block is opened
//!                   3. N + K blocks: the superblock is compacted by one block
//!                   4. no room: another superblock gives a block back; if none can, this one is compacted
//! ```
//! K is `update_blocks`. There is room while more blocks are free than `reserve_blocks` and those that notes of trims
//! may still take. A last superblock with fewer logical blocks has as many less as N. A partial page write reads the
//! page, merges the new sectors and writes the whole page.
//!
//! Before the first step, superblocks are compacted while fewer than `reserve_blocks` blocks are free. A cut may leave it
//! so.
//!
//! **A compaction** takes the superblock's block with the fewest valid pages, the oldest among equals, but not the open
//! one while that has room. It copies these pages to the open block, and to a free block that becomes the open one when
//! that is full, and erases the victim. So v valid pages cost v copies and one erase, and bring room for the other pages
//! of a block.
//!
//! **Another superblock gives a block back** if it has more blocks than its valid pages fill. Of those with more than N
//! blocks, the one written longest ago is compacted, one block after the other; without one, any that can.
//!
//! ## Recovery
//! Mount reads every spare area. The newest copy of a page wins. A block belongs to the superblock of its pages; the
//! youngest one with room is the open one.
//!
//! ## Invariants
//! The newest copy of a page lies in a block of its superblock. A block belongs to one superblock.
//!
//! ## Differences
//! The paper keeps the page tables of a superblock in spare areas, as a tree with its root in memory, and reads them
//! with the pages. A spare area here has 16 bytes, all in use, so the tables are in memory and reported there, and a read
//! costs no look at other spare areas. The paper names no rule for the superblock that gives a block back when free
//! blocks run short; the one above is ours. It tells D-blocks from U-blocks; here the order in time alone counts. Trims,
//! recovery and failing blocks are our additions.
//!
//! ## References
//! J.-U. Kang, H. Jo, J.-S. Kim, J. Lee: A Superblock-Based Flash Translation Layer for NAND Flash Memory. EMSOFT 2006.

use crate::error::in_range;
use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::store::{EraseWhen, Found, Options, Store};
use crate::{FtlError, OwnLoops, RamUse, Variant};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand};

/// The FTL.
pub type SuperBlock = BlockMapped<Scheme>;

/// Options of the superblock FTL.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Neighbouring logical blocks in a superblock (N), at least 1. Default 8, a convention.
    pub superblock_blocks: u32,
    /// Most blocks of a superblock beyond its logical blocks (K), at least 1. Default 2, a convention.
    pub update_blocks: u32,
    /// When to erase a block without valid pages. Default `on_free`.
    pub erase_when: EraseWhen,
    /// Blocks of the device kept free for compactions; at least 1. Each program failure and each torn page during a
    /// compaction takes one until a later compaction brings it back; the default, 3, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut. This costs a note page per trimmed segment of the
    /// address space, and at least one block for the notes. Default true.
    pub durable_trim: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            superblock_blocks: 8,
            update_blocks: 2,
            erase_when: EraseWhen::OnFree,
            reserve_blocks: 3,
            durable_trim: true,
        }
    }
}

/// A superblock's blocks.
#[derive(Clone, Debug)]
struct Super {
    /// The oldest first.
    blocks: Vec<BlockId>,
    /// The one among them that takes pages.
    open: BlockId,
    /// When it was last written, counted in pages of the host.
    written: u64,
}

impl Super {
    /// Whether the open block takes a page.
    fn has_room(&self, store: &Store) -> bool {
        self.open.is_some() && !store.is_full(self.open)
    }

    /// The block with the fewest valid pages, apart from an open one with room, and their number.
    fn emptiest(&self, store: &Store) -> Option<(BlockId, u32)> {
        let is_filled = |block: &&BlockId| **block != self.open || store.is_full(self.open);
        let counted = self.blocks.iter().filter(is_filled).map(|&block| (block, store.mapped_to(block)));
        counted.min_by_key(|&(_, valid)| valid)
    }

    /// Whether a compaction brings room.
    fn gains(&self, store: &Store) -> bool {
        self.emptiest(store).is_some_and(|(_, valid)| valid < store.geometry().pages_per_block())
    }

    /// Removes a block from the list.
    fn remove(&mut self, block: BlockId) {
        self.blocks.retain(|&other| other != block);
        if self.open == block {
            self.open = BlockId::NONE;
        }
    }
}

/// The superblocks.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    supers: Vec<Super>,
    writes: u64,
}

impl Scheme {
    /// The superblock of a logical block.
    fn index(&self, group: u32) -> usize {
        (group / self.config.superblock_blocks) as usize
    }

    /// Logical blocks in a superblock.
    fn logical_blocks(&self, store: &Store, index: usize) -> usize {
        let before = index as u32 * self.config.superblock_blocks;
        (store.groups() - before).min(self.config.superblock_blocks) as usize
    }

    /// Brings room to a superblock without any, by one of the steps in the head comment.
    fn bring_room<N: Nand>(&mut self, store: &mut Store, nand: &mut N, index: usize) -> Result<(), FtlError> {
        self.regain_reserve(store, nand)?;
        let own = &self.supers[index];
        if own.has_room(store) {
            return Ok(());
        }
        // Written flash must not look blank: the last block in use stays.
        if let Some((block, 0)) = own.emptiest(store).filter(|_| store.may_drop(1)) {
            return self.release(store, nand, index, block);
        }
        let most = self.logical_blocks(store, index).saturating_add(self.config.update_blocks as usize);
        if own.blocks.len() >= most {
            return self.compact(store, nand, index);
        }
        if store.has_room() {
            let near = own.blocks.last().copied().unwrap_or(BlockId::NONE);
            let block = store.open(nand, near)?;
            self.opened(index, block);
            return Ok(());
        }
        let giver = self.giver(store, index).or_else(|| own.gains(store).then_some(index));
        self.compact(store, nand, giver.ok_or_else(|| store.no_block_left())?)
    }

    /// Compacts superblocks until the reserve is whole again: a cut during a compaction may have used a block of it up.
    fn regain_reserve<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        while store.lacks_reserve() {
            let giving = (0..self.supers.len()).filter_map(|index| {
                let own = &self.supers[index];
                let (block, valid) = own.emptiest(store).filter(|_| self.can_give(store, index))?;
                // Without a free block the open one takes the pages, or there are none.
                (store.has_free() || valid == 0 || own.has_room(store)).then_some((valid, index, block))
            });
            match giving.min() {
                Some((0, index, block)) if store.may_drop(1) => self.release(store, nand, index, block)?,
                Some((1.., index, _)) => self.compact(store, nand, index)?,
                _ => break,
            }
        }
        Ok(())
    }

    /// Another superblock that can give a block back.
    fn giver(&self, store: &Store, but: usize) -> Option<usize> {
        let others = || (0..self.supers.len()).filter(|&index| index != but);
        let has_more = |&index: &usize| {
            let own = &self.supers[index];
            own.blocks.len() > self.logical_blocks(store, index) && own.gains(store)
        };
        let oldest = others().filter(has_more).min_by_key(|&index| self.supers[index].written);
        oldest.or_else(|| others().find(|&index| self.can_give(store, index)))
    }

    /// Whether a superblock has more blocks than its valid pages fill.
    fn can_give(&self, store: &Store, index: usize) -> bool {
        let own = &self.supers[index];
        let valid: u32 = own.blocks.iter().map(|&block| store.mapped_to(block)).sum();
        own.blocks.len() as u32 > valid.div_ceil(store.geometry().pages_per_block()) && own.gains(store)
    }

    fn opened(&mut self, index: usize, block: BlockId) {
        let own = &mut self.supers[index];
        own.blocks.push(block);
        own.open = block;
    }

    /// Releases a block of a superblock that has no valid pages.
    fn release<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        index: usize,
        block: BlockId,
    ) -> Result<(), FtlError> {
        store.events.gc_runs += 1;
        store.events.empty_gc_runs += 1;
        self.supers[index].remove(block);
        scoped(nand, Cause::Gc, |nand| store.release(nand, block))
    }

    /// Compacts a superblock by one block.
    fn compact<N: Nand>(&mut self, store: &mut Store, nand: &mut N, index: usize) -> Result<(), FtlError> {
        let (block, valid) = self.supers[index].emptiest(store).ok_or_else(|| store.no_block_left())?;
        store.events.gc_runs += 1;
        store.events.empty_gc_runs += u64::from(valid == 0);
        scoped(nand, Cause::Gc, |nand| self.empty(store, nand, index, block))
    }

    /// Moves the valid pages of a block to the open block of its superblock, and releases it.
    fn empty<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        index: usize,
        block: BlockId,
    ) -> Result<(), FtlError> {
        if store.pinned_in(block) > 0 {
            // Notes may need a block, and the pages take the last free one.
            store.write_notes(nand)?;
        }
        let first = index as u32 * self.config.superblock_blocks;
        let last = first + self.logical_blocks(store, index) as u32 - 1;
        let pages = store.pages_of(first).start..store.pages_of(last).end;
        let mut valid: Vec<Lpn> = pages.map(Lpn).filter(|&at| store.is_in(at, block)).collect();
        valid.sort_unstable_by_key(|&at| store.lookup(at));
        for at in valid {
            self.move_page(store, nand, (index, block), at)?;
        }
        store.wait(nand);
        self.supers[index].remove(block);
        store.release(nand, block)
    }

    /// Moves a page from a block to the open block of its superblock.
    fn move_page<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        (index, from): (usize, BlockId),
        at: Lpn,
    ) -> Result<(), FtlError> {
        loop {
            if !self.supers[index].has_room(store) {
                let block = store.take(nand, from)?;
                self.opened(index, block);
            }
            let open = self.supers[index].open;
            if store.relocate(nand, at, (open, store.high_water(open)))? {
                return Ok(());
            }
        }
    }
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const OWN_LOOPS: OwnLoops = OwnLoops::NONE;
    const NAME: &'static str = "superblock";

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        vec![
            Variant::safe("blocks_1", Config { superblock_blocks: 1, update_blocks: 1, ..usual() }),
            Variant::safe("blocks_2", Config { superblock_blocks: 2, update_blocks: 1, ..usual() }),
            Variant::safe("whole", Config { superblock_blocks: 1 << 20, update_blocks: 1 << 20, ..usual() }),
            Variant::safe("on_alloc", Config { erase_when: EraseWhen::OnAlloc, superblock_blocks: 2, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, superblock_blocks: 2, ..usual() }),
            Variant::safe("forget_trims", Config { durable_trim: false, superblock_blocks: 2, ..usual() }),
        ]
    }

    block_mapped::common_options!();

    fn options(config: &Config, geometry: &Geometry) -> Result<Options, FtlError> {
        in_range("ftl.superblock.superblock_blocks", config.superblock_blocks, 1..=u32::MAX)?;
        in_range("ftl.superblock.update_blocks", config.update_blocks, 1..=u32::MAX)?;
        Ok(Options { scatters: true, ..Self::common(config, geometry) })
    }

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let none = Super { blocks: Vec::new(), open: BlockId::NONE, written: 0 };
        let count = store.groups().div_ceil(config.superblock_blocks) as usize;
        let mut scheme = Self { config: config.clone(), supers: vec![none; count], writes: 0 };
        for found in found {
            let mut owners = found.pages.iter().map(|&(_, at)| scheme.index(store.split(at).0));
            let index = owners.next().expect("a block in use holds a page");
            if !owners.all(|other| other == index) {
                return Err(FtlError::Config(format!(
                    "block {} holds pages of several superblocks: the device was used by another FTL than superblock, or \
                     with another superblock_blocks",
                    found.block
                )));
            }
            let own = &mut scheme.supers[index];
            own.blocks.push(found.block);
            if !store.is_full(found.block) {
                own.open = found.block;
            }
        }
        Ok(scheme)
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let index = self.index(store.split(at).0);
        loop {
            if !self.supers[index].has_room(store) {
                self.bring_room(store, nand, index)?;
                continue;
            }
            self.writes += 1;
            let own = &mut self.supers[index];
            own.written = self.writes;
            let place = store.high_water(own.open);
            if store.put(nand, at, (own.open, place), page)? {
                return Ok(());
            }
        }
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let owner = self.supers.iter().position(|own| own.blocks.contains(&block));
        self.empty(store, nand, owner.expect("a failing block is in use"), block)
    }

    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        let index = self.index(group);
        let own = &mut self.supers[index];
        let dead: Vec<BlockId> = own.blocks.iter().copied().filter(|&block| store.mapped_to(block) == 0).collect();
        if !store.may_drop(dead.len()) {
            return Vec::new();
        }
        dead.iter().for_each(|&block| own.remove(block));
        dead
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.supers.iter().flat_map(|own| own.blocks.iter().copied()).collect()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        let most = self.config.superblock_blocks as usize;
        self.supers.iter().flat_map(|own| own.blocks.iter().copied().skip(most)).collect()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        // For each page: which of its superblock's blocks, and the page there.
        ram.sram.insert("page_map", 2 * u64::from(store.logical_pages()));
        // For each superblock: its blocks, the open one, and when it was written.
        let supers = self.supers.len() as u64;
        let most = u64::from(self.config.superblock_blocks) + u64::from(self.config.update_blocks);
        ram.sram.insert("superblocks", supers * (8 + 4 * most.min(store.geometry().blocks().into())));
    }

    fn check(&self, store: &Store) {
        for group in 0..store.groups() {
            store.check_group(group, BlockId::NONE, &self.supers[self.index(group)].blocks);
        }
        for own in &self.supers {
            assert!(!own.open.is_some() || own.blocks.contains(&own.open), "block {} is open and not in use", own.open);
        }
    }
}

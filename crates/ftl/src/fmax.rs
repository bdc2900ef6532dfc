//! FMAX: a mirror block beside each data block, simple first and compound when it must.
//!
//! ## Idea
//! An overwrite goes to the mirror block of its logical block: to its own place while that is free (simple),
//! then to any free page (compound). A full simple mirror becomes the data block.
//!
//! ## Write path
//! ```text
//! page never written           -> its place in the data block
//! no mirror                    -> take one, simple
//! simple, place free           -> its place in the mirror
//! simple, place taken          -> the mirror becomes compound
//! compound                     -> the lowest free page of the mirror
//! no free page in the mirror   -> simple and complete: switch; else merge, with the page that is being written
//! ```
//! On chips that program in ascending order, a place below the last programmed page counts as taken. There may
//! be as many mirrors as free blocks; when these run short, the FTL merges the logical block with the fewest
//! pages to copy. For a partial page write it first reads the page, merges the new sectors and writes the whole
//! page.
//!
//! ## Recovery
//! Mount reads every spare area. The newest copy of a page wins, and an interrupted merge is dropped. A logical
//! block lies in one block or two: the older one with pages in place is the data block.
//!
//! ## Invariants
//! A logical block has at most one data and one mirror block, and no page elsewhere; data blocks and simple
//! mirrors hold pages in their places only; `reserve_blocks` stay free when a block is opened.
//!
//! ## Differences
//! The patent has no simple state; surveys and the B+tree study describe FMAX with both states. The sources
//! leave two points open, which are options here: whether a complete mirror switches, and whether the page that
//! triggers a merge is written into the merged block. Trims, recovery, failing blocks and the choice of the
//! merged logical block when blocks run short are our additions.
//!
//! ## References
//! P. Estakhri, B. Iman: Moving Sequential Sectors Within a Block of Information in a Flash Memory Mass Storage
//! Architecture. US Patent 5,930,815, 1999. H.-S. Yoo, H. B. Chun, D. Y. Kim, S. Park: Performance Evaluation
//! of a B+Tree on Various Page Sizes in NAND Flash Memory. 2006.

use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::store::{EraseWhen, Found, Store};
use crate::{FtlError, RamUse, Variant};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand};
use std::collections::BTreeSet;

/// The FTL.
pub type Fmax = BlockMapped<Scheme>;

/// Options of FMAX.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether a complete simple mirror becomes the data block; otherwise it is merged. Default true.
    pub switch: bool,
    /// Whether a merge writes its triggering page into the merged block; otherwise the page goes to a new
    /// mirror. Of one paper: btree. Default true.
    pub merge_includes_pending: bool,
    /// Whether a compound mirror takes pages only after its last programmed page, even on chips that program in
    /// any order. Of one paper: btree. Default false.
    pub strict_order: bool,
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
            switch: true,
            merge_includes_pending: true,
            strict_order: false,
            erase_when: EraseWhen::OnFree,
            reserve_blocks: 2,
            durable_trim: true,
        }
    }
}

/// The blocks of a logical block.
#[derive(Clone, Copy, Debug)]
struct Entry {
    data: BlockId,
    mirror: BlockId,
    /// Whether the mirror holds pages out of place.
    compound: bool,
}

impl Entry {
    const NONE: Self = Self { data: BlockId::NONE, mirror: BlockId::NONE, compound: false };

    fn blocks(&self) -> impl Iterator<Item = BlockId> {
        [self.data, self.mirror].into_iter().filter(|block| block.is_some())
    }
}

/// The tables of FMAX.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    map: Vec<Entry>,
    /// Logical blocks with a mirror.
    mirrored: BTreeSet<u32>,
}

impl Scheme {
    /// Takes a block, after merging logical blocks until there is room.
    fn open<N: Nand>(&mut self, store: &mut Store, nand: &mut N, near: BlockId) -> Result<BlockId, FtlError> {
        while !store.has_room() {
            let cost = |&&group: &&u32| (self.copies(store, group), group);
            let Some(&victim) = self.mirrored.iter().min_by_key(cost) else { return Err(store.no_block_left()) };
            store.events.gc_runs += 1;
            self.merge(store, nand, victim, None)?;
        }
        store.open(nand, near)
    }

    /// Pages to copy in a merge of a logical block.
    fn copies(&self, store: &Store, group: u32) -> u32 {
        if self.can_switch(store, group) {
            0
        } else {
            store.mapped_in(group)
        }
    }

    /// Whether the mirror holds every page of its logical block in place.
    fn can_switch(&self, store: &Store, group: u32) -> bool {
        let Entry { data, compound, .. } = self.map[group as usize];
        self.config.switch && !compound && (!data.is_some() || store.is_stale(data))
    }

    /// Ends the mirror of a logical block; true if this also wrote the `pending` page.
    fn merge<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        group: u32,
        pending: Option<(Lpn, &N::Buf)>,
    ) -> Result<bool, FtlError> {
        if self.can_switch(store, group) {
            store.events.switch_merges += 1;
            let mirror = self.map[group as usize].mirror;
            self.replace(store, nand, Cause::SwitchMerge, group, mirror)?;
            return Ok(false);
        }
        store.events.full_merges += 1;
        let pending = pending.filter(|_| self.config.merge_includes_pending);
        self.renew(store, nand, Cause::FullMerge, group, pending)?;
        Ok(pending.is_some())
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
        let near = self.map[group as usize].data;
        let target = scoped(nand, cause, |nand| {
            store.gather(nand, group, near, pending.map(|(at, page)| (at, std::slice::from_ref(page))))
        })?;
        self.replace(store, nand, cause, group, target)
    }

    /// Makes `target` the data block of a logical block; it already holds every page.
    fn replace<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        cause: Cause,
        group: u32,
        target: BlockId,
    ) -> Result<(), FtlError> {
        let old = std::mem::replace(&mut self.map[group as usize], Entry { data: target, ..Entry::NONE });
        self.mirrored.remove(&group);
        scoped(nand, cause, |nand| {
            old.blocks().filter(|&block| block != target).try_for_each(|block| store.release(nand, block))
        })
    }

    /// The destination of a page in the mirror; `None` if the mirror cannot take it.
    fn place_in_mirror(&mut self, store: &Store, group: u32, place: u32) -> Option<u32> {
        let entry = &mut self.map[group as usize];
        if !entry.compound {
            if store.takes(entry.mirror, place) {
                return Some(place);
            }
            // A mirror without a free page ends unchanged: a simple one may switch.
            entry.compound = store.lowest_free(entry.mirror).is_some();
        }
        if self.config.strict_order {
            return Some(store.high_water(entry.mirror)).filter(|_| !store.is_full(entry.mirror));
        }
        store.lowest_free(entry.mirror)
    }
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "fmax";

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        vec![
            Variant::safe("no_switch", Config { switch: false, ..usual() }),
            Variant::safe("pending_later", Config { merge_includes_pending: false, ..usual() }),
            Variant::safe("strict_order", Config { strict_order: true, ..usual() }),
            Variant::safe("on_alloc", Config { erase_when: EraseWhen::OnAlloc, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
            Variant::safe("forget_on_alloc", Config { durable_trim: false, erase_when: EraseWhen::OnAlloc, ..usual() }),
        ]
    }

    block_mapped::common_options!();

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let groups = store.groups() as usize;
        let mut scheme = Self { config: config.clone(), map: vec![Entry::NONE; groups], mirrored: BTreeSet::new() };
        for found in found {
            let group = store.sole_group(found, Self::NAME)?;
            let in_place = store.holds_in_place(group, found.block);
            let entry = &mut scheme.map[group as usize];
            if in_place && !entry.data.is_some() {
                entry.data = found.block;
            } else if !entry.mirror.is_some() {
                entry.mirror = found.block;
                entry.compound = !found.pages.iter().all(|&(place, at)| store.split(at).1 == place);
                scheme.mirrored.insert(group);
            } else {
                return Err(store.foreign(Self::NAME, group));
            }
        }
        Ok(scheme)
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        loop {
            let Entry { data, mirror, .. } = self.map[group as usize];
            if !data.is_some() && !mirror.is_some() {
                let data = self.open(store, nand, BlockId::NONE)?;
                self.map[group as usize].data = data;
            } else if data.is_some() && store.takes(data, place) && !store.lookup(at).is_some() {
                if store.put(nand, at, (data, place), page)? {
                    return Ok(());
                }
            } else if !mirror.is_some() {
                let mirror = self.open(store, nand, data)?;
                self.map[group as usize].mirror = mirror;
                self.mirrored.insert(group);
            } else if let Some(place) = self.place_in_mirror(store, group, place) {
                if store.put(nand, at, (mirror, place), page)? {
                    return Ok(());
                }
            } else if self.merge(store, nand, group, Some((at, page)))? {
                return Ok(());
            }
        }
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let group = self.map.iter().position(|entry| entry.blocks().any(|other| other == block));
        let group = group.expect("a failing block is in use") as u32;
        self.renew(store, nand, Cause::BadBlock, group, None)
    }

    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        let blocks: Vec<BlockId> = self.map[group as usize].blocks().collect();
        if !store.may_drop(blocks.len()) {
            return Vec::new();
        }
        self.map[group as usize] = Entry::NONE;
        self.mirrored.remove(&group);
        blocks
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.map.iter().flat_map(Entry::blocks).collect()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.map.iter().map(|entry| entry.mirror).filter(|block| block.is_some()).collect()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        ram.sram.insert("block_map", 8 * self.map.len() as u64);
        ram.sram.insert("states", (self.map.len() as u64).div_ceil(8));
        // For each mirror (at most one per logical block), the offset of each of its pages.
        let pages = u64::from(store.geometry().pages_per_block());
        ram.sram.insert("mirror_map", 2 * pages * self.map.len() as u64);
    }

    fn check(&self, store: &Store) {
        for (group, entry) in (0..).zip(&self.map) {
            store.check_group(group, entry.data, &[entry.mirror]);
            assert_eq!(self.mirrored.contains(&group), entry.mirror.is_some(), "the mirror of logical block {group}");
            let simple = entry.mirror.is_some() && !entry.compound;
            assert!(!simple || store.holds_in_place(group, entry.mirror), "simple mirror of logical block {group}");
        }
    }
}

//! NFTL: chains of replacement blocks, folded when blocks run short.
//!
//! ## Idea
//! A logical block is a chain of blocks. Each page lies in its own place in any of them; the newest copy is in
//! the last block of the chain with this place programmed.
//!
//! ## Write path
//! A page goes to the first block of its chain with a free place; if there is none, the FTL appends a free
//! block to the chain. When free blocks run short, the FTL folds the longest chain: into its last block if that
//! block can take every missing page, otherwise into a new block. A fold never copies the pending page. On
//! chips that program in ascending order, a place below the last programmed page of a block is not free. On
//! chips without gaps, the FTL fills the places below the page with empty pages. For a partial page write it
//! first reads the page, merges the new sectors and writes the whole page.
//!
//! ## Recovery
//! Mount reads every spare area. The newest copy of a page wins, an interrupted fold is dropped, and the blocks
//! of a logical block are chained by age.
//!
//! ## Invariants
//! Every page lies in its own place in a block of its chain; `reserve_blocks` stay free when a block is opened.
//!
//! ## Differences
//! Ban's units store the chain in their spare areas; here the age of their pages orders it, which survives
//! cuts. The Linux driver marks a deleted sector on flash at once; here a note does so at the next flush. A
//! read costs only the page itself, while firmware reads the spare area of each block as it walks the chain.
//! This FTL takes free blocks in the order of their release, while the Linux driver searches around the device
//! from the last one on.
//!
//! ## References
//! A. Ban: Flash File System Optimized for Page-Mode Flash Technologies. US Patent 5,937,425, 1999.

use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::store::{EraseWhen, Found, Source, Store};
use crate::{FtlError, RamUse, Variant};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand};

/// The FTL.
pub type Nftl = BlockMapped<Scheme>;

/// NFTL options.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most blocks in a chain, at least 1; a longer one is folded before a block is appended. 0: no limit, the
    /// default.
    pub max_chain: u32,
    /// When to erase a block without valid pages. Default `on_free`.
    pub erase_when: EraseWhen,
    /// Blocks of the device kept free for folding; at least 1. With 1, a program failure or a torn page during
    /// a fold may leave no room; the default, 2, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut. This costs a note page per trimmed segment of the
    /// address space, and at least one block for the notes. Default true.
    pub durable_trim: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { max_chain: 0, erase_when: EraseWhen::OnFree, reserve_blocks: 2, durable_trim: true }
    }
}

/// NFTL's tables.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    /// Each logical block's blocks, oldest first.
    chains: Vec<Vec<BlockId>>,
}

impl Scheme {
    /// Appends a block to a logical block's chain; may fold the chain first.
    fn append<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        group: u32,
        pending: (Lpn, &N::Buf),
    ) -> Result<bool, FtlError> {
        let length = self.chains[group as usize].len() as u32;
        if self.config.max_chain > 0 && length >= self.config.max_chain {
            return self.fold(store, nand, group, Some(pending));
        }
        if store.has_room() {
            let near = self.chains[group as usize].last().copied().unwrap_or(BlockId::NONE);
            let block = store.open(nand, near)?;
            self.chains[group as usize].push(block);
            return Ok(false);
        }
        // In a tie, the first chain.
        let by_length = |&group: &usize| (self.chains[group].len(), std::cmp::Reverse(group));
        let longest = (0..self.chains.len()).max_by_key(by_length).filter(|&group| self.chains[group].len() > 1);
        let Some(victim) = longest.map(|group| group as u32) else { return Err(store.no_block_left()) };
        store.events.gc_runs += 1;
        let pending = Some(pending).filter(|_| victim == group);
        self.fold(store, nand, victim, pending)
    }

    /// Folds a chain into one block; true if this also wrote the `pending` page.
    fn fold<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        group: u32,
        pending: Option<(Lpn, &N::Buf)>,
    ) -> Result<bool, FtlError> {
        let last = *self.chains[group as usize].last().expect("a chain that is folded has blocks");
        if !store.takes_rest(Source::Newest, (group, last), pending.map(|(at, _)| at)) {
            store.events.full_merges += 1;
            self.renew(store, nand, Cause::FullMerge, group, pending)?;
            return Ok(pending.is_some());
        }
        let end = store.pages_of(group).len() as u32;
        let complete = scoped(nand, Cause::PartialMerge, |nand| {
            // The pending page comes in its turn, because chips program in ascending order.
            let Some((at, page)) = pending else { return store.complete(nand, group, last, 0..end) };
            let (_, place) = store.split(at);
            Ok(store.complete(nand, group, last, 0..place)?
                && scoped(nand, Cause::Host, |nand| store.put(nand, at, (last, place), page))?
                && store.complete(nand, group, last, place + 1..end)?)
        })?;
        if !complete {
            self.renew(store, nand, Cause::BadBlock, group, pending)?;
            return Ok(pending.is_some());
        }
        store.events.partial_merges += 1;
        self.replace(store, nand, Cause::PartialMerge, group, last)?;
        Ok(pending.is_some())
    }

    /// Gathers a chain in a new block.
    fn renew<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        cause: Cause,
        group: u32,
        pending: Option<(Lpn, &N::Buf)>,
    ) -> Result<(), FtlError> {
        let near = self.chains[group as usize][0];
        let target = scoped(nand, cause, |nand| {
            store.gather(nand, group, near, pending.map(|(at, page)| (at, std::slice::from_ref(page))))
        })?;
        self.replace(store, nand, cause, group, target)
    }

    /// Makes `target` a chain's only block; it already holds every page.
    fn replace<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        cause: Cause,
        group: u32,
        target: BlockId,
    ) -> Result<(), FtlError> {
        let old = std::mem::replace(&mut self.chains[group as usize], vec![target]);
        scoped(nand, cause, |nand| {
            old.into_iter().filter(|&block| block != target).try_for_each(|block| store.release(nand, block))
        })
    }
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "nftl";

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        vec![
            Variant::safe("chain_1", Config { max_chain: 1, ..usual() }),
            Variant::safe("chain_2", Config { max_chain: 2, ..usual() }),
            Variant::safe("on_alloc", Config { erase_when: EraseWhen::OnAlloc, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
            Variant::safe("forget_on_alloc", Config { durable_trim: false, erase_when: EraseWhen::OnAlloc, ..usual() }),
        ]
    }

    block_mapped::common_options!();

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let mut scheme = Self { config: config.clone(), chains: vec![Vec::new(); store.groups() as usize] };
        for found in found {
            let group = store.sole_group(found, Self::NAME)?;
            if !store.holds_in_place(group, found.block) {
                return Err(store.foreign(Self::NAME, group));
            }
            scheme.chains[group as usize].push(found.block);
        }
        Ok(scheme)
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        loop {
            // A block before the one with the newest copy must not get a newer copy.
            let chain = &self.chains[group as usize];
            let newest = chain.iter().position(|&block| store.is_in(at, block)).unwrap_or(0);
            match chain[newest.min(chain.len())..].iter().copied().find(|&block| store.reaches(block, place)) {
                Some(block) if store.put(nand, at, (block, place), page)? => return Ok(()),
                Some(_) => {}
                None if self.append(store, nand, group, (at, page))? => return Ok(()),
                None => {}
            }
        }
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let group = self.chains.iter().position(|chain| chain.contains(&block));
        let group = group.expect("a failing block is in use") as u32;
        self.renew(store, nand, Cause::BadBlock, group, None)
    }

    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        let chain = &mut self.chains[group as usize];
        if store.may_drop(chain.len()) {
            std::mem::take(chain)
        } else {
            Vec::new()
        }
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.chains.iter().flatten().copied().collect()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.chains.iter().flat_map(|chain| chain.iter().skip(1)).copied().collect()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        // Each logical block's first block, and for each block its successor in the chain.
        ram.sram.insert("block_map", 4 * self.chains.len() as u64);
        ram.sram.insert("chains", 4 * u64::from(store.geometry().blocks()));
    }

    fn check(&self, store: &Store) {
        for (group, chain) in (0..).zip(&self.chains) {
            for &block in chain {
                assert!(
                    store.holds_in_place(group, block),
                    "block {block} of logical block {group} holds pages of others"
                );
            }
            store.check_group(group, BlockId::NONE, chain);
        }
    }
}

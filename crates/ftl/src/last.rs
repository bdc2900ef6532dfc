//! LAST: locality-aware sector translation, one log for large requests and one for small, hot and cold apart.
//!
//! ## Idea
//! Data blocks are mapped by block. Large requests are mostly sequential: they go to log blocks of one logical block
//! each, which end in cheap merges. Small requests are mostly random: they go to log blocks that all logical blocks
//! share. There, pages written again soon fill other log blocks than the rest. A log block of such hot pages is dead
//! after a while: each of its pages was written again elsewhere, and its reclaim is one erase.
//!
//! ## Write path
//! The first matching line decides. A page is not mapped if it was never written or was trimmed since. A run is what a
//! request writes of one logical block, in whole pages.
//! ```text
//! not mapped                        -> its place in the data block, which is taken when it is missing; if that place is
//!                                      spent, the lines below
//! run of `sequential_pages` or more -> the next page of the sequential log block of its logical block; if it is full, it
//!                                      is merged, and a new one is taken
//! hot                               -> the next page of the youngest hot log block
//! else                              -> the next page of the youngest cold log block
//! ```
//! A place is spent if it is programmed, or lies below the last programmed page on a chip that programs in ascending
//! order, or is not the next one on a chip without gaps. A page is hot if its newest copy is one of the last
//! `hot_window` pages written to hot and cold log blocks. A partial page write reads the page, merges the new sectors
//! and writes the whole page; its run is one page long.
//!
//! **Merges.** A sequential log block whose pages are the first ones of its logical block, in order and not superseded,
//! becomes the data block; if other pages are mapped, they are copied to their places first (partial merge), else it
//! is a switch. Every other merge is full: the newest copies of all mapped pages are gathered in a new block. The old
//! data block is erased, and the sequential log block too after a full merge.
//!
//! **A new sequential log block** is taken while fewer than `sequential_blocks` are in use and there is room: more
//! blocks are free than `reserve_blocks`, those that notes of trims may still take, and one for each logical block with
//! pages in hot or cold log blocks and no data block. Otherwise the one written longest ago is merged first.
//!
//! **A new hot or cold log block** is taken while fewer than `random_blocks` of both are in use and there is room.
//! Otherwise a victim is reclaimed first, the first of these that exists:
//! ```text
//! a dead log block            the oldest; one erase
//! a hot log block             the oldest, if more than the hot share are in use
//! a cold log block            the one whose logical blocks have the fewest mapped pages together, the oldest among equals
//! a hot log block             the oldest
//! ```
//! A log block that still takes pages is a victim only if there is no other of its kind. The reclaim merges each logical
//! block with a newest copy in the victim, and erases it. A victim of one kind of log makes room for the other only if
//! that one has no log block.
//!
//! **The hot share** begins at `hot_blocks`. With `adapt` it follows the log: when a hot victim still has newest copies,
//! the share was too small for its pages to die, and grows by one, up to `random_blocks` - 1; when a dead hot log block
//! is reclaimed while another one is dead, the share is larger than the hot pages need, and shrinks by one, down to 1.
//!
//! ## Recovery
//! Mount reads every spare area. The newest copy of a page wins, and an interrupted merge is dropped. The oldest block
//! with pages of one logical block in their places is its data block, another one with pages of a single logical
//! block its sequential log block. The others are cold log blocks, by age: the flash does not tell which were hot. The
//! hot share begins anew.
//!
//! ## Invariants
//! The newest copy of a page lies in its place in the data block, in the sequential log block of its logical block, or
//! in a hot or cold log block.
//!
//! ## Differences
//! The paper sets its thresholds and partitions by rules that depend on the workload. Here `sequential_pages` and
//! `hot_window` are fixed options, and the rule for the hot share is ours. A request is cut at the end of a logical
//! block, so a short rest of a large one counts as small. Trims, recovery and failing blocks are our additions.
//!
//! ## References
//! S. Lee, D. Shin, Y.-J. Kim, J. Kim: LAST: Locality-Aware Sector Translation for NAND Flash Memory-Based Storage
//! Systems. ACM SIGOPS Operating Systems Review 42(6), 2008.

mod config;
mod partitions;

use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::bound_logs::{LogOptions, Victim};
use crate::parts::shared_logs::SharedLogs;
use crate::parts::store::{Found, Options, Store};
use crate::{FtlError, RamUse, Variant};
pub use config::Config;
use nandlab_nand::{BlockId, Geometry, Lpn, Nand};
use partitions::{Heat, Partitions};

/// The FTL.
pub type Last = BlockMapped<Scheme>;

/// The tables of LAST.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    /// The data blocks, the sequential log blocks as bound ones, and the hot and cold log blocks as shared ones.
    logs: SharedLogs,
    /// Which of the shared log blocks are hot.
    partitions: Partitions,
}

impl Scheme {
    /// Whether a block may be taken, given those needed later by logical blocks without a data block.
    fn has_room(&self, store: &Store) -> bool {
        store.has_room_beside(self.logs.owed())
    }

    /// Reclaims a sequential log block, or without one a hot or cold one.
    fn reclaim_sequential<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        match self.partitions.victim(store, &self.logs) {
            Some(index) if self.logs.bound.log_blocks().next().is_none() => self.reclaim(store, nand, index),
            _ => self.logs.reclaim_bound(store, nand),
        }
    }

    /// Reclaims a hot or cold log block, or without one a sequential one.
    fn reclaim_random<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        match self.partitions.victim(store, &self.logs) {
            Some(index) => self.reclaim(store, nand, index),
            None => self.logs.reclaim_bound(store, nand),
        }
    }

    fn reclaim<N: Nand>(&mut self, store: &mut Store, nand: &mut N, index: usize) -> Result<(), FtlError> {
        self.partitions.reclaimed(store, &self.logs, index);
        self.logs.reclaim(store, nand, index)
    }

    /// Reclaims hot and cold log blocks until a block may be taken.
    fn make_room<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        while !self.has_room(store) {
            self.reclaim_random(store, nand)?;
        }
        Ok(())
    }

    fn open_data<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        self.make_room(store, nand)?;
        // A merge may have made a data block of this logical block just now.
        if self.logs.bound.data(group).is_some() {
            return Ok(());
        }
        self.logs.open_data(store, nand, group)
    }

    /// Writes a page to the sequential log block of its logical block; false if that has no room yet, or failed.
    fn append_sequential<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        at: Lpn,
        page: &N::Buf,
    ) -> Result<bool, FtlError> {
        let (group, _) = store.split(at);
        match self.logs.bound.log(group) {
            Some(log) if store.is_full(log) => self.logs.merge_group(store, nand, group)?,
            Some(_) => return self.logs.bound.append(store, nand, (group, at), page),
            None if self.logs.bound.is_full() || !self.has_room(store) => self.reclaim_sequential(store, nand)?,
            None => {
                let block = store.open(nand, self.logs.bound.data(group))?;
                self.logs.bound.bind(group, block);
            }
        }
        Ok(false)
    }

    /// Writes a page to a hot or cold log block; false if none has room yet, or it failed.
    fn append_random<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        at: Lpn,
        page: &N::Buf,
    ) -> Result<bool, FtlError> {
        let (group, _) = store.split(at);
        if self.logs.would_owe(group) {
            self.make_room(store, nand)?;
            self.logs.owe(group);
        }
        let heat = self.heat(store, at);
        if let Some(index) = self.partitions.open_log(store, &self.logs, heat) {
            return self.logs.append(store, nand, (index, at), page);
        }
        if self.logs.logs().len() < self.config.random_blocks as usize && self.has_room(store) {
            let block = store.open(nand, BlockId::NONE)?;
            self.partitions.opened(heat, block);
            self.logs.push(block);
        } else {
            self.reclaim_random(store, nand)?;
        }
        Ok(false)
    }

    /// Whether a page is hot: its newest copy was written not long ago.
    fn heat(&self, store: &Store, at: Lpn) -> Heat {
        let written = self.logs.written(store, at);
        let is_recent = |when: u64| self.logs.writes() - when < u64::from(self.config.hot_window);
        if self.config.hot_blocks > 0 && written.is_some_and(is_recent) {
            Heat::Hot
        } else {
            Heat::Cold
        }
    }

    /// Writes a page from a run of `pages` pages.
    #[inline]
    fn write_one<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        (at, pages): (Lpn, usize),
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        let is_large = self.config.sequential_blocks > 0 && pages >= self.config.sequential_pages as usize;
        loop {
            let data = self.logs.bound.data(group);
            let is_mapped = store.lookup(at).is_some();
            let written = if !is_mapped && !data.is_some() {
                self.open_data(store, nand, group)?;
                false
            } else if !is_mapped && store.takes(data, place) {
                store.put(nand, at, (data, place), page)?
            } else if is_large {
                self.append_sequential(store, nand, at, page)?
            } else {
                self.append_random(store, nand, at, page)?
            };
            if written {
                return Ok(());
            }
        }
    }
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "last";

    fn variants() -> Vec<Variant<Config>> {
        config::variants()
    }

    block_mapped::common_options!();

    fn options(config: &Config, geometry: &Geometry) -> Result<Options, FtlError> {
        config.check()?;
        Ok(Self::common(config, geometry))
    }

    fn notices(config: &Config, geometry: &Geometry, _: u32) -> Result<Vec<String>, FtlError> {
        let pages = geometry.pages_per_block();
        if config.sequential_blocks > 0 && config.sequential_pages > pages {
            return Ok(vec![format!(
                "ftl.last.sequential_pages = {} is more than the {pages} pages of a logical block: every request counts as \
                 small",
                config.sequential_pages
            )]);
        }
        Ok(Vec::new())
    }

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let options =
            LogOptions { log_blocks: config.sequential_blocks, victim: Victim::Lru, partial_merge: true, seed: 0 };
        let logs = SharedLogs::mount(store, options, found, |_| true);
        Ok(Self { config: config.clone(), logs, partitions: Partitions::new(config) })
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        self.write_one(store, nand, (at, 1), page)
    }

    fn write_run<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        first: Lpn,
        pages: &[N::Buf],
    ) -> Result<(), FtlError> {
        (first.0..).zip(pages).try_for_each(|(at, page)| self.write_one(store, nand, (Lpn(at), pages.len()), page))
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        self.partitions.gone(block);
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
        let logs = u64::from(self.config.random_blocks.min(store.geometry().blocks()));
        // The block map, and the map of the sequential log blocks.
        self.logs.bound.ram(store, ram);
        // For each hot or cold log block: its number, and each page's logical page and time of writing.
        ram.sram.insert("random_log_map", logs * (4 + 8 * u64::from(store.geometry().pages_per_block())));
        ram.sram.insert("hot_bits", logs.div_ceil(8));
    }

    fn check(&self, store: &Store) {
        self.logs.check(store);
        self.partitions.check(&self.logs);
    }
}

//! Block recycling by cost: log blocks of one logical block each, merged with their data block or moved.
//!
//! ## Idea
//! If the host rewrites a few pages again and again, such as a file allocation table or a directory, a log
//! block fills with copies, and only the last ones are valid. Copying these to a new log block, a migration,
//! costs less than copying a whole logical block, a merge, as long as they are less than half a block. The
//! valid pages in a log block increase from one migration to the next, so a timely merge costs less in the long
//! run.
//!
//! ## Write path
//! ```text
//! every page     -> next page of the log block of its logical block
//! log block full -> all pages in order    switch      the log block is the data block
//!                   `recycling` says so   migration   its valid pages go to the head of a new log block
//!                   else                  full        everything is gathered in a new data block
//! no log block free -> a victim is switched or merged: a migration would give no block back
//! ```
//! `recycling = "merge"`, `"cost"`, `"limit"` and `"macro"` are the four schemes of the paper. For a partial
//! page write the FTL first reads the page, merges the new sectors and writes the whole page. After each
//! recycling it programs a page of the block map.
//!
//! `cost` carries pages along that were written once and never again: after a format every migration copies the
//! whole allocation table, nearly half a block. `limit` merges now and then unconditionally, and `macro`
//! mistakes a set of repeatedly written pages for growth, and merges it in vain. `adaptive` keeps an account
//! instead. A log block holds its pages in the order of their last writes. So for every past recycling the rule
//! knows the number of pages not written since, and adds up the savings of a merge at that point: their copies,
//! and their pages in the log. It merges once the largest of these sums reaches `patience` times the extra cost
//! of a merge over migrations, the ski-rental rule. Pages rewritten between two recyclings count for nothing,
//! because a merge would not get rid of them. If half of the log block is valid, a merge costs nothing extra,
//! so there this equals the rule of `cost`. If p grows by alpha per migration, half of that price gives the
//! optimum of `macro` without an estimate: the sum over the migrations since the middle, alpha n n / 4, is half
//! of N_p at n = sqrt(2 N_p / alpha).
//!
//! Bound, for a constant price of a log page: between two merges of the rule, no merge of the optimum saves
//! more than `patience` times its price B before the next one, so with `patience` at most 1 none pays, and the
//! optimum has no advantage there. Over the same stretch the optimum either merges or carries the unwritten
//! pages, at `patience` times B at least. Except for the first period, the cost is then at most (1 + 1 /
//! `patience`) times that of any schedule. In fact the price changes with p; docs/papers/migration-optimum.md
//! measures the regret against the strict optimum.
//!
//! ## Recovery
//! Mount reads every spare area. The newest copy of a page wins, and an interrupted merge is dropped. A logical
//! block lies in one block or two. After a cut in a migration it lies in three: the youngest is the log block,
//! and the block being emptied is merged away before the next block is taken. Mount ignores pages of the block
//! map. The rules lose their memory: a logical block begins a new period.
//!
//! ## Invariants
//! A page lies in its place in the data block of its logical block, in its log block, or in the one block that
//! a migration was emptying; at most `log_blocks` log blocks are bound; `reserve_blocks` stay free when a block
//! is opened.
//!
//! ## Differences
//! The paper does not define the estimate of alpha, its blocks, or the choice of the evicted log block: all are
//! options. The FTL releases a log block without valid pages. Trims, recovery, failing blocks and `adaptive`
//! are our additions.
//!
//! ## References
//! J. Lee, S. Kim, S. Ahn, D. Lee, S. H. Noh: Cost-based Optimization of Block Recycling Scheme in NAND Flash
//! Memory Based Storage System. Journal of KIISE: Computing Practices and Letters 13(7), 2007 (in Korean). J.
//! Kim, J. M. Kim, S. H. Noh, S. L. Min, Y. Cho: A Space-Efficient Flash Translation Layer for CompactFlash
//! Systems. IEEE Transactions on Consumer Electronics 48(2), 2002.

mod config;
pub mod cost;
mod growth;
mod policy;
mod stale;

use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::bound_logs::{BoundLogs, LogOptions, Merge};
pub use crate::parts::bound_logs::{FirstWrite, Victim};
use crate::parts::store::{Found, MapUpdate, Options, Store};
use crate::{FtlError, RamUse, Recycling, RecyclingKind, Variant};
pub use config::{Config, KeptRecyclings, Latest};
pub use growth::{Fit, LeastSquares, Scope};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand};
pub use policy::{Adaptive, Limit, Macro, Rule};
use policy::{FullLog, Policy};
use std::collections::VecDeque;

/// The FTL.
pub type Migration = BlockMapped<Scheme>;

/// A log block in the middle of a migration, possibly interrupted by a power cut or a failed program.
#[derive(Clone, Copy, Debug)]
struct Emptied {
    group: u32,
    block: BlockId,
}

/// Bytes per logical block in a block-map page: its data block's and its log block's number.
const MAP_ENTRY: usize = 8;

/// The FTL's tables.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    logs: BoundLogs,
    policy: Policy,
    emptied: Option<Emptied>,
    written_pages: u64,
    /// The block map, as stored in its pages.
    map: Vec<u8>,
    /// Recyclings since the mount, and the last kept ones.
    recycled: u64,
    recyclings: VecDeque<Recycling>,
}

impl Scheme {
    /// Merges until a block may be taken.
    fn make_room<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        self.finish_emptied(store, nand)?;
        while !store.has_room() {
            self.evict(store, nand)?;
        }
        Ok(())
    }

    /// Merges the logical block with an incompletely emptied log block.
    fn finish_emptied<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        match self.emptied {
            Some(Emptied { group, .. }) => self.merge(store, nand, group, false),
            None => Ok(()),
        }
    }

    /// Binds a new log block to a logical block, after merging others until there is room.
    fn bind<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        while self.logs.is_full() {
            self.evict(store, nand)?;
        }
        self.make_room(store, nand)?;
        let block = store.open(nand, self.logs.data(group))?;
        self.logs.bind(group, block);
        self.note(group);
        Ok(())
    }

    fn open_data<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        self.make_room(store, nand)?;
        // This logical block's log block may have become its data block just now.
        if !self.logs.data(group).is_some() {
            let block = store.open(nand, BlockId::NONE)?;
            self.logs.set_data(group, block);
            self.note(group);
        }
        Ok(())
    }

    fn evict<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        let victim = self.logs.victim(store)?;
        store.events.gc_runs += 1;
        self.merge(store, nand, victim, true)
    }

    /// Makes room in a logical block's full log block, or removes it.
    fn recycle<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        self.finish_emptied(store, nand)?;
        // It may be the one just finished.
        let Some(log) = self.logs.log(group) else { return Ok(()) };
        let pages = valid_pages(store, group, log);
        if pages.is_empty() && store.may_drop(1) {
            return self.drop_log(store, nand, group);
        }
        let moves = self.config.recycling != Rule::Merge
            && !pages.is_empty()
            && self.logs.kind_of_merge(store, group) != Merge::Switch
            && {
                let places: Vec<u32> = pages.iter().map(|&(place, _)| place).collect();
                self.policy.migrates(group, FullLog { places: &places, mapped: store.mapped_in(group) })
            };
        if moves {
            return self.migrate(store, nand, group, &pages);
        }
        self.merge(store, nand, group, false)
    }

    /// Moves a log block's valid pages to a new one.
    fn migrate<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        group: u32,
        pages: &[(u32, Lpn)],
    ) -> Result<(), FtlError> {
        let log = self.logs.log(group).expect("a log block is moved");
        if store.pinned_in(log) > 0 {
            // Notes may need a block, and the migration takes the last free one.
            store.write_notes(nand)?;
        }
        let to = scoped(nand, Cause::Migration, |nand| store.take(nand, log))?;
        self.emptied = Some(Emptied { group, block: self.logs.rebind(group, to) });
        for (place, &(_, at)) in (0..).zip(pages) {
            if !scoped(nand, Cause::Migration, |nand| store.relocate(nand, at, (to, place)))? {
                return scoped(nand, Cause::BadBlock, |nand| self.renew(store, nand, group));
            }
        }
        self.emptied = None;
        store.events.migrations += 1;
        scoped(nand, Cause::Migration, |nand| store.release(nand, log))?;
        let valid = pages.len() as u32;
        let recycling = self.recycling(group, RecyclingKind::Migration, valid);
        self.policy.migrated(group, valid);
        self.recycled(store, nand, Recycling { copies: valid, ..recycling })
    }

    /// Ends a logical block's log block.
    fn merge<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32, evicted: bool) -> Result<(), FtlError> {
        let log = self.logs.log(group).expect("a logical block with a log block");
        let valid = store.mapped_to(log);
        let mapped = store.mapped_in(group);
        if self.emptied.is_some_and(|emptied| emptied.group == group) {
            store.events.full_merges += 1;
            let recycling = Recycling { copies: mapped, ..self.recycling(group, RecyclingKind::Full, valid) };
            scoped(nand, Cause::FullMerge, |nand| self.renew(store, nand, group))?;
            return self.recycled(store, nand, Recycling { evicted, ..recycling });
        }
        let merge = self.logs.kind_of_merge(store, group);
        let (kind, copies) = match merge {
            Merge::Switch => (RecyclingKind::Switch, 0),
            Merge::Partial => (RecyclingKind::Partial, mapped - valid),
            Merge::Full => (RecyclingKind::Full, mapped),
        };
        let recycling = self.recycling(group, kind, valid);
        self.logs.merge(store, nand, group, merge)?;
        self.policy.merged(group);
        self.recycled(store, nand, Recycling { evicted, copies, ..recycling })
    }

    /// Gathers a logical block in a new data block.
    fn renew<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        self.logs.renew(store, nand, group)?;
        self.note(group);
        self.policy.merged(group);
        match self.emptied.take_if(|emptied| emptied.group == group) {
            Some(emptied) => store.release(nand, emptied.block),
            None => Ok(()),
        }
    }

    /// Releases a log block without valid pages.
    fn drop_log<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        let recycling = self.recycling(group, RecyclingKind::Dropped, 0);
        let log = self.logs.unbind(group).expect("a log block is dropped");
        self.policy.merged(group);
        scoped(nand, Cause::Trim, |nand| store.release(nand, log))?;
        self.recycled(store, nand, recycling)
    }

    /// A record for the coming recycling.
    fn recycling(&self, group: u32, kind: RecyclingKind, valid: u32) -> Recycling {
        Recycling {
            number: self.recycled,
            written_pages: self.written_pages,
            logical_block: group,
            kind,
            evicted: false,
            valid,
            migrations: self.policy.migrations(group),
            copies: 0,
            alpha: self.policy.alpha(group, valid),
        }
    }

    /// Ends a recycling: writes the block map, and keeps the recycling for the result record if asked.
    fn recycled<N: Nand>(&mut self, store: &mut Store, nand: &mut N, recycling: Recycling) -> Result<(), FtlError> {
        self.recycled += 1;
        self.note(recycling.logical_block);
        if let KeptRecyclings::Latest(Latest { count, of }) = self.config.kept_recyclings {
            if of.is_none_or(|group| group == recycling.logical_block) {
                if self.recyclings.len() == count as usize {
                    self.recyclings.pop_front();
                }
                self.recyclings.push_back(recycling);
            }
        }
        if !store.writes_map() {
            return Ok(());
        }
        let (segment, table) = self.map_page(store.geometry().page_bytes(), recycling.logical_block);
        store.write_map(nand, segment, table)
    }

    /// Updates the block map after a logical block's blocks changed.
    fn note(&mut self, group: u32) {
        let log = self.logs.log(group).unwrap_or(BlockId::NONE);
        let entry = self.map.chunks_exact_mut(MAP_ENTRY).nth(group as usize).expect("an entry for each logical block");
        entry[..4].copy_from_slice(&self.logs.data(group).0.to_le_bytes());
        entry[4..].copy_from_slice(&log.0.to_le_bytes());
    }

    /// The block-map page with a logical block's entry, and its number.
    fn map_page(&self, page_bytes: u32, group: u32) -> (u32, &[u8]) {
        let entries = page_bytes / MAP_ENTRY as u32;
        let segment = group / entries;
        let start = segment as usize * entries as usize * MAP_ENTRY;
        (segment, &self.map[start..self.map.len().min(start + entries as usize * MAP_ENTRY)])
    }
}

/// A block's valid pages from a logical block, with their places, in place order.
fn valid_pages(store: &Store, group: u32, block: BlockId) -> Vec<(u32, Lpn)> {
    let here = store.pages_of(group).map(Lpn).filter(|&at| store.is_in(at, block));
    let mut pages: Vec<(u32, Lpn)> = here.map(|at| (store.geometry().page_in_block(store.lookup(at)), at)).collect();
    pages.sort_unstable();
    pages
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "migration";
    const SURVIVES_UNSTABLE_PAGES: bool = true;

    fn variants() -> Vec<Variant<Config>> {
        config::variants()
    }

    fn notices(config: &Config, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, FtlError> {
        config.check(logical_pages.div_ceil(geometry.pages_per_block()))?;
        Ok(Vec::new())
    }

    fn set_seed(config: &mut Config, seed: u64) {
        config.seed = seed;
    }

    block_mapped::common_options!();

    fn options(config: &Config, geometry: &Geometry) -> Result<Options, FtlError> {
        if config.log_blocks == 0 {
            return Err(FtlError::Config(
                "ftl.migration.log_blocks = 0 cannot work: a page that is written again needs a log block".into(),
            ));
        }
        config.recycling.check()?;
        // A log block, and the block-map pages.
        let extra_blocks = 1 + u32::from(config.map_update == MapUpdate::Page);
        Ok(Options { extra_blocks, map_update: config.map_update, ..Self::common(config, geometry) })
    }

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let options = LogOptions {
            log_blocks: config.log_blocks,
            victim: config.victim,
            partial_merge: config.partial_merge,
            seed: config.seed,
        };
        let mut logs = BoundLogs::new(store.groups(), options);
        let mut emptied = None;
        for found in found {
            let group = store.sole_group(found, Self::NAME)?;
            if logs.adopt(store, group, found) {
                continue;
            }
            if emptied.is_some() {
                return Err(store.foreign(Self::NAME, group));
            }
            emptied = Some(Emptied { group, block: logs.rebind(group, found.block) });
        }
        let mut scheme = Self {
            policy: Policy::new(config, store.geometry().pages_per_block(), store.groups()),
            config: config.clone(),
            logs,
            emptied,
            written_pages: 0,
            map: vec![0; store.groups() as usize * MAP_ENTRY],
            recycled: 0,
            recyclings: VecDeque::new(),
        };
        (0..store.groups()).for_each(|group| scheme.note(group));
        Ok(scheme)
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        self.written_pages += 1;
        loop {
            if self.config.first_write == FirstWrite::Data && !store.lookup(at).is_some() {
                let data = self.logs.data(group);
                if !data.is_some() {
                    self.open_data(store, nand, group)?;
                    continue;
                }
                if store.takes(data, place) {
                    if store.put(nand, at, (data, place), page)? {
                        return Ok(());
                    }
                    continue;
                }
            }
            match self.logs.log(group) {
                None => self.bind(store, nand, group)?,
                Some(log) if store.is_full(log) => self.recycle(store, nand, group)?,
                Some(_) if self.logs.append(store, nand, (group, at), page)? => return Ok(()),
                Some(_) => {}
            }
        }
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let of_emptied = self.emptied.filter(|emptied| emptied.block == block).map(|emptied| emptied.group);
        let group = of_emptied.or_else(|| self.logs.owner(block)).expect("a failing block is in use");
        self.renew(store, nand, group)
    }

    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        let emptied = self.emptied.filter(|emptied| emptied.group == group);
        let both = usize::from(self.logs.data(group).is_some()) + usize::from(self.logs.log(group).is_some());
        if !store.may_drop(both + usize::from(emptied.is_some())) {
            return Vec::new();
        }
        self.emptied.take_if(|emptied| emptied.group == group);
        self.policy.merged(group);
        let blocks = self.logs.drop_group(group);
        self.note(group);
        blocks.into_iter().chain(emptied.map(|emptied| emptied.block)).collect()
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.logs.blocks().chain(self.emptied.map(|emptied| emptied.block)).collect()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.logs.log_blocks().collect()
    }

    fn recyclings(&self) -> Vec<Recycling> {
        self.recyclings.iter().copied().collect()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        self.logs.ram(store, ram);
        let logs = u64::from(self.config.log_blocks.min(store.geometry().blocks()));
        let (each, all) = match self.config.recycling {
            Rule::Merge | Rule::Cost => (0, 0),
            Rule::Limit(_) | Rule::Macro(Macro { alpha: Fit::Last }) => (4, 0),
            // A count; two sums, and the window's samples.
            Rule::Macro(Macro { alpha: Fit::LeastSquares(LeastSquares { window, scope }) }) => {
                let sums = 16 + 8 * u64::from(window);
                match scope {
                    Scope::Block => (4 + sums, 0),
                    Scope::Global => (4, sums),
                }
            }
            // An epoch, its pages and its account, for each possible valid page in a log block.
            Rule::Adaptive(_) => (6 * u64::from(store.geometry().pages_per_block() / 2), 0),
        };
        ram.sram.insert("recycling", logs * each + all);
    }

    fn check(&self, store: &Store) {
        self.logs.check(store, self.emptied.map(|emptied| (emptied.group, emptied.block)));
    }
}

//! Block recycling by cost: log blocks of one logical block each, merged with their data block or moved.
//!
//! ## Idea
//! Few pages written again and again, those of a file allocation table or a directory, fill a log block with copies
//! of which the last ones count. Copying these to a new log block, a migration, costs less than copying a whole
//! logical block, a merge, as long as they are less than half a block. Since the pages in a log block become more
//! from one migration to the next, a merge in time costs less in the long run.
//!
//! ## Write path
//! ```text
//! every page     -> next page of the log block of its logical block
//! log block full -> all pages in order    switch      the log block is the data block
//!                   `recycling` says so   migration   its valid pages go to the head of a new log block
//!                   else                  full        everything is gathered in a new data block
//! no log block free -> a victim is switched or merged: a migration would give no block back
//! ```
//! `recycling = "merge"`, `"cost"`, `"limit"` and `"macro"` are the four schemes of the paper. A page that the host
//! writes in part is read first, merged and written whole. Each recycling is followed by a program of a page of the
//! block map.
//!
//! `cost` carries along what was written once and never again: the whole allocation table after a format, nearly half
//! a block, is copied by every migration. `limit` merges now and then whatever happens, and `macro` takes a set of
//! pages that are written again and again for growth, and merges it in vain. `adaptive` keeps an account instead. The
//! pages of a log block lie in the order of their last writes, so it knows for every past recycling how many pages
//! were not written since, and adds up what a merge there would have saved: their copies, and the pages of the log
//! that they took. It merges once the largest of these sums reaches `patience` times what a merge costs beyond
//! migrations, the rule of the ski rental. Pages that are written again between two recyclings count for nothing: a
//! merge would not get rid of them. Where half of the log block is valid a merge costs nothing beyond migrations, so
//! this is the rule of `cost` there. Where p grows by alpha a migration, half of that price gives the optimum of
//! `macro` without an estimate: the sum over the migrations since the middle, alpha n n / 4, is half of N_p at n =
//! sqrt(2 N_p / alpha).
//!
//! Bound, where a page of the log has one price: between two of its merges, no merge of the optimum saves more than
//! `patience` times its price B before the next one, so with `patience` at most 1 none pays and the optimum has no
//! advantage there; and over the same stretch the optimum either merges or carries what was unwritten, at `patience`
//! times B at least. But for the first period the cost is then at most (1 + 1 / `patience`) times that of any schedule.
//! The price does change with p; the regret against the strict optimum is measured in docs/migration.md.
//!
//! ## Recovery
//! Mount reads every spare area; the newest copy of a page wins, a merge that was cut is dropped, and a logical block
//! lies in one block or two. After a cut in a migration it lies in three: the youngest is the log block, the one that
//! was being emptied is merged away before the next block is taken. Pages of the block map are passed over. What the
//! rules remember is lost: a logical block begins a new period.
//!
//! ## Invariants
//! A page lies in its place in the data block of its logical block, in its log block, or in the one block that a
//! migration was emptying; at most `log_blocks` log blocks are bound; `reserve_blocks` stay free when a block is
//! opened.
//!
//! ## Differences
//! The paper does not say how alpha is estimated, for which blocks, nor which log block is evicted: all are options.
//! A log block without valid pages is given back. Trims, recovery, failing blocks and `adaptive` are ours.
//!
//! ## References
//! J. Lee, S. Kim, S. Ahn, D. Lee, S. H. Noh: Cost-based Optimization of Block Recycling Scheme in NAND Flash Memory
//! Based Storage System. Journal of KIISE: Computing Practices and Letters 13(7), 2007 (in Korean). J. Kim, J. M.
//! Kim, S. H. Noh, S. L. Min, Y. Cho: A Space-Efficient Flash Translation Layer for CompactFlash Systems. IEEE
//! Transactions on Consumer Electronics 48(2), 2002.

mod config;
pub mod cost;
mod growth;
mod policy;
mod stale;
#[cfg(test)]
mod tests;

use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::bound_logs::{BoundLogs, LogOptions, Merge};
pub use crate::parts::bound_logs::{FirstWrite, Victim};
use crate::parts::store::{Found, MapUpdate, Options, Store};
use crate::{FtlError, RamUse, Recycling, RecyclingKind, Variant};
pub use config::Config;
pub use growth::{Fit, Scope};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand};
pub use policy::Rule;
use policy::{FullLog, Policy};
use std::collections::VecDeque;

/// The FTL.
pub type Migration = BlockMapped<Scheme>;

/// A log block that a migration is emptying, or was when the power went or a program failed.
#[derive(Clone, Copy, Debug)]
struct Emptied {
    group: u32,
    block: BlockId,
}

/// Bytes of a logical block in a page of the block map: the numbers of its data block and of its log block.
const MAP_ENTRY: usize = 8;

/// The tables of the FTL.
#[derive(Debug)]
pub struct Scheme {
    config: Config,
    logs: BoundLogs,
    policy: Policy,
    emptied: Option<Emptied>,
    written_pages: u64,
    /// The block map as its pages hold it.
    map: Vec<u8>,
    /// Recyclings since the mount, and the last of them.
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

    /// Merges the logical block whose log block was not emptied to the end.
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
        // The log block of this logical block may have become its data block just now.
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

    /// Makes room in the full log block of a logical block, or takes it away.
    fn recycle<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        self.finish_emptied(store, nand)?;
        // It may just have been the one that was finished.
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

    /// Moves the valid pages of a log block to a new one.
    fn migrate<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        group: u32,
        pages: &[(u32, Lpn)],
    ) -> Result<(), FtlError> {
        let log = self.logs.log(group).expect("a log block is moved");
        if store.pinned_in(log) > 0 {
            // Notes may need a block, and the migration takes the last one that is free.
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

    /// Ends the log block of a logical block.
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

    /// Gives back a log block that holds nothing.
    fn drop_log<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        let recycling = self.recycling(group, RecyclingKind::Dropped, 0);
        let log = self.logs.unbind(group).expect("a log block is dropped");
        self.policy.merged(group);
        scoped(nand, Cause::Trim, |nand| store.release(nand, log))?;
        self.recycled(store, nand, recycling)
    }

    /// What is about to become of the log block of a logical block.
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

    /// A log block was recycled: the block map is written, and the result record may hear of it.
    fn recycled<N: Nand>(&mut self, store: &mut Store, nand: &mut N, recycling: Recycling) -> Result<(), FtlError> {
        let kept = self.config.log_recyclings as usize;
        self.recycled += 1;
        self.note(recycling.logical_block);
        if kept > 0 && self.config.log_recyclings_of.is_none_or(|group| group == recycling.logical_block) {
            if self.recyclings.len() == kept {
                self.recyclings.pop_front();
            }
            self.recyclings.push_back(recycling);
        }
        if !store.writes_map() {
            return Ok(());
        }
        let (segment, table) = self.map_page(store.geometry().page_bytes(), recycling.logical_block);
        store.write_map(nand, segment, table)
    }

    /// The blocks of a logical block changed.
    fn note(&mut self, group: u32) {
        let log = self.logs.log(group).unwrap_or(BlockId::NONE);
        let entry = self.map.chunks_exact_mut(MAP_ENTRY).nth(group as usize).expect("an entry for each logical block");
        entry[..4].copy_from_slice(&self.logs.data(group).0.to_le_bytes());
        entry[4..].copy_from_slice(&log.0.to_le_bytes());
    }

    /// The page of the block map that holds a logical block, and its number.
    fn map_page(&self, page_bytes: u32, group: u32) -> (u32, &[u8]) {
        let entries = page_bytes / MAP_ENTRY as u32;
        let segment = group / entries;
        let start = segment as usize * entries as usize * MAP_ENTRY;
        (segment, &self.map[start..self.map.len().min(start + entries as usize * MAP_ENTRY)])
    }
}

/// The valid pages of a block of a logical block with their places, in the order of these.
fn valid_pages(store: &Store, group: u32, block: BlockId) -> Vec<(u32, Lpn)> {
    let here = store.pages_of(group).map(Lpn).filter(|&at| store.is_in(at, block));
    let mut pages: Vec<(u32, Lpn)> = here.map(|at| (store.geometry().page_in_block(store.lookup(at)), at)).collect();
    pages.sort_unstable();
    pages
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "migration";

    fn variants() -> Vec<Variant<Config>> {
        config::variants()
    }

    fn notices(config: &Config, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, FtlError> {
        config.notices(logical_pages.div_ceil(geometry.pages_per_block()))
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
        for (name, value, least) in
            [("patience", config.patience, f64::MIN_POSITIVE), ("erase_copies", config.erase_copies, 0.0)]
        {
            if !(value.is_finite() && value >= least) {
                let allowed = if least > 0.0 { "above 0" } else { "of 0 or more" };
                return Err(FtlError::Config(format!("ftl.migration.{name} = {value} is not a number {allowed}")));
            }
        }
        // A log block, and the pages of the block map.
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

    fn recyclings(&self) -> Vec<Recycling> {
        self.recyclings.iter().copied().collect()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        self.logs.ram(store, ram);
        let logs = u64::from(self.config.log_blocks.min(store.geometry().blocks()));
        let window = 8 * u64::from(self.config.alpha_window);
        let (each, all) = match (self.config.recycling, self.config.alpha_scope) {
            (Rule::Merge | Rule::Cost, _) => (0, 0),
            (Rule::Limit, _) => (4, 0),
            // A count; two sums, and the samples of the window.
            (Rule::Macro, Scope::Block) => (4 + 16 + window, 0),
            (Rule::Macro, Scope::Global) => (4, 16 + window),
            // An epoch, its pages and its account, for each page that a log block may carry.
            (Rule::Adaptive, _) => (6 * u64::from(store.geometry().pages_per_block() / 2), 0),
        };
        ram.sram.insert("recycling", logs * each + all);
    }

    fn check(&self, store: &Store) {
        self.logs.check(store, self.emptied.map(|emptied| (emptied.group, emptied.block)));
    }
}

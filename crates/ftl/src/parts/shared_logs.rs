//! Log blocks shared by several logical blocks, beside data blocks and log blocks bound to one.
//!
//! The data blocks and the bound log blocks are in [`SharedLogs::bound`]. A shared log block takes pages of any logical
//! block, in the order of writing. It is reclaimed by a merge of every logical block with a newest copy in it. A
//! logical block is *homeless* if it has pages in shared log blocks and no data block: its merge takes a block and
//! gives none back, so a free block stays owed to it.

use super::bound_logs::{BoundLogs, LogOptions, Merge};
use super::store::{Found, Store};
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Lpn, Nand};
use std::collections::BTreeSet;

/// A page in a shared log block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    place: u32,
    at: Lpn,
    /// Its number among the pages written to shared log blocks since the mount; 0 if a mount found it.
    when: u64,
}

/// A shared log block.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) block: BlockId,
    /// In write order.
    entries: Vec<Entry>,
    /// Logical blocks that wrote to it and were not merged since.
    pub(crate) groups: Vec<u32>,
    /// Whether a mount found it; it may then hold more than the options allow.
    pub(crate) is_found: bool,
}

impl Log {
    /// Whether `group` wrote to it and was not merged since.
    pub(crate) fn has(&self, group: u32) -> bool {
        self.groups.contains(&group)
    }

    fn add(&mut self, group: u32, entry: Entry) {
        self.entries.push(entry);
        if !self.has(group) {
            self.groups.push(group);
        }
    }

    /// Its pages that are newest copies.
    fn newest<'a>(&'a self, store: &'a Store) -> impl Iterator<Item = Lpn> + 'a {
        let is_newest = |entry: &&Entry| store.lookup(entry.at) == store.geometry().page(self.block, entry.place);
        self.entries.iter().filter(is_newest).map(|entry| entry.at)
    }
}

/// Data blocks, bound log blocks and shared log blocks.
#[derive(Debug)]
pub(crate) struct SharedLogs {
    /// The data blocks, and the log blocks of one logical block each.
    pub(crate) bound: BoundLogs,
    /// The shared ones, the oldest first.
    logs: Vec<Log>,
    homeless: BTreeSet<u32>,
    writes: u64,
}

impl SharedLogs {
    /// The blocks found by a mount. `options` are those of bound log blocks; `may_bind` tells whether a block with
    /// these pages of one logical block, not all in their places, or beside a data block, may be one.
    pub(crate) fn mount(
        store: &Store,
        options: LogOptions,
        found: &[Found],
        may_bind: impl Fn(&[(u32, Lpn)]) -> bool,
    ) -> Self {
        let bound = BoundLogs::new(store.groups(), options);
        let mut logs = Self { bound, logs: Vec::new(), homeless: BTreeSet::new(), writes: 0 };
        for found in found {
            let (group, _) = store.split(found.pages[0].1);
            let is_sole = found.pages.iter().all(|&(_, at)| store.split(at).0 == group);
            let in_place = is_sole && found.pages.iter().all(|&(place, at)| store.split(at).1 == place);
            if in_place && !logs.bound.data(group).is_some() {
                logs.bound.set_data(group, found.block);
            } else if is_sole && may_bind(&found.pages) && logs.bound.log(group).is_none() && !logs.bound.is_full() {
                logs.bound.bind(group, found.block);
            } else {
                logs.adopt(store, found);
            }
        }
        let groups = logs.logs.iter().flat_map(|log| log.groups.iter().copied());
        logs.homeless = groups.filter(|&group| !logs.bound.data(group).is_some()).collect();
        logs
    }

    /// The shared log blocks, the oldest first.
    pub(crate) fn logs(&self) -> &[Log] {
        &self.logs
    }

    /// Free blocks owed to logical blocks without a data block.
    pub(crate) fn owed(&self) -> u32 {
        self.homeless.len() as u32
    }

    /// Pages written since the mount.
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// Whether a page of `group` would make it homeless: a free block must be found for it first.
    pub(crate) fn would_owe(&self, group: u32) -> bool {
        !self.bound.data(group).is_some() && !self.homeless.contains(&group)
    }

    /// Keeps a free block for `group`, if it has no data block. A log block opened for its page is then not reclaimed
    /// again for want of that free block.
    pub(crate) fn owe(&mut self, group: u32) {
        if !self.bound.data(group).is_some() {
            self.homeless.insert(group);
        }
    }

    /// Adds a new log block, as the youngest.
    pub(crate) fn push(&mut self, block: BlockId) {
        self.logs.push(Log { block, entries: Vec::new(), groups: Vec::new(), is_found: false });
    }

    /// Makes a logical block's bound log block, with its pages in order from the first, the youngest shared one.
    pub(crate) fn unbind(&mut self, store: &Store, group: u32) {
        let block = self.bound.unbind(group).expect("a bound log block is unbound");
        self.push(block);
        let log = self.logs.last_mut().expect("it was added");
        for (place, at) in (0..store.high_water(block)).zip(store.pages_of(group).map(Lpn)) {
            log.add(group, Entry { place, at, when: 0 });
        }
        self.owe(group);
    }

    /// Adds a log block found by a mount, as the youngest.
    fn adopt(&mut self, store: &Store, found: &Found) {
        let entries = found.pages.iter().map(|&(place, at)| Entry { place, at, when: 0 }).collect();
        let mut log = Log { block: found.block, entries, groups: Vec::new(), is_found: true };
        let mut groups: Vec<u32> = log.newest(store).map(|at| store.split(at).0).collect();
        groups.sort_unstable();
        groups.dedup();
        log.groups = groups;
        self.logs.push(log);
    }

    /// When the newest copy of a page was written to a shared log block, as its number among these pages; `None` if it lies
    /// elsewhere.
    pub(crate) fn written(&self, store: &Store, at: Lpn) -> Option<u64> {
        let page = store.lookup(at);
        if !page.is_some() {
            return None;
        }
        let block = store.geometry().block_of(page);
        let entries = &self.logs.iter().find(|log| log.block == block)?.entries;
        let place = store.geometry().page_in_block(page);
        let entry = entries.binary_search_by_key(&place, |entry| entry.place).expect("a page in the log has an entry");
        Some(entries[entry].when)
    }

    /// Writes a page to a log block with room; false if the block failed.
    #[inline]
    pub(crate) fn append<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        (index, at): (usize, Lpn),
        page: &N::Buf,
    ) -> Result<bool, FtlError> {
        let (group, _) = store.split(at);
        self.writes += 1;
        let log = &mut self.logs[index];
        let place = store.high_water(log.block);
        log.add(group, Entry { place, at, when: self.writes });
        store.put(nand, at, (log.block, place), page)
    }

    /// Takes a data block for a logical block without one.
    pub(crate) fn open_data<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        let block = store.open(nand, BlockId::NONE)?;
        self.bound.set_data(group, block);
        self.homeless.remove(&group);
        Ok(())
    }

    /// Notes that a logical block has no page in shared log blocks any more.
    fn left(&mut self, group: u32) {
        self.homeless.remove(&group);
        self.logs.iter_mut().for_each(|log| log.groups.retain(|&other| other != group));
    }

    /// Logical blocks with newest copies in a log block.
    pub(crate) fn groups_to_merge(&self, store: &Store, index: usize) -> BTreeSet<u32> {
        self.logs[index].newest(store).map(|at| store.split(at).0).collect()
    }

    /// Brings all newest copies of a logical block to its data block: from its bound log block if it has one, else by
    /// a full merge.
    pub(crate) fn merge_group<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        if let Some(log) = self.bound.log(group) {
            let kind = match self.bound.kind_of_merge(store, group) {
                // Its other pages lie in shared log blocks.
                Merge::Switch if store.mapped_to(log) < store.mapped_in(group) => Merge::Partial,
                kind => kind,
            };
            self.bound.merge(store, nand, group, kind)?;
        } else {
            store.events.full_merges += 1;
            scoped(nand, Cause::FullMerge, |nand| self.bound.renew(store, nand, group))?;
        }
        self.left(group);
        Ok(())
    }

    /// Merges the logical block whose bound log block is the next victim.
    ///
    /// # Errors
    /// [`FtlError::WornOut`] if there is none.
    pub(crate) fn reclaim_bound<N: Nand>(&mut self, store: &mut Store, nand: &mut N) -> Result<(), FtlError> {
        let group = self.bound.victim(store)?;
        store.events.gc_runs += 1;
        self.merge_group(store, nand, group)
    }

    /// Reclaims a shared log block: merges the logical blocks with newest copies in it, in the order of writing.
    pub(crate) fn reclaim<N: Nand>(&mut self, store: &mut Store, nand: &mut N, index: usize) -> Result<(), FtlError> {
        let block = self.logs[index].block;
        store.events.gc_runs += 1;
        let is_empty = self.logs[index].newest(store).next().is_none();
        store.events.empty_gc_runs += u64::from(is_empty);
        loop {
            let newest = self.logs[index].newest(store).next();
            let Some(at) = newest else { break };
            let (group, _) = store.split(at);
            self.merge_group(store, nand, group)?;
        }
        self.logs.remove(index);
        scoped(nand, Cause::FullMerge, |nand| store.release(nand, block))
    }

    /// As [`Scheme::vacate`](super::block_mapped::Scheme::vacate).
    pub(crate) fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        if let Some(index) = self.logs.iter().position(|log| log.block == block) {
            return self.reclaim(store, nand, index);
        }
        let group = self.bound.owner(block).expect("a failing block is in use");
        self.bound.renew(store, nand, group)?;
        self.left(group);
        Ok(())
    }

    /// As [`Scheme::drop_group`](super::block_mapped::Scheme::drop_group).
    pub(crate) fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        self.left(group);
        let data = self.bound.data(group);
        let both = usize::from(data.is_some()) + usize::from(self.bound.log(group).is_some());
        if store.may_drop(both) {
            self.bound.drop_group(group)
        } else {
            Vec::new()
        }
    }

    /// Blocks in use.
    pub(crate) fn blocks(&self) -> Vec<BlockId> {
        self.bound.blocks().chain(self.logs.iter().map(|log| log.block)).collect()
    }

    /// Log blocks in use, shared and bound.
    pub(crate) fn log_blocks(&self) -> Vec<BlockId> {
        self.logs.iter().map(|log| log.block).chain(self.bound.log_blocks()).collect()
    }

    /// Asserts that every page lies in place in its data block, in its bound log block or in a shared one, and that the
    /// tables tell so.
    ///
    /// # Panics
    /// With the page elsewhere, or the wrong table.
    pub(crate) fn check(&self, store: &Store) {
        let bound = &self.bound;
        let shared: Vec<BlockId> = self.logs.iter().map(|log| log.block).collect();
        for group in 0..store.groups() {
            let others: Vec<BlockId> = shared.iter().copied().chain(bound.log(group)).collect();
            store.check_group(group, bound.data(group), &others);
            assert!(!self.homeless.contains(&group) || !bound.data(group).is_some(), "{group} has a data block");
        }
        for log in &self.logs {
            let newest: Vec<Lpn> = log.newest(store).collect();
            let held = store.mapped_to(log.block);
            assert_eq!(newest.len() as u32, held, "log block {} holds pages that it has no entry of", log.block);
            for group in newest.into_iter().map(|at| store.split(at).0) {
                assert!(log.has(group), "log block {} has pages of logical block {group}", log.block);
                let is_owed = bound.data(group).is_some() || self.homeless.contains(&group);
                assert!(is_owed, "no free block is kept for logical block {group}");
            }
        }
    }
}

//! TPFTL: cached entries in groups by map page, loaded ahead for sequential requests.
//!
//! ## Idea
//! Entries of one map page hang on one node (TP node), so an entry need not tell its logical page: an entry takes six
//! bytes, its place in the map page and the page, where DFTL takes eight. The node with the coldest entries on average
//! loses entries first. A changed entry that leaves takes all changed entries of its node along to flash.
//!
//! ## Write path
//! 1. *Request.* A miss loads the entries for the rest of the request, as far as they lie in the same map page.
//! 2. *Selection.* A counter follows the number of nodes: up for a new node, down for one that lost its last entry. At
//!    `-threshold` requests are taken for sequential, at `threshold` no more; the counter begins again at 0. While they
//!    are, a miss loads as many entries behind the wanted one as lie cached directly in front of it.
//! 3. *Room.* The coldest node gives up entries, the ones used least recently first, unmarked ones before marked ones. A
//!    miss loads no more entries ahead than there is room for once this node is empty.
//! 4. *Batch.* A marked entry leaves after its map page was written with all marked entries of the node. The others stay,
//!    unmarked.
//!
//! ## Recovery
//! As DFTL: the cache is memory.
//!
//! ## Invariants
//! Bytes of all entries and nodes are within the budget. A node has an entry.
//!
//! ## Differences
//! An entry's hotness is when it was used last; the paper leaves the measure open. A loaded entry counts as used. A node
//! takes eight bytes: its map page and its hotness. As with DFTL's cache, the lists and the search are counted apart. The
//! paper moves a node in a list when its hotness changes. Here the coldest node is found when one is needed, which gives
//! the same node. A request may load less than its rest, if the coldest node gives no room for it (rule 3).
//!
//! Collection is the same as with DFTL's cache. Where it writes a map page for most pages that it moves, it decides the
//! map's cost, and can write slightly more here: the entries kept are used more often and moved less.
//!
//! ## References
//! Y. Zhou, F. Wu, P. Huang, X. He, C. Xie, J. Zhou: An Efficient Page-level FTL to Optimize Address Translation in
//! Flash Memory. EuroSys 2015.

use super::table::{List, Table};
use super::{MapCache, Shape, Slot, Step, NONE};
use crate::options::options;
use crate::parts::map_entries::entries;
use crate::{error, FtlError, RamUse};
use nandlab_nand::{Lpn, Ppa};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

options! {
    Options
    /// TPFTL's options. Default: all four techniques.
    #[derive(Eq)]
    {
        /// Whether a miss loads the entries for the rest of its request.
        request_prefetch: bool = true,
        /// Whether a miss loads entries ahead while requests are sequential.
        selective_prefetch: bool = true,
        /// Nodes that must go, more than come, for requests to be taken for sequential; and the other way round. At
        /// least 1. Default 3, as in the paper.
        threshold: u32 = 3,
        /// Whether a changed entry that leaves takes along all of its map page; otherwise they stay marked.
        batch_update: bool = true,
        /// Whether unmarked entries leave before marked ones.
        clean_first: bool = true,
    }
}

/// Bytes of an entry: its place in the map page, and the page.
const ENTRY: u64 = 6;

/// Bytes of a node.
const NODE: u64 = 8;

impl Options {
    /// The smallest budget: a node with two entries.
    pub(super) fn least_bytes(self) -> Result<u64, FtlError> {
        error::in_range("ftl.dftl.cache.tpftl.threshold", self.threshold, 1..=i32::MAX as u32)?;
        Ok(NODE + 2 * ENTRY)
    }

    /// Bytes for the whole map.
    pub(super) fn whole_bytes(self, logical_pages: u32, map_pages: u32) -> u64 {
        ENTRY * u64::from(logical_pages) + NODE * u64::from(map_pages)
    }
}

/// The cached entries of a map page.
#[derive(Clone, Copy, Debug)]
struct Node {
    list: List,
    /// The sum of the times when its entries were used last.
    sum: u64,
    /// The hotness under which it waits in the order.
    queued: u64,
}

impl Node {
    const EMPTY: Self = Self { list: List::EMPTY, sum: 0, queued: 0 };

    fn hotness(&self) -> u64 {
        self.sum / u64::from(self.list.count)
    }
}

/// What a miss loads.
#[derive(Clone, Copy, Debug)]
struct Plan {
    at: Lpn,
    count: u32,
    /// The map page whose node gives up entries.
    from: Option<u32>,
}

/// Whether requests are sequential, by the number of nodes.
#[derive(Clone, Copy, Debug)]
struct Trend {
    threshold: i32,
    counter: i32,
    is_sequential: bool,
}

impl Trend {
    fn count(&mut self, change: i32) {
        self.counter += change;
        if self.counter.abs() >= self.threshold {
            self.is_sequential = self.counter < 0;
            self.counter = 0;
        }
    }
}

/// The entries by node.
#[derive(Debug)]
pub(super) struct TwoLevels {
    options: Options,
    shape: Shape,
    table: Table,
    /// By slot: when the entry was used last.
    used: Vec<u64>,
    /// By map page.
    nodes: Vec<Node>,
    /// Nodes with an entry.
    count: u32,
    /// The nodes by hotness, the coldest first. A node whose hotness has grown waits under its former one.
    order: BinaryHeap<Reverse<(u64, u32)>>,
    clock: u64,
    trend: Trend,
    /// The logical pages of the last request.
    request: std::ops::Range<u32>,
    plan: Option<Plan>,
    /// The marked entry that leaves once its map page is written.
    leaving: Option<Slot>,
}

impl TwoLevels {
    pub(super) fn new(shape: Shape, options: Options) -> Self {
        Self {
            options,
            shape,
            table: Table::new(shape.logical_pages, shape.per_map_page),
            used: Vec::new(),
            nodes: vec![Node::EMPTY; shape.map_pages() as usize],
            count: 0,
            order: BinaryHeap::new(),
            clock: 0,
            trend: Trend { threshold: options.threshold as i32, counter: 0, is_sequential: false },
            request: 0..0,
            plan: None,
            leaving: None,
        }
    }

    fn bytes(&self) -> u64 {
        ENTRY * u64::from(self.table.len()) + NODE * u64::from(self.count)
    }

    /// Bytes that `count` entries from `at` on take.
    fn cost(&self, at: Lpn, count: u32) -> u64 {
        let new = (at.0..at.0 + count).filter(|&at| self.table.find(Lpn(at)).is_none()).count() as u64;
        let has_node = self.nodes[self.shape.map_page(at) as usize].list.count > 0;
        ENTRY * new + if has_node { 0 } else { NODE }
    }

    /// The entries that a miss loads.
    fn plan(&mut self, at: Lpn) -> Plan {
        if let Some(plan) = self.plan.filter(|plan| plan.at == at) {
            return plan;
        }
        let pages = self.shape.pages_of(self.shape.map_page(at));
        let mut count = 1;
        if self.options.request_prefetch && self.request.contains(&at.0) {
            count = self.request.end - at.0;
        }
        if self.options.selective_prefetch && self.trend.is_sequential {
            let before = (pages.start..at.0).rev().take_while(|&at| self.table.find(Lpn(at)).is_some()).count();
            count = count.max(1 + before as u32);
        }
        count = count.min(pages.end - at.0);
        let mut from = None;
        if self.bytes() + self.cost(at, count) > self.shape.budget_bytes {
            from = self.coldest();
            count = count.min(self.most_with(at, from));
        }
        *self.plan.insert(Plan { at, count, from })
    }

    /// The most entries from `at` on for which there is room once one node is empty; at least one.
    fn most_with(&self, at: Lpn, emptied: Option<u32>) -> u32 {
        let freed = |map_page: u32| {
            let entries = ENTRY * u64::from(self.nodes[map_page as usize].list.count);
            // The node of the entry itself is needed again.
            entries + if map_page == self.shape.map_page(at) { 0 } else { NODE }
        };
        let room = self.shape.budget_bytes - self.bytes() + emptied.map_or(0, freed);
        (room.saturating_sub(self.cost(at, 0)) / ENTRY).max(1) as u32
    }

    /// The map page with the coldest node.
    fn coldest(&mut self) -> Option<u32> {
        loop {
            let &Reverse((hotness, map_page)) = self.order.peek()?;
            let node = &mut self.nodes[map_page as usize];
            if node.list.count > 0 && node.queued == hotness {
                let now = node.hotness();
                if now == hotness {
                    return Some(map_page);
                }
                node.queued = now;
                self.order.push(Reverse((now, map_page)));
            }
            self.order.pop();
        }
    }

    /// The entry that leaves: of the node given up, or else of the coldest.
    fn victim(&mut self, from: Option<u32>) -> Slot {
        if let Some(slot) = self.leaving {
            return slot;
        }
        let from = from.filter(|&map_page| self.nodes[map_page as usize].list.count > 0).or_else(|| self.coldest());
        let list = self.nodes[from.expect("a full cache has a node") as usize].list;
        let next = |slot: Slot| Some(slot).filter(|&slot| slot != NONE);
        let mut by_age =
            std::iter::successors(next(list.oldest), |&slot| next(self.table.entries[slot as usize].newer()));
        let clean = by_age.find(|&slot| self.options.clean_first && !self.table.is_dirty(slot));
        clean.unwrap_or(list.oldest)
    }

    /// Removes an entry, which must not be marked.
    fn remove(&mut self, slot: Slot) {
        let map_page = self.table.map_page(slot);
        let node = &mut self.nodes[map_page as usize];
        node.list.unlink(&mut self.table.entries, slot);
        node.sum -= self.used[slot as usize];
        self.table.remove(slot);
        if node.list.count == 0 {
            self.count -= 1;
            self.trend.count(-1);
        } else if node.hotness() < node.queued {
            node.queued = node.hotness();
            self.order.push(Reverse((node.queued, map_page)));
        }
    }

    /// An entry's logical page.
    pub(super) fn logical_page(&self, slot: Slot) -> Lpn {
        self.table.entries[slot as usize].at
    }

    /// Adds the unmarked entry for which the last step made room.
    pub(super) fn put(&mut self, at: Lpn, page: Ppa) -> Slot {
        self.plan = None;
        self.clock += 1;
        self.insert(at, page)
    }

    /// Adds an unmarked entry.
    fn insert(&mut self, at: Lpn, page: Ppa) -> Slot {
        let slot = self.table.insert(at, page);
        if self.used.len() <= slot as usize {
            self.used.resize(slot as usize + 1, 0);
        }
        self.used[slot as usize] = self.clock;
        let map_page = self.shape.map_page(at);
        let node = &mut self.nodes[map_page as usize];
        node.sum += self.clock;
        node.list.push(&mut self.table.entries, slot);
        if node.list.count == 1 {
            node.queued = self.clock;
            self.order.push(Reverse((self.clock, map_page)));
            self.count += 1;
            self.trend.count(1);
        }
        slot
    }
}

impl MapCache for TwoLevels {
    #[inline]
    fn find(&self, at: Lpn) -> Option<Slot> {
        self.table.find(at)
    }

    #[inline]
    fn touch(&mut self, slot: Slot) {
        self.clock += 1;
        let map_page = self.table.map_page(slot);
        let node = &mut self.nodes[map_page as usize];
        let used = std::mem::replace(&mut self.used[slot as usize], self.clock);
        node.sum += self.clock - used;
        node.list.renew(&mut self.table.entries, slot);
    }

    #[inline]
    fn page(&self, slot: Slot) -> Ppa {
        self.table.page(slot)
    }

    #[inline]
    fn set(&mut self, slot: Slot, page: Ppa) {
        self.table.set(slot, page);
    }

    fn step(&mut self, at: Lpn) -> Step {
        if let Some(slot) = self.table.find(at) {
            return Step::Found(slot);
        }
        let plan = self.plan(at);
        while self.bytes() + self.cost(at, plan.count) > self.shape.budget_bytes {
            let victim = self.victim(plan.from);
            if self.table.is_dirty(victim) {
                self.leaving = Some(victim);
                return Step::Write(self.table.map_page(victim));
            }
            self.leaving = None;
            self.remove(victim);
        }
        Step::Read(at)
    }

    fn take_in(&mut self, first: Lpn, bytes: &[u8]) {
        let count = self.plan.take().filter(|plan| plan.at == first).map_or(1, |plan| plan.count);
        self.clock += 1;
        let loaded: Vec<_> = (first.0..).map(Lpn).zip(entries(bytes)).take(count as usize).collect();
        // The entry asked for comes last, so that it is the newest.
        for (at, page) in loaded.into_iter().rev() {
            if self.table.find(at).is_none() {
                self.insert(at, page);
            }
        }
    }

    fn moved(&mut self, at: Lpn, to: Ppa) -> bool {
        let slot = self.table.find(at);
        slot.into_iter().for_each(|slot| self.table.set(slot, to));
        slot.is_some()
    }

    fn set_changed(&self, map_page: u32, bytes: &mut [u8]) {
        self.table.set_changed(map_page, bytes);
    }

    fn written(&mut self, map_page: u32) {
        if self.options.batch_update {
            self.table.set_all_clean(map_page);
        } else if let Some(slot) = self.leaving.filter(|&slot| self.table.map_page(slot) == map_page) {
            self.table.set_clean(slot);
        }
    }

    fn clean(&mut self, at: Lpn) {
        if let Some(slot) = self.table.find(at) {
            self.table.set_clean(slot);
        }
    }

    fn adopt(&mut self, changed: &[(Lpn, Ppa)]) -> bool {
        let Some(&(first, _)) = changed.first() else { return true };
        let cost = ENTRY * changed.len() as u64 + self.cost(first, 0);
        let has_room = self.bytes() + cost <= self.shape.budget_bytes;
        if has_room {
            for &(at, page) in changed {
                let slot = self.insert(at, Ppa::NONE);
                self.table.set(slot, page);
            }
        }
        has_room
    }

    fn each(&self, tell: &mut dyn FnMut(Lpn, Ppa, bool)) {
        assert!(self.bytes() <= self.shape.budget_bytes, "{} bytes in memory", self.bytes());
        self.table.iter().for_each(|entry| tell(entry.at, entry.page, entry.is_dirty));
    }

    fn expect(&mut self, first: Lpn, pages: u32) {
        self.request = first.0..first.0 + pages;
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        self.table.prefetch(at);
    }

    #[inline]
    fn prefetch_entry(&self, at: Lpn) {
        self.table.prefetch_entry(at);
    }

    fn ram(&self, ram: &mut RamUse) {
        let Shape { logical_pages, budget_bytes, .. } = self.shape;
        let bytes = budget_bytes.min(self.options.whole_bytes(logical_pages, self.shape.map_pages()));
        ram.sram.insert("cmt", bytes);
        // Neighbours and search for each entry, as for DFTL's; neighbours, both ends and the sum of times for each node.
        let entries = (bytes - NODE) / ENTRY;
        let nodes = u64::from(self.shape.map_pages()).min(bytes / (NODE + ENTRY));
        ram.sram.insert("cmt_lists", 12 * entries + 20 * nodes);
    }
}

#[cfg(test)]
mod tests;

//! Hot and cold log blocks: which is which, the share of the hot ones, and the victim.

use super::Config;
use crate::parts::shared_logs::SharedLogs;
use crate::parts::store::Store;
use nandlab_nand::BlockId;
use std::collections::BTreeSet;

/// Whether a page is written again soon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heat {
    Hot,
    Cold,
}

/// The hot log blocks among the shared ones.
#[derive(Debug)]
pub(super) struct Partitions {
    hot: BTreeSet<BlockId>,
    /// Hot log blocks in use from which on one of them is the victim.
    share: usize,
    most: usize,
    adapts: bool,
}

impl Partitions {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            hot: BTreeSet::new(),
            share: config.hot_blocks as usize,
            most: config.random_blocks as usize - 1,
            adapts: config.adapt && config.hot_blocks > 0,
        }
    }

    fn heat(&self, block: BlockId) -> Heat {
        if self.hot.contains(&block) {
            Heat::Hot
        } else {
            Heat::Cold
        }
    }

    /// Notes a new log block.
    pub(super) fn opened(&mut self, heat: Heat, block: BlockId) {
        if heat == Heat::Hot {
            self.hot.insert(block);
        }
    }

    /// The youngest log block of this kind, if it has room.
    pub(super) fn open_log(&self, store: &Store, logs: &SharedLogs, heat: Heat) -> Option<usize> {
        let youngest = logs.logs().iter().rposition(|log| self.heat(log.block) == heat)?;
        Some(youngest).filter(|&index| !store.is_full(logs.logs()[index].block))
    }

    /// The log blocks of one kind, the oldest first; one that takes pages only if there is no other.
    fn candidates(&self, store: &Store, logs: &SharedLogs, heat: Heat) -> Vec<usize> {
        let of_kind: Vec<usize> =
            (0..logs.logs().len()).filter(|&index| self.heat(logs.logs()[index].block) == heat).collect();
        let full: Vec<usize> =
            of_kind.iter().copied().filter(|&index| store.is_full(logs.logs()[index].block)).collect();
        if full.is_empty() {
            of_kind
        } else {
            full
        }
    }

    /// The log block to reclaim; none if there is no log block.
    pub(super) fn victim(&self, store: &Store, logs: &SharedLogs) -> Option<usize> {
        let is_dead = |&index: &usize| store.mapped_to(logs.logs()[index].block) == 0;
        let mut full = (0..logs.logs().len()).filter(|&index| store.is_full(logs.logs()[index].block));
        if let Some(dead) = full.find(is_dead) {
            return Some(dead);
        }
        let hot = self.candidates(store, logs, Heat::Hot).first().copied();
        let in_use = logs.logs().iter().filter(|log| self.heat(log.block) == Heat::Hot).count();
        if in_use > self.share {
            return hot;
        }
        let cost = |&index: &usize| -> u32 {
            logs.groups_to_merge(store, index).into_iter().map(|group| store.mapped_in(group)).sum()
        };
        self.candidates(store, logs, Heat::Cold).into_iter().min_by_key(cost).or(hot)
    }

    /// Adapts the share to a victim, before it is reclaimed.
    pub(super) fn reclaimed(&mut self, store: &Store, logs: &SharedLogs, index: usize) {
        let victim = logs.logs()[index].block;
        if !self.hot.contains(&victim) {
            return;
        }
        let is_dead = |block: BlockId| store.mapped_to(block) == 0;
        let mut others = logs.logs().iter().map(|log| log.block).filter(|&block| block != victim);
        if self.adapts && !is_dead(victim) {
            self.share = (self.share + 1).min(self.most);
        } else if self.adapts && others.any(|block| self.hot.contains(&block) && store.is_full(block) && is_dead(block))
        {
            self.share = (self.share - 1).max(1);
        }
        self.gone(victim);
    }

    /// Notes that a block is no log block any more.
    pub(super) fn gone(&mut self, block: BlockId) {
        self.hot.remove(&block);
    }

    /// Asserts that every hot log block is a log block, and that the share leaves room for cold ones.
    pub(super) fn check(&self, logs: &SharedLogs) {
        for &block in &self.hot {
            assert!(logs.logs().iter().any(|log| log.block == block), "block {block} is hot and no log block");
        }
        assert!(self.share <= self.most, "the share of the hot log blocks is {}, the most {}", self.share, self.most);
    }
}

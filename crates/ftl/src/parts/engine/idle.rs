//! The page map's work while the host asks nothing: garbage collection, and emptying blocks with one bit per cell.

use super::{Pages, Scheme};
use crate::options::options;
use crate::{error, FtlError};
use nandlab_nand::{scoped, Cause, Nand, Time};

/// Work in gaps between requests, beside emptying an SLC cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// Nothing: the host pays for all collection with its writes.
    #[default]
    None,
    /// Garbage collection, a copy or an erase at a time, in gaps with the whole device at rest. Work begun when a
    /// request comes ends first; a victim not empty by then waits for the next gap.
    Collect(Collect),
}

options! {
    Collect
    /// The options for collection in gaps.
    #[derive(Eq)]
    {
        /// Blocks on each die made free beyond `reserve_blocks`, at least 1. Default 2.
        blocks: u32 = 2,
        /// How long the device rests before this counts as a gap, in microseconds. Default 1000.
        after_us: u32 = 1000,
    }
}

impl Idle {
    /// Blocks on each die that collection makes free beyond the reserve; `None` without collection.
    pub(super) fn collected(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Collect(Collect { blocks, .. }) => Some(blocks),
        }
    }

    pub(super) fn check(self) -> Result<(), FtlError> {
        match self {
            Self::None => Ok(()),
            Self::Collect(Collect { blocks, .. }) => {
                error::in_range("ftl.page.idle.collect.blocks", blocks, 1..=u32::MAX)
            }
        }
    }
}

/// When a gap's work begins.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// When the SLC cache begins to be emptied, and blocks to be collected.
    fold: Option<Time>,
    collect: Option<Time>,
}

impl Gap {
    /// The first beginning later than `at`.
    fn next_after(self, at: Time) -> Option<Time> {
        [self.fold, self.collect].into_iter().flatten().filter(|&from| from > at).min()
    }
}

impl Pages {
    /// Empties blocks in a gap that ends at `until`, if the options ask for it.
    ///
    /// A step is firmware's work between two looks at its queue. It is a copy, an erase, or the reads to find a
    /// victim's valid pages in its spare areas. A step goes on to its end once begun.
    #[cold]
    pub(super) fn work_in_gap<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        until: Time,
    ) -> Result<(), FtlError> {
        let now = nand.ctx().arrival();
        let from = |after_us: u32| now + 1000 * Time::from(after_us);
        let collect = match self.config.idle {
            Idle::None => None,
            Idle::Collect(Collect { after_us, .. }) => Some(from(after_us)),
        };
        let gap = Gap { fold: self.config.slc_cache.idle_after_us().map(from), collect };
        let Some(first) = [gap.fold, gap.collect].into_iter().flatten().min() else { return Ok(()) };
        let before = nand.ctx().after(first);
        // By die: when its last step ended, while it has something to do.
        let mut free_at: Vec<Option<Time>> = vec![Some(first); self.dies.len()];
        loop {
            let next = (0..).zip(&free_at).filter_map(|(die, at)| at.map(|at| (at, die))).min();
            let Some((at, die)) = next.filter(|&(at, _)| at < until) else { break };
            nand.ctx().set_ready(at);
            let works = scoped(nand, Cause::Gc, |nand| self.begin_in_gap(scheme, nand, die, (gap, at)))?;
            free_at[die] = if works {
                self.relocate_one(scheme, nand, die)?;
                self.settle(scheme, nand)?;
                self.events.idle_steps += 1;
                Some(nand.ctx().last().max(at))
            } else {
                gap.next_after(at)
            };
        }
        nand.ctx().set_ready(before);
        Ok(())
    }

    /// Begins to empty a block, unless one is at hand; false if the die has nothing to do.
    fn begin_in_gap<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
        (gap, at): (Gap, Time),
    ) -> Result<bool, FtlError> {
        let is_time = |from: Option<Time>| from.is_some_and(|from| from <= at);
        if self.dies[die].relocation.is_some() || is_time(gap.fold) && self.empty_cache_in_gap(scheme, nand, die)? {
            return Ok(true);
        }
        let collected = self.config.idle.collected().filter(|_| is_time(gap.collect));
        let enough = collected.map_or(0, |blocks| self.config.reserve_blocks + blocks);
        if self.free_in(scheme, die) >= enough || !self.start_relocation(scheme, nand, die)? {
            return Ok(false);
        }
        if let Some(relocation) = &mut self.dies[die].relocation {
            relocation.set_in_gap();
        }
        Ok(true)
    }
}

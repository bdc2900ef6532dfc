//! MiDAS: a chain of groups by age, with sizes from a model of the workload.
//!
//! ## Idea
//! Host pages fill blocks of the first group. Each group but the last is a queue: when it has more blocks than its size,
//! its oldest block is emptied, and the pages still valid there go to the next group. So pages are sorted by age without
//! a guess at any of them. In the last group the victim policy chooses. A hot group beside the chain takes pages that are
//! written again soon, so they need not run through the first group.
//!
//! The sizes come from a model. Sampled pages tell the distribution of update intervals over an epoch. From it follow the
//! valid part of each group's victims and the write amplification, for any number of groups and any sizes. A search adds
//! groups one at a time and then tries each size again. Its result is taken if its forecast is below the write
//! amplification that was measured in the epoch.
//!
//! The model fails if a workload changes within an epoch. So a quarter of an epoch after a result was taken the groups'
//! victims are counted for another quarter. From the first group of the chain whose valid part is off by more than 0.1 on,
//! all groups lose their sizes: pages still go one group further with each move, and the victim policy chooses among all
//! these blocks. So does the whole device before the first epoch ends.
//!
//! ## Write path
//! A page has a mark from 0 to 3, and is hot with 3. A host write within `soon` host pages after the opening of the block
//! of the first group that held the page adds 1, a later one takes 1 away. A move out of the first group takes 1 away, one
//! out of the hot group 2. `soon` is the mean age of hot blocks when they are emptied.
//!
//! ## Invariants
//! A group's count of blocks is that of the blocks that were opened for it, or merged into it, and not emptied since.
//!
//! ## Differences
//! A group's size is in blocks of each die, as each die collects for itself. The distribution is a Kaplan-Meier estimate,
//! apart for pages sent to the hot group and for others, so the forecast takes the hot group as it is; the paper stretches
//! counts of intervals, and assumes that a hot group catches every interval up to some length. Desnoyers' model of the
//! last group, of hot and cold pages with a mean interval as the border, would take uniform writes for skewed ones; here
//! the distribution itself tells how often a page is moved there, corrected for greedy victims. Blocks that were no victim
//! for an epoch are left out. The hot group is not checked against the forecast, as its pages change with its marks.
//!
//! Sizes above eight blocks are tried in steps of an eighth, and those near the best ones singly; other sizes are taken
//! for a gain of 1 %. The original samples every hundredth page of a large device; here the number of pages is given, as a
//! simulated device has fewer. A forecast for sizes that stay is made anew each epoch. A mount forgets marks, sizes and
//! intervals, and puts all blocks into the last group.
//!
//! ## References
//! S. Oh, J. Kim, S. Han, J. Kim, S. Lee, S. H. Noh: MIDAS: Minimizing Write Amplification in Log-Structured Systems
//! through Adaptive Group Number and Size Configuration. FAST 2024. P. Desnoyers: Analytic Models of SSD Write
//! Performance. ACM Transactions on Storage 10(2), 2014 (the last group). E. L. Kaplan, P. Meier: Nonparametric
//! Estimation from Incomplete Observations. Journal of the American Statistical Association 53(282), 1958.

mod counts;
mod curve;
mod filter;
mod intervals;
mod model;

use super::{Candidates, GroupUse, Moved, PlacementPolicy, PoolPolicy, Written, MOST_FRONTIERS};
use crate::options::options;
use crate::parts::blocks::pool_blocks::PoolBlocks;
use crate::{error, FtlError};
use counts::Counts;
use filter::Filter;
use intervals::Intervals;
use model::{Forecast, Model};
use nandlab_nand::{BlockId, Geometry, Lpn};

options! {
    Options
    /// The options of MiDAS.
    #[derive(Eq)]
    {
        /// Most groups, the hot one among them, 2 to 15. Each has an open block on every die. Default 8.
        groups: u32 = 8,
        /// Host pages in an epoch, in multiples of the logical pages, 1 to 1,000. Default 4, as in the paper.
        epoch: u32 = 4,
        /// Pages watched for their update intervals, 256 to 16,777,216, spread over the logical pages. Default 65536.
        watched: u32 = 65_536,
    }
}

impl Options {
    pub(super) fn check(self, key: &str) -> Result<(), FtlError> {
        error::in_range(&format!("{key}.midas.groups"), self.groups, 2..=MOST_FRONTIERS)?;
        error::in_range(&format!("{key}.midas.epoch"), self.epoch, 1..=1000)?;
        error::in_range(&format!("{key}.midas.watched"), self.watched, 256..=1 << 24)
    }
}

/// The most by which a group's valid part may differ from the forecast.
const REGULAR: f64 = 0.1;

/// The least gain for which sizes are changed: blocks that change their group cost more copies for a while.
const LEAST_CHANGE: f64 = 0.01;

/// Victims of a group below which its valid part is not known.
const FEWEST_VICTIMS: u64 = 8;

/// The chain. Frontiers and pools are its groups from the first to the last, then the hot one.
#[derive(Debug)]
pub(crate) struct Chain {
    options: Options,
    geometry: Geometry,
    blocks: PoolBlocks,
    /// By block: `clock` when it was opened.
    opened: Vec<u64>,
    /// Host pages written.
    clock: u64,
    filter: Filter,
    intervals: Intervals,
    counts: Counts,
    /// The sizes of the hot group and of the chain's groups before the last one, in blocks of each die. Empty: the victim
    /// policy chooses among all blocks.
    sizes: Vec<u32>,
    /// Whether pages without a sized group still go one group further with each move.
    spreads: bool,
    forecast: Option<Forecast>,
    /// Host pages before the first epoch: while a device is filled, no page is written again.
    filling: u64,
    /// Host pages of the epoch at which something is due next.
    due: u32,
    /// Mapped pages.
    mapped: u64,
    used: GroupUse,
}

impl Chain {
    pub(super) fn new(options: Options, geometry: &Geometry, logical_pages: u32) -> Self {
        // A quarter of the blocks' pages, as in the paper.
        let step = (geometry.dies() * geometry.pages_per_block() / 4).max(1);
        let epoch = u64::from(options.epoch) * u64::from(logical_pages);
        let intervals = Intervals::new(logical_pages, options.watched, step, epoch);
        Self {
            options,
            geometry: *geometry,
            blocks: PoolBlocks::new(geometry, options.groups),
            opened: vec![0; geometry.blocks() as usize],
            clock: 0,
            filter: Filter::new(logical_pages),
            filling: u64::from(logical_pages),
            due: intervals.length(),
            intervals,
            counts: Counts::new(options.groups),
            sizes: Vec::new(),
            spreads: true,
            forecast: None,
            mapped: 0,
            used: GroupUse::default(),
        }
    }

    /// The hot group.
    fn hot(&self) -> usize {
        self.options.groups as usize - 1
    }

    /// The chain's first group without a size.
    fn last(&self) -> usize {
        self.sizes.len().saturating_sub(1)
    }

    /// The pool of a size's group.
    fn pool_of_size(&self, at: usize) -> usize {
        at.checked_sub(1).unwrap_or(self.hot())
    }

    /// Does what is due in the epoch.
    #[cold]
    fn turn(&mut self) {
        let (now, length) = (self.intervals.now(), self.intervals.length());
        if now >= length {
            self.end_epoch();
            self.intervals.restart();
            self.counts = Counts::new(self.options.groups);
            self.due = length / 4;
        } else if self.due < length / 2 {
            self.counts.restart_victims();
            self.due = length / 2;
        } else {
            self.check_groups();
            self.due = length;
        }
    }

    /// Asks the model for sizes, and takes them if they promise less than what was measured.
    fn end_epoch(&mut self) {
        let Some(model) = self.model() else { return };
        self.used.epochs += 1;
        self.used.epoch_waf = self.counts.waf();
        self.forecast = model.forecast(&self.sizes);
        if let Some((sizes, forecast)) = model.best(self.hot()) {
            let stays = |now: &Forecast| forecast.waf > now.waf * (1.0 - LEAST_CHANGE);
            let is_better = self.spreads || !self.forecast.as_ref().is_some_and(stays);
            if is_better && self.counts.waf().is_some_and(|waf| forecast.waf < waf) {
                self.used.adopted += 1;
                self.forecast = Some(forecast);
                self.regroup(sizes, false);
            }
        }
    }

    /// The model for the present epoch; `None` if nothing was collected in it.
    fn model(&self) -> Option<Model> {
        let block = f64::from(self.geometry.dies() * self.geometry.pages_per_block());
        Some(Model {
            hot: self.counts.hot_share()?,
            survival: self.intervals.survival(),
            steps: block / f64::from(self.intervals.step()),
            pages: self.geometry.pages_per_block().into(),
            blocks: self.counts.blocks()?,
            valid: self.mapped as f64 / block,
            idle: self.idle_blocks(),
        })
    }

    /// Blocks of each die in groups without a size that are older than an epoch.
    fn idle_blocks(&self) -> f64 {
        let Some(since) = self.clock.checked_sub(self.intervals.length().into()) else { return 0.0 };
        let pools = self.unsized_pools();
        let is_idle = |(&pool, &opened): &(&u8, &u64)| pools.contains(&pool) && opened < since;
        let idle = self.blocks.of_blocks().iter().zip(&self.opened).filter(is_idle).count();
        idle as f64 / f64::from(self.geometry.dies())
    }

    /// Takes sizes away from the first group on whose victims do not follow the forecast.
    fn check_groups(&mut self) {
        let Some(forecast) = &self.forecast else { return };
        let pages = u64::from(self.geometry.pages_per_block());
        let valid = |at: usize| {
            let pool = if at < self.sizes.len() { self.pool_of_size(at) } else { self.last() };
            self.counts.valid(pool, FEWEST_VICTIMS, pages)
        };
        let is_off = |at: &usize| valid(*at).is_some_and(|valid| (valid - forecast.valid[*at]).abs() > REGULAR);
        let counted = forecast.valid.len() - usize::from(self.spreads);
        if let Some(from) = (1..counted).find(is_off) {
            self.used.merged += 1;
            let sizes = self.sizes[..from].to_vec();
            self.regroup(sizes, true);
        }
    }

    /// Takes other sizes. Blocks of groups without a size, before or now, are in the last group.
    fn regroup(&mut self, sizes: Vec<u32>, spreads: bool) {
        let before = self.last();
        (self.sizes, self.spreads) = (sizes, spreads);
        let last = self.last();
        self.blocks.merge(before.min(last)..self.hot(), last);
        if self.sizes.is_empty() {
            self.blocks.merge(self.hot()..self.hot() + 1, last);
        }
    }

    /// The pools without sizes.
    fn unsized_pools(&self) -> std::ops::Range<u8> {
        self.last() as u8..self.hot() as u8 + u8::from(self.sizes.is_empty())
    }
}

impl PlacementPolicy for Chain {
    fn written(&mut self, Written { at, from, .. }: Written) -> usize {
        self.mapped += u64::from(from == BlockId::NONE);
        let is_first = self.blocks.pool(from) == Some(0);
        let age = is_first.then(|| self.clock - self.opened[from.index()]);
        self.clock += 1;
        let is_hot = self.filter.written(at, age);
        if self.clock > self.filling {
            self.intervals.written(at, is_hot);
        }
        self.counts.written(is_hot);
        if self.intervals.now() >= self.due {
            self.turn();
        }
        if is_hot {
            self.hot()
        } else {
            0
        }
    }

    fn moved(&mut self, Moved { from, .. }: Moved) -> usize {
        match self.blocks.pool(from) {
            Some(pool) if pool == self.hot() => 0,
            Some(pool) if pool < self.last() || self.spreads => (pool + 1).min(self.hot() - 1),
            _ => self.last(),
        }
    }

    fn copied(&mut self, Moved { at, from }: Moved) {
        let Some(pool) = self.blocks.pool(from) else { return };
        self.counts.moved(pool);
        if pool == 0 || pool == self.hot() {
            self.filter.moved(at, pool == self.hot());
        }
    }

    fn opened(&mut self, block: BlockId, frontier: usize) {
        // Wear levelling has a frontier of its own.
        let pool = if frontier > self.hot() { self.last() } else { frontier };
        self.blocks.join(block, pool);
        self.opened[block.index()] = self.clock;
    }

    fn emptied(&mut self, block: BlockId) {
        let Some(pool) = self.blocks.pool(block) else { return };
        self.counts.emptied(pool);
        if pool == self.hot() {
            self.filter.emptied(self.clock - self.opened[block.index()]);
        }
        self.blocks.leave(block);
    }

    fn trimmed(&mut self, at: Lpn) {
        self.mapped = self.mapped.saturating_sub(1);
        self.filter.trimmed(at);
        self.intervals.trimmed(at);
    }

    fn pools(&self) -> Option<&dyn PoolPolicy> {
        Some(self)
    }

    fn pools_mut(&mut self) -> Option<&mut dyn PoolPolicy> {
        Some(self)
    }

    fn groups(&self) -> Option<GroupUse> {
        let predicted_waf = self.forecast.as_ref().map(|forecast| forecast.waf);
        Some(GroupUse { blocks: self.sizes.clone(), predicted_waf, ..self.used.clone() })
    }

    fn bytes(&self) -> u64 {
        self.filter.bytes() + self.intervals.bytes() + 9 * self.opened.len() as u64
    }
}

impl PoolPolicy for Chain {
    fn blocks(&self) -> &PoolBlocks {
        &self.blocks
    }

    fn blocks_mut(&mut self) -> &mut PoolBlocks {
        &mut self.blocks
    }

    fn found(&mut self, block: BlockId, _first: Lpn, valid: u32) {
        self.mapped += u64::from(valid);
        self.blocks.join(block, self.hot() - 1);
    }

    fn fills(&self, frontier: usize) -> bool {
        self.spreads || frontier <= self.last() || frontier >= self.hot()
    }

    fn to_collect(&mut self, die: u32, _beyond: i64, _last: usize) -> [Candidates; 2] {
        self.counts.in_use((0..=self.hot()).map(|pool| self.blocks.held(die, pool)).sum());
        let all = Candidates { pools: 0..self.hot() as u8 + 1, is_oldest: false };
        let beyond = |at: &usize| self.blocks.held(die, self.pool_of_size(*at)) > self.sizes[*at];
        let first = match (0..self.sizes.len()).find(beyond).map(|at| self.pool_of_size(at) as u8) {
            Some(pool) => Candidates { pools: pool..pool + 1, is_oldest: true },
            None => Candidates { pools: self.unsized_pools(), is_oldest: false },
        };
        [first, all]
    }
}

#[cfg(test)]
mod tests;

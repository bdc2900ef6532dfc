//! Oracle: the time at which each page dies is known.
//!
//! ## Idea
//! No real device knows when the host will overwrite a page. A run of the same experiment before this one does: it notes
//! what the host writes, and the placement learns each page's death time from the notes (`future.rs`). Pages that die
//! about the same time fill a block together, so the block empties by itself. A page's class is its remaining life in
//! windows: of equal length, or each twice as long as the one before, up to the last class without an end. A moved page
//! goes by what remains of its life.
//!
//! With `victims = "dying_last"` the next victim is the block with most of `(1 - u) t / u`, where a share `u` of the block
//! is valid and `t` is the mean time until these pages die. This is the cost-benefit rule of the log-structured file
//! system with the true remaining life in place of the age: a block whose pages die soon is left alone.
//!
//! None of these choices is proved to be the best, so `nandlab compare --optimum` runs several of them and takes the
//! lowest write amplification: the best placement known.
//!
//! ## Differences
//! A mount forgets how many writes there were, so a run that mounts its device in between does not know the future. Without
//! a run before it every page is thought to live for ever: that is the case for a disk in an image.
//!
//! ## References
//! Q. Wang, J. Li, P. P. C. Lee, T. Ouyang, C. Shi, L. Huang: Separating Data via Block Invalidation Time Inference for
//! Write Amplification Reduction in Log-Structured Storage. FAST 2022 (future knowledge, FK). M. Rosenblum, J. Ousterhout:
//! The Design and Implementation of a Log-Structured File System. ACM Transactions on Computer Systems 10(1), 1992.

use super::{Moved, PlacementPolicy, Written};
use crate::future::{Follow, Future, NEVER};
use crate::options::options;
use crate::parts::blocks::table::Blocks;
use crate::{error, FtlError};
use nandlab_nand::{BlockId, Geometry, Lpn, Ppa};

options! {
    Options
    /// The oracle's options.
    #[derive(Eq)]
    {
        /// Classes of remaining life, 2 to 64. Each needs an open block on every die. Default 8.
        classes: u32 = 8,
        /// How the classes' windows grow.
        windows: Windows = Windows::Doubling,
        /// The first window in host page writes, in per cent of the spare pages, 1 to 10,000. Default 100.
        window_percent: u32 = 100,
        /// Who chooses the next victim.
        victims: Victims = Victims::DyingLast,
    }
}

/// How long a class's window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Windows {
    /// As long as the first one.
    Equal,
    /// As long as all before it together.
    #[default]
    Doubling,
}

/// Who chooses the next victim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Victims {
    /// The victim policy, as with any placement.
    Policy,
    /// The oracle: the block with few and long-lived valid pages.
    #[default]
    DyingLast,
}

/// Most classes.
const MOST_CLASSES: u32 = 64;

impl Options {
    pub(super) fn check(self, key: &str) -> Result<(), FtlError> {
        error::in_range(&format!("{key}.oracle.classes"), self.classes, 2..=MOST_CLASSES)?;
        error::in_range(&format!("{key}.oracle.window_percent"), self.window_percent, 1..=10_000)
    }
}

/// Each page's death time, and each block's.
#[derive(Debug)]
pub(crate) struct Oracle {
    future: Follow,
    geometry: Geometry,
    classes: Classes,
    picks: bool,
    /// Host pages written, and pages trimmed.
    clock: u32,
    trims: usize,
    /// By page: when it dies, and its block.
    pages: Vec<Page>,
    /// By block: its pages' death times together, and how many they are.
    blocks: Vec<(u64, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    dies: u32,
    block: BlockId,
}

impl Oracle {
    pub(super) fn new(options: Options, geometry: &Geometry, logical_pages: u32, future: &Future) -> Self {
        let future = future.follow();
        let first = |at| future.deaths().and_then(|deaths| deaths.first.get(at)).copied().unwrap_or(NEVER);
        let pages = (0..logical_pages as usize).map(|at| Page { dies: first(at), block: BlockId::NONE }).collect();
        let spare = u64::from(geometry.pages().saturating_sub(logical_pages));
        let window = (spare * u64::from(options.window_percent) / 100).clamp(1, NEVER.into()) as u32;
        Self {
            // Without death times the blocks are all alike.
            picks: options.victims == Victims::DyingLast && future.deaths().is_some(),
            classes: Classes { window, windows: options.windows, last: options.classes as usize - 1 },
            clock: 0,
            trims: 0,
            pages,
            blocks: vec![(0, 0); geometry.blocks() as usize],
            geometry: *geometry,
            future,
        }
    }

    /// When a page counts as dying: an immortal one does so when the run ends.
    fn counted(&self, dies: u32) -> u64 {
        self.future.deaths().map_or(0, |deaths| dies.min(deaths.end)).into()
    }

    /// Subtracts a page from its block's sums.
    fn leave(&mut self, at: Lpn) {
        let Page { dies, block } = self.pages[at.index()];
        if block.is_some() {
            let dies = self.counted(dies);
            let (sum, count) = &mut self.blocks[block.index()];
            *sum -= dies;
            *count -= 1;
            self.pages[at.index()].block = BlockId::NONE;
        }
    }

    /// Checks whether a page was foreseen to die now.
    fn dies_now(&self, at: Lpn) {
        if let Some(deaths) = self.future.deaths().filter(|_| self.pages[at.index()].dies != self.clock) {
            deaths.stray();
        }
    }

    fn class(&self, at: Lpn) -> usize {
        let dies = self.pages.get(at.index()).map_or(NEVER, |page| page.dies);
        self.classes.of(dies.saturating_sub(self.clock))
    }
}

/// The classes of remaining life.
#[derive(Clone, Copy, Debug)]
struct Classes {
    /// The first class's window, 1 or more.
    window: u32,
    windows: Windows,
    last: usize,
}

impl Classes {
    fn of(self, remaining: u32) -> usize {
        let windows = remaining / self.window;
        let class = match self.windows {
            Windows::Equal => windows,
            Windows::Doubling => u32::BITS - windows.leading_zeros(),
        };
        self.last.min(class as usize)
    }
}

impl PlacementPolicy for Oracle {
    fn written(&mut self, Written { at, .. }: Written) -> usize {
        self.future.note_write(at);
        self.dies_now(at);
        self.leave(at);
        let now = self.clock;
        // Times end before `NEVER`.
        self.clock = (now + 1).min(NEVER - 1);
        let dies = self.future.deaths().and_then(|deaths| deaths.of_write.get(now as usize));
        self.pages[at.index()].dies = dies.copied().unwrap_or(NEVER);
        self.class(at)
    }

    fn moved(&mut self, Moved { at, .. }: Moved) -> usize {
        self.class(at)
    }

    fn put(&mut self, at: Lpn, page: Ppa) {
        if at.index() >= self.pages.len() {
            return;
        }
        self.leave(at);
        let block = self.geometry.block_of(page);
        let dies = self.counted(self.pages[at.index()].dies);
        let (sum, count) = &mut self.blocks[block.index()];
        *sum += dies;
        *count += 1;
        self.pages[at.index()].block = block;
    }

    fn trimmed(&mut self, at: Lpn) {
        self.future.note_trim(at);
        self.dies_now(at);
        self.leave(at);
        let dies = self.future.deaths().and_then(|deaths| deaths.of_trim.get(self.trims));
        self.pages[at.index()].dies = dies.copied().unwrap_or(NEVER);
        self.trims += 1;
    }

    fn picks(&self) -> bool {
        self.picks
    }

    fn pick(&self, blocks: Blocks<'_>) -> Option<BlockId> {
        let pages = blocks.pages_per_block();
        let mut most = 0.0;
        let mut found = blocks.fewest_valid()?;
        if blocks.valid_pages(found) == 0 {
            return Some(found);
        }
        for (place, &word) in blocks.words().iter().enumerate().filter(|(_, &word)| word < Blocks::CLOSED) {
            let block = blocks.at(place);
            let (sum, count) = self.blocks[block.index()];
            let valid = word as u32;
            let remaining = (sum as f64 / f64::from(count.max(1)) - f64::from(self.clock)).max(0.0);
            let worth = f64::from(pages - valid) * (remaining + 1.0) / f64::from(valid);
            if worth > most {
                (most, found) = (worth, block);
            }
        }
        Some(found)
    }

    fn bytes(&self) -> u64 {
        self.future.bytes() + 8 * self.pages.len() as u64 + 12 * self.blocks.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_equal_or_double() {
        let classes = |windows| Classes { window: 10, windows, last: 4 };
        let of = |windows| [0, 9, 10, 19, 20, 39, 40, 79, 80, NEVER].map(|left| classes(windows).of(left));
        assert_eq!(of(Windows::Equal), [0, 0, 1, 1, 2, 3, 4, 4, 4, 4]);
        assert_eq!(of(Windows::Doubling), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    }

    /// Eight blocks with four pages each for 24 logical ones, so the first window is eight writes long.
    fn oracle(future: &Future) -> Oracle {
        let options = Options { classes: 3, windows: Windows::Equal, ..Options::default() };
        Oracle::new(options, &Geometry::single_die(8, 4, 512).unwrap(), 24, future)
    }

    fn write(oracle: &mut Oracle, at: u32) -> usize {
        let placement = Default::default();
        oracle.written(Written { at: Lpn(at), origin: nandlab_nand::Origin(0), placement, from: BlockId::NONE })
    }

    #[test]
    fn a_second_run_knows_what_the_first_one_wrote() {
        let written: Vec<u32> = (0..10).chain([0]).chain(10..19).chain([1]).collect();
        let noting = Future::noting();
        let mut first = oracle(&noting);
        written.iter().for_each(|&at| assert_eq!(write(&mut first, at), 2, "it knows nothing"));
        let foreseen = noting.foreseen(24);
        let mut second = oracle(&foreseen);
        let classes: Vec<usize> = written.iter().map(|&at| write(&mut second, at)).collect();
        // Page 0 dies after nine more writes, page 1 after eighteen, all others never.
        assert_eq!((classes[0], classes[1]), (1, 2));
        assert_eq!(foreseen.strayed(), 0);
        write(&mut second, 5);
        assert_eq!(foreseen.strayed(), 1, "nobody foresaw this one");
    }

    #[test]
    fn a_block_counts_the_pages_that_it_holds() {
        let noting = Future::noting();
        let mut first = oracle(&noting);
        [0, 1, 0, 1, 1].iter().for_each(|&at| {
            write(&mut first, at);
        });
        let mut second = oracle(&noting.foreseen(24));
        write(&mut second, 0);
        second.put(Lpn(0), Ppa(0));
        write(&mut second, 1);
        second.put(Lpn(1), Ppa(1));
        assert_eq!(second.blocks[0], (2 + 3, 2));
        write(&mut second, 0);
        second.put(Lpn(0), Ppa(4));
        // The last write of page 0 never dies, so it dies as the run ends.
        assert_eq!((second.blocks[0], second.blocks[1]), ((3, 1), (5, 1)));
        second.put(Lpn(1), Ppa(5));
        assert_eq!((second.blocks[0], second.blocks[1]), ((0, 0), (8, 2)));
        second.trimmed(Lpn(1));
        assert_eq!(second.blocks[1], (5, 1));
    }
}

//! YAFFS garbage collection from 2007 to 2010, independent of how block state is stored.
//!
//! Each write calls the collector first. With enough erased blocks it is *passive*: it picks a
//! block with few live pages, searches only part of the device, and skips some calls after each
//! hit. Otherwise it is *aggressive*: it picks the block with the fewest live pages. Each search
//! continues at the end of the last one.

use crate::FsError;
use nandlab_nand::BlockId;

/// Constants of garbage collection; defaults as in YAFFS from 2007 to 2010.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Blocks kept for headers and collection, at least 2; file data is refused if it would leave
    /// fewer.
    pub reserved_blocks: u32,
    /// Collection is aggressive with fewer erased blocks than the reserve plus the checkpoint plus this margin.
    pub aggressive_margin: u32,
    /// Most live pages in a block collected passively. Doh et al. say 3, the YAFFS code says 2.
    pub passive_limit: u32,
    /// Passive collection looks at one in this many blocks, plus one. Of one paper: minv.
    pub passive_share: u32,
    /// Most blocks a passive search looks at, plus one. Of one paper: minv.
    pub passive_most: u32,
    /// After a hit, the next passive search runs at the call with this number.
    pub skip: u32,
    /// Most blocks collected per call; more than one only while fewer blocks are erased than
    /// reserved.
    pub tries: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            reserved_blocks: 5,
            aggressive_margin: 2,
            passive_limit: 3,
            passive_share: 16,
            passive_most: 200,
            skip: 4,
            tries: 2,
        }
    }
}

impl Config {
    /// Refuses values that cannot work.
    pub(crate) fn check(&self) -> Result<(), FsError> {
        if self.reserved_blocks < 2 {
            let why = "collection needs a block for copies and one for headers, so at least 2";
            return Err(FsError::option("gc.reserved_blocks", &self.reserved_blocks, why));
        }
        if self.passive_share == 0 {
            return Err(FsError::option("gc.passive_share", &0, "one block of that many is looked at, so at least 1"));
        }
        if self.tries == 0 {
            return Err(FsError::option("gc.tries", &0, "without collection the device fills up: at least 1"));
        }
        Ok(())
    }
}

/// Garbage collection counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Collected blocks.
    pub runs: u64,
    /// Blocks collected passively, with enough erased blocks at hand.
    pub passive: u64,
    /// Blocks collected aggressively.
    pub aggressive: u64,
    /// Collected blocks of either kind without live pages: erased without a copy.
    pub empty: u64,
    /// Live pages copied.
    pub copied: u64,
    /// Pages lost to bit errors while they were moved.
    pub lost: u64,
    /// Blocks erased outside collection, after their last live page became void.
    pub emptied: u64,
}

/// Search position and counts.
#[derive(Clone, Debug)]
pub struct Collector {
    config: Config,
    cursor: u32,
    skip: u32,
    running: bool,
    /// Counts since the mount.
    pub counts: Counts,
}

/// A file system with collectable blocks.
pub(crate) trait Collect {
    /// Error of a failed collection.
    type Error;
    fn collector(&mut self) -> &mut Collector;
    fn blocks(&self) -> u32;
    fn erased_blocks(&self) -> u32;
    /// Erased blocks needed for the next checkpoint.
    fn checkpoint_blocks(&self) -> u32 {
        0
    }
    /// Called at the start of each search.
    fn search(&mut self) {}
    /// Live pages of a block; `None` if it cannot be collected now.
    fn live_pages(&mut self, block: BlockId) -> Result<Option<u32>, Self::Error>;
    /// A block to collect regardless of its live pages, because a program failed in it.
    fn urgent(&mut self) -> Option<BlockId>;
    /// Moves the live pages away and erases the block.
    fn collect(&mut self, block: BlockId) -> Result<(), Self::Error>;
}

impl Collector {
    pub(crate) fn new(config: &Config) -> Self {
        Self { config: config.clone(), cursor: 0, skip: 0, running: false, counts: Counts::default() }
    }

    fn is_aggressive(&self, erased: u32, checkpoint: u32) -> bool {
        let Config { reserved_blocks, aggressive_margin, .. } = self.config;
        erased < reserved_blocks.saturating_add(checkpoint).saturating_add(aggressive_margin)
    }

    /// Number of blocks to search.
    fn width(&self, blocks: u32, aggressive: bool) -> u32 {
        1 + if aggressive { blocks } else { (blocks / self.config.passive_share).min(self.config.passive_most) }
    }
}

/// Collects blocks before a write, if needed.
pub(crate) fn check<C: Collect>(system: &mut C, pages_per_block: u32) -> Result<(), C::Error> {
    if std::mem::replace(&mut system.collector().running, true) {
        return Ok(());
    }
    let done = collect(system, pages_per_block);
    system.collector().running = false;
    done
}

fn collect<C: Collect>(system: &mut C, pages_per_block: u32) -> Result<(), C::Error> {
    while let Some(block) = system.urgent() {
        system.collect(block)?;
    }
    for _ in 0..system.collector().config.tries {
        let (erased, checkpoint) = (system.erased_blocks(), system.checkpoint_blocks());
        let aggressive = system.collector().is_aggressive(erased, checkpoint);
        let Some((block, live)) = pick(system, aggressive, pages_per_block)? else { return Ok(()) };
        let counts = &mut system.collector().counts;
        counts.runs += 1;
        counts.passive += u64::from(!aggressive);
        counts.aggressive += u64::from(aggressive);
        counts.empty += u64::from(live == 0);
        system.collect(block)?;
        if system.erased_blocks() >= system.collector().config.reserved_blocks {
            return Ok(());
        }
    }
    Ok(())
}

/// The next victim and its live pages, if there is a suitable one.
fn pick<C: Collect>(system: &mut C, aggressive: bool, pages: u32) -> Result<Option<(BlockId, u32)>, C::Error> {
    let blocks = system.blocks();
    let collector = system.collector();
    collector.skip = collector.skip.saturating_sub(1);
    if !aggressive && collector.skip > 0 {
        return Ok(None);
    }
    let mut fewest = if aggressive { pages } else { collector.config.passive_limit.saturating_add(1) };
    let (mut cursor, width) = (collector.cursor, collector.width(blocks, aggressive));
    let mut found = None;
    system.search();
    for _ in 0..width {
        cursor = (cursor + 1) % blocks;
        match system.live_pages(BlockId(cursor))? {
            Some(live) if live < fewest => {
                fewest = live;
                found = Some((BlockId(cursor), live));
                if live == 0 {
                    break;
                }
            }
            _ => {}
        }
    }
    let collector = system.collector();
    collector.cursor = cursor;
    if found.is_some() {
        collector.skip = collector.config.skip;
    }
    Ok(found)
}

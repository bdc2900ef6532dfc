//! Options of LAST.

use crate::error::in_range;
use crate::parts::store::EraseWhen;
use crate::{FtlError, Variant};

/// Options of LAST.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most log blocks for large requests, one logical block each; with 0 all requests count as small. Fewer if the free
    /// blocks allow fewer. Default 4, a convention.
    pub sequential_blocks: u32,
    /// Pages of one logical block from which on a request is large, at least 1. Default 4, 8 KiB with the paper's pages of
    /// 2 KiB.
    pub sequential_pages: u32,
    /// Most log blocks for small requests, hot and cold together, at least 1; fewer if the free blocks allow fewer.
    /// Default 8, a convention.
    pub random_blocks: u32,
    /// The hot log blocks among them: their share at first, fewer than `random_blocks`. With 0 no page is hot. Default 4,
    /// a convention.
    pub hot_blocks: u32,
    /// A page is hot if it is written again within so many pages of small requests. Default 256, a convention: four log
    /// blocks of 64 pages.
    pub hot_window: u32,
    /// Whether the share of hot log blocks follows what becomes of them. Default true.
    pub adapt: bool,
    /// When to erase a block without valid pages. Default `on_free`.
    pub erase_when: EraseWhen,
    /// Blocks of the device kept free for merges; at least 1. With 1, a program failure or a torn page during a
    /// merge may leave no room; the default, 2, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut. This costs a note page per trimmed segment of the
    /// address space, and at least one block for the notes. Default true.
    pub durable_trim: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            sequential_blocks: 4,
            sequential_pages: 4,
            random_blocks: 8,
            hot_blocks: 4,
            hot_window: 256,
            adapt: true,
            erase_when: EraseWhen::OnFree,
            reserve_blocks: 2,
            durable_trim: true,
        }
    }
}

impl Config {
    /// Refuses options that cannot work.
    pub(super) fn check(&self) -> Result<(), FtlError> {
        in_range("ftl.last.sequential_pages", self.sequential_pages, 1..=u32::MAX)?;
        in_range("ftl.last.random_blocks", self.random_blocks, 1..=u32::MAX)?;
        if self.hot_blocks >= self.random_blocks {
            return Err(FtlError::Config(format!(
                "ftl.last.hot_blocks = {}: it is at most {}, one less than random_blocks, because other pages need a log \
                 block too",
                self.hot_blocks,
                self.random_blocks - 1
            )));
        }
        Ok(())
    }
}

/// The option sets of the proofs.
pub(super) fn variants() -> Vec<Variant<Config>> {
    let usual = Config::default;
    vec![
        Variant::safe("random_1", Config { random_blocks: 1, hot_blocks: 0, sequential_blocks: 1, ..usual() }),
        Variant::safe("hot_1", Config { random_blocks: 2, hot_blocks: 1, hot_window: 6, adapt: false, ..usual() }),
        Variant::safe("adapt", Config { random_blocks: 4, hot_blocks: 1, hot_window: 12, ..usual() }),
        Variant::safe("no_sequential", Config { sequential_blocks: 0, ..usual() }),
        Variant::safe("sequential_pages_1", Config { sequential_pages: 1, sequential_blocks: 2, ..usual() }),
        Variant::safe("on_alloc", Config { erase_when: EraseWhen::OnAlloc, sequential_pages: 2, ..usual() }),
        Variant::tight("reserve_1", Config { reserve_blocks: 1, sequential_pages: 2, ..usual() }),
        Variant::safe("forget_trims", Config { durable_trim: false, sequential_pages: 2, ..usual() }),
    ]
}

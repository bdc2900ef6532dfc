//! The options.

use super::growth::{Fit, LeastSquares, Scope};
use super::policy::{Adaptive, Limit, Macro, Rule};
use super::{FirstWrite, Victim};
use crate::parts::store::{EraseWhen, MapUpdate};
use crate::{error, FtlError, Variant};

/// Options for block recycling by cost.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most log blocks in use at once, at least 1; fewer if the free blocks allow fewer. Default 8, as in the
    /// paper.
    pub log_blocks: u32,
    /// Rule for merging or moving a full log block. Default macro.
    pub recycling: Rule,
    /// Whether a recycling programs a block-map page. Default page, as in the paper.
    pub map_update: MapUpdate,
    /// The log block to merge when all are in use. Default lru.
    pub victim: Victim,
    /// Destination for an unmapped page. Default log, as in the paper.
    pub first_write: FirstWrite,
    /// Whether to complete a log block with a prefix in order; otherwise it is merged in full. Default false.
    pub partial_merge: bool,
    /// When to erase a block without valid pages. Default `on_alloc`, as in the paper.
    pub erase_when: EraseWhen,
    /// Blocks of the device kept free for merges and migrations; at least 1. With 1, a program failure or a
    /// torn page may leave no room; the default, 2, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut. This costs a note page per trimmed segment of the
    /// address space, and at least one block for the notes. Default true.
    pub durable_trim: bool,
    /// Which recyclings the result record keeps. Default none.
    pub kept_recyclings: KeptRecyclings,
    /// Seed for random victims; not an option, but set from the experiment's seed.
    #[serde(skip)]
    pub seed: u64,
}

/// Recyclings in the result record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeptRecyclings {
    /// None.
    #[default]
    None,
    /// A number of the latest ones.
    Latest(Latest),
}

/// The latest recyclings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latest {
    /// How many, at least 1.
    pub count: u32,
    /// The logical block whose recyclings these are; if unset, all logical blocks' recyclings.
    #[serde(default)]
    pub of: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            log_blocks: 8,
            recycling: Rule::default(),
            map_update: MapUpdate::Page,
            victim: Victim::Lru,
            first_write: FirstWrite::Log,
            partial_merge: false,
            erase_when: EraseWhen::OnAlloc,
            reserve_blocks: 2,
            durable_trim: true,
            kept_recyclings: KeptRecyclings::None,
            seed: 0,
        }
    }
}

impl Config {
    /// Checks the options against a device with `groups` logical blocks.
    ///
    /// # Errors
    /// [`FtlError::Config`] for a number out of its range.
    pub(super) fn check(&self, groups: u32) -> Result<(), FtlError> {
        let KeptRecyclings::Latest(Latest { count, of }) = self.kept_recyclings else { return Ok(()) };
        error::in_range("ftl.migration.kept_recyclings.latest.count", count, 1..=u32::MAX)?;
        match of {
            Some(group) if group >= groups => Err(FtlError::Config(format!(
                "ftl.migration.kept_recyclings.latest.of = {group} cannot work: the logical blocks of this device are 0 to {}",
                groups.saturating_sub(1)
            ))),
            _ => Ok(()),
        }
    }
}

/// The option sets for the proofs.
pub(super) fn variants() -> Vec<Variant<Config>> {
    let with = |recycling| Config { recycling, log_blocks: 2, ..Config::default() };
    let alpha = |alpha| with(Rule::Macro(Macro { alpha }));
    let adaptive = || with(Rule::Adaptive(Adaptive::default()));
    let kept_recyclings = KeptRecyclings::Latest(Latest { count: 3, of: None });
    vec![
        Variant::safe("merge", Config { victim: Victim::Fifo, ..with(Rule::Merge) }),
        Variant::safe("cost", Config { log_blocks: 1, ..with(Rule::Cost) }),
        Variant::safe("limit", Config { victim: Victim::Random, ..with(Rule::Limit(Limit { migrations: Some(2) })) }),
        Variant::safe(
            "global",
            Config {
                victim: Victim::Fullest,
                ..alpha(Fit::LeastSquares(LeastSquares { window: 4, scope: Scope::Global }))
            },
        ),
        Variant::safe("last", Config { map_update: MapUpdate::Oob, kept_recyclings, ..alpha(Fit::Last) }),
        Variant::safe("adaptive", adaptive()),
        Variant::safe("data_first", Config { first_write: FirstWrite::Data, partial_merge: true, ..adaptive() }),
        Variant::safe("on_free", Config { erase_when: EraseWhen::OnFree, ..with(Rule::Cost) }),
        Variant::tight("reserve_1", Config { reserve_blocks: 1, ..with(Rule::Cost) }),
        Variant::safe("forget_trims", Config { durable_trim: false, ..with(Rule::Cost) }),
    ]
}

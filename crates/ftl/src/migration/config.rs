//! The options.

use super::{FirstWrite, Fit, Rule, Scope, Victim};
use crate::parts::store::{EraseWhen, MapUpdate};
use crate::{FtlError, Variant};
use std::fmt::Display;

/// Options for block recycling by cost.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most log blocks in use at once, at least 1; fewer if the free blocks allow fewer. Default 8, as in the
    /// paper.
    pub log_blocks: u32,
    /// Rule for merging or moving a full log block. Default macro.
    pub recycling: Rule,
    /// With `recycling = "limit"`: most migrations in a row. Default: half a block's pages, as in the paper.
    pub limit: Option<u32>,
    /// With `recycling = "macro"`: method to estimate alpha. Default `least_squares`.
    pub alpha_fit: Fit,
    /// With `recycling = "macro"`: how many latest migrations enter the estimate for alpha. 0 means all.
    pub alpha_window: u32,
    /// With `recycling = "macro"`: logical blocks whose migrations count for alpha. Default block.
    pub alpha_scope: Scope,
    /// With `recycling = "adaptive"`: how much carrying unwritten pages may cost before a merge, as a share of
    /// a merge's price; above 0. Default 0.5.
    pub patience: f64,
    /// With `recycling = "adaptive"`: an erase's cost, in page copies. Default 1.33, for the paper's MLC chip.
    pub erase_copies: f64,
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
    /// How many latest recyclings the result record keeps. Default 0.
    pub log_recyclings: u32,
    /// Keep only this logical block's recyclings; if unset, all logical blocks' recyclings.
    pub log_recyclings_of: Option<u32>,
    /// Seed for random victims; not an option, but set from the experiment's seed.
    #[serde(skip)]
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            log_blocks: 8,
            recycling: Rule::Macro,
            limit: None,
            alpha_fit: Fit::LeastSquares,
            alpha_window: 0,
            alpha_scope: Scope::Block,
            patience: 0.5,
            erase_copies: 1.33,
            map_update: MapUpdate::Page,
            victim: Victim::Lru,
            first_write: FirstWrite::Log,
            partial_merge: false,
            erase_when: EraseWhen::OnAlloc,
            reserve_blocks: 2,
            durable_trim: true,
            log_recyclings: 0,
            log_recyclings_of: None,
            seed: 0,
        }
    }
}

impl Config {
    /// Sentences about options without effect beside the others; a sweep over `recycling` may well set them.
    ///
    /// # Errors
    /// [`FtlError::Config`] if `log_recyclings_of` is not one of the `groups` logical blocks.
    pub(super) fn notices(&self, groups: u32) -> Result<Vec<String>, FtlError> {
        let usual = Self::default();
        let mut notices = Vec::new();
        let mut idle = |is_idle: bool, key: &str, value: &dyn Display, belongs_to: &str| {
            if is_idle {
                notices.push(format!("ftl.migration.{key} = {value} has no effect: it counts only with {belongs_to}"));
            }
        };
        if let Some(limit) = self.limit {
            idle(self.recycling != Rule::Limit, "limit", &limit, "recycling = \"limit\"");
        }
        let (no_macro, with_macro) = (self.recycling != Rule::Macro, "recycling = \"macro\"");
        let (is_last, with_fit) = (self.alpha_fit == Fit::Last, "alpha_fit = \"least_squares\"");
        idle(no_macro && self.alpha_fit != usual.alpha_fit, "alpha_fit", &"\"last\"", with_macro);
        for (is_set, key, value) in [
            (self.alpha_window != usual.alpha_window, "alpha_window", self.alpha_window.to_string()),
            (self.alpha_scope != usual.alpha_scope, "alpha_scope", "\"global\"".to_owned()),
        ] {
            idle(is_set && no_macro, key, &value, with_macro);
            idle(is_set && !no_macro && is_last, key, &value, with_fit);
        }
        for (key, value, usual) in
            [("patience", self.patience, usual.patience), ("erase_copies", self.erase_copies, usual.erase_copies)]
        {
            idle(self.recycling != Rule::Adaptive && value != usual, key, &value, "recycling = \"adaptive\"");
        }
        if let Some(group) = self.log_recyclings_of {
            if group >= groups {
                let last = groups.saturating_sub(1);
                return Err(FtlError::Config(format!(
                    "ftl.migration.log_recyclings_of = {group} cannot work: the logical blocks of this device are 0 to {last}"
                )));
            }
            idle(self.log_recyclings == 0, "log_recyclings_of", &group, "log_recyclings above 0");
        }
        Ok(notices)
    }
}

/// The option sets for the proofs.
pub(super) fn variants() -> Vec<Variant<Config>> {
    let with = |recycling| Config { recycling, log_blocks: 2, ..Config::default() };
    vec![
        Variant::safe("merge", Config { victim: Victim::Fifo, ..with(Rule::Merge) }),
        Variant::safe("cost", Config { log_blocks: 1, ..with(Rule::Cost) }),
        Variant::safe("limit", Config { limit: Some(2), victim: Victim::Random, ..with(Rule::Limit) }),
        Variant::safe(
            "global",
            Config { alpha_scope: Scope::Global, alpha_window: 4, victim: Victim::Fullest, ..with(Rule::Macro) },
        ),
        Variant::safe(
            "last",
            Config { alpha_fit: Fit::Last, map_update: MapUpdate::Oob, log_recyclings: 3, ..with(Rule::Macro) },
        ),
        Variant::safe("adaptive", with(Rule::Adaptive)),
        Variant::safe(
            "data_first",
            Config { first_write: FirstWrite::Data, partial_merge: true, ..with(Rule::Adaptive) },
        ),
        Variant::safe("on_free", Config { erase_when: EraseWhen::OnFree, ..with(Rule::Cost) }),
        Variant::tight("reserve_1", Config { reserve_blocks: 1, ..with(Rule::Cost) }),
        Variant::safe("forget_trims", Config { durable_trim: false, ..with(Rule::Cost) }),
    ]
}

//! Victim policies: which block garbage collection empties next.
//!
//! A policy sees a read-only view of the blocks of one die and returns a decision; the FTL applies it.

use super::block_table::BlockRange;
use nandlab_nand::BlockId;

/// Chooses victims.
pub trait VictimPolicy: std::fmt::Debug + Send {
    /// The closed block of `blocks` to empty; `now` counts programs. `None`: no block is closed.
    fn pick(&mut self, blocks: BlockRange<'_>, now: u64) -> Option<BlockId>;
}

/// The victim policy of a page map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Victim {
    /// The block with the fewest valid pages, the lowest block number among equals.
    #[default]
    Greedy,
}

impl Victim {
    /// The names of all policies with what they do.
    pub const LIST: &'static [(&'static str, &'static str)] =
        &[("greedy", "The block with the fewest valid pages, the lowest block number among equals.")];

    /// A policy in its first state.
    pub fn policy(self) -> Box<dyn VictimPolicy> {
        match self {
            Self::Greedy => Box::new(Greedy),
        }
    }
}

/// The block with the fewest valid pages.
#[derive(Debug)]
struct Greedy;

impl VictimPolicy for Greedy {
    fn pick(&mut self, blocks: BlockRange<'_>, _now: u64) -> Option<BlockId> {
        blocks.fewest_valid()
    }
}

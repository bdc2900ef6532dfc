//! Wear levelling: which free block is filled next, and which data is moved so that its block can wear.
//!
//! A policy sees a die's blocks, read-only, and returns a decision; the FTL applies it. It is told about every erase,
//! and asked for a move once for each victim. Each file has a policy with its options.

mod bet;
mod dual_pool;
mod threshold;

pub use super::policy::{Move, WearPolicy};
use crate::own::{self, About};
use crate::{error, FtlError};
pub use bet::Options as Bet;
pub use dual_pool::Options as DualPool;
use nandlab_block::own::Own;
use nandlab_nand::{BlockId, Geometry};
pub use threshold::Options as Threshold;

/// How a page map evens out the wear between its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wear {
    /// Not at all: free blocks are filled in turn.
    #[default]
    None,
    /// The least worn free block is filled next; data never written again stays in its place.
    Dynamic,
    /// Dynamic; if two blocks' erases differ by too much, the least worn one's data moves to the most worn free block.
    Threshold(Threshold),
    /// Dynamic; sets of blocks not erased for long are emptied when there are too many erases per erased set (block
    /// erasing table).
    Bet(Bet),
    /// Dynamic, with blocks in a hot and a cold pool by their data; if the wear differs by too much, an unworn cold
    /// block's data moves to a worn hot block.
    DualPool(DualPool),
    /// Dynamic, and data moves as a class of one's own says, `module:Class`.
    Python(Own),
}

/// The default for the difference in two blocks' erases.
const DIFFERENCE: u32 = 20;

impl Wear {
    /// Whether the free block to fill is chosen by its erases.
    pub fn is_dynamic(self) -> bool {
        self != Self::None
    }

    /// The policy's name, if it moves data for the sake of wear.
    pub(crate) fn mover(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Dynamic => None,
            Self::Threshold(_) => Some("threshold"),
            Self::Bet(_) => Some("bet"),
            Self::DualPool(_) => Some("dual_pool"),
            Self::Python(_) => Some("python"),
        }
    }

    /// The option `key` with its value, and the point from which on data moves; none if none does.
    pub(crate) fn choice(self, key: &'static str) -> Option<crate::Choice> {
        let mover = self.mover()?;
        let option = if matches!(self, Self::Python(_)) { "" } else { ".erases" };
        Some(crate::Choice::name(key, mover).beginning_with(format!("{key}.{mover}{option}")))
    }

    /// Whether cold data goes to worn blocks, with a frontier for them.
    pub fn has_frontier(self) -> bool {
        matches!(self, Self::Threshold(_) | Self::DualPool(_) | Self::Python(_))
    }

    /// The policy for moving data, if there is one, in its first state.
    pub fn policy(self, geometry: &Geometry, seed: u64) -> Option<Box<dyn WearPolicy>> {
        match self {
            Self::None | Self::Dynamic => None,
            Self::Threshold(options) => Some(Box::new(threshold::Threshold::new(options))),
            Self::Bet(options) => Some(Box::new(bet::Bet::new(geometry, options, seed))),
            Self::DualPool(options) => Some(Box::new(dual_pool::DualPool::new(geometry, options))),
            Self::Python(policy) => {
                Some(own::host().wear(policy, &About { geometry: *geometry, logical_pages: 0, seed }))
            }
        }
    }

    /// Checks the options; `key` is their place in an experiment, such as `ftl.page.wear`.
    ///
    /// # Errors
    /// [`FtlError::Config`] for a number out of its range.
    pub(crate) fn check(self, key: &str) -> Result<(), FtlError> {
        let Some(mover) = self.mover() else { return Ok(()) };
        let at_least_1 = |option, given| error::in_range(&format!("{key}.{mover}.{option}"), given, 1..=u32::MAX);
        match self {
            Self::None | Self::Dynamic => Ok(()),
            Self::Python(policy) => own::check(policy, key),
            Self::Threshold(Threshold { erases }) | Self::DualPool(DualPool { erases }) => at_least_1("erases", erases),
            Self::Bet(Bet { erases, set_blocks }) => {
                at_least_1("erases", erases).and_then(|()| at_least_1("set_blocks", set_blocks))
            }
        }
    }
}

/// Picks a free block, by its place, from each one's erases.
pub type Choice = fn(&mut dyn Iterator<Item = BlockId>, &dyn Fn(BlockId) -> u32) -> Option<usize>;

/// The place of the least worn block in `free`, the first among equals.
pub fn least_worn(free: &mut dyn Iterator<Item = BlockId>, cycles: &dyn Fn(BlockId) -> u32) -> Option<usize> {
    free.enumerate().min_by_key(|&(place, block)| (cycles(block), place)).map(|(place, _)| place)
}

/// The place of the most worn block in `free`, the first among equals.
pub fn most_worn(free: &mut dyn Iterator<Item = BlockId>, cycles: &dyn Fn(BlockId) -> u32) -> Option<usize> {
    free.enumerate().max_by_key(|&(place, block)| (cycles(block), std::cmp::Reverse(place))).map(|(place, _)| place)
}

#[cfg(test)]
mod tests;

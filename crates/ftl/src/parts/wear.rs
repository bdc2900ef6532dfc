//! Wear levelling: which free block is filled next, and which data is moved so that its block can wear.
//!
//! A policy sees the blocks of one die, read-only, and returns a decision; the FTL applies it. It is told of every erase.

mod bet;
mod dual_pool;
mod threshold;

use super::blocks::table::Blocks;
use nandlab_nand::{BlockId, Geometry};

/// A move for the sake of wear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The closed block whose data is moved.
    pub block: BlockId,
    /// Whether the data goes to the most worn free block, as it is cold; else to where survivors go.
    pub to_most_worn: bool,
}

/// Static wear levelling.
pub trait WearPolicy: std::fmt::Debug + Send {
    /// `block` was erased; its erases are counted already.
    fn erased(&mut self, block: BlockId, blocks: Blocks<'_>);

    /// The block to move next, if any; `free` are the free blocks of the die.
    fn next_move(&mut self, blocks: Blocks<'_>, free: &[BlockId]) -> Option<Move>;
}

/// How a page map evens out the wear of its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wear {
    /// Not at all: free blocks are filled in turn.
    #[default]
    None,
    /// The least worn free block is filled next; data that is never written stays where it is.
    Dynamic,
    /// Dynamic, and where the erases of two blocks differ by more than `wear_threshold`, the data of the least worn
    /// one moves to the most worn free block.
    Threshold,
    /// Dynamic, and sets of blocks that were not erased for long are emptied, when the erases by set that was erased
    /// reach `wear_threshold` (block erasing table).
    Bet,
    /// Dynamic, and blocks are in a hot and a cold pool by the data they hold; the data of a cold block that has not
    /// worn moves to a hot one that has, where they differ by more than `wear_threshold`.
    DualPool,
}

/// What the policies may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The difference in erases, or for `bet` the erases by set, that is too much.
    pub threshold: u32,
    /// Blocks of a set of `bet`.
    pub set_blocks: u32,
    /// Seed of random choices.
    pub seed: u64,
}

impl Wear {
    /// Whether the free block to fill is chosen by its erases.
    pub fn is_dynamic(self) -> bool {
        self != Self::None
    }

    /// The name of a policy that moves data for the sake of wear.
    pub(crate) fn mover(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Dynamic => None,
            Self::Threshold => Some("threshold"),
            Self::Bet => Some("bet"),
            Self::DualPool => Some("dual_pool"),
        }
    }

    /// Whether cold data goes to worn blocks, which are filled at a frontier of their own.
    pub fn has_frontier(self) -> bool {
        matches!(self, Self::Threshold | Self::DualPool)
    }

    /// The policy that moves data, if there is one, in its first state.
    pub fn policy(self, geometry: &Geometry, options: &Options) -> Option<Box<dyn WearPolicy>> {
        match self {
            Self::None | Self::Dynamic => None,
            Self::Threshold => Some(Box::new(threshold::Threshold::new(options))),
            Self::Bet => Some(Box::new(bet::Bet::new(geometry, options))),
            Self::DualPool => Some(Box::new(dual_pool::DualPool::new(geometry, options))),
        }
    }
}

/// Picks one of the free blocks, by its place, from how often each was erased.
pub type Choice = fn(&mut dyn Iterator<Item = BlockId>, &dyn Fn(BlockId) -> u32) -> Option<usize>;

/// The place in `free` of the least worn block, the first among equals.
pub fn least_worn(free: &mut dyn Iterator<Item = BlockId>, cycles: &dyn Fn(BlockId) -> u32) -> Option<usize> {
    free.enumerate().min_by_key(|&(place, block)| (cycles(block), place)).map(|(place, _)| place)
}

/// The place in `free` of the most worn block, the first among equals.
pub fn most_worn(free: &mut dyn Iterator<Item = BlockId>, cycles: &dyn Fn(BlockId) -> u32) -> Option<usize> {
    free.enumerate().max_by_key(|&(place, block)| (cycles(block), std::cmp::Reverse(place))).map(|(place, _)| place)
}

#[cfg(test)]
mod tests;

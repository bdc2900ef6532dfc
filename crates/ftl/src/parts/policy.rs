//! What an FTL that maps pages asks its policies: which block to empty, where a page goes, what moves for the sake of wear.
//!
//! Each trait has policies of nandlab in the folder of its name, and may have others (`own.rs`).

use super::blocks::pool_blocks::PoolBlocks;
use super::blocks::table::Blocks;
use super::placement::fdp::Fdp;
use nandlab_nand::{BlockId, Lpn, Origin, PlacementId, Ppa};
use std::ops::Range;

/// Chooses victims.
pub trait VictimPolicy: std::fmt::Debug + Send {
    /// The closed block to empty, or `None` if no block is closed; `now` counts programs.
    fn pick(&mut self, blocks: Blocks<'_>, now: u64) -> Option<BlockId>;
}

/// A move for the sake of wear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The closed block with the data to move.
    pub block: BlockId,
    /// Whether the data, being cold, goes to the most worn free block; otherwise it goes with the survivors.
    pub to_most_worn: bool,
}

/// Static wear levelling.
pub trait WearPolicy: std::fmt::Debug + Send {
    /// `block` was erased; its erases are counted already.
    fn erased(&mut self, block: BlockId, blocks: Blocks<'_>);

    /// The block to move next, if any; `free` are the die's free blocks.
    fn next_move(&mut self, blocks: Blocks<'_>, free: &[BlockId]) -> Option<Move>;
}

/// A host page, with its author.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The page.
    pub at: Lpn,
    /// The author, such as a journal.
    pub origin: Origin,
    /// Where the host asked it to go.
    pub placement: PlacementId,
    /// The block with the page's present copy; [`BlockId::NONE`] without one.
    pub from: BlockId,
}

/// A page that moves out of a block.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// The page; [`Lpn::NONE`] stands for the FTL's own pages, and for all if [`Placement::asks_who_moves`](super::placement::Placement::asks_who_moves) says no.
    pub at: Lpn,
    /// The block being emptied.
    pub from: BlockId,
}

/// Where to look for a victim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// The pools.
    pub pools: Range<u8>,
    /// Whether it is their oldest block, whatever that gains; otherwise the victim policy's pick, if it gains a page.
    pub is_oldest: bool,
}

/// The part of a placement that keeps blocks in pools. Each pool is meant to have a part of the blocks, and which pool
/// is collected follows from that.
pub trait PoolPolicy {
    /// Each block's pool.
    fn blocks(&self) -> &PoolBlocks;

    /// The same, to be told of blocks.
    fn blocks_mut(&mut self) -> &mut PoolBlocks;

    /// Records a block found by a mount, with its first page and its valid pages.
    fn found(&mut self, block: BlockId, first: Lpn, valid: u32);

    /// Whether pages still go to this frontier.
    fn fills(&self, frontier: usize) -> bool;

    /// Where to look for a die's next victim; the second place counts if the first has none. All blocks in use exceed
    /// the pools' parts by `beyond`, and `last` is the frontier that got a block for host pages last.
    fn to_collect(&mut self, die: u32, beyond: i64, last: usize) -> [Candidates; 2];
}

/// Groups with their own sizes in blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupUse {
    /// Blocks of each die meant for each group: the hot one, then those of the chain. The last one has all others.
    pub blocks: Vec<u32>,
    /// Write amplification by the model; `None` before it was asked.
    pub predicted_waf: Option<f64>,
    /// Write amplification measured in the last whole epoch, if there was one.
    pub epoch_waf: Option<f64>,
    /// Times the model was asked.
    pub epochs: u64,
    /// Times its sizes were taken.
    pub adopted: u64,
    /// Times groups were merged because their valid pages did not follow the model.
    pub merged: u64,
}

/// Chooses frontiers.
pub trait PlacementPolicy: std::fmt::Debug + Send {
    /// The frontier for a page of the host; asked for each one, unless all go to frontier 0.
    fn written(&mut self, page: Written) -> usize;

    /// The frontier for a page that is moved; asked for each one.
    fn moved(&mut self, page: Moved) -> usize;

    /// Records a block opened at this frontier: once a block.
    fn opened(&mut self, _block: BlockId, _frontier: usize) {}

    /// Records a block that takes no more pages, after so many programs in all.
    fn closed(&mut self, _block: BlockId, _programs: u64) {}

    /// Records an emptied block: once an erase.
    fn emptied(&mut self, _block: BlockId) {}

    /// Records where a page lies from now on: written or moved there, or found by a mount. [`Lpn::NONE`] stands for the
    /// FTL's own pages. Told only if [`Placement::asks_who_moves`](super::placement::Placement::asks_who_moves).
    fn put(&mut self, _at: Lpn, _page: Ppa) {}

    /// Records a trimmed page.
    fn trimmed(&mut self, _at: Lpn) {}

    /// Whether [`Self::pick`] chooses the victims in place of the victim policy.
    fn picks(&self) -> bool {
        false
    }

    /// The closed block to empty, or `None` if no block is closed. Asked only if [`Self::picks`].
    fn pick(&self, _blocks: Blocks<'_>) -> Option<BlockId> {
        None
    }

    /// Records a page that was moved, if [`Placement::hears_of_copies`](super::placement::Placement::hears_of_copies).
    fn copied(&mut self, _page: Moved) {}

    /// The pools of blocks, if there are any.
    fn pools(&self) -> Option<&dyn PoolPolicy> {
        None
    }

    /// The pools of blocks, to be told of blocks and asked for victims.
    fn pools_mut(&mut self) -> Option<&mut dyn PoolPolicy> {
        None
    }

    /// The groups' sizes and the forecast, if the placement sizes some.
    fn groups(&self) -> Option<GroupUse> {
        None
    }

    /// The placement by the host, if there is one.
    fn fdp(&self) -> Option<&Fdp> {
        None
    }

    /// The placement by the host, to be told of dies and pages.
    fn fdp_mut(&mut self) -> Option<&mut Fdp> {
        None
    }

    /// The tables' size in bytes.
    fn bytes(&self) -> u64;
}

//! A page map's dies: whose turn it is, which ones work, and which ones helped out.

use super::relocation::Relocation;
use super::slc::DieCache;
use super::Config;
use crate::parts::blocks::frontier::Frontiers;
use nandlab_nand::{BlockId, Geometry, Lpn};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut, Range};

/// A die's state.
#[derive(Debug)]
pub(super) struct Die {
    pub(super) blocks: Range<u32>,
    /// The open blocks, by the placement's frontiers. The last one takes cold data for worn blocks if wear levelling
    /// asks for such a frontier.
    pub(super) frontiers: Frontiers,
    /// The frontier that got a block for host pages last.
    pub(super) last: usize,
    /// Whether moved pages opened a block shared with host pages while the die held more than its share.
    pub(super) is_over: bool,
    /// Whether it has too few good blocks to take pages.
    pub(super) is_weak: bool,
    pub(super) relocation: Option<Relocation>,
    /// Whether the last relocation was for wear; the next one is not.
    pub(super) levelled: bool,
    /// Blocks with a failed program, to be emptied and retired.
    pub(super) failing: VecDeque<BlockId>,
    pub(super) slc: DieCache,
    /// Blocks that a mount has closed with room left.
    pub(super) rests: Vec<Rest>,
}

/// A block that a mount has closed with room left.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rest {
    /// The first page that may still be programmed.
    pub(super) next: u32,
    pub(super) block: BlockId,
    /// The handle that wrote all its pages.
    pub(super) handle: Option<u8>,
}

impl Die {
    fn new(blocks: Range<u32>, frontiers: u32) -> Self {
        Self {
            blocks,
            frontiers: Frontiers::none(frontiers),
            last: 0,
            is_over: false,
            is_weak: false,
            relocation: None,
            levelled: false,
            failing: VecDeque::new(),
            slc: DieCache::default(),
            rests: Vec::new(),
        }
    }

    /// Whether a block with a failed program waits to be retired.
    pub(super) fn is_failing(&self) -> bool {
        !self.failing.is_empty() || self.relocation.as_ref().is_some_and(Relocation::retires)
    }
}

/// All dies.
#[derive(Debug)]
pub(super) struct Dies {
    list: Vec<Die>,
    /// Dies that take pages; the others are weak.
    working: u32,
    /// Dies that took pages moved from other dies, and may have to restore their reserve.
    lenders: Vec<usize>,
    /// The die of the last host page.
    turn: usize,
    /// Host pages per die and turn, and how many are left in this turn.
    stripe_pages: u32,
    left_in_turn: u32,
    /// By logical page modulo its length: the die; empty if an address has no die.
    by_address: Vec<u32>,
    /// Consecutive dies that are planes of one die, if these are filled side by side; else 1.
    planes: usize,
    /// Whether some die's copies wait to be carried out.
    puts_off: bool,
}

impl Dies {
    /// The dies of a device, as the options see them.
    pub(super) fn new(device: &Geometry, config: &Config, frontiers: u32) -> Self {
        let geometry = config.stripe.view(device);
        let list = (0..geometry.dies()).map(|die| Die::new(geometry.blocks_of_die(die), frontiers)).collect();
        Self {
            list,
            working: geometry.dies(),
            lenders: Vec::new(),
            turn: geometry.dies() as usize - 1,
            stripe_pages: config.stripe.pages(),
            left_in_turn: 0,
            by_address: config.stripe.by_address(device),
            planes: config.stripe.planes(device),
            puts_off: false,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Die> {
        self.list.iter()
    }

    #[inline]
    pub(super) fn planes(&self) -> usize {
        self.planes
    }

    /// The die that a logical page's address names, if addresses do.
    #[inline]
    pub(super) fn of_address(&self, at: Lpn) -> Option<usize> {
        if self.by_address.is_empty() {
            return None;
        }
        Some(self.by_address[(at.0 % self.by_address.len() as u32) as usize] as usize)
    }

    /// The die in turn, if it takes more pages in this turn.
    #[inline]
    pub(super) fn same_turn(&mut self) -> Option<usize> {
        self.left_in_turn = self.left_in_turn.checked_sub(1)?;
        Some(self.turn)
    }

    /// Moves the turn to the next die.
    #[inline]
    pub(super) fn next_turn(&mut self) -> usize {
        self.turn = if self.turn + 1 == self.list.len() { 0 } else { self.turn + 1 };
        self.turn
    }

    /// Begins a turn: the next die found takes its full number of pages.
    #[inline]
    pub(super) fn begin_turn(&mut self) {
        self.left_in_turn = self.stripe_pages - 1;
    }

    /// Sets the die whose turn it was last.
    #[inline]
    pub(super) fn set_turn(&mut self, die: usize) {
        self.turn = die;
    }

    /// Gives this die the turn again.
    pub(super) fn repeat_turn(&mut self, die: usize) {
        self.turn = if die == 0 { self.list.len() - 1 } else { die - 1 };
    }

    #[cfg(test)]
    pub(super) fn turn(&self) -> usize {
        self.turn
    }

    /// The number of dies that take pages.
    pub(super) fn working(&self) -> u32 {
        self.working
    }

    pub(super) fn all_working(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.list.len()).filter(|&die| !self.list[die].is_weak)
    }

    pub(super) fn weak(&self) -> u32 {
        self.list.len() as u32 - self.working
    }

    /// Marks a die as weak: it takes no more pages.
    pub(super) fn weaken(&mut self, die: usize) {
        self.working -= 1;
        self.list[die].slc.close();
        self.list[die].is_weak = true;
    }

    /// Records a die that took a page moved from another one.
    pub(super) fn lend(&mut self, die: usize) {
        if !self.lenders.contains(&die) {
            self.lenders.push(die);
        }
    }

    /// The dies that took moved pages from others since the last call.
    pub(super) fn take_lenders(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.lenders)
    }

    /// Records that a die's copies wait to be carried out.
    #[inline]
    pub(super) fn put_off(&mut self) {
        self.puts_off = true;
    }

    #[inline]
    pub(super) fn puts_off(&self) -> bool {
        self.puts_off
    }

    /// Records that no copies wait.
    pub(super) fn caught_up(&mut self) {
        self.puts_off = false;
    }
}

impl Index<usize> for Dies {
    type Output = Die;

    #[inline]
    fn index(&self, die: usize) -> &Die {
        &self.list[die]
    }
}

impl IndexMut<usize> for Dies {
    #[inline]
    fn index_mut(&mut self, die: usize) -> &mut Die {
        &mut self.list[die]
    }
}

//! Opening and closing frontiers.

use super::dies::Rest;
use super::{Collection, Pages, Scheme};
use crate::parts::blocks::frontier::{Frontier, Frontiers};
use crate::parts::blocks::keeper::FreeBlock;
use crate::parts::blocks::table::BlockUse;
use crate::parts::wear::{self, Choice};
use crate::FtlError;
use nandlab_nand::{scoped, Nand};
use std::cmp::Reverse;

/// Free blocks that the host leaves for moved pages. While the reserve is not whole, collection goes on.
pub(super) const LEFT_FOR_MOVED: u32 = 1;

/// The frontier with most room, best of all one that `shares` blocks; the first among equals.
pub(super) fn roomiest(frontiers: &Frontiers, shares: impl Fn(usize) -> bool) -> usize {
    let room = |at: usize| (frontiers[at].left() > 0 && shares(at), frontiers[at].left(), Reverse(at));
    (0..frontiers.count()).max_by_key(|&at| room(at)).expect("a die has a frontier")
}

impl Pages {
    /// Replaces a full host frontier, emptying victims until another block stays free.
    #[cold]
    pub(super) fn open_host_block<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
        frontier: usize,
    ) -> Result<(), FtlError> {
        self.take_stock(scheme)?;
        self.end_frontier(scheme, nand, die, frontier)?;
        self.dies[die].last = frontier;
        loop {
            while !self.leaves_block(scheme, die) || self.dies[die].is_weak {
                if let Some(error) = scheme.full(die) {
                    return Err(error);
                }
                if self.dies[die].relocation.is_none() && !self.start_relocation(scheme, nand, die)? {
                    return Err(self.worn_out(1));
                }
                self.empty_victim(scheme, nand, die)?;
                // Relocations that share the frontier may have opened a block and left room in it.
                if self.dies[die].frontiers[frontier].is_full() {
                    self.end_frontier(scheme, nand, die, frontier)?;
                } else if self.has_reserve(scheme, die) {
                    return Ok(());
                }
            }
            if !self.dies[die].frontiers[frontier].is_full() {
                return Ok(());
            }
            if self.open_free(nand, (die, frontier), self.config.wear.is_dynamic().then_some(wear::least_worn))? {
                return Ok(());
            }
        }
    }

    /// Whether the host may take a block on a die.
    fn leaves_block<S: Scheme>(&self, scheme: &S, die: usize) -> bool {
        let free = self.free_in(scheme, die);
        if scheme.full(die).is_some() {
            return free > 0;
        }
        if self.config.collection == Collection::Late {
            return free > LEFT_FOR_MOVED && self.has_reserve_without(scheme, die, 1);
        }
        free > LEFT_FOR_MOVED
    }

    /// Replaces a full host frontier; returns the die with room there now. It is another die if failures have left
    /// `die` unable to make room.
    #[cold]
    pub(super) fn open_for_host<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        mut die: usize,
        frontier: usize,
    ) -> Result<usize, FtlError> {
        scheme.make_room(self, nand)?;
        if !self.dies[die].frontiers[frontier].is_full() {
            return Ok(die);
        }
        self.take_stock(scheme)?;
        if self.dies[die].is_weak {
            die = self.next_die(frontier);
        }
        loop {
            let bad = self.keeper.bad();
            match self.open_host_block(scheme, nand, die, frontier) {
                Ok(()) => return Ok(die),
                Err(FtlError::WornOut { .. }) if self.keeper.bad() > bad || self.dies[die].is_weak => {
                    die = self.next_die(frontier);
                }
                Err(error) => return Err(error),
            }
            if !self.dies[die].frontiers[frontier].is_full() {
                return Ok(die);
            }
        }
    }

    /// Replaces a full frontier for moved pages; returns the die with room there now. Another die helps out if `die` is
    /// weak or failures have used up its reserve.
    #[cold]
    pub(super) fn open_gc_block<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
        frontier: usize,
    ) -> Result<usize, FtlError> {
        if self.open_reserved(scheme, nand, die, frontier)? {
            return Ok(die);
        }
        for lender in self.lenders_for(scheme, die) {
            let has_room = !self.dies[lender].frontiers[frontier].is_full();
            if has_room || self.open_reserved(scheme, nand, lender, frontier)? {
                self.dies.lend(lender);
                return Ok(lender);
            }
        }
        Err(self.worn_out(1))
    }

    /// Replaces a full frontier for moved pages; false if the die has no room.
    fn open_reserved<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
        frontier: usize,
    ) -> Result<bool, FtlError> {
        self.end_frontier(scheme, nand, die, frontier)?;
        let is_cold = self.config.wear.has_frontier() && frontier + 1 == self.dies[die].frontiers.count();
        let choice: Choice = if is_cold { wear::most_worn } else { wear::least_worn };
        while self.free_in(scheme, die) > 0 && !self.dies[die].is_weak {
            if self.open_free(nand, (die, frontier), self.config.wear.is_dynamic().then_some(choice))? {
                self.note_share(die);
                return Ok(true);
            }
        }
        // Many frontiers, cuts or failures have used up the reserve; another frontier's rest is room as well. One of another
        // handle comes last.
        let frontiers = &self.dies[die].frontiers;
        let shares = |at: usize| self.placing.moved_with(at) == self.placing.moved_with(frontier);
        let roomiest = roomiest(frontiers, shares);
        let is_of_handle = shares(roomiest) && frontiers[roomiest].left() > 0;
        if self.placing.is_by_host() && !is_of_handle && self.fill_rest(die, frontier) {
            return Ok(true);
        }
        self.dies[die].frontiers.swap(frontier, roomiest);
        self.join_pool(die, frontier);
        Ok(!self.dies[die].frontiers[frontier].is_full() || self.fill_rest(die, frontier))
    }

    /// Fills a block further that a mount has closed, the roomiest one; false if the die has none. Cuts in a row may have
    /// left no free block.
    #[cold]
    fn fill_rest(&mut self, die: usize, frontier: usize) -> bool {
        let fits = |rest: &&Rest| {
            let is_closed = self.table.usage(rest.block) == BlockUse::Closed;
            is_closed && self.placing.fdp().is_none_or(|fdp| fdp.may_fill(frontier, rest.handle))
        };
        let Some(&Rest { next, block, .. }) = self.dies[die].rests.iter().filter(fits).min() else { return false };
        self.dies[die].rests.retain(|other| other.block != block);
        self.close_frontier(die, frontier);
        self.table.reopen(block);
        if let Some(fdp) = self.placing.fdp_mut() {
            fdp.reopened(block, frontier);
        }
        let resumed = Frontier::resumed(&self.geometry, block, next).without_last(self.list_pages());
        self.dies[die].frontiers[frontier] = resumed.with_cycles(self.table.cycles(block));
        self.join_pool(die, frontier);
        true
    }

    /// Opens a free block, erased; false if its erase failed. `choice` picks the block, else the next one is taken.
    fn open_free<N: Nand>(
        &mut self,
        nand: &mut N,
        (die, frontier): (usize, usize),
        choice: Option<Choice>,
    ) -> Result<bool, FtlError> {
        let Some(free) = self.take_free(die, choice) else { return Ok(false) };
        if !self.erase_due(nand, die, free)? {
            return Ok(false);
        }
        let block = free.block;
        self.table.open(block);
        self.placing.opened(block, frontier);
        let cycles = self.table.cycles(block);
        let start = Frontier::at_start(&self.geometry, block).without_last(self.list_pages());
        self.dies[die].frontiers[frontier] = start.with_cycles(cycles);
        Ok(true)
    }

    /// Takes a free block on a die from the keeper: the pick of `choice`, else the next one.
    pub(super) fn take_free(&mut self, die: usize, choice: Option<Choice>) -> Option<FreeBlock> {
        let die = die as u32;
        let place = choice.and_then(|choice| choice(&mut self.keeper.free_in(die), &|block| self.table.cycles(block)));
        self.keeper.remove(die, place.unwrap_or(0))
    }

    /// Erases a free block after it was taken, if still due; false if the erase failed and the block was retired.
    pub(super) fn erase_due<N: Nand>(&mut self, nand: &mut N, die: usize, free: FreeBlock) -> Result<bool, FtlError> {
        match free.unerased {
            Some(cause) => scoped(nand, cause, |nand| self.erase(nand, die, free.block)),
            None => Ok(true),
        }
    }

    /// Pages at each block's end without data.
    fn list_pages(&self) -> u32 {
        self.geometry.pages_per_block() - self.data_pages
    }

    /// Closes a full frontier's block once the scheme has programmed its last pages.
    fn end_frontier<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
        frontier: usize,
    ) -> Result<(), FtlError> {
        let full = self.dies[die].frontiers[frontier].block;
        if full.is_some() && !scheme.end_block(self, nand, full)? {
            self.abandon(die, frontier);
        }
        self.close_frontier(die, frontier);
        Ok(())
    }

    /// Closes a full frontier's block: from now on it may be a victim.
    #[inline]
    pub(super) fn close_frontier(&mut self, die: usize, frontier: usize) {
        let full = std::mem::replace(&mut self.dies[die].frontiers[frontier], Frontier::none());
        if full.block.is_some() {
            self.table.close(full.block, self.keeper.seq());
            self.placing.closed(full.block, self.keeper.seq());
        }
    }
}

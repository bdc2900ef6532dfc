//! Opening frontiers, and garbage collection die by die.

use super::{Pages, Scheme, Target};
use crate::parts::blocks::area::Victim;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Nand, Ppa};

impl Pages {
    /// The frontier for a page, with room.
    #[inline]
    pub(super) fn frontier<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        target: Target,
    ) -> Result<usize, FtlError> {
        let frontier = match target {
            Target::On(die) => die as usize,
            Target::InTurn => {
                self.turn = if self.turn + 1 >= self.geometry.dies() { 0 } else { self.turn + 1 };
                self.turn as usize
            }
            Target::InGroup(group) => self.next_in_group(group),
            Target::Moved(_) | Target::MovedInGroup(_) => return self.frontier_for_moved(scheme, nand, target),
        };
        if self.area.is_full(frontier) {
            return self.open_for_host(scheme, nand, target, frontier);
        }
        Ok(frontier)
    }

    /// A group's frontiers in turn.
    fn next_in_group(&mut self, group: u32) -> usize {
        let dies = self.geometry.dies();
        let turn = &mut self.turns[group as usize];
        *turn = if *turn + 1 >= dies { 0 } else { *turn + 1 };
        (group * dies + *turn) as usize
    }

    /// Closes a group's frontiers; its next pages begin blocks, from the first die on.
    pub(crate) fn restart_group(&mut self, group: u32) {
        let dies = self.geometry.dies();
        for frontier in group * dies..(group + 1) * dies {
            self.area.close(frontier as usize, self.keeper.seq());
        }
        self.turns[group as usize] = dies - 1;
    }

    /// The die of a frontier.
    fn die_of(&self, frontier: usize) -> u32 {
        frontier as u32 % self.geometry.dies()
    }

    /// Replaces a full host frontier; returns the one with room now. It is the next die's if this one holds more than its
    /// share, or gains nothing.
    #[cold]
    fn open_for_host<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        target: Target,
        full: usize,
    ) -> Result<usize, FtlError> {
        self.take_stock(scheme)?;
        scheme.make_room(self, nand)?;
        let (dies, first) = (self.geometry.dies(), self.die_of(full));
        let set = full - first as usize;
        loop {
            let bad = self.keeper.bad();
            for die in (first..dies).chain(0..first) {
                let is_fixed = die == first && matches!(target, Target::On(_));
                let frontier = set + die as usize;
                let has_room = !self.area.is_full(frontier)
                    || (is_fixed && self.works(die) || self.is_below_share(scheme, die))
                        && self.open_host_block(scheme, nand, frontier)?;
                if has_room {
                    self.set_turn(target, die);
                    return Ok(frontier);
                }
            }
            for die in self.roomiest(scheme) {
                if self.open_host_block(scheme, nand, set + die as usize)? {
                    self.set_turn(target, die);
                    return Ok(set + die as usize);
                }
            }
            // If blocks have gone bad meanwhile, a die that still gains something has been passed over.
            if self.keeper.bad() == bad {
                return Err(self.keeper.worn_out(1));
            }
            self.take_stock(scheme)?;
        }
    }

    /// Records whose turn it was.
    fn set_turn(&mut self, target: Target, die: u32) {
        match target {
            Target::InTurn => self.turn = die,
            Target::InGroup(group) => self.turns[group as usize] = die,
            Target::On(_) | Target::Moved(_) | Target::MovedInGroup(_) => {}
        }
    }

    /// Replaces a full host frontier by a block of its die, emptying victims there until the reserve is whole. False if
    /// nothing would be gained, or if blocks go bad on one of several dies: their pages may have used other dies' room.
    fn open_host_block<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        frontier: usize,
    ) -> Result<bool, FtlError> {
        self.area.close(frontier, self.keeper.seq());
        let die = self.die_of(frontier);
        loop {
            while !self.has_reserve(scheme, die) {
                let bad = self.keeper.bad();
                if !self.collect_in(scheme, nand, die)? {
                    return Ok(false);
                }
                if self.keeper.bad() > bad && self.geometry.dies() > 1 {
                    self.take_stock(scheme)?;
                    return Ok(false);
                }
            }
            if self.open(nand, frontier, die)? {
                return Ok(true);
            }
        }
    }

    /// Whether the host may open a block on a die. More than `reserve_blocks` are free then, beside the scheme's claim. On
    /// several dies the rest of the frontier for moved pages counts, too, and the host may take half a block of the reserve:
    /// else the work of the dies would differ by a victim each time, and all would wait for the slowest.
    fn has_reserve(&self, scheme: &impl Scheme, die: u32) -> bool {
        let kept = self.reserve_blocks.saturating_add(scheme.claim_in(die));
        let free = self.keeper.count_in(die);
        if self.geometry.dies() == 1 || self.reserve_blocks == 1 {
            return free > kept;
        }
        let pages = self.geometry.pages_per_block();
        let left = self.area.left(self.moved_frontier(die));
        free * pages + left >= kept.saturating_mul(pages).saturating_add(pages / 2)
    }

    /// A die's frontier for moved pages.
    fn moved_frontier(&self, die: u32) -> usize {
        self.area.frontiers().len() - (self.geometry.dies() - die) as usize
    }

    /// Opens a block of a die at a frontier without one; false if no free block there can be erased.
    fn open<N: Nand>(&mut self, nand: &mut N, frontier: usize, die: u32) -> Result<bool, FtlError> {
        let block = scoped(nand, Cause::Gc, |nand| self.keeper.take_in(nand, die))?;
        block.into_iter().for_each(|block| self.area.open(frontier, block));
        Ok(block.is_some())
    }

    #[inline]
    pub(super) fn frontier_for_moved<N: Nand, S: Scheme>(
        &mut self,
        scheme: &S,
        nand: &mut N,
        target: Target,
    ) -> Result<usize, FtlError> {
        let frontier = match target {
            Target::MovedInGroup(group) => self.next_in_group(group),
            Target::Moved(die) => self.moved_frontier(die),
            _ => unreachable!("{target:?} is not for moved pages"),
        };
        if self.area.is_full(frontier) {
            self.open_for_moved(scheme, nand, frontier)?;
        }
        Ok(frontier)
    }

    /// Replaces a full frontier for moved pages. If failures have used up the reserve, room left at another frontier of
    /// the die is room as well; then other dies help out, the one with the most free blocks first.
    #[cold]
    fn open_for_moved<N: Nand, S: Scheme>(
        &mut self,
        scheme: &S,
        nand: &mut N,
        frontier: usize,
    ) -> Result<(), FtlError> {
        self.area.close(frontier, self.keeper.seq());
        let die = self.die_of(frontier);
        let free = |pages: &Self, die: u32| pages.keeper.count_in(die).saturating_sub(scheme.claim_in(die));
        if self.works(die) {
            if free(self, die) > 0 && self.open(nand, frontier, die)? {
                return Ok(());
            }
            self.area.borrow(frontier, Some(die));
        }
        let mut lenders: Vec<u32> = (0..self.geometry.dies()).filter(|&at| at != die && self.works(at)).collect();
        lenders.sort_by_key(|&at| std::cmp::Reverse(free(self, at)));
        for lender in lenders {
            if !self.area.is_full(frontier) {
                return Ok(());
            }
            if free(self, lender) > 0 {
                self.open(nand, frontier, lender)?;
            }
        }
        if self.area.is_full(frontier) {
            self.area.borrow(frontier, None);
        }
        if self.area.is_full(frontier) {
            return Err(self.keeper.worn_out(1));
        }
        Ok(())
    }

    /// Empties a data block on a die; false if nothing would be gained.
    pub(crate) fn collect_in<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: u32,
    ) -> Result<bool, FtlError> {
        match self.area.next_victim_in(die, &mut *self.policy, self.keeper.seq()) {
            Some(victim) => self.collect(scheme, nand, victim).map(|()| true),
            None => Ok(false),
        }
    }

    /// The same on any die, if possible on `near`.
    pub(crate) fn collect_somewhere<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        near: u32,
    ) -> Result<bool, FtlError> {
        for die in (near..self.geometry.dies()).chain(0..near) {
            if self.collect_in(scheme, nand, die)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn collect<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N, victim: Victim) -> Result<(), FtlError> {
        let cause = if victim.is_failing { Cause::BadBlock } else { Cause::Gc };
        scoped(nand, cause, |nand| self.empty(scheme, nand, victim))
    }

    fn empty<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N, victim: Victim) -> Result<(), FtlError> {
        let die = self.geometry.die_of(victim.block);
        let valid: Vec<Ppa> = self.area.valid_in(victim.block).collect();
        valid.iter().try_for_each(|&from| scheme.relocate(self, nand, from, die))?;
        scheme.emptied(self, nand, die)?;
        self.area.release(nand, &mut self.keeper, victim)?;
        self.count_victim(victim, valid.is_empty());
        Ok(())
    }

    /// Erases the closed blocks without a valid page.
    pub(crate) fn release_empty<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while let Some(victim) = self.area.next_empty() {
            self.area.release(nand, &mut self.keeper, victim)?;
        }
        Ok(())
    }

    pub(crate) fn count_victim(&mut self, victim: Victim, was_empty: bool) {
        if !victim.is_failing {
            self.events.gc_runs += 1;
            self.events.empty_gc_runs += u64::from(was_empty);
        }
    }

    /// Empties and retires data blocks with a failed program; a mount would not know about them.
    pub(crate) fn retire_failing<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N) -> Result<(), FtlError> {
        while let Some(victim) = self.area.next_failing() {
            self.collect(scheme, nand, victim)?;
        }
        Ok(())
    }
}

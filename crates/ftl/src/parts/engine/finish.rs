//! A victim's end: lost pages, the erase, retirement.

use super::relocation::Reason;
use super::{Die, Pages, Scheme, Target};
use crate::parts::noted_map::Holds;
use crate::FtlError;
use nandlab_nand::{BlockId, Kind, Lpn, Nand, Oob, Origin, PageBuf, Ppa};

impl Pages {
    /// Handles a valid page with lost contents. A page of kind Lost takes its place, or a later mount would bring back
    /// an older copy; a note is written again.
    #[cold]
    pub(crate) fn replace_lost<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
        from: Ppa,
    ) -> Result<(), FtlError> {
        let at = match scheme.holds_lost(self, nand, from)? {
            Holds::Note(segment) => return scheme.renew_note(self, nand, segment, die as u32),
            Holds::Page(at) => at,
        };
        let to = self.store_lost(scheme, nand, at, Target::Moved(die as u32))?;
        if scheme.follow(&self.table, (Kind::Lost, at), (from, to)) {
            self.table.set_invalid(from);
            self.table.set_valid(to);
            self.placing.own(to, at);
        }
        Ok(())
    }

    /// Programs a page of kind Lost for a page with lost contents.
    #[cold]
    pub(crate) fn store_lost<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        at: Lpn,
        target: Target,
    ) -> Result<Ppa, FtlError> {
        self.events.lost_pages += 1;
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        let oob = Oob { kind: Kind::Lost, ..Oob::data(at, Default::default(), Origin::FTL) };
        self.program(scheme, nand, target, &blank, &[], oob)
    }

    /// Erases or retires the emptied block.
    pub(super) fn finish<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
    ) -> Result<(), FtlError> {
        self.carry_out(scheme, nand, die);
        self.map_moves(scheme, die);
        scheme.emptied(self, nand, die as u32)?;
        let Some(relocation) = self.dies[die].relocation.take() else { return Ok(()) };
        let block = relocation.block;
        self.keeper.supersede_in(block, relocation.copied);
        self.placing.emptied(block);
        match relocation.reason {
            Reason::Failure => return self.retire(nand, die, block),
            Reason::Room => {
                self.events.gc_runs += 1;
                self.events.idle_gc_runs += u64::from(relocation.in_gap);
                self.events.empty_gc_runs += u64::from(relocation.is_empty);
            }
            Reason::Wear { .. } => self.events.wear_moves += 1,
            Reason::Refresh => self.events.refreshes += 1,
            Reason::Fold => self.events.slc_folds += 1,
        }
        if self.erase(nand, die, block)? {
            self.table.set_free(block);
            self.keeper.add(block, None);
        }
        Ok(())
    }

    /// Erases a block without valid pages; false if the erase failed and the block was retired.
    pub(super) fn erase<N: Nand>(&mut self, nand: &mut N, die: usize, block: BlockId) -> Result<bool, FtlError> {
        self.pad(nand)?;
        let erased = self.keeper.erase(nand, block)?;
        self.dies[die].rests.retain(|rest| rest.block != block);
        self.relieve(block);
        if !erased {
            self.set_bad(die, block);
            return Ok(false);
        }
        self.table.set_cycles(block, self.table.cycles(block) + 1);
        if let Some(wear) = &mut self.wear_policy {
            wear.erased(block, self.table.die(die as u32));
        }
        Ok(true)
    }

    pub(super) fn retire<N: Nand>(&mut self, nand: &mut N, die: usize, block: BlockId) -> Result<(), FtlError> {
        self.pad(nand)?;
        self.keeper.retire(nand, block)?;
        self.set_bad(die, block);
        Ok(())
    }

    /// Records a retired block.
    fn set_bad(&mut self, die: usize, block: BlockId) {
        self.table.set_bad(block);
        self.pass_over_weak(die);
    }

    /// Empties and retires the blocks with a failed program; a mount would not know about them.
    #[cold]
    pub(crate) fn retire_failing<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N) -> Result<(), FtlError> {
        // The moved pages may fail on a die without failures so far.
        while let Some(die) = self.dies.iter().position(Die::is_failing) {
            if self.dies[die].relocation.is_none() && !self.start_relocation(scheme, nand, die)? {
                break;
            }
            self.empty_victim(scheme, nand, die)?;
        }
        Ok(())
    }

    /// Moves all remaining pages of the victim.
    pub(super) fn empty_victim<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
    ) -> Result<(), FtlError> {
        self.go_on(scheme, nand, die, u32::MAX)?;
        self.settle(scheme, nand)
    }

    /// Restores the reserve of dies that took other dies' pages. Pages they lend out meanwhile wait for the next call.
    pub(super) fn settle<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N) -> Result<(), FtlError> {
        for die in self.dies.take_lenders() {
            while !self.has_reserve(scheme, die)
                && (self.dies[die].relocation.is_some() || self.start_relocation(scheme, nand, die)?)
            {
                self.go_on(scheme, nand, die, u32::MAX)?;
            }
        }
        Ok(())
    }

    /// Empties a block on a die; false if nothing would be gained.
    pub(crate) fn collect_in<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: u32,
    ) -> Result<bool, FtlError> {
        let die = die as usize;
        if self.dies[die].relocation.is_none() && !self.start_relocation(scheme, nand, die)? {
            return Ok(false);
        }
        self.empty_victim(scheme, nand, die).map(|()| true)
    }

    /// The same on any die, if possible on `near`.
    pub(crate) fn collect_somewhere<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        near: u32,
    ) -> Result<bool, FtlError> {
        for die in (near..self.dies.len() as u32).chain(0..near) {
            if self.collect_in(scheme, nand, die)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Erases the closed blocks without a valid page.
    pub(crate) fn release_empty<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        for die in 0..self.dies.len() {
            while let Some(block) =
                self.table.die(die as u32).fewest_valid().filter(|&block| self.table.valid_pages(block) == 0)
            {
                self.table.reopen(block);
                self.placing.emptied(block);
                if self.erase(nand, die, block)? {
                    self.table.set_free(block);
                    self.keeper.add(block, None);
                }
            }
        }
        Ok(())
    }

    /// A block's valid pages, ascending.
    pub(crate) fn valid_of(&self, block: BlockId) -> impl Iterator<Item = Ppa> + '_ {
        let first = self.geometry.page(block, 0).0;
        let end = first + self.geometry.pages_per_block();
        std::iter::successors(self.table.next_valid(first..end), move |page| self.table.next_valid(page.0 + 1..end))
    }
}

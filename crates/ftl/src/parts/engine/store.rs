//! Writing a page of the host.

use super::relocation::Source;
use super::{Noted, Pages, Scheme, Target};
use crate::parts::blocks::frontier::Frontier;
use crate::parts::partial::merged;
use crate::FtlError;
use nandlab_nand::{BlockId, Kind, Lpn, Nand, NandError, Oob, Origin, Ppa, SectorMask, Time};

impl Pages {
    /// Writes a host page and maps it.
    #[inline]
    pub(crate) fn store<N: Nand, S: Noted>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        at: Lpn,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        // Compiled more than once: most placements give the host one frontier, so the lookup disappears.
        if self.placing.has_one_way() {
            return self.store_at(scheme, nand, 0, at, page);
        }
        if self.cache.is_some() {
            return self.store_cached(scheme, nand, at, page);
        }
        let frontier = self.frontier_of(scheme, nand, at);
        if self.placing.is_by_host() {
            return self.store_in_unit(scheme, nand, frontier, at, page);
        }
        self.store_at(scheme, nand, frontier, at, page)
    }

    /// The frontier for a host page.
    #[inline]
    pub(super) fn frontier_of<N: Nand, S: Noted>(&mut self, scheme: &mut S, nand: &mut N, at: Lpn) -> usize {
        self.frontier_after(nand, at, scheme.map().at(at))
    }

    #[inline]
    fn frontier_after<N: Nand>(&mut self, nand: &mut N, at: Lpn, old: Ppa) -> usize {
        let from = if old.is_some() { self.geometry.block_of(old) } else { BlockId::NONE };
        self.placing.frontier_of(at, from, nand.ctx())
    }

    /// The target for a host page in place of `old`, as the placement says.
    #[inline]
    pub(crate) fn placed<N: Nand>(&mut self, nand: &mut N, at: Lpn, old: Ppa) -> Target {
        if self.placing.has_one_way() {
            return Target::InTurn;
        }
        Target::Placed(self.frontier_after(nand, at, old) as u32)
    }

    /// A page programmed for `at` is valid.
    #[inline]
    pub(crate) fn mapped(&mut self, at: Lpn, to: Ppa) {
        self.table.set_valid(to);
        self.placing.own(to, at);
    }

    /// The page at `old` is trimmed.
    pub(crate) fn trimmed(&mut self, at: Lpn, old: Ppa) {
        self.table.set_invalid(old);
        self.placing.trimmed(at);
    }

    #[inline(always)]
    pub(super) fn store_at<N: Nand, S: Noted>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        frontier: usize,
        at: Lpn,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let die = self.die_for(at, frontier);
        let die = self.store_on(scheme, nand, (die, frontier), at, page)?;
        self.collect(scheme, nand, die)
    }

    /// Writes a host page to a die's frontier and maps it. Returns the die, which may be another if blocks fail.
    #[inline(always)]
    pub(super) fn store_on<N: Nand, S: Noted>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        (die, frontier): (usize, usize),
        at: Lpn,
        page: &N::Buf,
    ) -> Result<usize, FtlError> {
        let oob = Oob::data(at, Default::default(), nand.ctx().origin());
        let (die, to) = self.program_host(scheme, nand, (die, frontier), page, &[], oob)?;
        scheme.map_stored(self, nand, (at, to));
        Ok(die)
    }

    /// The block with the latest copy of `old`, a page in `block`: a copy that is issued and not mapped yet counts.
    #[inline]
    fn block_with_copy(&self, old: Ppa, block: BlockId) -> BlockId {
        match &self.dies[self.geometry.die_of(block) as usize].relocation {
            Some(relocation) if relocation.block() == block => {
                let copy = relocation.unmapped().find(|&(from, _)| from == old);
                copy.map_or(block, |(_, to)| self.geometry.block_of(to))
            }
            _ => block,
        }
    }

    /// Completes a partial host write: reads the old page, merges and writes the result.
    pub(crate) fn store_part<N: Nand, S: Noted>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let (whole, before) = merged(nand, scheme.map().at(at), sectors, page)?;
        let stored = self.store(scheme, nand, at, &whole);
        nand.ctx().set_ready(before);
        stored
    }

    /// Programs a page and returns its place; a block with a failed program is left behind. Sequence number, mark and handle
    /// in `oob` are set here. The caller maps the page.
    pub(crate) fn program<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        target: Target,
        page: &N::Buf,
        tail: &[u8],
        oob: Oob,
    ) -> Result<Ppa, FtlError> {
        if let Target::Moved(_) | Target::MovedInGroup(_) = target {
            let at = if oob.kind == Kind::TrimNote { Lpn::NONE } else { oob.lpn };
            let (die, frontier) = self.frontier_for_moved(target, at);
            let (_, to, _) = self.program_gc(scheme, nand, (die, frontier), &Source::New(page, tail), oob)?;
            self.note_moved(die, nand.ctx().last());
            return Ok(to);
        }
        self.pay_owed(scheme, nand)?;
        let (die, frontier) = self.frontier_for_host(target);
        let (die, to) = self.program_host(scheme, nand, (die, frontier), page, tail, oob)?;
        self.owing = Some(die);
        if let Target::InGroup(group) = target {
            self.group_turns[group as usize] = die;
        }
        Ok(to)
    }

    /// Makes the last host page pay for collection, if it has not.
    #[inline]
    pub(crate) fn pay_owed<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N) -> Result<(), FtlError> {
        match self.owing.take() {
            Some(die) => self.collect(scheme, nand, die),
            None => Ok(()),
        }
    }

    /// The die and the frontier for a page of the host, or the FTL's own.
    fn frontier_for_host(&mut self, target: Target) -> (usize, usize) {
        match target {
            Target::InGroup(group) => (self.next_in_group(group), group as usize),
            Target::Placed(frontier) => (self.next_die(frontier as usize), frontier as usize),
            Target::On(die) => {
                let frontier = self.placing.own_frontier();
                let die = die as usize;
                (if self.takes(die, frontier) { die } else { self.next_die(frontier) }, frontier)
            }
            _ => {
                let frontier = self.placing.own_frontier();
                (self.next_die(frontier), frontier)
            }
        }
    }

    /// The die and the frontier for a moved page.
    pub(crate) fn frontier_for_moved(&mut self, target: Target, at: Lpn) -> (usize, usize) {
        match target {
            Target::MovedInGroup(group) => {
                let die = self.next_in_group(group);
                self.group_turns[group as usize] = die;
                (die, group as usize)
            }
            Target::Moved(die) => (die as usize, self.frontier_of_moved(die as usize, at)),
            _ => unreachable!("{target:?} is not for moved pages"),
        }
    }

    /// The next die of a group that takes pages.
    fn next_in_group(&mut self, group: u32) -> usize {
        let (dies, last) = (self.dies.len(), self.group_turns[group as usize]);
        let mut turn = (1..=dies).map(|step| (last + step) % dies);
        turn.find(|&die| self.takes(die, group as usize)).unwrap_or_else(|| self.roomiest_die())
    }

    /// Closes a group's frontiers: its next pages begin blocks, from the first die on.
    pub(crate) fn restart_group(&mut self, group: u32) {
        (0..self.dies.len()).for_each(|die| self.close_frontier(die, group as usize));
        self.group_turns[group as usize] = self.dies.len() - 1;
    }

    /// The die whose turn it was last.
    #[cfg(test)]
    pub(crate) fn last_die(&self) -> u32 {
        self.dies.turn() as u32
    }

    /// Copies a valid page to a target for moved pages; returns its place, logical page and kind. `None`: its contents are lost,
    /// and nothing has changed.
    pub(crate) fn copy<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        from: Ppa,
        target: Target,
    ) -> Result<Option<(Ppa, Lpn, Kind)>, FtlError> {
        let (die, frontier) = self.frontier_for_moved(target, Lpn::NONE);
        let oob = Oob::data(Lpn::NONE, Default::default(), Origin::FTL);
        match self.program_gc(scheme, nand, (die, frontier), &Source::Page(from), oob) {
            Ok((_, to, (at, kind))) => {
                self.note_moved(die, nand.ctx().last());
                Ok(Some((to, at, kind)))
            }
            Err(FtlError::Nand(NandError::Uncorrectable(page))) if page == from => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The erase of the victim on `die` waits for a page moved out of it.
    fn note_moved(&mut self, die: usize, end: Time) {
        if let Some(relocation) = &mut self.dies[die].relocation {
            relocation.copied = relocation.copied.max(end);
        }
    }

    /// Supersedes a valid page by another one with its program ending at `end`.
    #[inline]
    pub(crate) fn supersede(&mut self, old: Ppa, end: Time) {
        let block = self.table.set_invalid(old);
        if end > 0 {
            let block = self.block_with_copy(old, block);
            self.keeper.supersede_in(block, end);
        }
    }

    /// Programs a frontier's next page for the host. It leaves a block with a failed program, and moves to another die
    /// if this one has lost its room.
    #[inline(always)]
    fn program_host<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        (mut die, frontier): (usize, usize),
        page: &N::Buf,
        tail: &[u8],
        oob: Oob,
    ) -> Result<(usize, Ppa), FtlError> {
        loop {
            if self.dies[die].frontiers[frontier].is_full() {
                die = self.open_for_host(scheme, nand, die, frontier)?;
            }
            // Opening a block may have relocated the older copy of this page, so the sequence number comes last.
            let (to, mark) = self.dies[die].frontiers[frontier].take();
            // Handle 0 is at frontier 0.
            let handle = if frontier == 0 { 0 } else { self.placing.handle_at(frontier) };
            match nand.program(to, page, tail, Oob { aux: mark, handle, seq: self.keeper.next_seq(), ..oob }) {
                Ok(_) => return Ok((die, to)),
                Err(NandError::ProgramFailed(_)) => self.abandon(die, frontier),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Leaves a block with a failed program.
    #[cold]
    pub(super) fn abandon(&mut self, die: usize, frontier: usize) {
        let failed = std::mem::replace(&mut self.dies[die].frontiers[frontier], Frontier::none());
        self.dies[die].failing.push_back(failed.block);
    }
}

//! Garbage collection of data: opening blocks, emptying victims, changing the entries of what was moved.

use super::Dftl;
use crate::parts::blocks::area::Victim;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa};

impl Dftl {
    /// Replaces a full frontier of the host, emptying victims until the reserve is whole.
    #[cold]
    pub(super) fn open_host_block<N: Nand>(&mut self, nand: &mut N, frontier: usize) -> Result<(), FtlError> {
        self.refuse_worn_out()?;
        self.data.close(frontier, self.keeper.seq());
        loop {
            while self.keeper.count() <= self.config.reserve_blocks + self.map.claim() {
                if !self.collect(nand)? {
                    return Err(self.keeper.worn_out(1));
                }
            }
            if self.open(nand, frontier)? {
                return Ok(());
            }
        }
    }

    /// Opens a block at a frontier without one; false where there is none that can be erased.
    fn open<N: Nand>(&mut self, nand: &mut N, frontier: usize) -> Result<bool, FtlError> {
        let die = frontier as u32 % self.geometry.dies();
        let block = scoped(nand, Cause::Gc, |nand| self.keeper.take(nand, Some(die)))?;
        block.into_iter().for_each(|block| self.data.open(frontier, block));
        Ok(block.is_some())
    }

    /// Empties a block of data; false where nothing would be gained.
    fn collect<N: Nand>(&mut self, nand: &mut N) -> Result<bool, FtlError> {
        let Some(victim) = self.data.next_victim(&mut *self.policy, self.keeper.seq()) else { return Ok(false) };
        let cause = if victim.is_failing { Cause::BadBlock } else { Cause::Gc };
        scoped(nand, cause, |nand| self.empty(nand, victim))?;
        Ok(true)
    }

    fn empty<N: Nand>(&mut self, nand: &mut N, victim: Victim) -> Result<(), FtlError> {
        let die = self.geometry.die_of(victim.block);
        let frontier = (self.geometry.dies() + die) as usize;
        let valid: Vec<Ppa> = self.data.valid_in(victim.block).collect();
        let mut moved = Vec::with_capacity(valid.len());
        for &from in &valid {
            moved.push(self.relocate(nand, from, frontier)?);
        }
        self.map_moved(nand, moved)?;
        // A trimmed page may have its newest copy here and older ones elsewhere: flash says that it is trimmed before the
        // newest goes, or a mount would bring back an older one.
        self.write_trims(nand)?;
        self.data.release(nand, &mut self.keeper, victim)?;
        if !victim.is_failing {
            self.events.gc_runs += 1;
            self.events.empty_gc_runs += u64::from(valid.is_empty());
        }
        Ok(())
    }

    /// Moves a valid page; returns whose it is, and where it is now.
    fn relocate<N: Nand>(&mut self, nand: &mut N, from: Ppa, frontier: usize) -> Result<(Lpn, Ppa), FtlError> {
        let (at, to) = loop {
            if self.data.is_full(frontier) {
                self.open_gc_block(nand, frontier)?;
            }
            let oob = Oob::renewed(0, self.keeper.next_seq());
            match self.data.copy(nand, frontier, from, oob) {
                Ok(Some((to, stored))) => break (stored.lpn, to),
                Ok(None) => {}
                Err(FtlError::Nand(NandError::Uncorrectable(page))) if page == from => {
                    break self.replace_lost(nand, from, frontier)?;
                }
                Err(error) => return Err(error),
            }
        };
        self.data.set_invalid(from);
        self.data.set_valid(to);
        self.keeper.supersede(from, nand.ctx().last());
        Ok((at, to))
    }

    /// Replaces a full frontier for relocated pages.
    #[cold]
    fn open_gc_block<N: Nand>(&mut self, nand: &mut N, frontier: usize) -> Result<(), FtlError> {
        self.data.close(frontier, self.keeper.seq());
        // What the map has a claim to stays.
        if self.keeper.count() > self.map.claim() && self.open(nand, frontier)? {
            return Ok(());
        }
        // Failures have used up the reserve; what another frontier has left is room as well.
        self.data.borrow(frontier);
        if self.data.is_full(frontier) {
            return Err(self.keeper.worn_out(1));
        }
        Ok(())
    }

    /// The contents of a valid page are gone. A page of kind Lost takes its place, so that a later mount does not bring back
    /// an older copy.
    #[cold]
    fn replace_lost<N: Nand>(&mut self, nand: &mut N, from: Ppa, frontier: usize) -> Result<(Lpn, Ppa), FtlError> {
        let at = self.owner(nand, from)?;
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        self.events.lost_pages += 1;
        loop {
            if self.data.is_full(frontier) {
                self.open_gc_block(nand, frontier)?;
            }
            let oob = Oob { kind: Kind::Lost, ..Oob::data(at, self.keeper.next_seq(), Origin::FTL) };
            if let Some(to) = self.data.program(nand, frontier, &blank, &[], oob)? {
                return Ok((at, to));
            }
        }
    }

    /// Changes the entries of pages that were moved: lazily in memory, else, together, in their map pages.
    fn map_moved<N: Nand>(&mut self, nand: &mut N, mut moved: Vec<(Lpn, Ppa)>) -> Result<(), FtlError> {
        let lazy = self.config.lazy_update;
        moved.retain(|&(at, to)| match self.cmt.find(at) {
            Some(slot) => {
                self.cmt.set(slot, to);
                !lazy
            }
            None => true,
        });
        moved.sort_unstable();
        let per_map_page = self.per_map_page();
        for of_map_page in moved.chunk_by(|(a, _), (b, _)| a.0 / per_map_page == b.0 / per_map_page) {
            let map_page = of_map_page[0].0 .0 / per_map_page;
            let at_once = if self.config.batch_update { of_map_page.len() } else { 1 };
            for some in of_map_page.chunks(at_once) {
                self.update(nand, map_page, some)?;
                let cached: Vec<_> = some.iter().filter_map(|&(at, _)| self.cmt.find(at)).collect();
                cached.into_iter().for_each(|slot| self.cmt.set_clean(slot));
            }
        }
        Ok(())
    }

    /// Empties and retires the blocks with a failed program; a mount would not know of them.
    pub(super) fn retire_failing<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while self.data.is_failing() {
            self.collect(nand)?;
        }
        self.map.retire_failing(nand, &mut self.keeper)
    }
}

//! Garbage collection of data, the notes of trims, and the blocks that data and log take from the keeper.

use super::{SectorLog, Target};
use crate::parts::blocks::area::Victim;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa};

impl SectorLog {
    /// Replaces a full frontier of the host, emptying victims until the reserve is whole.
    #[cold]
    pub(super) fn open_host_block<N: Nand>(&mut self, nand: &mut N, frontier: usize) -> Result<(), FtlError> {
        self.refuse_worn_out()?;
        self.data.close(frontier, self.keeper.seq());
        loop {
            while self.keeper.count() <= self.config.reserve_blocks + self.log.claim() {
                if !self.collect(nand)? {
                    return Err(self.keeper.worn_out(1));
                }
            }
            if self.open(nand, frontier)? {
                return Ok(());
            }
        }
    }

    /// Opens a block of data at a frontier without one; false where there is none that can be erased.
    fn open<N: Nand>(&mut self, nand: &mut N, frontier: usize) -> Result<bool, FtlError> {
        let die = frontier as u32 % self.geometry.dies();
        let block = scoped(nand, Cause::Gc, |nand| self.keeper.take(nand, Some(die)))?;
        block.into_iter().for_each(|block| self.data.open(frontier, block));
        Ok(block.is_some())
    }

    /// The frontier of a die for pages that are moved, with a page left.
    pub(super) fn frontier_for_moved<N: Nand>(&mut self, nand: &mut N, die: u32) -> Result<usize, FtlError> {
        let frontier = (self.geometry.dies() + die) as usize;
        if !self.data.is_full(frontier) {
            return Ok(frontier);
        }
        self.data.close(frontier, self.keeper.seq());
        // What the log has a claim to stays.
        if self.keeper.count() > self.log.claim() && self.open(nand, frontier)? {
            return Ok(frontier);
        }
        // Failures have used up the reserve; what another frontier has left is room as well.
        self.data.borrow(frontier);
        if self.data.is_full(frontier) {
            return Err(self.keeper.worn_out(1));
        }
        Ok(frontier)
    }

    /// Replaces a full frontier of the log; a log that has all its blocks merges one.
    #[cold]
    pub(super) fn open_log_block<N: Nand>(&mut self, nand: &mut N, frontier: usize) -> Result<(), FtlError> {
        self.refuse_worn_out()?;
        self.log.close(frontier);
        loop {
            while self.log.is_full() && self.merge_next(nand)? {}
            // Failures have used up the reserve.
            while self.keeper.count() == 0 {
                if !self.collect(nand)? {
                    return Err(self.keeper.worn_out(1));
                }
            }
            let die = frontier as u32 % self.geometry.dies();
            if let Some(block) = scoped(nand, Cause::Gc, |nand| self.keeper.take(nand, Some(die)))? {
                self.log.open(frontier, block);
                return Ok(());
            }
        }
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
        let valid: Vec<Ppa> = self.data.valid_in(victim.block).collect();
        for &from in &valid {
            if self.is_logged(from) {
                let at = self.owner(nand, from)?;
                self.merge_page(nand, Target::Moved(die), at, &mut None)?;
            } else {
                self.relocate(nand, from, die)?;
            }
        }
        // A trimmed page may have its newest copy here and older ones elsewhere: the trim is noted before the newest
        // goes, or a mount would bring back an older one.
        self.write_notes(nand, Target::Moved(die))?;
        self.data.release(nand, &mut self.keeper, victim)?;
        self.count_victim(victim, valid.is_empty());
        Ok(())
    }

    pub(super) fn count_victim(&mut self, victim: Victim, was_empty: bool) {
        if !victim.is_failing {
            self.events.gc_runs += 1;
            self.events.empty_gc_runs += u64::from(was_empty);
        }
    }

    /// Moves a valid page without sectors in the log.
    fn relocate<N: Nand>(&mut self, nand: &mut N, from: Ppa, die: u32) -> Result<(), FtlError> {
        loop {
            let frontier = self.frontier_for_moved(nand, die)?;
            let oob = Oob::renewed(0, self.keeper.next_seq());
            match self.data.copy(nand, frontier, from, oob) {
                Ok(Some((to, stored))) => {
                    let end = nand.ctx().last();
                    match stored.kind {
                        Kind::TrimNote => *self.notes.entry(stored.lpn) = to,
                        _ => self.map[stored.lpn.index()] = to,
                    }
                    self.data.set_invalid(from);
                    self.keeper.supersede(from, end);
                    self.data.set_valid(to);
                    return Ok(());
                }
                Ok(None) => {}
                Err(FtlError::Nand(NandError::Uncorrectable(page))) if page == from => {
                    return self.replace_lost(nand, from, die);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The contents of a valid page are gone. A page of kind Lost takes its place, so that a later mount does not bring
    /// back an older copy; a note is written anew.
    #[cold]
    fn replace_lost<N: Nand>(&mut self, nand: &mut N, from: Ppa, die: u32) -> Result<(), FtlError> {
        if let Some(segment) = self.notes.segment_at(from) {
            return self.write_note(nand, Target::Moved(die), segment);
        }
        let at = self.owner(nand, from)?;
        self.store_lost(nand, Target::Moved(die), at)
    }

    /// A page that stands for one whose contents are gone.
    #[cold]
    pub(super) fn store_lost<N: Nand>(&mut self, nand: &mut N, target: Target, at: Lpn) -> Result<(), FtlError> {
        self.events.lost_pages += 1;
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        let oob = Oob { kind: Kind::Lost, ..Oob::data(at, Default::default(), Origin::FTL) };
        self.store(nand, target, &blank, oob)
    }

    /// The logical page that is mapped to `page`: its spare area says so, or a search of the map.
    fn owner<N: Nand>(&mut self, nand: &mut N, page: Ppa) -> Result<Lpn, FtlError> {
        match nand.read_spare(page) {
            Ok(oob) => Ok(oob.expect("a valid page is programmed").lpn),
            Err(NandError::Uncorrectable(_)) => {
                let found = self.map.iter().position(|&at| at == page);
                Ok(Lpn(found.expect("a valid page that is no note is mapped") as u32))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the note of `segment` anew.
    pub(super) fn write_note<N: Nand>(&mut self, nand: &mut N, target: Target, segment: u32) -> Result<(), FtlError> {
        scoped(nand, Cause::Trim, |nand| {
            let note = self.notes.note(&self.geometry, segment, self.keeper.seq());
            let blank = N::Buf::zeroed(self.geometry.page_bytes());
            let oob = Oob { kind: Kind::TrimNote, ..Oob::data(Lpn(segment), Default::default(), Origin::FTL) };
            let to = self.program(nand, target, &blank, &note, oob)?;
            // The note before hid what a page held that has been written since. That write must be on flash before the
            // note goes.
            self.keeper.noted(nand.ctx().last().max(self.mapped));
            let old = self.notes.renewed(segment, to);
            if old.is_some() {
                self.data.set_invalid(old);
            }
            self.data.set_valid(to);
            Ok(())
        })
    }

    /// Writes the notes that are out of date.
    pub(super) fn write_notes<N: Nand>(&mut self, nand: &mut N, target: Target) -> Result<(), FtlError> {
        while let Some(segment) = self.notes.pending() {
            self.write_note(nand, target, segment)?;
        }
        Ok(())
    }

    /// Empties and retires the blocks with a failed program; a mount would not know of them.
    pub(super) fn retire_failing<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while self.log.is_failing() {
            self.merge_next(nand)?;
        }
        while self.data.is_failing() {
            self.collect(nand)?;
        }
        Ok(())
    }
}

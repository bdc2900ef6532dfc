//! Opening and ending blocks, garbage collection, and failed blocks.

use super::{Firmware, SuperPage, NOTE};
use crate::parts::blocks::frontier::Frontier;
use crate::parts::noted_map::Holds;
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, Time};

/// A victim's pages that are still needed.
#[derive(Debug, Default)]
pub(super) struct Survivors {
    pages: Vec<Ppa>,
    entries: Vec<u32>,
    list: Vec<u8>,
}

impl SuperPage {
    /// Opens a block for the host after a full one, collecting garbage until the reserve is whole.
    #[cold]
    pub(super) fn open_block<N: Nand>(&mut self, nand: &mut N, bank: usize) -> Result<(), FtlError> {
        self.refuse_worn_out()?;
        let kept = self.config.kept();
        loop {
            if self.free(bank) > kept {
                if self.open_free(nand, bank)? {
                    return Ok(());
                }
                continue;
            }
            if self.config.firmware == Firmware::Tutorial {
                return Err(self.full(bank));
            }
            // The survivors go to a reserved block, which the host then fills further.
            self.collect(nand, bank)?;
            if !self.active[bank].frontier.is_full() && self.free(bank) >= kept {
                return Ok(());
            }
        }
    }

    /// Ends a collection interrupted by a power cut, before the host takes the rest of the survivors' block. Otherwise
    /// each cut would use up a reserved block, and in the end none would be left for a victim's survivors.
    #[cold]
    pub(super) fn make_whole<N: Nand>(&mut self, nand: &mut N, bank: usize) -> Result<(), FtlError> {
        self.active[bank].is_whole = true;
        if self.config.firmware == Firmware::Tutorial {
            return Ok(());
        }
        while self.free(bank) < self.config.kept() {
            match self.collect(nand, bank) {
                Ok(()) => {}
                // The remaining room takes the write, or the write reports the error.
                Err(FtlError::WornOut { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The error for a bank without erased pages and without garbage collection.
    fn full(&self, bank: usize) -> FtlError {
        FtlError::Full(format!(
            "bank {bank} has no erased page left: ftl.superpage.firmware = \"tutorial\" programs each of the {} pages of the \
             device once and erases nothing; \"greedy\" collects garbage",
            self.geometry.pages()
        ))
    }

    /// Opens a free block on `bank`; false if there is none.
    fn open_free<N: Nand>(&mut self, nand: &mut N, bank: usize) -> Result<bool, FtlError> {
        let Some(block) = self.keeper.take_in(nand, bank as u32)? else { return Ok(false) };
        self.counts.open(block);
        let pages = self.config.list_pages();
        let active = &mut self.active[bank];
        active.frontier = Frontier::at_start(&self.geometry, block).without_last(pages);
        active.list.clear();
        self.listed[block.index()] = false;
        Ok(true)
    }

    /// Records a failed program in the open block on `bank`.
    #[cold]
    pub(super) fn fail_active(&mut self, bank: usize) {
        let active = &mut self.active[bank];
        let failed = std::mem::replace(&mut active.frontier, Frontier::none());
        active.list.clear();
        self.failing.push_back(failed.block);
    }

    /// After the last data page: programs the block's list; from then on the block may be a victim.
    #[inline]
    pub(super) fn end_if_full<N: Nand>(&mut self, nand: &mut N, bank: usize) -> Result<(), FtlError> {
        let frontier = &self.active[bank].frontier;
        if frontier.is_full() && frontier.block.is_some() {
            self.end_block(nand, bank)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn end_block<N: Nand>(&mut self, nand: &mut N, bank: usize) -> Result<(), FtlError> {
        let block = self.active[bank].frontier.block;
        if self.config.list_pages() > 0 {
            let list: Vec<u8> = self.active[bank].list.iter().flat_map(|entry| entry.to_le_bytes()).collect();
            let oob = Oob { kind: Kind::List, ..Oob::data(Lpn(block.0), self.keeper.next_seq(), Origin::FTL) };
            let blank = N::Buf::zeroed(self.geometry.page_bytes());
            let at = self.geometry.page(block, self.data_pages);
            match scoped(nand, Cause::Map, |nand| nand.program(at, &blank, &list, oob)) {
                Ok(_) => self.listed[block.index()] = true,
                Err(NandError::ProgramFailed(_)) => {
                    self.fail_active(bank);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        let active = &mut self.active[bank];
        active.frontier = Frontier::none();
        active.list.clear();
        self.counts.close(block);
        Ok(())
    }

    /// Empties the closed block with the fewest valid pages and erases it.
    fn collect<N: Nand>(&mut self, nand: &mut N, bank: usize) -> Result<(), FtlError> {
        let victim = self.victim(bank).filter(|&block| self.counts.valid(block) < self.data_pages);
        let Some(victim) = victim else { return Err(self.keeper.worn_out(1)) };
        self.events.gc_runs += 1;
        self.events.empty_gc_runs += u64::from(self.counts.valid(victim) == 0);
        self.counts.reopen(victim);
        scoped(nand, Cause::Gc, |nand| match self.empty(nand, bank, victim) {
            Ok(moved) => {
                self.emptied(victim, moved);
                self.keeper.release(nand, victim)
            }
            Err(error) => {
                self.counts.close(victim);
                Err(error)
            }
        })
    }

    /// Records an emptied block; the copies or notes that replace its pages end at `moved`.
    fn emptied(&mut self, block: BlockId, moved: Time) {
        self.listed[block.index()] = false;
        self.counts.set_free(block);
        self.keeper.supersede_in(block, moved);
    }

    /// Free blocks on a bank.
    #[inline]
    fn free(&self, bank: usize) -> u32 {
        self.keeper.count_in(bank as u32)
    }

    /// A bank's closed block with the fewest valid pages.
    #[inline]
    fn victim(&self, bank: usize) -> Option<BlockId> {
        self.counts.fewest_valid(self.geometry.blocks_of_die(bank as u32))
    }

    /// Moves the valid pages out of `block` and writes notes for trimmed ones; returns when the last operation ends.
    fn empty<N: Nand>(&mut self, nand: &mut N, bank: usize, block: BlockId) -> Result<Time, FtlError> {
        let mut found = std::mem::take(&mut self.survivors);
        let moved =
            self.find_survivors(nand, block, &mut found).and_then(|()| self.relocate(nand, bank, block, &found));
        self.survivors = found;
        let moved = moved?;
        // A trimmed page's newest copy may lie here and older ones elsewhere. The note comes before the erase, or a
        // mount would bring back an older copy.
        while let Some(segment) = self.map.pending() {
            if self.active[bank].frontier.is_full() {
                self.open_for_survivors(nand, bank)?;
            }
            self.write_note(nand, bank, segment)?;
        }
        Ok(moved)
    }

    /// Lists the mapped pages in `block`.
    fn find_survivors<N: Nand>(&mut self, nand: &mut N, block: BlockId, found: &mut Survivors) -> Result<(), FtlError> {
        found.pages.clear();
        found.entries.clear();
        let valid = self.counts.valid(block) as usize;
        let first = self.geometry.page(block, 0).0;
        if self.listed[block.index()] {
            found.list.resize(4 * self.data_pages as usize, 0);
            match nand.read_tail(self.geometry.page(block, self.data_pages), &mut found.list) {
                Ok(_) => {
                    for (page, entry) in (first..).map(Ppa).zip(found.list.chunks_exact(4)) {
                        let entry = u32::from_le_bytes(entry.try_into().expect("four bytes"));
                        if self.lives(page, entry) {
                            found.pages.push(page);
                            found.entries.push(entry);
                        }
                    }
                    assert_eq!(found.pages.len(), valid, "valid pages of block {block} by its list");
                    return Ok(());
                }
                Err(NandError::Uncorrectable(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        for page in (first..first + self.geometry.pages_per_block()).map(Ppa) {
            let entry = match nand.read_spare(page) {
                Ok(Some(oob)) if oob.kind == Kind::TrimNote => oob.lpn.0 | NOTE,
                Ok(Some(oob)) if matches!(oob.kind, Kind::Data | Kind::Lost) => oob.lpn.0,
                Ok(_) => continue,
                Err(NandError::Uncorrectable(_)) => match self.entry_of(page) {
                    Some(entry) => entry,
                    None => continue,
                },
                Err(error) => return Err(error.into()),
            };
            if self.lives(page, entry) {
                found.pages.push(page);
                found.entries.push(entry);
            }
        }
        assert_eq!(found.pages.len(), valid, "valid pages of block {block} by their spare areas");
        Ok(())
    }

    /// Whether the map still points to the page for this list entry.
    #[inline]
    fn lives(&self, page: Ppa, entry: u32) -> bool {
        let kind = if entry & NOTE == 0 { Kind::Data } else { Kind::TrimNote };
        self.map.counts(kind, Lpn(entry & !NOTE), page)
    }

    /// The map entry that points to a page with an unreadable spare area.
    fn entry_of(&self, page: Ppa) -> Option<u32> {
        self.map.find(page).map(|holds| match holds {
            Holds::Page(at) => at.0,
            Holds::Note(segment) => segment | NOTE,
        })
    }

    /// Copies the survivors of `block` one behind the other; returns when the last copy ends.
    fn relocate<N: Nand>(
        &mut self,
        nand: &mut N,
        bank: usize,
        block: BlockId,
        found: &Survivors,
    ) -> Result<Time, FtlError> {
        let mut done = 0;
        let mut moved = 0;
        while done < found.pages.len() {
            if self.active[bank].frontier.is_full() {
                self.open_for_survivors(nand, bank)?;
            }
            let left = &found.pages[done..];
            let (to, count, aux) = self.active[bank].frontier.take_run(left.len() as u32);
            let seq = self.keeper.take_seqs(count);
            let (copied, error) = match nand.copy_run(&left[..count as usize], to, aux, seq) {
                Ok(()) => (count as usize, None),
                Err((copied, error)) => (copied, Some(error)),
            };
            if copied > 0 {
                moved = moved.max(nand.ctx().last());
                self.map_copies(bank, block, &found.entries[done..done + copied], to);
                done += copied;
            }
            match error {
                None => {}
                Some(NandError::ProgramFailed(_)) => self.fail_active(bank),
                Some(NandError::Uncorrectable(page)) if Some(&page) == found.pages.get(done) => {
                    self.active[bank].frontier.give_back_from(Ppa(to.0 + copied as u32), copied == 0, aux);
                    self.replace_lost(nand, bank, found.entries[done])?;
                    moved = moved.max(nand.ctx().last());
                    done += 1;
                }
                Some(error) => return Err(error.into()),
            }
            self.end_if_full(nand, bank)?;
        }
        Ok(moved)
    }

    /// Maps copies from `block` to the consecutive pages from `to` on.
    fn map_copies(&mut self, bank: usize, block: BlockId, entries: &[u32], to: Ppa) {
        for (to, &entry) in (to.0..).map(Ppa).zip(entries) {
            let kind = if entry & NOTE == 0 { Kind::Data } else { Kind::TrimNote };
            self.map.set(kind, Lpn(entry & !NOTE), to);
        }
        self.active[bank].list.extend_from_slice(entries);
        self.counts.sub(block, entries.len() as u32);
        self.counts.add(self.geometry.block_of(to), entries.len() as u32);
    }

    /// Handles a valid page with lost contents. A page of kind Lost takes its place, or a later mount would bring back
    /// an older copy; a note is written again.
    #[cold]
    fn replace_lost<N: Nand>(&mut self, nand: &mut N, bank: usize, entry: u32) -> Result<(), FtlError> {
        if entry & NOTE != 0 {
            return self.write_note(nand, bank, entry & !NOTE);
        }
        self.events.lost_pages += 1;
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        let to = self.program(nand, bank, &blank, &[], (entry, Kind::Lost))?;
        let old = self.map.set(Kind::Lost, Lpn(entry), to);
        let end = nand.ctx().last();
        self.supersede(old, end);
        self.counts.add(self.geometry.block_of(to), 1);
        Ok(())
    }

    /// Opens a reserved block for moved pages.
    fn open_for_survivors<N: Nand>(&mut self, nand: &mut N, bank: usize) -> Result<(), FtlError> {
        match self.open_free(nand, bank)? {
            true => Ok(()),
            false if self.config.firmware == Firmware::Tutorial => Err(self.full(bank)),
            false => Err(self.keeper.worn_out(1)),
        }
    }

    /// Empties and retires the blocks with a failed program; a mount would not know about them.
    #[cold]
    pub(super) fn retire_failing<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        scoped(nand, Cause::BadBlock, |nand| {
            while let Some(block) = self.failing.pop_front() {
                let bank = self.geometry.die_of(block) as usize;
                match self.empty(nand, bank, block) {
                    Ok(moved) => {
                        self.emptied(block, moved);
                        self.keeper.retire(nand, block)?;
                        self.restore_reserve(nand, bank)?;
                    }
                    Err(error) => {
                        self.failing.push_back(block);
                        return Err(error);
                    }
                }
            }
            Ok(())
        })
    }

    /// Collects until the reserve of `bank` is whole, or until a victim's survivors find no room. Right after a failure
    /// no trim waits for a note, which would need a page as well.
    fn restore_reserve<N: Nand>(&mut self, nand: &mut N, bank: usize) -> Result<(), FtlError> {
        while self.free(bank) < self.config.kept() {
            let Some(victim) = self.victim(bank) else { break };
            let survivors = self.counts.valid(victim);
            let is_stuck = self.free(bank) == 0 && survivors > self.active[bank].frontier.left();
            if is_stuck || survivors >= self.data_pages {
                break;
            }
            self.collect(nand, bank)?;
        }
        Ok(())
    }
}

//! Garbage collection: opening blocks, and what moves out of a victim: sectors gathered in new pages, and whole pages.

use super::emptying::{Survivor, Survivors};
use super::{Holds, Scheme, SectorMapped, Target, LOST, NOTHING, SPLIT};
use crate::parts::blocks::frontier::Frontier;
use crate::parts::merge_buffer::{Gathered, DEAD};
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa, SectorMask, Seq};

impl<S: Scheme> SectorMapped<S> {
    /// The next die in turn with a page for the host. A die with only valid sectors has none until some are written
    /// again; a weak die never has one.
    pub(super) fn die_for_host<N: Nand>(&mut self, nand: &mut N) -> Result<usize, FtlError> {
        if self.taken < self.options.pages_per_die && !self.active[self.turn].is_full() {
            self.taken += 1;
            return Ok(self.turn);
        }
        loop {
            let good = self.keeper.good();
            for may_borrow in [false, true] {
                for _ in 0..self.active.len() {
                    // Folded pages take turns as well.
                    let die = if self.turn + 1 == self.active.len() { 0 } else { self.turn + 1 };
                    (self.turn, self.taken) = (die, 1);
                    if !self.active[die].is_full() || self.stock.works(die) && self.open(nand, die, may_borrow)? {
                        return Ok(die);
                    }
                }
            }
            // If erases have failed meanwhile, a die that still gains something has skipped its turn.
            if self.keeper.good() == good {
                return Err(self.keeper.worn_out(1));
            }
        }
    }

    /// `die`, or another if it is weak, with a page for moved data.
    pub(super) fn die_for_moved<N: Nand>(&mut self, nand: &mut N, die: usize) -> Result<usize, FtlError> {
        let die = self.working_die(die);
        if self.active[die].is_full() {
            self.close(die);
            self.open_reserved(nand, die)?;
        }
        Ok(die)
    }

    /// The next die in turn with a page left in its open block; else `die`. A folded page's sectors partly come from
    /// other dies: if it stayed on the collecting die, the fullest die would get ever fuller.
    fn die_for_folded(&mut self, die: usize) -> usize {
        let dies = self.active.len();
        let has_room = |&at: &usize| !self.active[at].is_full();
        let Some(next) = (1..=dies).map(|step| (self.turn + step) % dies).find(has_room) else { return die };
        (self.turn, self.taken) = (next, 1);
        next
    }

    /// Opens a block for the host on a die with a full one: empties the die's victims until its reserve is whole. Host
    /// pages then fill up the block that took the survivors. False if nothing would be gained. Also false for this
    /// turn, if an erase fails, or if a die with bad blocks needs other dies' blocks and may not borrow them yet.
    #[cold]
    fn open<N: Nand>(&mut self, nand: &mut N, die: usize, may_borrow: bool) -> Result<bool, FtlError> {
        self.close(die);
        let before = nand.ctx().ready();
        let buffered = nand.ctx().set_buffered(false);
        let opened = self.gain(nand, die, may_borrow);
        nand.ctx().set_buffered(buffered);
        nand.ctx().set_ready(before);
        opened
    }

    fn gain<N: Nand>(&mut self, nand: &mut N, die: usize, may_borrow: bool) -> Result<bool, FtlError> {
        loop {
            if self.is_estimated {
                self.recount(nand)?;
            }
            self.take_stock()?;
            if !self.stock.works(die) {
                return Ok(false);
            }
            // The blocks that the map has a claim to stay free.
            let kept = self.set_aside(die);
            let free = self.keeper.count_in(die as u32);
            if !self.active[die].is_full() && free >= kept {
                return Ok(true);
            }
            self.close(die);
            if free > kept {
                self.open_free(nand, die, die as u32)?;
                continue;
            }
            let good = self.keeper.good();
            if !self.collect(nand, die, may_borrow)? {
                return Ok(false);
            }
            if self.keeper.good() < good && self.active.len() > 1 {
                // A die that loses a block for each one it empties stops here, or its survivors would use up the other
                // dies' reserves.
                self.take_stock()?;
                return Ok(false);
            }
        }
    }

    /// Closes a die's full block: from now on it may be a victim.
    fn close(&mut self, die: usize) {
        let frontier = &mut self.active[die];
        if frontier.is_full() && frontier.block.is_some() {
            self.counts.close(frontier.block);
            *frontier = Frontier::none();
        }
    }

    /// Opens a free block from the die `from` as the open block of `die`; false if none there can be erased.
    fn open_free<N: Nand>(&mut self, nand: &mut N, die: usize, from: u32) -> Result<bool, FtlError> {
        let block = scoped(nand, Cause::Gc, |nand| self.keeper.take_in(nand, from))?;
        if let Some(block) = block {
            self.counts.open(block);
            self.active[die] = Frontier::at_start(&self.geometry, block);
        }
        Ok(block.is_some())
    }

    /// Opens a reserved block on a die.
    #[cold]
    fn open_reserved<N: Nand>(&mut self, nand: &mut N, die: usize) -> Result<(), FtlError> {
        let dies = self.geometry.dies();
        let mut order: Vec<u32> = (0..dies).map(|step| (die as u32 + step) % dies).collect();
        order.sort_by_key(|&from| !self.stock.works(from as usize));
        // If failures or a map block have used up the reserve, another die lends a block.
        for &from in &order {
            let has_room = self.stock.works(from as usize) && self.keeper.count_in(from) > self.map.claim_in(from);
            if has_room && self.open_free(nand, die, from)? {
                return Ok(());
            }
        }
        // If a die has just become weak, the others have not made room for its part of the map yet. Its survivors
        // come first, as long as the map has a block to go on.
        for &from in &order {
            if self.stock.has_weak() && self.keeper.count() > 1 && self.open_free(nand, die, from)? {
                return Ok(());
            }
        }
        // The rest of another die's open block is room as well.
        let roomiest = (0..self.active.len()).max_by_key(|&at| (self.active[at].left(), std::cmp::Reverse(at)));
        let roomiest = roomiest.expect("a device has a die");
        if !self.active[roomiest].is_full() {
            self.active.swap(die, roomiest);
            return Ok(());
        }
        // Cuts have closed the blocks of the reserve half filled. The map lends a block until the victim is empty, as long as
        // it has one to go on.
        for &from in &order {
            let may_lend = self.stock.works(from as usize) && self.keeper.count() > 1;
            if may_lend && self.open_free(nand, die, from)? {
                return Ok(());
            }
        }
        Err(self.keeper.worn_out(1))
    }

    /// Whether a die that has lost blocks lacks room of its own for `survivors` sectors.
    pub(super) fn must_borrow(&self, die: usize, survivors: u32) -> bool {
        let at = die as u32;
        self.keeper.good_in(at) < self.geometry.blocks_per_die()
            && self.keeper.count_in(at) <= self.map.claim_in(at)
            && self.active[die].left() * self.gathered < survivors
    }

    /// Reads a page with its list, and takes the sectors still needed.
    pub(super) fn survive_listed<N: Nand>(
        &mut self,
        nand: &mut N,
        page: Ppa,
        found: &mut Survivors,
    ) -> Result<(), FtlError> {
        let mut list = std::mem::take(&mut self.list);
        list.resize(4 * self.gathered as usize, 0);
        let mut contents = N::Buf::zeroed(self.geometry.page_bytes());
        let mut read = nand.read_with_tail(page, &mut contents, &mut list);
        let is_whole = !matches!(read, Err(NandError::Uncorrectable(_)));
        if !is_whole {
            // The list alone may be readable.
            read = nand.read_tail(page, &mut list);
        }
        let sectors: Vec<u32> = super::paging::entries_in(&list).collect();
        self.list = list;
        let oob = match read {
            Ok(oob) => oob,
            Err(NandError::Uncorrectable(_)) => {
                for sector in self.sectors_in(nand, page)? {
                    found.lost.push((sector, self.look_up(nand, sector)?));
                }
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let end = nand.ctx().last();
        nand.ctx().after(end);
        self.prefetch_entries(&sectors);
        let mut needed = SectorMask(0);
        for (place, &sector) in (0..).zip(&sectors) {
            if sector != DEAD && self.look_up(nand, sector)? == page.0 * self.per_page + place {
                needed.0 |= 1 << place;
            }
        }
        let first = page.0 * self.per_page;
        let needed = needed.iter().map(|place| (place, sectors[place as usize]));
        if !is_whole || oob.aux & LOST != 0 {
            found.lost.extend(needed.map(|(place, sector)| (sector, first + place)));
        } else {
            needed.for_each(|(place, sector)| found.push((sector, first + place), oob.origin, &contents, place));
        }
        Ok(())
    }

    /// Reads a whole page and takes its `needed` sectors; `first` is the page's first logical sector.
    fn take<N: Nand>(
        &mut self,
        nand: &mut N,
        page: Ppa,
        first: u32,
        needed: SectorMask,
        found: &mut Survivors,
    ) -> Result<(), FtlError> {
        if needed.is_empty() {
            return Ok(());
        }
        let at = |place: u32| (first + place, page.0 * self.per_page + place);
        let mut contents = N::Buf::zeroed(self.geometry.page_bytes());
        match nand.read(page, &mut contents) {
            // Blanks in place of sectors lost before.
            Ok(oob) if oob.kind == Kind::Lost => found.lost.extend(needed.iter().map(at)),
            Ok(oob) => {
                let end = nand.ctx().last();
                nand.ctx().after(end);
                needed.iter().for_each(|place| found.push(at(place), oob.origin, &contents, place));
            }
            Err(NandError::Uncorrectable(_)) => found.lost.extend(needed.iter().map(at)),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Copies a whole page if it is still needed as one; else takes its needed sectors.
    pub(super) fn survive_whole<N: Nand>(
        &mut self,
        nand: &mut N,
        die: usize,
        page: Ppa,
        found: &mut Survivors,
    ) -> Result<(), FtlError> {
        let at = match nand.read_spare(page) {
            Ok(oob) => oob.expect("a page with data is programmed").lpn,
            Err(NandError::Uncorrectable(_)) => match self.sectors_in(nand, page)?.first() {
                Some(sector) => Lpn(sector / self.per_page),
                None => return Ok(()),
            },
            Err(error) => return Err(error.into()),
        };
        let first = at.0 * self.per_page;
        if self.per_page == 1 || self.options.hybrid.is_some() && self.entry(nand, at.0)? != SPLIT {
            return match self.look_up(nand, first)? == page.0 * self.per_page {
                true => {
                    found.whole += 1;
                    self.copy(nand, die, page, at)
                }
                false => Ok(()),
            };
        }
        let mut needed = SectorMask(0);
        for place in 0..self.per_page {
            if self.look_up(nand, first + place)? == page.0 * self.per_page + place {
                needed.0 |= 1 << place;
            }
        }
        self.take(nand, page, first, needed, found)
    }

    /// Copies a whole page.
    fn copy<N: Nand>(&mut self, nand: &mut N, die: usize, from: Ppa, at: Lpn) -> Result<(), FtlError> {
        loop {
            let die = self.die_for_moved(nand, die)?;
            let (to, mark) = self.active[die].take();
            let seq = self.keeper.seq_ahead();
            match nand.copy(from, to, Oob::renewed(mark, seq)) {
                Ok(_) => {
                    self.holds.set(to, Holds::Whole);
                    self.mapping = Some((to, 0));
                    let end = nand.ctx().last();
                    return self.map_whole(nand, at, (to, seq), end);
                }
                Err(NandError::ProgramFailed(_)) => {
                    self.keeper.pass(seq);
                    self.abandon(die);
                }
                Err(NandError::Uncorrectable(page)) if page == from => {
                    self.active[die].give_back(mark);
                    return self.program_lost(nand, die, at);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes split pages whole again if enough of their sectors are among the survivors; the others are fetched.
    pub(super) fn fold<N: Nand>(&mut self, nand: &mut N, die: usize, found: &mut Survivors) -> Result<(), FtlError> {
        let Some(hybrid) = self.options.hybrid else { return Ok(()) };
        if self.per_page == 1 || found.sectors.len() == 0 {
            return Ok(());
        }
        let enough = match hybrid.gather_from {
            0 => self.per_page,
            from => from.min(self.per_page),
        };
        let mut order: Vec<Survivor> = found.sectors.sectors.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let page_shift = self.page_shift;
        let pages = order.chunk_by(|a, b| a.0 >> page_shift == b.0 >> page_shift);
        pages
            .filter(|of_page| of_page.len() as u32 >= enough)
            .try_for_each(|of_page| self.fold_page(nand, die, of_page, found))
    }

    /// Makes one page whole from its survivors `of_page`; leaves them as they are if it cannot.
    fn fold_page<N: Nand>(
        &mut self,
        nand: &mut N,
        die: usize,
        of_page: &[Survivor],
        found: &mut Survivors,
    ) -> Result<(), FtlError> {
        // A mostly fetched page takes more room than its survivors: the victim must still gain a page.
        let others = (found.left - of_page.len() as u32).div_ceil(self.gathered);
        if found.whole + 1 + others >= self.geometry.pages_per_block() {
            return Ok(());
        }
        let at = Lpn(of_page[0].0 / self.per_page);
        let mut page = N::Buf::zeroed(self.geometry.page_bytes());
        let mut missing = self.full;
        for &(sector, place) in of_page {
            let sector = sector % self.per_page;
            found.sectors.copy_out(place, 1, &mut page, sector as usize);
            missing.0 &= !(1 << sector);
        }
        for sector in missing.iter() {
            // A page with sectors never written would take more room whole.
            if self.look_up(nand, self.sector(at, sector))? == NOTHING {
                return Ok(());
            }
        }
        match self.fetch_for_fold(nand, at, missing, &mut page) {
            Ok(()) => {}
            Err(FtlError::Nand(NandError::Uncorrectable(_))) => return Ok(()),
            Err(error) => return Err(error),
        }
        let oob = Oob::data(at, Seq(0), found.sectors.author(of_page[0].1, 1));
        let target = Target::Moved(self.die_for_folded(die));
        let programmed = self.program(nand, target, &page, &[], oob)?;
        let end = nand.ctx().last();
        self.map_whole(nand, at, programmed, end)?;
        self.events.folded_pages += 1;
        found.whole += 1;
        found.left -= of_page.len() as u32;
        of_page.iter().for_each(|&(_, place)| found.sectors.sectors[place] = DEAD);
        Ok(())
    }

    /// Programs the survivors in gathered pages, and blanks in place of lost sectors.
    pub(super) fn sectors_again<N: Nand>(
        &mut self,
        nand: &mut N,
        die: usize,
        found: &Survivors,
    ) -> Result<(), FtlError> {
        let left = found.sectors.left();
        for first in (0..left.len()).step_by(self.gathered as usize) {
            self.program_sectors(nand, Target::Moved(die), &left, first, 0)?;
        }
        if found.lost.is_empty() {
            return Ok(());
        }
        self.events.lost_pages += 1;
        let mut lost = Gathered::default();
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        found.lost.iter().for_each(|&(sector, _)| lost.push(sector, nandlab_nand::Origin::FTL, &blank, 0));
        for first in (0..lost.len()).step_by(self.gathered as usize) {
            self.program_sectors(nand, Target::Moved(die), &lost, first, LOST)?;
        }
        Ok(())
    }

    /// The logical sectors mapped to a page with an unreadable list: a search through the whole map.
    #[cold]
    fn sectors_in<N: Nand>(&mut self, nand: &mut N, page: Ppa) -> Result<Vec<u32>, FtlError> {
        let addresses = page.0 * self.per_page..(page.0 + 1) * self.per_page;
        let mut found = Vec::new();
        for sector in 0..self.logical_pages * self.per_page {
            if addresses.contains(&self.look_up(nand, sector)?) {
                found.push(sector);
            }
        }
        Ok(found)
    }

    /// Empties and retires the blocks with a failed program; a mount would not know about them.
    #[cold]
    pub(super) fn retire_failing<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while let Some(block) = self.failing.pop_front() {
            scoped(nand, Cause::BadBlock, |nand| match self.empty(nand, block) {
                Ok(()) => self.keeper.retire(nand, block),
                Err(error) => {
                    self.failing.push_front(block);
                    Err(error)
                }
            })?;
            self.counts.set_free(block);
        }
        self.map.retire_failing(nand, &mut self.keeper)
    }
}

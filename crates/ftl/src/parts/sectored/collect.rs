//! Garbage collection: opening blocks, and what moves out of a victim: sectors gathered in new pages, and whole pages.

use super::emptying::{Survivor, Survivors};
use super::{Holds, Place, Scheme, SectorMapped, Target, LOST, NOTHING, SPLIT};
use crate::parts::blocks::frontier::Frontier;
use crate::parts::merge_buffer::{Gathered, DEAD};
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa, SectorMask, Seq};

impl<S: Scheme> SectorMapped<S> {
    /// The next die in turn with a page for the host's sectors of a handle. A die with only valid sectors has none until some are written
    /// again; a weak die never has one.
    pub(super) fn die_for_host<N: Nand>(&mut self, nand: &mut N, handle: usize) -> Result<usize, FtlError> {
        let (die, taken) = self.turns[handle];
        if taken < self.options.pages_per_die && !self.frontier(Place { die, handle }).is_full() {
            self.turns[handle].1 += 1;
            return Ok(die);
        }
        loop {
            let good = self.keeper.good();
            for may_borrow in [false, true] {
                for _ in 0..self.dies() {
                    // Folded pages take turns as well.
                    let last = self.turns[handle].0;
                    let die = if last + 1 == self.dies() { 0 } else { last + 1 };
                    self.turns[handle] = (die, 1);
                    let place = Place { die, handle };
                    if !self.frontier(place).is_full() || self.stock.works(die) && self.open(nand, place, may_borrow)? {
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

    /// `to`, or its handle's place on another die if its die is weak, with a page for moved data.
    pub(super) fn place_for_moved<N: Nand>(&mut self, nand: &mut N, to: Place) -> Result<Place, FtlError> {
        let to = Place { die: self.working_die(to), ..to };
        if self.frontier(to).is_full() {
            self.close(to);
            self.open_reserved(nand, to)?;
        }
        Ok(to)
    }

    /// The next die in turn with a page left in its open block; else that of the victim. A folded page's sectors partly come
    /// from other dies: if it stayed on the collecting die, the fullest die would get ever fuller.
    fn for_folded(&mut self, from: BlockId) -> Target {
        let (dies, handle) = (self.dies(), self.placing.of_block(from));
        let has_room = |&die: &usize| !self.frontier(Place { die, handle }).is_full();
        let last = self.turns[handle].0;
        let Some(die) = (1..=dies).map(|step| (last + step) % dies).find(has_room) else { return self.moved(from) };
        self.turns[handle] = (die, 1);
        Target::Moved { from, to: Place { die, handle } }
    }

    /// Opens a block for the host in a place with a full one: empties the die's victims until its reserve is whole. Host
    /// pages then fill up the block that took the survivors. False if nothing would be gained. Also false for this
    /// turn, if an erase fails, or if a die with bad blocks needs other dies' blocks and may not borrow them yet.
    #[cold]
    fn open<N: Nand>(&mut self, nand: &mut N, place: Place, may_borrow: bool) -> Result<bool, FtlError> {
        self.close(place);
        let before = nand.ctx().ready();
        let buffered = nand.ctx().set_buffered(false);
        let opened = self.gain(nand, place, may_borrow);
        nand.ctx().set_buffered(buffered);
        nand.ctx().set_ready(before);
        opened
    }

    fn gain<N: Nand>(&mut self, nand: &mut N, place: Place, may_borrow: bool) -> Result<bool, FtlError> {
        let die = place.die;
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
            if !self.frontier(place).is_full() && free >= kept {
                return Ok(true);
            }
            self.close(place);
            if free > kept {
                self.open_free(nand, place, (die as u32, true))?;
                continue;
            }
            let good = self.keeper.good();
            if !self.collect(nand, die, may_borrow)? {
                return Ok(false);
            }
            if self.keeper.good() < good && self.dies() > 1 {
                // A die that loses a block for each one it empties stops here, or its survivors would use up the other
                // dies' reserves.
                self.take_stock()?;
                return Ok(false);
            }
        }
    }

    /// Closes a full open block: from now on it may be a victim.
    fn close(&mut self, place: Place) {
        if self.frontier(place).is_full() {
            self.close_open(place);
        }
    }

    /// Closes an open block, full or not.
    pub(super) fn close_open(&mut self, place: Place) {
        let left = std::mem::replace(self.frontier_mut(place), Frontier::none());
        if left.block.is_some() {
            self.placing.closed(left.block, self.keeper.seq());
            self.counts.close(left.block);
        }
    }

    /// Opens a free block from the die `from` at `place`, for the host or for moved sectors; false if none there can be erased.
    fn open_free<N: Nand>(
        &mut self,
        nand: &mut N,
        place: Place,
        (from, is_for_host): (u32, bool),
    ) -> Result<bool, FtlError> {
        let block = scoped(nand, Cause::Gc, |nand| self.keeper.take_in(nand, from))?;
        if let Some(block) = block {
            self.counts.open(block);
            *self.frontier_mut(place) = Frontier::at_start(&self.geometry, block);
            self.placing.opened(block, place.handle, is_for_host);
        }
        Ok(block.is_some())
    }

    /// Opens a reserved block at `place`.
    #[cold]
    fn open_reserved<N: Nand>(&mut self, nand: &mut N, place: Place) -> Result<(), FtlError> {
        let dies = self.geometry.dies();
        let mut order: Vec<u32> = (0..dies).map(|step| (place.die as u32 + step) % dies).collect();
        order.sort_by_key(|&from| !self.stock.works(from as usize));
        // If failures or a map block have used up the reserve, another die lends a block.
        for &from in &order {
            let has_room = self.stock.works(from as usize) && self.keeper.count_in(from) > self.map.claim_in(from);
            if has_room && self.open_free(nand, place, (from, false))? {
                return Ok(());
            }
        }
        // If a die has just become weak, the others have not made room for its part of the map yet. Its survivors
        // come first, as long as the map has a block to go on.
        for &from in &order {
            if self.stock.has_weak() && self.keeper.count() > 1 && self.open_free(nand, place, (from, false))? {
                return Ok(());
            }
        }
        // The rest of another open block is room as well, of one of the same handle first.
        let handles = self.placing.count();
        let is_own = |at: usize| at % handles == place.handle;
        let has_room = |&at: &usize| !self.active[at].is_full();
        let room = |&at: &usize| (is_own(at), self.active[at].left(), std::cmp::Reverse(at));
        if let Some(roomiest) = (0..self.active.len()).filter(has_room).max_by_key(room) {
            let slot = self.place_at(place);
            self.active.swap(slot, roomiest);
            return Ok(());
        }
        // Cuts have closed the blocks of the reserve half filled. The map lends a block until the victim is empty, as long as
        // it has one to go on.
        for &from in &order {
            let may_lend = self.stock.works(from as usize) && self.keeper.count() > 1;
            if may_lend && self.open_free(nand, place, (from, false))? {
                return Ok(());
            }
        }
        Err(self.keeper.worn_out(1))
    }

    /// Whether a block's die that has lost blocks lacks room of its own for its valid sectors.
    pub(super) fn must_borrow(&self, block: BlockId) -> bool {
        let place = self.place_of(block);
        let at = place.die as u32;
        self.keeper.good_in(at) < self.geometry.blocks_per_die()
            && self.keeper.count_in(at) <= self.map.claim_in(at)
            && self.frontier(place).left() * self.gathered < self.counts.valid(block)
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
                    self.copy(nand, page, at)
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
    fn copy<N: Nand>(&mut self, nand: &mut N, from: Ppa, at: Lpn) -> Result<(), FtlError> {
        let victim = self.geometry.block_of(from);
        let place = self.place_of(victim);
        loop {
            let place = self.place_for_moved(nand, place)?;
            let (to, mark) = self.frontier_mut(place).take();
            let seq = self.keeper.seq_ahead();
            match nand.copy(from, to, Oob::renewed(mark, seq)) {
                Ok(_) => {
                    self.holds.set(to, Holds::Whole);
                    self.mapping = Some((to, 0));
                    self.placing.moved(place.handle, victim, self.per_page);
                    let end = nand.ctx().last();
                    return self.map_whole(nand, at, (to, seq), end);
                }
                Err(NandError::ProgramFailed(_)) => {
                    self.keeper.pass(seq);
                    self.abandon(place);
                }
                Err(NandError::Uncorrectable(page)) if page == from => {
                    self.frontier_mut(place).give_back(mark);
                    return self.program_lost(nand, victim, at);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes split pages whole again if enough of their sectors are among the survivors; the others are fetched.
    pub(super) fn fold<N: Nand>(&mut self, nand: &mut N, from: BlockId, found: &mut Survivors) -> Result<(), FtlError> {
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
            .try_for_each(|of_page| self.fold_page(nand, from, of_page, found))
    }

    /// Makes one page whole from its survivors `of_page`; leaves them as they are if it cannot.
    fn fold_page<N: Nand>(
        &mut self,
        nand: &mut N,
        from: BlockId,
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
        let target = self.for_folded(from);
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
        from: BlockId,
        found: &Survivors,
    ) -> Result<(), FtlError> {
        let left = found.sectors.left();
        for first in (0..left.len()).step_by(self.gathered as usize) {
            self.program_sectors(nand, self.moved(from), &left, first, 0)?;
        }
        if found.lost.is_empty() {
            return Ok(());
        }
        self.events.lost_pages += 1;
        let mut lost = Gathered::default();
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        found.lost.iter().for_each(|&(sector, _)| lost.push(sector, nandlab_nand::Origin::FTL, &blank, 0));
        for first in (0..lost.len()).step_by(self.gathered as usize) {
            self.program_sectors(nand, self.moved(from), &lost, first, LOST)?;
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

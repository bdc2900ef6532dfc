//! Sectors and whole pages between the host, the merge buffer and flash.

use super::{Holds, Place, Scheme, SectorMapped, Target, LOST, NOTHING, SPLIT, UNSET};
use crate::parts::blocks::frontier::Frontier;
use crate::parts::merge_buffer::{copy_sector, Gathered, DEAD};
use crate::parts::partial::refuse_lost;
use crate::FtlError;
use nandlab_nand::{BlockId, Cause, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, SectorMask, Seq, Time};

/// A sector to fetch: its place in the logical page, and its address.
type Wanted = (u32, u32);

impl<S: Scheme> SectorMapped<S> {
    /// Programs the next page for the host or for moved data; a block with a failed program is left behind. Map pages
    /// written before [`Keeper::pass`](crate::parts::blocks::keeper::Keeper::pass) do not know this page, and get lower
    /// sequence numbers.
    pub(super) fn program<N: Nand>(
        &mut self,
        nand: &mut N,
        target: Target,
        page: &N::Buf,
        tail: &[u8],
        oob: Oob,
    ) -> Result<(Ppa, Seq), FtlError> {
        // The unused places of a list name no sector.
        let listed = || super::paging::entries_in(tail).filter(|&sector| sector != DEAD).count() as u32;
        let sectors = if tail.is_empty() { self.per_page } else { listed() };
        loop {
            let place = match target {
                Target::Host(handle) => Place { die: self.die_for_host(nand, handle)?, handle },
                Target::Moved { to, .. } => self.place_for_moved(nand, to)?,
            };
            // Opening a block may have moved older copies of this page's sectors, so the sequence number comes last.
            let (to, mark) = self.frontier_mut(place).take();
            let (seq, handle) = (self.keeper.seq_ahead(), place.handle as u8);
            let oob = Oob { aux: oob.aux | mark, seq, handle, ..oob };
            match nand.program(to, page, tail, oob) {
                Ok(_) => {
                    self.holds.set(to, if oob.kind == Kind::Sectors { Holds::Sectors } else { Holds::Whole });
                    self.mapping = Some((to, 0));
                    match target {
                        Target::Host(_) => self.owing = Some(place.die),
                        Target::Moved { from, .. } => self.placing.moved(place.handle, from, sectors),
                    }
                    return Ok((to, oob.seq));
                }
                Err(NandError::ProgramFailed(_)) => {
                    self.keeper.pass(oob.seq);
                    self.abandon(place);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Ends the mapping of a page programmed under `seq`.
    pub(super) fn end_mapping(&mut self, seq: Seq) {
        self.mapping = None;
        self.keeper.pass(seq);
    }

    /// Takes an open block with a failed program from its place; it gets no more pages.
    pub(super) fn abandon(&mut self, place: Place) {
        let failed = std::mem::replace(self.frontier_mut(place), Frontier::none());
        self.placing.closed(failed.block, self.keeper.seq());
        self.failing.push_back(failed.block);
    }

    /// Programs one page of sectors from `from`, starting at `first`, and maps them; returns when the page is on flash.
    pub(super) fn program_sectors<N: Nand>(
        &mut self,
        nand: &mut N,
        target: Target,
        from: &Gathered,
        first: usize,
        aux: u16,
    ) -> Result<Time, FtlError> {
        let count = (from.len() - first).min(self.gathered as usize);
        let sectors = &from.sectors[first..first + count];
        self.prefetch_entries(sectors);
        let mut page = N::Buf::zeroed(self.geometry.page_bytes());
        from.copy_out(first, count, &mut page, 0);
        let mut list = std::mem::take(&mut self.list);
        list.clear();
        sectors.iter().for_each(|sector| list.extend_from_slice(&sector.to_le_bytes()));
        list.resize(4 * self.gathered as usize, u8::MAX);
        let oob = Oob { kind: Kind::Sectors, aux, ..Oob::data(Lpn(0), Default::default(), from.author(first, count)) };
        let programmed = self.program(nand, target, &page, &list, oob);
        self.list = list;
        let ((to, seq), end) = (programmed?, nand.ctx().last());
        let first = to.0 * self.per_page;
        let mut needed = (first..).zip(sectors).filter(|&(_, &sector)| sector != DEAD);
        let mapped = needed.try_for_each(|(address, &sector)| {
            self.map_sector(nand, sector, address, end)?;
            self.mapping = Some((to, address - first + 1));
            Ok(())
        });
        self.end_mapping(seq);
        mapped.map(|()| end)
    }

    /// Programs a whole host page and maps it; the merge buffer forgets its older sectors.
    pub(super) fn write_whole<N: Nand>(
        &mut self,
        nand: &mut N,
        handle: usize,
        at: Lpn,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let oob = Oob::data(at, Default::default(), nand.ctx().origin());
        let buffered = nand.ctx().set_buffered(true);
        let programmed = self.program(nand, Target::Host(handle), page, &[], oob);
        nand.ctx().set_buffered(buffered);
        let programmed = programmed?;
        let end = nand.ctx().last();
        self.placing.programmed(handle, 0, false);
        self.drop_buffered(at, self.full);
        self.map_whole(nand, at, programmed, end)?;
        let free = self.written.pass(end);
        nand.ctx().wait_until(free);
        self.after_write(nand)
    }

    fn drop_buffered(&mut self, at: Lpn, sectors: SectorMask) {
        let (first, per_page) = (at.0 * self.per_page, self.per_page);
        for buffer in self.buffers.iter_mut().filter(|buffer| buffer.len() > 0) {
            let place_of = |sector: u32| sector.checked_sub(first).filter(|&place| place < per_page);
            buffer.drop_where(|sector| place_of(sector).is_some_and(|place| sectors.has(place)));
        }
    }

    /// Reads sectors from the merge buffer and from flash.
    pub(super) fn read_sectors<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError> {
        let mut missing = sectors;
        for place in sectors.iter() {
            let sector = self.sector(at, place);
            for (handle, buffer) in self.buffers.iter().enumerate() {
                if let Some(found) = buffer.find(sector) {
                    buffer.copy_out(found, 1, page, place as usize);
                    missing.0 &= !(1 << place);
                    self.placing.read_buffered(handle);
                    break;
                }
            }
        }
        let mut blank = SectorMask(0);
        let mut wanted: Vec<Wanted> = Vec::new();
        for place in missing.iter() {
            match self.look_up(nand, self.sector(at, place))? {
                NOTHING => blank.0 |= 1 << place,
                address => wanted.push((place, address)),
            }
        }
        page.clear(blank);
        let is_whole = self.options.hybrid.is_some() && !wanted.is_empty() && self.entry(nand, at.0)? != SPLIT;
        let joins = |a: &Wanted, b: &Wanted| {
            let is_next = b.0 == a.0 + 1 && b.1 == a.1 + 1 && a.1 / self.per_page == b.1 / self.per_page;
            is_whole || self.options.coalesce && is_next
        };
        wanted.chunk_by(joins).try_for_each(|run| self.fetch(nand, run, page))
    }

    /// Reads sectors in one flash page.
    fn fetch<N: Nand>(&self, nand: &mut N, run: &[Wanted], page: &mut N::Buf) -> Result<(), FtlError> {
        let from = self.page_of(run[0].1);
        let mut found = N::Buf::zeroed(self.geometry.page_bytes());
        nand.ctx().ask_of_these(run.len() as u32);
        let oob = nand.read(from, &mut found)?;
        refuse_lost(from, oob)?;
        if oob.kind == Kind::Sectors && oob.aux & LOST != 0 {
            return Err(NandError::Uncorrectable(from).into());
        }
        for &(place, address) in run {
            copy_sector(&found, (address % self.per_page) as usize, page, place as usize);
        }
        Ok(())
    }

    /// Reads a page's sectors from flash for folding; consecutive ones are read together.
    pub(super) fn fetch_for_fold<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError> {
        let mut wanted: Vec<Wanted> = Vec::new();
        for place in sectors.iter() {
            wanted.push((place, self.look_up(nand, self.sector(at, place))?));
        }
        wanted.sort_unstable_by_key(|&(_, address)| address);
        let per_page = self.per_page;
        wanted.chunk_by(|a, b| a.1 / per_page == b.1 / per_page).try_for_each(|run| self.fetch(nand, run, page))?;
        let end = nand.ctx().last();
        nand.ctx().after(end);
        Ok(())
    }

    /// Unmaps sectors; in the hybrid map only a whole page at once.
    pub(super) fn trim_sectors<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        if self.options.hybrid.is_some() {
            return if sectors == self.full { self.trim_page(nand, at) } else { Ok(()) };
        }
        self.drop_buffered(at, sectors);
        for place in sectors.iter() {
            let sector = self.sector(at, place);
            if self.look_up(nand, sector)? != NOTHING {
                self.map_sector(nand, sector, NOTHING, 0)?;
                self.trimmed.insert(sector / super::entries_per_map_page(&self.geometry));
            }
        }
        Ok(())
    }

    fn trim_page<N: Nand>(&mut self, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        self.drop_buffered(at, self.full);
        let map_page = at.0 / super::entries_per_map_page(&self.geometry);
        match self.entry(nand, at.0)? {
            NOTHING => return Ok(()),
            SPLIT => {
                let first = self.first_sector_entry + at.0 * self.per_page;
                let mut says_nothing = false;
                for entry in first..first + self.per_page {
                    let old = self.entry(nand, entry)?;
                    says_nothing |= old == NOTHING;
                    self.invalidate(old, 1, 0);
                }
                self.set_entry(nand, at.0, NOTHING)?;
                self.trimmed.insert(map_page);
                if says_nothing {
                    // The sector entries that hide older copies may go only after the page's entry that hides them is
                    // on flash.
                    nandlab_nand::scoped(nand, Cause::Trim, |nand| self.write_map_page(nand, map_page))?;
                    for entry in first..first + self.per_page {
                        if self.entry(nand, entry)? == NOTHING {
                            self.set_entry(nand, entry, UNSET)?;
                        }
                    }
                }
            }
            page => {
                self.invalidate(page * self.per_page, self.per_page, 0);
                self.set_entry(nand, at.0, NOTHING)?;
                self.trimmed.insert(map_page);
            }
        }
        Ok(())
    }

    /// Programs a Lost page for a logical page with lost contents.
    pub(super) fn program_lost<N: Nand>(&mut self, nand: &mut N, from: BlockId, at: Lpn) -> Result<(), FtlError> {
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        let oob = Oob { kind: Kind::Lost, ..Oob::data(at, Default::default(), Origin::FTL) };
        let programmed = self.program(nand, self.moved(from), &blank, &[], oob)?;
        let end = nand.ctx().last();
        self.events.lost_pages += 1;
        self.map_whole(nand, at, programmed, end)
    }
}

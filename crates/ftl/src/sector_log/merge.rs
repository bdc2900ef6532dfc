//! Merges: a logical page and its sectors in the log become a data page.

use super::Scheme;
use crate::parts::blocks::area::Victim;
use crate::parts::engine::Noted;
use crate::parts::engine::{Pages, Target};
use crate::parts::merge_buffer::copy_sector;
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa, Time};

/// The pages read so far from the log block being merged, each with the time its read ends; `None` if a page cannot be
/// read.
pub(super) struct Loaded<B> {
    block: BlockId,
    pages: Vec<Option<(Option<B>, Time)>>,
}

impl Scheme {
    /// Replaces a full log frontier by a block of its die; if the die's share is used up, one of its blocks is merged first.
    #[cold]
    pub(super) fn open_log_block<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        frontier: usize,
    ) -> Result<(), FtlError> {
        pages.take_stock(self)?;
        self.log.close(frontier);
        loop {
            let die = self.log.home(frontier);
            while self.log.is_full_in(die) && self.merge_next(pages, nand, Some(die))? {}
            // Failures have used up the reserve. Another die's free block will do for the log: that die collects with its next
            // page until its reserve is whole again.
            while pages.keeper.count() == 0 {
                if !pages.collect_somewhere(self, nand, die)? {
                    return Err(pages.worn_out(1));
                }
            }
            if let Some(block) = scoped(nand, Cause::Gc, |nand| pages.keeper.take(nand, Some(die)))? {
                self.log.open(frontier, block);
                return Ok(());
            }
        }
    }

    /// Merges the next log block, on a die or on any, and gives it back; false if there are only frontiers.
    pub(super) fn merge_next<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        die: Option<u32>,
    ) -> Result<bool, FtlError> {
        let Some(victim) = self.log.next_victim(self.config.log_victim, die) else { return Ok(false) };
        let cause = if victim.is_failing { Cause::BadBlock } else { Cause::Gc };
        scoped(nand, cause, |nand| self.merge_block(pages, nand, victim))?;
        Ok(true)
    }

    fn merge_block<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, victim: Victim) -> Result<(), FtlError> {
        let was_empty = self.log.valid(victim.block) == 0;
        let places = 0..self.geometry.pages_per_block();
        let mut loaded = Some(Loaded { block: victim.block, pages: places.clone().map(|_| None).collect() });
        for place in places {
            let page = self.geometry.page(victim.block, place);
            // Sectors taken along by an earlier merge, or by a data collection meanwhile, are gone from here.
            while let Some(sector) = self.log.first_in(page) {
                self.merge_page(pages, nand, Target::InTurn, Lpn(sector / self.per_page), &mut loaded)?;
            }
        }
        // As with a data block: a trimmed page's newest sectors may be here, and older ones elsewhere.
        self.write_notes(pages, nand, Target::InTurn)?;
        self.log.release(nand, &mut pages.keeper, victim)?;
        if !victim.is_failing {
            pages.events.gc_runs += 1;
            pages.events.empty_gc_runs += u64::from(was_empty);
        }
        Ok(())
    }

    /// Programs a logical page with all its sectors in the log as a data page.
    pub(super) fn merge_page<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        target: Target,
        at: Lpn,
        loaded: &mut Option<Loaded<N::Buf>>,
    ) -> Result<(), FtlError> {
        let before = nand.ctx().ready();
        let merged = self.assemble(nand, at, loaded)?;
        let stored = match merged {
            Some((page, oob, read)) => {
                nand.ctx().after(read);
                pages.events.folded_pages += 1;
                let oob = Oob::data(at, Default::default(), oob.origin);
                self.store(pages, nand, target, &page, oob)
            }
            None => self.store_lost(pages, nand, target, at),
        };
        nand.ctx().set_ready(before);
        stored
    }

    /// Reads a page and its sectors in the log; returns it with the page's metadata and the time of the last read's
    /// end. `None` if a part cannot be read.
    fn assemble<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        loaded: &mut Option<Loaded<N::Buf>>,
    ) -> Result<Option<(N::Buf, Oob, Time)>, FtlError> {
        let from = self.map.at(at);
        let mut logged = self.log.of_page(at);
        let mut page = N::Buf::zeroed(self.geometry.page_bytes());
        let is_covered = logged.iter().fold(0, |mask, logged| mask | 1 << logged.place) == self.geometry.full_mask().0;
        // If the log has all the page's sectors, the page is not read, and its author does not matter.
        let mut oob = Oob::data(at, Default::default(), nand.ctx().origin());
        let mut end = 0;
        if !is_covered {
            match readable(nand.read(from, &mut page))? {
                Some(found) if found.kind != Kind::Lost => oob = found,
                _ => return Ok(None),
            }
            end = nand.ctx().last();
        }
        logged.sort_unstable_by_key(|logged| (logged.page, logged.at));
        for of_page in logged.chunk_by(|a, b| a.page == b.page) {
            let mut fetched = None;
            let Some(read) = self.load(nand, of_page[0].page, loaded, &mut fetched)? else { return Ok(None) };
            let (contents, read) = read;
            end = end.max(read);
            of_page
                .iter()
                .for_each(|logged| copy_sector(contents, logged.at as usize, &mut page, logged.place as usize));
        }
        Ok(Some((page, oob, end)))
    }

    /// A log page; pages in the block being merged are read only once.
    fn load<'a, N: Nand>(
        &self,
        nand: &mut N,
        page: Ppa,
        loaded: &'a mut Option<Loaded<N::Buf>>,
        fetched: &'a mut Option<N::Buf>,
    ) -> Result<Option<(&'a N::Buf, Time)>, FtlError> {
        let read = |nand: &mut N| -> Result<(Option<N::Buf>, Time), FtlError> {
            let mut contents = N::Buf::zeroed(self.geometry.page_bytes());
            let is_whole = readable(nand.read(page, &mut contents))?.is_some();
            Ok((is_whole.then_some(contents), nand.ctx().last()))
        };
        if let Some(loaded) = loaded.as_mut().filter(|loaded| loaded.block == self.geometry.block_of(page)) {
            let slot = &mut loaded.pages[self.geometry.page_in_block(page) as usize];
            if slot.is_none() {
                *slot = Some(read(nand)?);
            }
            return Ok(slot.as_ref().and_then(|(contents, end)| Some((contents.as_ref()?, *end))));
        }
        let (contents, end) = read(nand)?;
        *fetched = contents;
        Ok(fetched.as_ref().map(|contents| (contents, end)))
    }
}

/// The metadata read; `None` if the page is unreadable.
fn readable(read: Result<Oob, NandError>) -> Result<Option<Oob>, FtlError> {
    match read {
        Ok(oob) => Ok(Some(oob)),
        Err(NandError::Uncorrectable(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

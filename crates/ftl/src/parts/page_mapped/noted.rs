//! Schemes with a map in memory, and trim notes among the data pages.

use super::{Pages, Scheme, Target};
use crate::parts::noted_map::{Holds, NotedMap};
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Kind, Lpn, Nand, Oob, Origin, PageBuf, Ppa, Time};

/// A scheme with a [`NotedMap`]; it writes, moves and trims pages as follows.
pub(crate) trait Noted: Scheme {
    fn map(&self) -> &NotedMap;
    fn map_mut(&mut self) -> &mut NotedMap;

    /// Called when the copy at `old` is superseded: it counts until the operation that ends at `end` is on flash.
    #[inline]
    fn superseded(&mut self, _pages: &mut Pages, _at: Lpn, _old: Ppa, _end: Time) {}

    /// Programs a whole data page and maps it.
    #[inline]
    fn store<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        target: Target,
        page: &N::Buf,
        oob: Oob,
    ) -> Result<(), FtlError> {
        let to = pages.program(self, nand, target, page, &[], oob)?;
        let end = nand.ctx().last();
        let old = self.map_mut().write(oob.lpn, to, end);
        if old.is_some() {
            self.superseded(pages, oob.lpn, old, end);
            pages.supersede(old, end);
        }
        pages.area.set_valid(to);
        Ok(())
    }

    /// Unmaps a page and writes overdue notes.
    fn unmap<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        let old = self.map_mut().trim(at);
        if old.is_some() {
            self.superseded(pages, at, old, 0);
            pages.area.set_invalid(old);
            let (reserve, of_block) = (pages.reserve_blocks, pages.geometry.pages_per_block());
            while let Some(segment) = self.map().overdue(reserve, of_block) {
                self.write_note(pages, nand, Target::InTurn, segment)?;
            }
        }
        Ok(())
    }

    /// Moves a valid page, unchanged, to `die`.
    fn move_page<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, from: Ppa, die: u32) -> Result<(), FtlError> {
        let Some((to, stored)) = pages.copy(self, nand, from, die)? else {
            return self.replace_lost(pages, nand, from, die);
        };
        self.map_mut().set(stored.kind, stored.lpn, to);
        pages.supersede(from, nand.ctx().last());
        pages.area.set_valid(to);
        Ok(())
    }

    /// Handles a valid page with lost contents. A page of kind Lost takes its place, or a later mount would bring back
    /// an older copy; a note is written again.
    #[cold]
    fn replace_lost<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, from: Ppa, die: u32) -> Result<(), FtlError> {
        match self.map().holds(nand, from)? {
            Holds::Note(segment) => self.write_note(pages, nand, Target::Moved(die), segment),
            Holds::Page(at) => self.store_lost(pages, nand, Target::Moved(die), at),
        }
    }

    /// Stores a Lost page.
    #[cold]
    fn store_lost<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        target: Target,
        at: Lpn,
    ) -> Result<(), FtlError> {
        pages.events.lost_pages += 1;
        let blank = N::Buf::zeroed(pages.geometry.page_bytes());
        let oob = Oob { kind: Kind::Lost, ..Oob::data(at, Default::default(), Origin::FTL) };
        self.store(pages, nand, target, &blank, oob)
    }

    /// Writes the note of `segment` again.
    fn write_note<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        target: Target,
        segment: u32,
    ) -> Result<(), FtlError> {
        scoped(nand, Cause::Trim, |nand| {
            let note = self.map().note(segment, pages.keeper.seq());
            let blank = N::Buf::zeroed(pages.geometry.page_bytes());
            let oob = Oob { kind: Kind::TrimNote, ..Oob::data(Lpn(segment), Default::default(), Origin::FTL) };
            let to = pages.program(self, nand, target, &blank, &note, oob)?;
            let (old, end) = self.map_mut().renew(segment, to, nand.ctx().last());
            pages.keeper.noted(end);
            if old.is_some() {
                pages.area.set_invalid(old);
            }
            pages.area.set_valid(to);
            Ok(())
        })
    }

    /// Writes the outdated notes.
    fn write_notes<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, target: Target) -> Result<(), FtlError> {
        while let Some(segment) = self.map().pending() {
            self.write_note(pages, nand, target, segment)?;
        }
        Ok(())
    }

    /// Asserts that a mount would find the same map and notes, and that exactly their pages are valid. `newest` returns
    /// the sequence number of each logical page's newest copy.
    fn check_map<N: Nand>(&self, pages: &Pages, nand: &mut N, newest: impl Fn(Lpn) -> u64) {
        self.map().check(nand, newest);
        self.map().valid().for_each(|page| assert!(pages.area.is_valid(page), "page {page} is not valid"));
        let blocks = (0..pages.geometry.blocks()).map(nandlab_nand::BlockId);
        let valid: u32 = blocks.map(|block| pages.area.valid_pages(block)).sum();
        assert_eq!(valid as usize, self.map().valid().count(), "valid pages of data");
    }
}

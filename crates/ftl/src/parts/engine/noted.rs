//! Schemes with a map in memory, and trim notes among the data pages.

use super::{Pages, Scheme, Target};
use crate::parts::noted_map::NotedMap;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Kind, Lpn, Nand, Oob, Origin, PageBuf, Ppa, Time};

/// A scheme with a [`NotedMap`]; it writes, moves and trims pages as follows.
pub(crate) trait Noted: Scheme {
    fn map(&self) -> &NotedMap;
    fn map_mut(&mut self) -> &mut NotedMap;

    /// Called when the copy at `old` is superseded: it counts until the operation that ends at `end` is on flash.
    #[inline]
    fn superseded(&mut self, _pages: &mut Pages, _at: Lpn, _old: Ppa, _end: Time) {}

    /// Called when a page or a segment's note is mapped to `to`, its block's next page.
    #[inline]
    fn placed(&mut self, _kind: Kind, _at: Lpn, _to: Ppa) {}

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
        self.map_stored(pages, nand, (oob.lpn, to));
        Ok(())
    }

    /// Maps the page programmed last.
    #[inline(always)]
    fn map_stored<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, (at, to): (Lpn, Ppa)) {
        self.map_to(pages, (at, to), nand.ctx().last());
        pages.mapped(at, to);
    }

    /// Maps a page to `to`, with its program ending at `end`. The older copy becomes invalid.
    #[inline(always)]
    fn map_to(&mut self, pages: &mut Pages, (at, to): (Lpn, Ppa), end: Time) {
        let old = self.map_mut().write(at, to, end);
        self.placed(Kind::Data, at, to);
        if old.is_some() {
            self.superseded(pages, at, old, end);
            pages.supersede(old, end);
        }
    }

    /// Unmaps a page and writes overdue notes.
    fn unmap<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn) -> Result<(), FtlError> {
        let old = self.map_mut().trim(at);
        if old.is_some() {
            self.superseded(pages, at, old, 0);
            pages.trimmed(at, old);
            let (reserve, of_block) = (pages.config.reserve_blocks, pages.data_pages);
            while let Some(segment) = self.map().overdue(reserve, of_block) {
                self.write_note(pages, nand, Target::InTurn, segment)?;
            }
        }
        Ok(())
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
            self.placed(Kind::TrimNote, Lpn(segment), to);
            pages.keeper.noted(end);
            if old.is_some() {
                pages.table.set_invalid(old);
            }
            pages.mapped(Lpn::NONE, to);
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
        pages.check_owners(self.map().valid());
    }
}

//! Trim notes: each is written at a host frontier, or at that of moved pages if the host fills reclaim units, and moved like any other page.

use super::PageMap;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Kind, Lpn, Nand, PageBuf, Ppa};

impl PageMap {
    /// The note of `segment` for the present map.
    pub(super) fn note(&self, segment: u32) -> Vec<u8> {
        self.map.note(segment, self.keeper.seq())
    }

    /// Writes a new note for `segment`.
    pub(super) fn write_note<N: Nand>(&mut self, nand: &mut N, segment: u32) -> Result<(), FtlError> {
        let note = self.note(segment);
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        let frontier = self.placing.own_frontier();
        let die = self.next_die(frontier);
        scoped(nand, Cause::Trim, |nand| {
            let (die, to) = self.program(nand, (die, frontier), &blank, &note, (Lpn(segment), Kind::TrimNote))?;
            self.adopt_note(nand, segment, to);
            self.collect(nand, die)
        })
    }

    /// Records the note of `segment` at `to`; the old one becomes invalid.
    pub(super) fn adopt_note<N: Nand>(&mut self, nand: &mut N, segment: u32, to: Ppa) {
        // The older note hid a page written since. This write must be on flash before the older note is erased with its
        // block.
        let (old, noted) = self.map.renew(segment, to, nand.ctx().last());
        self.keeper.noted(noted);
        if old.is_some() {
            self.table.set_invalid(old);
        }
        self.table.set_valid(to);
        self.placing.own(to, Lpn::NONE);
    }
}

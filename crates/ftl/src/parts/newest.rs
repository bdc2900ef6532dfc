//! The newest copies on flash, for page maps that are not on flash themselves.

use super::blocks::scan::{Page, Scans};
use super::trim_note;
use super::trim_notes::TrimNotes;
use crate::FtlError;
use nandlab_nand::tables::Table;
use nandlab_nand::{BlockId, Geometry, Lpn, Nand, NandError, Ppa};
use std::collections::BTreeMap;

/// Each logical page's newest copy, and the trim notes.
pub(crate) struct Newest {
    pub(crate) map: Table<Ppa>,
    /// The copies' sequence numbers, 0 without a copy; none at all if nothing was ever written.
    pub(crate) seqs: Vec<u64>,
    /// The notes' segments and places, each with its page's sequence number.
    notes: Vec<(u64, Lpn, Ppa)>,
    /// The highest sequence number on flash, 0 on an empty device.
    pub(crate) highest: u64,
}

impl Newest {
    /// Collected from all blocks' scans.
    pub(crate) fn of(geometry: &Geometry, logical_pages: u32, scans: &Scans) -> Self {
        let count = logical_pages as usize;
        let mut newest = Self { map: Table::blank(count), seqs: Vec::new(), notes: Vec::new(), highest: 0 };
        if scans.are_untouched() {
            return newest;
        }
        newest.seqs = vec![0; count];
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            let Some(scan) = scan else { continue };
            newest.highest = newest.highest.max(scan.highest);
            newest
                .notes
                .extend(scan.notes().map(|page| (page.oob.seq.0, page.oob.lpn, geometry.page(block, page.place))));
            for &Page { place, oob } in scan.copies() {
                if oob.seq.0 > newest.seqs[oob.lpn.index()] {
                    newest.map.set(oob.lpn.index(), geometry.page(block, place));
                    newest.seqs[oob.lpn.index()] = oob.seq.0;
                }
            }
        }
        newest
    }

    /// Whether nothing was ever written.
    pub(crate) fn is_blank(&self) -> bool {
        self.seqs.is_empty()
    }

    /// Unmaps pages that notes record as trimmed later, and keeps each segment's newest note in `kept`.
    ///
    /// # Errors
    /// If a note cannot be read for a reason other than bit errors: an unreadable note counts for nothing.
    pub(crate) fn apply_notes<N: Nand>(&mut self, nand: &mut N, kept: &mut TrimNotes) -> Result<(), FtlError> {
        let mut note = vec![0; nand.geometry().page_bytes() as usize];
        let mut ages = vec![0; kept.segments()];
        // A moved note has a twin if the erase of its old block was cut. The one programmed last counts, or the mount would
        // take the block for one in use.
        self.notes.sort_unstable();
        let mut hidden = BTreeMap::new();
        for (_, segment, at) in std::mem::take(&mut self.notes) {
            match nand.read_tail(at, &mut note) {
                Ok(_) => {}
                Err(NandError::Uncorrectable(_)) => continue,
                Err(error) => return Err(error.into()),
            }
            let (seq, unmapped) = trim_note::read(&note);
            let first = kept.first_of(segment);
            for at in unmapped.map(|page| (first + page) as usize) {
                if self.seqs.get(at).is_some_and(|&copy| copy < seq) {
                    self.map.set(at, Ppa::NONE);
                    let hides: &mut (u64, Lpn) = hidden.entry(at).or_insert((seq, segment));
                    hides.0 = hides.0.max(seq);
                }
            }
            if ages[segment.index()] <= seq {
                ages[segment.index()] = seq;
                *kept.entry(segment) = at;
            }
        }
        if !self.is_blank() {
            kept.follow(&self.map);
        }
        // The newest note may know the page as written again, and that copy is lost: only an older note hides what came before,
        // and nothing keeps that note.
        for (at, (seq, segment)) in hidden {
            if seq < ages[segment.index()] {
                kept.trimmed(Lpn(at as u32));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::blocks::scan::scan;
    use nandlab_nand::backed::Backed;
    use nandlab_nand::{Kind, Oob, Origin, PageBuf, Rules, Seq};

    /// A note was moved from block 1 to block 0, and the erase of block 1 was cut.
    #[test]
    fn the_copy_of_a_note_that_was_programmed_last_counts() {
        let geometry = Geometry::single_die(2, 4, 512).unwrap();
        let mut nand = Backed::ram(geometry, Rules::default());
        let note = trim_note::blank(&geometry, 3);
        let blank = PageBuf::zeroed(512);
        for (block, seq) in [(1, 4), (0, 5)] {
            let oob = Oob { kind: Kind::TrimNote, ..Oob::data(Lpn(0), Seq(seq), Origin::FTL) };
            nand.program(geometry.page(BlockId(block), 0), &blank, &note, oob).unwrap();
        }
        let mut kept = TrimNotes::new(&geometry, 4, true);
        let scans = scan(&mut nand).unwrap();
        Newest::of(&geometry, 4, &scans).apply_notes(&mut nand, &mut kept).unwrap();
        assert_eq!(*kept.entry(Lpn(0)), geometry.page(BlockId(0), 0));
    }
}

//! Note pages that make trims survive a power cut.
//!
//! The logical address space is cut into segments of as many pages as one note page has bits. A note holds
//! one bit for each page of its segment, set where the page is unmapped, and the sequence number at which it
//! was made: at mount a set bit unmaps every copy older than that. The number of the note page itself says
//! nothing, since a relocation renews it.

use super::PageMap;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Geometry, Kind, Lpn, Nand, PageBuf, Ppa};
use std::collections::BTreeSet;

/// Bytes of a note before its bitmap: the sequence number up to which it speaks.
const HEADER: usize = 8;

/// Logical pages of a segment.
fn pages_per_segment(geometry: &Geometry) -> u32 {
    (geometry.page_bytes() - HEADER as u32) * 8
}

/// Where the notes are and which segments need a new one.
#[derive(Debug)]
pub(super) struct TrimNotes {
    pages_per_segment: u32,
    /// The live note of each segment.
    notes: Vec<Ppa>,
    changed: BTreeSet<u32>,
    durable: bool,
}

impl TrimNotes {
    pub(super) fn new(geometry: &Geometry, logical_pages: u32, durable: bool) -> Self {
        let pages_per_segment = pages_per_segment(geometry);
        let segments = logical_pages.div_ceil(pages_per_segment) as usize;
        Self { pages_per_segment, notes: vec![Ppa::NONE; segments], changed: BTreeSet::new(), durable }
    }

    /// Most pages that notes ever hold valid, the one that is being replaced included.
    pub(super) fn most_pages_for(geometry: &Geometry, logical_pages: u32, durable: bool) -> u32 {
        if durable {
            logical_pages.div_ceil(pages_per_segment(geometry)) + 1
        } else {
            0
        }
    }

    pub(super) fn most_pages(&self) -> u32 {
        if self.durable {
            self.notes.len() as u32 + 1
        } else {
            0
        }
    }

    pub(super) fn segments(&self) -> usize {
        self.notes.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        4 * self.notes.len() as u64
    }

    /// A page was unmapped.
    pub(super) fn trimmed(&mut self, at: Lpn) {
        if self.durable {
            self.changed.insert(at.0 / self.pages_per_segment);
        }
    }

    /// A segment whose note is out of date.
    pub(super) fn pending(&self) -> Option<u32> {
        self.changed.first().copied()
    }

    /// Where the live note of `segment` is.
    pub(super) fn entry(&mut self, segment: Lpn) -> &mut Ppa {
        &mut self.notes[segment.index()]
    }

    /// The segment whose live note is at `page`.
    pub(super) fn segment_at(&self, page: Ppa) -> Option<u32> {
        self.notes.iter().position(|&note| note == page).map(|segment| segment as u32)
    }

    /// The live notes by segment.
    pub(super) fn live(&self) -> impl Iterator<Item = (u32, Ppa)> + '_ {
        (0..).zip(self.notes.iter().copied()).filter(|(_, page)| page.is_some())
    }

    /// Reads a note: up to which sequence number it speaks, and the logical pages that it unmaps.
    pub(super) fn read<'a>(&self, segment: u32, note: &'a [u8]) -> (u64, impl Iterator<Item = Lpn> + 'a) {
        let (header, bitmap) = note.split_at(HEADER);
        let seq = header.iter().rev().fold(0, |seq, &byte| seq << 8 | u64::from(byte));
        let first = segment * self.pages_per_segment;
        let set = (0..self.pages_per_segment).filter(|bit| bitmap[*bit as usize / 8] >> (bit % 8) & 1 == 1);
        (seq, set.map(move |bit| Lpn(first + bit)))
    }
}

impl PageMap {
    /// The note of `segment` for the present map.
    pub(super) fn note(&self, segment: u32) -> Vec<u8> {
        let mut note = vec![0; self.geometry.page_bytes() as usize];
        note[..HEADER].copy_from_slice(&self.seq.to_le_bytes());
        let pages = self.notes.pages_per_segment as usize;
        let entries = self.map.iter().skip(segment as usize * pages).take(pages);
        for (bit, _) in entries.enumerate().filter(|(_, page)| !page.is_some()) {
            note[HEADER + bit / 8] |= 1 << (bit % 8);
        }
        note
    }

    /// Writes a new note for `segment` at the host frontier.
    pub(super) fn write_note<N: Nand>(&mut self, nand: &mut N, segment: u32) -> Result<(), FtlError> {
        let note = self.note(segment);
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        let die = self.next_die();
        scoped(nand, Cause::Trim, |nand| {
            let to = self.program(nand, die, &blank, &note, (Lpn(segment), Kind::TrimNote))?;
            self.adopt_note(segment, to);
            self.collect(nand, die)
        })
    }

    /// The note of `segment` is now at `to`; the old one becomes invalid.
    pub(super) fn adopt_note(&mut self, segment: u32, to: Ppa) {
        let old = std::mem::replace(self.notes.entry(Lpn(segment)), to);
        self.notes.changed.remove(&segment);
        if old.is_some() {
            self.table.set_invalid(old);
        }
        self.table.set_valid(to);
    }
}

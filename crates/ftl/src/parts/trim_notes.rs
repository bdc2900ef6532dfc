//! Trim notes among the host's pages: their places, and the segments that need a new one.

use super::trim_note;
use nandlab_nand::tables::{zeroed, Table};
use nandlab_nand::{Geometry, Lpn, Ppa};
use std::collections::BTreeSet;

/// The notes' places and the segments that need a new one.
#[derive(Debug)]
pub(crate) struct TrimNotes {
    pages_per_segment: u32,
    /// Each segment's live note.
    notes: Vec<Ppa>,
    changed: BTreeSet<u32>,
    /// A bit per logical page, set while it is mapped: the map again, in the form of the notes. Firmware can derive it
    /// from the map, so it does not count as memory.
    mapped: Vec<u64>,
    durable: bool,
}

impl TrimNotes {
    pub(crate) fn new(geometry: &Geometry, logical_pages: u32, durable: bool) -> Self {
        let segments = trim_note::segments(geometry, logical_pages) as usize;
        let words = logical_pages.div_ceil(64) as usize;
        Self {
            pages_per_segment: trim_note::pages_per_segment(geometry),
            notes: vec![Ppa::NONE; segments],
            changed: BTreeSet::new(),
            mapped: zeroed(if durable { words } else { 0 }),
            durable,
        }
    }

    /// Most pages that notes ever keep valid, including the one being replaced.
    pub(crate) fn most_pages_for(geometry: &Geometry, logical_pages: u32, durable: bool) -> u32 {
        if durable {
            trim_note::segments(geometry, logical_pages) + 1
        } else {
            0
        }
    }

    pub(crate) fn most_pages(&self) -> u32 {
        if self.durable {
            self.notes.len() as u32 + 1
        } else {
            0
        }
    }

    pub(super) fn segments(&self) -> usize {
        self.notes.len()
    }

    /// A segment's first logical page.
    pub(crate) fn first_of(&self, segment: Lpn) -> u32 {
        segment.0 * self.pages_per_segment
    }

    pub(crate) fn bytes(&self) -> u64 {
        4 * self.notes.len() as u64
    }

    /// Records a page as unmapped.
    pub(crate) fn trimmed(&mut self, at: Lpn) {
        if self.durable {
            self.changed.insert(at.0 / self.pages_per_segment);
            self.mapped[at.index() / 64] &= !(1 << (at.0 % 64));
        }
    }

    /// Records an unmapped page as mapped.
    #[inline]
    pub(crate) fn mapped(&mut self, at: Lpn) {
        if let Some(word) = self.mapped.get_mut(at.index() / 64) {
            *word |= 1 << (at.0 % 64);
        }
    }

    /// Takes over the map found by a mount.
    pub(super) fn follow(&mut self, map: &Table<Ppa>) {
        for (at, _) in map.entries() {
            self.mapped(Lpn(at as u32));
        }
    }

    /// A segment that must be noted now. Garbage collection writes all pending notes before an erase, and the reserve
    /// has room for a limited number.
    pub(crate) fn overdue(&self, reserve: u32, pages_per_block: u32) -> Option<u32> {
        self.pending().filter(|_| self.changed.len() > self.most_pending(reserve, pages_per_block) as usize)
    }

    /// Most outdated segments before one is overdue.
    pub(crate) fn most_pending(&self, reserve: u32, pages_per_block: u32) -> u32 {
        if self.durable {
            (1 + (reserve - 1) * pages_per_block / 2).min(self.notes.len() as u32)
        } else {
            0
        }
    }

    /// A segment with an outdated note.
    pub(crate) fn pending(&self) -> Option<u32> {
        self.changed.first().copied()
    }

    /// The place of the live note of `segment`.
    pub(crate) fn entry(&mut self, segment: Lpn) -> &mut Ppa {
        &mut self.notes[segment.index()]
    }

    /// The place of the live note of `segment`, if there is such a segment.
    pub(crate) fn at(&self, segment: u32) -> Option<Ppa> {
        self.notes.get(segment as usize).copied()
    }

    /// The segment with its live note at `page`.
    pub(crate) fn segment_at(&self, page: Ppa) -> Option<u32> {
        self.notes.iter().position(|&note| note == page).map(|segment| segment as u32)
    }

    /// The live notes by segment.
    pub(crate) fn live(&self) -> impl Iterator<Item = (u32, Ppa)> + '_ {
        (0..).zip(self.notes.iter().copied()).filter(|(_, page)| page.is_some())
    }

    /// The note of `segment` for the present map, valid up to `seq`.
    pub(crate) fn note(&self, geometry: &Geometry, segment: u32, seq: u64) -> Vec<u8> {
        let mut note = trim_note::blank(geometry, seq);
        // A segment is a whole number of words; bits past the last logical page have no meaning.
        let words = self.pages_per_segment as usize / 64;
        let mapped = self.mapped.iter().skip(segment as usize * words).take(words);
        for (bytes, word) in trim_note::bits_mut(&mut note).chunks_exact_mut(8).zip(mapped) {
            bytes.copy_from_slice(&(!word).to_le_bytes());
        }
        note
    }

    /// Records the note of `segment` at `to`; returns the old note's place.
    pub(crate) fn renewed(&mut self, segment: u32, to: Ppa) -> Ppa {
        self.changed.remove(&segment);
        std::mem::replace(self.entry(Lpn(segment)), to)
    }
}

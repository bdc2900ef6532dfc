//! A map in memory, by logical page, with notes on flash for trimmed pages.
//!
//! A mount finds a page by its newest copy. A trimmed page has an old copy too, so a note must say that it counts no
//! more.

use super::copies::Owned;
use super::newest::Newest;
use super::trim_notes::TrimNotes;
use crate::FtlError;
use nandlab_nand::tables::Table;
use nandlab_nand::{Geometry, Kind, Lpn, Nand, NandError, Ppa, Time};

/// A map of all logical pages.
#[derive(Debug)]
pub(crate) struct NotedMap {
    geometry: Geometry,
    map: Table<Ppa>,
    /// Whether a mount found something written.
    was_used: bool,
    notes: TrimNotes,
    /// When the last write to an unmapped page ends: a note without this page must not outlive it.
    mapped: Time,
}

/// A valid page's contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// A logical page.
    Page(Lpn),
    /// The note of a segment.
    Note(u32),
}

impl NotedMap {
    /// The map found by a mount; without `durable` no trim is noted.
    ///
    /// # Errors
    /// If a note cannot be read for a reason other than bit errors.
    pub(crate) fn found<N: Nand>(
        nand: &mut N,
        geometry: &Geometry,
        mut newest: Newest,
        durable: bool,
    ) -> Result<Self, FtlError> {
        let mut notes = TrimNotes::new(geometry, newest.map.len() as u32, durable);
        newest.apply_notes(nand, &mut notes)?;
        Ok(Self { geometry: *geometry, was_used: !newest.is_blank(), map: newest.map, notes, mapped: 0 })
    }

    /// Logical pages.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// A page's newest copy; [`Ppa::NONE`] if it is unmapped.
    #[inline]
    pub(crate) fn at(&self, at: Lpn) -> Ppa {
        self.map.at(at.index())
    }

    /// The same for any number.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<Ppa> {
        self.map.get(at)
    }

    /// All newest copies, by logical page.
    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = Ppa> + '_ {
        self.map.iter()
    }

    /// The mapped pages that a mount found, and their newest copies.
    pub(crate) fn found_pages(&self) -> impl Iterator<Item = (Lpn, Ppa)> + '_ {
        let entries = self.was_used.then(|| self.map.entries());
        entries.into_iter().flatten().map(|(at, page)| (Lpn(at as u32), page))
    }

    /// Every valid page that a mount found.
    pub(crate) fn found_valid(&self) -> impl Iterator<Item = Ppa> + '_ {
        self.notes.live().map(|(_, page)| page).chain(self.found_pages().map(|(_, page)| page))
    }

    /// Every valid page that a mount found, and the logical page it holds; none for a note.
    pub(crate) fn found_owned(&self) -> impl Iterator<Item = (Ppa, Lpn)> + '_ {
        let notes = self.notes.live().map(|(_, page)| (page, Lpn::NONE));
        notes.chain(self.found_pages().map(|(at, page)| (page, at)))
    }

    /// Every valid page: newest copies and live notes.
    pub(crate) fn valid(&self) -> impl Iterator<Item = Ppa> + '_ {
        let notes = self.notes.live().map(|(_, page)| page);
        notes.chain(self.map.entries().map(|(_, page)| page))
    }

    #[inline]
    pub(crate) fn prefetch(&self, at: Lpn) {
        self.map.prefetch(at.index());
    }

    /// Maps a host page to `to`, with its program ending at `end`; returns the older copy.
    #[inline]
    pub(crate) fn write(&mut self, at: Lpn, to: Ppa, end: Time) -> Ppa {
        let old = self.map.replace(at.index(), to);
        if !old.is_some() {
            self.notes.mapped(at);
            self.mapped = self.mapped.max(end);
        }
        old
    }

    /// Unmaps a page; returns its last copy.
    pub(crate) fn trim(&mut self, at: Lpn) -> Ppa {
        let old = self.map.replace(at.index(), Ppa::NONE);
        if old.is_some() {
            self.notes.trimmed(at);
        }
        old
    }

    /// Maps a page, or a segment's note, to `to` after a move; returns where it was.
    #[inline]
    pub(crate) fn set(&mut self, kind: Kind, at: Lpn, to: Ppa) -> Ppa {
        match kind {
            Kind::TrimNote => std::mem::replace(self.notes.entry(at), to),
            _ => self.map.replace(at.index(), to),
        }
    }

    /// The same if it still was at `from`: the host may have written or trimmed the page since it was copied. Tells whether it
    /// was.
    #[inline]
    pub(crate) fn follow(&mut self, kind: Kind, at: Lpn, (from, to): (Ppa, Ppa)) -> bool {
        match kind {
            Kind::TrimNote => {
                let note = self.notes.entry(at);
                let is_here = *note == from;
                if is_here {
                    *note = to;
                }
                is_here
            }
            _ => self.map.follow(at.index(), from, to),
        }
    }

    /// Whether a page still counts.
    #[inline]
    pub(crate) fn counts(&self, kind: Kind, at: Lpn, page: Ppa) -> bool {
        match kind {
            Kind::TrimNote => self.notes.at(at.0) == Some(page),
            _ => self.map.get(at.index()) == Some(page),
        }
    }

    /// A valid page's contents, found by a search: its spare area may be lost.
    ///
    /// # Panics
    /// If the page is not valid.
    #[cold]
    pub(crate) fn search(&self, page: Ppa) -> Holds {
        self.find(page).expect("a valid page is a note or mapped")
    }

    /// A valid page's contents, from its spare area or a search.
    ///
    /// # Errors
    /// If the spare area cannot be read for a reason other than bit errors.
    pub(crate) fn holds<N: Nand>(&self, nand: &mut N, page: Ppa) -> Result<Holds, FtlError> {
        if let Some(note) = self.note_at(page) {
            return Ok(note);
        }
        match nand.read_spare(page) {
            Ok(oob) => Ok(Holds::Page(oob.expect("a valid page is programmed").lpn)),
            Err(NandError::Uncorrectable(_)) => Ok(self.search(page)),
            Err(error) => Err(error.into()),
        }
    }

    /// The same for any page.
    #[cold]
    pub(crate) fn find(&self, page: Ppa) -> Option<Holds> {
        let mapped = || Some(Holds::Page(Lpn(self.map.iter().position(|at| at == page)? as u32)));
        self.note_at(page).or_else(mapped)
    }

    /// The live note at a page.
    pub(crate) fn note_at(&self, page: Ppa) -> Option<Holds> {
        self.notes.segment_at(page).map(Holds::Note)
    }

    /// The note of `segment` for the present map, valid up to `seq`.
    pub(crate) fn note(&self, segment: u32, seq: u64) -> Vec<u8> {
        self.notes.note(&self.geometry, segment, seq)
    }

    /// Records the note of `segment` at `to`, with its program ending at `end`. Returns the older note, and when both
    /// are superseded: the older note hid a page written since, so this write must be on flash before the older note's
    /// block is erased.
    pub(crate) fn renew(&mut self, segment: u32, to: Ppa, end: Time) -> (Ppa, Time) {
        (self.notes.renewed(segment, to), end.max(self.mapped))
    }

    /// A segment with an outdated note.
    pub(crate) fn pending(&self) -> Option<u32> {
        self.notes.pending()
    }

    /// A segment that needs a note now; see [`TrimNotes::overdue`].
    pub(crate) fn overdue(&self, reserve: u32, pages_per_block: u32) -> Option<u32> {
        self.notes.overdue(reserve, pages_per_block)
    }

    /// Most outdated segments before one is overdue.
    pub(crate) fn most_pending(&self, reserve: u32, pages_per_block: u32) -> u32 {
        self.notes.most_pending(reserve, pages_per_block)
    }

    /// Most pages held by notes.
    pub(crate) fn most_notes(&self) -> u32 {
        self.notes.most_pages()
    }

    /// Asserts that flash matches the map and the notes, with nothing newer. `newest` returns the sequence number of
    /// each page's newest copy on flash, 0 without one.
    ///
    /// # Panics
    /// With the page.
    pub(crate) fn check<N: Nand>(&self, nand: &mut N, newest: impl Fn(Lpn) -> u64) {
        let mut owned = Owned::none_of(self.geometry.pages());
        self.valid().for_each(|page| assert!(owned.insert(page.0), "page {page} is mapped twice"));
        let read = |nand: &mut N, page| match nand.read_spare(page) {
            Ok(Some(oob)) => oob,
            other => panic!("page {page} is mapped: {other:?}"),
        };
        for (at, page) in self.map.entries().map(|(at, page)| (Lpn(at as u32), page)) {
            let oob = read(nand, page);
            assert_eq!(oob.lpn, at, "page {page} is mapped to logical page {at} and holds another");
            assert!(oob.seq.0 >= newest(at), "logical page {at} is mapped to {page}, flash has a newer copy");
            assert!(matches!(oob.kind, Kind::Data | Kind::Lost), "page {page} holds {:?}", oob.kind);
        }
        for (segment, page) in self.notes.live() {
            let oob = read(nand, page);
            assert_eq!((oob.kind, oob.lpn), (Kind::TrimNote, Lpn(segment)), "page {page} is a live note");
        }
    }

    /// The map's bytes.
    pub(crate) fn bytes(&self) -> u64 {
        4 * self.map.len() as u64
    }

    /// The notes' bytes.
    pub(crate) fn note_bytes(&self) -> u64 {
        self.notes.bytes()
    }
}

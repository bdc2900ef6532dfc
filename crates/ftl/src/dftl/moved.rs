//! Pages that moved, and whose map pages do not say so yet.

use super::cmt::Cmt;
use crate::parts::map_entries::{set_entry, ENTRY_BYTES};
use nandlab_nand::{Lpn, Ppa};
use std::collections::BTreeMap;
use std::ops::Range;

/// The pages moved out of the victims that are being emptied. A map page read from flash takes its moved pages from here; it
/// is written with them before the victim is erased, or earlier for another reason.
#[derive(Debug)]
pub(super) struct Moved {
    pages: BTreeMap<Lpn, Ppa>,
    /// By die: the pages moved out of the victim there, some of them written by the host or mapped since.
    of_die: Vec<Vec<Lpn>>,
}

impl Moved {
    pub(super) fn none(dies: u32) -> Self {
        Self { pages: BTreeMap::new(), of_die: vec![Vec::new(); dies as usize] }
    }

    /// Records a page moved out of the victim on `die`. A `lazy` update stays with the entry in memory, if there is one.
    pub(super) fn push(&mut self, die: u32, (at, to): (Lpn, Ppa), cmt: &mut Cmt, lazy: bool) {
        if cmt.moved(at, to) && lazy {
            // It may have moved before, out of another die's victim.
            self.pages.remove(&at);
        } else {
            self.pages.insert(at, to);
            self.of_die[die as usize].push(at);
        }
    }

    /// Forgets a page that was written or trimmed.
    #[inline]
    pub(super) fn remove(&mut self, at: Lpn) {
        if !self.pages.is_empty() {
            self.pages.remove(&at);
        }
    }

    /// Takes out the waiting pages in a range: their map page was written.
    pub(super) fn take(&mut self, range: Range<Lpn>) -> Vec<Lpn> {
        if self.pages.is_empty() {
            return Vec::new();
        }
        let written: Vec<Lpn> = self.pages.range(range).map(|(&at, _)| at).collect();
        written.iter().for_each(|at| _ = self.pages.remove(at));
        written
    }

    /// The waiting pages moved out of the victim on `die`, by logical page.
    pub(super) fn of(&mut self, die: u32) -> Vec<(Lpn, Ppa)> {
        let of_die = &mut self.of_die[die as usize];
        of_die.sort_unstable();
        of_die.dedup();
        of_die.iter().filter_map(|at| Some((*at, *self.pages.get(at)?))).collect()
    }

    /// Forgets the victim on `die`: the map pages have its pages.
    pub(super) fn emptied(&mut self, die: u32) {
        self.of_die[die as usize].clear();
    }

    /// Changes a map page's entries, read from byte `start` on, to where the pages are now. Its first entry is `first`.
    pub(super) fn apply(&self, first: Lpn, bytes: &mut [u8], start: usize) {
        if self.pages.is_empty() {
            return;
        }
        let entries = (bytes.len() / ENTRY_BYTES as usize) as u32;
        let from = Lpn(first.0 + start as u32 / ENTRY_BYTES);
        for (&at, &to) in self.pages.range(from..Lpn(first.0 + entries)) {
            set_entry(bytes, at.0 - first.0, to);
        }
    }

    /// All waiting pages.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Lpn, Ppa)> + '_ {
        self.pages.iter().map(|(&at, &to)| (at, to))
    }
}

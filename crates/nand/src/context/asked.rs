//! The part of a page that the host reads, and how many pages.

use super::{Ctx, Time};

impl Ctx {
    /// The next host reads are for this many sectors of a page; 0: whole pages.
    #[inline]
    pub fn ask(&mut self, sectors: u32) {
        self.asked = sectors;
    }

    /// The next host read is for this many of the sectors asked for, because an FTL finds them in several pages;
    /// without effect if whole pages are asked for.
    #[inline]
    pub fn ask_of_these(&mut self, sectors: u32) {
        if self.asked > 0 {
            self.asked = sectors;
        }
    }

    /// Sectors that the host reads in the current page; 0 for the whole page.
    #[inline]
    pub(crate) fn asked(&self) -> u32 {
        self.asked
    }

    /// The next host read is the first of this many pages that are read one after the other; 0 or 1: of it alone.
    #[inline]
    pub fn want(&mut self, pages: u32) {
        self.wanted = pages;
    }

    /// Pages that the host reads from the next one on.
    #[inline]
    pub(crate) fn wanted(&self) -> u32 {
        self.wanted
    }

    /// Counts channel time that a read of a part of a page does not take.
    pub(crate) fn spare(&mut self, transfer: Time) {
        self.spared += transfer;
    }

    /// Channel time so far that reads of a part of a page did not take, ns.
    pub fn spared(&self) -> Time {
        self.spared
    }
}

//! The page part the host reads, and the page count.

use super::{Ctx, Time};

impl Ctx {
    /// The next host reads are for this many sectors in a page; 0: whole pages.
    #[inline]
    pub fn ask(&mut self, sectors: u32) {
        self.asked = sectors;
    }

    /// The next host read is for only this many sectors, because an FTL finds the requested ones in several pages;
    /// without effect if whole pages are asked for.
    #[inline]
    pub fn ask_of_these(&mut self, sectors: u32) {
        if self.asked > 0 {
            self.asked = sectors;
        }
    }

    /// Sectors the host reads in the current page; 0 for the whole page.
    #[inline]
    pub(crate) fn asked(&self) -> u32 {
        self.asked
    }

    /// The next host read is the first in this many pages read one after the other; 0 or 1: alone.
    #[inline]
    pub fn want(&mut self, pages: u32) {
        self.wanted = pages;
    }

    /// Pages the host reads from the next one on.
    #[inline]
    pub(crate) fn wanted(&self) -> u32 {
        self.wanted
    }

    /// Counts channel time a partial page read does not take.
    pub(crate) fn spare(&mut self, transfer: Time) {
        self.spared += transfer;
    }

    /// Channel time saved so far by partial page reads, ns.
    pub fn spared(&self) -> Time {
        self.spared
    }
}

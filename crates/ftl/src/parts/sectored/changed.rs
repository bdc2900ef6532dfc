//! The map pages with changes that flash does not have, in the order of their first change.

use std::collections::VecDeque;

/// Map pages in memory that differ from flash, and most of them that may.
#[derive(Debug)]
pub(super) struct ChangedPages {
    /// Most at a time; 0 is no limit, and then nothing is kept here.
    most: usize,
    /// Pages in the order of a change to an unchanged page. A page written in between is here again, and only its last
    /// place counts.
    since: VecDeque<u32>,
    /// By map page: how often it stands in `since`.
    places: Vec<u32>,
    /// Pages with changes.
    count: usize,
}

impl ChangedPages {
    pub(super) fn new(most: u32, map_pages: u32) -> Self {
        let places = if most == 0 { 0 } else { map_pages as usize };
        Self { most: most as usize, since: VecDeque::new(), places: vec![0; places], count: 0 }
    }

    /// A page without changes gets one.
    #[inline]
    pub(super) fn note_change(&mut self, map_page: u32) {
        if self.most == 0 {
            return;
        }
        if self.since.len() >= 2 * self.places.len() {
            self.forget_old_places();
        }
        self.places[map_page as usize] += 1;
        self.since.push_back(map_page);
        self.count += 1;
    }

    /// Keeps the last place of each page: a cache that writes pages before they are due would let the list grow.
    #[cold]
    fn forget_old_places(&mut self) {
        let mut all = std::mem::take(&mut self.since);
        while let Some(page) = all.pop_back() {
            if std::mem::take(&mut self.places[page as usize]) > 0 {
                self.since.push_front(page);
            }
        }
        self.since.iter().for_each(|&page| self.places[page as usize] = 1);
    }

    /// A page with changes was written.
    pub(super) fn note_write(&mut self) {
        if self.most > 0 {
            self.count -= 1;
        }
    }

    /// The page with the oldest change, if more pages have changes than may; `is_changed` tells whether a page has.
    pub(super) fn overdue(&mut self, is_changed: impl Fn(u32) -> bool) -> Option<u32> {
        while self.most > 0 && self.count > self.most {
            let page = self.since.pop_front()?;
            self.places[page as usize] -= 1;
            if self.places[page as usize] == 0 && is_changed(page) {
                return Some(page);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::ChangedPages;

    #[test]
    fn the_oldest_change_is_due_first_and_a_page_written_in_between_counts_from_its_next_change() {
        let mut pages = ChangedPages::new(2, 8);
        let mut changed = [false; 8];
        for page in [5, 1, 7] {
            pages.note_change(page);
            changed[page as usize] = true;
        }
        assert_eq!(pages.overdue(|page| changed[page as usize]), Some(5));
        pages.note_write();
        changed[5] = false;
        assert_eq!(pages.overdue(|page| changed[page as usize]), None, "two may have changes");
        // Page 1 is written by the way, and changed again behind page 7 and page 0.
        pages.note_write();
        pages.note_change(0);
        pages.note_change(1);
        changed[0] = true;
        assert_eq!(pages.overdue(|page| changed[page as usize]), Some(7));
    }

    #[test]
    fn pages_that_a_cache_writes_early_do_not_fill_the_memory() {
        let mut pages = ChangedPages::new(6, 8);
        for round in 0..1000 {
            pages.note_change(round % 8);
            pages.note_write();
        }
        assert!(pages.since.len() <= 16, "{}", pages.since.len());
        let mut changed = [false; 8];
        for page in [3, 0, 5, 6, 1, 2, 7] {
            pages.note_change(page);
            changed[page as usize] = true;
        }
        assert_eq!(pages.overdue(|page| changed[page as usize]), Some(3), "the order is kept");
    }

    #[test]
    fn without_a_limit_nothing_is_kept() {
        let mut pages = ChangedPages::new(0, 8);
        pages.note_change(3);
        assert_eq!(pages.overdue(|_| true), None);
        assert!(pages.since.is_empty());
    }
}

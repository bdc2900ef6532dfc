//! Whole map pages in memory, found by their number and ordered by use.

use super::table::{Linked, Links, List};
use super::{Slot, NONE};

/// A map page in memory.
#[derive(Debug)]
struct Held<P> {
    map_page: u32,
    page: P,
    links: Links,
}

impl<P> Linked for Held<P> {
    #[inline]
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// The map pages. The owner decides how many there may be.
#[derive(Debug)]
pub(super) struct WholePages<P> {
    held: Vec<Held<P>>,
    /// Places whose map page has left; its memory is used again.
    free: Vec<Slot>,
    by_use: List,
    /// By map page: its place in `held`.
    places: Vec<Slot>,
}

impl<P: Default> WholePages<P> {
    pub(super) fn new(map_pages: u32) -> Self {
        Self { held: Vec::new(), free: Vec::new(), by_use: List::EMPTY, places: vec![NONE; map_pages as usize] }
    }

    pub(super) fn len(&self) -> u32 {
        self.by_use.count
    }

    #[inline]
    pub(super) fn get(&self, map_page: u32) -> Option<&P> {
        self.held.get(self.places[map_page as usize] as usize).map(|held| &held.page)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, map_page: u32) -> Option<&mut P> {
        self.held.get_mut(self.places[map_page as usize] as usize).map(|held| &mut held.page)
    }

    /// Records a use, if the map page is here.
    #[inline]
    pub(super) fn renew(&mut self, map_page: u32) {
        let place = self.places[map_page as usize];
        if place != NONE {
            self.by_use.renew(&mut self.held, place);
        }
    }

    /// Adds a map page that is not here, as used last; `fill` makes it of one that has left, or of an empty one.
    pub(super) fn insert(&mut self, map_page: u32, fill: impl FnOnce(&mut P)) {
        debug_assert_eq!(self.places[map_page as usize], NONE, "map page {map_page} is here already");
        let place = self.free.pop().unwrap_or_else(|| {
            self.held.push(Held { map_page, page: P::default(), links: Links::NONE });
            self.held.len() as Slot - 1
        });
        let held = &mut self.held[place as usize];
        held.map_page = map_page;
        fill(&mut held.page);
        self.places[map_page as usize] = place;
        self.by_use.push(&mut self.held, place);
    }

    /// The map page used least recently.
    pub(super) fn oldest(&self) -> Option<(u32, &P)> {
        self.held.get(self.by_use.oldest as usize).map(|held| (held.map_page, &held.page))
    }

    /// A map page leaves.
    pub(super) fn remove(&mut self, map_page: u32) {
        let place = std::mem::replace(&mut self.places[map_page as usize], NONE);
        self.by_use.unlink(&mut self.held, place);
        self.free.push(place);
    }

    /// All map pages, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &P)> {
        (0..).zip(&self.places).filter_map(|(map_page, &place)| Some((map_page, &self.held.get(place as usize)?.page)))
    }

    /// The same, to be changed, in any order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut P> {
        let places = &self.places;
        let is_here = move |(place, held): &(usize, &mut Held<P>)| places[held.map_page as usize] as usize == *place;
        self.held.iter_mut().enumerate().filter(is_here).map(|(_, held)| &mut held.page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_used_least_recently_is_the_oldest_and_its_memory_is_used_again() {
        let mut pages: WholePages<Vec<u32>> = WholePages::new(9);
        assert!(pages.oldest().is_none() && pages.get(3).is_none());
        for map_page in [3, 5, 7] {
            pages.insert(map_page, |page| page.push(map_page));
        }
        pages.renew(3);
        pages.renew(8);
        assert_eq!((pages.oldest(), pages.len()), (Some((5, &vec![5])), 3));
        pages.remove(5);
        assert_eq!((pages.get(5), pages.len(), pages.oldest()), (None, 2, Some((7, &vec![7]))));
        pages.iter_mut().for_each(|page| page.push(0));
        pages.insert(8, |page| page.push(8));
        assert_eq!(pages.get(8), Some(&vec![5, 8]), "what has left was not changed, and is the start");
        assert_eq!(
            pages.iter().map(|(map_page, page)| (map_page, page.len())).collect::<Vec<_>>(),
            [(3, 2), (7, 2), (8, 2)]
        );
        assert_eq!(pages.held.len(), 3);
    }
}

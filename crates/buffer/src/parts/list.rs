//! Doubly linked lists of numbered items: a few words per item, without an allocation per item.

use nandlab_nand::prefetch::prefetch;
use nandlab_nand::tables::resize;

/// No item.
pub(crate) const NONE: u32 = u32::MAX;

/// Neighbours of every item. Several lists can share these links; an item is in at most one of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Vec<[u32; 2]>);

const PREV: usize = 0;
const NEXT: usize = 1;

impl Links {
    /// Bytes used, here and on a controller.
    pub(crate) fn bytes(items: u64) -> u64 {
        items * 8
    }

    #[inline]
    fn make_room(&mut self, item: u32) {
        if item as usize >= self.0.len() {
            resize(&mut self.0, (item as usize + 1).next_power_of_two(), [NONE; 2]);
        }
    }

    #[inline]
    fn get(&self, item: u32, side: usize) -> u32 {
        self.0[item as usize][side]
    }

    #[inline]
    fn set(&mut self, item: u32, side: usize, to: u32) {
        self.0[item as usize][side] = to;
    }

    /// Starts loading an item's neighbours.
    #[inline]
    pub(crate) fn prefetch(&self, item: u32) {
        prefetch(&self.0, item as usize);
    }

    /// Starts loading the links that the removal of an item changes; its own have arrived.
    #[inline]
    pub(crate) fn prefetch_neighbours(&self, item: u32) {
        if let Some(&[prev, next]) = self.0.get(item as usize) {
            self.prefetch(prev);
            self.prefetch(next);
        }
    }

    /// The item before `item`, towards the front.
    #[inline]
    pub(crate) fn prev(&self, item: u32) -> u32 {
        self.get(item, PREV)
    }

    /// The item after `item`, towards the back.
    #[inline]
    pub(crate) fn next(&self, item: u32) -> u32 {
        self.get(item, NEXT)
    }
}

/// A list; the newest items are at the front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    front: u32,
    back: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { front: NONE, back: NONE, len: 0 }
    }
}

impl List {
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest item, or [`NONE`].
    #[inline]
    pub(crate) fn back(&self) -> u32 {
        self.back
    }

    #[inline]
    pub(crate) fn push_front(&mut self, links: &mut Links, item: u32) {
        self.push(links, item, PREV);
    }

    #[inline]
    pub(crate) fn push_back(&mut self, links: &mut Links, item: u32) {
        self.push(links, item, NEXT);
    }

    /// Adds `item` at the end of the list in the direction of `side`.
    #[inline]
    fn push(&mut self, links: &mut Links, item: u32, side: usize) {
        links.make_room(item);
        let end = if side == PREV { &mut self.front } else { &mut self.back };
        let neighbour = std::mem::replace(end, item);
        let mut link = [NONE; 2];
        link[1 - side] = neighbour;
        links.0[item as usize] = link;
        if neighbour != NONE {
            links.set(neighbour, side, item);
        } else if side == PREV {
            self.back = item;
        } else {
            self.front = item;
        }
        self.len += 1;
    }

    #[inline]
    pub(crate) fn remove(&mut self, links: &mut Links, item: u32) {
        let [prev, next] = links.0[item as usize];
        if prev == NONE {
            self.front = next;
        } else {
            links.set(prev, NEXT, next);
        }
        if next == NONE {
            self.back = prev;
        } else {
            links.set(next, PREV, prev);
        }
        self.len -= 1;
    }

    #[inline]
    pub(crate) fn move_to_front(&mut self, links: &mut Links, item: u32) {
        if self.front != item {
            self.remove(links, item);
            self.push_front(links, item);
        }
    }

    /// Inserts `item` behind the first newer item, searching from the back; at the front if no item is newer.
    pub(crate) fn insert_behind(&mut self, links: &mut Links, item: u32, is_newer: impl Fn(u32) -> bool) {
        let mut newer = self.back;
        while newer != NONE && !is_newer(newer) {
            newer = links.prev(newer);
        }
        if newer == NONE {
            return self.push_front(links, item);
        }
        let older = links.next(newer);
        if older == NONE {
            return self.push_back(links, item);
        }
        links.make_room(item);
        links.0[item as usize] = [newer, older];
        links.set(newer, NEXT, item);
        links.set(older, PREV, item);
        self.len += 1;
    }

    /// Items from back to front.
    pub(crate) fn oldest_first<'a>(&self, links: &'a Links) -> impl Iterator<Item = u32> + 'a {
        let mut at = self.back;
        std::iter::from_fn(move || {
            let item = at;
            (item != NONE).then(|| {
                at = links.prev(item);
                item
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::random::Random;
    use std::collections::VecDeque;

    #[test]
    fn a_list_does_what_a_deque_does() {
        let (mut links, mut list, mut deque) = (Links::default(), List::default(), VecDeque::new());
        let mut random = Random::new(3);
        for _ in 0..5_000 {
            let item = random.below(20) as u32;
            let at = deque.iter().position(|&there| there == item);
            match (random.below(4), at) {
                (0, None) => {
                    list.push_front(&mut links, item);
                    deque.push_front(item);
                }
                (1, None) => {
                    list.push_back(&mut links, item);
                    deque.push_back(item);
                }
                (2, None) => {
                    list.insert_behind(&mut links, item, |other| other % 3 == 1);
                    let newer = deque.iter().rposition(|&other: &u32| other % 3 == 1);
                    deque.insert(newer.map_or(0, |newer| newer + 1), item);
                }
                (3, Some(at)) => {
                    list.move_to_front(&mut links, item);
                    deque.remove(at);
                    deque.push_front(item);
                }
                (0, Some(at)) => {
                    list.remove(&mut links, item);
                    deque.remove(at);
                }
                _ => {}
            }
            assert!(list.oldest_first(&links).eq(deque.iter().rev().copied()));
            assert_eq!(list.len() as usize, deque.len());
            assert_eq!(list.front, deque.front().copied().unwrap_or(NONE));
        }
    }
}

//! A request's pages on a die's planes.

use super::{Noted, Pages, Scheme};
use crate::FtlError;
use nandlab_nand::{Lpn, Nand};

impl Pages {
    /// Whether a die's planes are filled side by side. What the cache or a reclaim unit takes is filled page by page.
    pub(super) fn fills_planes(&self) -> bool {
        self.dies.planes() > 1 && self.cache.is_none() && !self.placing.is_by_host()
    }

    /// Writes a request's whole pages: a die's pages one right after the other, then their pay for collection, so that
    /// planes can program them together.
    pub(crate) fn store_over_planes<N: Nand, S: Noted>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        first: Lpn,
        pages: &[N::Buf],
    ) -> Result<(), FtlError> {
        let mut written = Vec::with_capacity(self.dies.planes());
        for (at, page) in (first.0..).map(Lpn).zip(pages) {
            let frontier = self.frontier_of(scheme, nand, at);
            let plane = self.next_plane(at, frontier);
            // A plane pays for each page before it gets another, since its victim needs room.
            let is_other_die =
                written.last().is_some_and(|&last: &usize| last / self.dies.planes() != plane / self.dies.planes());
            if is_other_die || written.contains(&plane) {
                self.collect_all(scheme, nand, &mut written)?;
            }
            written.push(self.store_on(scheme, nand, (plane, frontier), at, page)?);
        }
        self.collect_all(scheme, nand, &mut written)
    }

    fn collect_all<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        planes: &mut Vec<usize>,
    ) -> Result<(), FtlError> {
        planes.drain(..).try_for_each(|plane| self.collect(scheme, nand, plane))
    }

    /// The plane for the next host page: that of its address, else in turn, except that a plane behind the others on its
    /// die catches up, a page at a time, until the die can program all of them at the same place in their blocks again. A
    /// weak plane is passed over alone: the die's other planes are programmed together without it.
    fn next_plane(&mut self, at: Lpn, frontier: usize) -> usize {
        let plane = self.die_for(at, frontier);
        if self.dies.of_address(at).is_some() {
            return plane;
        }
        let first = plane - plane % self.dies.planes();
        if (first..plane).any(|plane| !self.dies[plane].is_weak) {
            return plane;
        }
        let end = first + self.dies.planes();
        let of_die = (plane..end).filter(|&plane| !self.dies[plane].is_weak);
        let room = |plane: usize| match self.dies[plane].frontiers[frontier].left() {
            // The next page begins a block.
            0 => self.geometry.pages_per_block(),
            left => left,
        };
        let least = of_die.clone().map(room).min().unwrap_or(0);
        let behind = of_die.max_by_key(|&plane| (room(plane), std::cmp::Reverse(plane)));
        // A plane above its share is behind for that reason.
        let behind = behind.filter(|&plane| room(plane) > least);
        match behind.filter(|&plane| self.takes(plane, frontier)) {
            Some(behind) => {
                self.dies.set_turn(end - 1);
                behind
            }
            None => plane,
        }
    }
}

//! Times of many copies at once.

use super::Timed;
use crate::address::Ppa;
use crate::nand::Nand;

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Copies of the pages `from` of one block to `to` and the following pages of another, one after the other.
    #[inline]
    pub(super) fn time_copies(&mut self, from: &[Ppa], to: Ppa) {
        let Some(&first) = from.first() else { return };
        let (source, target) = (self.geometry.block_of(first), self.geometry.block_of(to));
        let unit = self.unit_of(source);
        if EXTRAS || unit != self.unit_of(target) {
            (to.0..).map(Ppa).zip(from).for_each(|(to, &from)| {
                self.time_copy(from, to);
            });
            return;
        }
        let is_reached = !self.copy_in_plane || self.geometry.plane_of(source) == self.geometry.plane_of(target);
        let inside = self.times.copy_inside.filter(|_| is_reached);
        let (read, program) = (self.times.read, self.times.program);
        let ready = self.inner.ctx().ready();
        let mut end = ready;
        for _ in from {
            end = match inside {
                Some(total) => self.write_in(unit, ready, total, 0),
                None => self.copy_over_bus(unit, ready, (read, program)),
            };
        }
        // The copies of a unit end in their order.
        self.complete(end);
    }
}

//! Times of many copies at once.

use super::Timed;
use crate::address::Ppa;
use crate::nand::Nand;

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Copies of the pages `from` of one block to `to` and the following pages of another, one after the other.
    #[inline]
    pub(super) fn time_copies(&mut self, from: &[Ppa], to: Ppa) {
        for (to, &from) in (to.0..).map(Ppa).zip(from) {
            self.time_copy(from, to);
        }
    }
}

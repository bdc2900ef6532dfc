//! Times of copies, one by one and many at once.

use super::Timed;
use crate::address::Ppa;
use crate::nand::{Done, Nand};
use crate::profile::Durations;
use crate::timeline::Steps;

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    #[inline]
    pub(super) fn time_copy(&mut self, source_page: Ppa, target_page: Ppa) -> Done {
        let (from, to) = (self.geometry.block_of(source_page), self.geometry.block_of(target_page));
        let (source, target) = (self.unit_of(from), self.unit_of(to));
        let ready = self.inner.ctx().ready();
        let reached =
            source == target && (!self.copy_in_plane || self.geometry.plane_of(from) == self.geometry.plane_of(to));
        let (read, program) = (self.array_read(source_page), self.array_program(target_page, target));
        let Durations { page_transfer, copy_inside, .. } = self.times;
        let end = match copy_inside {
            Some(total) if reached => {
                let total =
                    if EXTRAS { self.times.copied(total, self.times_in(from), self.times_in(to)) } else { total };
                // Its read is not interrupted.
                let before = read.min(total);
                self.issue(source, ready, Steps { before, transfer: 0, after: total - before })
            }
            _ if source == target => {
                self.issue(source, ready, Steps { before: read, transfer: 2 * page_transfer, after: program })
            }
            _ => {
                let out = self.issue(source, ready, Steps { before: read, transfer: page_transfer, after: 0 });
                self.issue(target, out, Steps { before: 0, transfer: page_transfer, after: program })
            }
        };
        self.complete(end)
    }

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
        let Durations { read, program, page_transfer, .. } = self.times;
        let steps = match inside {
            Some(total) => Steps { before: read.min(total), transfer: 0, after: total - read.min(total) },
            None => Steps { before: read, transfer: 2 * page_transfer, after: program },
        };
        let ready = self.inner.ctx().ready();
        let mut end = ready;
        for _ in from {
            end = self.issue(unit, ready, steps);
        }
        // The copies of a unit end in their order.
        self.complete(end);
    }
}

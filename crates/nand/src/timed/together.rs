//! Multi-plane programs.
//!
//! One request's pages are transferred one after the other, then the arrays of all planes program together:
//!
//! ```text
//! unit |= plane 0 =|= plane 1 =|--- both arrays ---|
//! bus  |= plane 0 =|= plane 1 =|
//! ```
//!
//! The pages lie at the same position in their blocks, as the chips demand, and nothing else comes between
//! them. The first program reports its end without later joiners' transfers; the request ends with the last
//! one.

use super::Timed;
use crate::address::Ppa;
use crate::context::{Held, Time, Waits};
use crate::nand::{Done, Nand};

/// A die's last program, and the programs joined to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Together {
    /// The pages' request.
    request: u64,
    /// The pages' position in their blocks.
    page: u32,
    /// The last page's plane; a joiner must be on a later plane.
    plane: u32,
    /// Array time for each: one-bit and multi-bit cells cannot program together.
    program: Time,
    /// When the last transfer ends, and when the arrays are done.
    moved_in: Time,
    end: Time,
}

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Records a transfer up to `moved_in` that puts the array's work off, from the times of `before` up to `end`.
    fn hold_together(&mut self, number: usize, before: (Time, Time), (moved_in, end): (Time, Time), transfer: Time) {
        let unit = &mut self.units[number];
        unit.free = end;
        unit.busy += transfer;
        let (channel, wait) = (unit.channel, end - before.1 - transfer);
        let held = Held { unit: number as u32, channel, start: before.1, end, before: 0, wait, transfer };
        self.inner.ctx().held_together(&held, before.0, moved_in);
    }

    /// Times a program, joined with the previous programs if possible.
    pub(super) fn time_program(&mut self, at: Ppa) -> Done {
        let block = self.geometry.block_of(at);
        let unit = self.unit_of(block);
        let (program, transfer) = (self.array_program(at, unit), self.times.page_transfer);
        if self.together.is_empty() {
            let done = self.time_write(block, program, transfer);
            self.offer_program(block, done.0);
            return done;
        }
        let ctx = self.inner.ctx();
        let (request, ready) = (ctx.request(), ctx.ready());
        let (page, plane) = (self.geometry.page_in_block(at), self.geometry.plane_of(block));
        let before = self.together[unit];
        let joins = before.request == request
            && before.page == page
            && before.program == program
            && before.plane < plane
            && before.end == self.units[unit].free
            && ready <= before.moved_in;
        if self.inner.ctx().follows_events() {
            let joined = if joins && ready <= self.inner.ctx().arrival() {
                self.issue_joined(unit, program, transfer)
            } else {
                None
            };
            let free = |device: &Self| device.units[unit].free;
            let done = match joined {
                Some(name) => {
                    self.inner.ctx().join();
                    self.complete(name)
                }
                None => self.time_write(block, program, transfer),
            };
            let end = free(self);
            self.together[unit] = Together { request, page, plane, program, moved_in: end - program, end };
            return done;
        }
        let done = if joins {
            let moved_in = self.transfer(unit, before.moved_in, transfer);
            let end = moved_in + program;
            self.hold_together(unit, (before.moved_in, before.end), (moved_in, end), transfer);
            let waits = Waits { unit: before.moved_in - ready, channel: moved_in - before.moved_in - transfer };
            self.inner.ctx().count_waits(waits);
            self.inner.ctx().join();
            self.complete(end)
        } else {
            self.time_write(block, program, transfer)
        };
        self.together[unit] = Together { request, page, plane, program, moved_in: done.0 - program, end: done.0 };
        self.offer_program(block, done.0);
        done
    }
}

//! Multi-plane programs.
//!
//! One request's pages are transferred one after the other, then the arrays of all planes program together
//! ([`crate::timeline`]). The pages lie at the same position in their blocks, as the chips demand, and nothing else comes
//! between them. Outside events, each program has its own array time.

use super::Timed;
use crate::address::Ppa;
use crate::context::Time;
use crate::nand::{Done, Nand};

/// A die's last program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Together {
    /// The page's request.
    request: u64,
    /// Its position in its block.
    page: u32,
    /// Its plane; a joiner must be on a later plane.
    plane: u32,
    /// Array time for each: one-bit and multi-bit cells cannot program together.
    program: Time,
    /// When the unit is free behind it.
    free: Time,
}

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Times a program, joined with the previous one if possible.
    pub(super) fn time_program(&mut self, at: Ppa) -> Done {
        let block = self.geometry.block_of(at);
        let unit = self.unit_of(block);
        let (program, transfer) = (self.array_program(at, unit), self.times.page_transfer);
        if self.together.is_empty() {
            return self.time_write(block, program, transfer);
        }
        let ctx = self.inner.ctx();
        let (request, is_at_hand) = (ctx.request(), ctx.ready() <= ctx.arrival());
        let (page, plane) = (self.geometry.page_in_block(at), self.geometry.plane_of(block));
        let before = self.together[unit];
        let joins = before.request == request
            && before.page == page
            && before.program == program
            && before.plane < plane
            && before.free == self.units[unit].free
            && is_at_hand
            && self.inner.ctx().follows_events();
        let joined = if joins { self.issue_joined(unit, program, transfer) } else { None };
        let done = match joined {
            Some(end) => {
                self.inner.ctx().join();
                self.complete(end)
            }
            None => self.time_write(block, program, transfer),
        };
        self.together[unit] = Together { request, page, plane, program, free: self.units[unit].free };
        done
    }
}

//! Programs of several planes of a die at once.
//!
//! Pages of one request are transferred one after the other, then the arrays of all planes program together:
//!
//! ```text
//! unit |= plane 0 =|= plane 1 =|--- both arrays ---|
//! bus  |= plane 0 =|= plane 1 =|
//! ```
//!
//! The pages lie at the same position of their blocks, as the chips demand, and nothing else comes between
//! them. The first program reports its end without the transfers of later joiners; the request ends with the
//! last of them.

use super::Timed;
use crate::address::Ppa;
use crate::context::Time;
use crate::nand::{Done, Nand};

/// The last program of a die, and the programs that joined it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Together {
    /// The request of these pages.
    request: u64,
    /// Position of the pages in their blocks.
    page: u32,
    /// The plane of the last page; a joiner must be on a later plane.
    plane: u32,
    /// Array time of each: cells of one bit and of several cannot program together.
    program: Time,
    /// End of the last transfer, and end of the array time.
    moved_in: Time,
    end: Time,
}

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    /// Times a program, joined with the previous programs if possible.
    pub(super) fn time_program(&mut self, at: Ppa) -> Done {
        let block = self.geometry.block_of(at);
        let unit = self.unit_of(block);
        let (program, transfer) = (self.times_in(block).program, self.times.page_transfer);
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
        let done = if joins {
            let moved_in = self.transfer(unit, before.moved_in, transfer);
            let end = moved_in + program;
            self.hold(unit, (before.end, end), 0, (0, transfer));
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

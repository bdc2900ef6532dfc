//! Counts operations in blocks with one bit per cell.
//!
//! A chip with several bits per cell can run a block with one bit ([`Nand::set_slc`]): fewer pages, and shorter
//! times. The counts in [`Ctx`] do not separate the two modes, so plain counting devices stay fast. This
//! wrapper keeps separate counts for one-bit blocks, under the same origin and cause.

use crate::address::{BlockId, Ppa};
use crate::as_inside;
use crate::context::{Cell, Ctx, Matrix, Origin};
use crate::nand::{Done, Nand, NandError};
use crate::oob::Oob;
use crate::wrapper::ways_inside;

/// A wrapper around `N` that counts operations in blocks with one bit per cell, in [`Ctx::slc`].
///
/// A copy counts as a read at its source and as a program at its target. This wrapper goes outside wrappers
/// with failing operations.
#[derive(Clone, Debug)]
pub struct Metered<N>(N);

impl Ctx {
    /// Operations in blocks with one bit per cell, with copies among reads and programs; `None` if no wrapper
    /// counts them.
    pub fn slc(&self) -> Option<&Matrix> {
        self.slc.as_deref()
    }
}

impl<N: Nand> Metered<N> {
    /// Counts from now on.
    pub fn new(mut inner: N) -> Self {
        inner.ctx().slc = Some(Box::default());
        Self(inner)
    }

    fn is_slc_page(&self, at: Ppa) -> bool {
        self.0.is_slc(self.0.geometry().block_of(at))
    }

    /// Counts an operation of `origin` on a page, if its block is in one-bit mode and the operation took place.
    fn count<T>(&mut self, at: Ppa, origin: Origin, result: &Result<T, NandError>, add: impl FnOnce(&mut Cell)) {
        if !matches!(result, Err(NandError::PowerLost)) && self.is_slc_page(at) {
            self.add(origin, add);
        }
    }

    fn count_read<T>(&mut self, at: Ppa, result: &Result<T, NandError>) {
        let origin = self.0.ctx().origin();
        self.count(at, origin, result, |cell| cell.page_reads += 1);
    }

    fn add(&mut self, origin: Origin, add: impl FnOnce(&mut Cell)) {
        let ctx = self.0.ctx();
        let cause = ctx.cause();
        let matrix: &mut Matrix = ctx.slc.get_or_insert_default();
        add(matrix.cell_mut(origin, cause));
    }

    /// Each origin's erase parts under the current cause.
    fn erase_shares(&mut self) -> [u64; Origin::COUNT] {
        let ctx = self.0.ctx();
        let cause = ctx.cause();
        std::array::from_fn(|origin| ctx.matrix().cell(Origin(origin as u8), cause).erase_shares)
    }
}

ways_inside!([N: Nand] Metered<N>, 0);

impl<N: Nand> Nand for Metered<N> {
    type Buf = N::Buf;

    as_inside!(0: geometry, rules, is_known_erased, is_settled, set_slc, is_slc, ctx);

    fn read(&mut self, at: Ppa, page: &mut N::Buf) -> Result<Oob, NandError> {
        let result = self.0.read(at, page);
        self.count_read(at, &result);
        result
    }

    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        let result = self.0.read_spare(at);
        let origin = self.0.ctx().origin();
        self.count(at, origin, &result, |cell| cell.spare_reads += 1);
        result
    }

    fn program(&mut self, at: Ppa, page: &N::Buf, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        let result = self.0.program(at, page, tail, oob);
        self.count(at, oob.origin, &result, |cell| cell.page_programs += 1);
        result
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        let result = self.0.read_tail(at, tail);
        self.count_read(at, &result);
        result
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut N::Buf, tail: &mut [u8]) -> Result<Oob, NandError> {
        let result = self.0.read_with_tail(at, page, tail);
        self.count_read(at, &result);
        result
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        let result = self.0.copy(from, to, oob);
        // A failed copy does not reveal its page's author.
        let author = result.as_ref().map_or_else(|_| self.0.ctx().origin(), |stored| stored.origin);
        self.count(from, author, &result, |cell| cell.page_reads += 1);
        if !matches!(result, Err(NandError::Uncorrectable(_))) {
            self.count(to, author, &result, |cell| cell.page_programs += 1);
        }
        result
    }

    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        let result = self.0.program_spare(at, oob);
        self.count(at, oob.origin, &result, |cell| cell.spare_programs += 1);
        result
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        if !self.0.is_slc(block) {
            return self.0.erase(block);
        }
        let before = self.erase_shares();
        let result = self.0.erase(block);
        let after = self.erase_shares();
        for origin in (0..Origin::COUNT).filter(|&origin| after[origin] > before[origin]) {
            self.add(Origin(origin as u8), |cell| cell.erase_shares += after[origin] - before[origin]);
        }
        result
    }

    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        let at = self.0.geometry().page(block, 0);
        let result = self.0.retire(block);
        let origin = self.0.ctx().origin();
        self.count(at, origin, &result, |cell| cell.spare_programs += 1);
        result
    }
}

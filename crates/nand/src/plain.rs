//! Adapter for a counting device, for stacks whose pages have bytes.

use crate::address::Ppa;
use crate::as_inside;
use crate::content::Content;
use crate::nand::{Done, Nand, NandError};
use crate::oob::Oob;
use crate::wrapper::ways_inside;

/// Lets a device without bytes stand in the boxed stack, `Box<dyn Nand<Buf = Content>>`.
///
/// It drops programmed data, and a read leaves `Content(None)`: no bytes, instead of the bytes of an earlier
/// read. Metadata, tails and counts come from the inner device.
#[derive(Clone, Debug)]
pub struct WithContent<N>(N);

impl<N: Nand<Buf = ()>> WithContent<N> {
    /// Wraps `inner`.
    pub fn new(inner: N) -> Self {
        Self(inner)
    }
}

ways_inside!([N: Nand<Buf = ()>] WithContent<N>, 0);

impl<N: Nand<Buf = ()>> Nand for WithContent<N> {
    type Buf = Content;

    as_inside!(0: geometry, rules, read_untouched, is_known_erased, is_settled, read_spare, read_tail, copy, program_spare, erase, retire, set_slc, is_slc, raw, ctx);

    fn read(&mut self, at: Ppa, page: &mut Content) -> Result<Oob, NandError> {
        let oob = self.0.read(at, &mut ())?;
        page.0 = None;
        Ok(oob)
    }

    fn program(&mut self, at: Ppa, _: &Content, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.0.program(at, &(), tail, oob)
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut Content, tail: &mut [u8]) -> Result<Oob, NandError> {
        page.0 = None;
        self.0.read_with_tail(at, &mut (), tail)
    }
}

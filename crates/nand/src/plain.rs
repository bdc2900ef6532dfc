//! A device that only counts, in a place where pages have bytes.

use crate::address::{BlockId, Ppa};
use crate::content::Content;
use crate::nand::{Done, Nand, NandError};
use crate::oob::Oob;
use crate::wrapper::{as_inside, ways_inside};

/// Lets a device without bytes stand in the boxed stack, `Box<dyn Nand<Buf = Content>>`.
///
/// What is programmed is dropped, and a read leaves `Content(None)`: no bytes, rather than those of an
/// earlier read. Metadata, tails and counts are those of the device inside.
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

    as_inside!(0: geometry, rules, set_slc, is_slc, ctx);

    fn read(&mut self, at: Ppa, page: &mut Content) -> Result<Oob, NandError> {
        let oob = self.0.read(at, &mut ())?;
        page.0 = None;
        Ok(oob)
    }

    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        self.0.read_spare(at)
    }

    fn program(&mut self, at: Ppa, _: &Content, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.0.program(at, &(), tail, oob)
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.0.read_tail(at, tail)
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut Content, tail: &mut [u8]) -> Result<Oob, NandError> {
        page.0 = None;
        self.0.read_with_tail(at, &mut (), tail)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.0.copy(from, to, oob)
    }

    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        self.0.program_spare(at, oob)
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.0.erase(block)
    }

    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.0.retire(block)
    }
}

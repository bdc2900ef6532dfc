//! A device that only counts, in a place where pages have bytes.

use crate::address::{BlockId, Geometry, Ppa};
use crate::content::Content;
use crate::context::Ctx;
use crate::nand::{Done, Nand, NandError};
use crate::oob::Oob;
use crate::rules::Rules;

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

    /// The device inside.
    pub fn inner(&self) -> &N {
        &self.0
    }

    /// The device inside.
    pub fn inner_mut(&mut self) -> &mut N {
        &mut self.0
    }

    /// Takes the wrapper off.
    pub fn into_inner(self) -> N {
        self.0
    }
}

impl<N: Nand<Buf = ()>> Nand for WithContent<N> {
    type Buf = Content;

    fn geometry(&self) -> &Geometry {
        self.0.geometry()
    }

    fn rules(&self) -> &Rules {
        self.0.rules()
    }

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

    fn set_slc(&mut self, block: BlockId, slc: bool) {
        self.0.set_slc(block, slc);
    }

    fn is_slc(&self, block: BlockId) -> bool {
        self.0.is_slc(block)
    }

    fn ctx(&mut self) -> &mut Ctx {
        self.0.ctx()
    }
}

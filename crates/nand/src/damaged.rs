//! A device with a page that was flushed and is damaged since, as in an image file that changed on its host.
//!
//! With [`Damaged::new`] the spare area stays readable, and so does a tail short enough for the page's record in an image, such as a list of
//! sectors. Everything else in the page is [`NandError::Uncorrectable`] until the erase of its block. The device knows
//! that the page was flushed ([`Nand::is_settled`]), so no mount takes it for a torn one.

use crate::address::{BlockId, Ppa};
use crate::as_inside;
use crate::backed;
use crate::nand::{Done, Nand, NandError};
use crate::oob::Oob;
use crate::wrapper::ways_inside;

/// A wrapper around `N` with one damaged page.
#[derive(Clone, Debug)]
pub struct Damaged<N> {
    inner: N,
    page: Option<Ppa>,
    has_spare: bool,
}

impl<N: Nand> Damaged<N> {
    /// `inner` with damage in the programmed page `page`.
    pub fn new(inner: N, page: Ppa) -> Self {
        Self { inner, page: Some(page), has_spare: true }
    }

    /// The same without the spare area, as with both copies of a page's record damaged: nothing is known about the page.
    pub fn without_spare(inner: N, page: Ppa) -> Self {
        Self { has_spare: false, ..Self::new(inner, page) }
    }

    fn check(&self, at: Ppa) -> Result<(), NandError> {
        match self.page == Some(at) {
            true => Err(NandError::Uncorrectable(at)),
            false => Ok(()),
        }
    }
}

ways_inside!([N: Nand] Damaged<N>, inner);

impl<N: Nand> Nand for Damaged<N> {
    type Buf = N::Buf;

    as_inside!(inner: geometry, rules, is_known_erased, program, program_spare, retire, set_slc, is_slc, ctx);

    fn read(&mut self, at: Ppa, page: &mut N::Buf) -> Result<Oob, NandError> {
        let oob = self.inner.read(at, page)?;
        self.check(at).map(|()| oob)
    }

    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        let oob = self.inner.read_spare(at)?;
        match self.has_spare {
            true => Ok(oob),
            false => self.check(at).map(|()| oob),
        }
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        let oob = self.inner.read_tail(at, tail)?;
        match self.has_spare && backed::is_tail_in_record(self.inner.geometry(), tail.len()) {
            true => Ok(oob),
            false => self.check(at).map(|()| oob),
        }
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut N::Buf, tail: &mut [u8]) -> Result<Oob, NandError> {
        let oob = self.inner.read_with_tail(at, page, tail)?;
        self.check(at).map(|()| oob)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.check(from)?;
        self.inner.copy(from, to, oob)
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        let done = self.inner.erase(block)?;
        let geometry = self.inner.geometry();
        self.page = self.page.filter(|&page| geometry.block_of(page) != block);
        Ok(done)
    }

    fn is_settled(&mut self, at: Ppa) -> bool {
        match self.page == Some(at) {
            true => self.has_spare,
            false => self.inner.is_settled(at),
        }
    }
}

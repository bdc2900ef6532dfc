//! A device with real bytes, in RAM or in an image file.
//!
//! Rules, metadata and counts are those of the [`Counting`] device inside; this file adds the contents of
//! pages beside it, so both count alike by construction.
//!
//! In RAM, pages are shared until they are programmed again: a clone copies the tables and no page, which
//! makes it a snapshot cheap enough to take before every operation of a small device. Pages that were never
//! programmed, or programmed without bytes, take no memory.
//!
//! An image file ([`Backed::create`], [`Backed::open`]) is written through at every operation in an order
//! that leaves a valid device wherever the process ends. It is not synchronised with the disk before
//! [`Backed::sync`]: an end of the process is a power cut of the device, an end of the machine may damage it.

mod image;
mod store;

pub use image::{BackedError, Failure, Image};
pub use store::{PageStore, Ram};

use crate::address::{BlockId, Geometry, Ppa};
use crate::content::{Bytes, Content, PageBuf};
use crate::context::Ctx;
use crate::counting::Counting;
use crate::nand::{Done, Nand, NandError};
use crate::oob::Oob;
use crate::rules::Rules;
use std::path::Path;

/// A device whose pages hold bytes; `S` is [`Ram`] or [`Image`].
///
/// A page that is programmed with `Content(None)` reads as zeros. A tail takes the place of the last bytes
/// of the page it is programmed with, and is read back with them.
#[derive(Clone, Debug)]
pub struct Backed<S = Ram> {
    counting: Counting,
    store: S,
}

impl Backed<Ram> {
    /// An erased device in RAM; memory is taken page by page as pages are programmed.
    pub fn ram(geometry: Geometry, rules: Rules) -> Self {
        Self { counting: Counting::new(geometry, rules), store: Ram::new(&geometry) }
    }
}

impl Backed<Image> {
    /// Creates the image file `path` with an erased device in it; the file is sparse.
    ///
    /// # Errors
    /// [`BackedError::Exists`]; [`BackedError::Io`] where the file cannot be written, in which case none is left.
    pub fn create(path: &Path, geometry: Geometry, rules: Rules) -> Result<Self, BackedError> {
        let store = Image::create(path, &geometry, &rules)?;
        Ok(Self { counting: Counting::new(geometry, rules), store })
    }

    /// Opens the image file `path`: the flash continues as it was left, the counts start from zero.
    ///
    /// # Errors
    /// [`BackedError`]: the file cannot be opened, is no image, has another length than its header says, or
    /// is damaged.
    pub fn open(path: &Path) -> Result<Self, BackedError> {
        let (store, counting) = Image::open(path)?;
        Ok(Self { counting, store })
    }

    /// Waits until the operating system has the image on its disk.
    ///
    /// # Errors
    /// [`BackedError::Io`].
    pub fn sync(&self) -> Result<(), BackedError> {
        self.store.sync()
    }

    /// Where the reason stands when the image can no longer be read or written; can be kept while the device
    /// is boxed. Such a device answers [`NandError::PowerLost`] from then on.
    pub fn failure(&self) -> Failure {
        self.store.failure()
    }
}

impl<S: PageStore> Backed<S> {
    /// The device that keeps rules, metadata and counts.
    pub fn counting(&self) -> &Counting {
        &self.counting
    }

    /// P/E cycles of each block.
    pub fn pe_cycles(&self) -> &[u32] {
        self.counting.pe_cycles()
    }

    /// Pages of `block` up to the last programmed one.
    pub fn high_water(&self, block: BlockId) -> u32 {
        self.counting.high_water(block)
    }

    /// Marks a block bad at no cost, as the factory does.
    ///
    /// # Errors
    /// [`NandError::PowerLost`] where the image cannot be written.
    pub fn mark_factory_bad(&mut self, block: BlockId) -> Result<(), NandError> {
        self.store.check()?;
        self.counting.mark_factory_bad(block);
        self.store.save_block(&self.counting, block)
    }
}

/// The bytes of a page to program; `None`: zeros.
fn checked<'a>(geometry: &Geometry, page: &'a Content) -> Option<&'a [u8]> {
    let bytes = page.bytes()?;
    let expected = geometry.page_bytes() as usize;
    assert!(bytes.len() == expected, "a buffer of {} bytes does not fit a page of {expected}", bytes.len());
    Some(bytes)
}

impl<S: PageStore> Nand for Backed<S> {
    type Buf = Content;

    fn geometry(&self) -> &Geometry {
        self.counting.geometry()
    }

    fn rules(&self) -> &Rules {
        self.counting.rules()
    }

    fn read(&mut self, at: Ppa, page: &mut Content) -> Result<Oob, NandError> {
        self.store.check()?;
        let oob = self.counting.read(at, &mut ())?;
        let page_bytes = self.counting.geometry().page_bytes();
        self.store.load(at, page.0.get_or_insert_with(|| Bytes::zeroed(page_bytes)))?;
        Ok(oob)
    }

    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        self.store.check()?;
        self.counting.read_spare(at)
    }

    fn program(&mut self, at: Ppa, page: &Content, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.store.check()?;
        let bytes = checked(self.counting.geometry(), page);
        let done = self.counting.program(at, &(), tail, oob)?;
        self.store.program(at, bytes, tail)?;
        self.store.save_block(&self.counting, self.counting.geometry().block_of(at))?;
        self.store.save_page(&self.counting, at)?;
        Ok(done)
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.store.check()?;
        self.counting.read_tail(at, tail)
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut Content, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.store.check()?;
        let oob = self.counting.read_with_tail(at, &mut (), tail)?;
        let page_bytes = self.counting.geometry().page_bytes();
        self.store.load(at, page.0.get_or_insert_with(|| Bytes::zeroed(page_bytes)))?;
        Ok(oob)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.store.check()?;
        let stored = self.counting.copy(from, to, oob)?;
        self.store.copy(from, to)?;
        let geometry = *self.counting.geometry();
        self.store.save_block(&self.counting, geometry.block_of(from))?;
        self.store.save_block(&self.counting, geometry.block_of(to))?;
        self.store.save_page(&self.counting, to)?;
        Ok(stored)
    }

    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        self.store.check()?;
        let done = self.counting.program_spare(at, oob)?;
        self.store.save_page(&self.counting, at)?;
        Ok(done)
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.store.check()?;
        let done = self.counting.erase(block)?;
        let geometry = *self.counting.geometry();
        let first = geometry.page(block, 0).0;
        self.store.erase(first..first + geometry.pages_per_block());
        self.store.save_block(&self.counting, block)?;
        Ok(done)
    }

    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.store.check()?;
        let done = self.counting.retire(block)?;
        self.store.save_block(&self.counting, block)?;
        Ok(done)
    }

    fn set_slc(&mut self, block: BlockId, slc: bool) {
        self.counting.set_slc(block, slc);
    }

    fn is_slc(&self, block: BlockId) -> bool {
        self.counting.is_slc(block)
    }

    fn ctx(&mut self) -> &mut Ctx {
        self.counting.ctx()
    }
}

//! A device with real bytes, in RAM or in an image file.
//!
//! The [`Counting`] device inside keeps rules, metadata and counts; this file adds the page contents, so both count
//! alike by construction.
//!
//! In RAM, a block is shared until it is changed: a clone copies the tables and no page. Such a snapshot is cheap
//! enough before every operation on a small device. Blocks never programmed take no memory.
//!
//! An image file ([`Backed::create`], [`Backed::open`]) is written in an order that leaves a valid device wherever the
//! process ends: for the device this is a power cut. Programs since the last [`ImageFile::sync`] may be lost then, the
//! last ones first. If the machine ends, they may also be unreadable. An image is locked while it is open.

mod ahead;
mod backlog;
mod cut;
#[cfg(test)]
mod ends;
mod error;
mod faults;
mod file;
mod freed;
mod fresh;
mod gathered;
mod image;
mod layout;
mod marks;
mod nvram;
mod open;
mod os;
mod overlay;
mod pairs;
mod recorded;
mod records;
mod shared;
mod store;
mod work;

pub use error::{BackedError, Failure};
pub use faults::{Call, Fault, Faults};
pub use file::ImageFile;
pub use image::Image;
pub use nvram::ImageNvram;
pub use os::open_regular;
pub use store::{PageStore, Ram};
pub use work::{Age, Work};

use crate::address::{BlockId, Geometry, Ppa};
use crate::content::{Bytes, Content, PageBuf};
use crate::context::Ctx;
use crate::counting::{Counting, SpareStore};
use crate::nand::{Done, Nand, NandError};
use crate::oob::Oob;
use crate::rules::Rules;
use layout::Header;
use std::path::Path;

/// Metadata prefetch distance in a longer read, in pages.
const PAGES_AHEAD: u32 = 8;

/// Whether a tail with `bytes` bytes stands in the page's record of an image, beside the spare area.
pub(crate) fn is_tail_in_record(geometry: &Geometry, bytes: usize) -> bool {
    records::inline(layout::slot_bytes(geometry), bytes).is_some()
}

/// A device whose pages hold bytes; `S` is [`Ram`] or [`Image`].
///
/// A page programmed with `Content(None)` reads as zeros. A tail replaces the last bytes in its page, and is read back
/// with them.
#[derive(Clone, Debug)]
pub struct Backed<S: PageStore = Ram> {
    counting: Counting,
    store: S,
}

impl Backed<Ram> {
    /// An erased device in RAM; memory is taken block by block as pages are programmed.
    pub fn ram(geometry: Geometry, rules: Rules) -> Self {
        Self { counting: Counting::new(geometry, rules), store: Ram::new(&geometry) }
    }
}

/// Image pages compared with their checksums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Programmed pages.
    pub pages: u64,
    /// The unreadable ones.
    pub spoilt: Vec<Ppa>,
}

impl Backed<Image> {
    /// Creates the image file `path` with an erased device in it; the file is sparse.
    ///
    /// # Errors
    /// [`BackedError::Exists`]; [`BackedError::Io`] if the file cannot be written; no file is left then.
    pub fn create(path: &Path, geometry: Geometry, rules: Rules) -> Result<Self, BackedError> {
        Self::create_with(path, geometry, rules, 0, String::new())
    }

    /// As [`Self::create`], with `nvram_bytes` NVRAM beside the flash, and a text about the device's user.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_with(
        path: &Path,
        geometry: Geometry,
        rules: Rules,
        nvram_bytes: u64,
        text: String,
    ) -> Result<Self, BackedError> {
        let store = Image::create(path, Header { geometry, rules, nvram_bytes, text })?;
        let mut counting = Counting::new(geometry, rules);
        counting.has_no_tails = true;
        Ok(Self { counting, store })
    }

    /// Opens the image file `path`: the flash continues as it was left, the counts start from zero.
    ///
    /// A spoilt record costs its page or its block; [`Self::notices`] names it.
    ///
    /// # Errors
    /// [`BackedError`]: the file cannot be opened, is in use, is no image in this version, has another length than its
    /// header says, or its header is damaged.
    pub fn open(path: &Path) -> Result<Self, BackedError> {
        let (store, counting) = Image::open(path)?;
        Ok(Self { counting, store })
    }

    /// As [`Self::open`], and nothing reaches the file: it stays as it is, whatever is programmed or erased. A file that
    /// was cut short can be opened; pages behind its end cannot be read.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_read_only(path: &Path) -> Result<Self, BackedError> {
        let (store, counting) = Image::open_read_only(path, false)?;
        Ok(Self { counting, store })
    }

    /// As [`Self::open_read_only`], for a rescue: damage in the NVRAM is a notice, and so are records that are not current.
    ///
    /// # Errors
    /// As [`Self::open`], but for these.
    pub fn open_to_rescue(path: &Path) -> Result<Self, BackedError> {
        let (store, counting) = Image::open_read_only(path, true)?;
        Ok(Self { counting, store })
    }

    /// Spoilt parts found when the image was opened, in sentences.
    pub fn notices(&self) -> &[String] {
        self.store.notices()
    }

    /// The file, to be kept while the device is boxed.
    pub fn file(&self) -> ImageFile {
        self.store.file()
    }

    /// From now on an erase waits until everything before it is on the disk: synchronised data then also survives the
    /// machine's end.
    pub fn survive_machine(&mut self) {
        self.store.survive_machine();
    }

    /// Waits until the operating system has the image on its disk.
    ///
    /// # Errors
    /// [`BackedError::Io`].
    pub fn sync(&self) -> Result<(), BackedError> {
        self.store.file().sync()
    }

    /// Compares every programmed page's bytes with their checksum.
    ///
    /// # Errors
    /// [`NandError::PowerLost`] if the image cannot be read.
    pub fn verify(&mut self) -> Result<Verified, NandError> {
        self.store.check()?;
        let geometry = *self.counting.geometry();
        let mut verified = Verified::default();
        for block in (0..geometry.blocks()).map(BlockId) {
            for page in 0..self.counting.high_water(block) {
                let at = geometry.page(block, page);
                if self.counting.is_programmed(at, block) {
                    verified.pages += 1;
                    if !self.store.is_sound(at)? {
                        verified.spoilt.push(at);
                    }
                }
            }
        }
        Ok(verified)
    }

    /// The reason once the image can no longer be read or written; it can be kept while the device is boxed. Such a
    /// device answers [`NandError::PowerLost`] from then on.
    pub fn failure(&self) -> Failure {
        self.store.failure()
    }
}

impl<S: PageStore> Backed<S> {
    /// The device with rules, metadata and counts.
    pub fn counting(&self) -> &Counting {
        &self.counting
    }

    /// P/E cycles by block.
    pub fn pe_cycles(&self) -> &[u32] {
        self.counting.pe_cycles()
    }

    /// Pages in `block` up to the last programmed one.
    pub fn high_water(&self, block: BlockId) -> u32 {
        self.counting.high_water(block)
    }

    /// Marks a block bad at no cost, as the factory does.
    ///
    /// # Errors
    /// [`NandError::PowerLost`] if the image cannot be written.
    pub fn mark_factory_bad(&mut self, block: BlockId) -> Result<(), NandError> {
        self.store.check()?;
        self.counting.mark_factory_bad(block);
        self.store.save_block(&self.counting, block)
    }
}

impl<S: PageStore> Drop for Backed<S> {
    fn drop(&mut self) {
        // Who ends without it loses no page.
        let _ = self.store.save_all(&self.counting);
    }
}

/// Bytes for a page program; `None`: zeros.
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
        let wanted = self.counting.ctx().wanted();
        if wanted > 1 {
            // Page bytes drive the tables out of the cache.
            self.counting.spare.prefetch(Ppa(at.0 + PAGES_AHEAD));
        }
        self.store.load(at, page.0.get_or_insert_with(|| Bytes::zeroed(page_bytes)), wanted)?;
        Ok(oob)
    }

    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        self.store.check()?;
        let oob = self.counting.read_spare(at)?;
        self.store.spare(at)?;
        Ok(oob)
    }

    fn program(&mut self, at: Ppa, page: &Content, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.store.check()?;
        let bytes = checked(self.counting.geometry(), page);
        let done = self.counting.program(at, &(), tail, oob)?;
        self.store.program(at, bytes, tail)?;
        self.store.save_page(&self.counting, at)?;
        Ok(done)
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.store.check()?;
        let oob = self.counting.read_tail(at, tail)?;
        self.store.load_tail(at, tail)?;
        Ok(oob)
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut Content, tail: &mut [u8]) -> Result<Oob, NandError> {
        let oob = self.read_tail(at, tail)?;
        let page_bytes = self.counting.geometry().page_bytes();
        let wanted = self.counting.ctx().wanted();
        if wanted > 1 {
            // Page bytes drive the tables out of the cache.
            self.counting.spare.prefetch(Ppa(at.0 + PAGES_AHEAD));
        }
        self.store.load(at, page.0.get_or_insert_with(|| Bytes::zeroed(page_bytes)), wanted)?;
        Ok(oob)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.store.check()?;
        let geometry = self.counting.geometry();
        // The device below asserts that there is something to copy.
        if from.0 < geometry.pages() && self.counting.is_programmed(from, geometry.block_of(from)) {
            self.store.fetch(from)?;
        }
        let stored = self.counting.copy(from, to, oob)?;
        self.store.copy(from, to)?;
        self.store.save_page(&self.counting, to)?;
        Ok(stored)
    }

    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        self.store.check()?;
        let done = self.counting.program_spare(at, oob)?;
        self.store.save_spare(&self.counting, at)?;
        Ok(done)
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.store.check()?;
        let done = self.counting.erase(block)?;
        let geometry = *self.counting.geometry();
        let first = geometry.page(block, 0).0;
        self.store.erase(first..first + geometry.pages_per_block());
        self.store.save_erase(&self.counting, block)?;
        Ok(done)
    }

    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.store.check()?;
        let done = self.counting.retire(block)?;
        self.store.save_block(&self.counting, block)?;
        Ok(done)
    }

    fn is_known_erased(&self) -> bool {
        self.counting.is_known_erased()
    }

    fn is_settled(&mut self, at: Ppa) -> bool {
        self.store.is_settled(at)
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

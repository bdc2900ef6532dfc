//! Storage for page bytes.

use crate::address::{BlockId, Geometry, Ppa};
use crate::content::Bytes;
use crate::counting::Counting;
use crate::nand::NandError;
use std::ops::Range;
use std::sync::Arc;

/// Page contents beside a [`Counting`] device, with rules already asserted.
///
/// A failed store answers [`NandError::PowerLost`] from then on: a device without its medium is off.
#[allow(clippy::missing_errors_doc)] // Those are the errors of every function here.
pub trait PageStore: Send {
    /// Whether the store can still be used.
    fn check(&self) -> Result<(), NandError> {
        Ok(())
    }

    /// Checks that a page's spare area can be read: otherwise [`NandError::Uncorrectable`].
    fn spare(&self, _at: Ppa) -> Result<(), NandError> {
        Ok(())
    }

    /// As [`Nand::is_settled`](crate::Nand::is_settled).
    fn is_settled(&mut self, _at: Ppa) -> bool {
        false
    }

    /// Fills `page` with a programmed page's contents; it is the first in `wanted` pages likely read in order.
    /// [`NandError::Uncorrectable`] if they are spoilt.
    fn load(&mut self, at: Ppa, page: &mut Bytes, wanted: u32) -> Result<(), NandError>;

    /// Fills `tail`, unless the device keeps tails itself.
    fn load_tail(&mut self, _at: Ppa, _tail: &mut [u8]) -> Result<(), NandError> {
        Ok(())
    }

    /// Stores `page` (`None`: zeros) with `tail` over its last bytes.
    fn program(&mut self, at: Ppa, page: Option<&[u8]>, tail: &[u8]) -> Result<(), NandError>;

    /// Gets ready to copy the programmed page `from`; [`NandError::Uncorrectable`] if it is spoilt.
    fn fetch(&mut self, _from: Ppa) -> Result<(), NandError> {
        Ok(())
    }

    /// Stores the fetched contents from `from` at `to`.
    fn copy(&mut self, from: Ppa, to: Ppa) -> Result<(), NandError>;

    /// Drops the contents of `pages`, a whole block.
    fn erase(&mut self, pages: Range<u32>);

    /// Makes the erase of `block` last.
    fn save_erase(&mut self, _device: &Counting, _block: BlockId) -> Result<(), NandError> {
        Ok(())
    }

    /// Makes the state for `block` in `device` last.
    fn save_block(&mut self, _device: &Counting, _block: BlockId) -> Result<(), NandError> {
        Ok(())
    }

    /// Makes the metadata for the programmed page `at` last; the page counts as programmed from here on.
    fn save_page(&mut self, _device: &Counting, _at: Ppa) -> Result<(), NandError> {
        Ok(())
    }

    /// Makes the metadata for page `at` last after its spare area was programmed again.
    fn save_spare(&mut self, _device: &Counting, _at: Ppa) -> Result<(), NandError> {
        Ok(())
    }

    /// Makes volatile state last: the authors whose pages make the next erases necessary.
    fn save_all(&mut self, _device: &Counting) -> Result<(), NandError> {
        Ok(())
    }
}

/// Pages in memory, in blocks shared by a device and its snapshots until one changes the block.
#[derive(Clone, Debug)]
pub struct Ram {
    /// A block's bytes up to its last page with any; pages without, and later ones, are zeros.
    blocks: Vec<Arc<Vec<u8>>>,
    page_bytes: usize,
    pages_per_block: usize,
}

impl Ram {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            blocks: vec![Arc::default(); geometry.blocks() as usize],
            page_bytes: geometry.page_bytes() as usize,
            pages_per_block: geometry.pages_per_block() as usize,
        }
    }

    /// A page's block, and the page's start in it.
    fn place(&self, at: Ppa) -> (usize, usize) {
        (at.index() / self.pages_per_block, at.index() % self.pages_per_block * self.page_bytes)
    }

    /// A page's bytes; `None`: zeros.
    fn get(&self, at: Ppa) -> Option<&[u8]> {
        let (block, start) = self.place(at);
        self.blocks[block].get(start..start + self.page_bytes)
    }

    /// A programmed page's bytes.
    fn get_mut(&mut self, at: Ppa) -> &mut [u8] {
        let (block, start) = self.place(at);
        let (end, whole) = (start + self.page_bytes, self.page_bytes * self.pages_per_block);
        let bytes = Arc::make_mut(&mut self.blocks[block]);
        if bytes.len() < end {
            bytes.reserve_exact(whole - bytes.len());
            bytes.resize(end, 0);
        }
        &mut bytes[start..end]
    }
}

impl PageStore for Ram {
    fn load(&mut self, at: Ppa, page: &mut Bytes, _wanted: u32) -> Result<(), NandError> {
        match self.get(at) {
            Some(bytes) => page.copy_from_slice(bytes),
            None => page.fill(0),
        }
        Ok(())
    }

    fn program(&mut self, at: Ppa, page: Option<&[u8]>, tail: &[u8]) -> Result<(), NandError> {
        if page.is_none() && tail.is_empty() && self.get(at).is_none() {
            return Ok(());
        }
        let bytes = self.get_mut(at);
        match page {
            Some(page) => bytes.copy_from_slice(page),
            None => bytes.fill(0),
        }
        let start = bytes.len() - tail.len();
        bytes[start..].copy_from_slice(tail);
        Ok(())
    }

    fn copy(&mut self, from: Ppa, to: Ppa) -> Result<(), NandError> {
        let ((source, start), (target, _)) = (self.place(from), self.place(to));
        if source == target {
            let page = self.get(from).map(Box::from);
            return self.program(to, page.as_deref(), &[]);
        }
        // A second owner keeps the source's bytes in place while the target's change.
        let bytes = Arc::clone(&self.blocks[source]);
        self.program(to, bytes.get(start..start + self.page_bytes), &[])
    }

    fn erase(&mut self, pages: Range<u32>) {
        let block = &mut self.blocks[pages.start as usize / self.pages_per_block];
        match Arc::get_mut(block) {
            Some(bytes) => bytes.clear(),
            None => *block = Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_by_what_is_programmed() {
        let gibibyte = Geometry::single_die(4096, 64, 4096).unwrap();
        let mut ram = Ram::new(&gibibyte);
        let stored = |ram: &Ram| ram.blocks.iter().map(|block| block.len()).sum::<usize>();
        ram.program(Ppa(0), Some(&[1; 4096]), &[]).unwrap();
        ram.program(Ppa(1), None, &[]).unwrap();
        ram.copy(Ppa(0), Ppa(64)).unwrap();
        assert_eq!(stored(&ram), 2 * 4096, "zeros take nothing");
        let snapshot = ram.clone();
        assert!(
            (0..2).all(|block| Arc::ptr_eq(&ram.blocks[block], &snapshot.blocks[block])),
            "a snapshot takes nothing"
        );
        ram.program(Ppa(2), Some(&[2; 4096]), &[]).unwrap();
        assert!(Arc::ptr_eq(&ram.blocks[1], &snapshot.blocks[1]), "what did not change since is shared");
        ram.erase(0..64);
        assert_eq!((stored(&ram), stored(&snapshot)), (4096, 2 * 4096));
    }
}

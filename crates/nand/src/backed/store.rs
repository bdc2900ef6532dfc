//! Where the bytes of pages are kept.

use crate::address::{BlockId, Geometry, Ppa};
use crate::content::Bytes;
use crate::counting::Counting;
use crate::nand::NandError;
use std::ops::Range;
use std::sync::Arc;

/// Contents of pages beside a [`Counting`] device, which has already asserted the rules.
///
/// A store that fails answers [`NandError::PowerLost`] from then on: a device whose medium is gone is off.
#[allow(clippy::missing_errors_doc)] // Those are the errors of every function here.
pub trait PageStore: Send {
    /// Whether the store can still be used.
    fn check(&self) -> Result<(), NandError> {
        Ok(())
    }

    /// Whether the spare area of a page can be read: [`NandError::Uncorrectable`] where not.
    fn spare(&self, _at: Ppa) -> Result<(), NandError> {
        Ok(())
    }

    /// Fills `page` with the contents of a programmed page, the first of `wanted` that are likely read one after the other;
    /// [`NandError::Uncorrectable`] where they are spoilt.
    fn load(&mut self, at: Ppa, page: &mut Bytes, wanted: u32) -> Result<(), NandError>;

    /// Fills `tail`, where the device does not keep tails itself.
    fn load_tail(&mut self, _at: Ppa, _tail: &mut [u8]) -> Result<(), NandError> {
        Ok(())
    }

    /// Stores `page` (`None`: zeros) with `tail` over its last bytes.
    fn program(&mut self, at: Ppa, page: Option<&[u8]>, tail: &[u8]) -> Result<(), NandError>;

    /// Gets ready to copy the programmed page `from`; [`NandError::Uncorrectable`] where it is spoilt.
    fn fetch(&mut self, _from: Ppa) -> Result<(), NandError> {
        Ok(())
    }

    /// Stores the contents of `from`, which were fetched, at `to`.
    fn copy(&mut self, from: Ppa, to: Ppa) -> Result<(), NandError>;

    /// Drops the contents of `pages`, those of a block.
    fn erase(&mut self, pages: Range<u32>);

    /// Makes the erase of `block` last.
    fn save_erase(&mut self, _device: &Counting, _block: BlockId) -> Result<(), NandError> {
        Ok(())
    }

    /// Makes the state of `block` in `device` last.
    fn save_block(&mut self, _device: &Counting, _block: BlockId) -> Result<(), NandError> {
        Ok(())
    }

    /// Makes the metadata of page `at`, which was programmed, last; the page counts as programmed from here on.
    fn save_page(&mut self, _device: &Counting, _at: Ppa) -> Result<(), NandError> {
        Ok(())
    }

    /// Makes the metadata of page `at`, whose spare area was programmed again, last.
    fn save_spare(&mut self, _device: &Counting, _at: Ppa) -> Result<(), NandError> {
        Ok(())
    }

    /// Makes last what a power cut may lose: of which authors the pages are that make the next erases necessary.
    fn save_all(&mut self, _device: &Counting) -> Result<(), NandError> {
        Ok(())
    }
}

/// Pages in memory, by blocks that a device shares with its snapshots until one of them changes the block.
#[derive(Clone, Debug)]
pub struct Ram {
    /// The bytes of a block up to its last page that has any; pages without, and those behind, are zeros.
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

    /// The block of a page, and where the page begins in it.
    fn place(&self, at: Ppa) -> (usize, usize) {
        (at.index() / self.pages_per_block, at.index() % self.pages_per_block * self.page_bytes)
    }

    /// The bytes of a page; `None`: zeros.
    fn get(&self, at: Ppa) -> Option<&[u8]> {
        let (block, start) = self.place(at);
        self.blocks[block].get(start..start + self.page_bytes)
    }

    /// The bytes of a page that is programmed.
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
        // Another owner of the source keeps its bytes in place while those of the target are changed.
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

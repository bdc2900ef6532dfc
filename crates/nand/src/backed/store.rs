//! Where the bytes of pages are kept.

use crate::address::{BlockId, Geometry, Ppa};
use crate::counting::Counting;
use crate::nand::NandError;
use std::ops::Range;
use std::sync::Arc;

/// Contents of pages beside a [`Counting`] device, which has already asserted the rules.
///
/// A store that fails answers [`NandError::PowerLost`] from then on: a device whose medium is gone is off.
pub trait PageStore: Send {
    /// Whether the store can still be used.
    ///
    /// # Errors
    /// [`NandError::PowerLost`] after a failure.
    fn check(&self) -> Result<(), NandError> {
        Ok(())
    }

    /// Fills `page` with the contents of a programmed page.
    ///
    /// # Errors
    /// [`NandError::PowerLost`], as from every function below.
    fn load(&mut self, at: Ppa, page: &mut [u8]) -> Result<(), NandError>;

    /// Stores `page` (`None`: zeros) with `tail` over its last bytes.
    #[allow(clippy::missing_errors_doc)]
    fn program(&mut self, at: Ppa, page: Option<&[u8]>, tail: &[u8]) -> Result<(), NandError>;

    /// Stores the contents of `from` at `to`.
    #[allow(clippy::missing_errors_doc)]
    fn copy(&mut self, from: Ppa, to: Ppa) -> Result<(), NandError>;

    /// Drops the contents of `pages`.
    fn erase(&mut self, pages: Range<u32>);

    /// Makes the state of `block` in `device` last.
    #[allow(clippy::missing_errors_doc)]
    fn save_block(&mut self, _device: &Counting, _block: BlockId) -> Result<(), NandError> {
        Ok(())
    }

    /// Makes the metadata of page `at` in `device` last; the page counts as programmed from here on.
    #[allow(clippy::missing_errors_doc)]
    fn save_page(&mut self, _device: &Counting, _at: Ppa) -> Result<(), NandError> {
        Ok(())
    }
}

/// Pages in memory, shared between a device and its snapshots.
#[derive(Clone, Debug)]
pub struct Ram {
    /// `None`: erased, or zeros.
    pages: Vec<Option<Arc<[u8]>>>,
    page_bytes: usize,
}

impl Ram {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self { pages: vec![None; geometry.pages() as usize], page_bytes: geometry.page_bytes() as usize }
    }
}

impl PageStore for Ram {
    fn load(&mut self, at: Ppa, page: &mut [u8]) -> Result<(), NandError> {
        match &self.pages[at.index()] {
            Some(bytes) => page.copy_from_slice(bytes),
            None => page.fill(0),
        }
        Ok(())
    }

    fn program(&mut self, at: Ppa, page: Option<&[u8]>, tail: &[u8]) -> Result<(), NandError> {
        let slot = &mut self.pages[at.index()];
        *slot = page.map(Arc::from);
        if !tail.is_empty() {
            let bytes = slot.get_or_insert_with(|| Arc::from(vec![0; self.page_bytes]));
            let bytes = Arc::get_mut(bytes).expect("the page was just made and has no other owner");
            bytes[self.page_bytes - tail.len()..].copy_from_slice(tail);
        }
        Ok(())
    }

    fn copy(&mut self, from: Ppa, to: Ppa) -> Result<(), NandError> {
        self.pages[to.index()] = self.pages[from.index()].clone();
        Ok(())
    }

    fn erase(&mut self, pages: Range<u32>) {
        self.pages[pages.start as usize..pages.end as usize].fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_by_what_is_programmed() {
        let gibibyte = Geometry::single_die(4096, 64, 4096).unwrap();
        let mut ram = Ram::new(&gibibyte);
        let stored = |ram: &Ram| ram.pages.iter().flatten().count();
        ram.program(Ppa(0), Some(&[1; 4096]), &[]).unwrap();
        ram.program(Ppa(1), None, &[]).unwrap();
        ram.copy(Ppa(0), Ppa(64)).unwrap();
        assert_eq!(stored(&ram), 2, "zeros take nothing");
        let snapshot = ram.clone();
        let shared = |at: usize| ram.pages[at].as_ref().map(Arc::strong_count);
        assert_eq!((shared(0), shared(64)), (Some(4), Some(4)), "one page, for the copy and the snapshot too");
        ram.erase(0..64);
        assert_eq!((stored(&ram), stored(&snapshot)), (1, 2));
    }
}

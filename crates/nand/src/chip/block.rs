//! One block of a chip: bytes, and states that the bytes do not tell.

/// What a failed or cut program left of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Torn {
    /// The data is unreadable.
    Data,
    /// Data and spare area are unreadable.
    DataAndSpare,
    /// The page reads as before, and takes no program until the erase of its block.
    Weak,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Page {
    /// Since the erase.
    pub(super) programs: u8,
    pub(super) torn: Option<Torn>,
    pub(super) wrong_bits: u32,
}

/// A block's state after a cut erase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CutErase {
    /// Pages below this one read as erased.
    pub(super) erased_below: usize,
    /// Whether the other pages read as before; otherwise they are unreadable.
    pub(super) rest_as_before: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Each page's data and spare area in turn. None: everything is erased, and takes no memory.
    bytes: Option<Box<[u8]>>,
    pub(super) pages: Box<[Page]>,
    /// The page after the highest programmed one.
    pub(super) next: u32,
    pub(super) pe_cycles: u32,
    pub(super) bad: bool,
    /// An erase failed.
    pub(super) dead: bool,
    pub(super) cut: Option<CutErase>,
}

/// How a page reads after a cut erase of its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum View {
    AsWritten,
    Erased,
    Unreadable,
}

impl Block {
    pub(super) fn new(pages: u32, pe_cycles: u32) -> Self {
        let pages = vec![Page::default(); pages as usize].into_boxed_slice();
        Self { bytes: None, pages, next: 0, pe_cycles, bad: false, dead: false, cut: None }
    }

    pub(super) fn view(&self, page: usize) -> View {
        match self.cut {
            Some(cut) if page < cut.erased_below => View::Erased,
            Some(cut) if !cut.rest_as_before => View::Unreadable,
            _ => View::AsWritten,
        }
    }

    /// Copies bytes of a page, its spare area behind its data, into `to`.
    pub(super) fn copy_to(&self, page: usize, page_bytes: usize, from: usize, to: &mut [u8]) {
        match &self.bytes {
            Some(bytes) if self.view(page) == View::AsWritten => {
                let start = page * page_bytes + from;
                to.copy_from_slice(&bytes[start..start + to.len()]);
            }
            _ => to.fill(0xFF),
        }
    }

    /// Clears the bits that are 0 in `from`.
    pub(super) fn clear(&mut self, page: usize, page_bytes: usize, at: usize, from: &[u8]) {
        let all = page_bytes * self.pages.len();
        let bytes = self.bytes.get_or_insert_with(|| vec![0xFF; all].into_boxed_slice());
        let start = page * page_bytes + at;
        for (cell, byte) in bytes[start..start + from.len()].iter_mut().zip(from) {
            *cell &= byte;
        }
    }

    /// The first byte of data that would be programmed twice, counted from the part's start.
    pub(super) fn programmed_twice(&self, page: usize, page_bytes: usize, at: usize, data: &[u8]) -> Option<usize> {
        let bytes = self.bytes.as_ref()?;
        let start = page * page_bytes + at;
        bytes[start..start + data.len()].iter().zip(data).position(|(&cell, &byte)| cell != 0xFF && byte != 0xFF)
    }

    pub(super) fn erase(&mut self) {
        self.bytes = None;
        self.pages.fill(Page::default());
        self.next = 0;
        self.cut = None;
    }
}

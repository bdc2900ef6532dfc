//! A mutable page with its changed sectors.

use nandlab_nand::SECTOR_BYTES;
use std::ops::{Deref, Range};

/// A page's bytes: read as a slice, changed through [`PageMut::touch`] to note the sectors.
#[derive(Debug)]
pub struct PageMut<'p> {
    bytes: &'p mut [u8],
    dirty: &'p mut u128,
}

impl<'p> PageMut<'p> {
    /// A page with at most 128 sectors; each touched sector sets its bit in `dirty`.
    pub fn new(bytes: &'p mut [u8], dirty: &'p mut u128) -> Self {
        Self { bytes, dirty }
    }

    /// The bytes in `range`, mutable; their sectors count as changed.
    #[inline]
    pub fn touch(&mut self, range: Range<usize>) -> &mut [u8] {
        if !range.is_empty() {
            let first = range.start / SECTOR_BYTES as usize;
            let last = (range.end - 1) / SECTOR_BYTES as usize;
            *self.dirty |= (u128::MAX >> (127 - (last - first))) << first;
        }
        &mut self.bytes[range]
    }

    /// Copies `bytes` to `at`.
    #[inline]
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.touch(at..at + bytes.len()).copy_from_slice(bytes);
    }

    /// Moves the bytes of `range` up by `by`.
    #[inline]
    pub fn shift_up(&mut self, range: Range<usize>, by: usize) {
        let length = range.len();
        self.touch(range.start..range.end + by).copy_within(..length, by);
    }

    /// Moves the bytes of `range` down by `by`.
    #[inline]
    pub fn shift_down(&mut self, range: Range<usize>, by: usize) {
        self.touch(range.start - by..range.end).copy_within(by.., 0);
    }
}

impl Deref for PageMut<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_of_every_change_are_noted() {
        let mut bytes: Vec<u8> = (0..128 * 512).map(|at| (at / 512) as u8).collect();
        let mut dirty = 0;
        let mut page = PageMut::new(&mut bytes, &mut dirty);
        page.put(511, &[1, 2]);
        page.touch(5000..5000);
        page.shift_up(1024..1536, 512);
        page.shift_down(127 * 512..128 * 512, 512);
        assert_eq!((page[1536], page[126 * 512]), (2, 127));
        assert_eq!(dirty, 0b1111 | 0b11 << 126);
        let mut all = 0;
        PageMut::new(&mut bytes, &mut all).touch(0..128 * 512);
        assert_eq!(all, u128::MAX);
    }
}

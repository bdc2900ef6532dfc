//! Page contents: nothing, or bytes.

use crate::address::{SectorMask, SECTOR_BYTES};

/// One page's contents, owned, and opaque to FTLs and buffers.
///
/// A `()` buffer costs nothing: a device that only counts moves no bytes.
pub trait PageBuf: Clone + Send + std::fmt::Debug + 'static {
    /// A zeroed page, the contents before the first write.
    fn zeroed(page_bytes: u32) -> Self;

    /// Copies the sectors in `mask` from `from`.
    fn merge(&mut self, from: &Self, mask: SectorMask);

    /// Zeroes the sectors in `mask`.
    fn clear(&mut self, mask: SectorMask);

    /// The bytes, if the buffer has any.
    fn bytes(&self) -> Option<&[u8]>;

    /// The bytes to fill, if the buffer has any.
    fn bytes_mut(&mut self) -> Option<&mut [u8]>;
}

impl PageBuf for () {
    #[inline]
    fn zeroed(_: u32) -> Self {}
    #[inline]
    fn merge(&mut self, (): &Self, _: SectorMask) {}
    #[inline]
    fn clear(&mut self, _: SectorMask) {}
    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        None
    }
    #[inline]
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        None
    }
}

/// Real bytes.
pub type Bytes = Box<[u8]>;

impl PageBuf for Bytes {
    fn zeroed(page_bytes: u32) -> Self {
        vec![0; page_bytes as usize].into_boxed_slice()
    }

    fn merge(&mut self, from: &Self, mask: SectorMask) {
        for sector in mask.iter() {
            let range = sector_range(sector);
            self[range.clone()].copy_from_slice(&from[range]);
        }
    }

    fn clear(&mut self, mask: SectorMask) {
        for sector in mask.iter() {
            self[sector_range(sector)].fill(0);
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(self)
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Some(self)
    }
}

/// Bytes if the device stores them, otherwise nothing: the boxed stack serves both kinds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Content(pub Option<Bytes>);

impl PageBuf for Content {
    fn zeroed(page_bytes: u32) -> Self {
        Self(Some(Bytes::zeroed(page_bytes)))
    }

    fn merge(&mut self, from: &Self, mask: SectorMask) {
        if let (Some(to), Some(from)) = (&mut self.0, &from.0) {
            to.merge(from, mask);
        }
    }

    fn clear(&mut self, mask: SectorMask) {
        if let Some(to) = &mut self.0 {
            to.clear(mask);
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        self.0.as_deref()
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        self.0.as_deref_mut()
    }
}

fn sector_range(sector: u32) -> std::ops::Range<usize> {
    let start = (sector * SECTOR_BYTES) as usize;
    start..start + SECTOR_BYTES as usize
}

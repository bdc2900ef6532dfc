//! Entries in a map page's bytes.

use nandlab_nand::{Geometry, Ppa};

/// Bytes in a map entry, a page's place.
pub(super) const ENTRY_BYTES: u32 = 4;

/// Entries in a map page.
pub(super) fn entries_per_map_page(geometry: &Geometry) -> u32 {
    geometry.page_bytes() / ENTRY_BYTES
}

/// Sets an entry in a map page.
#[inline]
pub(super) fn set_entry(bytes: &mut [u8], place: u32, page: Ppa) {
    let start = (place * ENTRY_BYTES) as usize;
    bytes[start..start + ENTRY_BYTES as usize].copy_from_slice(&page.0.to_le_bytes());
}

/// A map page's entries.
pub(super) fn entries(bytes: &[u8]) -> impl Iterator<Item = Ppa> + '_ {
    bytes
        .chunks_exact(ENTRY_BYTES as usize)
        .map(|bytes| Ppa(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
}

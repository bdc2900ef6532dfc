//! A map page's entries: the places of neighbouring logical pages, four bytes each.

use nandlab_nand::{Geometry, Lpn, Ppa};

/// Bytes in a map entry, a page's place.
pub(crate) const ENTRY_BYTES: u32 = 4;

/// Entries in a map page.
pub(crate) fn entries_per_map_page(geometry: &Geometry) -> u32 {
    geometry.page_bytes() / ENTRY_BYTES
}

/// Sets an entry in a map page.
#[inline]
pub(crate) fn set_entry(bytes: &mut [u8], place: u32, page: Ppa) {
    let start = (place * ENTRY_BYTES) as usize;
    bytes[start..start + ENTRY_BYTES as usize].copy_from_slice(&page.0.to_le_bytes());
}

/// A map page's entries.
pub(crate) fn entries(bytes: &[u8]) -> impl Iterator<Item = Ppa> + '_ {
    bytes
        .chunks_exact(ENTRY_BYTES as usize)
        .map(|bytes| Ppa(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
}

/// Fills a map page with entries.
pub(crate) fn fill(bytes: &mut [u8], entries: &[Ppa]) {
    for (bytes, page) in bytes.chunks_exact_mut(ENTRY_BYTES as usize).zip(entries) {
        bytes.copy_from_slice(&page.0.to_le_bytes());
    }
}

/// True entries that the map page does not have.
pub(crate) type Stale = Vec<(Lpn, Ppa)>;

/// Compares a map page's entries with the pages' newest copies; `first` is its first logical page. Returns the missing
/// entries, and adds the valid pages with their owners.
pub(crate) fn compare(
    first: u32,
    copies: &[(u64, Ppa)],
    held: Option<(u64, &[u8])>,
    valid: &mut Vec<(Ppa, Lpn)>,
) -> Stale {
    let mut stale = Stale::new();
    let (speaks, bytes) = held.unwrap_or((0, &[]));
    let said = entries(bytes).chain(std::iter::repeat(Ppa::NONE));
    for ((at, &(seq, newest)), said) in (first..).map(Lpn).zip(copies).zip(said) {
        let is_trimmed = seq < speaks && !said.is_some();
        let page = if is_trimmed { Ppa::NONE } else { newest };
        if page.is_some() {
            valid.push((page, at));
        }
        if page != said {
            stale.push((at, page));
        }
    }
    stale
}

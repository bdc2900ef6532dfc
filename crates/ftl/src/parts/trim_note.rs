//! The page that notes trims, in one form for all FTLs.
//!
//! The logical address space is cut into segments of as many pages as one note has bits. A note holds the sequence
//! number up to which it speaks, then a bit for each page of its segment, set where the page is unmapped: at mount a
//! set bit hides every copy older than that. The number of the page itself says nothing, since a move renews it.

use nandlab_nand::Geometry;

/// Bytes of the sequence number, which come first, little endian.
const HEADER: usize = 8;

/// Logical pages of a segment.
pub(crate) fn pages_per_segment(geometry: &Geometry) -> u32 {
    (geometry.page_bytes() - HEADER as u32) * 8
}

/// Segments of `logical_pages` pages.
pub(crate) fn segments(geometry: &Geometry, logical_pages: u32) -> u32 {
    logical_pages.div_ceil(pages_per_segment(geometry))
}

/// A note that speaks up to `seq` and lists no page yet.
pub(crate) fn blank(geometry: &Geometry, seq: u64) -> Vec<u8> {
    let mut note = vec![0; geometry.page_bytes() as usize];
    note[..HEADER].copy_from_slice(&seq.to_le_bytes());
    note
}

/// The bits of a note, a byte for eight pages, the lowest first.
pub(crate) fn bits_mut(note: &mut [u8]) -> &mut [u8] {
    &mut note[HEADER..]
}

/// Reads a note: up to which sequence number it speaks, and the pages of its segment that it lists.
pub(crate) fn read(note: &[u8]) -> (u64, impl Iterator<Item = u32> + '_) {
    let (header, bits) = note.split_at(HEADER);
    let seq = header.iter().rev().fold(0, |seq, &byte| seq << 8 | u64::from(byte));
    // A segment has far more pages than a note lists, so words without any are passed over whole.
    let words = bits.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
    let listed = (0..).step_by(64).zip(words).filter(|&(_, word)| word != 0);
    (seq, listed.flat_map(|(first, word)| ones(word).map(move |bit| first + bit)))
}

/// The bits that are set, the lowest first.
fn ones(word: u64) -> impl Iterator<Item = u32> {
    let some = |word: u64| Some(word).filter(|&word| word != 0);
    std::iter::successors(some(word), move |left| some(left & (left - 1))).map(u64::trailing_zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reads_as_it_was_written() {
        let geometry = Geometry::single_die(4, 4, 512).unwrap();
        assert_eq!((segments(&geometry, 4032), segments(&geometry, 4033)), (1, 2), "504 bytes of 8 bits");
        let mut note = blank(&geometry, 0xAB_CDEF_0123);
        let pages = [0, 9, 63, 64, 4031];
        for page in pages {
            bits_mut(&mut note)[page / 8] |= 1 << (page % 8);
        }
        let (seq, listed) = read(&note);
        assert_eq!((seq, listed.collect::<Vec<_>>()), (0xAB_CDEF_0123, pages.map(|page| page as u32).to_vec()));
    }
}

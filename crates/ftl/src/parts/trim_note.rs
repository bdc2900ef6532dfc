//! The trim note page, in one form for all FTLs.
//!
//! The logical address space is cut into segments with a page per note bit. A note holds the sequence number up to
//! which it is valid, then a bit per page in its segment, set if the page is unmapped: at mount a set bit hides every
//! copy older than that. The note page's own sequence number has no meaning, since a move renews it.

use nandlab_nand::Geometry;

/// Bytes for the sequence number, which comes first, little endian.
const HEADER: usize = 8;

/// Logical pages per segment.
pub(crate) fn pages_per_segment(geometry: &Geometry) -> u32 {
    (geometry.page_bytes() - HEADER as u32) * 8
}

/// Segments for `logical_pages` pages.
pub(crate) fn segments(geometry: &Geometry, logical_pages: u32) -> u32 {
    logical_pages.div_ceil(pages_per_segment(geometry))
}

/// A note valid up to `seq`, without listed pages.
pub(crate) fn blank(geometry: &Geometry, seq: u64) -> Vec<u8> {
    let mut note = vec![0; geometry.page_bytes() as usize];
    note[..HEADER].copy_from_slice(&seq.to_le_bytes());
    note
}

/// A note's bits, eight pages per byte, the lowest first.
pub(crate) fn bits_mut(note: &mut [u8]) -> &mut [u8] {
    &mut note[HEADER..]
}

/// Reads a note: the sequence number up to which it is valid, and the listed pages in its segment.
pub(crate) fn read(note: &[u8]) -> (u64, impl Iterator<Item = u32> + '_) {
    let (header, bits) = note.split_at(HEADER);
    let seq = header.iter().rev().fold(0, |seq, &byte| seq << 8 | u64::from(byte));
    // A segment has far more pages than a note lists, so words without any are skipped.
    let words = bits.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
    let listed = (0..).step_by(64).zip(words).filter(|&(_, word)| word != 0);
    (seq, listed.flat_map(|(first, word)| ones(word).map(move |bit| first + bit)))
}

/// The set bits, the lowest first.
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

//! Page places in NVRAM, recoverable at mount.
//!
//! The memory starts with a word that describes its layout, followed by the headers of all places, then their
//! pages. A header has four words: the page number and its author, the dirty sectors, a sequence number, and
//! a checksum of these three. A checksum of 0 means the place holds no surviving data. The checksum is stored
//! after everything else in its place, and cleared before any change to it. A word store is never torn, so a
//! place is valid wholly or not at all. A changed page goes to a new place. Until the old header is
//! cleared both places are valid, and the higher sequence number wins.

use super::list::NONE;
use crate::MountError;
use nandlab_block::Author;
use nandlab_nand::nvm::{Nvm, PowerLost, WORD_BYTES};
use nandlab_nand::{Origin, PlacementId};

const HEADER_BYTES: u64 = 4 * WORD_BYTES;
/// Checksum offset in a header.
const VALID: u64 = 3 * WORD_BYTES;
/// One extra place, for page changes.
const SPARE: u64 = 1;
const FORMAT: u64 = 0x6E61_6E64_6C61_6201;

/// Header contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub lpn: u32,
    pub author: Author,
    /// Dirty sectors: newer than below.
    pub dirty: u64,
    pub sequence: u64,
}

impl Header {
    fn words(&self) -> [u64; 3] {
        let Author { origin, placement } = self.author;
        // Inverted, so that a page without a placement has no bit of it.
        let placement = u64::from(!placement.number());
        [u64::from(self.lpn) | u64::from(origin.0) << 32 | placement << 40, self.dirty, self.sequence]
    }

    fn of([page, dirty, sequence]: [u64; 3]) -> Self {
        let placement = PlacementId::from_number(!((page >> 40) as u16));
        Self { lpn: page as u32, author: Author { origin: Origin((page >> 32) as u8), placement }, dirty, sequence }
    }
}

/// A nonzero checksum that changes with each of the words.
fn checksum(words: [u64; 3]) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0xD129_42B9_4A1D_5A2D).rotate_left(29);
    words.into_iter().fold(FORMAT, mix) | 1
}

/// An NVRAM's places: tracks the free ones and writes their headers.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    page_bytes: u64,
    places: u64,
    free: Vec<u32>,
    /// First place never used.
    unused: u32,
    next_sequence: u64,
    /// Header words stored since the mount.
    pub(super) stored_words: u64,
}

impl Places {
    /// NVRAM bytes for `pages` pages; 0 for no pages.
    pub(crate) fn bytes(pages: u64, page_bytes: u64) -> u64 {
        match pages {
            0 => 0,
            _ => Self::data_start(pages + SPARE) + (pages + SPARE) * page_bytes,
        }
    }

    fn data_start(places: u64) -> u64 {
        WORD_BYTES + places * HEADER_BYTES
    }

    /// Reads `nvram`; `found` gets each page's newest version with its place, the oldest page first.
    ///
    /// A zeroed memory is formatted. Duplicates from a power cut are removed.
    pub(crate) fn mount(
        nvram: &mut dyn Nvm,
        pages: u64,
        page_bytes: u64,
        found: &mut Vec<(Header, u32)>,
    ) -> Result<Self, MountError> {
        let places = if pages == 0 { 0 } else { pages + SPARE };
        let mut this = Self { page_bytes, places, free: Vec::new(), unused: 0, next_sequence: 1, stored_words: 0 };
        if pages == 0 {
            return Ok(this);
        }
        let needed = Self::bytes(pages, page_bytes);
        if nvram.bytes() < needed || places >= u64::from(NONE) {
            let has = nvram.bytes();
            return Err(MountError::Config(format!(
                "the NVRAM has {has} bytes, and {pages} pages of {page_bytes} bytes need {needed} with their headers"
            )));
        }
        let format = checksum([FORMAT, pages, page_bytes]);
        match this.word(nvram, 0)? {
            0 => nvram.store(0, format.to_le_bytes())?,
            there if there == format => this.scan(nvram, found)?,
            _ => {
                return Err(MountError::Config(format!(
                    "the NVRAM is divided otherwise than into {pages} pages of {page_bytes} bytes: \
                     mount it with the sizes with which it was written"
                )))
            }
        }
        Ok(this)
    }

    fn word(&self, nvram: &mut dyn Nvm, at: u64) -> Result<u64, PowerLost> {
        let mut word = [0; WORD_BYTES as usize];
        nvram.read(at, &mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    fn scan(&mut self, nvram: &mut dyn Nvm, found: &mut Vec<(Header, u32)>) -> Result<(), PowerLost> {
        for place in 0..self.places as u32 {
            let mut bytes = [0; HEADER_BYTES as usize];
            nvram.read(self.header(place), &mut bytes)?;
            let word = |at: usize| u64::from_le_bytes(bytes[at * 8..][..8].try_into().expect("a word is 8 bytes"));
            let words = [word(0), word(1), word(2)];
            if word(3) == checksum(words) {
                found.push((Header::of(words), place));
            }
        }
        // Among a page's versions, newest first.
        found.sort_unstable_by_key(|(header, _)| (header.lpn, std::cmp::Reverse(header.sequence)));
        self.next_sequence = 1 + found.iter().map(|(header, _)| header.sequence).max().unwrap_or(0);
        let mut taken = vec![false; self.places as usize];
        let mut newest = None;
        let mut kept = Vec::new();
        for &(header, place) in found.iter() {
            if newest == Some(header.lpn) {
                self.clear(nvram, place)?;
            } else {
                newest = Some(header.lpn);
                taken[place as usize] = true;
                kept.push((header, place));
            }
        }
        kept.sort_unstable_by_key(|(header, _)| header.sequence);
        *found = kept;
        self.unused = self.places as u32;
        self.free = (0..self.unused).rev().filter(|&place| !taken[place as usize]).collect();
        Ok(())
    }

    fn header(&self, place: u32) -> u64 {
        WORD_BYTES + u64::from(place) * HEADER_BYTES
    }

    /// The page's address in `place`.
    #[inline]
    pub(crate) fn data(&self, place: u32) -> u64 {
        Self::data_start(self.places) + u64::from(place) * self.page_bytes
    }

    /// Takes a free place.
    #[inline]
    pub(crate) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            assert!(u64::from(self.unused) < self.places, "a buffer keeps no more pages than its NVRAM has places for");
            self.unused += 1;
            self.unused - 1
        })
    }

    /// Frees a place with a cleared header.
    #[inline]
    pub(crate) fn give_back(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Writes the header: `place` holds `dirty` sectors of `lpn`. The data survives from the last word on.
    #[inline]
    pub(crate) fn set(
        &mut self,
        nvram: &mut dyn Nvm,
        place: u32,
        lpn: u32,
        author: Author,
        dirty: u64,
    ) -> Result<(), PowerLost> {
        let words = Header { lpn, author, dirty, sequence: self.next_sequence }.words();
        self.next_sequence += 1;
        let mut bytes = [0; VALID as usize];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        self.stored_words += HEADER_BYTES / WORD_BYTES;
        let at = self.header(place);
        nvram.write(at, &bytes)?;
        nvram.store(at + VALID, checksum(words).to_le_bytes())
    }

    /// Clears the header for `place`; its data no longer survives.
    #[inline]
    pub(crate) fn clear(&mut self, nvram: &mut dyn Nvm, place: u32) -> Result<(), PowerLost> {
        self.stored_words += 1;
        nvram.store(self.header(place) + VALID, [0; 8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_keeps_the_author_and_has_no_bit_of_an_absent_placement() {
        let header = |author| Header { lpn: 77, author, dirty: 0b101, sequence: 9 };
        let placed = Author { origin: Origin::FAT, placement: PlacementId { group: 3, handle: 127 } };
        for author in [Author::default(), placed] {
            assert_eq!(Header::of(header(author).words()), header(author));
        }
        assert_eq!(header(Author::default()).words()[0], 77);
    }
}

//! An image's header, and its parts' positions.
//!
//! The header is written once: magic, version, its length, the shape's seven counts, the rules, the NVRAM size, and a
//! text about the device's user. A CRC-32 over everything ends it. A second header stands at the end of the file.
//!
//! ```text
//! header | states | marks, NVRAM, block records, page records | the same again | page bytes | header | mark | where it begins
//! ```
//!
//! Each record ends in a CRC-32 over its bytes and its place, so a sector in another sector's place is seen. Page bytes
//! stand in the file once.

use super::error::BackedError;
use crate::address::{BlockId, Geometry, Ppa, Shape};
use crate::rules::{ProgramOrder, Rules};
use std::path::Path;

pub(super) const MAGIC: [u8; 8] = *b"nandlab\n";
pub(super) const VERSION: u32 = 4;
const ALIGN: u64 = 4096;
/// Header bytes before its text.
pub(super) const FIXED_BYTES: usize = 72;
const MOST_TEXT: usize = 1 << 20;

/// Bytes in a block record: four lie in a sector.
pub(super) const BLOCK_BYTES: usize = 128;
/// Bytes in a page record without its tail.
pub(super) const PAGE_FIXED_BYTES: usize = 36;
/// Room for each of two states.
pub(super) const STATE_BYTES: u64 = 256 << 10;
/// Bytes for a word of the NVRAM: the word, the number of its stores, and a checksum.
pub(super) const WORD_RECORD_BYTES: usize = 16;
/// Bytes in a mark: a head, the totals, and a checksum over everything.
pub(super) const MARK_BYTES: usize = 64;
/// Bytes in a mark's head: the number of a program, and a checksum. Earlier versions wrote it alone.
pub(super) const MARK_HEAD_BYTES: usize = 16;
/// From the mark of a closed disk to the end of the file: a sector of its own, in front of the last one.
const END_MARK: u64 = 1024;
/// The end of the file: where the second header begins, and the magic.
pub(super) const TRAILER_BYTES: usize = 16;

/// An image header's fields.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub geometry: Geometry,
    pub rules: Rules,
    pub nvram_bytes: u64,
    pub text: String,
}

/// The file parts' starts, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub states: u64,
    /// The mark of settled programs, the first part with a second copy.
    pub settled: u64,
    /// The mark of written programs.
    pub written: u64,
    pub nvram: u64,
    pub blocks: u64,
    pub pages: u64,
    /// From a record to its second copy.
    second: u64,
    data: u64,
    /// The second header.
    pub header: u64,
    /// The mark of a closed disk.
    pub end_mark: u64,
    pub end: u64,
    pub page_bytes: u64,
    /// Bytes in a page record: a power of two, so none straddles a sector.
    pub slot: usize,
}

impl Layout {
    pub fn new(header: &Header) -> Self {
        let geometry = &header.geometry;
        let header_room = (header_bytes(&header.text) as u64).next_multiple_of(ALIGN);
        let states = header_room;
        let settled = states + 2 * STATE_BYTES;
        // A damaged sector costs one mark.
        let written = settled + 512;
        let nvram = settled + ALIGN;
        let words = header.nvram_bytes / 8 * WORD_RECORD_BYTES as u64;
        let blocks = (nvram + words).next_multiple_of(ALIGN);
        let pages = (blocks + u64::from(geometry.blocks()) * BLOCK_BYTES as u64).next_multiple_of(ALIGN);
        let slot = slot_bytes(geometry);
        let second = (pages + u64::from(geometry.pages()) * slot as u64).next_multiple_of(ALIGN) - settled;
        let data = settled + 2 * second;
        let page_bytes = u64::from(geometry.page_bytes());
        let header = (data + u64::from(geometry.pages()) * page_bytes).next_multiple_of(ALIGN);
        let end = header + (header_room + TRAILER_BYTES as u64).next_multiple_of(ALIGN);
        Self {
            states,
            settled,
            written,
            nvram,
            blocks,
            pages,
            second,
            data,
            header,
            end_mark: end - END_MARK,
            end,
            page_bytes,
            slot,
        }
    }

    /// The place of the second copy, if what stands at `place` has one.
    pub fn second(&self, place: u64) -> Option<u64> {
        (self.settled..self.settled + self.second).contains(&place).then_some(place + self.second)
    }

    pub fn word(&self, word: u64) -> u64 {
        self.nvram + word * WORD_RECORD_BYTES as u64
    }

    pub fn block(&self, block: BlockId) -> u64 {
        self.blocks + u64::from(block.0) * BLOCK_BYTES as u64
    }

    pub fn page(&self, at: Ppa) -> u64 {
        self.pages + u64::from(at.0) * self.slot as u64
    }

    pub fn bytes(&self, at: Ppa) -> u64 {
        self.data + u64::from(at.0) * self.page_bytes
    }
}

/// Bytes in a page record.
pub(super) fn slot_bytes(geometry: &Geometry) -> usize {
    // Room for one number for each sector but one, as in the largest frequent tail.
    let tail = 4 * (geometry.sectors_per_page() as usize - 1);
    (PAGE_FIXED_BYTES + tail).next_power_of_two().clamp(64, 512)
}

fn header_bytes(text: &str) -> usize {
    FIXED_BYTES + text.len() + 4
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// What a checksum covers beside the bytes: which record it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tag {
    Header,
    State,
    Settled,
    Written,
    End,
    Word(u64),
    Block(BlockId),
    Page(Ppa),
}

fn checksum(tag: Tag, body: &[u8]) -> [u8; 4] {
    let (kind, number) = match tag {
        // Its magic tells what it is.
        Tag::Header => return crc32fast::hash(body).to_le_bytes(),
        Tag::State => (1_u64, 0),
        Tag::Settled => (2, 0),
        Tag::Written => (6, 0),
        Tag::End => (7, 0),
        Tag::Word(word) => (3, word),
        Tag::Block(block) => (4, block.0.into()),
        Tag::Page(page) => (5, page.0.into()),
    };
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(kind << 56 | number).to_le_bytes());
    hasher.update(body);
    hasher.finalize().to_le_bytes()
}

/// Puts the checksum over all earlier bytes into the last four bytes.
pub(super) fn seal(tag: Tag, record: &mut [u8]) {
    let (body, sum) = record.split_at_mut(record.len() - 4);
    sum.copy_from_slice(&checksum(tag, body));
}

pub(super) fn is_sealed(tag: Tag, record: &[u8]) -> bool {
    let (body, sum) = record.split_at(record.len() - 4);
    sum == checksum(tag, body)
}

impl Header {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; header_bytes(&self.text)];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.text.len() as u32).to_le_bytes());
        let s = self.geometry.shape();
        let counts = [
            s.channels,
            s.dies_per_channel,
            s.planes_per_die,
            s.blocks_per_plane,
            s.pages_per_block,
            s.page_bytes,
            s.spare_bytes,
        ];
        for (place, count) in bytes[16..44].chunks_exact_mut(4).zip(counts) {
            place.copy_from_slice(&count.to_le_bytes());
        }
        bytes[44] = match self.rules.program_order {
            ProgramOrder::Any => 0,
            ProgramOrder::Ascending => 1,
            ProgramOrder::AscendingDense => 2,
        };
        bytes[45] = self.rules.partial_programs;
        bytes[46] = self.rules.bits_per_cell;
        bytes[47] = self.rules.pair_distance;
        bytes[52] = self.rules.unstable_pages.into();
        bytes[48..52].copy_from_slice(&self.rules.endurance.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.nvram_bytes.to_le_bytes());
        bytes[FIXED_BYTES..FIXED_BYTES + self.text.len()].copy_from_slice(self.text.as_bytes());
        seal(Tag::Header, &mut bytes);
        bytes
    }

    /// The second header and the end of the file.
    pub fn at_end(&self, layout: &Layout) -> Vec<u8> {
        let mut bytes = self.to_bytes();
        bytes.resize((layout.end - layout.header) as usize, 0);
        let trailer = bytes.len() - TRAILER_BYTES;
        bytes[trailer..trailer + 8].copy_from_slice(&layout.header.to_le_bytes());
        bytes[trailer + 8..].copy_from_slice(&MAGIC);
        bytes
    }

    /// Bytes in the header starting with `fixed`.
    pub fn length(path: &Path, fixed: &[u8; FIXED_BYTES]) -> Result<usize, BackedError> {
        if fixed[..8] != MAGIC {
            return Err(BackedError::NotAnImage(path.to_owned()));
        }
        let version = u32_at(fixed, 8);
        if version != VERSION {
            return Err(BackedError::Version { path: path.to_owned(), found: version, reads: VERSION });
        }
        let text = u32_at(fixed, 12) as usize;
        if text > MOST_TEXT {
            return Err(damaged(path, format!("the text of its header has {text} bytes")));
        }
        Ok(FIXED_BYTES + text + 4)
    }

    /// The header in `bytes`; its length matches.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, BackedError> {
        let damaged = |what: String| damaged(path, what);
        if !is_sealed(Tag::Header, bytes) {
            return Err(damaged("the checksum of its header is wrong".into()));
        }
        let shape = Shape {
            channels: u32_at(bytes, 16),
            dies_per_channel: u32_at(bytes, 20),
            planes_per_die: u32_at(bytes, 24),
            blocks_per_plane: u32_at(bytes, 28),
            pages_per_block: u32_at(bytes, 32),
            page_bytes: u32_at(bytes, 36),
            spare_bytes: u32_at(bytes, 40),
        };
        let geometry = Geometry::new(shape).map_err(|error| damaged(format!("in its header, {error}")))?;
        let program_order = match bytes[44] {
            0 => ProgramOrder::Any,
            1 => ProgramOrder::Ascending,
            2 => ProgramOrder::AscendingDense,
            other => return Err(damaged(format!("program order {other} in its header is none of 0, 1, 2"))),
        };
        let bits_per_cell = bytes[46];
        if !(1..=Rules::MOST_BITS_PER_CELL).contains(&bits_per_cell) {
            return Err(damaged(format!("a cell of {bits_per_cell} bits in its header is none that there is")));
        }
        let rules = Rules {
            program_order,
            partial_programs: bytes[45],
            endurance: u32_at(bytes, 48),
            bits_per_cell,
            pair_distance: bytes[47],
            unstable_pages: bytes[52] != 0,
        };
        let nvram_bytes = u64_at(bytes, 56);
        if nvram_bytes % 8 != 0 || nvram_bytes > 1 << 46 {
            return Err(damaged(format!("an NVRAM of {nvram_bytes} bytes in its header is none that there is")));
        }
        let text = String::from_utf8(bytes[FIXED_BYTES..bytes.len() - 4].to_vec())
            .map_err(|_| damaged("the text of its header is no text".into()))?;
        Ok(Self { geometry, rules, nvram_bytes, text })
    }
}

pub(super) fn damaged(path: &Path, what: String) -> BackedError {
    BackedError::Damaged { path: path.to_owned(), what }
}

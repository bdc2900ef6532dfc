//! The header page: the entry to everything else.
//!
//! Pages 0 and 1 on the device alternate; the valid one with the higher sequence number counts. All fields lie in the
//! first 512-byte sector, as a device writes it as a whole or not at all; a checksum covers them.

use nandlab_nand::SECTOR_BYTES;

/// The owner's bytes in the header.
pub const META_BYTES: usize = 64;

const MAGIC: &[u8; 8] = b"nandidx1";
const SUM_AT: usize = 40 + META_BYTES;

/// One sector.
pub(crate) type HeaderSector = [u8; SECTOR_BYTES as usize];

/// A header page's contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) seq: u64,
    pub(crate) page_bytes: u32,
    pub(crate) shadow: bool,
    /// Whether the pages are as they were when this header was written.
    pub(crate) clean: bool,
    /// Pages ever given out; the two headers are the first.
    pub(crate) pages: u32,
    /// The page table root's slot, for a shadowed index.
    pub(crate) table: u32,
    pub(crate) meta: [u8; META_BYTES],
}

impl Header {
    pub(crate) fn encode(&self) -> HeaderSector {
        let mut sector = [0; SECTOR_BYTES as usize];
        sector[..8].copy_from_slice(MAGIC);
        sector[8..16].copy_from_slice(&self.seq.to_le_bytes());
        sector[16..20].copy_from_slice(&self.page_bytes.to_le_bytes());
        sector[20] = u8::from(self.shadow);
        sector[21] = u8::from(self.clean);
        sector[24..28].copy_from_slice(&self.pages.to_le_bytes());
        sector[28..32].copy_from_slice(&self.table.to_le_bytes());
        sector[40..SUM_AT].copy_from_slice(&self.meta);
        let sum = checksum(&sector[..SUM_AT]);
        sector[SUM_AT..SUM_AT + 8].copy_from_slice(&sum.to_le_bytes());
        sector
    }

    /// The header in `sector`, if it holds a whole one.
    pub(crate) fn decode(sector: &HeaderSector) -> Option<Self> {
        let number = |at: usize| u32::from_le_bytes([sector[at], sector[at + 1], sector[at + 2], sector[at + 3]]);
        let long = |at: usize| u64::from(number(at)) | u64::from(number(at + 4)) << 32;
        if &sector[..8] != MAGIC || long(SUM_AT) != checksum(&sector[..SUM_AT]) {
            return None;
        }
        let mut meta = [0; META_BYTES];
        meta.copy_from_slice(&sector[40..SUM_AT]);
        Some(Self {
            seq: long(8),
            page_bytes: number(16),
            shadow: sector[20] != 0,
            clean: sector[21] != 0,
            pages: number(24),
            table: number(28),
            meta,
        })
    }
}

/// FNV-1a, 64 bits (Fowler, Noll and Vo).
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_a_damaged_one_does_not() {
        let mut meta = [0; META_BYTES];
        meta[3] = 9;
        let header = Header { seq: 1 << 40, page_bytes: 4096, shadow: true, clean: false, pages: 7, table: 5, meta };
        let sector = header.encode();
        assert_eq!(Header::decode(&sector), Some(header));
        for at in 0..SUM_AT + 8 {
            let mut damaged = sector;
            damaged[at] ^= 4;
            assert_eq!(Header::decode(&damaged), None, "byte {at}");
        }
        assert_eq!(checksum(b"a"), 0xAF63_DC4C_8601_EC8C, "the published value");
    }
}

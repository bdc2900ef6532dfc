//! A page's 16 metadata bytes in its spare area.

use crate::address::{Lpn, Seq};
use crate::context::Origin;
use crate::placement::PlacementId;

/// Page contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Kind {
    /// Host data.
    #[default]
    Data = 0,
    /// A note about trimmed pages; its tail lists them.
    TrimNote = 1,
    /// A mapping-table page.
    Map = 2,
    /// Placeholder for host data lost to bit errors: a read must fail, never return other bytes.
    Lost = 3,
    /// A file system's object header.
    Header = 4,
    /// A superseded page (YAFFS1 deletion mark).
    Deleted = 5,
    /// A saved copy of the RAM tables.
    Checkpoint = 6,
    /// The logical pages on its block's other pages; its tail lists them.
    List = 7,
    /// Sectors from several logical pages; its tail lists them.
    Sectors = 8,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Data,
        Self::TrimNote,
        Self::Map,
        Self::Lost,
        Self::Header,
        Self::Deleted,
        Self::Checkpoint,
        Self::List,
        Self::Sectors,
    ];

    /// The kind with this number, if there is one.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

/// Page metadata: 16 bytes in the spare area with a checksum of their own.
///
/// The fields suit an FTL. The page's writer may use `aux` freely (a file system packs its tags into `lpn` and
/// `aux`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Oob {
    /// Logical page.
    pub lpn: Lpn,
    /// Free for the writer.
    pub aux: u16,
    /// Page contents.
    pub kind: Kind,
    /// The page's author; copies keep it.
    pub origin: Origin,
    /// The reclaim unit handle through which the host wrote the page, below [`PlacementId::HANDLES`]; copies keep it.
    pub handle: u8,
    /// Program order; the flash stores 48 bits.
    pub seq: Seq,
}

/// Bits of a kind in the spare area, and of an origin.
const KIND_BITS: u32 = 4;
const ORIGIN_BITS: u32 = 5;

const _: () = assert!(Kind::ALL.len() < 1 << KIND_BITS, "an erased page has no kind");
const _: () = assert!(Origin::COUNT == 1 << ORIGIN_BITS && PlacementId::HANDLES == 1 << (16 - KIND_BITS - ORIGIN_BITS));

impl Oob {
    /// Size in the spare area.
    pub const BYTES: usize = 16;

    /// Metadata for a host-data page.
    #[inline]
    pub fn data(lpn: Lpn, seq: Seq, origin: Origin) -> Self {
        Self { lpn, aux: 0, kind: Kind::Data, origin, handle: 0, seq }
    }

    /// Metadata for a copy that keeps logical page, kind, author and handle.
    #[inline]
    pub fn renewed(aux: u16, seq: Seq) -> Self {
        Self { aux, ..Self::data(Lpn::NONE, seq, Origin::HOST) }
    }

    /// The stored bytes: logical page, aux, kind (4 bits), handle (low 4 bits), origin (5 bits), handle (high 3 bits),
    /// sequence (48 bits), checksum; little endian.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0..4].copy_from_slice(&self.lpn.0.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.aux.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.author());
        bytes[8..14].copy_from_slice(&self.seq.0.to_le_bytes()[..6]);
        let sum = checksum(&bytes[..14]);
        bytes[14..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Kind, origin and handle in two bytes.
    #[inline]
    pub(crate) fn author(&self) -> [u8; 2] {
        [self.kind as u8 | self.handle << KIND_BITS, self.origin.0 | self.handle >> KIND_BITS << ORIGIN_BITS]
    }

    /// The reverse of [`Self::author`]; `None` if there is no such kind.
    #[inline]
    pub(crate) fn from_author([low, high]: [u8; 2]) -> Option<(Kind, Origin, u8)> {
        let kind = Kind::from_byte(low & ((1 << KIND_BITS) - 1))?;
        let handle = low >> KIND_BITS | high >> ORIGIN_BITS << KIND_BITS;
        Some((kind, Origin(high & ((1 << ORIGIN_BITS) - 1)), handle))
    }

    /// The metadata in `bytes`; `None` if the checksum or the kind is wrong.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let sum = u16::from_le_bytes([bytes[14], bytes[15]]);
        if sum != checksum(&bytes[..14]) {
            return None;
        }
        let (kind, origin, handle) = Self::from_author([bytes[6], bytes[7]])?;
        let mut seq = [0; 8];
        seq[..6].copy_from_slice(&bytes[8..14]);
        Some(Self {
            lpn: Lpn(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            aux: u16::from_le_bytes([bytes[4], bytes[5]]),
            kind,
            origin,
            handle,
            seq: Seq(u64::from_le_bytes(seq)),
        })
    }
}

/// CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xFFFF): never zero for an all-zero spare area.
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xFFFF, |crc, &byte| crc << 8 ^ CRC_OF_BYTE[usize::from((crc >> 8) as u8 ^ byte)])
}

/// By byte: what it makes of a CRC of 0.
const CRC_OF_BYTE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = ((byte as u16) << 8, 0);
        while bit < 8 {
            crc = if crc & 0x8000 != 0 { crc << 1 ^ 0x1021 } else { crc << 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_the_published_crc() {
        assert_eq!(checksum(b"123456789"), 0x29B1, "check value of CRC-16/CCITT-FALSE");
    }

    #[test]
    fn bytes_round_trip_and_every_flipped_bit_is_seen() {
        let oob = Oob {
            lpn: Lpn(77),
            aux: 3,
            kind: Kind::Header,
            origin: Origin::JOURNAL,
            handle: 101,
            seq: Seq(0xABCD_1234_5678),
        };
        let bytes = oob.to_bytes();
        assert_eq!(Oob::from_bytes(&bytes), Some(oob));
        for bit in 0..128 {
            let mut torn = bytes;
            torn[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Oob::from_bytes(&torn), None, "bit {bit}");
        }
        assert_eq!(Oob::from_bytes(&[0; 16]), None);
        assert_eq!(Oob::from_bytes(&[0xFF; 16]), None);
    }
}

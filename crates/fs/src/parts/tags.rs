//! Page tags, stored in the spare area.
//!
//! Both forms use the sixteen bytes of [`Oob`]; object, chunk and byte count share the 48 bits of
//! `lpn` and `aux`:
//!
//! | bits | YAFFS1 | YAFFS2 |
//! |---|---|---|
//! | `lpn` 0..18 | object | object |
//! | `lpn` 18..32, `aux` 0..6 | chunk | chunk |
//! | `aux` 6..16 | bytes | bytes, low ten bits |
//! | `seq` 0..2 | serial number | |
//! | `seq` 0..6, 7, 8..40 | | bytes, high bits; shrink flag; sequence number of the block |
//!
//! The checksum of [`Oob`] stands for the tags' ECC, its kind for the page status byte.

use nandlab_nand::{Kind, Lpn, Oob, Origin, Seq};

/// Bits in an object number.
pub(crate) const OBJECT_BITS: u32 = 18;
/// Bits in a chunk number.
pub(crate) const CHUNK_BITS: u32 = 20;
/// Upper bound for object numbers; the last one is never used, so no tags look like an erased page.
pub(crate) const MAX_OBJECT: u32 = (1 << OBJECT_BITS) - 1;
/// Most chunks in a file.
pub(crate) const MAX_CHUNKS: u32 = (1 << CHUNK_BITS) - 1;

/// Describes a page's contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags {
    /// Object number.
    pub object: u32,
    /// Chunk number within the file, from 1; 0 for the object header.
    pub chunk: u32,
    /// File bytes in the page; the rest reads as zeros.
    pub bytes: u32,
    /// YAFFS1: the chunk's version, modulo 4.
    pub serial: u8,
    /// YAFFS2: the block's sequence number.
    pub sequence: u32,
    /// YAFFS2: true if this header shortened the file, so older pages behind its end are void.
    pub shrinks: bool,
}

impl Tags {
    /// Tags without serial or sequence number; the writer adds it.
    pub(crate) fn new(object: u32, chunk: u32, bytes: u32) -> Self {
        Self { object, chunk, bytes, serial: 0, sequence: 0, shrinks: false }
    }

    /// Stored form; `small` selects the YAFFS1 form.
    pub(crate) fn to_oob(self, small: bool, kind: Kind, origin: Origin) -> Oob {
        debug_assert!(self.object < MAX_OBJECT && self.chunk <= MAX_CHUNKS, "tags are in range: {self:?}");
        let low = u64::from(self.object)
            | u64::from(self.chunk) << OBJECT_BITS
            | u64::from(self.bytes & 0x3FF) << (OBJECT_BITS + CHUNK_BITS);
        let seq = if small {
            u64::from(self.serial & 3)
        } else {
            u64::from(self.sequence) << 8 | u64::from(self.shrinks) << 7 | u64::from(self.bytes >> 10)
        };
        Oob { lpn: Lpn(low as u32), aux: (low >> 32) as u16, kind, origin, handle: 0, seq: Seq(seq) }
    }

    /// Reads the stored form.
    pub(crate) fn from_oob(small: bool, oob: &Oob) -> Self {
        let low = u64::from(oob.lpn.0) | u64::from(oob.aux) << 32;
        let object = low as u32 & MAX_OBJECT;
        let chunk = (low >> OBJECT_BITS) as u32 & MAX_CHUNKS;
        let bytes = (low >> (OBJECT_BITS + CHUNK_BITS)) as u32;
        if small {
            return Self { serial: oob.seq.0 as u8 & 3, ..Self::new(object, chunk, bytes) };
        }
        let bytes = bytes | (oob.seq.0 as u32 & 0x3F) << 10;
        let (sequence, shrinks) = ((oob.seq.0 >> 8) as u32, oob.seq.0 >> 7 & 1 == 1);
        Self { sequence, shrinks, ..Self::new(object, chunk, bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_round_trip_at_their_ends() {
        for object in [1, 257, MAX_OBJECT - 1] {
            for chunk in [0, 1, 16_383, MAX_CHUNKS] {
                let small = Tags { serial: 3, ..Tags::new(object, chunk, 512) };
                let oob = small.to_oob(true, Kind::Data, Origin::FILE_DATA);
                assert!(oob.lpn.is_some());
                assert_eq!(Tags::from_oob(true, &oob), small);
                for bytes in [0, 1, 1023, 1024, 32_768] {
                    let large = Tags { sequence: u32::MAX, shrinks: true, ..Tags::new(object, chunk, bytes) };
                    let stored = large.to_oob(false, Kind::Header, Origin::FILE_DATA).to_bytes();
                    let oob = Oob::from_bytes(&stored).expect("the checksum holds");
                    assert_eq!(Tags::from_oob(false, &oob), large);
                }
            }
        }
    }
}

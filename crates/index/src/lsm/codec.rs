//! Numbers in bytes, and the two checksums: a CRC that can mend one bit, and a faster sum for blocks.

/// The reflected polynomial of CRC-64 (ECMA-182).
const POLYNOMIAL: u64 = 0xC96C_5795_D787_0F42;
const TABLE: [u64; 256] = table();

const fn table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

fn step(crc: u64, byte: u8) -> u64 {
    TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8
}

/// CRC-64/XZ.
pub(super) fn crc(bytes: &[u8]) -> u64 {
    !bytes.iter().fold(!0, |crc, &byte| step(crc, byte))
}

/// The bit of `bytes` that was flipped if `stored` is the CRC of what was written: byte and mask. `None` if more than
/// one bit differs, or the flipped one lies in the CRC.
///
/// A CRC is linear: a flipped bit changes it by a pattern that depends only on the distance to the end.
pub(super) fn flipped_bit(bytes: &[u8], stored: u64) -> Option<(usize, u8)> {
    let wrong = crc(bytes) ^ stored;
    let mut patterns: [u64; 8] = std::array::from_fn(|bit| TABLE[1 << bit]);
    for at in (0..bytes.len()).rev() {
        if let Some(bit) = patterns.iter().position(|&pattern| pattern == wrong) {
            return Some((at, 1 << bit));
        }
        patterns = patterns.map(|pattern| step(pattern, 0));
    }
    None
}

/// A sum over 8 bytes at a time, seeded with the place the bytes belong to. Each step is a bijection, so damage within
/// 8 bytes always shows.
pub(super) fn sum(seed: u64, bytes: &[u8]) -> u64 {
    let mut sum = mix(seed ^ bytes.len() as u64);
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("8 bytes"));
        sum = (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
    let mut rest = [0; 8];
    rest[..words.remainder().len()].copy_from_slice(words.remainder());
    mix(sum ^ u64::from_le_bytes(rest))
}

/// MurmurHash3's finalizer (Appleby): every input bit changes about half of the output's.
pub(super) fn mix(mut word: u64) -> u64 {
    word = (word ^ word >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    word = (word ^ word >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    word ^ word >> 33
}

/// Takes numbers and byte strings from the front; `None` past the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parser<'a>(pub(super) &'a [u8]);

impl<'a> Parser<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        Some(self.bytes(1)?[0])
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.bytes(2)?.try_into().ok()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }

    /// A byte string behind its length in two bytes.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.bytes(length.into())
    }
}

/// Appends a byte string behind its length in two bytes.
pub(super) fn put_string(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    to.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_the_published_one_and_mends_every_bit() {
        assert_eq!(crc(b"123456789"), 0x995D_C9BB_DF19_39FA, "the catalogue's check value of CRC-64/XZ");
        let written: Vec<u8> = (0..600_u32).map(|n| (n * 7) as u8).collect();
        let stored = crc(&written);
        assert_eq!(flipped_bit(&written, stored), None);
        for at in 0..written.len() {
            let mut damaged = written.clone();
            damaged[at] ^= 1 << (at % 8);
            assert_eq!(flipped_bit(&damaged, stored), Some((at, 1 << (at % 8))));
            damaged[(at + 300) % 600] ^= 0x10;
            assert_eq!(flipped_bit(&damaged, stored), None, "two bits");
        }
    }

    #[test]
    fn the_sum_changes_with_every_bit_and_with_the_place() {
        let bytes: Vec<u8> = (0..77).collect();
        let whole = sum(1, &bytes);
        assert_ne!(whole, sum(2, &bytes));
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            assert_ne!(whole, sum(1, &damaged), "bit {at}");
        }
    }
}

//! CRC32C (Castagnoli), the digest in PDUs; eight bytes a step.

const POLYNOMIAL: u32 = 0x82F6_3B78;

/// `TABLES[k][byte]`: the checksum's change by `byte` with `k` zero bytes behind it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut behind = 1;
    while behind < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[behind - 1][byte];
            tables[behind][byte] = before >> 8 ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        behind += 1;
    }
    tables
}

/// The checksum of `bytes`.
pub(super) fn of(bytes: &[u8]) -> u32 {
    let mut sum = !0u32;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        let mixed = (u64::from_le_bytes(eight) ^ u64::from(sum)).to_le_bytes();
        sum = mixed.iter().zip(TABLES.iter().rev()).fold(0, |sum, (&byte, table)| sum ^ table[usize::from(byte)]);
    }
    for &byte in chunks.remainder() {
        sum = sum >> 8 ^ TABLES[0][usize::from(sum as u8 ^ byte)];
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::of;

    /// RFC 3720, B.4, and the usual check value.
    #[test]
    fn published_checksums() {
        assert_eq!(of(b"123456789"), 0xE306_9283);
        assert_eq!(of(&[0; 32]), 0x8A91_36AA);
        assert_eq!(of(&[0xFF; 32]), 0x62A8_AB43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(of(&ascending), 0x46DD_794E);
    }
}

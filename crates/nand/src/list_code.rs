//! Error correction for sector lists.

use crate::address::SECTOR_BYTES;
use crate::oob::{Kind, Oob};

/// Parity bits per corrected bit in a binary BCH code over GF(2^14), long enough for a codeword of 1,024 bytes.
const BITS_EACH: u32 = 14;

/// ECC limit for the last `bytes` bytes of a page, if the page's own limit is `ecc_bits`.
///
/// The list of a gathered page ([`Kind::Sectors`]) has a sector to itself and uses at most half of it: 63
/// numbers of four bytes. A controller fills the rest with a code for the list, as it does for spare areas: a
/// lost list would make all its sectors unidentifiable. The convention here is a BCH code over the remaining
/// bytes.
pub(crate) fn ecc_bits_of_tail(oob: &Oob, bytes: usize, ecc_bits: u32) -> u32 {
    if oob.kind != Kind::Sectors {
        return ecc_bits;
    }
    let left = SECTOR_BYTES.saturating_sub(bytes.try_into().unwrap_or(u32::MAX));
    ecc_bits.max(8 * left / BITS_EACH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Lpn, Seq};
    use crate::context::Origin;

    #[test]
    fn only_a_list_has_a_code_of_its_own() {
        let data = Oob::data(Lpn(0), Seq(1), Origin::FTL);
        let list = Oob { kind: Kind::Sectors, ..data };
        assert_eq!(ecc_bits_of_tail(&data, 252, 8), 8);
        assert_eq!(ecc_bits_of_tail(&list, 252, 8), 148, "260 bytes are 2080 bits");
        assert_eq!(ecc_bits_of_tail(&list, 28, 8), 276);
        assert_eq!(ecc_bits_of_tail(&list, 28, 300), 300, "it corrects no less than the ECC of the page");
        assert_eq!(ecc_bits_of_tail(&list, 4096, 8), 8);
    }
}

//! The code of a list of sectors.

use crate::address::SECTOR_BYTES;
use crate::oob::{Kind, Oob};

/// Bits that a binary BCH code over GF(2^14), long enough for a codeword of 1,024 bytes, spends on each that it corrects.
const BITS_EACH: u32 = 14;

/// Wrong bits of a codeword against which the last `bytes` bytes of a page stand, where the ECC of the page corrects
/// `ecc_bits`.
///
/// The list of a page that gathers sectors ([`Kind::Sectors`]) has a sector for itself, of which it takes half at most: 63
/// numbers of four bytes. A controller fills the rest with a code for the list, as it does for spare areas: without it,
/// who loses a list loses what all those sectors are. The convention here is a BCH code of the bytes that are left.
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

//! Bloom filters: whether a table may hold a key.
//!
//! Plain: the `k` bits of a key lie anywhere; with `b` bits a key, (1 - e^(-k/b))^k of the absent keys pass. In lines:
//! they lie in one 512-bit line, one cache line in a real store; some lines get more keys than others, so more pass.
//!
//! B. H. Bloom: Space/time trade-offs in hash coding with allowable errors. Communications of the ACM 13(7), 1970.
//! F. Putze, P. Sanders, J. Singler: Cache-, hash- and space-efficient Bloom filters. WEA 2007.
//! A. Kirsch, M. Mitzenmacher: Less hashing, same performance: building a better Bloom filter. ESA 2006.

use super::codec::{mix, sum};

const LINE_BITS: u64 = 512;

/// Where a key's bits lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bloom {
    /// Anywhere in the filter.
    #[default]
    Plain,
    /// In one line of 512 bits.
    Lines,
}

/// A key's hash; the tree computes it once for all filters.
pub(super) fn hash(key: &[u8]) -> u64 {
    sum(0x0042_6C6F_6F6D, key)
}

/// Bits that `bits_per_key` bits for each key are best set and asked with: ln 2 a bit, rounded down.
pub(super) fn probes(bits_per_key: f64) -> u8 {
    ((bits_per_key * std::f64::consts::LN_2) as u8).clamp(1, 30)
}

/// A filter over a set of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    kind: Bloom,
    probes: u8,
    bits: Vec<u8>,
}

impl Filter {
    /// A filter over the keys with these hashes.
    pub(super) fn new(kind: Bloom, bits_per_key: f64, hashes: &[u64]) -> Self {
        let bits = (hashes.len() as f64 * bits_per_key).ceil() as u64;
        let grain = if kind == Bloom::Lines { LINE_BITS } else { 8 };
        let bytes = bits.div_ceil(grain).max(1) * grain / 8;
        let mut filter = Self { kind, probes: probes(bits_per_key), bits: vec![0; bytes as usize] };
        for &hash in hashes {
            for n in 0..filter.probes {
                let bit = filter.bit(hash, n);
                filter.bits[(bit / 8) as usize] |= 1 << (bit % 8);
            }
        }
        filter
    }

    /// Whether the key with this hash may be in the set; `false` is certain.
    pub(super) fn may_hold(&self, hash: u64) -> bool {
        (0..self.probes).all(|n| {
            let bit = self.bit(hash, n);
            self.bits[(bit / 8) as usize] & 1 << (bit % 8) != 0
        })
    }

    /// A key's bit number `n`: two hashes give them all.
    fn bit(&self, hash: u64, n: u8) -> u64 {
        let second = mix(hash ^ 0x5851_F42D_4C95_7F2D);
        let bits = 8 * self.bits.len() as u64;
        match self.kind {
            Bloom::Plain => below(hash.wrapping_add(u64::from(n).wrapping_mul(second | 1)), bits),
            Bloom::Lines => {
                let line = below(hash, bits / LINE_BITS);
                let word = second.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.wrapping_pow(1 + u32::from(n)));
                line * LINE_BITS + (word >> 55)
            }
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.kind == Bloom::Lines), self.probes];
        bytes.extend_from_slice(&self.bits);
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[kind, probes], bits) = bytes.split_first_chunk::<2>()?;
        let kind = if kind == 1 { Bloom::Lines } else { Bloom::Plain };
        (!bits.is_empty()).then(|| Self { kind, probes, bits: bits.to_vec() })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bits.len() as u64
    }
}

/// A hash as a number below `bound`.
fn below(hash: u64, bound: u64) -> u64 {
    ((u128::from(hash) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Percent of absent keys that pass.
    fn passes(kind: Bloom, bits_per_key: f64) -> f64 {
        let hashes = |keys: std::ops::Range<u64>| keys.map(|key| hash(&key.to_be_bytes()));
        let filter = Filter::new(kind, bits_per_key, &hashes(0..200_000).collect::<Vec<_>>());
        assert!(hashes(0..200_000).all(|hash| filter.may_hold(hash)), "a key is missing");
        assert_eq!(Filter::decode(&filter.encode()).unwrap(), filter);
        let passed = hashes(1_000_000..2_000_000).filter(|&hash| filter.may_hold(hash)).count();
        passed as f64 / 1e4
    }

    #[test]
    fn as_many_absent_keys_pass_as_published() {
        assert_eq!(probes(10.0), 6);
        for (kind, published) in [(Bloom::Plain, 0.8436), (Bloom::Lines, 0.9535)] {
            let measured = passes(kind, 10.0);
            println!("{kind:?}: {measured:.4} %, published {published} %");
            assert!((measured / published - 1.0).abs() < 0.1, "{kind:?}: {measured}");
        }
    }

    #[test]
    fn a_plain_filter_follows_the_formula() {
        for bits in [4.0, 8.0, 14.0] {
            let k = f64::from(probes(bits));
            let formula = 100.0 * (1.0 - (-k / bits).exp()).powf(k);
            let measured = passes(Bloom::Plain, bits);
            println!("{bits} bits: {measured:.4} %, formula {formula:.4} %");
            assert!((measured / formula - 1.0).abs() < 0.1, "{bits} bits: {measured}, {formula}");
        }
    }
}

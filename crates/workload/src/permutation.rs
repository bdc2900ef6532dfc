//! A permutation over `0..n` without a table.

/// A bijection on `0..n`, fixed by its key.
///
/// Four Feistel rounds over the smallest even bit count for `n`. A number outside goes round again until it falls
/// inside (Black & Rogaway, "Ciphers with arbitrary finite domains", 2002: cycle walking). Fewer than four rounds are
/// expected, as the domain is under four times `n`.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    n: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// The permutation over `0..n` with this key; `n` from 1 to 2^62.
    ///
    /// # Panics
    /// With any other `n`.
    pub fn new(n: u64, key: u64) -> Self {
        assert!((1..=1 << 62).contains(&n), "a permutation of {n} numbers; 1 to 2^62 are possible");
        let bits = 64 - (n - 1).leading_zeros();
        let mut random = nandlab_nand::random::Random::new(key);
        Self { n, half_bits: bits.div_ceil(2).max(1), keys: [(); 4].map(|()| random.next_u64()) }
    }

    /// Maps `x`.
    #[inline]
    pub fn apply(&self, x: u64) -> u64 {
        debug_assert!(x < self.n, "{x} is not below {}", self.n);
        let mut x = self.round_trip(x);
        while x >= self.n {
            x = self.round_trip(x);
        }
        x
    }

    #[inline]
    fn round_trip(&self, x: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (x >> self.half_bits, x & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (left, right) = (right, left ^ (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32 & mask);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for n in [1, 2, 3, 5, 16, 17, 1000, 65_537] {
            let permutation = Permutation::new(n, 9);
            let mut seen = vec![false; n as usize];
            for x in 0..n {
                let y = permutation.apply(x) as usize;
                assert!(!std::mem::replace(&mut seen[y], true), "{n}: {y} twice");
            }
        }
    }

    #[test]
    fn neighbours_are_spread() {
        let n = 100_000;
        let permutation = Permutation::new(n, 1);
        // Two random places are a third of the range apart on average.
        let far: u64 = (1..n).map(|x| permutation.apply(x).abs_diff(permutation.apply(x - 1))).sum();
        let mean = far as f64 / n as f64 / n as f64;
        assert!((0.32..0.35).contains(&mean), "{mean}");
        assert_ne!(Permutation::new(n, 2).apply(5), permutation.apply(5));
    }
}

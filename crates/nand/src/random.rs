//! The one source of randomness: a small generator with a fixed stream.
//!
//! xoshiro256** (Blackman & Vigna, "Scrambled linear pseudorandom number generators", 2021), seeded through
//! SplitMix64. Libraries change their streams between versions; results must not.

/// The users of an experiment's seed. Each has its own stream: two with one number do not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Stream {
    /// A workload's requests.
    Requests = 1,
    /// Pages that preconditioning overwrites.
    Overwrites = 2,
    /// The order in which preconditioning fills the device.
    FillOrder = 3,
    /// Which log block of a logical block merges next.
    LogVictims = 4,
    /// File contents.
    FileContents = 5,
    /// Index values.
    IndexValues = 6,
    /// The first round in a workload repeated by preconditioning. Each further round has the next number.
    Rounds = 16,
    /// Block sets of the wear policy `bet`.
    Bet = 0x0062_6574,
    /// Transactions of the workload `camera`.
    Camera = 0x6361_6D65,
    /// Transactions of the workload `event_recorder`.
    EventRecorder = 0x6576_656E,
    /// Transactions of the workload `fax`.
    Fax = 0x6661_7821,
    /// Gaps between requests in a fio job file.
    FioGaps = 0x6669_6F00,
    /// A fio job's first clone. Each further clone has the next number.
    FioClones = 0x6669_6F01,
    /// Transactions of the workload `phone`.
    Phone = 0x7068_6F6E,
    /// The second tenant's seed; each further tenant has the next number, and the first the experiment's.
    Tenants = 0x7465_6E61_6E74,
    /// Garbage collection victims.
    Victims = 0x7669_6374_696D,
}

/// A generator; equal seeds give equal streams on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream for `seed`.
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        let mut split = || {
            counter = counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = counter;
            z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ z >> 31
        };
        Self { state: [split(), split(), split(), split()] }
    }

    /// The stream for `who` from `seed`.
    pub fn of(seed: u64, who: Stream) -> Self {
        Self::stream(seed, who as u64)
    }

    /// Stream number `stream` for `seed`, independent from its neighbours.
    pub fn stream(seed: u64, stream: u64) -> Self {
        Self::new(seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03).rotate_left(17))
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `0..bound`; `bound` above 0. Unbiased to 2^-32 for bounds below 2^32 (Lemire's
    /// multiplication).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "no number is below 0");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `0.0..1.0`, 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_the_published_one() {
        // xoshiro256** from the state 1, 2, 3, 4: the first outputs from the authors' reference code.
        let mut random = Random { state: [1, 2, 3, 4] };
        let expected = [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240];
        assert_eq!([(); 4].map(|()| random.next_u64()), expected);
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut random = Random::new(7);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[random.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (9_500..10_500).contains(&n)), "{counts:?}");
    }
}

//! Fault options, and bit-error arithmetic.

use super::{draws, Draw};
use crate::address::{Geometry, Ppa};
use crate::config_error::ConfigError;
use crate::random::Random;
use serde::{Deserialize, Serialize};

/// Device faults; nothing fails by default.
///
/// Ordinals count from 1, the first operation. Every random draw depends only on the seed, the address and the
/// block's P/E cycles, so faults depend neither on read order nor on other blocks.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Seed for random faults. Default 0: derived from the experiment's seed.
    pub seed: u64,
    /// Factory-bad blocks, by number. Default none.
    pub factory_bad_blocks: Vec<u32>,
    /// Share of additional factory-bad blocks, 0 to 1, rounded down to whole blocks and drawn from the seed.
    /// Default 0; data sheets allow about 0.02.
    pub factory_bad_share: f64,
    /// Failing programs, by ordinal; page programs, copies and spare programs count alike. Default none.
    pub failing_programs: Vec<u64>,
    /// Failing erases, by ordinal. Default none.
    pub failing_erases: Vec<u64>,
    /// Probability that a program or copy fails in a block without wear, 0 to 1. Default 0.
    pub program_failure_rate: f64,
    /// Probability that an erase fails in a block without wear, 0 to 1. Default 0.
    pub erase_failure_rate: f64,
    /// Exponent for the factor (1 + P/E cycles / endurance) in both rates. Default 0: constant rates.
    pub failure_growth: u32,
    /// Earlier P/E cycles on every block when the run starts. Default 0.
    pub initial_pe_cycles: u32,
    /// Bit errors in page data. Default none.
    pub bit_errors: Option<BitErrors>,
}

/// Bit errors against an ECC.
///
/// The model: a page gets its bit errors at its program and keeps them until the erase, the same at every read.
/// Each bit of a codeword is wrong with the probability `rber x (1 + P/E cycles / endurance)^growth`, with the
/// block's cycles at the time of the program. Errors do not grow with time or reads, and copies are corrected
/// on their way. The spare area has a code of its own and never fails this way; the sector list of a gathered
/// page also has its own code, in the rest of its sector. This is a convention of the simulator, not a chip's
/// curve; a power law in the P/E cycles is the usual fit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BitErrors {
    /// Raw bit error rate without wear, errors per bit, 0 to 0.1.
    pub rber: f64,
    /// Growth exponent for P/E cycles. Default 2.
    #[serde(default = "default_growth")]
    pub growth: u32,
    /// Correctable bits per codeword.
    pub ecc_bits: u32,
    /// Data bytes per codeword, 512 or 1024. Default 512.
    #[serde(default = "default_codeword")]
    pub codeword_bytes: u32,
}

fn default_growth() -> u32 {
    2
}

fn default_codeword() -> u32 {
    512
}

impl Config {
    /// Checks every value against its range and the device.
    ///
    /// # Errors
    /// The key, the given value and the allowed range.
    pub fn check(&self, geometry: &Geometry) -> Result<(), ConfigError> {
        let refuse = |key, value: String, allowed: String| Err(ConfigError { key, value, allowed });
        for (key, value) in [
            ("factory_bad_share", self.factory_bad_share),
            ("program_failure_rate", self.program_failure_rate),
            ("erase_failure_rate", self.erase_failure_rate),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return refuse(key, value.to_string(), "it lies between 0 and 1".into());
            }
        }
        let blocks = geometry.blocks();
        if let Some(block) = self.factory_bad_blocks.iter().find(|&&block| block >= blocks) {
            return refuse(
                "factory_bad_blocks",
                block.to_string(),
                format!("the device has blocks 0 to {}", blocks - 1),
            );
        }
        for (key, ordinals) in [("failing_programs", &self.failing_programs), ("failing_erases", &self.failing_erases)]
        {
            if ordinals.contains(&0) {
                return refuse(key, "0".into(), "operations are counted from 1".into());
            }
        }
        let Some(errors) = &self.bit_errors else { return Ok(()) };
        if !(0.0..=MAX_RBER).contains(&errors.rber) {
            return refuse("bit_errors.rber", errors.rber.to_string(), "it lies between 0 and 0.1".into());
        }
        if ![512, 1024].contains(&errors.codeword_bytes) || errors.codeword_bytes > geometry.page_bytes() {
            let allowed = format!("a codeword has 512 or 1024 bytes and fits a page of {} B", geometry.page_bytes());
            return refuse("bit_errors.codeword_bytes", errors.codeword_bytes.to_string(), allowed);
        }
        Ok(())
    }

    /// Wrong bits in a page's data, all corrected; `None` if one codeword has more than its ECC corrects.
    pub(crate) fn corrected_bits(&self, at: Ppa, pe_cycles: u32, endurance: u32, page_bytes: u32) -> Option<u64> {
        let Some(errors) = &self.bit_errors else { return Some(0) };
        let random = draws(self.seed, Draw::BitErrors, at.0, pe_cycles);
        let rate = errors.rber_at(pe_cycles, endurance);
        let bits = errors.draw(rate, page_bytes / errors.codeword_bytes, random);
        bits.map(|wrong| (wrong <= errors.ecc_bits).then_some(u64::from(wrong))).sum()
    }

    /// Whether each block is factory-bad.
    pub(crate) fn factory_bad(&self, blocks: u32, draws: &mut Random) -> Vec<bool> {
        let mut bad = vec![false; blocks as usize];
        let mut wanted = (self.factory_bad_share * f64::from(blocks)) as u64;
        // Selection sampling: each remaining block is taken with probability wanted / left, for exactly the
        // wanted number.
        for (at, left) in (0..bad.len()).zip((1..=u64::from(blocks)).rev()) {
            if draws.below(left) < wanted {
                bad[at] = true;
                wanted -= 1;
            }
        }
        for &block in &self.factory_bad_blocks {
            bad[block as usize] = true;
        }
        if bad.iter().all(|bad| !bad) {
            bad.clear();
        }
        bad
    }
}

/// The rate in a block after this many P/E cycles.
pub(crate) fn failure_chance(rate: f64, pe_cycles: u32, endurance: u32, exponent: u32) -> f64 {
    rate * growth(pe_cycles, endurance, exponent)
}

/// Upper rate limit: no code works with more than one wrong bit in ten.
const MAX_RBER: f64 = 0.1;

/// `(1 + cycles / endurance)^exponent`, by multiplications only, because they round alike on every machine.
fn growth(pe_cycles: u32, endurance: u32, exponent: u32) -> f64 {
    power(1.0 + f64::from(pe_cycles) / f64::from(endurance.max(1)), exponent)
}

fn power(base: f64, exponent: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

impl BitErrors {
    /// A page's raw bit error rate if programmed after this many P/E cycles.
    pub fn rber_at(&self, pe_cycles: u32, endurance: u32) -> f64 {
        (self.rber * growth(pe_cycles, endurance, self.growth)).min(MAX_RBER)
    }

    /// Wrong bits per codeword in a page, first to last; `draws` is the page's stream.
    pub(super) fn draw(&self, rate: f64, codewords: u32, mut draws: Random) -> impl Iterator<Item = u32> {
        let bits = self.codeword_bytes * 8;
        let none = Scaled::power(1.0 - rate, bits);
        (0..codewords).map(move |_| wrong_bits(bits, rate, none, draws.unit()))
    }
}

/// `value` x 2^(-256 `steps`): a probability possibly too small for a plain float, such as the probability that
/// a large codeword has no wrong bit. Steps are powers of two, so they lose no digit.
#[derive(Clone, Copy, Debug)]
struct Scaled {
    value: f64,
    steps: u32,
}

/// 2^256.
const STEP: f64 = f64::from_bits((1023 + 256) << 52);

impl Scaled {
    const ONE: Self = Self { value: 1.0, steps: 0 };

    /// The product; both numbers are from 2^-256 to 1 before their steps.
    fn times(self, other: Self) -> Self {
        let (value, steps) = (self.value * other.value, self.steps + other.steps);
        if value < 1.0 / STEP {
            Self { value: value * STEP, steps: steps + 1 }
        } else {
            Self { value, steps }
        }
    }

    /// `base` to the power `exponent`; `base` is above 2^-256 and up to 1.
    fn power(base: f64, exponent: u32) -> Self {
        let (mut result, mut square, mut left) = (Self::ONE, Self { value: base, steps: 0 }, exponent);
        while left > 0 {
            if left & 1 == 1 {
                result = result.times(square);
            }
            square = square.times(square);
            left >>= 1;
        }
        result
    }
}

/// The binomial wrong-bit count at the quantile `u`; `none` is the probability for no wrong bit.
fn wrong_bits(bits: u32, rate: f64, none: Scaled, u: f64) -> u32 {
    let odds = rate / (1.0 - rate);
    let Scaled { value: mut probability, mut steps } = none;
    let mut below = probability;
    for wrong in 0..bits {
        // With a remaining step, the whole sum lies below the smallest possible quantile.
        if steps == 0 && u < below {
            return wrong;
        }
        probability *= f64::from(bits - wrong) / f64::from(wrong + 1) * odds;
        below += probability;
        if steps > 0 && probability > 1.0 {
            (probability, below, steps) = (probability / STEP, below / STEP, steps - 1);
        }
        // Past the mean the sum stops growing, and rounding has left it under `u`.
        if f64::from(wrong) > f64::from(bits) * rate && probability < f64::EPSILON / 4.0 * below {
            return wrong;
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_bits_follow_the_binomial() {
        // 512 B to 4 KiB; at one wrong bit in ten, a float cannot hold the probability of none from 1 KiB on.
        for (bits, rate) in [1e-4, 1e-3, 1e-2, MAX_RBER]
            .into_iter()
            .flat_map(|rate| [4096, 8192, 16_384, 32_768].map(|bits| (bits, rate)))
        {
            let draws = 20_000;
            let none = Scaled::power(1.0 - rate, bits);
            let mut random = Random::new(1);
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..draws {
                let wrong = f64::from(wrong_bits(bits, rate, none, random.unit()));
                sum += wrong;
                squares += wrong * wrong;
            }
            let mean = sum / f64::from(draws);
            let variance = squares / f64::from(draws) - mean * mean;
            let expected = f64::from(bits) * rate;
            let spread = expected * (1.0 - rate);
            let what = format!("{bits} bits at {rate}: mean {mean} of {expected}, variance {variance} of {spread}");
            // Five standard errors of the mean over this many draws.
            assert!((mean - expected).abs() < 5.0 * (spread / f64::from(draws)).sqrt(), "{what}");
            assert!((variance / spread - 1.0).abs() < 0.06, "{what}");
            // The extreme quantiles: about eight standard deviations from the mean, and never all bits.
            for u in [f64::EPSILON / 2.0, 1.0 - f64::EPSILON / 2.0] {
                let wrong = f64::from(wrong_bits(bits, rate, none, u));
                assert!((wrong - expected).abs() < 10.0 * spread.sqrt() + 20.0, "{what}, {wrong} at {u}");
            }
        }
        assert_eq!(wrong_bits(4096, 0.0, Scaled::ONE, 0.999), 0, "no rate, no error");
    }

    #[test]
    fn rates_grow_with_wear_and_end_at_one_in_ten() {
        let errors = BitErrors { rber: 1e-4, growth: 2, ecc_bits: 8, codeword_bytes: 512 };
        assert_eq!(errors.rber_at(0, 1000), 1e-4);
        assert!((errors.rber_at(1000, 1000) - 4e-4).abs() < 1e-12);
        assert_eq!(errors.rber_at(1_000_000, 1000), 0.1);
        assert_eq!(growth(5, 0, 1), 6.0, "an endurance of zero is one of one cycle");
    }

    #[test]
    fn a_share_of_factory_bad_blocks_is_exact_and_seeded() {
        let config = Config { factory_bad_share: 0.02, factory_bad_blocks: vec![7], ..Config::default() };
        let marks = |seed| config.factory_bad(1000, &mut Random::new(seed));
        let bad = marks(1).iter().filter(|&&bad| bad).count();
        assert!(bad == 20 || bad == 21 && marks(1)[7], "{bad}");
        assert_eq!(marks(1), marks(1));
        assert_ne!(marks(1), marks(2));
    }
}

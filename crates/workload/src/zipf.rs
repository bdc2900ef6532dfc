//! Zipf: the k-th most popular address with a frequency proportional to 1 / k^theta.
//!
//! ## Idea
//! Ranks are drawn by rejection-inversion: exact for every address count and every `theta >= 0`, and without a table,
//! about one draw and one logarithm a request. `theta = 0` is uniform; 0.99 is the Yahoo! Cloud Serving Benchmark's
//! default.
//!
//! ## Differences
//! With `scatter` (the default) a fixed permutation spreads ranks over the footprint; without it neighbouring addresses
//! are about equally popular, which favours block maps.
//!
//! ## References
//! Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
//! ACM Transactions on Modeling and Computer Simulation 6(3), 1996. Cooper et al., "Benchmarking cloud
//! serving systems with YCSB", SoCC 2010.

use crate::mix::Pattern;
use crate::permutation::Permutation;
use crate::{Options, Setting, Workload, WorkloadError};
use nandlab_nand::random::Random;

generator_options! {
    /// Options of `[workload.zipf]`.
    {
        /// Exponent of the distribution, 0 (uniform) to 10.
        theta: f64 = 0.99,
        /// Spread the ranks over the footprint by a fixed permutation, instead of the most popular first.
        scatter: bool = true,
    }
}

/// Permutation key; the same in every experiment, so seeds change the order and not the place.
const SCATTER_KEY: u64 = 0x7A69_7066;

impl Options for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        if !(0.0..=10.0).contains(&self.theta) {
            return Err(WorkloadError::option("theta", &self.theta, "the exponent is a number from 0 to 10"));
        }
        self.mix().check()
    }

    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.check()?;
        let slots = self.mix().slots(setting)?;
        let scatter = self.scatter.then(|| Permutation::new(slots, SCATTER_KEY));
        self.mix().generator(setting, Zipf { ranks: Ranks::new(slots, self.theta), scatter })
    }

    fn has_times(&self) -> bool {
        self.mix().has_times()
    }
}

struct Zipf {
    ranks: Ranks,
    scatter: Option<Permutation>,
}

impl Pattern for Zipf {
    #[inline]
    fn start(&mut self, random: &mut Random, fitting: u64, _: u64) -> u64 {
        let rank = self.ranks.draw(random);
        // A long request near the footprint's end moves back until it fits.
        self.scatter.map_or(rank, |scatter| scatter.apply(rank)).min(fitting - 1)
    }
}

/// Draws ranks from 0; names follow the paper: `h(x) = x^-theta` and its antiderivative `H` with `H(1) = 0`.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    n: u64,
    theta: f64,
    /// H(3/2) - h(1).
    lowest: f64,
    /// H(n + 1/2).
    highest: f64,
    /// A point this close to its rank is accepted without looking at the distribution.
    sure: f64,
}

impl Ranks {
    pub(crate) fn new(n: u64, theta: f64) -> Self {
        let mut ranks = Self { n, theta, lowest: 0.0, highest: 0.0, sure: 0.0 };
        ranks.lowest = ranks.area(1.5) - 1.0;
        ranks.highest = ranks.area(n as f64 + 0.5);
        ranks.sure = 2.0 - ranks.point(ranks.area(2.5) - ranks.density(2.0));
        ranks
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.highest + random.unit() * (self.lowest - self.highest);
            let x = self.point(area);
            let rank = libm::round(x).clamp(1.0, self.n as f64);
            if rank - x <= self.sure || area >= self.area(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// h(x).
    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// H(x) = (x^(1 - theta) - 1) / (1 - theta), and log x for theta = 1.
    fn area(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.theta) * log;
        // expm1(t) / t, whose limit at 0 is 1, keeps its digits near theta = 1.
        let ratio = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t / 2.0 };
        ratio * log
    }

    /// H's inverse.
    fn point(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.theta)).max(-1.0);
        let ratio = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t / 2.0 };
        libm::exp(ratio * area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The histogram cell for a rank (from 1): single ranks first, then eight cells an octave.
    fn cell(rank: u64) -> usize {
        (8.0 * (rank as f64).log2()) as usize
    }

    /// Rank counts against the exact probabilities: Pearson's statistic must stay below its distribution's 99.9 % point
    /// (by Wilson and Hilferty's approximation, 1931).
    fn agrees(n: u64, theta: f64) {
        let draws = 400_000;
        let ranks = Ranks::new(n, theta);
        let mut random = Random::new(n ^ theta.to_bits());
        let mut cells = vec![(0.0, 0u64); cell(n) + 1];
        let weight = |rank: u64| (rank as f64).powf(-theta);
        let total: f64 = (1..=n).map(weight).sum();
        for rank in 1..=n {
            cells[cell(rank)].0 += weight(rank) / total * draws as f64;
        }
        for _ in 0..draws {
            cells[cell(ranks.draw(&mut random) + 1)].1 += 1;
        }
        let (mut statistic, mut freedom) = (0.0, -1.0);
        for (expected, count) in cells.into_iter().filter(|&(expected, _)| expected >= 5.0) {
            statistic += (count as f64 - expected).powi(2) / expected;
            freedom += 1.0;
        }
        assert!(freedom >= 1.0);
        let k: f64 = 2.0 / (9.0 * freedom);
        let limit = freedom * (1.0 - k + 3.09 * k.sqrt()).powi(3);
        assert!(statistic < limit, "n = {n}, theta = {theta}: {statistic} over {limit}");
    }

    #[test]
    fn frequencies_are_the_exact_probabilities() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.2, 2.5] {
            for n in [2, 3, 60, 100_000] {
                agrees(n, theta);
            }
        }
    }

    #[test]
    fn one_address_is_always_rank_0() {
        let mut random = Random::new(1);
        assert!((0..100).all(|_| Ranks::new(1, 0.99).draw(&mut random) == 0));
    }
}

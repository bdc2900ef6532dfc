//! YCSB: the core workloads A to F of the Yahoo! Cloud Serving Benchmark.
//!
//! ## Idea
//! First `records` records are inserted, in an order unrelated to their keys. Then come `operations`:
//!
//! | mix | operations | keys |
//! |---|---|---|
//! | `a` | 50 % reads, 50 % updates | zipf |
//! | `b` | 95 % reads, 5 % updates | zipf |
//! | `c` | reads | zipf |
//! | `d` | 95 % reads, 5 % inserts | the newest most often |
//! | `e` | 95 % scans of 1 to `longest_scan` records, 5 % inserts | zipf |
//! | `f` | 50 % reads, 50 % read-modify-writes | zipf |
//!
//! Record n has the key n maps to in a fixed permutation over `0..2^key_bits`; another one spreads popular records over
//! the numbers.
//!
//! ## Differences
//! YCSB hashes numbers to keys, so two may collide; a permutation keeps them apart. YCSB's skewed choice includes
//! records a run will insert later. Here it covers the loaded ones only, except in `d`: there it counts back from the
//! record inserted last.
//!
//! ## References
//! B. Cooper et al.: Benchmarking cloud serving systems with YCSB. SoCC 2010.

use super::{check_keys, check_theta, Action, KeyOp, KeyOptions, KeySetting, KeyWorkload};
use crate::permutation::Permutation;
use crate::zipf::Ranks;
use crate::WorkloadError;
use nandlab_nand::random::Random;

/// Options of `[workload.ycsb]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which of the six mixes.
    pub mix: Mix,
    /// Records inserted before.
    pub records: u64,
    /// Operations after that.
    pub operations: u64,
    /// Exponent of the frequencies, 0 (uniform) to 10.
    pub theta: f64,
    /// Most records of a scan.
    pub longest_scan: u32,
    /// Keys are below 2^key_bits, 1 to 62.
    pub key_bits: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { mix: Mix::A, records: 100_000, operations: 100_000, theta: 0.99, longest_scan: 100, key_bits: 31 }
    }
}

/// A mix of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Update heavy.
    A,
    /// Read mostly.
    B,
    /// Read only.
    C,
    /// Read latest.
    D,
    /// Short ranges.
    E,
    /// Read, modify, write.
    F,
}

impl Mix {
    /// Every mix.
    pub const ALL: [Self; 6] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F];
}

/// Permutation keys: numbers to keys, and ranks to numbers.
const KEY_KEY: u64 = 0x7963_7362;
const SCATTER_KEY: u64 = 0x7A69_7066;

impl KeyOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        check_keys("records", self.records)?;
        check_theta(self.theta)?;
        if self.longest_scan == 0 {
            return Err(WorkloadError::option("longest_scan", &0, "a scan returns at least 1 record"));
        }
        if !(1..=62).contains(&self.key_bits) {
            return Err(WorkloadError::option("key_bits", &self.key_bits, "a key has 1 to 62 bits"));
        }
        // Every operation may insert.
        if self.records.saturating_add(self.operations) > 1 << self.key_bits {
            let why = format!("{} records and {} operations need more keys than that", self.records, self.operations);
            return Err(WorkloadError::option("key_bits", &self.key_bits, why));
        }
        Ok(())
    }

    fn largest_key(&self) -> Option<u64> {
        Some((1 << self.key_bits) - 1)
    }

    fn operations(&self) -> Option<u64> {
        Some(self.records.saturating_add(self.operations))
    }

    fn load(&self) -> u64 {
        self.records
    }

    fn open(&self, setting: &KeySetting<'_>) -> Result<Box<dyn KeyWorkload>, WorkloadError> {
        self.check()?;
        Ok(Box::new(Ycsb {
            mix: self.mix,
            random: Random::new(setting.seed),
            ranks: Ranks::new(self.records, self.theta),
            scatter: Permutation::new(self.records, SCATTER_KEY),
            keys: Permutation::new(1 << self.key_bits, KEY_KEY),
            longest_scan: self.longest_scan.into(),
            load: self.records,
            left: self.operations,
            inserted: 0,
        }))
    }
}

struct Ycsb {
    mix: Mix,
    random: Random,
    ranks: Ranks,
    scatter: Permutation,
    keys: Permutation,
    longest_scan: u64,
    /// Records to be there before the operations begin.
    load: u64,
    left: u64,
    inserted: u64,
}

impl Ycsb {
    fn insert(&mut self) -> KeyOp {
        self.inserted += 1;
        KeyOp { action: Action::Insert, key: self.keys.apply(self.inserted - 1) }
    }

    fn operation(&mut self) -> KeyOp {
        let (usual, share, other) = match self.mix {
            Mix::A => (Action::Read, 0.5, Action::Update),
            Mix::B => (Action::Read, 0.05, Action::Update),
            Mix::C => (Action::Read, 0.0, Action::Update),
            Mix::D => (Action::Read, 0.05, Action::Insert),
            Mix::E => (Action::Scan(1), 0.05, Action::Insert),
            Mix::F => (Action::Read, 0.5, Action::ReadModifyWrite),
        };
        let action = match if self.random.chance(share) { other } else { usual } {
            Action::Insert => return self.insert(),
            Action::Scan(_) => Action::Scan(1 + self.random.below(self.longest_scan) as u32),
            action => action,
        };
        let rank = self.ranks.draw(&mut self.random);
        let number = if self.mix == Mix::D { self.inserted - 1 - rank } else { self.scatter.apply(rank) };
        KeyOp { action, key: self.keys.apply(number) }
    }
}

impl Iterator for Ycsb {
    type Item = Result<KeyOp, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.inserted < self.load {
            return Some(Ok(self.insert()));
        }
        self.left = self.left.checked_sub(1)?;
        Some(Ok(self.operation()))
    }
}

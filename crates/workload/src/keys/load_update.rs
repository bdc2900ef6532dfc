//! Load and update: a bulk load in the order of keys, then updates.
//!
//! ## Idea
//! `records` keys, `spacing` apart, are loaded in ascending order, as a database builds an index over an existing
//! table. Then values change, uniformly (`theta = 0`) or skewed, on the full and ordered pages left by the load.

use super::{check_keys, check_theta, Action, KeyOp, KeyOptions, KeySetting, KeyWorkload, MOST_KEYS};
use crate::permutation::Permutation;
use crate::zipf::Ranks;
use crate::WorkloadError;
use nandlab_nand::random::Random;

/// Options of `[workload.load_update]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Records loaded.
    pub records: u64,
    /// Updates after the load.
    pub updates: u64,
    /// Distance of two keys.
    pub spacing: u64,
    /// Exponent of the frequencies of updates, 0 (uniform) to 10.
    pub theta: f64,
    /// Whether updates are puts, which do not look first whether the key is there: db_bench's overwrite. An LSM tree then
    /// reads nothing for them.
    pub puts: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { records: 100_000, updates: 100_000, spacing: 1, theta: 0.0, puts: false }
    }
}

/// Permutation key; spreads popular keys.
const SCATTER_KEY: u64 = 0x6C6F_6164;

impl KeyOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        check_keys("records", self.records)?;
        check_keys("spacing", self.spacing)?;
        if self.records.checked_mul(self.spacing).is_none_or(|end| end > MOST_KEYS) {
            return Err(WorkloadError::option("spacing", &self.spacing, "records x spacing is at most 2^62"));
        }
        check_theta(self.theta)
    }

    fn largest_key(&self) -> Option<u64> {
        Some((self.records - 1) * self.spacing)
    }

    fn operations(&self) -> Option<u64> {
        Some(self.records.saturating_add(self.updates))
    }

    fn load(&self) -> u64 {
        self.records
    }

    fn open(&self, setting: &KeySetting<'_>) -> Result<Box<dyn KeyWorkload>, WorkloadError> {
        self.check()?;
        let spacing = self.spacing;
        let load = (0..self.records).map(move |n| Ok(KeyOp { action: Action::Load, key: n * spacing }));
        let mut random = Random::new(setting.seed);
        let (ranks, scatter) = (Ranks::new(self.records, self.theta), Permutation::new(self.records, SCATTER_KEY));
        let action = if self.puts { Action::Put } else { Action::Update };
        let updates =
            (0..self.updates).map(move |_| Ok(KeyOp { action, key: scatter.apply(ranks.draw(&mut random)) * spacing }));
        Ok(Box::new(load.chain(updates)))
    }
}

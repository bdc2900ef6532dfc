//! Inserts: records are added, at random, in order, or skewed.
//!
//! ## Idea
//! `random` draws keys uniformly; with 100,000 keys and 31 bits, two or three keys come twice. `sequential` counts up
//! from 0, as with time stamps. `skewed` draws the k-th most popular key with a frequency proportional to 1 / k^theta,
//! and a fixed permutation spreads the ranks over all keys; keys come again, so a record is added or changed.
//!
//! ## References
//! H. Yoo et al.: Performance evaluation of a B+tree on various page sizes in NAND flash memory: 100,000 random
//! integers.

use super::{at_least_one, check_keys, check_theta, Action, KeyOp, KeyOptions, KeySetting, KeyWorkload};
use crate::permutation::Permutation;
use crate::zipf::Ranks;
use crate::WorkloadError;
use nandlab_nand::random::Random;

/// Options of `[workload.inserts]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Inserts in all.
    pub operations: u64,
    /// The order of keys.
    pub order: Order,
    /// Keys are below this number; `sequential` begins again from 0 there.
    pub keys: u64,
    /// Exponent of `skewed`, 0 (uniform) to 10.
    pub theta: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { operations: 100_000, order: Order::Random, keys: 1 << 31, theta: 0.99 }
    }
}

/// The order of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Uniformly at random.
    Random,
    /// From 0 up.
    Sequential,
    /// A few keys most often.
    Skewed,
}

/// Permutation key; the same in every experiment, so seeds change the order and not the place.
const SCATTER_KEY: u64 = 0x6B65_7973;

impl KeyOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        at_least_one("operations", self.operations, "the number of operations")?;
        check_keys("keys", self.keys)?;
        check_theta(self.theta)
    }

    fn largest_key(&self) -> Option<u64> {
        Some(self.keys - 1)
    }

    fn operations(&self) -> Option<u64> {
        Some(self.operations)
    }

    fn open(&self, setting: &KeySetting<'_>) -> Result<Box<dyn KeyWorkload>, WorkloadError> {
        self.check()?;
        let (keys, operations) = (self.keys, 0..self.operations);
        let mut random = Random::new(setting.seed);
        Ok(match self.order {
            Order::Random => {
                Box::new(operations.map(move |_| Ok(KeyOp { action: Action::Insert, key: random.below(keys) })))
            }
            Order::Sequential => Box::new(operations.map(move |n| Ok(KeyOp { action: Action::Insert, key: n % keys }))),
            Order::Skewed => {
                let (ranks, scatter) = (Ranks::new(keys, self.theta), Permutation::new(keys, SCATTER_KEY));
                Box::new(
                    operations
                        .map(move |_| Ok(KeyOp { action: Action::Put, key: scatter.apply(ranks.draw(&mut random)) })),
                )
            }
        })
    }
}

//! Times of the page types of multi-bit cells.

use super::{whole_ns, QUANTITY_RANGE};
use crate::context::Time;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Array times by page type, lower to upper: page n of a block has type n modulo their number.
///
/// A cell of three bits holds a bit of a lower, a middle and an upper page. They need different numbers of sensing steps
/// (L. M. Grupp et al., "Characterizing flash memory: anomalies, observations, and applications", MICRO 2009).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageTypes {
    /// Read times, us.
    #[schemars(with = "Vec<f64>")]
    pub read_us: ByType,
    /// Program times, us; [`super::Timing::program_us`] for all if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<f64>>")]
    pub program_us: Option<ByType>,
}

/// One to five times, us.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ByType {
    us: [f64; Self::MOST],
    count: usize,
}

impl ByType {
    const MOST: usize = 5;

    /// `None` without times, or with more than a cell has bits.
    pub fn new(us: &[f64]) -> Option<Self> {
        let mut all = [0.0; Self::MOST];
        all.get_mut(..us.len()).filter(|part| !part.is_empty())?.copy_from_slice(us);
        Some(Self { us: all, count: us.len() })
    }

    /// The times, us.
    pub fn us(&self) -> &[f64] {
        &self.us[..self.count]
    }

    /// In whole nanoseconds.
    pub(crate) fn ns(&self, key: &str) -> Vec<Time> {
        self.us().iter().map(|&us| whole_ns(key, us)).collect()
    }
}

impl Serialize for ByType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.us().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ByType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let us = Vec::<f64>::deserialize(deserializer)?;
        if let Some(wrong) = us.iter().find(|&&us| !super::is_quantity(us)) {
            return Err(D::Error::custom(format!("{wrong} is not in {QUANTITY_RANGE}")));
        }
        let why = || D::Error::custom(format!("{} times cannot work: a cell holds 1 to 5 bits", us.len()));
        Self::new(&us).ok_or_else(why)
    }
}

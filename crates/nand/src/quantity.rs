//! Times and energies in a file.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Larger than any chip's time or energy (a billion microseconds are 17 minutes), and safe from overflow.
pub(crate) const MAX_QUANTITY: f64 = 1e9;
pub(crate) const QUANTITY_RANGE: &str = "the range from 0 to 1,000,000,000";

pub(crate) fn is_quantity(value: f64) -> bool {
    (0.0..=MAX_QUANTITY).contains(&value)
}

/// A time or an energy; checked here, so the error names its line.
pub(crate) fn quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    if is_quantity(value) {
        Ok(value)
    } else {
        Err(D::Error::custom(format!("{value} is not in {QUANTITY_RANGE}")))
    }
}

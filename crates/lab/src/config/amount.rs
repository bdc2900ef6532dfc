//! A ratio in a file: a number, or a percentage as text.

use serde::de::{self, Deserializer, Visitor};
use std::fmt;

/// What stands where a ratio may.
pub(super) enum Amount {
    /// A number without a unit.
    Plain(f64),
    /// The ratio of a percentage: 0.07 of "7 %".
    Percent(f64),
    /// Another text.
    Word(String),
}

impl Amount {
    /// Reads one; an error of another type says what is `expected`.
    pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D, expected: &'static str) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any(expected))
    }
}

struct Any(&'static str);

impl Visitor<'_> for Any {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Amount, E> {
        Ok(Amount::Plain(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Amount, E> {
        Ok(Amount::Plain(number as f64))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Amount, E> {
        Ok(Amount::Plain(number as f64))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let ratio = percent.filter(|percent| percent.is_finite()).map(|percent| (percent * 1e9).round() / 1e11);
        Ok(ratio.map_or_else(|| Amount::Word(text.to_owned()), Amount::Percent))
    }
}

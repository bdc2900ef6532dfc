//! Over-provisioning in a file: a ratio, or a percentage as text.

use super::amount::Amount;
use serde::de::{Deserializer, Error};
use serde::Serializer;

/// A larger number without a unit is taken for a percentage whose sign was forgotten.
const MOST_WITHOUT_UNIT: f64 = 3.0;

/// The largest over-provisioning; above it the size of the device is refused.
const MOST: f64 = 100.0;

const EXPECTED: &str = "a ratio such as 0.07, or a percentage such as \"7 %\"";

/// What a file may have.
pub(super) fn schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["number", "string", "null"] })
}

/// `ratio` as it stands in a file.
pub(super) fn text(ratio: f64) -> String {
    if ratio > MOST_WITHOUT_UNIT {
        format!("\"{} %\"", (ratio * 1e11).round() / 1e9)
    } else {
        ratio.to_string()
    }
}

pub(super) fn serialize<S: Serializer>(ratio: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match ratio {
        None => serializer.serialize_none(),
        Some(ratio) if *ratio > MOST_WITHOUT_UNIT => serializer.serialize_str(text(*ratio).trim_matches('"')),
        Some(ratio) => serializer.serialize_f64(*ratio),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Amount::read(deserializer, EXPECTED)? {
        Amount::Plain(ratio) if ratio > MOST_WITHOUT_UNIT && ratio <= MOST => {
            let percent = (ratio * 1e9).round() / 1e11;
            let meant =
                format!("was {percent} meant, which is {ratio} %? A ratio above {MOST_WITHOUT_UNIT} is written as");
            Err(D::Error::custom(format!("{ratio} is a ratio here: {meant} {}", text(ratio))))
        }
        Amount::Plain(ratio) | Amount::Percent(ratio) => Ok(Some(ratio)),
        Amount::Word(word) => Err(D::Error::custom(format!("`{word}` is not {EXPECTED}"))),
    }
}

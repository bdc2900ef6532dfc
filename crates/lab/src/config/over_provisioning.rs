//! Over-provisioning in a file: a ratio, or a percentage as text.

use serde::de::{self, Deserializer, Visitor};
use serde::Serializer;
use std::fmt;

/// A larger number without a unit is taken for a percentage whose sign was forgotten.
const MOST_WITHOUT_UNIT: f64 = 3.0;

/// The largest over-provisioning; above it the size of the device is refused.
const MOST: f64 = 100.0;

const EXPECTED: &str = "a ratio such as 0.07, or a percentage such as \"7 %\"";

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
    struct Ratio;
    impl Visitor<'_> for Ratio {
        type Value = f64;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(EXPECTED)
        }
        fn visit_f64<E: de::Error>(self, ratio: f64) -> Result<f64, E> {
            if ratio > MOST_WITHOUT_UNIT && ratio <= MOST {
                let percent = (ratio * 1e9).round() / 1e11;
                let meant =
                    format!("was {percent} meant, which is {ratio} %? A ratio above {MOST_WITHOUT_UNIT} is written as");
                return Err(E::custom(format!("{ratio} is a ratio here: {meant} {}", text(ratio))));
            }
            Ok(ratio)
        }
        fn visit_u64<E: de::Error>(self, ratio: u64) -> Result<f64, E> {
            self.visit_f64(ratio as f64)
        }
        fn visit_i64<E: de::Error>(self, ratio: i64) -> Result<f64, E> {
            self.visit_f64(ratio as f64)
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
            let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
            let ratio = percent.filter(|percent| percent.is_finite()).map(|percent| (percent * 1e9).round() / 1e11);
            ratio.ok_or_else(|| E::custom(format!("`{text}` is not {EXPECTED}")))
        }
    }
    deserializer.deserialize_any(Ratio).map(Some)
}

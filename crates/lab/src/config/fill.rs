//! The fill of a device before the measurement: a word, or how much of it.

use super::amount::Amount;
use nandlab_block::nearest;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// How to fill the device before the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fill {
    /// No fill: the run starts on an erased device.
    #[default]
    None,
    /// Every page once, in ascending order.
    Sequential,
    /// Every page once, in random order.
    Random,
    /// The first pages of the device once, in ascending order: this share of them, above 0 and up to 1. Overwrites go to
    /// them, too.
    Share(f64),
}

const EXPECTED: &str = "\"none\", \"sequential\", \"random\", or a share of the device such as 0.75 or \"75 %\"";

impl Fill {
    const NAMES: [(&'static str, Self); 3] =
        [("none", Self::None), ("sequential", Self::Sequential), ("random", Self::Random)];

    /// Pages of `pages` that are written once.
    pub(crate) fn filled(self, pages: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Sequential | Self::Random => pages,
            Self::Share(share) => ((share * pages as f64).round() as u64).clamp(1, pages),
        }
    }
}

impl schemars::JsonSchema for Fill {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fill".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names = Self::NAMES.map(|(name, _)| name);
        schemars::json_schema!({ "anyOf": [{ "type": "string", "enum": names }, { "type": "number" }, { "type": "string" }] })
    }
}

impl Serialize for Fill {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Sequential => serializer.serialize_str("sequential"),
            Self::Random => serializer.serialize_str("random"),
            Self::Share(share) => serializer.serialize_f64(*share),
        }
    }
}

impl<'de> Deserialize<'de> for Fill {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = match Amount::read(deserializer, EXPECTED)? {
            Amount::Plain(share) | Amount::Percent(share) if share > 0.0 && share <= 1.0 => {
                return Ok(Self::Share(share));
            }
            Amount::Plain(share) | Amount::Percent(share) => {
                return Err(D::Error::custom(format!("{share} is no share of the device: expected {EXPECTED}")));
            }
            Amount::Word(word) => word,
        };
        let known = Self::NAMES.into_iter().find(|(name, _)| *name == word);
        known.map(|(_, fill)| fill).ok_or_else(|| {
            let near = nearest(&word, Self::NAMES.map(|(name, _)| name));
            let hint = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            D::Error::custom(format!("expected {EXPECTED}, given `{word}`{hint}"))
        })
    }
}

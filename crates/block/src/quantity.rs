//! Numbers of bytes with their unit.

use crate::suggest::nearest;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A number of bytes; a plain whole number, or text with a unit such as `"128 MiB"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct ByteCount(pub u64);

/// Units, with 1024 as well as with 1000, and their bytes.
const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

/// First letters of larger units: no device is so large.
const BEYOND: [char; 4] = ['P', 'E', 'Z', 'Y'];

const EXPECTED: &str = "a number of bytes such as 4096 or \"128 MiB\" (units: B, KB, KiB, MB, MiB, GB, GiB, TB, TiB)";

/// Every unit, with 1024 as well as with 1000, and its bytes.
pub fn byte_units() -> &'static [(&'static str, u64)] {
    &UNITS
}

impl ByteCount {
    /// The count for people: two decimals in the largest binary unit that fits.
    pub fn rounded(self) -> String {
        let (unit, bytes) = largest(|bytes| bytes <= self.0);
        let text = format!("{:.2}", self.0 as f64 / bytes as f64);
        format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The largest binary unit that `fits`.
fn largest(fits: impl Fn(u64) -> bool) -> (&'static str, u64) {
    let binary = UNITS.iter().rev().filter(|(_, bytes)| bytes.is_power_of_two());
    binary.copied().find(|&(_, bytes)| fits(bytes)).unwrap_or(UNITS[0])
}

impl fmt::Display for ByteCount {
    /// Exact, in the largest unit dividing the count. Decimal units start at MB, so a small count that is no multiple
    /// of 1024 stays in bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = UNITS.into_iter().filter(|(name, bytes)| self.0 != 0 && self.0 % bytes == 0 && *name != "KB");
        let best = exact.max_by_key(|&(_, bytes)| (bytes, bytes.is_power_of_two()));
        let (unit, bytes) = best.unwrap_or(UNITS[0]);
        write!(f, "{} {unit}", self.0 / bytes)
    }
}

impl FromStr for ByteCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(amount) = text.strip_prefix(['-', '\u{2212}']) {
            if amount.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '.') {
                return Err(format!("`{text}` is negative, expected {EXPECTED}"));
            }
        }
        let exponent = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '_');
        if exponent.len() < text.len() && is_exponent(exponent) {
            return Err(format!("`{text}` has an exponent, expected {EXPECTED}"));
        }
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
        let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
        let unit = if unit.is_empty() { "B" } else { unit };
        let Some(&(_, bytes)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            if is_beyond(unit) {
                return Err(format!("`{text}` is more than a device can have: 2^32 pages, 16 TiB with pages of 4 KiB"));
            }
            let names = UNITS.map(|(name, _)| name);
            if let Some(name) = whole_unit(unit) {
                return Err(format!("`{unit}` is no unit of bytes, expected {EXPECTED}; did you mean `{name}`?"));
            }
            let same = names.into_iter().find(|name| name.eq_ignore_ascii_case(unit));
            let hint = same.or_else(|| nearest(unit, names)).map(|name| format!("; did you mean `{name}`?"));
            return Err(format!("`{unit}` is no unit of bytes, expected {EXPECTED}{}", hint.unwrap_or_default()));
        };
        let refuse = || format!("`{text}` is not {EXPECTED}");
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(bytes).map(Self).ok_or_else(|| format!("`{text}` is more than 2^64 bytes"));
        }
        let count = number.parse::<f64>().map_err(|_| refuse())? * bytes as f64;
        if count < 9e15 {
            Ok(Self(count.round() as u64))
        } else {
            Err(format!("`{text}` is more than a device can have"))
        }
    }
}

/// Whether one such unit exceeds any device: PiB, PB, EiB and so on.
fn is_beyond(unit: &str) -> bool {
    let mut letters = unit.chars();
    let is_large = letters.next().is_some_and(|first| BEYOND.contains(&first.to_ascii_uppercase()));
    is_large && ["", "B", "i", "iB"].iter().any(|rest| rest.eq_ignore_ascii_case(letters.as_str()))
}

/// The binary unit missing only its B, or its iB.
fn whole_unit(unit: &str) -> Option<&'static str> {
    let binary = UNITS.iter().map(|&(name, _)| name).filter(|name| name.len() == 3);
    binary.into_iter().find(|name| unit.eq_ignore_ascii_case(&name[..1]) || unit.eq_ignore_ascii_case(&name[..2]))
}

/// Whether `text` starts as an exponent, like the 3 in 2e3 and 2e+3.
fn is_exponent(text: &str) -> bool {
    let power = text.strip_prefix(['e', 'E']).map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
    power.is_some_and(|power| power.starts_with(|c: char| c.is_ascii_digit()))
}

impl Serialize for ByteCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Count;
        impl Visitor<'_> for Count {
            type Value = ByteCount;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }
            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<ByteCount, E> {
                Ok(ByteCount(bytes))
            }
            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<ByteCount, E> {
                u64::try_from(bytes).map(ByteCount).map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteCount, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Count)
    }
}

impl schemars::JsonSchema for ByteCount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ByteCount".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["integer", "string"], "format": "bytes" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_number_agree() {
        for (text, bytes) in [
            ("4096", 4096),
            ("4 KiB", 4096),
            ("4KiB", 4096),
            ("128 MiB", 128 << 20),
            ("1_000 KB", 1_000_000),
            ("6.4 MiB", 6_710_886),
            ("0.5 KiB", 512),
            ("2 TiB", 2 << 40),
        ] {
            assert_eq!(text.parse(), Ok(ByteCount(bytes)), "{text}");
        }
        for bytes in [0, 1, 512, 1023, 4096, 128 << 20, 3 << 30, (1 << 40) + 1] {
            assert_eq!(ByteCount(bytes).to_string().parse(), Ok(ByteCount(bytes)));
        }
    }

    #[test]
    fn wrong_units_and_numbers_are_named() {
        let error = |text: &str| text.parse::<ByteCount>().unwrap_err();
        assert!(error("128 MIB").contains("did you mean `MiB`"), "{}", error("128 MIB"));
        assert!(error("128 Mib/s").contains("`Mib/s` is no unit"));
        for (text, unit) in [("64 Mi", "MiB"), ("64M", "MiB"), ("1 g", "GiB"), ("3 ti", "TiB"), ("8Ki", "KiB")] {
            assert!(error(text).ends_with(&format!("did you mean `{unit}`?")), "{}", error(text));
        }
        for text in ["1 PiB", "0.5 PB", "1 EiB", "2 p"] {
            assert_eq!(
                error(text),
                format!("`{text}` is more than a device can have: 2^32 pages, 16 TiB with pages of 4 KiB")
            );
        }
        assert!(error("MiB").contains("expected a number of bytes") || error("MiB").contains("is not a number"));
        for text in ["-28 MiB", "-1", "- 5 KiB", "-.5 MiB"] {
            assert!(
                error(text).starts_with(&format!("`{text}` is negative, expected a number of bytes")),
                "{}",
                error(text)
            );
        }
        for text in ["1e3 MiB", "2.5E+2", "1e-3 GiB"] {
            assert!(error(text).starts_with(&format!("`{text}` has an exponent, expected")), "{}", error(text));
        }
        assert!(error("1 eB").contains("more than a device"), "not an exponent");
        assert!(error("1.2.3 MiB").contains("is not a number of bytes"));
        assert!(error("99999999999999 TiB").contains("more than"));
    }

    #[test]
    fn a_count_is_written_in_the_units_in_which_it_is_given() {
        for text in ["20 GB", "1 TB", "1500 MB", "1000 B", "4 KiB", "1000 KiB", "128 MiB", "1 TiB", "999 B", "0 B"] {
            assert_eq!(text.parse::<ByteCount>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn rounded_is_short() {
        assert_eq!(ByteCount(134_217_728).rounded(), "128 MiB");
        assert_eq!(ByteCount(0).rounded(), "0 B");
        assert_eq!(ByteCount(1_500).rounded(), "1.46 KiB");
    }
}

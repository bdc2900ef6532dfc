//! Placement identifiers in traces and options: a handle (`5`), or a reclaim group and a handle (`1:5`).

use crate::trace::fields::shown;
use nandlab_nand::PlacementId;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;

/// Groups that an identifier can name; 255 stands for no identifier.
const GROUPS: u64 = u8::MAX as u64;

/// The identifier in `text`; an empty text is none.
///
/// # Errors
/// The text and the reason, as a sentence.
pub(crate) fn parse(text: &[u8]) -> Result<PlacementId, String> {
    if text.is_empty() {
        return Ok(PlacementId::NONE);
    }
    let shown = || shown(text);
    let form = "expected a handle such as 5, or a group and a handle such as 1:5";
    let (group, handle) = match text.iter().position(|&byte| byte == b':') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (&b"0"[..], text),
    };
    let (Some(group), Some(handle)) = (number(group), number(handle)) else {
        return Err(format!("{} is no placement: {form}", shown()));
    };
    if group >= GROUPS {
        return Err(format!("{} is no placement: a group is a number from 0 to {}", shown(), GROUPS - 1));
    }
    if handle >= PlacementId::HANDLES.into() {
        return Err(format!("{} is no placement: {}", shown(), HANDLES));
    }
    Ok(PlacementId { group: group as u8, handle: handle as u8 })
}

/// What a handle may be.
pub(crate) const HANDLES: &str = "a handle is a number from 0 to 127";

/// Decimal digits and nothing else; large numbers stop at a thousand.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |value, digit| (value * 10 + u64::from(digit - b'0')).min(1000)))
}

/// The text that [`parse`] reads as `placement`.
pub(crate) fn text(placement: PlacementId) -> String {
    match placement {
        PlacementId::NONE => String::new(),
        PlacementId { group: 0, handle } => handle.to_string(),
        PlacementId { group, handle } => format!("{group}:{handle}"),
    }
}

/// An identifier as an option: the handle as a number, or `"group:handle"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement(PlacementId);

impl Placement {
    /// A handle in the first group.
    ///
    /// # Panics
    /// With 128 or more.
    pub fn of(handle: u8) -> Self {
        assert!(u32::from(handle) < PlacementId::HANDLES, "handle {handle}: {HANDLES}");
        Self(PlacementId::of(handle))
    }

    /// The identifier.
    pub fn id(self) -> PlacementId {
        self.0
    }
}

impl TryFrom<PlacementId> for Placement {
    type Error = String;

    /// Refuses [`PlacementId::NONE`] and handles that no device has.
    fn try_from(id: PlacementId) -> Result<Self, String> {
        text(id).parse()
    }
}

impl std::str::FromStr for Placement {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        if given.is_empty() {
            return Err("an empty text is no placement: leave the key away for none".to_owned());
        }
        parse(given.as_bytes()).map(Self)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self.0))
    }
}

impl Serialize for Placement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.group {
            0 => serializer.serialize_u8(self.0.handle),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Placement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Placement;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a handle such as 5, or a group and a handle such as \"1:5\"")
            }
            fn visit_u64<E: de::Error>(self, handle: u64) -> Result<Placement, E> {
                handle.to_string().parse().map_err(E::custom)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Placement, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl schemars::JsonSchema for Placement {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Placement".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["integer", "string"], "format": "handle or group:handle" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_handles_with_or_without_a_group() {
        for (given, group, handle) in [("0", 0, 0), ("127", 0, 127), ("1:5", 1, 5), ("254:0", 254, 0), ("007", 0, 7)] {
            assert_eq!(parse(given.as_bytes()), Ok(PlacementId { group, handle }), "{given}");
        }
        assert_eq!(parse(b""), Ok(PlacementId::NONE));
        for written in ["", "0", "127", "1:5", "254:127"] {
            assert_eq!(text(parse(written.as_bytes()).unwrap()), written);
        }
    }

    #[test]
    fn what_is_no_identifier_is_refused_with_the_reason() {
        for (given, reason) in [
            ("128", "`128` is no placement: a handle is a number from 0 to 127"),
            ("0:128", "`0:128` is no placement: a handle is"),
            ("99999999999999999999999", "a handle is a number from 0 to 127"),
            ("255:0", "`255:0` is no placement: a group is a number from 0 to 254"),
            ("x", "`x` is no placement: expected a handle such as 5, or a group and a handle such as 1:5"),
            ("1:", "`1:` is no placement: expected a handle"),
            (":1", "expected a handle"),
            ("1:2:3", "expected a handle"),
            ("-1", "expected a handle"),
            (" 1", "expected a handle"),
        ] {
            let said = parse(given.as_bytes()).unwrap_err();
            assert!(said.contains(reason), "{given}: {said}");
        }
        assert!("".parse::<Placement>().unwrap_err().contains("leave the key away"));
    }
}

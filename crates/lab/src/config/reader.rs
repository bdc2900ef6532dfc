//! A value tree as serde reads it: what does not match is told with the path to it.

use super::tree::Part;
use nandlab_workload::nearest;
use serde::de::{self, DeserializeSeed, Deserializer, Expected, Unexpected, Visitor};
use serde_json::{Map, Value};
use std::fmt::Display;

/// A step on the way to a value.
#[derive(Debug)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// A mismatch, and the path to it.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) what: What,
    /// From the inside out.
    pub(super) steps: Vec<Step>,
}

/// What does not match.
#[derive(Debug)]
pub(super) enum What {
    /// A sentence from the type itself.
    Sentence(String),
    Given {
        given: String,
        expected: String,
    },
    Unknown {
        expected: &'static [&'static str],
    },
    Missing {
        key: &'static str,
    },
    Choice {
        given: Vec<String>,
        expected: &'static [&'static str],
    },
}

impl What {
    /// The part of the text at fault, and a sentence; `elsewhere` has paths at which an unknown key would be right.
    pub(super) fn message(self, path: &str, elsewhere: &[String]) -> (Part, String) {
        let of = |path: &str| if path.is_empty() { "the experiment".to_owned() } else { format!("[{path}]") };
        match self {
            Self::Sentence(sentence) => (Part::Value, format!("{path}: {sentence}")),
            Self::Given { given, expected } => (Part::Value, format!("{path}: expected {expected}, given {given}")),
            Self::Missing { key } => (Part::Key, format!("{} needs the key `{key}`", of(path))),
            Self::Choice { given, expected } => {
                let found = if given.is_empty() { "none".to_owned() } else { given.join(", ") };
                // The last one is at fault; the sentence is about the table.
                let table = path.rsplit_once('.').filter(|_| !given.is_empty());
                let path = table.map_or(path, |(table, _)| table);
                (Part::Key, format!("{path}: expected exactly one of {}; found {found}", expected.join(", ")))
            }
            Self::Unknown { expected } => {
                let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
                let place = |path: &String| {
                    let above = if path.contains('.') { "" } else { " above all tables" };
                    format!("`{path}`{above}")
                };
                let near = || nearest(key, expected.iter().copied()).map(|name| format!("`{name}`"));
                let places = elsewhere.iter().map(place).collect::<Vec<_>>().join(" or ");
                let hint = if places.is_empty() { near() } else { Some(places) };
                let hint = hint.map(|names| format!("; did you mean {names}?")).unwrap_or_default();
                let known = if expected.is_empty() { "none".to_owned() } else { expected.join(", ") };
                (Part::Key, format!("{} has no key `{key}`{hint} (known: {known})", of(table)))
            }
        }
    }
}

/// What a mismatch says of a key.
#[derive(PartialEq, Eq)]
pub(super) enum Fault {
    /// There is no such key, or no table that could have it.
    Key,
    /// The key is there; its value or something else is wrong.
    Elsewhere,
}

impl Wrong {
    /// What this says of `key` in the table below `tables`.
    pub(super) fn fault(&self, tables: &[&str], key: &str) -> Fault {
        // The steps are in order from the inside out.
        let steps: Vec<&str> = self
            .steps
            .iter()
            .rev()
            .map_while(|step| match step {
                Step::Key(key) => Some(key.as_str()),
                Step::Index(_) => None,
            })
            .collect();
        let is_at_key = steps.split_last().is_some_and(|(last, before)| *last == key && before == tables);
        let is_below = steps.len() > tables.len() + 1;
        match &self.what {
            What::Missing { .. } => Fault::Elsewhere,
            What::Unknown { .. } if is_below => Fault::Elsewhere,
            What::Unknown { .. } => Fault::Key,
            _ if is_at_key || is_below => Fault::Elsewhere,
            _ => Fault::Key,
        }
    }

    fn new(what: What) -> Self {
        Self { what, steps: Vec::new() }
    }

    /// Not exactly one of `expected`: reports an unknown name, otherwise the last one.
    fn choice(given: Vec<String>, expected: &'static [&'static str]) -> Self {
        if let Some(stray) = given.iter().find(|name| !expected.contains(&name.as_str())) {
            return <Self as de::Error>::unknown_variant(stray, expected).at(Step::Key(stray.clone()));
        }
        let last = given.last().cloned();
        let wrong = Self::new(What::Choice { given, expected });
        match last {
            Some(name) => wrong.at(Step::Key(name)),
            None => wrong,
        }
    }

    fn at(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

impl Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.what)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: Display>(sentence: T) -> Self {
        Self::new(What::Sentence(sentence.to_string()))
    }

    fn invalid_type(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let given = match given {
            Unexpected::Str(text) => format!("\"{text}\""),
            Unexpected::Bool(truth) => truth.to_string(),
            Unexpected::Unsigned(number) => number.to_string(),
            Unexpected::Signed(number) => number.to_string(),
            Unexpected::Float(number) => number.to_string(),
            Unexpected::Map => "a table".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
            other => other.to_string(),
        };
        Self::new(What::Given { given, expected: in_words(&expected.to_string()) })
    }

    fn invalid_value(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(given, expected)
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(What::Unknown { expected })
    }

    fn unknown_variant(given: &str, expected: &'static [&'static str]) -> Self {
        let hint = nearest(given, expected.iter().copied());
        let hint = hint.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        Self::new(What::Given {
            given: format!("`{given}`{hint}"),
            expected: format!("one of {}", expected.join(", ")),
        })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(What::Missing { key })
    }
}

/// Serde's expectation, in words for users.
fn in_words(expected: &str) -> String {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 to 18446744073709551615",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "text in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        _ if expected.starts_with("struct ") => "a table",
        other => other,
    }
    .to_owned()
}

/// A value for serde to read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a Value);

impl Reader<'_> {
    /// The error of a value of another kind than the visitor takes. With `deserialize_any` in its place, every type would be
    /// compiled for every kind of value.
    fn unlike(self, visitor: &dyn Expected) -> Wrong {
        match self.deserialize_any(Nothing(visitor)) {
            Ok(never) => match never {},
            Err(wrong) => wrong,
        }
    }

    /// A whole number written with a fraction or an exponent, such as 1e6.
    fn whole(self) -> Option<u64> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let number = self.0.as_f64().filter(|_| self.0.is_f64())?;
        ((0.0..=EXACT).contains(&number) && number.fract() == 0.0).then_some(number as u64)
    }
}

macro_rules! integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            match self.whole() {
                Some(number) => visitor.visit_u64(number),
                None => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::String(text) => visitor.visit_str(text),
            Value::Array(values) => visitor.visit_seq(Items { values, at: 0 }),
            Value::Object(map) => visitor.visit_map(Entries { entries: map.iter().collect(), at: 0 }),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => visitor.visit_u64(number),
                (None, Some(number), _) => visitor.visit_i64(number),
                (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
        }
    }

    integers! {
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.0.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    /// A table with one entry, or a name alone for its defaults.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(Variant { name, content: None }),
            Value::Object(map) if map.len() == 1 => {
                let (name, content) = map.iter().next().expect("the table has one entry");
                visitor.visit_enum(Variant { name, content: Some(content) })
            }
            Value::Object(map) => Err(Wrong::choice(map.keys().cloned().collect(), variants)),
            _ => {
                let expected = format!("one of {}", variants.join(", "));
                Err(self.unlike(&expected.as_str()))
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Object(map) => visitor.visit_map(Entries { entries: map.iter().collect(), at: 0 }),
            _ => Err(self.unlike(&visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Array(values) => visitor.visit_seq(Items { values, at: 0 }),
            _ => Err(self.unlike(&visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::String(text) => visitor.visit_str(text),
            _ => Err(self.unlike(&visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Bool(truth) => visitor.visit_bool(*truth),
            _ => Err(self.unlike(&visitor)),
        }
    }

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

/// Accepts no value: its error names the given value.
struct Nothing<'a>(&'a dyn Expected);

enum Never {}

impl Visitor<'_> for Nothing<'_> {
    type Value = Never;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Expected::fmt(self.0, f)
    }
}

struct Items<'a> {
    values: &'a [Value],
    at: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Wrong;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some(value) = self.values.get(self.at) else { return Ok(None) };
        let item = seed.deserialize(Reader(value)).map_err(|wrong| wrong.at(Step::Index(self.at)))?;
        self.at += 1;
        Ok(Some(item))
    }
}

struct Entries<'a> {
    entries: Vec<(&'a String, &'a Value)>,
    at: usize,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        let Some((key, _)) = self.entries.get(self.at) else { return Ok(None) };
        let name = de::value::StrDeserializer::new(key.as_str());
        seed.deserialize(name).map(Some).map_err(|wrong: Wrong| wrong.at(Step::Key((*key).clone())))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Wrong> {
        let (key, value) = self.entries[self.at];
        self.at += 1;
        seed.deserialize(Reader(value)).map_err(|wrong| wrong.at(Step::Key(key.clone())))
    }
}

struct Variant<'a> {
    name: &'a str,
    content: Option<&'a Value>,
}

impl<'de> de::EnumAccess<'de> for Variant<'_> {
    type Error = Wrong;
    type Variant = Self;
    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Wrong> {
        let variant = seed.deserialize(de::value::StrDeserializer::new(self.name))?;
        Ok((variant, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_> {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        match self.content {
            None => Ok(()),
            Some(_) => Err(Wrong::new(What::Sentence(format!("`{}` has no options; write it in quotes", self.name)))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Wrong> {
        let none = Value::Object(Map::new());
        let content = self.content.unwrap_or(&none);
        seed.deserialize(Reader(content)).map_err(|wrong| wrong.at(Step::Key(self.name.to_owned())))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        self.newtype_variant_seed(Through(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Wrong> {
        self.newtype_variant_seed(Through(visitor))
    }
}

/// Passes a value to a visitor.
struct Through<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Through<V> {
    type Value = V::Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

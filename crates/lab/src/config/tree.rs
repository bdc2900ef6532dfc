//! A configuration as text: a value tree with positions, and overrides for single keys.

use crate::error::{ConfigError, LabError};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// A configuration's text format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON with the same keys.
    Json,
}

/// A parsed text with positions. Paths are written `workload.uniform.size[0].weight`.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The table of all values.
    pub root: Value,
    /// The text's name in errors; empty if the user never saw it.
    source: String,
    text: String,
    places: BTreeMap<String, Place>,
    /// Overridden paths, with the overriding text.
    sets: Vec<(String, String)>,
}

/// Offsets into the text.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: usize,
    value: usize,
}

/// The entry's part with an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Its name.
    Key,
    /// What it is set to.
    Value,
}

/// Refuses a key with its value and the reason.
pub(super) type Refuse<'a> = dyn Fn(&str, &dyn std::fmt::Display, &str) -> Result<(), KeyError> + 'a;

/// An error about one entry, whose position is not looked up yet.
#[derive(Debug)]
pub struct KeyError {
    /// The entry's path.
    pub key: String,
    /// The part at fault.
    pub part: Part,
    /// What is wrong, and the allowed values, as a sentence.
    pub message: String,
}

impl KeyError {
    /// An error in what `key` is set to.
    pub fn of_value(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), part: Part::Value, message: message.into() }
    }

    /// An error in that `key` is there.
    pub fn of_key(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), part: Part::Key, message: message.into() }
    }
}

/// Without a position.
impl From<KeyError> for ConfigError {
    fn from(KeyError { key, message, .. }: KeyError) -> Self {
        Self { message, key: Some(key), ..Self::default() }
    }
}

impl From<KeyError> for LabError {
    fn from(error: KeyError) -> Self {
        ConfigError::from(error).into()
    }
}

impl Tree {
    /// Parses `text`; `source` names it in errors. If `source` is empty, errors have no position.
    pub fn parse(text: &str, format: Format, source: &str) -> Result<Self, ConfigError> {
        let mut tree = Self {
            root: Value::Null,
            source: source.to_owned(),
            text: text.to_owned(),
            places: BTreeMap::new(),
            sets: Vec::new(),
        };
        match format {
            Format::Toml => tree.parse_toml(text)?,
            Format::Json => tree.parse_json(text)?,
        }
        Ok(tree)
    }

    fn parse_toml(&mut self, text: &str) -> Result<(), ConfigError> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            self.error_at(at, syntax(error.message().trim().replace('\n', ", ")), None)
        })?;
        self.root = self.toml_table(table.get_ref(), "")?;
        Ok(())
    }

    fn toml_table(&mut self, table: &DeTable<'_>, path: &str) -> Result<Value, ConfigError> {
        // The document loses the table order within a level; users know the text's order.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut map = Map::new();
        for (key, value) in entries {
            let path = join(path, key.get_ref());
            self.places.insert(path.clone(), Place { key: key.span().start, value: value.span().start });
            map.insert(key.get_ref().to_string(), self.toml_value(value.get_ref(), &path)?);
        }
        Ok(Value::Object(map))
    }

    fn toml_value(&mut self, value: &DeValue<'_>, path: &str) -> Result<Value, ConfigError> {
        let refuse = |why: &str| Err(self.error(path, Part::Value, format!("{path}: {why}")));
        Ok(match value {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(truth) => Value::Bool(*truth),
            DeValue::Integer(digits) => {
                let (digits, radix) = (digits.as_str(), digits.radix());
                // TOML requires the whole i64 range; JSON and Python also give u64.
                let whole = u64::from_str_radix(digits, radix).map(Number::from);
                match whole.or_else(|_| i64::from_str_radix(digits, radix).map(Number::from)) {
                    Ok(whole) => Value::Number(whole),
                    Err(_) => {
                        // A file may hold negative numbers, but no option takes one, so the message starts at
                        // 0.
                        return refuse(&format!("expected a whole number from 0 to {}, given {digits}", u64::MAX));
                    }
                }
            }
            DeValue::Float(digits) => match digits.as_str().parse().ok().and_then(Number::from_f64) {
                Some(number) => Value::Number(number),
                None => return refuse(&format!("expected a finite number, given {}", digits.as_str())),
            },
            DeValue::Datetime(_) => return refuse("expected no date or time"),
            DeValue::Array(values) => {
                let mut list = Vec::with_capacity(values.len());
                for (at, value) in values.iter().enumerate() {
                    let path = format!("{path}[{at}]");
                    self.places.insert(path.clone(), Place { key: value.span().start, value: value.span().start });
                    list.push(self.toml_value(value.get_ref(), &path)?);
                }
                Value::Array(list)
            }
            DeValue::Table(table) => self.toml_table(table, path)?,
        })
    }

    fn parse_json(&mut self, text: &str) -> Result<(), ConfigError> {
        self.root = serde_json::from_str(text).map_err(|error| {
            if let Some(error) = self.not_finite(text) {
                return error;
            }
            let message = error.to_string();
            // The position precedes the message, as in other errors.
            let message = message.split(" at line ").next().unwrap_or(&message).to_owned();
            // The parser reports an error at a line's end as column 0 in the next line.
            self.placed(Some((error.line(), error.column().max(1))), syntax(message), None)
        })?;
        if !self.root.is_object() {
            return Err(self.error_at(Some(0), "expected an object, { ... }".into(), None));
        }
        let mut places = JsonPlaces { text, at: 0, places: &mut self.places, twice: None };
        places.value("");
        match places.twice {
            Some((path, at)) => Err(self.error_at(Some(at), format!("{path} is given twice"), Some(path))),
            None => Ok(()),
        }
    }

    /// The error in a text that would be JSON except for a number such as NaN, written by some programs.
    fn not_finite(&self, text: &str) -> Option<ConfigError> {
        let found = not_finite_words(text);
        let &(at, word) = found.first()?;
        let mut finite = text.to_owned();
        for &(at, word) in &found {
            finite.replace_range(at..at + word.len(), &format!("{:<width$}", 0, width = word.len()));
        }
        let mut tree = Self { places: BTreeMap::new(), ..self.clone() };
        tree.parse_json(&finite).ok()?;
        let path = tree.places.iter().find(|(_, place)| place.value == at).map(|(path, _)| path.clone())?;
        let message = format!("{path}: expected a finite number, given {word}");
        Some(self.error_at(Some(at), message, Some(path)))
    }

    /// Overrides one key: `set` is `a.b=c`, `c` a TOML value or else plain text; the value `none` for a whole
    /// table omits it.
    pub fn set(&mut self, set: &str) -> Result<(), ConfigError> {
        let refuse =
            |message: String| ConfigError { message, file: Some(format!("--set {set}")), ..Default::default() };
        // Only the key's start is told: it is as long as whoever wrote it likes.
        if set.split('=').next().is_some_and(|path| path.matches('.').count() >= MOST_LEVELS) {
            let start: String = set.chars().take(20).collect();
            let file = Some(format!("--set {start}..."));
            return Err(ConfigError { message: TOO_DEEP.into(), file, ..Default::default() });
        }
        let Some((path, text)) = set.split_once('=').map(|(path, text)| (path.trim(), text.trim())) else {
            return Err(refuse("expected KEY=VALUE, such as device.capacity=64MiB".into()));
        };
        if path.split('.').any(str::is_empty) {
            return Err(refuse(format!("`{path}` is no key; expected one such as device.capacity")));
        }
        let value = match DeValue::parse(text) {
            Ok(value) => {
                let mut side = Self { places: BTreeMap::new(), ..self.clone() };
                side.toml_value(value.get_ref(), path).map_err(|error| refuse(error.message))?
            }
            Err(_) => Value::String(text.to_owned()),
        };
        let value = if !path.contains('.') && value == "none" { Value::Null } else { value };
        let mut at = &mut self.root;
        let mut steps: Vec<&str> = path.split('.').collect();
        let last = steps.pop().expect("split has at least one part");
        let mut above = String::new();
        for step in steps {
            let table = at.as_object_mut().expect("only tables are walked");
            above = join(&above, step);
            let next = table.entry(step).or_insert(Value::Null);
            // The parent may have been omitted by an earlier override.
            if next.is_null() {
                *next = Value::Object(Map::new());
                // The table is not in the text, so its errors belong to this override.
                self.sets.push((above.clone(), set.to_owned()));
            }
            // `ftl = "page"` stands for the table [ftl.page] without keys. Another name in its place loses nothing.
            if next.is_string() {
                *next = Value::Object(Map::new());
            }
            if !next.is_object() {
                return Err(refuse(format!("`{step}` is not a table, so it has no key `{last}`")));
            }
            at = next;
        }
        at.as_object_mut().expect("only tables are walked").insert(last.to_owned(), value);
        self.sets.push((path.to_owned(), set.to_owned()));
        Ok(())
    }

    /// `error` with its position.
    pub fn located(&self, error: KeyError) -> ConfigError {
        self.error(&error.key, error.part, error.message)
    }

    /// An error about `path`, with its position.
    pub fn error(&self, path: &str, part: Part, message: String) -> ConfigError {
        let key = (!path.is_empty()).then(|| path.to_owned());
        let below =
            |set: &str| path == set || path.starts_with(&format!("{set}.")) || path.starts_with(&format!("{set}["));
        if let Some((_, set)) = self.sets.iter().rev().find(|(set, _)| below(set)) {
            return ConfigError { message, file: Some(format!("--set {set}")), key, ..Default::default() };
        }
        self.error_at(self.place(path, part), message, key)
    }

    /// The position for `path`, or for its nearest ancestor.
    fn place(&self, path: &str, part: Part) -> Option<usize> {
        if let Some(place) = self.places.get(path) {
            return Some(if part == Part::Key { place.key } else { place.value });
        }
        let parent = &path[..path.rfind(['.', '['])?];
        self.place(parent, Part::Key)
    }

    /// Every key's line.
    pub(crate) fn lines(&self) -> BTreeMap<&str, usize> {
        let line = |place: &Place| self.text[..place.key].matches('\n').count() + 1;
        self.places.iter().map(|(path, place)| (path.as_str(), line(place))).collect()
    }

    fn error_at(&self, offset: Option<usize>, message: String, key: Option<String>) -> ConfigError {
        let place = offset.map(|offset| {
            let before = self.text.get(..offset).unwrap_or(&self.text);
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
        });
        self.placed(place, message, key)
    }

    /// An error at a line and column in the text.
    fn placed(&self, place: Option<(usize, usize)>, message: String, key: Option<String>) -> ConfigError {
        if self.source.is_empty() {
            return ConfigError { message, key, ..Default::default() };
        }
        let (line, column) = place.unzip();
        ConfigError { message, file: Some(self.source.clone()), line, column, key }
    }
}

/// Most tables above an overridden key, as in a TOML file.
const MOST_LEVELS: usize = 80;

const TOO_DEEP: &str = "tables and lists are nested too deeply; no experiment needs more than ten levels";

/// A parser's message, in words for users.
fn syntax(message: String) -> String {
    match message.contains("recurs") {
        true => TOO_DEEP.to_owned(),
        false => message,
    }
}

/// The words for non-finite numbers, with their offsets, outside the strings in a JSON text.
fn not_finite_words(text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let (mut at, mut in_string) = (0, false);
    while let Some(&byte) = text.as_bytes().get(at) {
        let word = ["-Infinity", "Infinity", "NaN"]
            .into_iter()
            .find(|word| text.as_bytes()[at..].starts_with(word.as_bytes()));
        match (byte, word) {
            (b'"', _) => in_string = !in_string,
            (b'\\', _) if in_string => at += 1,
            (_, Some(word)) if !in_string => {
                found.push((at, word));
                at += word.len() - 1;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// `path.key`
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// Finds the positions in a valid JSON text.
struct JsonPlaces<'a> {
    text: &'a str,
    at: usize,
    places: &'a mut BTreeMap<String, Place>,
    /// A duplicate key, and its second position: JSON allows duplicates, and takes the last.
    twice: Option<(String, usize)>,
}

impl JsonPlaces<'_> {
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or(b'}')
    }

    fn value(&mut self, path: &str) {
        match self.peek() {
            b'{' => self.members(|json, _| {
                let key_at = json.at;
                let text = json.string();
                let key: String = serde_json::from_str(text).expect("the text was parsed before");
                json.peek();
                json.at += 1;
                json.peek();
                let path = join(path, &key);
                if json.places.insert(path.clone(), Place { key: key_at, value: json.at }).is_some() {
                    json.twice.get_or_insert((path.clone(), key_at));
                }
                json.value(&path);
            }),
            b'[' => self.members(|json, number| {
                let path = format!("{path}[{number}]");
                json.places.insert(path.clone(), Place { key: json.at, value: json.at });
                json.value(&path);
            }),
            b'"' => {
                self.string();
            }
            _ => {
                let rest = &self.text[self.at..];
                self.at += rest.find([',', '}', ']']).unwrap_or(rest.len());
            }
        }
    }

    /// Calls `member` at each member's start between brackets.
    fn members(&mut self, mut member: impl FnMut(&mut Self, usize)) {
        self.at += 1;
        let mut number = 0;
        while !matches!(self.peek(), b'}' | b']') {
            member(self, number);
            number += 1;
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    /// The string at this position, with its quotes.
    fn string(&mut self) -> &str {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while bytes.get(self.at).is_some_and(|&byte| byte != b'"') {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        &self.text[start..self.at]
    }
}

//! A configuration as text: a value tree with positions, and overrides for single keys.

use crate::error::ConfigError;
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
pub(crate) struct Tree {
    pub(crate) root: Value,
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
pub(crate) enum Part {
    Key,
    Value,
}

impl Tree {
    /// Parses `text`; `source` names it in errors. If `source` is empty, errors have no position.
    pub(crate) fn parse(text: &str, format: Format, source: &str) -> Result<Self, ConfigError> {
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
    pub(crate) fn set(&mut self, set: &str) -> Result<(), ConfigError> {
        let refuse =
            |message: String| ConfigError { message, file: Some(format!("--set {set}")), ..Default::default() };
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
            // `ftl = "page"` stands for the table [ftl.page] without keys.
            if let Value::String(name) = next {
                *next = Value::Object(Map::from_iter([(name.clone(), Value::Object(Map::new()))]));
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

    /// An error about `path`, with its position.
    pub(crate) fn error(&self, path: &str, part: Part, message: String) -> ConfigError {
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

/// A parser's message, in words for users.
fn syntax(message: String) -> String {
    match message.contains("recurs") {
        true => "tables and lists are nested too deeply; no experiment needs more than ten levels".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_and_json_give_one_tree_and_both_know_their_places() {
        let toml = "a = 1\n[b.c]\nd = [{ e = 2.5 }, { e = \"x\" }]\nt = true\n";
        let json = "{\"a\": 1,\n \"b\": {\"c\":\n {\"d\": [{\"e\": 2.5},\n  {\"e\": \"x\"}], \"t\": true}}}";
        let toml = Tree::parse(toml, Format::Toml, "a.toml").unwrap();
        let json = Tree::parse(json, Format::Json, "a.json").unwrap();
        assert_eq!(toml.root, json.root);
        let place = |tree: &Tree, path: &str, part| {
            let error = tree.error(path, part, String::new());
            (error.line.unwrap(), error.column.unwrap())
        };
        assert_eq!(place(&toml, "b.c.d[1].e", Part::Key), (3, 21));
        assert_eq!(place(&toml, "b.c.d[1].e", Part::Value), (3, 25));
        assert_eq!(place(&toml, "b.c", Part::Key), (2, 4));
        assert_eq!(place(&toml, "b.c.missing", Part::Value), (2, 4));
        assert_eq!(place(&json, "b.c.d[1].e", Part::Key), (4, 4));
        assert_eq!(place(&json, "b.c.d[1].e", Part::Value), (4, 9));
        assert_eq!(place(&json, "b.c", Part::Key), (2, 8));
    }

    #[test]
    fn syntax_errors_have_a_place() {
        let error = Tree::parse("a = 1\nb = = 2\n", Format::Toml, "a.toml").unwrap_err();
        assert_eq!((error.line, error.column), (Some(2), Some(5)), "{error}");
        let error = Tree::parse("{\"a\": 1,\n \"b\" 2}", Format::Json, "a.json").unwrap_err();
        assert_eq!((error.line, error.column), (Some(2), Some(6)), "{error}");
        let error = Tree::parse("[1]", Format::Json, "a.json").unwrap_err();
        assert!(error.to_string().contains("expected an object"), "{error}");
        let nested = format!("{}{}", "[".repeat(300), "]".repeat(300));
        for error in [
            Tree::parse(&format!("a = 1\nb = {nested}"), Format::Toml, "a.toml").unwrap_err(),
            Tree::parse(&format!("{{\"a\": 1,\n\"b\": {nested}}}"), Format::Json, "a.json").unwrap_err(),
        ] {
            assert_eq!(error.line, Some(2));
            assert!(error.column.is_some() && error.message.starts_with("tables and lists are nested too deeply"));
        }
        for text in ["a = 2020-01-01", "a = nan", "a = 99999999999999999999"] {
            let error = Tree::parse(text, Format::Toml, "a.toml").unwrap_err();
            assert!(error.to_string().starts_with("a.toml, line 1, column 5: "), "{error}");
        }
    }

    #[test]
    fn both_formats_take_the_same_numbers() {
        for (text, whole) in [("18446744073709551615", u64::MAX), ("9223372036854775808", 1 << 63), ("0", 0)] {
            let toml = Tree::parse(&format!("a = {text}"), Format::Toml, "").unwrap();
            let json = Tree::parse(&format!("{{\"a\": {text}}}"), Format::Json, "").unwrap();
            assert_eq!(toml.root, json.root);
            assert_eq!(toml.root["a"].as_u64(), Some(whole));
        }
        let least = Tree::parse("a = -9223372036854775808\nb = 0xFFFF_FFFF_FFFF_FFFF", Format::Toml, "").unwrap();
        assert_eq!((least.root["a"].as_i64(), least.root["b"].as_u64()), (Some(i64::MIN), Some(u64::MAX)));
        for text in ["18446744073709551616", "-9223372036854775809"] {
            let error = Tree::parse(&format!("a = {text}"), Format::Toml, "a.toml").unwrap_err().to_string();
            let expected = "a: expected a whole number from 0 to 18446744073709551615, given ";
            assert_eq!(error, format!("a.toml, line 1, column 5: {expected}{text}"));
        }
    }

    #[test]
    fn numbers_that_are_none_are_refused_by_their_key() {
        let error = |text: &str, format| Tree::parse(text, format, "x").unwrap_err().to_string();
        let json = "{\"NaN \\\" NaN\": \"Infinity\",\n \"b\": {\"c\": [1, WORD], \"d\": NaN}}";
        for word in ["NaN", "Infinity", "-Infinity"] {
            let error = error(&json.replace("WORD", word), Format::Json);
            assert_eq!(error, format!("x, line 2, column 17: b.c[1]: expected a finite number, given {word}"));
        }
        for word in ["nan", "inf", "-inf"] {
            let error = error(&format!("[b]\nc = {word}"), Format::Toml);
            assert_eq!(error, format!("x, line 2, column 5: b.c: expected a finite number, given {word}"));
        }
        // With other errors, the parser's message appears.
        assert!(error("{\"a\": NaN, \"b\"}", Format::Json).starts_with("x, line 1, column 7: expected value"));
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let error = |text: &str, format| Tree::parse(text, format, "x").unwrap_err();
        let json = error("{\"a\": {\"b\": 1,\n \"c\": [{\"b\": 3}], \"b\": 2}}", Format::Json);
        assert_eq!(json.to_string(), "x, line 2, column 19: a.b is given twice");
        assert_eq!(json.key.as_deref(), Some("a.b"));
        assert!(error("a = 1\na = 2", Format::Toml).to_string().starts_with("x, line 2, column 1: duplicate key"));
    }

    #[test]
    fn sets_replace_and_add() {
        let mut tree = Tree::parse("ftl = \"page\"\n[device]\ncapacity = 5\n", Format::Toml, "a.toml").unwrap();
        for set in ["device.capacity=64 MiB", "ftl.page.reserve=3", "host.list=[1, 2]", "seed = 7", "x.y='a=b'"] {
            tree.set(set).unwrap();
        }
        let expected =
            "[ftl.page]\nreserve = 3\n[device]\ncapacity = \"64 MiB\"\n[host]\nlist = [1, 2]\n[x]\ny = \"a=b\"\n";
        let expected = Tree::parse(&format!("seed = 7\n{expected}"), Format::Toml, "").unwrap();
        assert_eq!(tree.root, expected.root);
        let error = tree.error("device.capacity", Part::Value, "too small".into());
        assert_eq!(error.to_string(), "--set device.capacity=64 MiB: too small");
        // An omitted table may begin anew.
        let mut anew = tree.clone();
        ["x=none", "x.z=3"].into_iter().for_each(|set| anew.set(set).unwrap());
        assert_eq!(anew.root["x"], serde_json::json!({ "z": 3 }));
        assert_eq!(anew.error("x.y", Part::Value, "missing".into()).to_string(), "--set x.z=3: missing");
        for (set, message) in
            [("novalue", "expected KEY=VALUE"), ("a..b=1", "is no key"), ("seed.x=1", "is not a table")]
        {
            assert!(tree.set(set).unwrap_err().to_string().contains(message));
        }
    }
}

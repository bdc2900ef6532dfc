//! Differences between two tables, in words.

use serde_json::Value;

/// The first different key of two tables, with both values in TOML syntax. Null tables are ignored.
pub fn difference(key: &str, made: &Value, asked: &Value) -> Option<String> {
    match (made, asked) {
        _ if made == asked => None,
        (Value::Object(made), Value::Object(asked)) => {
            let inner =
                made.iter().find_map(|(name, made)| difference(&format!("{key}.{name}"), made, asked.get(name)?));
            inner.or_else(|| {
                let only_made = made.iter().find(|(name, _)| !asked.contains_key(*name));
                let only_asked = asked.iter().find(|(name, _)| !made.contains_key(*name));
                match (only_made, only_asked) {
                    // Alternative tables, such as the tables of different FTLs.
                    (Some((made, _)), Some((asked, _))) => {
                        Some(format!("it was made with {key}.{made}, and the experiment has {key}.{asked}"))
                    }
                    (Some((name, made)), None) => difference(&format!("{key}.{name}"), made, &Value::Null),
                    (None, Some((name, asked))) => difference(&format!("{key}.{name}"), &Value::Null, asked),
                    (None, None) => unreachable!("tables that differ differ in a key or in the value of one"),
                }
            })
        }
        (made, Value::Null) => {
            Some(format!("it was made with {key} = {}, and the experiment leaves {key} out", toml(made)))
        }
        (Value::Null, asked) => {
            Some(format!("it was made without {key}, and the experiment has {key} = {}", toml(asked)))
        }
        (made, asked) => {
            Some(format!("it was made with {key} = {}, and the experiment has {}", toml(made), toml(asked)))
        }
    }
}

/// A value as one line of TOML. Words and strings common to JSON and TOML look the same in both.
pub fn toml(value: &Value) -> String {
    match value {
        Value::Object(table) if table.is_empty() => "{}".to_owned(),
        Value::Object(table) => {
            let entries: Vec<String> = table
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| format!("{key} = {}", toml(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(toml).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

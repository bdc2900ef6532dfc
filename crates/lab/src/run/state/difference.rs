//! Differences between two tables, in words.

use serde_json::Value;

/// The first different key of two tables, with both values in TOML syntax. Null tables are ignored.
pub(super) fn difference(key: &str, made: &Value, asked: &Value) -> Option<String> {
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
fn toml(value: &Value) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_difference_names_the_key_and_both_values() {
        let said = |made: Value, asked: Value| difference("key", &made, &asked).unwrap_or_default();
        assert_eq!(said(json!({ "a": 1 }), json!({ "a": 1 })), "");
        assert_eq!(
            said(json!({ "a": 1, "b": { "c": 2 } }), json!({ "a": 1, "b": { "c": 3 } })),
            "it was made with key.b.c = 2, and the experiment has 3"
        );
        assert_eq!(
            said(json!({ "page": {} }), json!({ "block": {} })),
            "it was made with key.page, and the experiment has key.block"
        );
        // The message names the missing key, not the common one.
        assert_eq!(
            said(json!({ "a": 1, "b": 2 }), json!({ "a": 1 })),
            "it was made with key.b = 2, and the experiment leaves key.b out"
        );
        assert_eq!(
            said(json!({ "a": 1 }), json!({ "a": 1, "b": 2 })),
            "it was made without key.b, and the experiment has key.b = 2"
        );
        assert_eq!(
            said(Value::Null, json!({ "lru": { "size": "1 MiB" } })),
            "it was made without key, and the experiment has key = { lru = { size = \"1 MiB\" } }"
        );
    }

    /// Compared with a TOML parser.
    #[test]
    fn values_are_written_as_toml_reads_them() {
        let value = json!({
            "text": "a \"b\"\n\t\u{1}", "whole": 7, "real": 2.0, "small": 1e-9, "yes": true, "none": {},
            "list": [{ "weight": 1.5, "size": [] }, { "weight": 2.5, "size": [1, 2] }],
        });
        let parsed: toml::Table = format!("value = {}", toml(&value)).parse().unwrap();
        assert_eq!(serde_json::to_value(&parsed["value"]).unwrap(), value);
    }
}

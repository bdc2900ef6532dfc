//! Tests of `src/run/state/difference.rs`.

use nandlab_lab::inside::{difference, toml};
use serde_json::{json, Value};

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

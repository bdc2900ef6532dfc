//! Shares and percentages in an experiment.

use crate::config::{error, parse, with};
use serde_json::Value;

/// The experiment of a text, resolved.
fn resolved(text: &str) -> Value {
    serde_json::from_str(&parse(text).unwrap().to_json()).unwrap()
}

#[test]
fn over_provisioning_is_a_ratio_or_a_percentage() {
    let given = |value: &str| with("", &format!("[device]\nover_provisioning = {value}\n"));
    let resolved = |value: &str| resolved(&given(value))["device"]["over_provisioning"].clone();
    for (text, ratio) in [("\"7 %\"", 0.07), ("\"12.5%\"", 0.125), ("\"300 %\"", 3.0), ("3", 3.0), ("0.07", 0.07)] {
        assert_eq!(resolved(text), ratio, "{text}");
    }
    // What is written is read again.
    assert_eq!(resolved("\"700 %\""), "700 %");
    for (value, meant) in
        [("7", "was 0.07 meant"), ("28.0", "was 0.28 meant"), ("\"7\"", "a percentage such as \"7 %\"")]
    {
        let error = error(&given(value));
        assert_eq!(error.key.as_deref(), Some("device.over_provisioning"), "{value}");
        assert!(error.to_string().contains(meant), "{error}");
    }
    assert!(error(&given("7")).to_string().ends_with("is written as \"700 %\""), "{}", error(&given("7")));
}

#[test]
fn a_fill_is_a_word_or_a_share() {
    let given = |value: &str| {
        with("", &format!("[device]\ncapacity = \"16 MiB\"\nover_provisioning = 0.3\n[precondition]\nfill = {value}\n"))
    };
    let resolved = |value: &str| resolved(&given(value))["precondition"]["fill"].clone();
    for (text, share) in [("0.75", 0.75), ("\"75 %\"", 0.75), ("1", 1.0)] {
        assert_eq!(resolved(text), share, "{text}");
    }
    assert_eq!(resolved("\"random\""), "random");
    for value in ["0", "1.5", "-0.1", "\"0 %\"", "\"120 %\"", "\"half\"", "\"x %\"", "true"] {
        let error = error(&given(value));
        assert_eq!(error.key.as_deref(), Some("precondition.fill"), "{value}");
        assert!(error.to_string().contains("a share of the device such as 0.75"), "{error}");
    }
    assert!(error(&given("\"sequental\"")).to_string().ends_with("did you mean `sequential`?"));
}

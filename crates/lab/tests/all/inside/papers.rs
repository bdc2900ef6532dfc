//! Tests of `src/papers.rs`.

use super::bundled::assert_complete;
use nandlab_lab::papers::{toml_to_json, LIST, SEARCHES};

#[test]
fn every_file_is_on_the_list() {
    assert_complete(LIST, "papers", ".toml");
}

#[test]
fn every_search_is_on_the_list() {
    assert_complete(SEARCHES, "papers/search", ".csv");
}

#[test]
fn keys_know_their_lines() {
    let json = toml_to_json("a = 1\n[[b]]\nc = 2\n[[b]]\nc = 3\n", "t.toml").unwrap();
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["tree"]["b"][1]["c"], 3);
    assert_eq!((&document["lines"]["a"], &document["lines"]["b[1].c"]), (&1.into(), &5.into()));
    let error = toml_to_json("a = \n", "t.toml").unwrap_err();
    assert_eq!((error.file.as_deref(), error.line), (Some("t.toml"), Some(1)));
}

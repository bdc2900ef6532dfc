//! The FTLs and their option sets: names, and turns.

use nandlab_ftl::{Events, LIST};
use nandlab_proof::subject::{in_turn, on_all_cores};
use nandlab_proof::{assert_pages_map, every_subject, subjects, Subject};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn names_are_words_of_their_own_and_find_their_subject() {
    for subject in subjects().into_iter().flatten() {
        assert_eq!(subject.to_string().parse(), Ok(subject.clone()));
        assert!(subject.variant.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{subject}");
    }
    assert!("page:no_such".parse::<Subject>().unwrap_err().contains("page:spare"));
}

#[test]
fn every_set_of_options_has_its_turn_and_differs_from_the_default() {
    for ftl in subjects() {
        let runs = 2 * ftl.len() as u64;
        for subject in &ftl {
            assert!((0..runs).any(|number| in_turn(&ftl, number) == subject), "{subject}");
            assert_eq!(subject.config == ftl[0].config, subject.is_default(), "{subject}");
        }
    }
}

/// The allowed words for an FTL's option `key`, if it is a word choice.
fn words(schema: &Value, key: &str) -> BTreeSet<String> {
    let property = &schema["properties"][key];
    let definition = property["$ref"].as_str().and_then(|path| schema.pointer(path.trim_start_matches('#')));
    let choices = definition.unwrap_or(property)["oneOf"].as_array().cloned().unwrap_or_default();
    let word = |choice: &Value| match &choice["const"] {
        Value::String(word) => Some(word.clone()),
        // A choice with its own options is a table with its name.
        _ => choice["properties"].as_object()?.keys().next().cloned(),
    };
    // A class of one's own is not ours to prove.
    choices.iter().filter_map(word).filter(|word| word != "python").collect()
}

#[test]
fn every_victim_is_run_by_a_set_of_options() {
    // FTLs with the same policies prove them together.
    let mut run: BTreeMap<BTreeSet<String>, BTreeSet<String>> = BTreeMap::new();
    for (entry, ftl) in LIST.iter().zip(every_subject()) {
        let schema = (entry.options)().to_value();
        let keys = schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone());
        for key in keys.filter(|key| key.ends_with("victim")) {
            let chosen = |subject: &Subject| {
                let options = serde_json::to_value(&subject.config).expect("options are plain data");
                match &options[subject.ftl()][&key] {
                    Value::Object(table) => table.keys().next().cloned(),
                    word => word.as_str().map(str::to_owned),
                }
            };
            run.entry(words(&schema, &key)).or_default().extend(ftl.iter().filter_map(chosen));
        }
    }
    assert!(run.len() >= 2 && run.keys().all(|all| all.len() > 1), "{run:?}");
    for (all, run) in &run {
        assert_eq!(run, all, "victims that a variant runs, and those there are");
    }
}

#[test]
fn work_on_all_cores_keeps_its_order() {
    let items: Vec<u64> = (0..100).collect();
    assert_eq!(on_all_cores(&items, |item| item * item), items.iter().map(|item| item * item).collect::<Vec<_>>());
    assert!(on_all_cores(&items[..0], |_| ()).is_empty());
}

/// Paging events: below the demand, or equal to it.
fn paging(is_enough: bool) -> Events {
    let count = if is_enough { 9_000 } else { 8_000 };
    Events {
        map_misses: count,
        map_dirty_evictions: count,
        map_gc_runs: count,
        map_gc_copies: count / 10,
        ..Events::default()
    }
}

/// Asserts over all subjects, with much paging where `is_much` is true; returns the failure message.
fn asserted(is_much: impl Fn(&Subject) -> bool) -> Result<(), String> {
    let all = subjects();
    let events: Vec<Events> = all.iter().flatten().map(|subject| paging(is_much(subject))).collect();
    let failed = std::panic::catch_unwind(|| assert_pages_map(&all, &events));
    failed.map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[test]
fn one_set_of_options_alone_pages_its_map() {
    let paged: Vec<Vec<Subject>> = subjects().into_iter().filter(|ftl| ftl[0].pages_map()).collect();
    assert!(paged.len() == 4 || std::env::var_os("NANDLAB_FTL").is_some());
    for ftl in &paged {
        assert_eq!(ftl.iter().filter(|subject| subject.pages_most()).count(), 1, "{}", ftl[0]);
    }
    assert_eq!(asserted(Subject::pages_most), Ok(()));
    let failed = asserted(|subject| !subject.pages_most()).err().unwrap_or_default();
    for subject in paged.iter().flatten().filter(|subject| subject.pages_most()) {
        let little = format!("{subject}: 8000 misses");
        assert!(failed.contains(&little), "what its other options did is no help: {failed}");
    }
}

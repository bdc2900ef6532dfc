//! Tests of `src/lists.rs`.

use nandlab_lab::lists::{lists, Choice, Lists};

/// The choices with options and a docs page.
fn with_options(lists: &Lists) -> impl Iterator<Item = &Choice> {
    let (ftls, above) = (lists.ftls.iter(), lists.indexes.iter().chain(&lists.file_systems));
    ftls.chain(above).chain(&lists.buffers).chain(&lists.workloads)
}

#[test]
fn everything_listed_has_a_summary_and_a_page() {
    let lists = lists();
    let all = [
        &lists.ftls,
        &lists.indexes,
        &lists.buffers,
        &lists.file_systems,
        &lists.workloads,
        &lists.traces,
        &lists.victims,
    ];
    for choice in all.into_iter().flatten() {
        assert!(!choice.summary.is_empty() && !choice.doc.is_empty(), "{}", choice.name);
        assert!(choice.summary.len() < 160, "{}: {}", choice.name, choice.summary);
    }
    for choice in with_options(&lists) {
        assert!(choice.doc.contains("## Idea"), "{}", choice.name);
        assert!(choice.options.is_some(), "{}", choice.name);
    }
    assert!(lists.devices.iter().all(|device| !device.summary.is_empty()));
    assert_eq!(lists.ftls[0].summary, "A map entry for every logical page.");
    assert_eq!(lists.buffers[0].name, "pass_through");
}

#[test]
fn every_option_says_what_it_is() {
    let lists = lists();
    for choice in with_options(&lists) {
        let schema = serde_json::to_value(&choice.options).unwrap();
        let options = schema["properties"].as_object().cloned().unwrap_or_default();
        for (name, option) in options {
            let own = option.get("description").is_some();
            let referred = option.to_string().contains("$ref");
            assert!(own || referred, "{}.{name}: {option}", choice.name);
        }
    }
}

//! config/reader.rs: options of a choice, as an experiment writes them.

use nandlab_lab::config::{Experiment, Format};
use std::path::Path;

const TEXT: &str = "
[workload.uniform]
requests = 10
[ftl.migration]
[device]
capacity = \"64 MiB\"
over_provisioning = 0.28
";

#[test]
fn what_does_not_belong_to_a_choice_cannot_be_written() {
    let parse = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| format!("ftl.migration.{set}")).collect();
        Experiment::parse(TEXT, Format::Toml, "x.toml", Path::new("."), &sets)
    };
    for rule in ["merge", "cost", "limit", "macro", "adaptive", "{ limit = { migrations = 5 } }", "{ macro = {} }"] {
        assert_eq!(parse(&[&format!("recycling={rule}")]).unwrap().notices, [""; 0], "{rule}");
    }
    let error = |set: &str| parse(&[set]).unwrap_err().to_string();
    assert!(error("recycling={ merge = {} }").contains("`merge` has no options; write it in quotes"));
    assert!(error("recycling={ adaptive = { migrations = 5 } }").contains("has no key `migrations`"));
    assert!(error("recycling={ limit = {}, macro = {} }").contains("expected exactly one of"));
    let error = error("kept_recyclings={ latest = { count = 9, of = 100000 } }");
    let sentence =
        "ftl.migration.kept_recyclings.latest.of = 100000 cannot work: the logical blocks of this device are 0 to ";
    assert!(error.contains(sentence), "{error}");
}

//! Former keys: refused in an experiment, renewed in the header of an image.

use flate2::Crc;
use nandlab_ftl::FtlConfig;
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::inside::{keys_of, places_of, renew};
use nandlab_lab::served::{Access, Served};
use serde_json::{json, Value};
use std::path::Path;

fn text(ftl: &str) -> String {
    format!(
        "[workload.uniform]\nrequests = 10\n[ftl.{ftl}]\n[device]\ncapacity = \"64 MiB\"\nover_provisioning = 0.28\n"
    )
}

fn renewed(ftl: &str, options: Value) -> Value {
    let Value::Object(mut options) = options else { panic!("options are a table") };
    renew(ftl, &mut options);
    options.into()
}

#[test]
fn values_go_where_they_are_read_and_others_are_dropped() {
    let page = json!({
        "victim": "d_choices", "choices": 7, "window": 64, "placement": "pools", "streams": 8, "pool_pages": 40,
        "pool_blocks": 3, "wear": "bet", "wear_threshold": 9, "wear_set": 2, "idle_blocks": 0, "idle_after_us": 5,
        "slc_cache": "dynamic", "slc_blocks": 8, "slc_full": "fold", "stripe": "dies", "stripe_pages": 2,
    });
    let expected = json!({
        "victim": { "d_choices": { "choices": 7 } }, "placement": { "pools": { "pages": 40, "blocks": 3 } },
        "wear": { "bet": { "erases": 9, "set_blocks": 2 } },
        "slc_cache": { "dynamic": { "idle_after_us": 5, "full": "fold" } }, "stripe": { "dies": { "pages": 2 } },
    });
    assert_eq!(renewed("page", page), expected);
    let idle =
        json!({ "idle_blocks": 3, "idle_after_us": 5, "slc_cache": "none", "stripe": "planes", "stripe_pages": 1 });
    let expected =
        json!({ "idle": { "collect": { "blocks": 3, "after_us": 5 } }, "slc_cache": "none", "stripe": "planes" });
    assert_eq!(renewed("page", idle), expected);
}

#[test]
fn recycling_takes_its_options_along() {
    let old = |recycling: &str, alpha_fit: &str| {
        json!({
            "recycling": recycling, "limit": 4, "alpha_fit": alpha_fit, "alpha_window": 3, "alpha_scope": "global",
            "patience": 0.25, "erase_copies": 2.0, "log_recyclings": 10, "log_recyclings_of": 1,
        })
    };
    let kept = json!({ "latest": { "count": 10, "of": 1 } });
    for (recycling, alpha_fit, expected) in [
        ("merge", "last", json!("merge")),
        ("limit", "last", json!({ "limit": { "migrations": 4 } })),
        ("macro", "last", json!({ "macro": { "alpha": "last" } })),
        (
            "macro",
            "least_squares",
            json!({ "macro": { "alpha": { "least_squares": { "window": 3, "scope": "global" } } } }),
        ),
        ("adaptive", "last", json!({ "adaptive": { "patience": 0.25, "erase_copies": 2.0 } })),
    ] {
        let renewed = renewed("migration", old(recycling, alpha_fit));
        assert_eq!(renewed, json!({ "recycling": expected, "kept_recyclings": kept }));
    }
    assert_eq!(renewed("migration", json!({ "log_recyclings": 0, "log_recyclings_of": null })), json!({}));
}

/// No former key is a key now, and each place is one.
#[test]
fn the_table_agrees_with_the_options() {
    for config in FtlConfig::all() {
        let name = config.name();
        let usual = serde_json::to_value(&config).unwrap();
        for key in keys_of(name) {
            assert!(usual[name].get(key).is_none(), "{name}.{key}");
            for place in places_of(name, key) {
                let value = match key {
                    "alpha_fit" => json!("last"),
                    "alpha_scope" => json!("global"),
                    "slc_full" => json!("fold"),
                    _ => json!(2),
                };
                let steps = place.split('.').rev();
                let mut options = steps.fold(value, |inner, step| json!({ step: inner }));
                match key {
                    "pool_pages" => options["placement"]["pools"]["blocks"] = json!(2),
                    "pool_blocks" => options["placement"]["pools"]["pages"] = json!(2),
                    "log_recyclings_of" => options["kept_recyclings"]["latest"]["count"] = json!(2),
                    _ => {}
                }
                let given: Result<FtlConfig, _> = serde_json::from_value(json!({ name: options }));
                assert!(given.is_ok(), "{name}.{place}: {given:?}");
            }
        }
    }
}

#[test]
fn a_former_key_is_refused_with_its_new_spelling() {
    let refused = |ftl: &str, set: &str| {
        let set = format!("ftl.{ftl}.{set}");
        Experiment::parse(&text(ftl), Format::Toml, "x.toml", Path::new("."), &[set]).unwrap_err().to_string()
    };
    for (ftl, set, says) in [
        (
            "page",
            "choices=7",
            "[ftl.page] has no key `choices`: it is written victim = { d_choices = { choices = 7 } } now",
        ),
        ("dftl", "window=7", "victim = { windowed_greedy = { window = 7 } } now"),
        ("page", "pool_blocks=3", "placement = { pools = { blocks = 3 } } now"),
        ("page", "slc_full=fold", "slc_cache = { fixed = { full = \"fold\" } } or slc_cache = { dynamic = { full"),
        ("migration", "limit=5", "recycling = { limit = { migrations = 5 } } now"),
        ("migration", "alpha_window=4", "recycling = { macro = { alpha = { least_squares = { window = 4 } } } } now"),
        ("migration", "log_recyclings_of=3", "kept_recyclings = { latest = { of = 3 } } now"),
    ] {
        let error = refused(ftl, set);
        assert!(error.contains(says), "{error}");
    }
    let error = refused("bast", "limit=5");
    assert!(error.contains("has no key `limit`") && !error.contains("is written"), "{error}");
}

#[test]
fn what_does_not_belong_to_a_choice_cannot_be_written() {
    let parse = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| format!("ftl.migration.{set}")).collect();
        Experiment::parse(&text("migration"), Format::Toml, "x.toml", Path::new("."), &sets)
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

/// An image whose header has `victim = "d_choices"` beside `choices = 7`, as former versions wrote it.
#[test]
fn an_image_of_a_former_version_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.img");
    let sets = ["device.capacity=8MiB".to_owned(), "ftl.page.victim.d_choices.choices=7".to_owned()];
    let text = text("page").replace("[workload.uniform]\nrequests = 10\n", "");
    let experiment = Experiment::parse_disk(&text, Format::Toml, "x.toml", Path::new("."), &sets).unwrap();
    Served::create(&path, &experiment).unwrap();
    let now = r#""victim":{"d_choices":{"choices":7}}"#;
    let former = r#""victim":"d_choices","choices":7"#;
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(now.len()).position(|part| part == now.as_bytes()).unwrap();
    let padded = format!("{former:<width$}", width = now.len());
    bytes[at..at + now.len()].copy_from_slice(padded.as_bytes());
    // The header is 72 bytes, the text, and a checksum over both.
    let end = 72 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let mut sum = Crc::new();
    sum.update(&bytes[..end]);
    bytes[end..end + 4].copy_from_slice(&sum.sum().to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let info = Served::info(&path).unwrap();
    assert_eq!(info["experiment"]["ftl"]["page"]["victim"], json!({ "d_choices": { "choices": 7 } }));
    Served::open(&path, Access::Write).map(drop).unwrap();
}

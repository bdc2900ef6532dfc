//! The house rules a compiler does not check: layers, purity, sizes, leftovers, dead files, texts.

mod rooms;
mod source;
mod tree;

use nandlab_lab::config::{Experiment, Format};
use nandlab_nand::profile::Profile;
use nandlab_workload::WorkloadConfig;
use source::{code, functions, line_of, modules, python_functions, std_paths, without_tests, words};
use std::collections::{BTreeMap, BTreeSet};
use tree::{below, files, root, File};

/// Fails with every complaint at once.
fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A crate, the project crates it may see, and the other crates it may use.
///
/// `proof` tests everything and may see everything. Dev-dependencies are free: integration tests in `ftl` and `fs` run
/// on `drive`, a layer above, so they compile no FTL themselves.
const LAYERS: &[(&str, &[&str], &[&str])] = &[
    ("nand", &[], &["serde", "thiserror", "schemars", "libm", "crc32fast", "rustix"]),
    ("block", &["nand"], &["serde", "thiserror", "schemars"]),
    ("ftl", &["nand", "block"], &["serde", "thiserror", "schemars", "libm"]),
    ("drive", &["nand", "block", "ftl"], &[]),
    ("buffer", &["nand", "block"], &["serde", "thiserror", "schemars"]),
    ("index", &["nand", "block"], &["serde", "thiserror", "schemars"]),
    ("fs", &["nand", "block"], &["serde", "thiserror", "schemars", "fatfs"]),
    ("workload", &["nand", "block", "fs", "index"], &["serde", "thiserror", "schemars", "flate2", "ruzstd", "libm"]),
    (
        "lab",
        &["nand", "block", "ftl", "drive", "buffer", "fs", "index", "workload"],
        &["serde", "thiserror", "schemars", "toml", "serde_json", "hdrhistogram", "flate2"],
    ),
    (
        "serve",
        &["nand", "block", "ftl", "buffer", "fs", "workload", "lab"],
        &["fuser", "rustix", "serde_json", "thiserror"],
    ),
    ("firmware", &["nand", "block"], &["libc", "serde", "serde_json"]),
    ("py", &["lab", "serve", "block", "firmware"], &["pyo3", "serde_json"]),
];

#[test]
fn crates_see_only_the_layers_below() {
    let mut complaints = Vec::new();
    for folder in std::fs::read_dir(root().join("crates")).expect("there are crates") {
        let name = folder.expect("a crate").file_name().to_string_lossy().into_owned();
        let manifest: toml::Table = read(&format!("crates/{name}/Cargo.toml")).parse().expect("a manifest is TOML");
        if name == "proof" {
            continue;
        }
        let Some((_, ours, others)) = LAYERS.iter().find(|layer| layer.0 == name) else {
            complaints.push(format!("crates/{name} has no place in the table of layers"));
            continue;
        };
        for dependency in dependencies(&manifest) {
            let allowed = match dependency.strip_prefix("nandlab-") {
                Some(ours_name) => ours.contains(&ours_name),
                None => others.contains(&dependency.as_str()),
            };
            if !allowed {
                complaints.push(format!("crates/{name} may not depend on {dependency}"));
            }
        }
    }
    none(&complaints);
}

/// A crate's dependencies, including some targets' and its build script's.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let of = |table: &toml::Table| -> Vec<String> {
        ["dependencies", "build-dependencies"]
            .iter()
            .filter_map(|key| table.get(*key)?.as_table())
            .flat_map(|table| table.keys().cloned())
            .collect()
    };
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let mut all = of(manifest);
    all.extend(targets.filter_map(|(_, target)| target.as_table()).flat_map(of));
    all
}

/// The only files below `lab` that touch the operating system.
const MAY_TOUCH_FILES: [&str; 4] =
    ["crates/nand/src/backed.rs", "crates/nand/src/backed/", "crates/workload/src/trace/", "crates/fs/src/posix"];

#[test]
fn nothing_below_lab_depends_on_the_machine() {
    let mut complaints = Vec::new();
    for file in below("crates/").iter().filter(|file| file.is_rust() && !file.is_test() && is_below_lab(file)) {
        let code = code(&file.text().expect("sources are text"));
        let code = without_tests(&code);
        let may_touch_files = MAY_TOUCH_FILES.iter().any(|allowed| file.path.starts_with(allowed));
        for (at, path) in std_paths(code) {
            let is = |module: &str| words(&path).nth(1).is_some_and(|(_, word)| word == module);
            let outside = ["time", "env", "net", "process"].iter().any(|module| is(module));
            let system = is("os") && file.path != "crates/nand/src/backed/os.rs";
            if outside || system || is("fs") && !may_touch_files {
                complaints.push(format!("{}:{}: {path}", file.path, line_of(code, at)));
            }
        }
        // A hash map's order differs from run to run.
        let forbidden = ["HashMap", "HashSet", "RandomState", "Instant", "SystemTime", "thread_rng", "getrandom"];
        for (at, word) in words(code).filter(|(_, word)| forbidden.contains(word)) {
            complaints.push(format!("{}:{}: {word}", file.path, line_of(code, at)));
        }
    }
    none(&complaints);
}

fn is_below_lab(file: &File) -> bool {
    ["nand", "block", "ftl", "buffer", "fs", "index", "workload"]
        .iter()
        .any(|name| file.path.starts_with(&format!("crates/{name}/src/")))
}

/// Longer files or functions must be split; what a program writes may be longer. There is no exception list: so far every
/// one could be cut.
const MAX_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 70;

#[test]
fn files_and_functions_are_short() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is_rust() || file.path.ends_with(".py")) {
        let text = file.text().expect("sources are text");
        let lines = text.lines().count();
        let is_written_by_hand = text.lines().next().is_none_or(|first| !first.ends_with("; not by hand.\"\"\""));
        if lines > MAX_FILE_LINES && is_written_by_hand {
            complaints.push(format!("{} has {lines} lines, at most {MAX_FILE_LINES} are allowed", file.path));
        }
        let found = if file.is_rust() { functions(&code(&text)) } else { python_functions(&text) };
        for (name, line, lines) in found {
            if lines > MAX_FUNCTION_LINES {
                let path = &file.path;
                complaints.push(format!("{path}:{line}: {name} has {lines} lines, at most {MAX_FUNCTION_LINES}"));
            }
        }
    }
    none(&complaints);
}

#[test]
fn nothing_is_left_over() {
    let mut complaints = Vec::new();
    // Written so this file does not find itself.
    let marks = [concat!("FIX", "ME"), concat!("XX", "X"), concat!("TO", "DO")];
    for file in files() {
        let Some(text) = file.text() else { continue };
        for (at, word) in words(&text).filter(|(_, word)| marks.contains(word)) {
            complaints.push(format!("{}:{}: {word}", file.path, line_of(&text, at)));
        }
        if !file.is_rust() {
            continue;
        }
        let code = code(&text);
        // These words name what is looked for; nothing here is left over itself.
        for leftover in ["todo!", "unimplemented!", "dbg!", "#[ignore"] {
            for (at, _) in code.match_indices(leftover) {
                complaints.push(format!("{}:{}: {leftover}", file.path, line_of(&code, at)));
            }
        }
        if !file.is_test() {
            for (at, _) in without_tests(&code).match_indices(".unwrap()") {
                complaints.push(format!("{}:{}: unwrap", file.path, line_of(&code, at)));
            }
        }
    }
    none(&complaints);
}

#[test]
fn every_source_file_is_compiled() {
    let mut complaints = Vec::new();
    let rust: BTreeMap<String, String> = below("crates/")
        .into_iter()
        .filter(File::is_rust)
        .map(|file| (file.path.clone(), code(&file.text().expect("sources are text"))))
        .collect();
    let mut reached = BTreeSet::new();
    for path in rust.keys().filter(|path| is_root(path)) {
        reach(path, true, &rust, &mut reached);
    }
    for path in rust.keys().filter(|path| !reached.contains(*path)) {
        complaints.push(format!("{path}: no `mod` declares it"));
    }
    none(&complaints);
}

/// Whether cargo finds the file by itself.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').skip(2).collect();
    match parts[..] {
        ["src", "lib.rs" | "main.rs"] | ["build.rs"] => true,
        ["tests" | "benches" | "examples", name] => name.ends_with(".rs"),
        ["tests" | "benches" | "examples", _, "main.rs"] | ["src", "bin", ..] => true,
        _ => false,
    }
}

fn reach(path: &str, is_root: bool, rust: &BTreeMap<String, String>, reached: &mut BTreeSet<String>) {
    if !reached.insert(path.to_owned()) {
        return;
    }
    let (folder, name) = path.rsplit_once('/').expect("a source file is in a folder");
    // The modules in `a.rs` are in `a/`; a root's and a `mod.rs`'s modules are beside it.
    let inside = if is_root || name == "mod.rs" { folder.to_owned() } else { path.trim_end_matches(".rs").to_owned() };
    for module in modules(&rust[path]) {
        for child in [format!("{inside}/{module}.rs"), format!("{inside}/{module}/mod.rs")] {
            if rust.contains_key(&child) {
                reach(&child, false, rust, reached);
            }
        }
    }
}

/// Integration test executables, all crates together: one for each, and some to spare.
const MAX_TEST_EXECUTABLES: usize = 16;

#[test]
fn tests_are_few_executables() {
    let is_found = |path: &str| is_root(path) && path.split('/').nth(2) == Some("tests");
    let found: Vec<String> = below("crates/").into_iter().map(|file| file.path).filter(|path| is_found(path)).collect();
    assert!(
        found.len() <= MAX_TEST_EXECUTABLES,
        "{} executables of tests, at most {MAX_TEST_EXECUTABLES}: each links the crates below it once more, which is \
         most of what a build of the tests takes. A file is a module in `tests/all/main.rs` of its crate.\n{}",
        found.len(),
        found.join("\n")
    );
}

/// The crate with its unit tests in `tests/all`: it takes long to compile, and one unit test in `src` doubles the time.
const COMPILED_ONCE: &str = "lab";

/// With `[lib] test = false` cargo passes over a unit test, and nobody would notice.
#[test]
fn unit_tests_are_where_cargo_runs_them() {
    let mut complaints = Vec::new();
    for manifest in below("crates/").iter().filter(|file| file.name() == "Cargo.toml") {
        let folder = manifest.path.trim_end_matches("Cargo.toml");
        let table: toml::Table = read(&manifest.path).parse().expect("a manifest is TOML");
        let runs = table.get("lib").and_then(|lib| lib.get("test")?.as_bool()).unwrap_or(true);
        if runs && folder == format!("crates/{COMPILED_ONCE}/") {
            complaints.push(format!("{}: [lib] needs test = false", manifest.path));
        }
        for file in below(&format!("{folder}src/")).iter().filter(|file| !runs && file.is_rust()) {
            let code = code(&file.text().expect("sources are text"));
            let marks = ["#[test]", "cfg(test)"].into_iter().flat_map(|mark| code.match_indices(mark));
            let told = |(at, mark)| format!("{}:{}: {mark} where cargo runs no tests", file.path, line_of(&code, at));
            complaints.extend(marks.map(told));
        }
    }
    none(&complaints);
}

#[test]
fn every_workload_file_is_explained() {
    let read_mes: Vec<String> = files()
        .iter()
        .filter(|file| file.name() == "README.md" && (file.path.starts_with("workloads/") || file.path == "README.md"))
        .filter_map(File::text)
        .collect();
    let mut complaints = Vec::new();
    for file in below("workloads/").iter().filter(|file| file.name() != "README.md") {
        if !read_mes.iter().any(|text| text.contains(file.name())) {
            complaints.push(format!("{}: no README says what it is", file.path));
        }
    }
    none(&complaints);
}

#[test]
fn every_fuzz_target_is_built_and_has_seeds() {
    let manifest: toml::Table = read("fuzz/Cargo.toml").parse().expect("a manifest is TOML");
    let bins = manifest["bin"].as_array().expect("the fuzz crate has targets");
    let names = |values: &[toml::Value]| -> BTreeSet<String> {
        values.iter().filter_map(|bin| Some(bin.get("name")?.as_str()?.to_owned())).collect()
    };
    let built = names(bins);
    let listed: BTreeSet<String> = nandlab_proof::fuzz::TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(built, listed, "targets in fuzz/Cargo.toml and in nandlab_proof::fuzz::TARGETS");
    for name in listed {
        let path = format!("fuzz/fuzz_targets/{name}.rs");
        assert!(read(&path).contains(&format!("nandlab_proof::fuzz::{name}(")), "{path} runs another body");
    }
}

#[test]
fn every_profile_is_accepted_and_cites_its_source() {
    let profiles = below("profiles/");
    assert!(profiles.len() >= 5, "only {} profiles", profiles.len());
    for file in profiles {
        let text = file.text().expect("a profile is text");
        let profile: Profile = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.path));
        profile.geometry().unwrap_or_else(|error| panic!("{}: {error}", file.path));
        assert_eq!(format!("{}.toml", profile.name), file.name(), "the name in {}", file.path);
        assert!(!profile.source.trim().is_empty(), "{} has no source", file.path);
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let head = head.join(" ").to_lowercase();
        let cites = ["source", "data sheet", "datasheet", "paper", "convention"].iter().any(|word| head.contains(word));
        assert!(cites, "{}: the head comment does not say where the figures come from", file.path);
    }
}

#[test]
fn every_experiment_is_accepted() {
    // Rows to calibrate with lie there, too.
    let experiments: Vec<_> = below("experiments/").into_iter().filter(|file| file.path.ends_with(".toml")).collect();
    assert!(experiments.len() >= 5, "only {} experiments", experiments.len());
    for file in experiments {
        let text = file.text().expect("an experiment is text");
        assert!(text.starts_with("# "), "{}: the first line says what the experiment is", file.path);
        let base = root().join("experiments");
        let experiment = Experiment::parse(&text, Format::Toml, &file.path, &base, &[]);
        let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
        if let WorkloadConfig::Trace(trace) = &experiment.workload {
            let Some(path) = &trace.path else { continue };
            assert!(base.join(path).is_file(), "{}: there is no {path}", file.path);
        }
    }
}

/// The text after `key`, up to `end`.
fn between<'a>(text: &'a str, key: &str, end: char) -> &'a str {
    let (_, rest) = text.split_once(key).unwrap_or_else(|| panic!("there is no {key:?}"));
    rest.split(end).next().unwrap_or_default()
}

#[test]
fn every_scheme_runs_the_tests_of_schemes() {
    let schemes = nandlab_ftl::LIST.iter().filter(|entry| entry.source.contains("impl block_mapped::Scheme for "));
    let schemes: BTreeSet<&str> = schemes.map(|entry| entry.name).collect();
    let tests = read("crates/ftl/tests/all/schemes.rs");
    let tested = between(&tests, "each_scheme!($test: ", ')').split(", ").collect();
    assert_eq!(schemes, tested, "FTLs with a `Scheme`, and those that `each_scheme!` names");
}

/// Headings in an FTL's head comment, in this order.
const HEADINGS: [&str; 6] = ["Idea", "Write path", "Recovery", "Invariants", "Differences", "References"];

#[test]
fn every_ftl_is_explained() {
    let mut complaints = Vec::new();
    for entry in nandlab_ftl::LIST {
        let head: Vec<&str> = entry.source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        let headings: Vec<&str> = head.iter().filter_map(|line| line.strip_prefix("## ")).collect();
        if headings != HEADINGS {
            complaints.push(format!("{}: the headings are {headings:?}, expected {HEADINGS:?}", entry.name));
        }
        for pair in head.windows(2).filter(|pair| pair[0].starts_with("## ") && pair[1].is_empty()) {
            complaints.push(format!("{}: nothing stands under \"{}\"", entry.name, pair[0]));
        }
    }
    none(&complaints);
}

#[test]
fn every_file_system_is_explained() {
    let mut complaints = Vec::new();
    for entry in nandlab_fs::LIST {
        let head = entry.source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let headings: Vec<&str> = head.filter_map(|line| line.strip_prefix("## ")).collect();
        if headings != HEADINGS {
            complaints.push(format!("{}: the headings are {headings:?}, expected {HEADINGS:?}", entry.name));
        }
    }
    none(&complaints);
}

#[test]
fn the_texts_speak_of_the_project_alone() {
    let mut complaints = Vec::new();
    let this = "crates/proof/tests/all/tidy/";
    // Folders on somebody's machine.
    let folders = ["/home/", "/root/", "/Users/", "/work/", "/tmp/", "C:\\Users"];
    for file in files().iter().filter(|file| !file.path.starts_with(this)) {
        let Some(text) = file.text() else { continue };
        for folder in folders {
            for (at, _) in text.match_indices(folder) {
                let before = text[..at].chars().last().unwrap_or(' ');
                if !(before.is_alphanumeric() || "._-}".contains(before)) {
                    complaints.push(format!("{}:{}: {folder}", file.path, line_of(&text, at)));
                }
            }
        }
    }
    for line in read("Cargo.lock").lines().filter_map(|line| line.strip_prefix("source = ")) {
        if line != "\"registry+https://github.com/rust-lang/crates.io-index\"" {
            complaints.push(format!("Cargo.lock: {line}"));
        }
    }
    none(&complaints);
}

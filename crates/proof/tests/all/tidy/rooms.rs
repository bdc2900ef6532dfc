//! Visibility inside crates: the rooms in `lab`, and no circle between files anywhere.

use super::source::{code, imports, without_tests};
use super::tree::below;
use std::collections::{BTreeMap, BTreeSet};

/// A room in `crates/lab/src` (a file with its folder), and the rooms it may see.
const ROOMS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("control", &[]),
    ("bundled", &[]),
    ("own", &[]),
    ("json", &[]),
    ("profiles", &["bundled"]),
    ("memories", &["bundled"]),
    ("config", &["bundled", "error", "json", "memories", "profiles"]),
    ("stack", &["config", "control", "error"]),
    ("record", &["config", "json", "memories", "stack"]),
    ("latency", &["record"]),
    ("run", &["config", "control", "error", "json", "latency", "record", "stack"]),
    ("served", &["config", "control", "error", "json", "latency", "record", "run", "stack"]),
    ("papers", &["bundled", "config", "error"]),
    ("lists", &["bundled", "config", "json", "memories", "profiles"]),
    ("traces", &["config", "error", "json", "latency", "record"]),
    ("bench", &["config", "control", "error", "json", "run", "stack"]),
];

/// A module by its names below its crate's root.
type Module = Vec<String>;

/// The modules each module in a crate names. A module and its submodules are one place: a module may name its parents,
/// as a policy file names the trait in `lib.rs`.
fn arrows(name: &str) -> BTreeMap<Module, BTreeSet<Module>> {
    let folder = format!("crates/{name}/src/");
    let sources: BTreeMap<Module, String> = below(&folder)
        .into_iter()
        .filter(|file| file.is_rust() && !file.is_test())
        .map(|file| {
            let code = code(&file.text().expect("sources are text"));
            (module(file.path.trim_start_matches(&folder)), without_tests(&code).to_owned())
        })
        .collect();
    let seen_by = |from: &Module, code: &str| {
        let named = imports(code).into_iter().filter_map(|path| resolve(from, &path, &sources));
        named.filter(|to| !from.starts_with(to)).collect()
    };
    sources.iter().map(|(from, code)| (from.clone(), seen_by(from, code))).collect()
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`, `lib.rs` is the root.
fn module(path: &str) -> Module {
    let mut names: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if ["lib", "main", "mod"].contains(&names.last().map_or("", String::as_str)) {
        names.pop();
    }
    names
}

/// The module a path in `from` leads into, if it is in this crate.
fn resolve(from: &Module, path: &str, sources: &BTreeMap<Module, String>) -> Option<Module> {
    let mut parts = path.split("::").map(str::trim).peekable();
    let mut at = match parts.peek()? {
        &"crate" => Module::new(),
        &"self" | &"super" => from.clone(),
        first => {
            let child = [from.clone(), vec![(*first).to_owned()]].concat();
            sources.contains_key(&child).then_some(from.clone())?
        }
    };
    for part in parts {
        match part {
            "crate" | "self" => {}
            "super" => drop(at.pop()),
            name => {
                let child = [at.clone(), vec![name.to_owned()]].concat();
                if !sources.contains_key(&child) {
                    break;
                }
                at = child;
            }
        }
    }
    Some(at)
}

/// A module on a way from `start` back to itself, with the whole way.
fn circle(start: &Module, arrows: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<Module>> {
    let mut ways = vec![vec![start.clone()]];
    let mut reached = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for next in &arrows[&way[way.len() - 1]] {
            let longer = [way.clone(), vec![next.clone()]].concat();
            if next == start {
                return Some(longer);
            }
            if reached.insert(next.clone()) {
                ways.push(longer);
            }
        }
    }
    None
}

fn crates() -> BTreeSet<String> {
    let name = |path: &str| path.split('/').nth(1).map(str::to_owned);
    below("crates/").iter().filter_map(|file| name(&file.path)).collect()
}

#[test]
fn no_files_import_one_another_in_a_circle() {
    let mut complaints = Vec::new();
    for name in crates() {
        let arrows = arrows(&name);
        let circles = arrows.keys().filter_map(|module| circle(module, &arrows));
        complaints.extend(circles.map(|way| {
            let way: Vec<String> = way.iter().map(|module| module.join("::")).collect();
            format!("crates/{name}: {}", way.join(" -> "))
        }));
    }
    super::none(&complaints);
}

#[test]
fn rooms_of_lab_see_only_those_below() {
    let mut complaints = Vec::new();
    for (from, seen) in arrows("lab") {
        let Some(room) = from.first() else { continue };
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| name == room) else {
            complaints.push(format!("crates/lab/src/{room}: it has no place in the table of rooms"));
            continue;
        };
        for to in seen.iter().filter_map(|to| to.first()).filter(|to| *to != room) {
            if !allowed.contains(&to.as_str()) {
                complaints.push(format!("crates/lab/src/{}: it may not see {to}", from.join("/")));
            }
        }
    }
    super::none(&complaints);
    let order: Vec<&str> = ROOMS.iter().map(|(name, _)| *name).collect();
    for (at, (name, allowed)) in ROOMS.iter().enumerate() {
        assert!(allowed.iter().all(|room| order[..at].contains(room)), "{name} sees a room that stands below it");
    }
}

#[test]
fn a_circle_is_found() {
    let arrows: BTreeMap<Module, BTreeSet<Module>> = [("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["b"])]
        .into_iter()
        .map(|(from, to)| (module(from), to.into_iter().map(module).collect()))
        .collect();
    assert_eq!(circle(&module("a"), &arrows), None);
    assert_eq!(circle(&module("b"), &arrows), Some(vec![module("b"), module("c"), module("b")]));
}

//! A program in C calls every function, with sanitizers.

use crate::support::{cc, libraries, root, run};
use std::process::Command;

fn calls() -> std::path::PathBuf {
    root().join("crates/firmware/tests/c/calls.c")
}

#[test]
fn every_function_answers_c_as_the_header_says() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("calls");
    let library = libraries();
    let path = library.to_str().expect("a path in UTF-8");
    let sanitizers = "-fsanitize=address,undefined";
    let linked = ["-L", path, "-lnandlab", "-Wl,-rpath", path, sanitizers, "-fno-sanitize-recover"];
    cc(&linked, &[calls()], &program);
    // Cargo's search path has an older library first, from the last build of the package.
    run(Command::new(program).env_remove("LD_LIBRARY_PATH"));
}

/// A function in the header without a call in the test would be untested.
#[test]
fn the_test_in_c_names_every_function_of_the_header() {
    let header = std::fs::read_to_string(root().join("include/nandlab.h")).unwrap();
    let test = std::fs::read_to_string(calls()).unwrap();
    let declared = header.lines().filter(|line| !line.starts_with("/*") && !line.starts_with(" *"));
    let names: Vec<&str> = declared
        .filter_map(|line| {
            let (before, _) = line.split_once('(')?;
            before.rsplit([' ', '*']).next().filter(|name| name.starts_with("nl_"))
        })
        .collect();
    assert!(names.len() >= 31, "{names:?}");
    for name in names {
        assert!(test.contains(&format!("{name}(")), "{name} is not called in calls.c");
    }
}

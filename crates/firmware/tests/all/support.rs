//! Builds programs and firmwares in C.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The folder with the libraries that cargo built with this test.
pub fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    test.parent().expect("a folder").to_owned()
}

/// Compiles C with the project's header.
pub fn cc(arguments: &[&str], sources: &[PathBuf], to: &Path) {
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-g", "-I"]).arg(root().join("include"));
    cc.args(sources).args(arguments).arg("-o").arg(to);
    let done = cc.output().expect("a C compiler, cc");
    assert!(done.status.success(), "{cc:?}\n{}", String::from_utf8_lossy(&done.stderr));
}

/// Runs a program and returns its output; fails with it if the program does.
pub fn run(program: &mut Command) -> String {
    let done = program.output().expect("the program starts");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{program:?}: {}\n{out}\n{err}", done.status);
    out.into_owned()
}

//! The repository's files.

use std::fs;
use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// A repository file.
#[derive(Clone, Debug)]
pub struct File {
    /// Path from the root, with `/`.
    pub path: String,
}

impl File {
    /// The text; `None` for a binary file.
    pub fn text(&self) -> Option<String> {
        fs::read_to_string(root().join(&self.path)).ok()
    }

    /// The name without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole source file is compiled for tests only.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }
}

/// Every file except ignored ones (`.gitignore`), by path.
pub fn files() -> Vec<File> {
    let ignored = fs::read_to_string(root().join(".gitignore")).expect("the repository has a .gitignore");
    let ignored: Vec<&str> = ignored.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut files = Vec::new();
    walk("", &ignored, &mut files);
    files.sort();
    files.into_iter().map(|path| File { path }).collect()
}

/// The files below `folder` (with a `/` at its end).
pub fn below(folder: &str) -> Vec<File> {
    files().into_iter().filter(|file| file.path.starts_with(folder)).collect()
}

fn walk(folder: &str, ignored: &[&str], files: &mut Vec<String>) {
    for entry in fs::read_dir(root().join(folder)).expect("a folder of the repository can be listed") {
        let entry = entry.expect("a folder of the repository can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}{name}");
        let is_folder = entry.file_type().expect("an entry has a type").is_dir();
        if name == ".git" || ignored.iter().any(|pattern| matches(pattern, &path, &name)) {
            continue;
        }
        if is_folder {
            walk(&format!("{path}/"), ignored, files);
        } else {
            files.push(path);
        }
    }
}

/// The few pattern forms in use: `/path/`, `name/` and `*.ending`.
fn matches(pattern: &str, path: &str, name: &str) -> bool {
    let plain = pattern.trim_end_matches('/');
    match (plain.strip_prefix('/'), plain.split_once('*')) {
        (Some(from_root), None) => path == from_root,
        (None, None) => name == plain,
        (anchor, Some((start, end))) => {
            let text = if anchor.is_some() { path } else { name };
            let start = start.trim_start_matches('/');
            text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end)
        }
    }
}

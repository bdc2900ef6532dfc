//! Comments and documents read plainly.
//!
//! A sentence like "what the pages of that block hold" has words that point and words that say. The first kind is counted:
//! code bases with plain comments have 24 to 28 of them among 1,000 words.

use super::none;
use super::tree::{below, File};

const POINTING: [&str; 6] = ["that", "what", "which", "where", "those", "of"];

/// Most pointing words among 1,000.
const MOST: usize = 40;

/// Crates whose comments are counted.
const CRATES: [&str; 13] =
    ["nand", "block", "drive", "buffer", "fs", "index", "ftl", "workload", "lab", "serve", "firmware", "proof", "py"];

/// Folders whose Python sources are counted.
const PYTHON: [&str; 4] = ["python/", "docs/", "workloads/", "crates/"];

/// The words of a text, and how many of them point.
fn counted(text: &str) -> (usize, usize) {
    let words = text.split(|letter: char| !letter.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    words.fold((0, 0), |(all, pointing), word| {
        let points = POINTING.iter().any(|one| one.eq_ignore_ascii_case(word));
        (all + 1, pointing + usize::from(points))
    })
}

fn comments(text: &str) -> String {
    let comments = text.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
    comments.map(|line| format!("{line}\n")).collect()
}

/// Comment lines and docstrings of a Python source. Docstrings are all texts in triple double quotes.
fn docstrings(text: &str) -> String {
    let lines = text.lines().filter(|line| line.trim_start().starts_with('#'));
    let quoted = text.split("\"\"\"").skip(1).step_by(2);
    lines.chain(quoted).map(|piece| format!("{piece}\n")).collect()
}

/// A document without its code blocks.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

fn complaint(what: &str, files: &[File], taken: fn(&str) -> String) -> Option<String> {
    let counts = files.iter().map(|file| counted(&taken(&file.text().expect("sources are text"))));
    let (all, pointing) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(all > 100, "{what}: only {all} words");
    let share = 1000 * pointing / all;
    (share >= MOST)
        .then(|| format!("{what}: {share} of 1,000 words are one of {POINTING:?}, fewer than {MOST} are allowed"))
}

#[test]
fn comments_and_documents_read_plainly() {
    let mut complaints = Vec::new();
    for name in CRATES {
        let files: Vec<File> =
            below(&format!("crates/{name}/")).into_iter().filter(|file| file.path.ends_with(".rs")).collect();
        complaints.extend(complaint(name, &files, comments));
    }
    for folder in PYTHON {
        let files: Vec<File> = below(folder).into_iter().filter(|file| file.path.ends_with(".py")).collect();
        complaints.extend(complaint(&format!("Python in {folder}"), &files, docstrings));
    }
    let docs: Vec<File> = below("docs/").into_iter().filter(|file| file.path.ends_with(".md")).collect();
    complaints.extend(complaint("docs", &docs, prose));
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        complaints.extend(complaint(name, &below(name), prose));
    }
    none(&complaints);
}

#[test]
fn words_are_counted() {
    assert_eq!(counted("What a page of the block holds, OF all"), (9, 3));
    assert_eq!(comments("//! one\nlet x = 1; // not alone\n    /// two"), "! one\n/ two\n");
    assert_eq!(docstrings("\"\"\"one\ntwo\"\"\"\nx = 1  # no\n  # three\n"), "  # three\none\ntwo\n");
    assert_eq!(prose("a ```of of``` b"), "a  b");
}

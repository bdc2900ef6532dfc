//! Finds a profile by name: bundled with the program, or in a file.

use super::tree::{Part, Tree};
use crate::bundled::Bundled;
use crate::error::ConfigError;
use nandlab_nand::backed::open_regular;
use nandlab_workload::nearest;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A profile kind: the key that names one, its description, and the bundled ones.
pub(super) struct Named<'a> {
    pub key: &'a str,
    pub what: &'a str,
    pub list: &'static [Bundled],
}

/// The text in profile `name`, and its name in error messages.
pub(super) fn find(tree: &Tree, named: &Named<'_>, name: &str, base: &Path) -> Result<(String, String), ConfigError> {
    let Named { key, what, list } = named;
    let refuse = |message: String| Err(tree.error(key, Part::Value, message));
    if name.contains('/') || name.contains('\\') || name.ends_with(".toml") {
        let path = base.join(name);
        return match open_regular(&path).and_then(read) {
            Ok(text) => Ok((text, path.display().to_string())),
            Err(error) => refuse(format!("{key}: {}: {}", path.display(), unreadable(&error))),
        };
    }
    if let Some(profile) = list.iter().find(|profile| profile.name == name) {
        return Ok((profile.text.to_owned(), format!("{what} {name}")));
    }
    let names: Vec<&str> = list.iter().map(|profile| profile.name).collect();
    let hint = nearest(name, names.iter().copied());
    let hint = hint.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    let names = names.join(", ");
    refuse(format!("{key}: there is no {what} `{name}`{hint} (known: {names}; or the path of a .toml file)"))
}

/// A profile's text: a sparse file of any size would fill the memory.
fn read(file: File) -> io::Result<String> {
    const MOST_BYTES: u64 = 16 << 20;
    if file.metadata()?.len() > MOST_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MiB", MOST_BYTES >> 20)));
    }
    io::read_to_string(file.take(MOST_BYTES))
}

/// The reason why a file cannot be read, as a sentence.
fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "the file may not be read by you".to_owned(),
        io::ErrorKind::IsADirectory => "this is a folder, expected a file".to_owned(),
        io::ErrorKind::InvalidInput => "no file has such a name".to_owned(),
        io::ErrorKind::InvalidData => "the file is no UTF-8 text".to_owned(),
        _ => format!("the file cannot be read: {error}"),
    }
}

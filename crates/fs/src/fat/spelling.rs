//! Names and their spellings: a file has a long and a short name, and both in any case.

use super::{Dir, Fat};
use crate::FsError;
use std::borrow::Cow;

/// Splits and checks a path; the library would check the names only halfway through an operation.
pub(super) fn names(path: &str) -> Result<Vec<&str>, FsError> {
    let mut names = Vec::new();
    for name in path.split('/').filter(|name| !name.is_empty()) {
        let refuse = |why: &str| Err(FsError::BadName { path: path.to_owned(), why: why.to_owned() });
        let is_allowed = |letter: char| {
            letter.is_ascii_alphanumeric()
                || "$%'-_@~`!(){}. +,;=[]^#&".contains(letter)
                || ('\u{80}'..='\u{FFFF}').contains(&letter)
        };
        let name = name.trim_end_matches('.');
        if name.len() > 255 {
            return refuse("a name has at most 255 bytes");
        }
        if name.is_empty() {
            return refuse("a name has more than dots");
        }
        if name.ends_with(' ') {
            return refuse("names do not end with a space");
        }
        if !name.chars().all(is_allowed) {
            return refuse("FAT has no such letter");
        }
        names.push(name);
    }
    Ok(names)
}

/// A common key for all spellings of a path that differ in case.
pub(super) fn key(path: &str) -> String {
    let names: Vec<String> =
        path.split('/').filter(|name| !name.is_empty()).map(|name| folded(name).collect()).collect();
    names.join("/")
}

fn folded(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().flat_map(char::to_uppercase)
}

impl<'v, 'd> Fat<'v, 'd> {
    /// The path with long names in place of short ones, and without dots at the end of names.
    ///
    /// Open files are told apart by their paths, so each file must have one. Only a name with `~` costs a
    /// search: every short name that differs from its long name has one.
    pub(super) fn spelled<'p>(&self, path: &'p str) -> Result<Cow<'p, str>, FsError> {
        let is_plain = !path.contains('~') && !path.split('/').any(|name| name.ends_with('.'));
        if is_plain {
            return Ok(Cow::Borrowed(path));
        }
        let names = names(path)?;
        let searched = names.iter().rposition(|name| name.contains('~')).map_or(0, |last| last + 1);
        let mut directory = Some(self.volume.root_dir());
        let mut spelled: Vec<Cow<'p, str>> = Vec::new();
        for (n, name) in names.into_iter().enumerate() {
            let here = directory.take().filter(|_| n < searched);
            let long = match &here {
                Some(here) if name.contains('~') => self.long_name(here, name)?,
                _ => None,
            };
            spelled.push(long.map_or(Cow::Borrowed(name), Cow::Owned));
            if let Some(here) = here.filter(|_| n + 1 < searched) {
                // A missing directory is the caller's finding; a device that failed is not.
                directory = here.open_dir(name).ok();
                if let Some(error) = self.cache.borrow().failure() {
                    return Err(FsError::Device(error.clone()));
                }
            }
        }
        Ok(Cow::Owned(spelled.join("/")))
    }

    /// The last name of a path as its directory has it.
    pub(super) fn stored_name(&self, path: &str) -> Result<String, FsError> {
        if names(path)?.is_empty() {
            return Ok(String::new());
        }
        let (parent, name) = self.parent(path)?;
        self.long_name(&parent, name)?.ok_or_else(|| FsError::NotFound { path: path.to_owned() })
    }

    /// The long name of the entry that the library finds under `name`.
    fn long_name(&self, directory: &Dir<'v, 'd>, name: &str) -> Result<Option<String>, FsError> {
        for entry in directory.iter() {
            let entry = entry.map_err(|error| self.failure(&error))?;
            let long = entry.file_name();
            if folded(&long).eq(folded(name)) || entry.short_file_name().eq_ignore_ascii_case(name) {
                return Ok(Some(long));
            }
        }
        Ok(None)
    }
}

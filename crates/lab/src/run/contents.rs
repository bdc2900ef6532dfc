//! Expected contents of the workload's files, on a device with bytes but without sectors to mirror.

use nandlab_workload::files::{FileOp, Slot};
use std::collections::BTreeMap;

/// Every file by its path, and the open files.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    files: BTreeMap<Box<str>, Vec<u8>>,
    open: BTreeMap<Slot, Box<str>>,
}

impl Contents {
    /// Follows a completed operation; `bytes` are the written or read bytes.
    ///
    /// # Panics
    /// If a file reads back other bytes than written.
    pub(crate) fn follow(&mut self, op: &FileOp, bytes: &[u8]) {
        match op {
            FileOp::Transaction | FileOp::CleanUp | FileOp::Mkdir(_) | FileOp::Rmdir(_) | FileOp::Sync(_) => {}
            FileOp::Create { file, path } => {
                self.files.insert(path.clone(), Vec::new());
                self.open.insert(*file, path.clone());
            }
            FileOp::Open { file, path } => drop(self.open.insert(*file, path.clone())),
            FileOp::Close(file) => drop(self.open.remove(file)),
            FileOp::Read { file, at, bytes: most } => {
                let contents = self.file(*file);
                let start = contents.len().min(*at as usize);
                let end = contents.len().min(start + *most as usize);
                assert!(contents[start..end] == *bytes, "{op:?} reads other bytes than were written");
            }
            FileOp::Write { file, at, .. } => {
                let (start, contents) = (*at as usize, self.file(*file));
                contents.resize(contents.len().max(start + bytes.len()), 0);
                contents[start..start + bytes.len()].copy_from_slice(bytes);
            }
            FileOp::Truncate { file, bytes } => self.file(*file).resize(*bytes as usize, 0),
            FileOp::Rename { from, to } => self.rename(from, to),
            FileOp::Unlink(path) => drop(self.files.remove(path)),
        }
    }

    fn file(&mut self, file: Slot) -> &mut Vec<u8> {
        let path = self.open.get(&file).expect("it was carried out, so the file is open");
        self.files.get_mut(path).expect("an open file is not taken away")
    }

    /// A renamed directory takes its contents along.
    fn rename(&mut self, from: &str, to: &str) {
        let below = format!("{from}/");
        let moved: Vec<Box<str>> =
            self.files.keys().filter(|path| ***path == *from || path.starts_with(&below)).cloned().collect();
        for path in moved {
            let contents = self.files.remove(&path).expect("the path was just there");
            self.files.insert(format!("{to}{}", &path[from.len()..]).into(), contents);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_followed_through_names_and_lengths() {
        let mut contents = Contents::default();
        let path = |path: &str| Box::<str>::from(path);
        contents.follow(&FileOp::Create { file: 1, path: path("a/b") }, &[]);
        contents.follow(&FileOp::Write { file: 1, at: 2, bytes: 3 }, &[7, 8, 9]);
        contents.follow(&FileOp::Truncate { file: 1, bytes: 4 }, &[]);
        contents.follow(&FileOp::Close(1), &[]);
        contents.follow(&FileOp::Rename { from: path("a"), to: path("c") }, &[]);
        contents.follow(&FileOp::Open { file: 2, path: path("c/b") }, &[]);
        contents.follow(&FileOp::Read { file: 2, at: 1, bytes: 9 }, &[0, 7, 8]);
        contents.follow(&FileOp::Read { file: 2, at: 9, bytes: 9 }, &[]);
        let wrong = std::panic::catch_unwind(move || {
            contents.follow(&FileOp::Read { file: 2, at: 1, bytes: 9 }, &[0, 7, 9]);
        });
        assert!(wrong.is_err(), "a byte is another one");
    }
}

//! Expected contents of the workload's files, on a device with bytes but without sectors to mirror.

use nandlab_workload::files::{FileOp, Slot};
use std::collections::BTreeMap;

/// Every file by its path, and the open files.
#[derive(Debug, Default)]
pub struct Contents {
    files: BTreeMap<Box<str>, Vec<u8>>,
    open: BTreeMap<Slot, Box<str>>,
}

impl Contents {
    /// Follows a completed operation; `bytes` are the written or read bytes.
    ///
    /// # Panics
    /// If a file reads back other bytes than written.
    pub fn follow(&mut self, op: &FileOp, bytes: &[u8]) {
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

//! A plain file system to carry streams out on.

use nandlab_workload::files::{FileOp, Slot};
use std::collections::{BTreeMap, BTreeSet};

/// A file system that keeps names and sizes, and refuses what a real one would.
#[derive(Default)]
pub struct Plain {
    pub directories: BTreeSet<String>,
    /// Bytes of a file.
    pub files: BTreeMap<String, u64>,
    pub open: BTreeMap<Slot, String>,
    pub transactions: u64,
    /// The most files at a time.
    pub most_files: usize,
    pub cleaning: bool,
    pub counts: BTreeMap<&'static str, u64>,
    /// Bytes written, without and with the set-up.
    pub written: [u64; 2],
}

impl Plain {
    pub fn of(ops: &[FileOp]) -> Self {
        let mut plain = Self::default();
        ops.iter().for_each(|op| plain.carry_out(op));
        assert!(plain.open.is_empty(), "left open: {:?}", plain.open);
        plain
    }

    pub fn parent_exists(&self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            assert!(self.directories.contains(parent), "{path} has no parent");
        }
        assert!(!path.split('/').any(|name| name.is_empty() || name.contains(['.', '\\'])), "{path} is no path");
    }

    pub fn is_not_there(&self, path: &str) {
        assert!(!self.files.contains_key(path) && !self.directories.contains(path), "{path} is there");
    }

    pub fn open(&mut self, file: Slot, path: &str) {
        assert!(self.open.insert(file, path.to_owned()).is_none(), "slot {file} is in use");
    }

    pub fn size(&mut self, file: Slot) -> &mut u64 {
        let path = self.open.get(&file).unwrap_or_else(|| panic!("slot {file} is not open"));
        self.files.get_mut(path).unwrap()
    }

    pub fn carry_out(&mut self, op: &FileOp) {
        let kind = match op {
            FileOp::Transaction => {
                assert!(!self.cleaning && self.open.is_empty());
                self.transactions += 1;
                return;
            }
            FileOp::CleanUp => {
                assert!(!self.cleaning && self.open.is_empty());
                self.cleaning = true;
                return;
            }
            FileOp::Mkdir(path) => {
                self.parent_exists(path);
                self.is_not_there(path);
                self.directories.insert(path.to_string());
                "mkdir"
            }
            FileOp::Rmdir(path) => {
                let inside = format!("{path}/");
                assert!(!self.files.keys().chain(&self.directories).any(|other| other.starts_with(&inside)));
                assert!(self.directories.remove(&**path), "{path} is no directory");
                "rmdir"
            }
            FileOp::Create { file, path } => {
                self.parent_exists(path);
                self.is_not_there(path);
                self.files.insert(path.to_string(), 0);
                self.most_files = self.most_files.max(self.files.len());
                self.open(*file, path);
                "create"
            }
            FileOp::Open { file, path } => {
                assert!(self.files.contains_key(&**path), "{path} is not there");
                self.open(*file, path);
                "open"
            }
            FileOp::Close(file) => {
                self.open.remove(file).unwrap_or_else(|| panic!("slot {file} is not open"));
                "close"
            }
            FileOp::Read { file, at, bytes } => {
                assert!(*bytes > 0 && at + u64::from(*bytes) <= *self.size(*file), "{op:?} is behind the end");
                "read"
            }
            FileOp::Write { file, at, bytes } => {
                self.written[usize::from(self.transactions == 0)] += u64::from(*bytes);
                let size = self.size(*file);
                assert!(*bytes > 0 && *at <= *size, "{op:?} leaves a hole");
                *size = (*size).max(at + u64::from(*bytes));
                "write"
            }
            FileOp::Unlink(path) => {
                assert!(!self.open.values().any(|open| **open == **path), "{path} is open");
                assert!(self.files.remove(&**path).is_some(), "{path} is not there");
                "unlink"
            }
            FileOp::Truncate { .. } | FileOp::Sync(_) | FileOp::Rename { .. } => panic!("no workload does {op:?}"),
        };
        if self.transactions > 0 {
            *self.counts.entry(kind).or_default() += 1;
        }
    }

    /// Operations of the transactions and of the clean-up.
    pub fn count(&self, kind: &str) -> u64 {
        self.counts.get(kind).copied().unwrap_or(0)
    }
}

//! Range reads.

use super::merge::Merge;
use super::storage::FileId;
use super::table::{Access, RunCursor};
use super::tree::Tree;
use crate::btree::Record;
use crate::IndexError;

/// Records in ascending order, deleted ones left out.
pub struct Cursor<'t, 'd> {
    tree: &'t mut Tree<'d>,
    merge: Merge,
    /// Where the memtable goes on: at this key, or behind it.
    from: Vec<u8>,
    is_behind: bool,
    end: Option<Vec<u8>>,
    value: Vec<u8>,
}

impl std::fmt::Debug for Cursor<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor").field("from", &self.from).finish_non_exhaustive()
    }
}

impl<'d> Tree<'d> {
    /// The records from `from` (from the first one, without) up to and without `end` (to the last one, without).
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn range(&mut self, from: Option<&[u8]>, end: Option<&[u8]>) -> Result<Cursor<'_, 'd>, IndexError> {
        for key in from.into_iter().chain(end) {
            self.check_key(key)?;
        }
        self.guarded(Self::settle)?;
        let from = from.map_or_else(|| vec![0; self.config.key_bytes], <[u8]>::to_vec);
        let mut runs: Vec<Vec<(FileId, u64)>> = Vec::new();
        for (level, files) in self.version.levels.iter().enumerate() {
            let files = files.iter().filter(|file| file.largest >= from).map(|file| (file.id, file.bytes));
            if level == 0 {
                runs.extend(files.map(|file| vec![file]));
            } else {
                runs.push(files.collect());
            }
        }
        let mut cursors = Vec::new();
        for tables in runs {
            cursors.push(RunCursor::new(&mut self.io, tables, Access::Cached, Some(&from))?);
        }
        let end = end.map(<[u8]>::to_vec);
        Ok(Cursor { tree: self, merge: Merge::new(cursors), from, is_behind: false, end, value: Vec::new() })
    }
}

impl Cursor<'_, '_> {
    /// The next record, key and value.
    ///
    /// # Errors
    /// As [`Tree::get`].
    #[allow(clippy::should_implement_trait)] // the record lies in the cursor
    pub fn next(&mut self) -> Result<Option<Record<'_>>, IndexError> {
        loop {
            let newest = self.tree.memtable.first(&self.from, self.is_behind);
            let frozen = self.tree.beside.frozen.as_ref();
            let frozen = frozen.and_then(|frozen| frozen.memtable.first(&self.from, self.is_behind));
            let newest = match (newest, frozen) {
                (Some(newest), Some(older)) => Some(if newest.0 <= older.0 { newest } else { older }),
                (found, None) | (None, found) => found,
            };
            let (key, value) = match (newest, self.merge.current()) {
                (Some(newest), Some(older)) => {
                    if newest.0 <= older.0 {
                        newest
                    } else {
                        older
                    }
                }
                (Some(found), None) | (None, Some(found)) => found,
                (None, None) => return Ok(None),
            };
            if self.end.as_ref().is_some_and(|end| *key >= end[..]) {
                return Ok(None);
            }
            let key = key.to_vec();
            let is_there = value.is_some();
            self.value.clear();
            self.value.extend_from_slice(value.unwrap_or(&[]));
            self.merge.pass(&mut self.tree.io, &key)?;
            (self.from, self.is_behind) = (key, true);
            if is_there {
                return Ok(Some((&self.from, &self.value)));
            }
        }
    }
}

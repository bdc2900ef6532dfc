//! Derives every invariant anew.

use super::bloom;
use super::storage::FileId;
use super::table::{Access, RunCursor};
use super::tree::Tree;
use super::version::{FileMeta, LAST};
use crate::IndexError;

/// What a walk over the tree found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Keys with a value.
    pub records: u64,
    /// Their keys and values, in bytes.
    pub live_bytes: u64,
    /// Records in tables, deleted and outdated ones included.
    pub table_records: u64,
    /// Tables.
    pub tables: u64,
    /// Their bytes.
    pub table_bytes: u64,
}

impl Report {
    /// Bytes in tables over bytes of keys with a value; `None` without any.
    pub fn space_amplification(&self) -> Option<f64> {
        (self.live_bytes > 0).then(|| self.table_bytes as f64 / self.live_bytes as f64)
    }
}

impl Tree<'_> {
    /// Walks over all records and compares everything with what is noted.
    ///
    /// # Errors
    /// [`IndexError::DamagedFile`], [`IndexError::Device`], [`IndexError::Broken`].
    pub fn check(&mut self) -> Result<Report, IndexError> {
        match self.guarded(Self::wait_for_jobs) {
            // A memtable that finds no room for its table stays in memory, and its logs stay.
            Ok(()) | Err(IndexError::NoSpace { .. }) => {}
            Err(error) => return Err(error),
        }
        self.check_order()?;
        let files: Vec<(usize, FileMeta)> = self.version.files().map(|(level, file)| (level, file.clone())).collect();
        let known: Vec<FileId> =
            files.iter().map(|(_, file)| file.id).chain(self.version.logs.iter().map(|log| log.id)).collect();
        self.io.store.check(&known)?;
        let mut report = Report::default();
        for (level, file) in &files {
            self.check_table(*level, file)?;
            report.table_records += file.records;
            report.tables += 1;
            report.table_bytes += file.bytes;
        }
        let mut cursor = self.range(None, None)?;
        while let Some((key, value)) = cursor.next()? {
            report.records += 1;
            report.live_bytes += (key.len() + value.len()) as u64;
        }
        Ok(report)
    }

    /// The order of tables within levels.
    fn check_order(&self) -> Result<(), IndexError> {
        let wrong = |file: &FileMeta, why: &str| Err(IndexError::DamagedFile { file: file.id.0, why: why.to_owned() });
        for pair in self.version.levels[0].windows(2) {
            if pair[0].age <= pair[1].age {
                return wrong(&pair[1], "it is no older than the table before it in level 0");
            }
        }
        for pair in self.version.levels[1..].iter().flat_map(|files| files.windows(2)) {
            if pair[0].largest >= pair[1].smallest {
                return wrong(&pair[1], "it overlaps a table of its level");
            }
        }
        match self.version.levels[LAST].iter().find(|file| file.tombstones > 0) {
            Some(file) => wrong(file, "it has deleted keys in the last level"),
            None => Ok(()),
        }
    }

    /// A table's records against its entry in the manifest and its filter.
    fn check_table(&mut self, level: usize, file: &FileMeta) -> Result<(), IndexError> {
        let table = self.io.table(file.id, file.bytes)?;
        let access = Access::Ahead(self.config.compaction_readahead_bytes);
        let mut cursor = RunCursor::new(&mut self.io, vec![(file.id, file.bytes)], access, None)?;
        let (mut records, mut tombstones) = (0, 0);
        let (mut first, mut last): (Vec<u8>, Option<Vec<u8>>) = (Vec::new(), None);
        while let Some((key, value)) = cursor.current() {
            let why = if last.as_ref().is_some_and(|last| key <= &last[..]) {
                "its keys do not ascend"
            } else if !table.may_hold(bloom::hash(key)) {
                "its filter misses a key"
            } else {
                ""
            };
            if !why.is_empty() {
                return Err(IndexError::DamagedFile { file: file.id.0, why: why.to_owned() });
            }
            (records, tombstones) = (records + 1, tombstones + u64::from(value.is_none()));
            if last.is_none() {
                first = key.to_vec();
            }
            last = Some(key.to_vec());
            cursor.advance(&mut self.io)?;
        }
        let found = (records, tombstones, &first, &last.unwrap_or_default());
        if found != (file.records, file.tombstones, &file.smallest, &file.largest) {
            let why =
                format!("level {level} notes {} records of it, there are {records}, or its ends differ", file.records);
            return Err(IndexError::DamagedFile { file: file.id.0, why });
        }
        Ok(())
    }
}

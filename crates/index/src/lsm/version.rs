//! Which tables and logs make up the tree, and the changes to that.

use super::codec::{put_string, Parser};
use super::storage::FileId;
use std::cmp::Reverse;

/// Levels; the last is the oldest.
pub const LEVELS: usize = 7;
/// The last level.
pub(super) const LAST: usize = LEVELS - 1;

/// A table as the manifest has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileMeta {
    pub(super) id: FileId,
    /// The number of the newest memtable in it.
    pub(super) age: u64,
    /// Bytes without padding.
    pub(super) bytes: u64,
    pub(super) records: u64,
    pub(super) tombstones: u64,
    pub(super) smallest: Vec<u8>,
    pub(super) largest: Vec<u8>,
    pub(super) place: Vec<u8>,
}

impl FileMeta {
    /// Whether a key from `smallest` to `largest` may be in it.
    pub(super) fn overlaps(&self, smallest: &[u8], largest: &[u8]) -> bool {
        self.smallest[..] <= *largest && *smallest <= self.largest[..]
    }
}

/// A log as the manifest has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LogMeta {
    pub(super) id: FileId,
    /// Its frames, once another log follows.
    pub(super) sealed: Option<u32>,
    pub(super) place: Vec<u8>,
}

/// The tree at one time. Level 0 has the newest table first; the levels below are sorted by key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Version {
    pub(super) key_bytes: u16,
    pub(super) levels: [Vec<FileMeta>; LEVELS],
    /// The oldest first; the last one takes records.
    pub(super) logs: Vec<LogMeta>,
    /// The next file's number.
    pub(super) next_file: u64,
    /// The next memtable's number.
    pub(super) next_age: u64,
    /// Where the last table that went down from a level ended, for the round robin.
    pub(super) cursors: [Vec<u8>; LEVELS],
}

impl Version {
    pub(super) fn bytes(&self, level: usize) -> u64 {
        self.levels[level].iter().map(|file| file.bytes).sum()
    }

    /// The lowest level with a table.
    pub(super) fn deepest(&self) -> Option<usize> {
        (0..LEVELS).rev().find(|&level| !self.levels[level].is_empty())
    }

    /// The tables of a level with a key from `smallest` to `largest`.
    pub(super) fn overlapping(&self, level: usize, smallest: &[u8], largest: &[u8]) -> Vec<FileId> {
        self.levels[level].iter().filter(|file| file.overlaps(smallest, largest)).map(|file| file.id).collect()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (usize, &FileMeta)> {
        self.levels.iter().enumerate().flat_map(|(level, files)| files.iter().map(move |file| (level, file)))
    }

    pub(super) fn file(&self, level: usize, id: FileId) -> &FileMeta {
        self.levels[level].iter().find(|file| file.id == id).expect("the table is in its level")
    }

    /// The version with every change of `edit`.
    pub(super) fn apply(&mut self, edit: &Edit) {
        for &id in &edit.removed {
            self.levels.iter_mut().for_each(|files| files.retain(|file| file.id != id));
        }
        for (level, file) in &edit.added {
            self.levels[*level].push(file.clone());
        }
        self.levels[0].sort_by_key(|file| Reverse((file.age, file.id)));
        for files in &mut self.levels[1..] {
            files.sort_by(|a, b| a.smallest.cmp(&b.smallest));
        }
        self.logs.retain(|log| !edit.removed.contains(&log.id));
        if let Some((id, frames)) = edit.sealed {
            self.logs.iter_mut().filter(|log| log.id == id).for_each(|log| log.sealed = Some(frames));
        }
        self.logs.extend(edit.log.clone());
        if let Some((level, key)) = &edit.cursor {
            self.cursors[*level].clone_from(key);
        }
        (self.next_file, self.next_age) = (edit.next_file, edit.next_age);
    }

    /// The edit that makes this version from an empty one, one log and one cursor aside: those of other edits.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.key_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.next_file.to_le_bytes());
        bytes.extend_from_slice(&self.next_age.to_le_bytes());
        bytes.extend_from_slice(&(self.files().count() as u32).to_le_bytes());
        self.files().for_each(|(level, file)| put_file(&mut bytes, level, file));
        bytes.extend_from_slice(&(self.logs.len() as u32).to_le_bytes());
        self.logs.iter().for_each(|log| put_log(&mut bytes, log));
        self.cursors.iter().for_each(|key| put_string(&mut bytes, key));
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut parser = Parser(bytes);
        let mut version = Self { key_bytes: parser.u16()?, ..Self::default() };
        (version.next_file, version.next_age) = (parser.u64()?, parser.u64()?);
        for _ in 0..parser.u32()? {
            let (level, file) = take_file(&mut parser)?;
            version.levels[level].push(file);
        }
        for _ in 0..parser.u32()? {
            version.logs.push(take_log(&mut parser)?);
        }
        for key in &mut version.cursors {
            *key = parser.string()?.to_vec();
        }
        parser.0.is_empty().then_some(version)
    }
}

/// A change from one version to the next, all of it or nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Edit {
    /// Tables and logs that are no longer in the tree.
    pub(super) removed: Vec<FileId>,
    pub(super) added: Vec<(usize, FileMeta)>,
    /// A log that takes no more records, and its frames.
    pub(super) sealed: Option<(FileId, u32)>,
    /// The log that takes records from now on.
    pub(super) log: Option<LogMeta>,
    pub(super) cursor: Option<(usize, Vec<u8>)>,
    pub(super) next_file: u64,
    pub(super) next_age: u64,
}

impl Edit {
    /// New files in it; a file that only moves is none.
    pub(super) fn made(&self) -> Vec<FileId> {
        let made = self.added.iter().map(|(_, file)| file.id).chain(self.log.iter().map(|log| log.id));
        made.filter(|file| !self.removed.contains(file)).collect()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.next_file.to_le_bytes());
        bytes.extend_from_slice(&self.next_age.to_le_bytes());
        bytes.extend_from_slice(&(self.removed.len() as u32).to_le_bytes());
        self.removed.iter().for_each(|id| bytes.extend_from_slice(&id.0.to_le_bytes()));
        bytes.extend_from_slice(&(self.added.len() as u32).to_le_bytes());
        self.added.iter().for_each(|(level, file)| put_file(&mut bytes, *level, file));
        bytes.push(u8::from(self.sealed.is_some()));
        if let Some((id, frames)) = self.sealed {
            bytes.extend_from_slice(&id.0.to_le_bytes());
            bytes.extend_from_slice(&frames.to_le_bytes());
        }
        bytes.push(u8::from(self.log.is_some()));
        self.log.iter().for_each(|log| put_log(&mut bytes, log));
        bytes.push(u8::from(self.cursor.is_some()));
        if let Some((level, key)) = &self.cursor {
            bytes.push(*level as u8);
            put_string(&mut bytes, key);
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut parser = Parser(bytes);
        let mut edit = Self { next_file: parser.u64()?, next_age: parser.u64()?, ..Self::default() };
        for _ in 0..parser.u32()? {
            edit.removed.push(FileId(parser.u64()?));
        }
        for _ in 0..parser.u32()? {
            edit.added.push(take_file(&mut parser)?);
        }
        if parser.u8()? == 1 {
            edit.sealed = Some((FileId(parser.u64()?), parser.u32()?));
        }
        if parser.u8()? == 1 {
            edit.log = Some(take_log(&mut parser)?);
        }
        if parser.u8()? == 1 {
            let level = usize::from(parser.u8()?);
            edit.cursor = Some((level, parser.string()?.to_vec())).filter(|_| level < LEVELS);
        }
        parser.0.is_empty().then_some(edit)
    }
}

fn put_file(bytes: &mut Vec<u8>, level: usize, file: &FileMeta) {
    bytes.push(level as u8);
    for number in [file.id.0, file.age, file.bytes, file.records, file.tombstones] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    [&file.smallest, &file.largest, &file.place].into_iter().for_each(|string| put_string(bytes, string));
}

fn take_file(parser: &mut Parser<'_>) -> Option<(usize, FileMeta)> {
    let level = usize::from(parser.u8()?);
    let [id, age, bytes, records, tombstones] =
        [parser.u64()?, parser.u64()?, parser.u64()?, parser.u64()?, parser.u64()?];
    let [smallest, largest, place] = [parser.string()?.to_vec(), parser.string()?.to_vec(), parser.string()?.to_vec()];
    let file = FileMeta { id: FileId(id), age, bytes, records, tombstones, smallest, largest, place };
    (level < LEVELS).then_some((level, file))
}

fn put_log(bytes: &mut Vec<u8>, log: &LogMeta) {
    bytes.extend_from_slice(&log.id.0.to_le_bytes());
    bytes.extend_from_slice(&log.sealed.unwrap_or(u32::MAX).to_le_bytes());
    put_string(bytes, &log.place);
}

fn take_log(parser: &mut Parser<'_>) -> Option<LogMeta> {
    let (id, sealed) = (FileId(parser.u64()?), parser.u32()?);
    let sealed = (sealed != u32::MAX).then_some(sealed);
    Some(LogMeta { id, sealed, place: parser.string()?.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(id: u64, smallest: u8, largest: u8) -> FileMeta {
        let (smallest, largest) = (vec![smallest], vec![largest]);
        let place = vec![7; id as usize];
        FileMeta { id: FileId(id), age: id, bytes: 9, records: 2, tombstones: 1, smallest, largest, place }
    }

    #[test]
    fn edits_and_versions_come_back() {
        let log = LogMeta { id: FileId(4), sealed: None, place: vec![1, 2] };
        let first = Edit {
            added: vec![(0, file(1, 1, 9)), (0, file(2, 3, 4)), (2, file(3, 5, 6))],
            log: Some(log),
            next_file: 5,
            next_age: 3,
            ..Edit::default()
        };
        let second = Edit {
            removed: vec![FileId(2), FileId(1)],
            added: vec![(2, file(5, 1, 4))],
            sealed: Some((FileId(4), 77)),
            cursor: Some((1, vec![4])),
            next_file: 6,
            next_age: 3,
            ..Edit::default()
        };
        let mut version = Version { key_bytes: 1, ..Version::default() };
        for edit in [first, second] {
            let decoded = Edit::decode(&edit.encode()).unwrap();
            assert_eq!(decoded, edit);
            version.apply(&decoded);
        }
        assert_eq!(version.levels[2].iter().map(|file| file.id.0).collect::<Vec<_>>(), [5, 3]);
        assert_eq!((version.levels[0].len(), version.logs[0].sealed, version.deepest()), (0, Some(77), Some(2)));
        assert_eq!(Version::decode(&version.encode()).unwrap(), version);
    }
}

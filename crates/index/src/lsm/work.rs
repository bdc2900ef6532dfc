//! The tree's work on tables: a memtable becomes one, compaction merges them, a bulk load writes them.

use super::compaction::leveled::span;
use super::compaction::{Busy, Pick, Strategy};
use super::merge::{Below, Merge};
use super::storage::{FileId, Lifetime};
use super::table::{Access, Builder, Built, Item, RunCursor};
use super::tree::Tree;
use super::version::{Edit, FileMeta, LogMeta, LAST, LEVELS};
use super::wal::Wal;
use crate::IndexError;

/// Index, filter and footer beside the data, at most this share of it, for the room a table is given at first.
const AROUND: u64 = 16;

/// Tables being written to one level.
pub(super) struct Output {
    level: usize,
    file_bytes: u64,
    expected: u64,
    age: u64,
    /// What was created, also if it fails.
    files: Vec<FileId>,
    done: Vec<FileMeta>,
    written: u64,
}

impl Output {
    pub(super) fn new(level: usize, file_bytes: u64, expected: u64, age: u64) -> Self {
        Self { level, file_bytes, expected, age, files: Vec::new(), done: Vec::new(), written: 0 }
    }

    /// Room for all tables at most, with units of this size.
    pub(super) fn room_for_all(&self, unit_bytes: usize) -> u64 {
        let files = self.expected / self.file_bytes + 1;
        self.expected + self.expected / AROUND + files * unit_bytes as u64
    }

    /// Bytes written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn level(&self) -> usize {
        self.level
    }

    /// What was created.
    pub(super) fn made(&self) -> &[FileId] {
        &self.files
    }

    /// Expected bytes of the next table.
    fn room(&self) -> u64 {
        let left = self.expected.saturating_sub(self.done.iter().map(|file| file.bytes).sum());
        let bytes = left.min(self.file_bytes).max(1);
        bytes + bytes / AROUND
    }

    fn add(&mut self, built: Built, place: Vec<u8>) {
        self.written += built.written;
        let Built { records, tombstones, bytes, smallest, largest, .. } = built;
        let id = *self.files.last().expect("a table was begun");
        self.done.push(FileMeta { id, age: self.age, bytes, records, tombstones, smallest, largest, place });
    }

    pub(super) fn added(self) -> Vec<(usize, FileMeta)> {
        let level = self.level;
        self.done.into_iter().map(|file| (level, file)).collect()
    }
}

impl Tree<'_> {
    /// Makes the memtable a table of level 0, and merges what is due; with jobs in the background all of them end.
    pub(super) fn write_memtable(&mut self) -> Result<(), IndexError> {
        if self.beside().is_some() {
            self.freeze()?;
            return self.wait_for_jobs();
        }
        if self.memtable.is_empty() {
            return Ok(());
        }
        let mut output = Output::new(0, u64::MAX, self.memtable.bytes(), self.version.next_age);
        let memtable = std::mem::take(&mut self.memtable);
        let written = self.write(&mut output, &mut memtable.iter());
        self.memtable = memtable;
        let log = written.and_then(|()| self.new_log(&mut output));
        let log = self.or_abandon(log, &output)?;
        self.version.next_age += 1;
        let removed = self.version.logs.iter().map(|log| log.id).collect();
        self.stats.flush_bytes += output.written;
        let (wal, log) = log.unzip();
        self.commit(Edit { removed, added: output.added(), log, ..Edit::default() })?;
        self.wal = wal;
        self.memtable.clear();
        self.stats.memtables += 1;
        while self.version.levels[0].len() >= self.config.level0_slowdown {
            let Some(pick) = self.config.compaction.pick(&self.version, &Busy::default()) else { break };
            self.carry_out(&pick)?;
        }
        Ok(())
    }

    /// Makes the memtable a table now, however full it is.
    ///
    /// # Errors
    /// As [`Tree::put`].
    pub fn write_out(&mut self) -> Result<(), IndexError> {
        self.guarded(Self::write_memtable)
    }

    /// The log for the next memtable.
    fn new_log(&mut self, output: &mut Output) -> Result<Option<(Wal, LogMeta)>, IndexError> {
        if self.wal.is_none() {
            return Ok(None);
        }
        self.make_room(self.config.write_buffer_bytes, Lifetime::Log)?;
        let id = self.new_file();
        let wal = Wal::create(&mut *self.io.store, id, self.config.write_buffer_bytes)?;
        output.files.push(id);
        Ok(Some((wal, LogMeta { id, sealed: None, place: self.io.store.place(id) })))
    }

    /// Gives back the room of what was written if there was none for all of it.
    fn or_abandon<T>(&mut self, result: Result<T, IndexError>, output: &Output) -> Result<T, IndexError> {
        if matches!(result, Err(IndexError::NoSpace { .. } | IndexError::BulkLoad { .. })) {
            for &file in &output.files {
                self.io.delete(file)?;
            }
        }
        result
    }

    /// Writes records to tables.
    pub(super) fn write(
        &mut self,
        output: &mut Output,
        records: &mut dyn Iterator<Item = Item<'_>>,
    ) -> Result<(), IndexError> {
        let config = self.config.clone();
        let mut builder = None;
        for (key, value) in records {
            self.add(output, &config, &mut builder, key, value)?;
        }
        self.end(output, builder)
    }

    /// Adds a record to the table being written, or to a new one.
    fn add<'c>(
        &mut self,
        output: &mut Output,
        config: &'c super::Config,
        builder: &mut Option<Builder<'c>>,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), IndexError> {
        if builder.as_ref().is_some_and(|builder| builder.bytes() >= output.file_bytes) {
            self.end(output, builder.take())?;
        }
        if builder.is_none() {
            let lifetime = Lifetime::Level(output.level as u8);
            // A plan moves no files: it waits if it finds no room.
            if !self.beside.is_planning {
                self.make_room(output.room(), lifetime)?;
            }
            let file = self.new_file();
            *builder = Some(Builder::new(&mut *self.io.store, config, file, output.room(), lifetime)?);
            output.files.push(file);
        }
        builder.as_mut().expect("a table was begun").add(&mut *self.io.store, key, value)
    }

    /// Ends a table.
    fn end(&mut self, output: &mut Output, builder: Option<Builder<'_>>) -> Result<(), IndexError> {
        let Some(builder) = builder else { return Ok(()) };
        if !self.beside.is_planning {
            // A table with many small records has more around its data than was expected.
            self.make_room(builder.rest_bytes(), Lifetime::Level(output.level as u8))?;
        }
        let file = builder.file();
        let built = builder.finish(&mut *self.io.store)?;
        self.io.tables.insert(file, built.table.clone());
        output.add(built, self.io.store.place(file));
        Ok(())
    }

    /// Merges until nothing is due.
    fn compact_due(&mut self) -> Result<(), IndexError> {
        while let Some(pick) = self.config.compaction.pick(&self.version, &Busy::default()) {
            self.carry_out(&pick)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, pick: &Pick) -> Result<(), IndexError> {
        if pick.is_move(&self.version) {
            let (level, id) = pick.inputs[0];
            let file = self.version.file(level, id).clone();
            self.stats.moves += 1;
            let added = vec![(pick.output, file)];
            return self.commit(Edit { removed: vec![id], added, cursor: pick.cursor.clone(), ..Edit::default() });
        }
        let mut output = self.output_of(pick);
        let merged = self.merge(pick, &mut output);
        let dropped = self.or_abandon(merged, &output)?;
        self.count_compaction(pick, output.written, dropped);
        let removed = pick.inputs.iter().map(|&(_, id)| id).collect();
        self.commit(Edit { removed, added: output.added(), cursor: pick.cursor.clone(), ..Edit::default() })
    }

    pub(super) fn count_compaction(&mut self, pick: &Pick, written: u64, dropped: u64) {
        self.stats.dropped += dropped;
        self.stats.compactions += 1;
        self.stats.compaction_written[pick.output] += written;
    }

    pub(super) fn output_of(&self, pick: &Pick) -> Output {
        let files = || pick.inputs.iter().map(|&(level, id)| self.version.file(level, id));
        let age = files().map(|file| file.age).max().unwrap_or(0);
        Output::new(pick.output, pick.file_bytes, files().map(|file| file.bytes).sum(), age)
    }

    /// Merges a pick's tables into new ones; returns the deleted keys that were dropped.
    pub(super) fn merge(&mut self, pick: &Pick, output: &mut Output) -> Result<u64, IndexError> {
        let below = Below::new(&self.version, &pick.inputs, pick.output);
        let (runs, levels) = self.runs_of(pick)?;
        let mut merge = Merge::new(runs);
        let config = self.config.clone();
        let (mut builder, mut current, mut dropped) = (None, Vec::new(), 0);
        while let Some((key, value)) = merge.current() {
            if value.is_some() || below.may_hold(key) {
                self.add(output, &config, &mut builder, key, value)?;
            } else {
                dropped += 1;
            }
            current.clear();
            current.extend_from_slice(key);
            merge.pass(&mut self.io, &current)?;
        }
        self.end(output, builder)?;
        for (run, level) in merge.runs().iter().zip(levels) {
            self.stats.compaction_read[level] += run.read_bytes;
        }
        Ok(dropped)
    }

    /// A pick's runs, the newest first, and the level of each.
    fn runs_of(&mut self, pick: &Pick) -> Result<(Vec<RunCursor>, Vec<usize>), IndexError> {
        let mut tables: Vec<(usize, Vec<(FileId, u64)>)> = Vec::new();
        for (level, files) in self.version.levels.iter().enumerate() {
            let chosen = files.iter().filter(|file| pick.inputs.contains(&(level, file.id)));
            let chosen = chosen.map(|file| (file.id, file.bytes));
            if level == 0 {
                tables.extend(chosen.map(|file| (0, vec![file])));
            } else {
                tables.push((level, chosen.collect()));
            }
        }
        tables.retain(|(_, files)| !files.is_empty());
        let access = Access::Ahead(self.config.compaction_readahead_bytes);
        let mut runs = (Vec::new(), Vec::new());
        for (level, files) in tables {
            runs.0.push(RunCursor::new(&mut self.io, files, access, None)?);
            runs.1.push(level);
        }
        Ok(runs)
    }

    /// Compacts the records from `from` to `to`, both included, down to the lowest level that has any; with tiered
    /// compaction all runs are merged.
    ///
    /// # Errors
    /// As [`Tree::put`].
    pub fn compact(&mut self, from: &[u8], to: &[u8]) -> Result<(), IndexError> {
        self.check_key(from)?;
        self.check_key(to)?;
        self.guarded(|tree| {
            tree.write_memtable()?;
            match tree.config.compaction {
                Strategy::Leveled(_) => tree.compact_levels(from, to)?,
                Strategy::Tiered(_) => tree.compact_all()?,
            }
            tree.compact_due()
        })
    }

    /// Merges all tables of `level` into the next level below that has any, and what is due then: the last steps of a
    /// load.
    ///
    /// # Errors
    /// As [`Tree::put`].
    pub fn compact_level(&mut self, level: usize) -> Result<(), IndexError> {
        self.guarded(|tree| {
            tree.write_memtable()?;
            let below = (level + 1..LEVELS).find(|&below| !tree.version.levels[below].is_empty());
            let (false, Some(output)) = (tree.version.levels[level].is_empty(), below) else { return Ok(()) };
            let both = tree.version.files().filter(|&(at, _)| at == level || at == output);
            let inputs = both.map(|(at, file)| (at, file.id)).collect();
            let file_bytes = tree.config.compaction.by_hand(&tree.version, 0).1;
            tree.carry_out(&Pick { inputs, output, file_bytes, cursor: None })?;
            tree.compact_due()
        })
    }

    /// Merges level 0 into the first level below it, and that level into the next one: db_bench's `compact0` and
    /// `compact1`.
    ///
    /// # Errors
    /// As [`Tree::put`].
    pub fn compact_top(&mut self) -> Result<(), IndexError> {
        self.compact_level(0)?;
        match (1..LEVELS).find(|&level| !self.version.levels[level].is_empty()) {
            Some(first) => self.compact_level(first),
            None => Ok(()),
        }
    }

    fn compact_levels(&mut self, from: &[u8], to: &[u8]) -> Result<(), IndexError> {
        for level in 0..LAST {
            let deepest = self.version.deepest().unwrap_or(0);
            if level > 0 && level >= deepest {
                break;
            }
            let mut chosen = self.version.overlapping(level, from, to);
            while let (0, false) = (level, chosen.is_empty()) {
                let (smallest, largest) = span(&self.version, level, &chosen);
                let wider = self.version.overlapping(level, &smallest, &largest);
                if wider.len() == chosen.len() {
                    break;
                }
                chosen = wider;
            }
            if chosen.is_empty() {
                continue;
            }
            let (output, file_bytes) = self.config.compaction.by_hand(&self.version, level);
            let (smallest, largest) = span(&self.version, level, &chosen);
            let below = self.version.overlapping(output, &smallest, &largest);
            let inputs = chosen.into_iter().map(|id| (level, id)).chain(below.into_iter().map(|id| (output, id)));
            self.carry_out(&Pick { inputs: inputs.collect(), output, file_bytes, cursor: None })?;
        }
        self.drop_deleted(from, to)
    }

    /// Rewrites the lowest level's tables with deleted keys; a rewrite always drops some.
    fn drop_deleted(&mut self, from: &[u8], to: &[u8]) -> Result<(), IndexError> {
        let Some(level) = self.version.deepest().filter(|&level| level > 0) else { return Ok(()) };
        for id in self.version.overlapping(level, from, to) {
            let file = self.version.file(level, id);
            if file.tombstones > 0 {
                let pick = Pick { inputs: vec![(level, id)], output: level, file_bytes: u64::MAX, cursor: None };
                self.carry_out(&pick)?;
            }
        }
        Ok(())
    }

    fn compact_all(&mut self) -> Result<(), IndexError> {
        let inputs: Vec<(usize, FileId)> = self.version.files().map(|(level, file)| (level, file.id)).collect();
        let is_one_run = inputs.iter().all(|&(level, _)| level == LAST);
        if is_one_run && self.version.levels[LAST].iter().all(|file| file.tombstones == 0) {
            return Ok(());
        }
        let (output, file_bytes) = self.config.compaction.by_hand(&self.version, 0);
        self.carry_out(&Pick { inputs, output, file_bytes, cursor: None })
    }

    /// Loads records in ascending order into an empty tree, as tables of the last level; they survive a power cut once
    /// this returns.
    ///
    /// # Errors
    /// [`IndexError::BulkLoad`], and as [`Tree::put`].
    pub fn bulk_load(&mut self, records: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), IndexError> {
        if !self.memtable.is_empty() || self.version.deepest().is_some() {
            return Err(IndexError::BulkLoad { record: 0, why: "the index has records already" });
        }
        self.guarded(|tree| {
            let file_bytes = tree.config.compaction.by_hand(&tree.version, 0).1;
            let mut output = Output::new(LAST, file_bytes, u64::MAX, tree.version.next_age);
            let loaded = tree.load(&mut output, records);
            tree.or_abandon(loaded, &output)?;
            tree.version.next_age += 1;
            tree.stats.load_bytes += output.written;
            tree.commit(Edit { added: output.added(), ..Edit::default() })
        })
    }

    fn load(
        &mut self,
        output: &mut Output,
        records: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>,
    ) -> Result<(), IndexError> {
        let config = self.config.clone();
        let (mut builder, mut last): (_, Option<Vec<u8>>) = (None, None);
        for ((key, value), record) in records.zip(0..) {
            self.check_key(&key)?;
            if last.as_ref().is_some_and(|last| *last >= key) {
                return Err(IndexError::BulkLoad { record, why: "its key is not above the one before" });
            }
            self.stats.user_bytes += (key.len() + value.len()) as u64;
            self.add(output, &config, &mut builder, &key, Some(&value))?;
            last = Some(key);
        }
        self.end(output, builder)
    }
}

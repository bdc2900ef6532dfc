//! Merges runs: the records of all of them in order, each key once, as the newest run has it.

use super::storage::FileId;
use super::table::{Io, Item, RunCursor};
use super::version::{Version, LEVELS};
use crate::IndexError;

/// Runs that are walked together.
#[derive(Debug)]
pub(super) struct Merge {
    /// The newest first.
    runs: Vec<RunCursor>,
}

impl Merge {
    /// A merge of these runs, the newest first.
    pub(super) fn new(runs: Vec<RunCursor>) -> Self {
        Self { runs }
    }

    /// The current record: that of the smallest key, in the newest run that has it.
    pub(super) fn current(&self) -> Option<Item<'_>> {
        let mut best: Option<Item<'_>> = None;
        for found in self.runs.iter().filter_map(RunCursor::current) {
            if best.is_none_or(|(key, _)| found.0 < key) {
                best = Some(found);
            }
        }
        best
    }

    /// Leaves `key`, the current one, in every run.
    pub(super) fn pass(&mut self, io: &mut Io<'_>, key: &[u8]) -> Result<(), IndexError> {
        for run in &mut self.runs {
            if run.current().is_some_and(|(current, _)| current == key) {
                run.advance(io)?;
            }
        }
        Ok(())
    }

    pub(super) fn runs(&self) -> &[RunCursor] {
        &self.runs
    }
}

/// The tables below a compaction's result: whether an older record of a key may be there.
#[derive(Debug)]
pub(super) struct Below {
    /// Older tables of level 0.
    single: Vec<(Vec<u8>, Vec<u8>)>,
    /// Levels, sorted by key.
    levels: Vec<Vec<(Vec<u8>, Vec<u8>)>>,
}

impl Below {
    /// What is below a result of `inputs` in level `output`.
    pub(super) fn new(version: &Version, inputs: &[(usize, FileId)], output: usize) -> Self {
        let range = |level: usize, keep: &dyn Fn(u64) -> bool| {
            let files = version.levels[level].iter().filter(|file| keep(file.age));
            let files = files.filter(|file| !inputs.contains(&(level, file.id)));
            files.map(|file| (file.smallest.clone(), file.largest.clone())).collect::<Vec<_>>()
        };
        let ages = version.levels[0].iter().filter(|file| inputs.contains(&(0, file.id))).map(|file| file.age);
        let oldest = ages.min().unwrap_or(0);
        let single = if output == 0 { range(0, &|age| age < oldest) } else { Vec::new() };
        let levels = (output.max(1)..LEVELS).filter(|&level| level > output);
        Self { single, levels: levels.map(|level| range(level, &|_| true)).collect() }
    }

    /// Whether an older record of `key` may be below.
    pub(super) fn may_hold(&self, key: &[u8]) -> bool {
        let holds = |range: &(Vec<u8>, Vec<u8>)| range.0[..] <= *key && *key <= range.1[..];
        self.single.iter().any(holds)
            || self.levels.iter().any(|level| {
                let at = level.partition_point(|(_, largest)| largest[..] < *key);
                level.get(at).is_some_and(holds)
            })
    }
}

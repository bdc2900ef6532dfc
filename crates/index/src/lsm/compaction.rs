//! Which tables are merged next. A strategy sees a version and returns a choice; the tree carries it out.

pub(super) mod leveled;
pub(super) mod tiered;

use super::storage::FileId;
use super::version::{Version, LAST, LEVELS};
use std::collections::BTreeSet;

/// Which table of a level that is too large goes down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChoice {
    /// The one with the fewest bytes below it for each of its own.
    #[default]
    LeastOverlap,
    /// The one after the last that went down, by key.
    RoundRobin,
}

impl FileChoice {
    /// The name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::LeastOverlap => "least_overlap",
            Self::RoundRobin => "round_robin",
        }
    }
}

/// The rule for the other levels while level 0 is behind, with dynamic level sizes; both are RocksDB's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backlog {
    /// A level waits for bytes still to come down: they divide its score (RocksDB 7.5 and later).
    #[default]
    Scores,
    /// The base level may grow to level 0's bytes, and the levels below grow by smaller steps (RocksDB before 7.5).
    Sizes,
}

impl Backlog {
    /// The name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scores => "scores",
            Self::Sizes => "sizes",
        }
    }
}

/// The chosen compaction with its options.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Strategy {
    Leveled(leveled::Leveled),
    Tiered(tiered::Tiered),
}

/// A compaction to carry out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Pick {
    /// The tables, with their level.
    pub(super) inputs: Vec<(usize, FileId)>,
    /// Where the result goes.
    pub(super) output: usize,
    /// Bytes that end a table of the result.
    pub(super) file_bytes: u64,
    /// The level whose round robin goes on behind this key.
    pub(super) cursor: Option<(usize, Vec<u8>)>,
}

impl Pick {
    /// Whether the pick only moves one table to a level where nothing overlaps it. A table with deleted keys does not
    /// move to where they can be dropped.
    pub(super) fn is_move(&self, version: &Version) -> bool {
        let [(level, id)] = self.inputs[..] else { return false };
        let file = version.file(level, id);
        let above = |deeper: usize| version.overlapping(deeper, &file.smallest, &file.largest).is_empty();
        let drops = file.tombstones > 0 && (self.output + 1..LEVELS).all(above);
        level != self.output && above(self.output) && !drops
    }
}

/// What compactions under way keep from others.
///
/// Compactions that share no table meet in no keys of a level either: tables of a level do not overlap, and a pick has
/// every table that its keys meet in the level it goes to. Level 0 has one compaction at a time.
#[derive(Debug, Default)]
pub(super) struct Busy {
    files: BTreeSet<FileId>,
    level_0: bool,
}

impl Busy {
    /// Adds a compaction under way.
    pub(super) fn add(&mut self, pick: &Pick) {
        self.files.extend(pick.inputs.iter().map(|&(_, id)| id));
        self.level_0 |= pick.inputs.iter().any(|&(level, _)| level == 0);
    }

    /// Adds a table that is moved.
    pub(super) fn add_moved(&mut self, level: usize, id: FileId) {
        self.files.insert(id);
        self.level_0 |= level == 0;
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether `pick` can run beside them.
    fn lets(&self, pick: &Pick) -> bool {
        !pick.inputs.iter().any(|(_, id)| self.files.contains(id))
    }

    /// The version without their tables: what levels have too much of.
    fn rest(&self, version: &Version) -> Version {
        let mut rest = version.clone();
        rest.levels.iter_mut().for_each(|files| files.retain(|file| !self.files.contains(&file.id)));
        rest
    }
}

impl Strategy {
    /// The next compaction beside those under way; `None` if the version is as the strategy wants it.
    pub(super) fn pick(&self, version: &Version, busy: &Busy) -> Option<Pick> {
        match self {
            Self::Leveled(leveled) => leveled.pick(version, busy),
            // Runs are merged by their order: one merge at a time.
            Self::Tiered(tiered) => tiered.pick(version).filter(|_| busy.is_empty()),
        }
    }

    /// Bytes that compaction has still to write.
    pub(super) fn pending_bytes(&self, version: &Version) -> u64 {
        match self {
            Self::Leveled(leveled) => leveled.pending_bytes(version),
            Self::Tiered(_) => 0,
        }
    }

    /// The level that a compaction by hand of `level` goes to, and the bytes that end a table there.
    pub(super) fn by_hand(&self, version: &Version, level: usize) -> (usize, u64) {
        match self {
            Self::Leveled(leveled) => {
                let sizes = leveled.sizes(version);
                let output = if level == 0 { sizes.base } else { level + 1 };
                (output, leveled.file_bytes_at(output, sizes.base))
            }
            Self::Tiered(tiered) => (LAST, tiered.file_bytes),
        }
    }
}

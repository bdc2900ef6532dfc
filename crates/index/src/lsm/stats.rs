//! What the tree did, in bytes.

use super::extents::trims::TrimStats;
use super::version::LEVELS;
use nandlab_nand::Time;

/// Counts since the tree was created or opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Keys and values of puts, deletes and loaded records, in bytes.
    pub user_bytes: u64,
    /// Bytes written to the log, padding included; so are all bytes written.
    pub wal_bytes: u64,
    /// Bytes written by memtables that became tables.
    pub flush_bytes: u64,
    /// Bytes written by bulk loads.
    pub load_bytes: u64,
    /// Bytes written by compaction, by the level they went to.
    pub compaction_written: [u64; LEVELS],
    /// Bytes read by compaction, by the level they came from.
    pub compaction_read: [u64; LEVELS],
    /// Bytes written to the manifest.
    pub manifest_bytes: u64,
    /// Bytes written to move tables out of zones.
    pub moved_bytes: u64,
    /// Trims on a block device.
    pub trim: TrimStats,
    /// Bytes read by lookups and range reads, and to open tables.
    pub read_bytes: u64,
    /// Memtables that became tables.
    pub memtables: u64,
    /// Compactions, trivial moves aside.
    pub compactions: u64,
    /// Tables moved a level down without a write.
    pub moves: u64,
    /// Deleted keys dropped by compaction.
    pub dropped: u64,
    /// Waits for jobs in the background.
    pub stalls: Stalls,
    /// The Bloom filters.
    pub bloom: BloomStats,
    /// Data blocks found in the cache.
    pub cache_hits: u64,
    /// Data blocks read.
    pub cache_misses: u64,
}

/// Times that puts waited for jobs in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Both memtables were full.
    pub memtables: Stall,
    /// Level 0 had too many tables.
    pub level_0: Stall,
    /// Compaction had too many bytes still to write.
    pub pending: Stall,
    /// Puts were slowed down by the lower triggers; each put counts.
    pub slow: Stall,
}

/// Waits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// Waits.
    pub count: u64,
    /// Their time together.
    pub time: Time,
}

impl Stall {
    pub(super) fn add(&mut self, time: Time) {
        self.count += 1;
        self.time += time;
    }
}

/// What the Bloom filters answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BloomStats {
    /// Questions to a filter.
    pub asked: u64,
    /// Answers that the key is not there.
    pub negative: u64,
    /// Answers that it may be there, and it was not.
    pub false_positive: u64,
}

impl BloomStats {
    /// Share of the absent keys that a filter let pass; `None` before the first.
    pub fn false_positive_rate(&self) -> Option<f64> {
        let absent = self.negative + self.false_positive;
        (absent > 0).then(|| self.false_positive as f64 / absent as f64)
    }
}

impl Stats {
    /// Bytes written by compaction.
    pub fn compaction_bytes(&self) -> u64 {
        self.compaction_written.iter().sum()
    }

    /// All bytes written below.
    pub fn written_bytes(&self) -> u64 {
        let tables = self.flush_bytes + self.load_bytes + self.compaction_bytes();
        self.wal_bytes + tables + self.manifest_bytes + self.moved_bytes
    }

    /// The index's write amplification: bytes written below over bytes from the user; `None` before the first.
    pub fn waf(&self) -> Option<f64> {
        (self.user_bytes > 0).then(|| self.written_bytes() as f64 / self.user_bytes as f64)
    }
}

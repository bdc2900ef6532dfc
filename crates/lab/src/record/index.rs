//! The record's part about an index.

use super::Latencies;
use nandlab_index::lsm::{Stall, Stalls, Stats, LEVELS};
use nandlab_workload::keys::Action;
use serde::Serialize;

/// Index activity during the workload. Its requests to the device below are in [`super::Record::host`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IndexRecord {
    /// Workload operations, by kind.
    pub operations: OperationCounts,
    /// Records returned by scans.
    pub scanned_records: u64,
    /// Reads, updates, read-modify-writes and deletes with an absent key; an LSM tree deletes without a look.
    pub absent: u64,
    /// Inserts with an existing key, which change nothing.
    pub present: u64,
    /// Index flushes.
    pub flushes: u64,
    /// Records at the end.
    pub records: u64,
    /// Bytes of keys and values that the workload put there, and of keys it deleted.
    pub user_bytes: u64,
    /// Bytes that the index wrote to the device below.
    pub written_bytes: u64,
    /// The index's write amplification: `written_bytes / user_bytes`; null before the first change.
    pub waf_index: Option<f64>,
    /// The product of `waf_index` and the device's `waf`: bytes programmed over bytes of the user.
    pub waf_total: Option<f64>,
    /// Page levels at the end; 1: the root is a leaf. In an LSM tree the levels with tables.
    pub height: u8,
    /// Pages with records; null if the run ended inside an operation.
    pub leaves: Option<u64>,
    /// Pages above the leaves.
    pub inner_pages: Option<u64>,
    /// Freed pages, not used again.
    pub free_pages: Option<u64>,
    /// Leaf fill factor: share taken by records.
    pub leaf_fill: Option<f64>,
    /// The same for inner pages; null too if there are none.
    pub inner_fill: Option<f64>,
    /// The buffer pool.
    pub pool: PoolRecord,
    /// Pages read by the index, by kind.
    pub page_reads: PageKinds,
    /// Pages written by the index, by kind; partial page writes count, too.
    pub page_writes: PageKinds,
    /// Operation times in the device, us: `read` for reads and scans, `write` for changes, `flush`; null
    /// without time.
    pub latency_us: Option<Latencies>,
    /// The LSM tree; null for another index. Pages and pool are then 0.
    pub lsm: Option<LsmRecord>,
}

/// An LSM tree's work and its tables at the end; bytes as written and read, padding included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LsmRecord {
    /// By level, from level 0.
    pub levels: [LevelRecord; LEVELS],
    /// Written to the write-ahead log.
    pub wal_bytes: u64,
    /// Written by memtables that became tables.
    pub flush_bytes: u64,
    /// Written by bulk loads.
    pub load_bytes: u64,
    /// Written by compaction.
    pub compaction_bytes: u64,
    /// Written to the manifest.
    pub manifest_bytes: u64,
    /// Written to move tables out of zones that are emptied, over `ftl.zns`.
    pub moved_bytes: u64,
    /// Trim requests to a block device; 0 over `ftl.zns`.
    pub trims: u64,
    /// Bytes of these requests.
    pub trimmed_bytes: u64,
    /// Free space at the end that the device still holds deleted files for.
    pub untrimmed_bytes: u64,
    /// Read by lookups and scans, and to open tables.
    pub read_bytes: u64,
    /// Memtables that became tables.
    pub memtables: u64,
    /// Compactions that wrote tables.
    pub compactions: u64,
    /// Tables that moved a level down without being written.
    pub moves: u64,
    /// Deleted keys that compaction dropped.
    pub dropped: u64,
    /// Questions to Bloom filters.
    pub bloom_asked: u64,
    /// Answers that the key is not there.
    pub bloom_negative: u64,
    /// Answers that it may be there, when it was not.
    pub bloom_false_positive: u64,
    /// Share of absent keys that passed; null before the first.
    pub bloom_false_positive_rate: Option<f64>,
    /// Data blocks found in the cache.
    pub cache_hits: u64,
    /// Data blocks read.
    pub cache_misses: u64,
    /// Waits of puts for jobs in the background; zeros without them.
    pub stalls: StallsRecord,
    /// Memory of the tables' indexes and filters, bytes.
    pub table_memory_bytes: u64,
    /// Bytes in tables over bytes of keys with a value; null if the run ended inside an operation.
    pub space_amplification: Option<f64>,
}

/// Waits of puts for flushes and compactions in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StallsRecord {
    /// Both memtables were full.
    pub memtables: StallRecord,
    /// Level 0 had `level0_stop` tables.
    pub level_0: StallRecord,
    /// Compaction had `pending_stop_bytes` still to write.
    pub pending: StallRecord,
    /// Puts slowed down by the lower triggers; each put counts.
    pub slow: StallRecord,
}

/// Waits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StallRecord {
    /// Waits.
    pub count: u64,
    /// Their time together, us.
    pub time_us: f64,
}

impl StallRecord {
    fn of(stall: Stall) -> Self {
        Self { count: stall.count, time_us: stall.time as f64 / 1e3 }
    }
}

impl StallsRecord {
    fn of(stalls: &Stalls) -> Self {
        let Stalls { memtables, level_0, pending, slow } = *stalls;
        let [memtables, level_0, pending, slow] = [memtables, level_0, pending, slow].map(StallRecord::of);
        Self { memtables, level_0, pending, slow }
    }
}

/// A level of an LSM tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LevelRecord {
    /// Its number, from 0.
    pub level: usize,
    /// Tables at the end.
    pub tables: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that compaction wrote to the level.
    pub compaction_written: u64,
    /// Bytes that compaction read from the level.
    pub compaction_read: u64,
}

impl LsmRecord {
    pub(crate) fn of(stats: &Stats, levels: &[(u64, u64); LEVELS]) -> Self {
        Self {
            levels: std::array::from_fn(|level| LevelRecord {
                level,
                tables: levels[level].0,
                bytes: levels[level].1,
                compaction_written: stats.compaction_written[level],
                compaction_read: stats.compaction_read[level],
            }),
            wal_bytes: stats.wal_bytes,
            flush_bytes: stats.flush_bytes,
            load_bytes: stats.load_bytes,
            compaction_bytes: stats.compaction_bytes(),
            manifest_bytes: stats.manifest_bytes,
            moved_bytes: stats.moved_bytes,
            trims: stats.trim.trims,
            trimmed_bytes: stats.trim.trimmed_bytes,
            untrimmed_bytes: stats.trim.untrimmed_bytes,
            read_bytes: stats.read_bytes,
            memtables: stats.memtables,
            compactions: stats.compactions,
            moves: stats.moves,
            dropped: stats.dropped,
            bloom_asked: stats.bloom.asked,
            bloom_negative: stats.bloom.negative,
            bloom_false_positive: stats.bloom.false_positive,
            bloom_false_positive_rate: stats.bloom.false_positive_rate(),
            cache_hits: stats.cache_hits,
            cache_misses: stats.cache_misses,
            stalls: StallsRecord::of(&stats.stalls),
            table_memory_bytes: 0,
            space_amplification: None,
        }
    }
}

/// Operations in a key workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OperationCounts {
    /// All operations.
    pub total: u64,
    /// Bulk-load records.
    pub load: u64,
    /// Inserts.
    pub insert: u64,
    /// Updates.
    pub update: u64,
    /// Inserts or updates.
    pub put: u64,
    /// Reads.
    pub read: u64,
    /// Reads followed by an update.
    pub read_modify_write: u64,
    /// Scans.
    pub scan: u64,
    /// Deletes.
    pub delete: u64,
}

impl OperationCounts {
    pub(crate) fn add(&mut self, action: Action) {
        self.total += 1;
        *match action {
            Action::Load => &mut self.load,
            Action::Insert => &mut self.insert,
            Action::Update => &mut self.update,
            Action::Put => &mut self.put,
            Action::Read => &mut self.read,
            Action::ReadModifyWrite => &mut self.read_modify_write,
            Action::Scan(_) => &mut self.scan,
            Action::Delete => &mut self.delete,
        } += 1;
    }
}

/// An index's buffer pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PoolRecord {
    /// Pages in the pool.
    pub frames: u32,
    /// Pool size, bytes.
    pub bytes: u64,
    /// Requested pages found in the pool.
    pub hits: u64,
    /// Requested pages read from the device.
    pub misses: u64,
    /// Pages evicted to make room.
    pub evictions: u64,
    /// Dirty pages written at eviction.
    pub write_backs: u64,
    /// Dirty pages written by a flush.
    pub flushed: u64,
}

/// Index pages by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PageKinds {
    /// Leaves.
    pub leaf: u64,
    /// Pages above the leaves.
    pub inner: u64,
    /// The root, whether it is a leaf or not.
    pub root: u64,
    /// Headers, the page table, and free pages.
    pub header: u64,
    /// All pages.
    pub total: u64,
}

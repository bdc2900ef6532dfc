//! The record's part about an index.

use super::Latencies;
use nandlab_workload::keys::Action;
use serde::Serialize;

/// Index activity during the workload. Its requests to the device below are in [`super::Record::host`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IndexRecord {
    /// Workload operations, by kind.
    pub operations: OperationCounts,
    /// Records returned by scans.
    pub scanned_records: u64,
    /// Reads, updates, read-modify-writes and deletes with an absent key.
    pub absent: u64,
    /// Inserts with an existing key, which change nothing.
    pub present: u64,
    /// Index flushes.
    pub flushes: u64,
    /// Records at the end.
    pub records: u64,
    /// Page levels at the end; 1: the root is a leaf.
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

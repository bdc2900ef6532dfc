//! The part of a record that is about an index.

use super::Latencies;
use nandlab_workload::keys::Action;
use serde::Serialize;

/// What an index did during the workload. The requests to the device below are those in [`super::Record::host`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IndexRecord {
    /// Operations of the workload, by kind.
    pub operations: OperationCounts,
    /// Records that scans returned.
    pub scanned_records: u64,
    /// Reads, updates, read-modify-writes and deletes of keys that were not there.
    pub absent: u64,
    /// Inserts of keys that were there: nothing was changed.
    pub present: u64,
    /// Flushes of the index.
    pub flushes: u64,
    /// Records at the end.
    pub records: u64,
    /// Levels of pages at the end; 1: the root is a leaf.
    pub height: u8,
    /// Pages with records; null where the run ended inside an operation.
    pub leaves: Option<u64>,
    /// Pages above the leaves.
    pub inner_pages: Option<u64>,
    /// Pages that were freed and not used again.
    pub free_pages: Option<u64>,
    /// Share of the room in leaves that records take.
    pub leaf_fill: Option<f64>,
    /// The same for inner pages; null too where there are none.
    pub inner_fill: Option<f64>,
    /// The buffer pool.
    pub pool: PoolRecord,
    /// Pages that the index read, by what they are.
    pub page_reads: PageKinds,
    /// Pages that it wrote; one of which only some sectors were written counts, too.
    pub page_writes: PageKinds,
    /// Time of operations in the device, us: `read` of reads and scans, `write` of changes, `flush`; null without time.
    pub latency_us: Option<Latencies>,
}

/// Operations of a key workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OperationCounts {
    /// All of them.
    pub total: u64,
    /// Records of the bulk load.
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

/// The buffer pool of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PoolRecord {
    /// Pages that it holds.
    pub frames: u32,
    /// Bytes of these.
    pub bytes: u64,
    /// Pages asked for that were there.
    pub hits: u64,
    /// Pages asked for that were read.
    pub misses: u64,
    /// Pages that left to make room.
    pub evictions: u64,
    /// Changed pages written when they left.
    pub write_backs: u64,
    /// Changed pages written by a flush.
    pub flushed: u64,
}

/// Pages of an index by what they are.
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
    /// All of them.
    pub total: u64,
}

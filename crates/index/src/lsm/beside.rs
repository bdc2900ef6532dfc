//! The flushes and compactions under way beside the host's operations.

use super::compaction::Pick;
use super::memtable::Memtable;
use super::storage::FileId;
use super::version::Edit;
use crate::IndexError;
use std::rc::Rc;

/// A full memtable that becomes a table, and the logs that have it.
#[derive(Debug)]
pub(super) struct Frozen {
    pub(super) memtable: Memtable,
    pub(super) logs: Vec<FileId>,
}

/// The jobs of a tree.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) frozen: Option<Rc<Frozen>>,
    pub(super) running: Vec<Running>,
    /// Requests belong to a plan now.
    pub(super) is_planning: bool,
    /// Why no flush could begin or end; it is tried again when another job has ended or given room back, or when an
    /// operation has told it.
    pub(super) flush_refusal: Option<IndexError>,
    /// The same of a compaction.
    pub(super) refusal: Option<IndexError>,
    /// A compaction may be due.
    pub(super) is_due: bool,
    /// Bytes that compaction has still to write.
    pub(super) pending_bytes: u64,
}

#[derive(Debug)]
pub(super) struct Running {
    /// The number of its plan.
    pub(super) plan: u64,
    pub(super) is_committing: bool,
    pub(super) work: Work,
    pub(super) edit: Edit,
    pub(super) written: u64,
}

#[derive(Debug)]
pub(super) enum Work {
    Flush,
    /// With the deleted keys that were dropped.
    Compaction(Pick, u64),
    /// A table goes a level down without a write.
    Move(Pick),
    /// Tables leave a zone.
    Collection(Vec<FileId>),
}

impl Beside {
    /// Lets what found no room be tried again; returns why it found none.
    pub(super) fn take_refusal(&mut self) -> Option<IndexError> {
        let of_compaction = self.refusal.take();
        self.flush_refusal.take().or(of_compaction)
    }

    pub(super) fn is_flushing(&self) -> bool {
        self.running.iter().any(|job| matches!(job.work, Work::Flush))
    }

    pub(super) fn picks(&self) -> impl Iterator<Item = &Pick> {
        self.running.iter().filter_map(|job| match &job.work {
            Work::Flush | Work::Collection(_) => None,
            Work::Compaction(pick, _) | Work::Move(pick) => Some(pick),
        })
    }

    /// The tables that leave a zone.
    pub(super) fn moved(&self) -> Option<&[FileId]> {
        self.running
            .iter()
            .find_map(|job| if let Work::Collection(files) = &job.work { Some(&files[..]) } else { None })
    }

    pub(super) fn committing(&self) -> Option<usize> {
        self.running.iter().position(|job| job.is_committing)
    }
}

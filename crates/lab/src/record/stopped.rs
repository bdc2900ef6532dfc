//! Why a run ended early.

use serde::Serialize;

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// Kind of reason.
    pub why: StopReason,
    /// The run's progress at this point, as a sentence.
    pub message: String,
}

/// Reasons for an early end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The caller, such as Ctrl-C.
    Cancelled,
    /// Too few good blocks are left for another write.
    WornOut,
    /// The index has no page left for a worst-case change.
    IndexFull,
    /// The file system has no room for the workload's write.
    FsFull,
    /// Bit errors lost a page of the index or the file system.
    Unreadable,
    /// A firmware in C refused a call, broke a rule of its chip or read wrong bytes.
    FirmwareFailed,
    /// This machine's system refused an operation in a real directory.
    FsFailed,
}

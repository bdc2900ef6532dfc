//! A request without its time, and a place for requests.

use nandlab_block::Op;
use nandlab_nand::PlacementId;

/// A request, in bytes from the device's start; a flush has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ask {
    pub(super) op: Op,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// The job's file with it, by number.
    pub(super) file: usize,
    /// Of writes alone.
    pub(super) placement: PlacementId,
    pub(super) from: From,
    /// Whether it comes when no other request of the job is outstanding.
    pub(super) is_alone: bool,
}

/// Why a job asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum From {
    Pattern,
    /// It reads back what it wrote, within a pass or after it.
    Backlog,
    Check,
}

/// A job's part of the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Its first byte, and how many there are.
    pub(super) start: u64,
    pub(super) length: u64,
}

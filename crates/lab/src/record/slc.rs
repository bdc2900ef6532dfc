//! Operations in blocks with one bit per cell.

use nandlab_ftl::Events;
use nandlab_nand::profile::Profile;
use nandlab_nand::{Cause, Cell, Matrix};
use serde::Serialize;

/// Blocks with one bit per cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlcRecord {
    /// Host pages written to them.
    pub written_pages: u64,
    /// Host pages written directly to other blocks for lack of room.
    pub direct_pages: u64,
    /// Pages moved out to make room.
    pub folded_pages: u64,
    /// Blocks emptied to make room.
    pub folds: u64,
    /// Page reads in such blocks, including copies.
    pub reads: u64,
    /// Page programs in such blocks, including copies.
    pub programs: u64,
    /// Erases in such blocks.
    pub erases: f64,
}

impl SlcRecord {
    /// From the counts for all blocks, and for blocks with one bit per cell.
    pub(crate) fn between((start, end): (&Events, &Events), matrix: &Matrix, slc: &Matrix) -> Self {
        let total = slc.total();
        Self {
            written_pages: end.slc_pages - start.slc_pages,
            direct_pages: end.slc_direct_pages - start.slc_direct_pages,
            folded_pages: matrix.sum(|_, cause| cause == Cause::Fold).copies,
            folds: end.slc_folds - start.slc_folds,
            reads: total.page_reads,
            programs: total.page_programs,
            erases: total.erases(),
        }
    }
}

/// Summed data-sheet times for the operations in `cell`, us; `slc` is their part in blocks with one bit per
/// cell.
pub(crate) fn busy_us(profile: &Profile, cell: &Cell, slc: Option<&Cell>) -> f64 {
    let ns = slc.map_or_else(|| profile.busy_ns(cell), |slc| profile.busy_ns_with_slc(cell, slc));
    ns as f64 / 1000.0
}

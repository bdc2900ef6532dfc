//! The device's history before a run, and its counters' check against it.

use crate::record::PreconditionRecord;
use crate::stack::Engine;
use nandlab_nand::ERASE_SHARE;

/// A device's history before a run; empty for an erased device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Begun {
    /// Preconditioning cost.
    pub(crate) cost: Option<PreconditionRecord>,
    pub(crate) erases: u64,
    pub(crate) programmed_pages: u64,
    /// Sectors written by the preconditioning.
    pub(crate) written_sectors: u64,
    /// True if static wear levelling moved data, or may have.
    pub(crate) is_levelled: bool,
}

/// Asserts that the device's counters agree with its contents, over its whole life.
///
/// Each program is in a page that was erased since, or is programmed now; each erase is a P/E cycle of one
/// block; the counts by origin and cause add up to the operations. If this fails, the run would report
/// impossible numbers, so it stops.
pub(crate) fn assert_conservation(engine: &mut dyn Engine, pages_per_block: u32, begun: Begun) {
    let total = engine.matrix().total();
    let chip = engine.chip();
    let Begun { erases: before, programmed_pages, .. } = begun;
    let erases: u64 = chip.pe_cycles().iter().map(|&cycles| u64::from(cycles)).sum::<u64>() - before;
    assert_eq!(total.erase_shares, erases * ERASE_SHARE, "the erases by origin and cause sum to those of the blocks");
    let in_pages = u64::from(pages_per_block) * erases + chip.programmed_pages();
    let in_pages = in_pages.checked_sub(chip.unused_at_erase() + programmed_pages);
    assert_eq!(
        Some(total.programs()),
        in_pages,
        "programs = pages per block x erases + programmed pages - pages unused at their erase"
    );
}

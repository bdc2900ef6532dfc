//! What the records of an image tell of the work on its flash.

use super::cut::{Cut, Unsure};
use super::error::BackedError;
use super::file::ImageFile;
use super::layout::{Header, BLOCK_BYTES};
use super::pairs::Picked;
use super::records::{programmed, BlockRecord, Found, Stored};
use super::shared::Shared;
use super::work::Work;
use crate::address::{BlockId, Ppa};
use std::io;

impl ImageFile {
    /// The same as the records in the file have it, for an image that no process has open.
    ///
    /// # Errors
    /// [`BackedError::Io`].
    pub fn recorded_work(&self) -> Result<Work, BackedError> {
        recorded(&self.0).map_err(|source| self.0.error("read", source))
    }
}

/// What the records in the file tell.
pub(super) fn recorded(shared: &Shared) -> io::Result<Work> {
    let mut cut = Cut::new(shared.read_marks()?.start());
    let records = block_records(shared)?;
    let mut work = Work::default();
    for (block, bytes) in (0..).map(BlockId).zip(records.bytes.chunks_exact(BLOCK_BYTES)) {
        let Ok(Some(record)) = BlockRecord::from_bytes(bytes, block) else { continue };
        work.programs += record.programs;
        work.erases += u64::from(record.pe_cycles);
        if !record.is_bad {
            let slots = page_records(shared, block)?.bytes;
            let found = found_in(shared, block, &record, &slots);
            if cut.is_sure(&found, || Unsure { block, record, slots }) {
                work.programs += found.len() as u64;
            }
        }
    }
    let (_, blocks, _) = cut.end(&shared.header.geometry, &shared.layout);
    for Unsure { block, record, slots } in blocks {
        work.programs += found_in(shared, block, &record, &slots).len() as u64;
    }
    Ok(work)
}

/// The programmed pages of a block, from its records.
pub(super) fn found_in(shared: &Shared, block: BlockId, record: &BlockRecord, slots: &[u8]) -> Vec<(u32, Found)> {
    let Header { geometry, rules, .. } = &shared.header;
    let first = (geometry.page(block, 0), shared.layout.slot);
    programmed(slots, first, record.pe_cycles, geometry.page_bytes(), rules.program_order)
}

/// The records of all blocks.
pub(super) fn block_records(shared: &Shared) -> io::Result<Picked> {
    let length = shared.header.geometry.blocks() as usize * BLOCK_BYTES;
    let kind = |block: usize, bytes: &[u8]| Stored::of_block(bytes, BlockId(block as u32));
    Picked::read(shared, (shared.layout.blocks, length), BLOCK_BYTES, kind)
}

/// The records of a block's pages.
pub(super) fn page_records(shared: &Shared, block: BlockId) -> io::Result<Picked> {
    let geometry = &shared.header.geometry;
    let (first, slot) = (geometry.page(block, 0), shared.layout.slot);
    let length = geometry.pages_per_block() as usize * slot;
    let kind = |page: usize, bytes: &[u8]| Stored::of_page(bytes, Ppa(first.0 + page as u32));
    Picked::read(shared, (shared.layout.page(first), length), slot, kind)
}

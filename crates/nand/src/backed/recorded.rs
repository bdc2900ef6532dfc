//! What the records of an image tell of the work on its flash.

use super::error::BackedError;
use super::layout::BLOCK_BYTES;
use super::records::{programmed, BlockRecord};
use super::shared::{ImageFile, Shared};
use super::work::Work;
use crate::address::BlockId;
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
    let (geometry, rules) = (&shared.header.geometry, &shared.header.rules);
    let mut records = vec![0; geometry.blocks() as usize * BLOCK_BYTES];
    shared.read_at(shared.layout.blocks, &mut records)?;
    let mut slots = vec![0; geometry.pages_per_block() as usize * shared.layout.slot];
    let mut work = Work::default();
    for (block, bytes) in (0..).map(BlockId).zip(records.chunks_exact(BLOCK_BYTES)) {
        let Ok(Some(record)) = BlockRecord::from_bytes(bytes) else { continue };
        work.programs += record.programs;
        work.erases += u64::from(record.pe_cycles);
        if !record.is_bad {
            shared.read_at(shared.layout.page(geometry.page(block, 0)), &mut slots)?;
            let order = rules.program_order;
            let pages = programmed(&slots, shared.layout.slot, record.pe_cycles, geometry.page_bytes(), order);
            work.programs += pages.len() as u64;
        }
    }
    Ok(work)
}

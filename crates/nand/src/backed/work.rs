//! Programs and erases since an image was made, as its records tell them.
//!
//! Each erase is a P/E cycle of a block. Each program is a page that is programmed now, or one of those that the record of
//! its block counts at the erase. So the counts are those of the flash after a kill, too.

use super::layout::BLOCK_BYTES;
use super::records::{programmed, BlockRecord};
use super::shared::Shared;
use crate::address::BlockId;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Programs and erases since an image was made, those of mounts included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Programs of pages, copies included.
    pub programs: u64,
    /// Erases of blocks.
    pub erases: u64,
}

impl Work {
    /// What was done since `before`; nothing where a damaged record hides it.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            programs: self.programs.saturating_sub(before.programs),
            erases: self.erases.saturating_sub(before.erases),
        }
    }
}

/// The same, counted on.
#[derive(Debug, Default)]
pub(super) struct Counter {
    programs: AtomicU64,
    erases: AtomicU64,
}

impl Counter {
    pub fn add(&self, programs: u64, erases: u64) {
        self.programs.fetch_add(programs, Ordering::Relaxed);
        self.erases.fetch_add(erases, Ordering::Relaxed);
    }

    pub fn get(&self) -> Work {
        Work { programs: self.programs.load(Ordering::Relaxed), erases: self.erases.load(Ordering::Relaxed) }
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

//! Programs after the first one that the end of a process left out.
//!
//! The records of a few programs are written together, in any order. If the process ends among them, the file may have
//! a later program's record and not an earlier one's. Programs have numbers without gaps, so the first missing one is
//! seen, and everything after it is taken as never programmed. That needs a start: a number up to which all programs
//! are known to be written, with their records. [`Marks`](super::marks::Marks) keep one in the file before anything
//! removes a record, so no number behind it is missing for another reason.

use super::layout::Layout;
use super::records::{BlockRecord, Found, PageRecord};
use crate::address::{BlockId, Geometry, Ppa};

/// A block with pages that may be cut off, and its pages' records.
#[derive(Debug)]
pub(super) struct Unsure {
    pub block: BlockId,
    pub record: BlockRecord,
    pub slots: Vec<u8>,
}

/// The programs behind a number.
#[derive(Debug)]
pub(super) struct Cut {
    /// All programs up to this one are in the file; `None`: nobody knows, and nothing is cut off.
    written: Option<u64>,
    /// The numbers of later ones that are in the file.
    later: Vec<u64>,
    blocks: Vec<Unsure>,
}

impl Cut {
    pub fn new(written: Option<u64>) -> Self {
        Self { written, later: Vec::new(), blocks: Vec::new() }
    }

    /// Whether a block's pages `found` are all surely there. A block with others waits for [`Self::end`].
    pub fn is_sure(&mut self, found: &[(u32, Found)], unsure: impl FnOnce() -> Unsure) -> bool {
        let Some(written) = self.written else { return true };
        let before = self.later.len();
        self.later.extend(found.iter().filter_map(|(_, found)| match found {
            Found::Page(record) => record.number.after(written),
            Found::Torn => None,
        }));
        let is_sure = self.later.len() == before;
        if !is_sure {
            self.blocks.push(unsure());
        }
        is_sure
    }

    /// The last program that is there with all before it, the blocks that waited, and the pages cut off from them: their
    /// records are zeros now.
    pub fn end(mut self, geometry: &Geometry, layout: &Layout) -> (u64, Vec<Unsure>, Vec<Ppa>) {
        let written = self.written.unwrap_or(0);
        self.later.sort_unstable();
        let last = self.later.iter().zip(written + 1..).take_while(|(number, next)| **number == *next).count();
        let last = written + last as u64;
        let mut cut = Vec::new();
        for unsure in &mut self.blocks {
            let first = geometry.page(unsure.block, 0);
            for (at, slot) in (first.0..).map(Ppa).zip(unsure.slots.chunks_exact_mut(layout.slot)) {
                let Ok(Some(record)) = PageRecord::from_slot(slot, at) else { continue };
                let is_programmed = record.generation == unsure.record.pe_cycles.wrapping_add(1);
                if is_programmed && record.number.after(last).is_some() {
                    slot.fill(0);
                    cut.push(at);
                }
            }
        }
        (last, self.blocks, cut)
    }
}

//! Trim notes in separate blocks.
//!
//! A segment's newest note is live. The store fills note blocks one after the other; when all are full, it
//! renews the one with the fewest live notes. There is room for two notes per segment, so that block is at most
//! half live.

use super::Store;
use crate::parts::blocks::frontier::Frontier;
use crate::parts::blocks::scan::{BlockScan, Scans};
use crate::parts::trim_note;
use crate::FtlError;
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa};
use std::collections::BTreeSet;

/// Where the notes are, and the segments due for a new one.
#[derive(Debug)]
pub(super) struct Notes {
    geometry: Geometry,
    pages_per_segment: u32,
    /// Each segment's live note.
    live: Vec<Ppa>,
    /// Segments with trims without a note.
    changed: BTreeSet<u32>,
    /// Segments whose live note must leave its block; they come first.
    moving: BTreeSet<u32>,
    blocks: Vec<BlockId>,
    frontier: Frontier,
    /// Blocks among `blocks` with a failed program.
    failed: BTreeSet<BlockId>,
    most_blocks: u32,
    durable: bool,
}

/// Most blocks for notes on this many logical pages, without the additional one during a renewal.
pub(super) fn most_blocks(geometry: &Geometry, logical_pages: u32) -> u32 {
    (2 * trim_note::segments(geometry, logical_pages)).div_ceil(geometry.pages_per_block())
}

impl Notes {
    pub(super) fn new(geometry: &Geometry, logical_pages: u32, durable: bool) -> Self {
        Self {
            geometry: *geometry,
            pages_per_segment: trim_note::pages_per_segment(geometry),
            live: vec![Ppa::NONE; trim_note::segments(geometry, logical_pages) as usize],
            changed: BTreeSet::new(),
            moving: BTreeSet::new(),
            blocks: Vec::new(),
            frontier: Frontier::none(),
            failed: BTreeSet::new(),
            most_blocks: if durable { most_blocks(geometry, logical_pages) } else { 0 },
            durable,
        }
    }

    pub(super) fn most_blocks(&self) -> u32 {
        self.most_blocks
    }

    /// Blocks still reserved for notes.
    pub(super) fn unclaimed(&self) -> u32 {
        self.most_blocks.saturating_sub(self.blocks.len() as u32)
    }

    pub(super) fn blocks(&self) -> &[BlockId] {
        &self.blocks
    }

    pub(super) fn live(&self) -> impl Iterator<Item = (u32, Ppa)> + '_ {
        (0..).zip(self.live.iter().copied()).filter(|(_, page)| page.is_some())
    }

    pub(super) fn bytes(&self) -> u64 {
        4 * self.live.len() as u64
    }

    /// Notes a trimmed page.
    pub(super) fn trimmed(&mut self, at: Lpn) {
        if self.durable {
            self.changed.insert(at.0 / self.pages_per_segment);
        }
    }

    fn live_in(&self, block: BlockId) -> impl Iterator<Item = u32> + '_ {
        self.live().filter(move |&(_, page)| self.geometry.block_of(page) == block).map(|(segment, _)| segment)
    }

    /// Whether a renewal was cut: it takes one block before it gives back another.
    fn has_too_many_blocks(&self) -> bool {
        self.blocks.len() as u32 > self.most_blocks
    }

    /// Schedules the block with the fewest live notes for renewal.
    fn renew_one(&mut self) {
        let full = self.blocks.iter().filter(|&&block| block != self.frontier.block);
        if let Some(&victim) = full.min_by_key(|&&block| (self.live_in(block).count(), block)) {
            let moving: Vec<u32> = self.live_in(victim).collect();
            self.moving.extend(moving);
        }
    }

    /// The next segment due for a note.
    fn next(&self) -> Option<u32> {
        self.moving.first().or_else(|| self.changed.first()).copied()
    }

    /// Handles a failed program in the frontier: its live notes move elsewhere.
    fn frontier_failed(&mut self) {
        let failed = std::mem::replace(&mut self.frontier, Frontier::none()).block;
        let moving: Vec<u32> = self.live_in(failed).collect();
        self.moving.extend(moving);
        self.failed.insert(failed);
    }

    /// Removes a block without live notes from the list; returns it, and whether it has failed.
    fn take_empty(&mut self) -> Option<(BlockId, bool)> {
        let empty = |&&block: &&BlockId| block != self.frontier.block && self.live_in(block).next().is_none();
        let block = *self.blocks.iter().find(empty)?;
        self.blocks.retain(|&other| other != block);
        Some((block, self.failed.remove(&block)))
    }

    /// Takes over the blocks with live notes found by a mount.
    fn adopt(&mut self) {
        self.blocks = self.live().map(|(_, page)| self.geometry.block_of(page)).collect();
        self.blocks.sort_unstable();
        self.blocks.dedup();
    }
}

impl Store {
    /// Writes the due notes.
    pub(crate) fn write_notes<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        if self.notes.has_too_many_blocks() {
            self.notes.renew_one();
        }
        if self.notes.next().is_none() {
            return Ok(());
        }
        scoped(nand, Cause::Trim, |nand| loop {
            while let Some(segment) = self.notes.next() {
                if self.notes.frontier.is_full() {
                    self.open_note_block(nand)?;
                } else {
                    self.write_note(nand, segment)?;
                }
            }
            // From now on a note hides the pinned copies.
            for (_, page) in std::mem::take(&mut self.pinned) {
                self.valid.remove(self.geometry.block_of(page), self.geometry.page_in_block(page));
            }
            self.release_note_blocks(nand)?;
            if !self.notes.has_too_many_blocks() {
                return Ok(());
            }
            // A mount closed a block with few notes. The notes of the next block go to the open one.
            self.notes.renew_one();
        })
    }

    fn open_note_block<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.notes.frontier = Frontier::none();
        self.release_note_blocks(nand)?;
        if self.notes.unclaimed() == 0 {
            self.notes.renew_one();
        }
        let block = self.take(nand, BlockId::NONE)?;
        self.notes.blocks.push(block);
        self.notes.frontier = Frontier::at_start(&self.geometry, block);
        Ok(())
    }

    fn write_note<N: Nand>(&mut self, nand: &mut N, segment: u32) -> Result<(), FtlError> {
        let note = self.note(segment);
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        let (to, aux) = self.notes.frontier.take();
        let oob = Oob { aux, kind: Kind::TrimNote, ..Oob::data(Lpn(segment), self.next_seq(), Origin::FTL) };
        match nand.program(to, &blank, &note, oob) {
            Ok(_) => {
                // The previous note hid a page's contents, and the page was written since: this write must be
                // on flash before the note's block is erased.
                self.keeper.noted(nand.ctx().last().max(self.mapped));
                self.settle_later(nand);
                self.notes.live[segment as usize] = to;
                self.notes.changed.remove(&segment);
                self.notes.moving.remove(&segment);
                Ok(())
            }
            Err(NandError::ProgramFailed(_)) => {
                self.notes.frontier_failed();
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A segment's note for the current map.
    fn note(&self, segment: u32) -> Vec<u8> {
        let mut note = trim_note::blank(&self.geometry, self.keeper.seq());
        let bits = trim_note::bits_mut(&mut note);
        let first = segment * self.notes.pages_per_segment;
        let end = self.logical_pages().min(first.saturating_add(self.notes.pages_per_segment));
        for bit in (first..end).filter(|&at| !self.lookup(Lpn(at)).is_some()).map(|at| at - first) {
            bits[bit as usize / 8] |= 1 << (bit % 8);
        }
        note
    }

    /// Releases note blocks with superseded notes only.
    fn release_note_blocks<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while let Some((block, failed)) = self.notes.take_empty() {
            if failed {
                self.keeper.retire(nand, block)?;
            } else {
                self.release(nand, block)?;
            }
        }
        Ok(())
    }

    /// Finds the live notes. Returns, by logical page, the sequence number below which its copies are hidden, and whether
    /// a note cannot be read.
    pub(super) fn adopt_notes<N: Nand>(&mut self, nand: &mut N, scans: &Scans) -> Result<(Vec<u64>, bool), FtlError> {
        let mut notes: Vec<(u64, u32, Ppa)> = Vec::new();
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            let found = scan.iter().flat_map(BlockScan::notes);
            notes.extend(found.map(|page| (page.oob.seq.0, page.oob.lpn.0, self.geometry.page(block, page.place))));
        }
        notes.sort_unstable();
        let mut hidden = vec![0; self.map.len()];
        let mut note = vec![0; self.geometry.page_bytes() as usize];
        let mut is_lost = false;
        for (_, segment, at) in notes {
            match nand.read_tail(at, &mut note) {
                Ok(_) => {}
                Err(NandError::Uncorrectable(_)) => {
                    is_lost = true;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            let (seq, unmapped) = trim_note::read(&note);
            let first = segment * self.notes.pages_per_segment;
            for bit in unmapped {
                if let Some(hidden) = hidden.get_mut((first + bit) as usize) {
                    *hidden = seq.max(*hidden);
                }
            }
            if self.notes.durable {
                self.notes.live[segment as usize] = at;
            }
        }
        self.notes.adopt();
        Ok((hidden, is_lost))
    }
}

//! The `yaffs2` scan: blocks by sequence number, backwards, so the first copy found is the newest.

use super::blocks::State;
use super::mount::{Copy, Found, Scan, Shadow, Traces};
use super::Yaffs;
use crate::parts::chunks::Chunked;
use crate::parts::tags::Tags;
use crate::FsError;
use nandlab_nand::{BlockId, Kind, Nand, Oob, Ppa};

/// Scan results so far.
#[derive(Default)]
pub(super) struct Backwards {
    pub(super) scan: Scan,
    pub(super) shadows: Vec<Shadow>,
    /// Chunks whose newest page was torn.
    pub(super) torn: Vec<Tags>,
    /// True once a readable page was found; until then, a power cut may have torn the current page.
    pub(super) has_end: bool,
}

/// Block information from each block's first page.
pub(super) struct Heads {
    /// Used blocks with their sequence number.
    pub(super) used: Vec<(u32, BlockId)>,
    /// Blocks that begin with a checkpoint page: sequence number, chunk, block.
    pub(super) checkpoint: Vec<(u32, u32, BlockId)>,
    pub(super) looks_erased: Vec<bool>,
    pub(super) bad: Vec<BlockId>,
}

impl<N: Nand> Yaffs<N> {
    /// Restores a checkpoint, or reads the spare areas in all used blocks and rebuilds the tables.
    pub(super) fn scan_large(&mut self) -> Result<(), FsError> {
        let mut heads = self.read_heads()?;
        for &block in &heads.bad {
            self.blocks.set_state(block, State::Bad);
        }
        let is_blank =
            self.blocks.iter().all(|(block, entry)| entry.state == State::Bad || heads.looks_erased[block.index()]);
        if is_blank || self.restore_checkpoint(&heads)? {
            return Ok(());
        }
        heads.used.sort_unstable();
        let newest = heads.used.last().copied();
        let voided = heads.checkpoint.iter().map(|&(sequence, ..)| sequence);
        self.sequence = voided.chain(newest.map(|(sequence, _)| sequence)).max().map_or(1, |sequence| sequence + 1);
        for block in (0..self.geometry.blocks()).map(BlockId) {
            if self.blocks.get(block).state != State::Bad {
                self.blocks.set_state(block, State::Empty { erased: false });
            }
        }
        let mut found = Backwards::default();
        for &(sequence, block) in heads.used.iter().rev() {
            self.blocks.change(block, |entry| entry.sequence = sequence);
            let programmed = self.scan_back(block, &mut found)?;
            self.set_used(block, programmed, Some((sequence, block)) == newest);
        }
        self.choose_first_block(newest.map(|(_, block)| block), &heads.looks_erased);
        let strays = self.adopt_scan(found.scan)?;
        for tags in found.torn {
            self.supersede(tags)?;
        }
        for copy in strays {
            if self.objects.known(copy.tags.object).is_none() {
                self.supersede(Tags::new(copy.tags.object, 0, 0))?;
            }
        }
        self.settle(found.shadows)
    }

    /// Reads the spare area of each block's first page, and of later pages if that one is unreadable.
    fn read_heads(&mut self) -> Result<Heads, FsError> {
        let blocks = self.geometry.blocks();
        let mut heads = Heads {
            used: Vec::new(),
            checkpoint: Vec::new(),
            looks_erased: vec![false; blocks as usize],
            bad: Vec::new(),
        };
        for block in (0..blocks).map(BlockId) {
            for at in self.pages_of(block) {
                match self.look(at)? {
                    None => heads.bad.push(block),
                    Some(Found::Unreadable) => continue,
                    Some(Found::Erased) => heads.looks_erased[block.index()] = at == self.geometry.page(block, 0),
                    Some(Found::Page(oob)) => {
                        let tags = Tags::from_oob(false, &oob);
                        if oob.kind == Kind::Checkpoint {
                            heads.checkpoint.push((tags.sequence, tags.chunk, block));
                        } else {
                            heads.used.push((tags.sequence, block));
                        }
                    }
                }
                break;
            }
        }
        Ok(heads)
    }

    /// Scans a block's pages, last first; returns the programmed page count.
    pub(super) fn scan_back(&mut self, block: BlockId, found: &mut Backwards) -> Result<u32, FsError> {
        let mut programmed = 0;
        let pages: Vec<Ppa> = self.pages_of(block).collect();
        for (page, at) in (1..pages.len() as u32 + 1).zip(pages).rev() {
            let what = self.look(at)?;
            if programmed == 0 && what != Some(Found::Erased) {
                programmed = page;
            }
            let Some(Found::Page(oob)) = what else { continue };
            let tags = Tags::from_oob(false, &oob);
            if tags.shrinks {
                self.blocks.change(block, |entry| entry.shrinks = true);
            }
            if !found.has_end {
                if !self.is_readable(at)? {
                    found.torn.push(tags);
                    continue;
                }
                found.has_end = true;
            }
            self.take_page(Copy { at, tags, lost: oob.kind == Kind::Lost }, &oob, found)?;
        }
        Ok(programmed)
    }

    /// Adds a page; it is older than all previous ones.
    fn take_page(&mut self, copy: Copy, oob: &Oob, found: &mut Backwards) -> Result<(), FsError> {
        let Tags { object, chunk, bytes, shrinks, .. } = copy.tags;
        let traces = found.scan.entry(object).or_default();
        if oob.kind == Kind::Header {
            if (traces.header.is_some() || traces.is_headless) && !shrinks {
                return Ok(());
            }
            let Some(header) = self.load_header(copy.at)? else {
                traces.is_uncut |= shrinks;
                traces.is_headless |= traces.header.is_none();
                return Ok(());
            };
            if shrinks {
                traces.limit = Some(traces.limit.unwrap_or(u64::MAX).min(header.size));
            }
            if traces.header.is_none() && !traces.is_headless {
                if header.shadows != 0 {
                    found.shadows.push(Shadow::of(object, &header));
                }
                traces.header = Some((copy, header));
            }
            return Ok(());
        }
        if chunk == 0 {
            return Ok(());
        }
        let base = self.base_of(chunk);
        if Self::is_void(traces, chunk, base, bytes) {
            return Ok(());
        }
        if traces.header.is_none() && bytes > 0 {
            traces.extent = traces.extent.max(base + u64::from(bytes));
        }
        traces.chunks.insert(chunk, copy);
        Ok(())
    }

    /// Whether a chunk is void because of a newer page or header.
    fn is_void(traces: &Traces, chunk: u32, base: u64, bytes: u32) -> bool {
        let is_cut = traces.limit.is_some_and(|limit| base >= limit);
        let is_behind = traces.header.as_ref().is_some_and(|(_, header)| base >= header.size) && bytes > 0;
        is_cut || is_behind || traces.chunks.contains_key(&chunk)
    }
}

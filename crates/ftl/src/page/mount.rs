//! Recovery of the page map from flash alone.

use super::trim_notes::{self, TrimNotes};
use super::{Config, Die, FreeBlock, PageMap};
use crate::parts::block_table::BlockTable;
use crate::parts::frontier::{Frontier, RESUMED};
use crate::{Events, Ftl, FtlError};
use nandlab_nand::{BlockId, Geometry, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa};
use std::collections::VecDeque;

/// What the spare areas of one block say.
struct BlockScan {
    /// Metadata of the readable pages that are whole.
    pages: Vec<(u32, Oob)>,
    /// Pages up to the last that is not erased.
    used: u32,
    /// The highest sequence number, torn pages included: it is not given out again.
    highest: u64,
    /// Whether all of them could be read; a block with others is filled no further.
    tidy: bool,
}

/// The newest copy of each logical page, and the notes.
struct Newest {
    map: Vec<Ppa>,
    seqs: Vec<u64>,
    notes: Vec<(Lpn, Ppa)>,
    highest: u64,
}

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<PageMap, FtlError> {
    let geometry = *nand.geometry();
    let most = PageMap::max_logical_pages(&geometry, nand.rules(), config)?;
    if logical_pages > most {
        return Err(FtlError::Config(format!(
            "{logical_pages} logical pages are more than a page map with ftl.page.reserve_blocks = {} can export on \
             this device ({most} of {} pages); take a smaller capacity, a larger device or a smaller reserve",
            config.reserve_blocks,
            geometry.pages()
        )));
    }
    // What a mount finds must stay: a block of older copies is erased without another fence, and what was read once is
    // there for good. Without a cut before it, programs may still be under way.
    nand.ctx().fence();
    let mut scans = Vec::with_capacity(geometry.blocks() as usize);
    for block in (0..geometry.blocks()).map(BlockId) {
        scans.push(scan_block(nand, block)?);
    }
    let newest = newest_copies(&geometry, logical_pages, trim_notes::segments(&geometry, logical_pages), &scans)?;
    let mut ftl = blank(&geometry, logical_pages, config, newest.highest + 1);
    let newest = ftl.adopt_notes(nand, newest)?;
    ftl.adopt(&scans, newest);
    ftl.refuse_worn_out()?;
    Ok(ftl)
}

/// Reads the spare areas of a block and verifies the pages that a cut may have torn; `None`: a bad block.
fn scan_block<N: Nand>(nand: &mut N, block: BlockId) -> Result<Option<BlockScan>, FtlError> {
    let geometry = *nand.geometry();
    let mut scan = BlockScan { pages: Vec::new(), used: 0, highest: 0, tidy: true };
    let mut gap = false;
    // The page below the one in hand, if it is whole as far as its spare area tells.
    let mut below: Option<(u32, Oob)> = None;
    for page in 0..geometry.pages_per_block() {
        let at = geometry.page(block, page);
        match nand.read_spare(at) {
            Err(NandError::BadBlock(_)) => return Ok(None),
            Ok(None) => {
                gap = true;
                continue;
            }
            Ok(Some(oob)) => {
                let suspect = oob.aux & RESUMED != 0;
                take(nand, block, &mut scan, below.replace((page, oob)), suspect)?;
            }
            Err(NandError::Uncorrectable(_)) => take(nand, block, &mut scan, below.take(), true)?,
            Err(error) => return Err(error.into()),
        }
        // Pages are filled in order, so something beyond an erased page is left from a torn erase.
        scan.tidy &= !gap;
        scan.used = page + 1;
    }
    take(nand, block, &mut scan, below, true)?;
    Ok(Some(scan))
}

/// Adds a page to the scan; one that may be torn is read in full first.
fn take<N: Nand>(
    nand: &mut N,
    block: BlockId,
    scan: &mut BlockScan,
    page: Option<(u32, Oob)>,
    suspect: bool,
) -> Result<(), FtlError> {
    let Some((page, oob)) = page else { return Ok(()) };
    scan.highest = scan.highest.max(oob.seq.0);
    if suspect {
        let geometry = *nand.geometry();
        let mut contents = N::Buf::zeroed(geometry.page_bytes());
        match nand.read(geometry.page(block, page), &mut contents) {
            Ok(_) => {}
            Err(NandError::Uncorrectable(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    scan.pages.push((page, oob));
    Ok(())
}

fn newest_copies(
    geometry: &Geometry,
    logical_pages: u32,
    segments: usize,
    scans: &[Option<BlockScan>],
) -> Result<Newest, FtlError> {
    let count = logical_pages as usize;
    let mut newest = Newest { map: vec![Ppa::NONE; count], seqs: vec![0; count], notes: Vec::new(), highest: 0 };
    for (block, scan) in (0..).map(BlockId).zip(scans) {
        let Some(scan) = scan else { continue };
        newest.highest = newest.highest.max(scan.highest);
        for &(page, oob) in &scan.pages {
            let at = geometry.page(block, page);
            if oob.seq.0 == 0 {
                return Err(FtlError::Config(format!(
                    "page {at} carries no sequence number: a lean device that was written cannot be mounted again"
                )));
            }
            let (is_note, limit) = if oob.kind == Kind::TrimNote { (true, segments) } else { (false, count) };
            if oob.lpn.index() >= limit {
                return Err(FtlError::Config(format!(
                    "page {at} belongs to logical page {} or beyond and {logical_pages} are exported: the device was \
                     used with a larger capacity",
                    oob.lpn
                )));
            }
            if is_note {
                newest.notes.push((oob.lpn, at));
            } else if oob.seq.0 > newest.seqs[oob.lpn.index()] {
                newest.map[oob.lpn.index()] = at;
                newest.seqs[oob.lpn.index()] = oob.seq.0;
            }
        }
    }
    Ok(newest)
}

fn blank(geometry: &Geometry, logical_pages: u32, config: &Config, seq: u64) -> PageMap {
    let dies = (0..geometry.dies()).map(|die| Die {
        blocks: geometry.blocks_of_die(die),
        host: Frontier::none(),
        gc: Frontier::none(),
        free: VecDeque::new(),
        relocation: None,
        failing: VecDeque::new(),
        bad: 0,
    });
    PageMap {
        map: vec![Ppa::NONE; logical_pages as usize],
        table: BlockTable::new(geometry),
        dies: dies.collect(),
        turn: geometry.dies() as usize - 1,
        seq,
        geometry: *geometry,
        full: geometry.full_mask(),
        reserve: config.reserve_blocks as usize,
        valid_pages: config.valid_pages,
        policy: config.victim.policy(),
        notes: TrimNotes::new(geometry, logical_pages, config.durable_trim),
        superseded: vec![0; geometry.blocks() as usize],
        mapped: 0,
        noted: 0,
        events: Events::default(),
    }
}

impl PageMap {
    /// Applies the notes to the copies and keeps the newest note of each segment.
    fn adopt_notes<N: Nand>(&mut self, nand: &mut N, mut newest: Newest) -> Result<Newest, FtlError> {
        let mut note = vec![0; self.geometry.page_bytes() as usize];
        let mut ages = vec![0; self.notes.segments()];
        for (segment, at) in std::mem::take(&mut newest.notes) {
            match nand.read_tail(at, &mut note) {
                Ok(_) => {}
                Err(NandError::Uncorrectable(_)) => continue,
                Err(error) => return Err(error.into()),
            }
            let (seq, unmapped) = self.notes.read(segment.0, &note);
            for lpn in unmapped {
                if newest.seqs.get(lpn.index()).is_some_and(|&copy| copy < seq) {
                    newest.map[lpn.index()] = Ppa::NONE;
                }
            }
            if ages[segment.index()] <= seq {
                ages[segment.index()] = seq;
                *self.notes.entry(segment) = at;
            }
        }
        Ok(newest)
    }

    /// Sets the valid bits and sorts the blocks into free ones, frontiers, closed and bad ones.
    fn adopt(&mut self, scans: &[Option<BlockScan>], newest: Newest) {
        let in_use = scans.iter().flatten().any(|scan| scan.used > 0);
        for block in 0..self.geometry.blocks() {
            self.table.found(BlockId(block));
        }
        let live: Vec<_> = self.notes.live().collect();
        for (_, page) in live {
            self.table.set_valid(page);
        }
        for &page in newest.map.iter().filter(|page| page.is_some()) {
            self.table.set_valid(page);
        }
        self.map = newest.map;
        self.notes.follow(&self.map);
        let mut untouched = vec![0; self.dies.len()];
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            let die = self.geometry.die_of(block) as usize;
            match scan {
                None => {
                    self.table.set_bad(block);
                    self.dies[die].bad += 1;
                }
                Some(scan) if self.table.valid_pages(block) == 0 => {
                    self.table.set_free(block);
                    let free = FreeBlock { block, erased: !in_use };
                    // Blocks that look erased are taken first: were the only block with anything in it erased
                    // and the erase cut, the device would look blank and its weak block sound.
                    if scan.used == 0 {
                        let at = untouched[die];
                        self.dies[die].free.insert(at, free);
                        untouched[die] += 1;
                    } else {
                        self.dies[die].free.push_back(free);
                    }
                }
                Some(_) => {}
            }
        }
        for die in 0..self.dies.len() {
            self.resume(die, scans);
        }
    }

    /// Fills the two blocks with the most room further: the roomiest for relocation, the other for the host.
    fn resume(&mut self, die: usize, scans: &[Option<BlockScan>]) {
        let pages = self.geometry.pages_per_block();
        let mut partial: Vec<(u32, BlockId)> = self.dies[die]
            .blocks
            .clone()
            .map(BlockId)
            .filter_map(|block| match &scans[block.index()] {
                Some(scan) if scan.tidy && scan.used < pages && self.table.valid_pages(block) > 0 => {
                    Some((scan.used, block))
                }
                _ => None,
            })
            .collect();
        partial.sort_unstable();
        let mut resumed = partial.into_iter().map(|(used, block)| {
            self.table.set_closed(block, false);
            Frontier::resumed(&self.geometry, block, used)
        });
        if let Some(gc) = resumed.next() {
            self.dies[die].gc = gc;
        }
        if let Some(host) = resumed.next() {
            self.dies[die].host = host;
        }
    }
}

//! Recovery of the block map from flash.

use super::fill::{Fill, MERGED};
use super::free_blocks::FreeBlocks;
use super::notes::Notes;
use super::page_bits::PageBits;
use super::{BlockMap, Config, Entry};
use crate::parts::frontier::RESUMED;
use crate::{Events, Ftl, FtlError};
use nandlab_nand::{BlockId, Geometry, Kind, Nand, NandError, Oob, PageBuf, Ppa};
use std::collections::BTreeSet;

/// A page that can be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) place: u32,
    pub(super) oob: Oob,
}

/// What a mount found in a block.
#[derive(Debug)]
pub(super) struct Scan {
    /// The pages that are whole, in the order in which they were programmed.
    pub(super) pages: Vec<Found>,
    /// Pages up to the last that is not erased.
    pub(super) used: u32,
    /// Whether an erased page lies below a programmed one: a torn erase may have left the block so.
    gaps: bool,
    /// The highest sequence number, those of torn pages included.
    highest: u64,
}

impl Scan {
    /// Whether the block may be filled further.
    pub(super) fn can_resume(&self, geometry: &Geometry) -> bool {
        !self.gaps && self.used < geometry.pages_per_block()
    }

    /// Whether one of the pages carries the mark of a complete merge.
    fn completes_a_merge(&self) -> bool {
        self.pages.iter().any(|page| page.oob.aux & MERGED != 0)
    }

    /// The pages of the host.
    fn host_pages(&self) -> impl Iterator<Item = &Found> {
        self.pages.iter().filter(|page| matches!(page.oob.kind, Kind::Data | Kind::Lost))
    }
}

/// The newest copies that a block holds.
struct Holding {
    block: BlockId,
    pages: Vec<Found>,
}

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<BlockMap, FtlError> {
    let geometry = *nand.geometry();
    let most = BlockMap::max_logical_pages(&geometry, nand.rules(), config)?;
    if logical_pages > most {
        return Err(FtlError::Config(format!(
            "{logical_pages} logical pages are more than a block map with ftl.block.reserve_blocks = {} can export on \
             this device ({most} of {} pages); take a smaller capacity, a larger device or a smaller reserve",
            config.reserve_blocks,
            geometry.pages()
        )));
    }
    let mut scans = Vec::with_capacity(geometry.blocks() as usize);
    for block in (0..geometry.blocks()).map(BlockId) {
        scans.push(scan_block(nand, block)?);
    }
    refuse_foreign(&geometry, logical_pages, &scans)?;
    let mut ftl = blank(nand, logical_pages, config);
    ftl.seq = 1 + scans.iter().flatten().map(|scan| scan.highest).max().unwrap_or(0);
    let hidden = ftl.adopt_notes(nand, &scans)?;
    let superseded = ftl.adopt(&scans, &hidden)?;
    ftl.refuse_worn_out()?;
    for block in superseded {
        ftl.release(nand, block)?;
    }
    match ftl.give_back(nand) {
        // A reserve of one block may be gone: what is there can still be read, and the next write is refused.
        Ok(()) | Err(FtlError::WornOut { .. }) => Ok(ftl),
        Err(error) => Err(error),
    }
}

fn blank<N: Nand>(nand: &N, logical_pages: u32, config: &Config) -> BlockMap {
    let geometry = *nand.geometry();
    let order = nand.rules().program_order;
    BlockMap {
        map: vec![Entry::NONE; logical_pages.div_ceil(geometry.pages_per_block()) as usize],
        valid: PageBits::new(&geometry),
        fill: Fill::new(&geometry, order),
        free: FreeBlocks::new(&geometry),
        replaced: Vec::new(),
        notes: Notes::new(&geometry, logical_pages, config.durable_trim),
        seq: 1,
        config: config.clone(),
        logical_pages,
        geometry,
        full: geometry.full_mask(),
        dense: order == nandlab_nand::ProgramOrder::AscendingDense,
        events: Events::default(),
    }
}

/// Reads the spare areas of a block and verifies the pages that a cut may have torn; `None`: a bad block.
fn scan_block<N: Nand>(nand: &mut N, block: BlockId) -> Result<Option<Scan>, FtlError> {
    let geometry = *nand.geometry();
    let mut scan = Scan { pages: Vec::new(), used: 0, gaps: false, highest: 0 };
    for place in 0..geometry.pages_per_block() {
        match nand.read_spare(geometry.page(block, place)) {
            Err(NandError::BadBlock(_)) => return Ok(None),
            Ok(None) => continue,
            Ok(Some(oob)) => scan.pages.push(Found { place, oob }),
            Err(NandError::Uncorrectable(_)) => {}
            Err(error) => return Err(error.into()),
        }
        scan.gaps |= place > scan.used;
        scan.used = place + 1;
    }
    scan.pages.sort_unstable_by_key(|page| page.oob.seq);
    scan.highest = scan.pages.last().map_or(0, |page| page.oob.seq.0);
    let mut whole = Vec::with_capacity(scan.pages.len());
    for (at, &page) in scan.pages.iter().enumerate() {
        // The page programmed last before the power went: now, or when the next one got its mark.
        let suspect = scan.pages.get(at + 1).is_none_or(|next| next.oob.aux & RESUMED != 0);
        if !suspect || reads(nand, geometry.page(block, page.place))? {
            whole.push(page);
        }
    }
    scan.pages = whole;
    Ok(Some(scan))
}

fn reads<N: Nand>(nand: &mut N, at: Ppa) -> Result<bool, FtlError> {
    let mut contents = N::Buf::zeroed(nand.geometry().page_bytes());
    match nand.read(at, &mut contents) {
        Ok(_) => Ok(true),
        Err(NandError::Uncorrectable(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Refuses flash that a block map of this capacity did not write.
fn refuse_foreign(geometry: &Geometry, logical_pages: u32, scans: &[Option<Scan>]) -> Result<(), FtlError> {
    for (block, scan) in (0..).map(BlockId).zip(scans) {
        let pages = scan.iter().flat_map(|scan| &scan.pages);
        let mut holds = None;
        for &Found { place, oob } in pages {
            let (at, lpn) = (geometry.page(block, place), oob.lpn);
            let logical_block = geometry.block_of(Ppa(lpn.0));
            let note = oob.kind == Kind::TrimNote;
            let why = if oob.seq.0 == 0 {
                "carries no sequence number: a lean device that was written cannot be mounted again".into()
            } else if !note && lpn.0 >= logical_pages.next_multiple_of(geometry.pages_per_block()) {
                format!(
                    "holds logical page {lpn} and {logical_pages} are exported: the device was used with a larger capacity"
                )
            } else if !note && geometry.page_in_block(Ppa(lpn.0)) != place {
                format!("holds logical page {lpn}, out of its place: the device was used by another FTL")
            } else if *holds.get_or_insert((note, logical_block)) != (note, logical_block) && !note {
                format!("holds logical page {lpn} in a block of other pages: the device was used by another FTL")
            } else {
                continue;
            };
            return Err(FtlError::Config(format!("page {at} {why}")));
        }
    }
    Ok(())
}

impl BlockMap {
    /// Gives back what a cut merge or a cut renewal of notes holds beyond its share.
    fn give_back<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while self.free.count() < self.kept_free() && !self.replaced.is_empty() {
            self.reclaim(nand)?;
        }
        if self.notes.blocks().len() as u32 > self.notes.most_blocks() {
            self.write_notes(nand)?;
        }
        Ok(())
    }

    /// Sorts the blocks into those of logical blocks, of notes, free and bad ones; returns superseded ones that are
    /// to be erased, in that order.
    fn adopt(&mut self, scans: &[Option<Scan>], hidden: &[u64]) -> Result<Vec<BlockId>, FtlError> {
        let mut order: Vec<(BlockId, u64, BlockId)> = Vec::new();
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            let newest = scan.iter().flat_map(Scan::host_pages).last();
            order.extend(newest.map(|page| (self.geometry.block_of(Ppa(page.oob.lpn.0)), page.oob.seq.0, block)));
        }
        order.sort_unstable();
        let mut superseded = Vec::new();
        let mut used: BTreeSet<BlockId> = self.notes.blocks().iter().copied().collect();
        for group in order.chunk_by(|a, b| a.0 == b.0) {
            let blocks: Vec<BlockId> = group.iter().map(|&(_, _, block)| block).collect();
            self.adopt_logical_block(scans, hidden, group[0].0, &blocks, &mut superseded)?;
            used.extend(blocks);
        }
        self.adopt_free(scans, &used);
        Ok(superseded)
    }

    /// Maps a logical block that lies in `blocks`, the oldest first.
    fn adopt_logical_block(
        &mut self,
        scans: &[Option<Scan>],
        hidden: &[u64],
        logical_block: BlockId,
        blocks: &[BlockId],
        superseded: &mut Vec<BlockId>,
    ) -> Result<(), FtlError> {
        let mut holdings = newest_copies(&self.geometry, scans, hidden, blocks);
        if holdings.len() > 2 {
            // A full merge was cut: its target, the newest block, holds copies and a page that was not acknowledged.
            // Once it is complete the others may be erased in part, and hold only pages that were trimmed.
            let target = holdings[holdings.len() - 1].block;
            let is_complete = scans[target.index()].as_ref().is_some_and(Scan::completes_a_merge);
            let kept: Vec<BlockId> = blocks.iter().copied().filter(|&block| (block == target) == is_complete).collect();
            holdings = newest_copies(&self.geometry, scans, hidden, &kept);
        }
        if holdings.len() > 2 {
            return Err(FtlError::Config(format!(
                "logical block {logical_block} lies in {} blocks: the device was used by another FTL",
                holdings.len() + 1
            )));
        }
        superseded.extend(blocks.iter().filter(|&&block| holdings.iter().all(|holding| holding.block != block)));
        for Holding { block, pages } in &holdings {
            for page in pages {
                self.valid.insert(*block, page.place);
            }
            match &scans[block.index()] {
                Some(scan) if scan.can_resume(&self.geometry) => self.fill.resume(*block, scan.used),
                _ => self.fill.close(*block),
            }
        }
        let entry = &mut self.map[logical_block.index()];
        entry.data = holdings.first().map_or(BlockId::NONE, |holding| holding.block);
        entry.replacement = holdings.get(1).map_or(BlockId::NONE, |holding| holding.block);
        if entry.replacement.is_some() {
            self.replaced.push(logical_block.0);
        }
        Ok(())
    }

    fn adopt_free(&mut self, scans: &[Option<Scan>], used: &BTreeSet<BlockId>) {
        let blank = scans.iter().flatten().all(|scan| scan.used == 0);
        // Those that hold nothing come first: the erase of the only block that holds something may be cut.
        for programmed in [false, true] {
            for (block, scan) in (0..).map(BlockId).zip(scans) {
                match scan {
                    Some(scan) if (scan.used > 0) == programmed && !used.contains(&block) => {
                        self.free.add(block, blank);
                    }
                    Some(_) => {}
                    None => self.free.set_bad(block),
                }
            }
        }
    }
}

/// What each of `blocks`, the oldest first, holds of the newest copies; blocks that hold none are left out.
fn newest_copies(geometry: &Geometry, scans: &[Option<Scan>], hidden: &[u64], blocks: &[BlockId]) -> Vec<Holding> {
    let mut taken = vec![false; geometry.pages_per_block() as usize];
    let mut holdings = Vec::new();
    for &block in blocks.iter().rev() {
        let mut holding = Holding { block, pages: Vec::new() };
        for &page in scans[block.index()].iter().flat_map(Scan::host_pages) {
            let newest = !std::mem::replace(&mut taken[page.place as usize], true);
            if newest && page.oob.seq.0 > hidden.get(page.oob.lpn.index()).copied().unwrap_or(0) {
                holding.pages.push(page);
            }
        }
        if !holding.pages.is_empty() {
            holdings.push(holding);
        }
    }
    holdings.reverse();
    holdings
}

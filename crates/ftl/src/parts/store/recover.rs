//! Recovery of a store from flash.

use super::fill::Fill;
use super::{Options, Store, COMPLETE, GATHERED};
use crate::parts::frontier::RESUMED;
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa};

/// A page that can be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) place: u32,
    pub(super) oob: Oob,
}

/// What a mount found in a block.
#[derive(Debug)]
pub(super) struct Scan {
    /// The pages that are whole, in the order in which they were programmed.
    pub(super) pages: Vec<Page>,
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

    /// The pages of the host.
    fn copies(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().filter(|page| matches!(page.oob.kind, Kind::Data | Kind::Lost))
    }

    /// Whether a merge filled the block and did not get to its end.
    fn is_cut_merge(&self) -> bool {
        self.copies().any(|page| page.oob.aux & GATHERED != 0)
            && !self.copies().any(|page| page.oob.aux & COMPLETE != 0)
    }
}

/// A block in use, as a scheme sees it at mount.
#[derive(Debug)]
pub struct Found {
    pub(crate) block: BlockId,
    /// The pages of the host in the block, superseded ones included, in the order in which they were programmed.
    pub(crate) pages: Vec<(u32, Lpn)>,
}

/// Mounts a store; returns it with the blocks in use, the oldest first.
pub(crate) fn mount<N: Nand>(
    nand: &mut N,
    logical_pages: u32,
    options: Options,
    name: &str,
) -> Result<(Store, Vec<Found>), FtlError> {
    let geometry = *nand.geometry();
    let most = options.max_logical_pages(&geometry, name)?;
    if logical_pages > most {
        return Err(FtlError::Config(format!(
            "{logical_pages} logical pages are more than ftl.{name} with reserve_blocks = {} can export on this device \
             ({most} of {} pages); take a smaller capacity, a larger device or a smaller reserve",
            options.reserve_blocks,
            geometry.pages()
        )));
    }
    // What a mount finds must stay: a block of older copies is erased without another fence, and what was read once is
    // there for good. Without a cut before it, programs may still be under way.
    nand.ctx().fence();
    let scans = scan(nand)?;
    refuse_foreign(&geometry, logical_pages, &scans)?;
    let mut store = Store::new(&geometry, nand.rules().program_order, logical_pages, options);
    store.seq = 1 + scans.iter().flatten().map(|scan| scan.highest).max().unwrap_or(0);
    let hidden = store.adopt_notes(nand, &scans)?;
    let Newest { map, left_out } = newest(&geometry, &options, &scans, &hidden);
    store.map = map;
    // The merge may be erased before what it left out: from now on a note says so.
    left_out.iter().for_each(|&at| store.notes.trimmed(at));
    for page in store.map.iter().filter(|page| page.is_some()) {
        store.valid.insert(geometry.block_of(*page), geometry.page_in_block(*page));
    }
    let found = store.adopt_blocks(&scans);
    store.refuse_worn_out()?;
    if !left_out.is_empty() && !options.durable_trim {
        store.forget(nand)?;
    }
    store.write_notes(nand)?;
    Ok((store, found))
}

pub(super) fn scan<N: Nand>(nand: &mut N) -> Result<Vec<Option<Scan>>, FtlError> {
    (0..nand.geometry().blocks()).map(|block| scan_block(nand, BlockId(block))).collect()
}

/// Reads the spare areas of a block and verifies the pages that a cut may have torn; `None`: a bad block.
fn scan_block<N: Nand>(nand: &mut N, block: BlockId) -> Result<Option<Scan>, FtlError> {
    let geometry = *nand.geometry();
    let mut scan = Scan { pages: Vec::new(), used: 0, gaps: false, highest: 0 };
    for place in 0..geometry.pages_per_block() {
        match nand.read_spare(geometry.page(block, place)) {
            Err(NandError::BadBlock(_)) => return Ok(None),
            Ok(None) => continue,
            Ok(Some(oob)) => scan.pages.push(Page { place, oob }),
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

/// Refuses flash that no store of this capacity wrote.
fn refuse_foreign(geometry: &Geometry, logical_pages: u32, scans: &[Option<Scan>]) -> Result<(), FtlError> {
    for (block, scan) in (0..).map(BlockId).zip(scans) {
        for &Page { place, oob } in scan.iter().flat_map(|scan| &scan.pages) {
            let (at, lpn) = (geometry.page(block, place), oob.lpn);
            let why = if oob.seq.0 == 0 {
                "carries no sequence number: a lean device that was written cannot be mounted again".into()
            } else if !matches!(oob.kind, Kind::Data | Kind::Lost | Kind::Deleted | Kind::TrimNote) {
                format!("is of kind {:?}: the device was used by another FTL", oob.kind)
            } else if matches!(oob.kind, Kind::Data | Kind::Lost) && lpn.0 >= logical_pages {
                format!(
                    "holds logical page {lpn} and {logical_pages} are exported: the device was used with a larger capacity"
                )
            } else {
                continue;
            };
            return Err(FtlError::Config(format!("page {at} {why}")));
        }
    }
    Ok(())
}

/// What the copies on flash say.
pub(super) struct Newest {
    /// The newest copy of every logical page.
    pub(super) map: Vec<Ppa>,
    /// Unmapped pages of which only a complete merge says so, by not holding them.
    left_out: Vec<Lpn>,
}

/// Finds the newest copies.
pub(super) fn newest(geometry: &Geometry, options: &Options, scans: &[Option<Scan>], hidden: &[u64]) -> Newest {
    let group = |at: Lpn| at.index() / options.span as usize;
    let blocks = || (0..).map(BlockId).zip(scans).filter_map(|(block, scan)| Some((block, scan.as_ref()?)));
    // By logical block: where its last merge put it, and the end of that merge.
    let mut merged = vec![(0, BlockId::NONE); hidden.len().div_ceil(options.span as usize)];
    for (block, scan) in blocks() {
        for page in scan.copies().filter(|page| page.oob.aux & COMPLETE != 0) {
            let last = &mut merged[group(page.oob.lpn)];
            *last = (*last).max((page.oob.seq.0, block));
        }
    }
    let mut newest = vec![(0, Ppa::NONE); hidden.len()];
    let mut left_out = Vec::new();
    for (block, scan) in blocks().filter(|(_, scan)| !scan.is_cut_merge()) {
        for page in scan.copies() {
            let (seq, at) = (page.oob.seq.0, page.oob.lpn);
            let (end, target) = merged[group(at)];
            let superseded = seq < end && block != target;
            if seq <= hidden[at.index()] {
                continue;
            }
            if superseded {
                left_out.push(at);
            } else if seq > newest[at.index()].0 {
                newest[at.index()] = (seq, geometry.page(block, page.place));
            }
        }
    }
    let map: Vec<Ppa> = newest.into_iter().map(|(_, page)| page).collect();
    left_out.retain(|at| !map[at.index()].is_some());
    Newest { map, left_out }
}

impl Store {
    /// Sorts the blocks into those in use, free and bad ones.
    fn adopt_blocks(&mut self, scans: &[Option<Scan>]) -> Vec<Found> {
        let blank = scans.iter().flatten().all(|scan| scan.used == 0);
        let mut found = Vec::new();
        // Those that hold nothing come first: the erase of the only block that holds something may be cut.
        for programmed in [false, true] {
            for (block, scan) in (0..).map(BlockId).zip(scans) {
                let Some(scan) = scan else {
                    self.free.set_bad(block);
                    continue;
                };
                if (scan.used > 0) != programmed || self.notes.blocks().contains(&block) {
                    continue;
                }
                if self.valid.is_empty(block) {
                    self.free.add(block, blank);
                    continue;
                }
                resume(&mut self.fill, &self.geometry, block, scan);
                let age = scan.copies().next().map_or(0, |page| page.oob.seq.0);
                found.push((age, block));
            }
        }
        found.sort_unstable();
        let pages = |block: BlockId| {
            let copies = scans[block.index()].iter().flat_map(Scan::copies);
            copies.map(|page| (page.place, page.oob.lpn)).collect()
        };
        found.into_iter().map(|(_, block)| Found { block, pages: pages(block) }).collect()
    }
}

fn resume(fill: &mut Fill, geometry: &Geometry, block: BlockId, scan: &Scan) {
    if scan.can_resume(geometry) {
        fill.resume(block, scan.used);
    } else {
        fill.close(block);
    }
}

//! Recovers a store from flash.

use super::{Options, Store};
use crate::parts::blocks::scan::{merge_span, refuse_foreign, scan, BlockScan, Scans, COMPLETE};
use crate::FtlError;
use nandlab_nand::tables::Table;
use nandlab_nand::{BlockId, Cause, Geometry, Lpn, Nand, Ppa};
use std::collections::BTreeSet;

/// A used block at mount, for a scheme.
#[derive(Debug)]
pub struct Found {
    pub(crate) block: BlockId,
    /// The host pages in the block, including superseded ones, in program order.
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
    // Fence first, because the scan result must stay true: the mount erases blocks with older copies without
    // another fence, and assumes that readable pages are durable. Without a previous cut, programs may still be
    // in progress.
    nand.ctx().fence();
    let scans = scan(nand)?;
    refuse_foreign(&geometry, logical_pages, &scans, name, (Some(options.span), None))?;
    let highest = scans.highest();
    let mut store = Store::new(&geometry, nand.rules().program_order, (logical_pages, highest), options);
    let (hidden, has_lost_note) = store.adopt_notes(nand, &scans)?;
    let Newest { map, left_out } = newest(&geometry, &options, &scans, &hidden);
    store.map = map;
    // The merge may be erased before the pages it left out, so a note must record them from now on.
    left_out.iter().for_each(|&at| store.notes.trimmed(at));
    if !scans.are_untouched() {
        for (_, page) in store.map.entries() {
            store.valid.insert(geometry.block_of(page), geometry.page_in_block(page));
        }
    }
    let mut found = store.adopt_blocks(&scans);
    store.refuse_worn_out()?;
    if has_lost_note && !options.scatters {
        found = store.gather_scattered(nand, found)?;
    }
    if !left_out.is_empty() && !options.durable_trim {
        store.forget(nand)?;
    }
    store.write_notes(nand)?;
    Ok((store, found))
}

/// Whether an interrupted merge filled the block.
fn is_cut_merge(scan: &BlockScan) -> bool {
    scan.copies().any(|page| merge_span(page.oob) != 0) && !scan.copies().any(|page| page.oob.aux & COMPLETE != 0)
}

/// Newest copies found on flash.
pub(super) struct Newest {
    /// Every logical page's newest copy.
    pub(super) map: Table<Ppa>,
    /// Unmapped pages recorded only by a complete merge without them.
    left_out: Vec<Lpn>,
}

/// Finds the newest copies.
pub(super) fn newest(geometry: &Geometry, options: &Options, scans: &Scans, hidden: &[u64]) -> Newest {
    if scans.are_untouched() {
        return Newest { map: Table::blank(hidden.len()), left_out: Vec::new() };
    }
    let group = |at: Lpn| at.index() / options.span as usize;
    let blocks = || (0..).map(BlockId).zip(scans).filter_map(|(block, scan)| Some((block, scan.as_ref()?)));
    // By logical block: its last merge's block, and when that merge ended.
    let mut merged = vec![(0, BlockId::NONE); hidden.len().div_ceil(options.span as usize)];
    for (block, scan) in blocks() {
        for page in scan.copies().filter(|page| page.oob.aux & COMPLETE != 0) {
            let last = &mut merged[group(page.oob.lpn)];
            *last = (*last).max((page.oob.seq.0, block));
        }
    }
    let mut map = Table::<Ppa>::blank(hidden.len());
    let mut seqs = vec![0; hidden.len()];
    let mut left_out = Vec::new();
    for (block, scan) in blocks().filter(|(_, scan)| !is_cut_merge(scan)) {
        for page in scan.copies() {
            let (seq, at) = (page.oob.seq.0, page.oob.lpn);
            let (end, target) = merged[group(at)];
            let superseded = seq < end && block != target;
            if seq < hidden[at.index()] {
                continue;
            }
            if superseded {
                left_out.push(at);
            } else if seq > seqs[at.index()] {
                map.set(at.index(), geometry.page(block, page.place));
                seqs[at.index()] = seq;
            }
        }
    }
    left_out.retain(|at| !map.at(at.index()).is_some());
    Newest { map, left_out }
}

impl Store {
    /// Gathers each logical block that lies in several blocks. If a note cannot be read, pages that it recorded as trimmed
    /// are back, and with them more blocks than a scheme ever uses for a logical block.
    fn gather_scattered<N: Nand>(&mut self, nand: &mut N, mut found: Vec<Found>) -> Result<Vec<Found>, FtlError> {
        for group in 0..self.groups() {
            let pages = self.pages_of(group);
            let mapped = pages.clone().map(|at| self.lookup(Lpn(at))).filter(|page| page.is_some());
            let blocks: BTreeSet<BlockId> = mapped.map(|page| self.geometry.block_of(page)).collect();
            if blocks.len() < 2 {
                continue;
            }
            let target = self.gather(nand, group, BlockId::NONE, None)?;
            for block in blocks.into_iter().filter(|&block| self.valid.is_empty(block)).collect::<Vec<_>>() {
                found.retain(|one| one.block != block);
                self.release(nand, block)?;
            }
            let gathered = (0..).zip(pages.map(Lpn)).filter(|&(_, at)| self.is_in(at, target)).collect();
            found.push(Found { block: target, pages: gathered });
        }
        Ok(found)
    }

    /// Sorts the blocks into used, free and bad ones.
    fn adopt_blocks(&mut self, scans: &Scans) -> Vec<Found> {
        let of_notes = |block| self.notes.blocks().contains(&block);
        // The original cause is not on flash, so the mount is charged for erasing them.
        self.keeper.adopt(scans, Cause::Mount, |block| of_notes(block) || !self.valid.is_empty(block));
        if scans.are_untouched() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (block, scan) in (0..).map(BlockId).zip(scans) {
            let Some(scan) = scan.as_ref().filter(|_| !self.valid.is_empty(block) && !of_notes(block)) else {
                continue;
            };
            // Its next page may have a cut program, and on a chip that programs in any order each erased page may.
            self.fill.close(block);
            let age = scan.copies().next().map_or(0, |page| page.oob.seq.0);
            found.push((age, block));
        }
        found.sort_unstable();
        let pages = |block: BlockId| {
            let copies = scans[block.index()].iter().flat_map(BlockScan::copies);
            copies.map(|page| (page.place, page.oob.lpn)).collect()
        };
        found.into_iter().map(|(_, block)| Found { block, pages: pages(block) }).collect()
    }
}

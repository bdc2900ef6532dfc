//! Recovery from flash alone.

use super::cmt::Cmt;
use super::config::entries_per_map_page;
use super::paging::entries;
use super::{Config, Dftl};
use crate::parts::blocks::area::Area;
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::{refuse_foreign, scan_ascending, BlockScan};
use crate::parts::flash_map::FoundMap;
use crate::parts::newest::Newest;
use crate::{Events, Ftl, FtlError};
use nandlab_nand::{Cause, Geometry, Lpn, Nand, Ppa};
use std::collections::BTreeSet;

/// The entry of a page: what a map page says, and what is true.
type Stale = Vec<(Lpn, Ppa)>;

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<Dftl, FtlError> {
    let geometry = *nand.geometry();
    let most = Dftl::max_logical_pages(&geometry, nand.rules(), config)?;
    if logical_pages > most {
        return Err(FtlError::Config(format!(
            "{logical_pages} logical pages are more than ftl.dftl with reserve_blocks = {} and map_spare_percent = {} can \
             export on this device ({most} of {} pages); take a smaller capacity, a larger device or a smaller reserve",
            config.reserve_blocks,
            config.map_spare_percent,
            geometry.pages()
        )));
    }
    // What a mount finds must stay, and what was read once is there for good. Without a cut before it, programs may still
    // be under way.
    nand.ctx().fence();
    let scans = scan_ascending(nand)?;
    let shape = config.shape(&geometry, logical_pages);
    refuse_foreign(&geometry, logical_pages, &scans, "dftl", (None, Some(shape.form())))?;
    let newest = Newest::of(&geometry, logical_pages, &scans);
    let copies: Vec<(u64, Ppa)> = newest.seqs.into_iter().zip(newest.map).collect();
    // By map page: the entries that it does not have.
    let mut stale: Vec<Stale> = Vec::new();
    let mut valid: Vec<Ppa> = Vec::new();
    let per_map_page = entries_per_map_page(&geometry) as usize;
    let map = FoundMap::new(&geometry, shape, &scans).read(nand, |map_page, held| {
        let first = map_page as usize * per_map_page;
        let copies = &copies[first..copies.len().min(first + per_map_page)];
        stale.push(compare(first as u32, copies, held, &mut valid));
    })?;
    let mut ftl = blank(&geometry, logical_pages, config, &scans, map);
    ftl.adopt(nand, &scans, valid)?;
    ftl.refuse_worn_out()?;
    ftl.adopt_stale(nand, &stale)?;
    Ok(ftl)
}

/// Compares the copies of the pages of a map page, the first of which is `first`, with what it says; returns the entries
/// that it does not have, and adds where pages are.
fn compare(first: u32, copies: &[(u64, Ppa)], held: Option<(u64, &[u8])>, valid: &mut Vec<Ppa>) -> Stale {
    let mut stale = Stale::new();
    let (speaks, bytes) = held.unwrap_or((0, &[]));
    let said = entries(bytes).chain(std::iter::repeat(Ppa::NONE));
    for ((at, &(seq, newest)), said) in (first..).map(Lpn).zip(copies).zip(said) {
        let is_trimmed = seq < speaks && !said.is_some();
        let page = if is_trimmed { Ppa::NONE } else { newest };
        if page.is_some() {
            valid.push(page);
        }
        if page != said {
            stale.push((at, page));
        }
    }
    stale
}

fn blank(
    geometry: &Geometry,
    logical_pages: u32,
    config: &Config,
    scans: &[Option<BlockScan>],
    map: crate::parts::flash_map::FlashMap,
) -> Dftl {
    let entries = config.cmt_entries.min(logical_pages.max(2));
    let highest = scans.iter().flatten().map(|scan| scan.highest).max().unwrap_or(0);
    Dftl {
        config: config.clone(),
        geometry: *geometry,
        full: geometry.full_mask(),
        logical_pages,
        keeper: Keeper::new(geometry, highest),
        data: Area::new(geometry, 2 * geometry.dies()),
        map,
        cmt: Cmt::new(logical_pages, entries_per_map_page(geometry), entries, config.protected(entries)),
        policy: config.policy(),
        turn: geometry.dies() as usize - 1,
        trimmed: BTreeSet::new(),
        mapped: 0,
        page: vec![0; geometry.page_bytes() as usize],
        events: Events::default(),
    }
}

impl Dftl {
    /// Sets the valid pages and sorts the blocks into those of data, of the map, free and bad ones.
    fn adopt<N: Nand>(
        &mut self,
        nand: &mut N,
        scans: &[Option<BlockScan>],
        mut valid: Vec<Ppa>,
    ) -> Result<(), FtlError> {
        valid.sort_unstable();
        for page in valid {
            let block = self.geometry.block_of(page);
            if !self.data.has(block) {
                self.data.found(block);
            }
            self.data.set_valid(page);
        }
        self.keeper.adopt(scans, Cause::Mount, |block| self.data.has(block) || self.map.area().has(block));
        self.data.resume(scans);
        self.map.resume(nand, &mut self.keeper, scans)
    }

    /// Takes the entries that map pages do not have into memory, or, where there is no more room, writes the map pages.
    fn adopt_stale<N: Nand>(&mut self, nand: &mut N, stale: &[Stale]) -> Result<(), FtlError> {
        for (map_page, stale) in (0..).zip(stale).filter(|(_, stale)| !stale.is_empty()) {
            if stale.len() <= self.cmt.room() as usize {
                for &(at, page) in stale {
                    let slot = self.cmt.insert(at, Ppa::NONE);
                    self.cmt.set(slot, page);
                }
            } else {
                self.update(nand, map_page, stale)?;
            }
        }
        Ok(())
    }
}

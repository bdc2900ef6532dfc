//! Recovery from flash alone.

use super::groups::Groups;
use super::moved::Moved;
use super::{Config, Scheme};
use crate::parts::blocks::scan::{refuse_foreign, scan_ascending, BlockScan, Scans};
use crate::parts::engine::adopt::{Found, Needs};
use crate::parts::engine::Pages;
use crate::parts::flash_map::FoundMap;
use crate::parts::map_entries::{compare, entries_per_map_page, Stale};
use crate::parts::newest::Newest;
use crate::{error, FtlError};
use nandlab_nand::{BlockId, Kind, Lpn, Nand, Ppa};
use std::collections::BTreeSet;

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<(Pages, Scheme), FtlError> {
    let geometry = *nand.geometry();
    let most = config.max_logical_pages(&geometry)?;
    let options = format!(
        "ftl.dftl with reserve_blocks = {} and map_spare_percent = {}",
        config.reserve_blocks, config.map_spare_percent
    );
    error::refuse_capacity(logical_pages, most, &options, &geometry, "a smaller reserve")?;
    // Everything a mount finds must stay, and a page read once must not vanish later. If no cut came before the mount,
    // programs may still be running.
    nand.ctx().fence();
    let scans = scan_ascending(nand)?;
    let shape = config.shape(&geometry, logical_pages);
    refuse_foreign(&geometry, logical_pages, &scans, "dftl", (None, Some(shape.form())))?;
    let newest = Newest::of(&geometry, logical_pages, &scans);
    let copies: Vec<(u64, Ppa)> = newest.seqs.into_iter().zip(newest.map.iter()).collect();
    // By map page: the entries missing there.
    let mut stale: Vec<Stale> = Vec::new();
    let mut valid: Vec<(Ppa, Lpn)> = Vec::new();
    let per_map_page = entries_per_map_page(&geometry) as usize;
    let map = FoundMap::new(&geometry, shape, &scans).read(nand, |map_page, held| {
        let first = map_page as usize * per_map_page;
        let copies = &copies[first..copies.len().min(first + per_map_page)];
        stale.push(compare(first as u32, copies, held, &mut valid));
    })?;
    let highest = scans.highest();
    let groups = config.groups(&geometry, logical_pages);
    let needs = Needs {
        logical_pages,
        blocks: config.quota(&geometry, logical_pages).shared,
        groups: groups.as_ref().map_or(0, Groups::count),
        ..Needs::default()
    };
    let mut pages = Pages::new(nand, &config.of_engine(), needs, highest);
    let mut scheme = Scheme {
        config: config.clone(),
        geometry,
        logical_pages,
        map,
        cmt: config.cmt(&geometry, logical_pages),
        groups,
        trimmed: BTreeSet::new(),
        mapped: 0,
        page: vec![0; geometry.page_bytes() as usize],
        moved: Moved::none(geometry.dies()),
        hits: 0,
        misses: 0,
        map_loads: 0,
        double_reads: 0,
        dirty_evictions: 0,
    };
    let found = Found {
        scans: &scans,
        valid: valid.into_iter(),
        is_other: |scheme: &Scheme, block| scheme.map.area().has(block),
    };
    pages.adopt(&mut scheme, nand, found)?;
    scheme.map.close_found(nand, &mut pages.keeper, &scans)?;
    pages.take_stock(&mut scheme)?;
    scheme.tell_begun(&scans);
    scheme.adopt_stale(&mut pages, nand, &stale)?;
    Ok((pages, scheme))
}

impl Scheme {
    /// Tells the cache about the blocks in the order they were begun.
    fn tell_begun(&mut self, scans: &Scans) {
        let first = |scan: &BlockScan| scan.pages.iter().find(|page| page.place == 0).map(|page| page.oob);
        let mut begun: Vec<_> = (0..)
            .map(BlockId)
            .zip(scans)
            .filter_map(|(block, scan)| Some((first(scan.as_ref()?)?, block)))
            .filter(|(oob, _)| matches!(oob.kind, Kind::Data | Kind::Lost))
            .map(|(oob, block)| (oob.seq, block, oob.lpn))
            .collect();
        begun.sort_unstable();
        for (_, block, at) in begun {
            self.cmt.begun(self.geometry.page(block, 0), at);
        }
    }

    /// Takes missing entries into memory; without room there, writes the map pages.
    fn adopt_stale<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, stale: &[Stale]) -> Result<(), FtlError> {
        for (map_page, stale) in (0..).zip(stale).filter(|(_, stale)| !stale.is_empty()) {
            if !self.cmt.adopt(stale) {
                self.update(pages, nand, map_page, stale)?;
            }
        }
        Ok(())
    }
}

//! Recovery from flash alone.

use super::convert::MapCache;
use super::umt::{Area, Entry, Umt};
use super::{Config, Scheme};
use crate::parts::blocks::scan::{refuse_foreign, scan_ascending};
use crate::parts::engine::adopt::{Found, Needs};
use crate::parts::engine::{self, Collection, Pages};
use crate::parts::flash_map::FoundMap;
use crate::parts::map_entries::{compare, entries_per_map_page, Stale};
use crate::parts::newest::Newest;
use crate::{error, FtlError};
use nandlab_nand::{Lpn, Nand, Ppa};
use std::collections::BTreeSet;

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<(Pages, Scheme), FtlError> {
    let geometry = *nand.geometry();
    let most = config.max_logical_pages(&geometry)?;
    let options = format!(
        "ftl.lazyftl with reserve_blocks = {} and map_spare_percent = {}",
        config.reserve_blocks, config.map_spare_percent
    );
    error::refuse_capacity(logical_pages, most, &options, &geometry, "a smaller reserve")?;
    // Everything a mount finds must stay, and a page read once must not vanish later. If no cut came before the mount,
    // programs may still be running.
    nand.ctx().fence();
    let scans = scan_ascending(nand)?;
    let shape = config.shape(&geometry, logical_pages);
    refuse_foreign(&geometry, logical_pages, &scans, "lazyftl", (None, Some(shape.form())))?;
    let newest = Newest::of(&geometry, logical_pages, &scans);
    let copies: Vec<(u64, Ppa)> = newest.seqs.iter().copied().zip(newest.map.iter()).collect();
    let mut stale: Vec<Stale> = Vec::new();
    let mut valid: Vec<(Ppa, Lpn)> = Vec::new();
    let per_map_page = entries_per_map_page(&geometry) as usize;
    let map = FoundMap::new(&geometry, shape, &scans).read(nand, |map_page, held| {
        let first = map_page as usize * per_map_page;
        let copies = &copies[first..copies.len().min(first + per_map_page)];
        stale.push(compare(first as u32, copies, held, &mut valid));
    })?;
    let highest = scans.highest();
    let needs = Needs { logical_pages, blocks: shape.quota(&geometry), ..Needs::default() };
    let options = engine::Config::plain(config.victim, config.reserve_blocks, config.seed).collecting(Collection::Late);
    let mut pages = Pages::new(nand, &options, needs, highest);
    let mut scheme = Scheme {
        config: config.clone(),
        geometry,
        logical_pages,
        map,
        cache: MapCache::new(config.cached_map_pages),
        umt: Umt::default(),
        trimmed: BTreeSet::new(),
        written: 0,
        hits: 0,
        misses: 0,
        conversions: 0,
    };
    let found = Found {
        scans: &scans,
        valid: valid.into_iter(),
        is_other: |scheme: &Scheme, block| scheme.map.area().has(block),
    };
    pages.adopt(&mut scheme, nand, found)?;
    scheme.map.close_found(nand, &mut pages.keeper, &scans)?;
    pages.take_stock(&mut scheme)?;
    scheme.adopt_missing(&stale, &newest.seqs);
    Ok((pages, scheme))
}

impl Scheme {
    /// Takes the entries that the map pages lack into the update map, in the order in which their pages were written.
    fn adopt_missing(&mut self, missing: &[Stale], seqs: &[u64]) {
        let mut entries: Vec<_> = missing.iter().flatten().copied().collect();
        entries.sort_by_key(|&(at, _)| seqs[at.index()]);
        for (at, page) in entries {
            let entry = Entry { page, is_committed: false, is_counted: false };
            if page.is_some() {
                self.umt.put(at, entry, Some((Area::Update, self.geometry.block_of(page))));
            } else {
                // The map page names a page that never came to flash.
                self.umt.put(at, entry, None);
                self.trimmed.insert(at.0 / self.per_map_page());
            }
        }
    }
}

//! Recovery of the super-page map from flash alone.

use super::{Collection, Config, List, Scheme};
use crate::parts::blocks::scan::{refuse_foreign, scan_ascending, BlockScan};
use crate::parts::engine::adopt::{Found, Needs};
use crate::parts::engine::{self, Pages};
use crate::parts::newest::Newest;
use crate::parts::noted_map::NotedMap;
use crate::parts::placement::Placement;
use crate::parts::victim::Victim;
use crate::{error, FtlError};
use nandlab_nand::{BlockId, Kind, Nand};

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<(Pages, Scheme), FtlError> {
    let geometry = *nand.geometry();
    let most = config.max_logical_pages(&geometry)?;
    let options = format!("ftl.superpage with reserve_blocks = {}", config.reserve_blocks);
    error::refuse_capacity(logical_pages, most, &options, &geometry, "a smaller reserve")?;
    // Everything a mount finds must stay: superseded blocks are erased without another fence, and a page read once must
    // not vanish later. If no cut came before the mount, programs may still be running.
    nand.ctx().fence();
    let mut scans = scan_ascending(nand)?;
    let highest = scans.highest();
    let data_pages = config.data_pages(&geometry);
    let mut listed = vec![false; geometry.blocks() as usize];
    for (listed, scan) in listed.iter_mut().zip(scans.iter_mut()) {
        *listed = scan.as_mut().is_some_and(|scan| has_list(scan, data_pages));
    }
    refuse_foreign(&geometry, logical_pages, &scans, "superpage", (None, None))?;
    let newest = Newest::of(&geometry, logical_pages, &scans);
    let map = NotedMap::found(nand, &geometry, newest, config.durable_trim)?;
    let needs = Needs {
        logical_pages,
        others: map.most_notes(),
        list_pages: config.list_pages(),
        apart: config.firmware_blocks,
        ..Needs::default()
    };
    let options =
        engine::Config { placement: Placement::One, ..engine::Config::plain(Victim::Greedy, config.kept(), 0) };
    let options = options.collecting(match config.collection {
        Collection::AtOnce => engine::Collection::Late,
        Collection::Tokens => engine::Collection::Tokens,
    });
    let mut pages = Pages::new(nand, &options, needs, highest);
    let valid: Vec<_> = map.found_owned().collect();
    let is_apart = |block| pages.keeper.is_apart(block) && scans[block.index()].is_some();
    let apart: Vec<bool> = (0..geometry.blocks()).map(BlockId).map(is_apart).collect();
    if let Some(block) = valid.iter().map(|&(page, _)| geometry.block_of(page)).find(|block| apart[block.index()]) {
        return Err(FtlError::Config(format!(
            "block {block} holds data and ftl.superpage.firmware_blocks = {} leaves it out: the device was used by another \
             FTL or with other options",
            config.firmware_blocks
        )));
    }
    let open = List { block: BlockId::NONE, entries: Vec::new() };
    let lists = vec![open; geometry.dies() as usize];
    let mut scheme = Scheme { config: config.clone(), geometry, map, lists, listed, apart };
    let is_other = |scheme: &Scheme, block: BlockId| scheme.apart[block.index()];
    pages.adopt(&mut scheme, nand, Found { scans: &scans, valid: valid.into_iter(), is_other })?;
    for block in (0..geometry.blocks()).map(BlockId) {
        scheme.listed[block.index()] &= pages.table.valid_pages(block) > 0;
    }
    Ok((pages, scheme))
}

/// Whether a block ends in a list of its other pages; the list is removed from the scan.
fn has_list(scan: &mut BlockScan, data_pages: u32) -> bool {
    let before = scan.pages.len();
    scan.pages.retain(|page| page.place != data_pages || page.oob.kind != Kind::List);
    scan.pages.len() < before
}

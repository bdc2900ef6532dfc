//! The super-page map's invariants, derived again from flash.

use super::{Scheme, NOTE};
use crate::parts::engine::{Noted, Pages};
use nandlab_nand::{BlockId, Kind, Nand};

pub(super) fn check<N: Nand>(ftl: &Scheme, pages: &Pages, nand: &mut N) {
    let newest = pages.newest_on_flash(ftl.map.len(), nand);
    ftl.check_map(pages, nand, |at| newest[at.index()].map_or(0, |(seq, _)| seq));
    for block in (0..ftl.geometry.blocks()).map(BlockId).filter(|block| ftl.listed[block.index()]) {
        list_agrees(ftl, nand, block);
    }
}

/// Asserts that a block's list matches its pages' spare areas.
fn list_agrees<N: Nand>(ftl: &Scheme, nand: &mut N, block: BlockId) {
    let Ok(Some(list)) = ftl.listed_in(nand, block) else { return };
    for (place, entry) in (0..).zip(list) {
        let page = ftl.geometry.page(block, place);
        if let Ok(Some(oob)) = nand.read_spare(page) {
            let note = if oob.kind == Kind::TrimNote { NOTE } else { 0 };
            assert_eq!(entry, oob.lpn.0 | note, "the list of block {block} on page {page}");
        }
    }
}

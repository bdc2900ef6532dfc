//! The super-page map's invariants, derived again from flash.

use super::mount::is_nobodys;
use super::{Firmware, SuperPage, NOTE};
use crate::parts::blocks::counts::BlockUse;
use crate::parts::copies::newest_copies;
use nandlab_nand::{BlockId, Kind, Nand};

pub(super) fn check<N: Nand>(ftl: &SuperPage, nand: &mut N) {
    let open = ftl.active.iter().map(|active| active.frontier.block).filter(|block| block.is_some());
    // The firmware's blocks are in no bank, and count as open.
    let of_firmware = (0..ftl.geometry.blocks())
        .map(BlockId)
        .filter(|&block| ftl.keeper.is_apart(block) && !ftl.keeper.is_bad(block));
    let places = open.chain(ftl.failing.iter().copied()).chain(of_firmware).map(|block| (block, BlockUse::Open));
    ftl.keeper.check(places, |block| ftl.counts.usage(block));
    counts_are_right(ftl);
    let newest = newest_copies(nand, ftl.map.len(), ftl.keeper.seq(), |_| false);
    ftl.map.check(nand, |at| newest[at.index()].map_or(0, |(seq, _)| seq));
    if ftl.config.firmware == Firmware::Greedy {
        for (at, page) in ftl.map.all().enumerate().filter(|(_, page)| page.is_some()) {
            assert_eq!(ftl.bank_of(page), at % ftl.active.len(), "the bank of logical page {at}");
        }
    }
    for block in (0..ftl.geometry.blocks()).map(BlockId).filter(|block| ftl.listed[block.index()]) {
        list_agrees(ftl, nand, block);
    }
}

/// Asserts that the block counts match the mapped pages and live notes.
fn counts_are_right(ftl: &SuperPage) {
    let mut valid = vec![0; ftl.geometry.blocks() as usize];
    ftl.map.valid().for_each(|page| valid[ftl.geometry.block_of(page).index()] += 1);
    for (block, valid) in (0..).map(BlockId).zip(valid) {
        assert_eq!(ftl.counts.valid(block), valid, "valid pages of block {block}");
    }
}

/// Asserts that a block's list matches its pages' spare areas.
fn list_agrees<N: Nand>(ftl: &SuperPage, nand: &mut N, block: BlockId) {
    let mut list = vec![0; 4 * ftl.data_pages as usize];
    if nand.read_tail(ftl.geometry.page(block, ftl.data_pages), &mut list).is_err() {
        return;
    }
    for (place, entry) in (0..).zip(list.chunks_exact(4)) {
        let entry = u32::from_le_bytes(entry.try_into().expect("four bytes"));
        if is_nobodys(entry) {
            continue;
        }
        let page = ftl.geometry.page(block, place);
        if let Ok(Some(oob)) = nand.read_spare(page) {
            let note = if oob.kind == Kind::TrimNote { NOTE } else { 0 };
            assert_eq!(entry, oob.lpn.0 | note, "the list of block {block} on page {page}");
        }
    }
}

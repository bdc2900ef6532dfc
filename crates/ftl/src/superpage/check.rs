//! The invariants of the super-page map, derived anew from flash.

use super::mount::is_nobodys;
use super::{Firmware, SuperPage, NOTE};
use crate::parts::blocks::counts::BlockUse;
use crate::parts::copies::{newest_copies, Owned};
use nandlab_nand::{BlockId, Kind, Lpn, Nand};

pub(super) fn check<N: Nand>(ftl: &SuperPage, nand: &mut N) {
    let open = ftl.active.iter().map(|active| active.frontier.block).filter(|block| block.is_some());
    // Blocks of the firmware are in no bank, and count as open.
    let of_firmware = (0..ftl.geometry.blocks())
        .map(BlockId)
        .filter(|&block| ftl.keeper.is_apart(block) && !ftl.keeper.is_bad(block));
    let places = open.chain(ftl.failing.iter().copied()).chain(of_firmware).map(|block| (block, BlockUse::Open));
    ftl.keeper.check(places, |block| ftl.counts.usage(block));
    pages_have_one_owner(ftl);
    let newest = newest_copies(nand, ftl.map.len(), ftl.keeper.seq(), |_| false);
    for (lpn, &page) in (0..).map(Lpn).zip(&ftl.map).filter(|(_, page)| page.is_some()) {
        let oob = nand.read_spare(page).expect("a mapped page can be read").expect("a mapped page is programmed");
        assert_eq!(oob.lpn, lpn, "page {page} is mapped to logical page {lpn} and holds another");
        let newest = newest[lpn.index()].map_or(0, |(seq, _)| seq);
        assert!(oob.seq.0 >= newest, "logical page {lpn} is mapped to {page}, flash has a newer copy");
        assert!(matches!(oob.kind, Kind::Data | Kind::Lost), "page {page} holds {:?}", oob.kind);
        if ftl.config.firmware == Firmware::Greedy {
            assert_eq!(ftl.bank_of(page), lpn.index() % ftl.active.len(), "the bank of logical page {lpn}");
        }
    }
    for (segment, page) in ftl.notes.live() {
        let oob = nand.read_spare(page).expect("a note can be read").expect("a note is programmed");
        assert_eq!((oob.kind, oob.lpn), (Kind::TrimNote, Lpn(segment)), "page {page} is a live note");
    }
    for block in (0..ftl.geometry.blocks()).map(BlockId).filter(|block| ftl.listed[block.index()]) {
        list_agrees(ftl, nand, block);
    }
}

/// No page has two owners, and the counts of the blocks are those of the owned pages.
fn pages_have_one_owner(ftl: &SuperPage) {
    let mut owned = Owned::none_of(ftl.geometry.pages());
    let mut valid = vec![0; ftl.geometry.blocks() as usize];
    let notes = ftl.notes.live().map(|(_, page)| page);
    for page in ftl.map.iter().copied().chain(notes).filter(|page| page.is_some()) {
        assert!(owned.insert(page.0), "page {page} belongs to two logical pages or notes");
        valid[ftl.geometry.block_of(page).index()] += 1;
    }
    for (block, valid) in (0..).map(BlockId).zip(valid) {
        assert_eq!(ftl.counts.valid(block), valid, "valid pages of block {block}");
    }
}

/// The list of a block names what the spare areas of its pages name.
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

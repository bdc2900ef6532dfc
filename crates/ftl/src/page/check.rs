//! The page map's invariants, derived again from flash.

use super::relocation::Relocation;
use super::PageMap;
use crate::parts::blocks::frontier::SLC;
use crate::parts::blocks::table::BlockUse;
use crate::parts::copies::{newest_copies, Owned};
use nandlab_nand::{BlockId, Nand, Ppa};
use std::collections::BTreeSet;

pub(super) fn check<N: Nand>(ftl: &PageMap, nand: &mut N) {
    blocks_have_one_use(ftl);
    pages_have_one_owner(ftl);
    let newest = newest_on_flash(ftl, nand);
    ftl.map.check(nand, |at| newest[at.index()].map_or(0, |(seq, _)| seq));
    if let Some(fdp) = ftl.placing.fdp() {
        fdp.units.check(&ftl.table);
    }
    for page in ftl.map.valid() {
        let tells = nand.read_spare(page).ok().flatten().is_some_and(|oob| oob.aux & SLC != 0);
        let slc = nand.is_slc(ftl.geometry.block_of(page));
        assert_eq!(tells, slc, "page {page} tells how many bits a cell of its block holds");
    }
}

/// Every block is in exactly one place, and its use in the table says so.
fn blocks_have_one_use(ftl: &PageMap) {
    let places = ftl.dies.iter().flat_map(|die| {
        let frontiers = die.frontiers.iter().chain([&die.slc.frontier]).map(|frontier| frontier.block);
        let emptied = die.relocation.as_ref().map(Relocation::block);
        frontiers.filter(|block| block.is_some()).chain(die.slc.full.iter().chain(&die.failing).copied()).chain(emptied)
    });
    ftl.keeper.check(places.map(|block| (block, BlockUse::Open)), |block| ftl.table.usage(block));
}

/// No page has two owners, and the valid bits are set for the owned pages and no others.
fn pages_have_one_owner(ftl: &PageMap) {
    let mut owners = Owned::none_of(ftl.geometry.pages());
    ftl.map.valid().for_each(|page| assert!(owners.insert(page.0), "page {page} has two owners"));
    for block in (0..ftl.geometry.blocks()).map(BlockId) {
        let mut valid = 0;
        for page in (0..ftl.geometry.pages_per_block()).map(|page| ftl.geometry.page(block, page)) {
            assert_eq!(ftl.table.is_valid(page), owners.contains(page.0), "valid bit of page {page}");
            valid += u32::from(ftl.table.is_valid(page));
        }
        assert_eq!(ftl.table.valid_pages(block), valid, "valid pages of block {block}");
    }
}

/// Sequence number and place of each logical page's newest copy, without copies that a relocation has not mapped yet.
fn newest_on_flash<N: Nand>(ftl: &PageMap, nand: &mut N) -> Vec<Option<(u64, Ppa)>> {
    let unmapped: BTreeSet<Ppa> = ftl
        .dies
        .iter()
        .filter_map(|die| die.relocation.as_ref())
        .flat_map(Relocation::unmapped)
        .map(|(_, to)| to)
        .collect();
    newest_copies(nand, ftl.map.len(), ftl.keeper.seq(), |page| unmapped.contains(&page))
}

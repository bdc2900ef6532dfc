//! The data blocks' invariants, derived again from flash.

use super::relocation::Relocation;
use super::{Pages, Scheme};
use crate::parts::blocks::frontier::SLC;
use crate::parts::blocks::table::BlockUse;
use crate::parts::copies::{newest_copies, Owned};
use nandlab_nand::{BlockId, Nand, Ppa};
use std::collections::BTreeSet;

pub(super) fn check<N: Nand>(pages: &Pages, scheme: &impl Scheme, nand: &mut N) {
    blocks_have_one_use(pages, scheme);
    if let Some(fdp) = pages.placing.fdp() {
        fdp.units.check(&pages.table);
    }
    for page in (0..pages.geometry.pages()).map(Ppa).filter(|&page| pages.table.is_valid(page)) {
        let tells = nand.read_spare(page).ok().flatten().is_some_and(|oob| oob.aux & SLC != 0);
        let slc = nand.is_slc(pages.geometry.block_of(page));
        assert_eq!(tells, slc, "page {page} tells how many bits a cell of its block holds");
    }
}

/// Every block is in exactly one place, and its use in the table says so.
fn blocks_have_one_use(pages: &Pages, scheme: &impl Scheme) {
    let places = pages.dies.iter().flat_map(|die| {
        let frontiers = die.frontiers.iter().chain([&die.slc.frontier]).map(|frontier| frontier.block);
        let emptied = die.relocation.as_ref().map(Relocation::block);
        frontiers.filter(|block| block.is_some()).chain(die.slc.full.iter().chain(&die.failing).copied()).chain(emptied)
    });
    let of_scheme = (0..pages.geometry.blocks()).map(BlockId).filter(|&block| scheme.valid_in(block).is_some());
    let of_scheme: BTreeSet<BlockId> = of_scheme.collect();
    let places = places.chain(of_scheme.iter().copied()).map(|block| (block, BlockUse::Open));
    pages.keeper.check(places, |block| match pages.table.usage(block) {
        // The scheme's own blocks are free here.
        BlockUse::Free if of_scheme.contains(&block) => BlockUse::Open,
        BlockUse::Free if pages.keeper.is_bad(block) => BlockUse::Bad,
        usage => usage,
    });
}

impl Pages {
    /// Asserts that no page has two owners, and that the valid bits are set for the owned pages and no others.
    pub(crate) fn check_owners(&self, owned: impl Iterator<Item = Ppa>) {
        let mut owners = Owned::none_of(self.geometry.pages());
        owned.for_each(|page| assert!(owners.insert(page.0), "page {page} has two owners"));
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let mut valid = 0;
            for page in (0..self.geometry.pages_per_block()).map(|page| self.geometry.page(block, page)) {
                assert_eq!(self.table.is_valid(page), owners.contains(page.0), "valid bit of page {page}");
                valid += u32::from(self.table.is_valid(page));
            }
            assert_eq!(self.table.valid_pages(block), valid, "valid pages of block {block}");
        }
    }

    /// Sequence number and place of each logical page's newest copy, without copies that a relocation has not mapped yet.
    pub(crate) fn newest_on_flash<N: Nand>(&self, logical_pages: usize, nand: &mut N) -> Vec<Option<(u64, Ppa)>> {
        let relocations = self.dies.iter().filter_map(|die| die.relocation.as_ref());
        let unmapped: BTreeSet<Ppa> = relocations.flat_map(Relocation::unmapped).map(|(_, to)| to).collect();
        newest_copies(nand, logical_pages, self.keeper.seq(), |page| unmapped.contains(&page))
    }
}

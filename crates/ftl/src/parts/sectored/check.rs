//! The invariants, derived again from flash.

use super::paging::entries_in;
use super::{entries_per_map_page, Holds, Scheme, SectorMapped, NOTHING, SPLIT, UNSET};
use crate::parts::blocks::table::BlockUse;
use crate::parts::copies::Owned;
use crate::parts::flash_map::Held;
use crate::parts::merge_buffer::DEAD;
use nandlab_nand::{BlockId, Kind, Nand, NandError, PageBuf, Ppa};
use std::collections::BTreeSet;

pub(super) fn check<N: Nand, S: Scheme>(ftl: &SectorMapped<S>, nand: &mut N) {
    ftl.map.check(nand);
    blocks_have_one_use(ftl);
    ftl.placing.check(|block| ftl.counts.usage(block) != BlockUse::Free);
    waits_once(ftl);
    // A lost map page is rebuilt when it is needed, and the counts are right again at the next collection.
    let Some(entries) = all_entries(ftl, nand) else { return };
    let addresses: Vec<u32> =
        (0..ftl.logical_pages * ftl.per_page).map(|sector| address(ftl, &entries, sector)).collect();
    let mut valid = vec![0; ftl.geometry.blocks() as usize];
    let mut owned = Owned::none_of(ftl.geometry.pages() * ftl.per_page);
    for (sector, &address) in addresses.iter().enumerate().filter(|(_, &address)| address != NOTHING) {
        assert!(owned.insert(address), "address {address} belongs to logical sector {sector} and another");
        valid[ftl.geometry.block_of(ftl.page_of(address)).index()] += 1;
    }
    for (block, valid) in (0..).map(BlockId).zip(valid).filter(|_| !ftl.is_estimated) {
        assert_eq!(ftl.counts.valid(block), valid, "valid sectors of block {block}");
    }
    newest_is_mapped(ftl, nand, &addresses);
}

/// Asserts that no sector waits in two merge buffers.
fn waits_once<S: Scheme>(ftl: &SectorMapped<S>) {
    let mut waiting = BTreeSet::new();
    for &sector in ftl.buffers.iter().flat_map(|buffer| &buffer.sectors).filter(|&&sector| sector != DEAD) {
        assert!(waiting.insert(sector), "sector {sector} waits twice");
    }
}

/// Every entry, from memory if it is there, else from flash; unmarked ones must be equal in both. None if a map page is
/// lost.
fn all_entries<N: Nand, S: Scheme>(ftl: &SectorMapped<S>, nand: &mut N) -> Option<Vec<u32>> {
    let per_map_page = entries_per_map_page(&ftl.geometry);
    let mut bytes = vec![0; ftl.geometry.page_bytes() as usize];
    let mut all = Vec::new();
    for page in 0..ftl.map.pages() {
        match ftl.map.read(nand, page, &mut bytes).expect("a map page can be read") {
            Held::Page => all.extend(entries_in(&bytes)),
            Held::Nothing => all.extend((0..per_map_page).map(|_| ftl.unwritten(page))),
            Held::Lost => return None,
        }
    }
    let entries = ftl.map.pages() * per_map_page;
    for slot in 0..ftl.cmt.slots.len() {
        let first = ftl.cmt.first_of(slot);
        let unit = &ftl.cmt.slots[slot];
        for (at, &entry) in (first..entries).zip(&unit.entries) {
            let is_changed = ftl.cmt.marks(slot)[((at - first) >> ftl.cmt.mark_shift()) as usize];
            assert!(is_changed || all[at as usize] == entry, "entry {at} is not marked, and {entry} on flash differs");
            all[at as usize] = entry;
        }
    }
    Some(all)
}

fn address<S: Scheme>(ftl: &SectorMapped<S>, entries: &[u32], sector: u32) -> u32 {
    let of_sector = || match entries[(ftl.first_sector_entry + sector) as usize] {
        UNSET => NOTHING,
        address => address,
    };
    if ftl.options.hybrid.is_none() {
        return of_sector();
    }
    match entries[(sector / ftl.per_page) as usize] {
        NOTHING => NOTHING,
        SPLIT => of_sector(),
        page => page * ftl.per_page + sector % ftl.per_page,
    }
}

fn blocks_have_one_use<S: Scheme>(ftl: &SectorMapped<S>) {
    let free: BTreeSet<BlockId> = ftl.keeper.free().map(|free| free.block).collect();
    for block in (0..ftl.geometry.blocks()).map(BlockId) {
        let open = ftl.active.iter().filter(|active| active.block == block).count()
            + ftl.emptying.iter().flatten().filter(|emptying| emptying.block() == block).count()
            + ftl.failing.iter().filter(|&&failing| failing == block).count();
        let usage = ftl.counts.usage(block);
        assert_eq!(open, usize::from(usage == BlockUse::Open), "places where block {block} is being filled or failing");
        let places = usize::from(usage != BlockUse::Free)
            + usize::from(free.contains(&block))
            + usize::from(ftl.map.area().has(block))
            + usize::from(ftl.keeper.is_bad(block));
        assert_eq!(places, 1, "uses of block {block}, of data {usage:?}");
    }
}

/// Asserts that each mapped sector is its newest copy on flash; an unreadable page counts only if its sectors are
/// mapped to it.
fn newest_is_mapped<N: Nand, S: Scheme>(ftl: &SectorMapped<S>, nand: &mut N, addresses: &[u32]) {
    let mut newest = vec![(0, NOTHING); addresses.len()];
    let mut list = vec![0; 4 * ftl.gathered as usize];
    let mut contents = N::Buf::zeroed(ftl.geometry.page_bytes());
    for page in (0..ftl.geometry.pages()).map(Ppa) {
        let oob = match nand.read_spare(page) {
            Ok(Some(oob)) => oob,
            Ok(None) | Err(NandError::Uncorrectable(_) | NandError::BadBlock(_)) => continue,
            Err(error) => panic!("page {page}: {error}"),
        };
        assert!(oob.seq.0 < ftl.keeper.seq(), "page {page} carries a sequence number that was not given out yet");
        let sectors: Vec<u32> = match oob.kind {
            Kind::Sectors if nand.read_tail(page, &mut list).is_ok() => entries_in(&list).collect(),
            Kind::Data | Kind::Lost => (0..ftl.per_page).map(|place| ftl.sector(oob.lpn, place)).collect(),
            _ => continue,
        };
        let mut placed = (page.0 * ftl.per_page..).zip(&sectors);
        let is_mapped = placed.any(|(address, &sector)| addresses.get(sector as usize) == Some(&address));
        if !is_mapped && nand.read(page, &mut contents).is_err() {
            continue;
        }
        for (address, sector) in (page.0 * ftl.per_page..).zip(sectors).filter(|&(_, sector)| sector != NOTHING) {
            newest[sector as usize] = newest[sector as usize].max((oob.seq.0, address));
            let is_mapped = addresses[sector as usize] == address;
            let holds = if oob.kind == Kind::Sectors { Holds::Sectors } else { Holds::Whole };
            assert!(!is_mapped || ftl.holds.at(page) == holds, "what page {page} holds");
        }
    }
    for (sector, (&address, newest)) in addresses.iter().zip(newest).enumerate() {
        assert!(
            address == NOTHING || address == newest.1,
            "logical sector {sector} is at {address}, the newest at {newest:?}"
        );
    }
}

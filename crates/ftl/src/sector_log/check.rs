//! The sector log's invariants, derived again from flash.

use super::mount::sectors_in;
use super::{Scheme, OF_LOG};
use crate::parts::engine::Noted;
use crate::parts::engine::Pages;
use crate::parts::merge_buffer::DEAD;
use nandlab_nand::{BlockId, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa};
use std::collections::{BTreeMap, BTreeSet};

/// The contents of flash, without unreadable pages.
struct OnFlash {
    /// By logical page: its newest copy's sequence number, 0 without one.
    pages: Vec<u64>,
    /// By logical sector: its newest copy in the log, as sequence number, page and place.
    sectors: BTreeMap<u32, (u64, Ppa, u32)>,
    /// Log pages with an unreadable list: a mount does not find their sectors.
    unreadable: BTreeSet<Ppa>,
}

pub(super) fn check<N: Nand>(ftl: &Scheme, pages: &Pages, nand: &mut N) {
    ftl.log.check();
    let flash = on_flash(ftl, pages, nand);
    ftl.check_map(pages, nand, |at| flash.pages[at.index()]);
    let seq =
        |page: Ppa| if page.is_some() { nand.read_spare(page).ok().flatten().map_or(0, |oob| oob.seq.0) } else { 0 };
    let seqs: Vec<u64> = ftl.map.all().map(seq).collect();
    the_log_is_the_newest(ftl, &flash, &seqs);
}

/// Asserts that the sector map has exactly the sectors that a mount would find: the newest copies newer than their
/// mapped pages. `seqs` are the mapped pages' sequence numbers.
fn the_log_is_the_newest(ftl: &Scheme, flash: &OnFlash, seqs: &[u64]) {
    let page_of = |sector: u32| (sector / ftl.per_page) as usize;
    let mapped = |sector: u32| ftl.map.at(Lpn(sector / ftl.per_page)).is_some();
    let found: BTreeMap<u32, (Ppa, u32)> = ftl.log.all().map(|(sector, page, at)| (sector, (page, at))).collect();
    let is_lost = |sector: u32| found.get(&sector).is_some_and(|(page, _)| flash.unreadable.contains(page));
    let expected: BTreeMap<u32, (Ppa, u32)> = flash
        .sectors
        .iter()
        .filter(|&(&sector, &(seq, ..))| mapped(sector) && seq > seqs[page_of(sector)] && !is_lost(sector))
        .map(|(&sector, &(_, page, place))| (sector, (page, place)))
        .collect();
    assert_eq!(found.len(), ftl.log.all().count(), "a sector is twice in the sector map");
    let readable: BTreeMap<_, _> =
        found.iter().filter(|(&sector, _)| !is_lost(sector)).map(|(&a, &b)| (a, b)).collect();
    assert_eq!(readable, expected, "sectors in the log, and those that a mount would find");
    let with_sectors: BTreeSet<usize> = found.keys().map(|&sector| page_of(sector)).collect();
    let marked = |page: Ppa| ftl.logged.has(ftl.geometry.block_of(page), ftl.geometry.page_in_block(page));
    for (at, page) in ftl.map.all().enumerate().filter(|(_, page)| page.is_some()) {
        assert_eq!(marked(page), with_sectors.contains(&at), "the mark of page {page}, where logical page {at} is");
    }
    let marks: u32 = (0..ftl.geometry.blocks()).map(|block| ftl.logged.count(BlockId(block))).sum();
    assert_eq!(marks as usize, with_sectors.len(), "marked pages");
}

fn on_flash<N: Nand>(ftl: &Scheme, pages: &Pages, nand: &mut N) -> OnFlash {
    let mut flash = OnFlash { pages: vec![0; ftl.map.len()], sectors: BTreeMap::new(), unreadable: BTreeSet::new() };
    for page in (0..ftl.geometry.pages()).map(Ppa) {
        let oob = match nand.read_spare(page) {
            Ok(Some(oob)) => oob,
            Ok(_) | Err(NandError::Uncorrectable(_) | NandError::BadBlock(_)) => continue,
            Err(error) => panic!("page {page}: {error}"),
        };
        assert!(oob.seq.0 < pages.keeper.seq(), "page {page} carries a sequence number that was not given out yet");
        match oob.kind {
            // A torn page can look newer than the page it should replace; only readable pages count.
            Kind::Data | Kind::Lost if oob.seq.0 > flash.pages[oob.lpn.index()] && is_whole(nand, page) => {
                flash.pages[oob.lpn.index()] = oob.seq.0;
            }
            Kind::Sectors => add_listed(ftl, nand, (page, oob), &mut flash),
            _ => {}
        }
    }
    flash
}

fn add_listed<N: Nand>(ftl: &Scheme, nand: &mut N, (page, oob): (Ppa, Oob), flash: &mut OnFlash) {
    assert!(oob.aux & OF_LOG != 0, "page {page} has sectors and no mark of the log");
    let mut list = vec![0; 4 * ftl.gathered as usize];
    if nand.read_tail(page, &mut list).is_err() {
        flash.unreadable.insert(page);
        return;
    }
    for (place, sector) in (0..).zip(sectors_in(&list)).filter(|&(_, sector)| sector != DEAD) {
        let newest = flash.sectors.entry(sector).or_insert((0, page, place));
        if oob.seq.0 > newest.0 {
            *newest = (oob.seq.0, page, place);
        }
    }
}

fn is_whole<N: Nand>(nand: &mut N, page: Ppa) -> bool {
    let mut contents = N::Buf::zeroed(nand.geometry().page_bytes());
    nand.read(page, &mut contents).is_ok()
}

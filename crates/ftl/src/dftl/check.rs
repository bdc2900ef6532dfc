//! DFTL's invariants, derived again from flash.

use super::Scheme;
use crate::parts::copies::Owned;
use crate::parts::engine::Pages;
use crate::parts::flash_map::Held;
use crate::parts::map_entries::entries;
use nandlab_nand::{BlockId, Kind, Lpn, Nand, Ppa};

/// A host page on flash.
#[derive(Clone, Copy, Default)]
struct OnFlash {
    /// Sequence number of its newest readable copy, 0 without one.
    newest: u64,
    /// When its map page was written, 0 if never.
    speaks: u64,
    /// Whether the map page says that it is unmapped.
    is_unmapped: bool,
}

pub(super) fn check<N: Nand>(ftl: &Scheme, pages: &Pages, nand: &mut N) {
    ftl.map.check(nand);
    let newest = pages.newest_on_flash(ftl.logical_pages as usize, nand);
    let seqs = newest.into_iter().map(|found| found.map_or(0, |(seq, _)| seq));
    let mut on_flash: Vec<_> = seqs.map(|newest| OnFlash { newest, ..OnFlash::default() }).collect();
    let map = whole_map((ftl, pages), nand, &mut on_flash);
    let mut owners = Owned::none_of(ftl.geometry.pages());
    for (at, &page) in (0..).map(Lpn).zip(&map) {
        let found = on_flash[at.index()];
        if !page.is_some() {
            // A mount must not bring it back.
            let is_pending = ftl.trimmed.contains(&(at.0 / ftl.per_map_page()));
            let is_noted = found.is_unmapped && found.speaks > found.newest;
            assert!(found.newest == 0 || is_pending || is_noted, "page {at} is trimmed and a mount finds a copy");
            continue;
        }
        assert!(owners.insert(page.0), "page {page} belongs to logical page {at} and another");
        assert!(pages.table.is_valid(page), "logical page {at} is mapped to {page}, which is not valid");
        match nand.read_spare(page) {
            Ok(Some(oob)) => {
                assert_eq!(oob.lpn, at, "page {page} is mapped to logical page {at} and holds another");
                assert!(oob.seq.0 >= found.newest, "logical page {at} is mapped to {page}, flash has a newer copy");
                assert!(matches!(oob.kind, Kind::Data | Kind::Lost), "page {page} holds {:?}", oob.kind);
                let mount_finds_it = oob.seq.0 > found.speaks || !found.is_unmapped;
                assert!(
                    mount_finds_it,
                    "logical page {at} is mapped to {page}, its map page says later that it is not"
                );
            }
            other => panic!("logical page {at} is mapped to {page}: {other:?}"),
        }
    }
    let valid: u32 = (0..ftl.geometry.blocks()).map(|block| pages.table.valid_pages(BlockId(block))).sum();
    assert_eq!(valid as usize, owners.count(), "valid pages of data");
}

/// The whole map: map pages, and over them the entries in memory; unmarked ones must be equal.
fn whole_map<N: Nand>((ftl, pages): (&Scheme, &Pages), nand: &mut N, on_flash: &mut [OnFlash]) -> Vec<Ppa> {
    let mut map = vec![Ppa::NONE; ftl.logical_pages as usize];
    let mut bytes = vec![0; ftl.geometry.page_bytes() as usize];
    let per_map_page = ftl.per_map_page() as usize;
    for (map_page, (map, on_flash)) in (0..).zip(map.chunks_mut(per_map_page).zip(on_flash.chunks_mut(per_map_page))) {
        match ftl.map.read(nand, map_page, &mut bytes).expect("a map page can be read") {
            Held::Nothing => continue,
            Held::Page => {}
            Held::Lost => {
                // Until the map page is written again, only memory knows the trimmed pages.
                ftl.rebuild(pages, nand, map_page, &mut bytes).expect("spare areas can be read");
                map.iter_mut().zip(entries(&bytes)).for_each(|(entry, page)| *entry = page);
                on_flash
                    .iter_mut()
                    .zip(map)
                    .filter(|(_, page)| !page.is_some())
                    .for_each(|(found, _)| found.newest = 0);
                continue;
            }
        }
        let speaks = nand.read_spare(ftl.map.at(map_page)).expect("it was read").expect("it is programmed").seq.0;
        for ((entry, found), page) in map.iter_mut().zip(on_flash).zip(entries(&bytes)) {
            *entry = page;
            *found = OnFlash { speaks, is_unmapped: !page.is_some(), ..*found };
        }
    }
    ftl.moved.iter().for_each(|(at, to)| map[at.index()] = to);
    ftl.cmt.each(&mut |at, page, is_dirty| {
        assert!(
            is_dirty || map[at.index()] == page,
            "the entry of {at} in memory is {page}, on flash {}",
            map[at.index()]
        );
        map[at.index()] = page;
    });
    map
}

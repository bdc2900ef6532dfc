//! LazyFTL's invariants, derived again from flash.

use super::Scheme;
use crate::parts::copies::Owned;
use crate::parts::engine::Pages;
use crate::parts::flash_map::Held;
use crate::parts::map_entries::entries;
use nandlab_nand::{BlockId, Kind, Lpn, Nand, NandError, Ppa};

/// A logical page as its map page on flash says.
#[derive(Clone, Copy)]
struct Said {
    page: Ppa,
    /// When the map page was written, 0 if never.
    speaks: u64,
    /// Whether the map page cannot be read: the entry is found by a search.
    is_lost: bool,
}

pub(super) fn check<N: Nand>(ftl: &Scheme, pages: &Pages, nand: &mut N) {
    ftl.map.check(nand);
    let newest = pages.newest_on_flash(ftl.logical_pages as usize, nand);
    let said = whole_map(ftl, pages, nand);
    let mut owners = Owned::none_of(ftl.geometry.pages());
    let mut counted = 0;
    for (at, &said) in (0..).map(Lpn).zip(&said) {
        let entry = ftl.umt.get(at);
        let page = entry.map_or(said.page, |entry| entry.page);
        if let Some(entry) = entry {
            assert!(!entry.is_committed || entry.page == said.page, "the committed entry of {at} is not that on flash");
            counted += u32::from(entry.is_counted);
            if entry.is_counted && said.page.is_some() && said.page != page {
                assert!(
                    pages.table.is_valid(said.page),
                    "the older copy of {at} at {} counts and is not valid",
                    said.page
                );
                assert!(owners.insert(said.page.0), "page {} is an older copy and belongs to another", said.page);
            }
        }
        let copy = newest[at.index()].map_or(0, |(seq, _)| seq);
        if !page.is_some() {
            // A mount must not bring it back.
            let is_pending = ftl.trimmed.contains(&(at.0 / ftl.per_map_page())) || said.is_lost;
            let is_noted = !said.page.is_some() && said.speaks > copy;
            assert!(copy == 0 || is_pending || is_noted, "page {at} is trimmed and a mount finds a copy");
            continue;
        }
        assert!(owners.insert(page.0), "page {page} belongs to logical page {at} and another");
        assert!(pages.table.is_valid(page), "logical page {at} is mapped to {page}, which is not valid");
        let oob = nand.read_spare(page).expect("a mapped page can be read").expect("a mapped page is programmed");
        assert_eq!(oob.lpn, at, "page {page} is mapped to logical page {at} and holds another");
        assert!(oob.seq.0 >= copy, "logical page {at} is mapped to {page}, flash has a newer copy");
        assert!(matches!(oob.kind, Kind::Data | Kind::Lost), "page {page} holds {:?}", oob.kind);
        let mount_finds_it = said.is_lost || said.page.is_some() || oob.seq.0 > said.speaks;
        assert!(mount_finds_it, "logical page {at} is mapped to {page}, its map page says later that it is not");
    }
    let valid: u32 = (0..ftl.geometry.blocks()).map(|block| pages.table.valid_pages(BlockId(block))).sum();
    assert_eq!(valid as usize, owners.count(), "valid pages of data");
    assert_eq!(counted, ftl.umt.counted(), "older copies that may count");
}

/// The whole map on flash; the map pages in memory must be equal.
fn whole_map<N: Nand>(ftl: &Scheme, pages: &Pages, nand: &mut N) -> Vec<Said> {
    let mut map = vec![Said { page: Ppa::NONE, speaks: 0, is_lost: false }; ftl.logical_pages as usize];
    let mut bytes = vec![0; ftl.geometry.page_bytes() as usize];
    for (map_page, map) in (0..).zip(map.chunks_mut(ftl.per_map_page() as usize)) {
        match ftl.map.read(nand, map_page, &mut bytes).expect("a map page can be read") {
            Held::Nothing => {}
            Held::Lost => search(ftl, pages, nand, map_page, map),
            Held::Page => {
                let speaks =
                    nand.read_spare(ftl.map.at(map_page)).expect("it was read").expect("it is programmed").seq.0;
                let said = entries(&bytes).map(|page| Said { page, speaks, is_lost: false });
                map.iter_mut().zip(said).for_each(|(entry, said)| *entry = said);
                let cached = ftl.cache.iter().find(|&(page, _)| page == map_page);
                assert!(cached.is_none_or(|(_, cached)| cached == bytes), "map page {map_page} in memory");
            }
        }
    }
    map
}

/// A lost map page's entries, as a search for them finds.
fn search<N: Nand>(ftl: &Scheme, pages: &Pages, nand: &mut N, map_page: u32, map: &mut [Said]) {
    let first = map_page * ftl.per_map_page();
    map.iter_mut().for_each(|said| said.is_lost = true);
    for block in (0..ftl.geometry.blocks()).map(BlockId) {
        for page in pages.valid_of(block) {
            let oob = match nand.read_spare(page) {
                Ok(oob) => oob.expect("a valid page is programmed"),
                Err(NandError::Uncorrectable(_)) => continue,
                Err(error) => panic!("page {page}: {error}"),
            };
            let is_newest = ftl.umt.get(oob.lpn).is_some_and(|entry| entry.page == page);
            if let Some(said) = map.get_mut(oob.lpn.0.wrapping_sub(first) as usize).filter(|_| !is_newest) {
                said.page = page;
            }
        }
    }
}

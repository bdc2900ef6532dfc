//! The invariants of the block map, derived anew from flash.

use super::{BlockMap, Entry};
use nandlab_nand::{BlockId, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa};
use std::collections::BTreeSet;

pub(super) fn check<N: Nand>(ftl: &BlockMap, nand: &mut N) {
    blocks_have_one_use(ftl);
    for logical_block in 0..ftl.map.len() {
        let Entry { data, replacement } = ftl.map[logical_block];
        let older = pages_of(ftl, nand, logical_block, data);
        let newer = pages_of(ftl, nand, logical_block, replacement);
        let last_of_older = older.iter().flatten().map(|oob| oob.seq).max();
        let first_of_newer = newer.iter().flatten().map(|oob| oob.seq).min();
        if let (Some(older), Some(newer)) = (last_of_older, first_of_newer) {
            assert!(
                older <= newer,
                "logical block {logical_block}: its data block {data} has pages newer than {replacement}"
            );
        }
        for place in 0..ftl.geometry.pages_per_block() {
            check_page(ftl, nand, logical_block, place, [&older, &newer]);
        }
    }
    for free in ftl.free.iter() {
        for page in (0..ftl.geometry.pages_per_block()).map(|place| ftl.geometry.page(free.block, place)) {
            let found = copy_at(nand, page);
            assert!(found.is_none(), "page {page} of a free block can be read: {found:?}");
            assert!(!free.erased || nand.read_spare(page) == Ok(None), "page {page} of an erased block is programmed");
        }
    }
    for (segment, page) in ftl.notes.live() {
        let oob = nand.read_spare(page).expect("a note can be read").expect("a note is programmed");
        assert_eq!((oob.kind, oob.lpn), (Kind::TrimNote, Lpn(segment)), "page {page} is a live note");
    }
}

/// Every block is in exactly one place.
fn blocks_have_one_use(ftl: &BlockMap) {
    let mut seen = BTreeSet::new();
    let mapped = ftl.map.iter().flat_map(Entry::blocks);
    let free = ftl.free.iter().map(|free| free.block);
    for block in mapped.chain(free).chain(ftl.notes.blocks().iter().copied()) {
        assert!(!ftl.free.is_bad(block), "block {block} is bad and in use");
        assert!(seen.insert(block), "block {block} is in use twice");
    }
    assert_eq!(seen.len() as u32, ftl.free.good(), "blocks in use and free");
    assert_eq!(ftl.free.iter().count() as u32, ftl.free.count(), "free blocks");
    let mut replaced = ftl.replaced.clone();
    replaced.sort_unstable();
    let expected = (0..).zip(&ftl.map).filter(|(_, entry)| entry.replacement.is_some()).map(|(at, _)| at);
    assert!(replaced.into_iter().eq(expected), "the list of replacement blocks");
}

/// The metadata of the pages of a block of `logical_block`, where they can be read.
fn pages_of<N: Nand>(ftl: &BlockMap, nand: &mut N, logical_block: usize, block: BlockId) -> Vec<Option<Oob>> {
    let places = 0..if block.is_some() { ftl.geometry.pages_per_block() } else { 0 };
    places
        .map(|place| {
            let page = ftl.geometry.page(block, place);
            let oob = match nand.read_spare(page) {
                Ok(oob) => oob,
                Err(NandError::Uncorrectable(_)) => {
                    assert!(!ftl.fill.takes(block, place), "page {page} is spent and block {block} takes it");
                    None
                }
                Err(error) => panic!("page {page} of a block in use: {error}"),
            };
            if let Some(oob) = oob {
                assert_eq!(oob.lpn, ftl.logical_page(logical_block, place), "page {page} is out of its place");
                assert!(oob.seq.0 < ftl.seq, "page {page} carries a sequence number that was not given out yet");
                assert!(!ftl.fill.takes(block, place), "page {page} is programmed and block {block} takes it");
            }
            oob
        })
        .collect()
}

/// The copy of a host page at `page`, if it is whole.
fn copy_at<N: Nand>(nand: &mut N, page: Ppa) -> Option<Oob> {
    let oob = nand.read_spare(page).ok().flatten()?;
    let mut contents = N::Buf::zeroed(nand.geometry().page_bytes());
    (matches!(oob.kind, Kind::Data | Kind::Lost) && nand.read(page, &mut contents).is_ok()).then_some(oob)
}

/// The newest copy of a page is the valid one; a page without a valid copy is unmapped for good.
fn check_page<N: Nand>(
    ftl: &BlockMap,
    nand: &mut N,
    logical_block: usize,
    place: u32,
    [older, newer]: [&Vec<Option<Oob>>; 2],
) {
    let at = ftl.logical_page(logical_block, place);
    let Entry { data, replacement } = ftl.map[logical_block];
    let holder = ftl.holder(logical_block, place);
    let both = ftl.map[logical_block].blocks().filter(|&block| ftl.valid.has(block, place)).count();
    assert!(both <= 1, "logical page {at} is valid twice");
    if holder.is_some() {
        let pages = if holder == replacement { newer } else { older };
        let oob = pages[place as usize]
            .unwrap_or_else(|| panic!("logical page {at} is mapped to an erased page of {holder}"));
        assert!(matches!(oob.kind, Kind::Data | Kind::Lost), "logical page {at} is mapped to {:?}", oob.kind);
    }
    let mut newest = None;
    for block in [data, replacement].into_iter().filter(|block| block.is_some()) {
        if block != holder {
            newest = copy_at(nand, ftl.geometry.page(block, place)).map(|oob| (block, oob)).or(newest);
        } else {
            newest = None;
        }
    }
    let Some((block, copy)) = newest else { return };
    assert!(!holder.is_some(), "logical page {at} is mapped to block {holder}, block {block} has a newer copy");
    if let Some((note, bit)) = ftl.notes.holding(at) {
        assert!(note.is_some(), "logical page {at} is trimmed, and no note says so");
        let mut bitmap = vec![0; ftl.geometry.page_bytes() as usize];
        let noted = nand.read_tail(note, &mut bitmap).expect("a note can be read");
        let hides = bitmap[bit as usize / 8] >> (bit % 8) & 1 == 1 && noted.seq >= copy.seq;
        assert!(hides, "logical page {at} is trimmed, and the note at page {note} does not hide the copy in {block}");
    }
}

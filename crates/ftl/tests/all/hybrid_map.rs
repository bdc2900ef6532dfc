//! The hybrid map on examples worked by hand.

use crate::lab::{cost, flash, mount, submit, Lab};
use nandlab_block::Op;
use nandlab_ftl::hybrid_map::{Config, HybridMap};
use nandlab_ftl::Ftl;
use nandlab_nand::random::Random;
use nandlab_nand::{Geometry, Rules};

/// Blocks with 8 pages of 8 sectors.
fn disk(pages: u32, config: &Config) -> Lab {
    let geometry = Geometry::single_die(60, 8, 4096).unwrap();
    mount(flash(geometry, Rules::default()), pages, config)
}

#[test]
fn a_page_splits_when_written_small_and_folds_when_written_whole() {
    let mut disk = disk(200, &Config::default());
    let read = |disk: &mut _| cost(disk, |disk: &mut Lab| submit(disk, Op::Read, 8, 8)).page_reads;
    let whole = cost(&mut disk, |disk| submit(disk, Op::Write, 8, 8));
    assert_eq!((whole.page_programs, whole.meta_programs, read(&mut disk)), (1, 0, 1));
    submit(&mut disk, Op::Write, 10, 1);
    let flushed = cost(&mut disk, |disk| submit(disk, Op::Flush, 0, 0));
    assert_eq!(
        (flushed.page_programs, flushed.meta_programs, flushed.page_reads),
        (1, 1, 0),
        "nothing is read to be modified"
    );
    assert_eq!(read(&mut disk), 3, "before the sector, the sector, behind it");
    submit(&mut disk, Op::Write, 8, 8);
    assert_eq!(read(&mut disk), 1);
    disk.remount().unwrap();
    disk.check();
    assert_eq!(read(&mut disk), 1);
}

#[test]
fn collection_puts_split_pages_together() {
    let folded = |gather_from| {
        let mut disk = disk(200, &Config { gather_from, ..Config::default() });
        let mut random = Random::new(5);
        (0..200).for_each(|page| submit(&mut disk, Op::Write, 8 * page, 8));
        (0..6_000).for_each(|_| submit(&mut disk, Op::Write, random.below(1600), 1));
        disk.check();
        disk.events().folded_pages
    };
    let (never, seldom, often) = (folded(0), folded(4), folded(1));
    assert!(never < seldom && seldom < often && often > 500, "{never}, {seldom}, {often}");
}

#[test]
fn what_is_never_split_has_no_map_of_sectors() {
    // The page map is 4 units with 64 entries; the sector map is eight times as large.
    let config = Config { cmt_units: 4, cmt_unit_bytes: 256, ..Config::default() };
    let mut disk = disk(200, &config);
    let mut random = Random::new(5);
    (0..3_000).for_each(|_| submit(&mut disk, Op::Write, 8 * random.below(200), 8));
    assert_eq!((disk.events().map_misses, disk.events().map_dirty_evictions), (4, 0));
    submit(&mut disk, Op::Write, 3, 1);
    submit(&mut disk, Op::Flush, 0, 0);
    assert_eq!(disk.events().map_misses, 6, "the unit of the sectors, for which that of the page left");
}

#[test]
fn entries_that_no_number_names_are_refused() {
    let most = |blocks, cmt_unit_bytes| {
        // One-sector pages, with entries in both maps.
        let geometry = Geometry::single_die(blocks, 8, 512).unwrap();
        let config = Config { cmt_unit_bytes, ..Config::default() };
        HybridMap::max_logical_pages(&geometry, &Rules::default(), &config).map_err(|error| error.to_string())
    };
    assert!(most(1 << 27, 1 << 20).is_ok_and(|pages| pages > 1 << 29), "half as many");
    for unit_bytes in [1 << 20, 1 << 30] {
        let why = most((1 << 28) - 1, unit_bytes).unwrap_err();
        let start = format!("ftl.hybrid_map.cmt_unit_bytes = {unit_bytes}: pages and sectors of this device need");
        assert!(why.starts_with(&start), "{why}");
    }
}

#[test]
fn more_sectors_than_a_page_has_are_never_in_a_victim() {
    let geometry = |page_bytes| Geometry::single_die(60, 8, page_bytes).unwrap();
    let most = |gather_from, page_bytes| {
        let config = Config { gather_from, ..Config::default() };
        HybridMap::max_logical_pages(&geometry(page_bytes), &Rules::default(), &config)
            .map_err(|error| error.to_string())
    };
    let notices = |gather_from| {
        let config = Config { gather_from, ..Config::default() };
        HybridMap::notices(&config, &geometry(4096), 100).unwrap().into_iter().filter(|one| one.contains("gather_from"))
    };
    assert!([0, 1, 32, 64].iter().all(|&from| most(from, 32_768).is_ok()));
    let refused = most(65, 32_768).unwrap_err();
    let sentence = "ftl.hybrid_map.gather_from = 65: it is at most 64, and a page of this device has 64 sectors";
    assert!(refused.starts_with(sentence), "{refused}");
    let refused = most(33, 512).unwrap_err();
    assert!(refused.contains("= 33: it is at most 32, and a page of this device has 1 sector;"), "{refused}");
    // Half the largest page is accepted on every device, with a notice if it has no effect.
    assert!(most(32, 512).is_ok() && [0, 8].into_iter().all(|from| notices(from).count() == 0));
    for from in [9, 32] {
        let told: Vec<String> = notices(from).collect();
        let start = format!("ftl.hybrid_map.gather_from = {from} has no effect: ");
        assert!(told.len() == 1 && told[0].starts_with(&start), "{told:?}");
    }
}

#[test]
fn memory_has_a_mark_of_each_kind_for_each_map_page() {
    // 200 pages with 8 sectors: one map page with 1024 page entries, and two for 1600 sector entries.
    let ram = disk(200, &Config::default()).ram();
    assert_eq!((ram.sram["map_directory"], ram.sram["trim_marks"], ram.sram["split_marks"]), (4 * 3, 1, 1));
}

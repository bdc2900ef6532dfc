//! The firmware's behaviour on examples worked by hand.

use crate::lab::{cost, cost_of, erased, flash, mount, newest, submit, two_dies, write, Lab, PAGES};
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_ftl::superpage::{Config, Firmware, SuperPage};
use nandlab_ftl::Ftl;
use nandlab_nand::{Geometry, Lpn, ProgramOrder, Rules};

/// One bank with 64-sector super-pages.
fn super_pages() -> Lab {
    let geometry = Geometry::single_die(8, 16, 32_768).unwrap();
    mount(flash(geometry, Rules::default()), 40, &Config::default())
}

#[test]
fn a_partial_write_reads_the_holes_and_programs_the_page() {
    let mut disk = super_pages();
    let reads_of = |disk: &mut Lab, first, sectors| {
        let cost = cost(disk, |disk| submit(disk, Op::Write, first, sectors));
        assert_eq!(cost.page_programs, 1);
        cost.page_reads
    };
    assert_eq!(reads_of(&mut disk, 3, 1), 0, "of a page that is not mapped nothing is read");
    for (first, sectors, reads) in
        [(8, 8, 1), (63, 1, 1), (8, 9, 2), (1, 62, 2), (0, 8, 1), (0, 63, 1), (9, 55, 1), (0, 64, 0)]
    {
        assert_eq!(reads_of(&mut disk, first, sectors), reads, "{sectors} sectors from {first} on");
    }
}

#[test]
fn the_last_page_of_a_block_lists_the_others_and_is_all_that_collection_reads() {
    let pages = PAGES;
    let mut disk = erased(ProgramOrder::Ascending, 8, 30, &Config::default());
    let first = cost(&mut disk, |disk| write(disk, 0..pages - 2));
    assert_eq!((first.page_programs, first.meta_programs), (pages - 2, 0));
    let last = cost(&mut disk, |disk| write(disk, [pages - 2]));
    assert_eq!((last.page_programs, last.meta_programs), (1, 0), "the list waits for the next page");
    let next = cost(&mut disk, |disk| write(disk, [pages - 1]));
    assert_eq!((next.page_programs, next.meta_programs), (2, 1), "the list, and the page");
    let spent = cost(&mut disk, |disk| (0..40).for_each(|_| write(disk, 0..30)));
    let collected = disk.events().gc_runs;
    assert!(collected > 100);
    assert_eq!((spent.meta_reads, spent.page_reads), (collected, collected));
}

#[test]
fn the_reserved_block_takes_survivors_and_then_the_host() {
    // Blocks with 7 data pages and a list; 2 of 6 blocks stay free, and 4 are filled with pages 0 to 13 twice.
    let mut disk = erased(ProgramOrder::Ascending, 6, 14, &Config::default());
    assert_eq!(cost_of(&mut disk, 0..14), (15, 0, 0));
    // Block 0 loses pages 0 to 5, block 1 keeps all; then block 2 is full.
    assert_eq!(cost_of(&mut disk, (0..6).chain([0])), (8, 0, 0));
    assert_eq!(cost_of(&mut disk, 0..7), (8, 0, 0), "the last block above the reserve");
    // Blocks 0 and 2 hold nothing: the first is erased, nothing is copied, and a reserved block is filled. The list of the
    // block before is the other program.
    assert_eq!(cost_of(&mut disk, [7]), (2, 0, 1));
}

#[test]
fn a_logical_page_has_its_bank() {
    let mut disk = mount(two_dies(), 20, &Config::default());
    write(&mut disk, (0..20).chain((0..20).rev()));
    for at in 0..20 {
        let page = newest(&mut disk, Lpn(at));
        let geometry = disk.nand().geometry();
        assert_eq!(geometry.die_of(geometry.block_of(page)), at % 2, "{}", Lpn(at));
    }
    disk.check();
}

#[test]
fn the_tutorial_fills_the_banks_in_turn_and_ends_with_a_sentence() {
    let config = Config { firmware: Firmware::Tutorial, durable_trim: false, ..Config::default() };
    let mut disk = mount(two_dies(), 30, &config);
    // 2 x 10 blocks with 4 pages; page 7 is in one bank, then in the other.
    write(&mut disk, (0..80).map(|_| 7));
    assert_eq!(disk.ctx().matrix().total().erases(), 0.0);
    let Err(Error::WornOut(why)) = disk.submit(&Request::new(Op::Write, 3, 1), Payload::None) else {
        panic!("the device takes more than it has")
    };
    assert_eq!(
        why,
        "bank 0 has no erased page left: ftl.superpage.firmware = \"tutorial\" programs each of the 80 pages of the device once \
         and erases nothing; \"greedy\" collects garbage"
    );
    submit(&mut disk, Op::Read, 7, 1);
    disk.remount().unwrap();
    disk.check();
    submit(&mut disk, Op::Read, 7, 1);
}

#[test]
fn a_list_that_no_page_holds_is_refused() {
    let geometry = Geometry::single_die(8, 256, 512).unwrap();
    let error = SuperPage::max_logical_pages(&geometry, &Rules::default(), &Config::default()).unwrap_err().to_string();
    assert!(
        error.starts_with("ftl.superpage.reverse_map = \"list_page\" takes 4 bytes for each of the 255 pages"),
        "{error}"
    );
}

#[test]
fn the_key_that_asks_for_too_many_blocks_is_named() {
    // Banks with 20 blocks; 3 are neither in reserve nor the firmware's.
    let refused = |reserve_blocks, firmware_blocks| {
        let config = Config { reserve_blocks, firmware_blocks, ..Config::default() };
        let geometry = Geometry::single_die(20, 8, 512).unwrap();
        SuperPage::max_logical_pages(&geometry, &Rules::default(), &config).map_err(|error| error.to_string())
    };
    assert!(refused(2, 15).is_ok() && refused(17, 0).is_ok());
    for given in [16, 4000, u32::MAX] {
        let why = refused(2, given).unwrap_err();
        let start = format!(
            "ftl.superpage.firmware_blocks = {given} leaves too few blocks: a bank of this device has 20 blocks"
        );
        let end = "need 5 beside them; a device of this size takes ftl.superpage.firmware_blocks = 15 at most";
        assert!(why.starts_with(&start) && why.ends_with(end), "{why}");
    }
    for given in [18, u32::MAX] {
        let why = refused(given, 4000).unwrap_err();
        assert!(why.starts_with(&format!("ftl.superpage.reserve_blocks = {given} would deadlock")), "{why}");
        assert!(why.ends_with("a device of this size takes ftl.superpage.reserve_blocks = 17 at most"), "{why}");
    }
}

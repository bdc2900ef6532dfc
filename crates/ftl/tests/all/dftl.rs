//! DFTL costs by hand, and the effects of lost map pages and lost pages.

use crate::lab::{cost, faulty_flash, flash, mount, mount_again, mounted, submit, write, Flash, Lab};
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_drive::inside;
use nandlab_ftl::dftl::{Allocation, Config, Dftl, GroupOptions};
use nandlab_ftl::parts::placement::{Placement, TwoPools};
use nandlab_ftl::parts::wear::Wear;
use nandlab_ftl::{Ftl, FtlError};
use nandlab_nand::faulty::{BitErrors, Config as Faults};
use nandlab_nand::random::Random;
use nandlab_nand::{Cause, Geometry, Nand, Rules};

/// Map entries per 512-byte page.
const ENTRIES: u64 = 128;

fn lab(logical_pages: u32, config: &Config) -> Lab {
    let geometry = Geometry::single_die(200, 16, 512).unwrap();
    mount(flash(geometry, Rules::default()), logical_pages, config)
}

/// Two entries in memory, one protected.
fn two() -> Config {
    Config { cmt_entries: 2, protected_percent: 50, ..Config::default() }
}

/// The cost of writes: host programs, map reads and programs, and collection's programs.
fn cost_of(lab: &mut Lab, pages: &[u64]) -> (u64, u64, u64, u64) {
    let before = lab.ctx().matrix().clone();
    cost(lab, |lab| pages.iter().for_each(|&page| write(lab, [page])));
    let since = lab.ctx().matrix().since(&before);
    let of = |cause| since.sum(|_, found| found == cause);
    let map = of(Cause::Map);
    (of(Cause::Host).programs(), map.reads(), map.programs(), of(Cause::Gc).programs())
}

#[test]
fn misses_and_changed_entries_cost_reads_and_programs() {
    let mut lab = lab(1_000, &two());
    let page = |map_page: u64, place: u64| map_page * ENTRIES + place;
    assert_eq!(cost_of(&mut lab, &[page(0, 0), page(1, 0)]), (2, 0, 0, 0), "no map page is on flash yet");
    assert_eq!(cost_of(&mut lab, &[page(0, 0)]), (1, 0, 0, 0), "a hit");
    // The oldest entry has changed; its map page was never written, so it is not read.
    assert_eq!(cost_of(&mut lab, &[page(2, 0)]), (1, 0, 1, 0), "one of map page 1 leaves");
    assert_eq!(cost_of(&mut lab, &[page(1, 1)]), (1, 1, 1, 0), "one of map page 0 leaves, map page 1 is read");
    assert_eq!(cost_of(&mut lab, &[page(0, 1)]), (1, 1, 1, 0), "one of map page 2 leaves, map page 0 is read");
    assert_eq!(cost_of(&mut lab, &[page(0, 2)]), (1, 2, 1, 0), "map page 1 is read, changed and written, 0 is read");
    assert_eq!(cost_of(&mut lab, &[page(5, 0)]), (1, 1, 1, 0), "both changed entries of map page 0 are written");
    // The other one now equals the entry on flash, so it leaves for nothing.
    assert_eq!(cost_of(&mut lab, &[page(6, 0)]), (1, 0, 0, 0));
    let events = lab.events();
    assert_eq!((events.map_hits, events.map_misses, events.map_dirty_evictions), (1, 8, 5));
}

#[test]
fn without_batches_every_changed_entry_is_written() {
    let mut lab = lab(1_000, &Config { batch_write_back: false, ..two() });
    cost_of(&mut lab, &[0, 1]);
    assert_eq!(cost_of(&mut lab, &[2]), (1, 1, 1, 0), "map page 0 is written for the first time, then read");
    assert_eq!(cost_of(&mut lab, &[3]), (1, 2, 1, 0), "and again for the entry that it has already");
}

#[test]
fn a_flush_writes_what_was_trimmed_and_nothing_else() {
    let mut lab = lab(1_000, &Config::default());
    write(&mut lab, 0..600);
    let flush = |lab: &mut Lab| cost(lab, |lab| submit(lab, Op::Flush, 0, 0)).programs();
    assert_eq!(flush(&mut lab), 0, "a page of the host tells its logical page");
    submit(&mut lab, Op::Trim, 100, 100);
    submit(&mut lab, Op::Trim, 500, 1);
    assert_eq!(flush(&mut lab), 3, "map pages 0, 1 and 3");
    assert_eq!(flush(&mut lab), 0);
    let mut lab = mount_again(lab, 1_000, &two());
    lab.check();
    assert_eq!(lab.ram().sram["gtd"], 4 * 8, "the map has 8 pages");
    let unmapped = |at: u64| (100..200).contains(&at) || at == 500;
    let before = lab.ctx().matrix().clone();
    (0..600).for_each(|page| submit(&mut lab, Op::Read, page, 1));
    let reads = lab.ctx().matrix().since(&before).sum(|_, cause| cause == Cause::Host).page_reads;
    assert_eq!(reads, (0..600).filter(|&at| !unmapped(at)).count() as u64, "trimmed pages are not read");
}

/// A mount keeps entries missing in the map pages as changed ones, and writes map pages only for those without room in
/// memory.
#[test]
fn a_mount_writes_map_pages_only_for_what_memory_does_not_take() {
    let mut lab = lab(1_000, &Config::default());
    write(&mut lab, 0..1_000);
    let mut nand: Flash = inside(lab.into_nand());
    for (cmt_entries, programs) in [(1_000, 0), (999, 1), (300, 6), (2, 8)] {
        let before = nand.ctx().matrix().clone();
        let config = Config { cmt_entries, ..Config::default() };
        let mut again = mount(nand.clone(), 1_000, &config);
        let cost = again.ctx().matrix().since(&before).total();
        assert_eq!(cost.page_programs, programs, "{cmt_entries} entries");
        assert_eq!(cost.spare_reads, 200 * 16, "every spare area is read once");
        again.check();
    }
}

/// Bit errors hit host pages and map pages alike. A lost host page reads as an error, any other as it was written; a
/// lost map page's entries are found again.
#[test]
fn lost_pages_read_as_errors_and_lost_map_pages_are_found_again() {
    let errors = BitErrors { rber: 1.2e-3, growth: 0, ecc_bits: 10, codeword_bytes: 512 };
    let faults = Faults { bit_errors: Some(errors), seed: 3, ..Faults::default() };
    let geometry = Geometry::single_die(80, 8, 512).unwrap();
    let nand = faulty_flash(geometry, Rules::default(), faults);
    let config = Config { cmt_entries: 8, ..Config::default() };
    let pages = 400;
    let mut disk = mount(nand, pages, &config);
    let mut random = Random::new(5);
    let mut model = vec![Some(0); pages as usize];
    let (mut unreadable, mut lost) = (0, 0);
    for round in 1..=8_000_u32 {
        let at = random.below(pages.into());
        let bytes = [round as u8; 512];
        disk.submit(&Request::new(Op::Write, at, 1), Payload::Write(&bytes)).unwrap();
        model[at as usize] = Some(round as u8);
        let at = random.below(pages.into());
        let mut bytes = [0; 512];
        match disk.submit(&Request::new(Op::Read, at, 1), Payload::Read(&mut bytes)) {
            Ok(_) => {
                let expected = model[at as usize].unwrap_or(bytes[0]);
                assert_eq!(bytes, [expected; 512], "page {at} in round {round}");
            }
            Err(error) => {
                assert_eq!(error, Error::Unreadable { sector: at });
                unreadable += 1;
            }
        }
        if round % 500 == 0 {
            disk.check();
        }
        if round % 2_000 == 0 {
            lost += disk.events().lost_pages;
            // A mount may take an unreadable page for a torn one.
            for (at, contents) in (0..).zip(&mut model) {
                let read = disk.submit(&Request::new(Op::Read, at, 1), Payload::Read(&mut [0; 512]));
                *contents = contents.filter(|_| read.is_ok());
            }
            disk = mount_again(disk, pages, &config);
        }
    }
    let cells = disk.ctx().matrix().clone();
    let searched = cells.sum(|_, cause| matches!(cause, Cause::Map | Cause::Gc)).spare_reads;
    println!("{unreadable} reads failed, {lost} pages moved, {searched} spare areas read to find entries");
    assert!(lost > 10 && unreadable > 50 && searched > 1_000, "{lost}, {unreadable}, {searched}");
}

#[test]
fn options_that_cannot_work_are_refused_with_the_value() {
    let geometry = Geometry::single_die(8, 4, 512).unwrap();
    let most = |config: &Config| Dftl::max_logical_pages(&geometry, &Rules::default(), config);
    // Without the reserve, two frontiers and three map blocks one block is left, with one page kept invalid.
    assert_eq!(most(&Config::default()), Ok(3));
    assert_eq!(most(&Config { reserve_blocks: 1, ..Config::default() }), Ok(7));
    for (config, why) in [
        (Config { reserve_blocks: 3, ..Config::default() }, "ftl.dftl.reserve_blocks = 3 would deadlock"),
        (Config { reserve_blocks: 0, ..Config::default() }, "ftl.dftl.reserve_blocks = 0: it is at least 1"),
        (Config { cmt_entries: 1, ..Config::default() }, "ftl.dftl.cmt_entries = 1: it is at least 2"),
        (
            Config { protected_percent: 100, ..Config::default() },
            "ftl.dftl.protected_percent = 100: it is at least 1 and",
        ),
        (
            Config { placement: Placement::Pools(TwoPools { pages: 2, blocks: 2 }), ..Config::default() },
            "ftl.dftl.placement = \"pools\" is one of the page map alone",
        ),
        (
            Config { placement: Placement::Sepbit, allocation: Allocation::Static, ..Config::default() },
            "ftl.dftl.placement is for ftl.dftl.allocation = \"dynamic\"",
        ),
        (Config { placement: Placement::Sepbit, ..Config::default() }, "ftl.dftl.reserve_blocks = 2 would deadlock"),
        (
            Config {
                wear: Wear::Dynamic,
                allocation: Allocation::Groups(GroupOptions::default()),
                ..Config::default()
            },
            "ftl.dftl.wear is not for ftl.dftl.allocation.groups",
        ),
    ] {
        let error = most(&config).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
    let nand = flash(geometry, Rules::default());
    let error = mounted(nand, 4, &Config::default()).map(drop).unwrap_err();
    assert!(matches!(error, FtlError::Config(text) if text.starts_with("4 logical pages are more")));
}

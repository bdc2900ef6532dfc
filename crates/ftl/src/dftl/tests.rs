//! Costs by hand, what lost map pages and lost pages leave, and what waits for what on dies that work at the same time.

use super::{Allocation, Config, Dftl};
use crate::tests::{cost, faulty_flash, flash, timed_flash, two_dies, Flash};
use crate::{Disk, Ftl, FtlError};
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_nand::faulty::{BitErrors, Config as Faults};
use nandlab_nand::profile::Timing;
use nandlab_nand::random::Random;
use nandlab_nand::{Cause, Content, Geometry, Lpn, Nand, Origin, Rules, SectorMask, Shape};

/// Map entries of a page of 512 bytes.
const ENTRIES: u64 = 128;

type Lab = Disk<Dftl, Flash>;

fn lab(logical_pages: u32, config: &Config) -> Lab {
    let geometry = Geometry::single_die(200, 16, 512).unwrap();
    Disk::mount(flash(geometry, Rules::default()), logical_pages, config).unwrap()
}

/// Two entries in memory, one of them protected.
fn two() -> Config {
    Config { cmt_entries: 2, protected_percent: 50, ..Config::default() }
}

/// What writes cost: programs of the host, reads and programs of the map, and of collection.
fn cost_of(lab: &mut Lab, pages: &[u64]) -> (u64, u64, u64, u64) {
    let before = lab.nand_mut().ctx().matrix().clone();
    cost(lab, |lab| pages.iter().for_each(|&page| crate::tests::write(lab, [page])));
    let since = lab.nand_mut().ctx().matrix().since(&before);
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
    // The other one is as on flash now, so it leaves for nothing.
    assert_eq!(cost_of(&mut lab, &[page(6, 0)]), (1, 0, 0, 0));
    let events = lab.ftl().events();
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
    crate::tests::write(&mut lab, 0..600);
    let flush = |lab: &mut Lab| cost(lab, |lab| crate::tests::submit(lab, Op::Flush, 0, 0)).programs();
    assert_eq!(flush(&mut lab), 0, "a page of the host tells its logical page");
    crate::tests::submit(&mut lab, Op::Trim, 100, 100);
    crate::tests::submit(&mut lab, Op::Trim, 500, 1);
    assert_eq!(flush(&mut lab), 3, "map pages 0, 1 and 3");
    assert_eq!(flush(&mut lab), 0);
    let mut lab = Lab::mount(lab.into_nand(), 1_000, &two()).unwrap();
    lab.check();
    assert_eq!(lab.ftl().map.pages(), 8);
    let unmapped = |at: u64| (100..200).contains(&at) || at == 500;
    let before = lab.nand_mut().ctx().matrix().clone();
    (0..600).for_each(|page| crate::tests::submit(&mut lab, Op::Read, page, 1));
    let reads = lab.nand_mut().ctx().matrix().since(&before).sum(|_, cause| cause == Cause::Host).page_reads;
    assert_eq!(reads, (0..600).filter(|&at| !unmapped(at)).count() as u64, "trimmed pages are not read");
}

/// A mount takes the entries that map pages lack as changed ones, and writes map pages for those that memory has no room for.
#[test]
fn a_mount_writes_map_pages_only_for_what_memory_does_not_take() {
    let mut lab = lab(1_000, &Config::default());
    crate::tests::write(&mut lab, 0..1_000);
    let mut nand = lab.into_nand();
    for (cmt_entries, programs) in [(1_000, 0), (999, 1), (300, 6), (2, 8)] {
        let before = nand.ctx().matrix().clone();
        let config = Config { cmt_entries, ..Config::default() };
        let mut again = Lab::mount(nand.clone(), 1_000, &config).unwrap();
        let cost = again.nand_mut().ctx().matrix().since(&before).total();
        assert_eq!(cost.page_programs, programs, "{cmt_entries} entries");
        assert_eq!(cost.spare_reads, 200 * 16, "every spare area is read once");
        again.check();
    }
}

/// Bit errors hit pages of the host and of the map alike. A page of the host that was lost reads as an error, any other as
/// what was written; the entries of a lost map page are found again.
#[test]
fn lost_pages_read_as_errors_and_lost_map_pages_are_found_again() {
    let errors = BitErrors { rber: 1.2e-3, growth: 0, ecc_bits: 10, codeword_bytes: 512 };
    let faults = Faults { bit_errors: Some(errors), seed: 3, ..Faults::default() };
    let geometry = Geometry::single_die(80, 8, 512).unwrap();
    let nand = faulty_flash(geometry, Rules::default(), faults);
    let config = Config { cmt_entries: 8, ..Config::default() };
    let pages = 400;
    let mut disk = Disk::<Dftl, _>::mount(nand, pages, &config).unwrap();
    let mut random = Random::new(5);
    let mut model = vec![0; pages as usize];
    let (mut unreadable, mut lost) = (0, 0);
    for round in 1..=6_000_u32 {
        let at = random.below(pages.into());
        let bytes = [round as u8; 512];
        disk.submit(&Request::new(Op::Write, at, 1), Payload::Write(&bytes)).unwrap();
        model[at as usize] = round as u8;
        let at = random.below(pages.into());
        let mut bytes = [0; 512];
        match disk.submit(&Request::new(Op::Read, at, 1), Payload::Read(&mut bytes)) {
            Ok(_) => assert_eq!(bytes, [model[at as usize]; 512], "page {at} in round {round}"),
            Err(error) => {
                assert_eq!(error, Error::Unreadable { sector: at });
                unreadable += 1;
            }
        }
        if round % 500 == 0 {
            disk.check();
        }
        if round % 2_000 == 0 {
            lost += disk.ftl().events().lost_pages;
            disk = Disk::mount(disk.into_nand(), pages, &config).unwrap();
        }
    }
    let cells = disk.nand_mut().ctx().matrix().clone();
    let searched = cells.sum(|_, cause| matches!(cause, Cause::Map | Cause::Gc)).spare_reads;
    println!("{unreadable} reads failed, {lost} pages moved, {searched} spare areas read to find entries");
    assert!(lost > 10 && unreadable > 50 && searched > 1_000, "{lost}, {unreadable}, {searched}");
}

/// A map page with a page that had none before must not be on flash before that page: were the page lost, a mount would
/// take the copy from before its trim, since the map page says no longer that it is trimmed.
#[test]
fn a_map_page_waits_for_the_pages_that_it_names_first() {
    let mut nand = two_dies();
    let page = SectorMask(1);
    let mut ftl = Dftl::mount(&mut nand, 16, &Config::default()).unwrap();
    (0..8).for_each(|at| ftl.write(&mut nand, Lpn(at), page, &Content(None)).unwrap());
    ftl.trim(&mut nand, Lpn(3), page).unwrap();
    ftl.flush(&mut nand).unwrap();
    // The die of the next page is busy, the one of the map is not.
    let block = ftl.pool.blocks().find(|&block| ftl.geometry.die_of(block) as usize != ftl.turn).unwrap();
    for _ in 0..5 {
        nand.erase(block).unwrap();
    }
    ftl.write(&mut nand, Lpn(3), page, &Content(None)).unwrap();
    let written = nand.ctx().last();
    assert!(nand.ctx().settled() < written);
    ftl.update(&mut nand, 0, &[]).unwrap();
    assert!(nand.ctx().settled() >= written && nand.ctx().last() > written, "the map page comes after the write");
}

/// Times of the device of [`striped`], in ns.
const READ: u64 = 1_000;
const PROGRAM: u64 = 10_000;

/// Two dies with pages of two sectors, of which logical page `n` is on die `n % 2`.
fn striped(allocation: Allocation) -> (Dftl, Flash) {
    let shape = Shape {
        channels: 2,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 10,
        pages_per_block: 8,
        page_bytes: 1024,
        spare_bytes: 32,
    };
    let mut nand = timed_flash(Geometry::new(shape).unwrap(), Rules::default(), &Timing::array(1.0, 10.0, 100.0));
    let mut ftl = Dftl::mount(&mut nand, 16, &Config { allocation, ..Config::default() }).unwrap();
    (0..8).for_each(|at| ftl.write(&mut nand, Lpn(at), SectorMask(3), &Content(None)).unwrap());
    for at in (0..8).map(Lpn) {
        let slot = ftl.look_up(&mut nand, at).unwrap().0;
        let block = ftl.geometry.block_of(ftl.cmt.page(slot));
        assert_eq!(ftl.geometry.die_of(block), at.0 % 2, "both begin alike");
    }
    (ftl, nand)
}

/// When a partial write of logical page 1 ends, and what `op` asks of page `then`, which came at the same time.
fn ends(allocation: Allocation, op: Op, then: u32) -> (u64, u64) {
    let (mut ftl, mut nand) = striped(allocation);
    let arrival = nand.ctx().horizon();
    let mut request = |op: Op, at: u32| {
        nand.ctx().begin(Origin::HOST, arrival);
        match op {
            Op::Read => ftl.read(&mut nand, Lpn(at), SectorMask(3), &mut Content(None)).unwrap(),
            _ => ftl.write(&mut nand, Lpn(at), SectorMask(1), &Content(None)).unwrap(),
        }
        nand.ctx().finish() - arrival
    };
    (request(Op::Write, 1), request(op, then))
}

/// A partial write programs when what it reads is there, not before, and with static allocation no other die waits for it.
#[test]
fn a_partial_write_holds_the_die_of_its_page_alone() {
    let modified = READ + PROGRAM;
    let fixed = |op, then| ends(Allocation::Static, op, then);
    assert_eq!(fixed(Op::Write, 0), (modified, modified), "two dies, each with a page");
    assert_eq!(fixed(Op::Write, 3), (modified, 2 * modified), "the same die");
    assert_eq!(fixed(Op::Read, 0), (modified, READ), "the other die has nothing to do");
    assert_eq!(fixed(Op::Read, 3), (modified, modified + READ), "not before the program has ended");
    // In turn: page 1 is read on die 1 and goes to die 0, which is held until then.
    let in_turn = |op, then| ends(Allocation::Dynamic, op, then);
    assert_eq!(in_turn(Op::Read, 3), (modified, 2 * READ), "its die is free once it was read");
    assert_eq!(in_turn(Op::Read, 0), (modified, modified + READ), "the one that takes it is not");
    assert_eq!(in_turn(Op::Write, 0), (modified, modified + READ + PROGRAM), "one behind the other");
}

#[test]
fn options_that_cannot_work_are_refused_with_the_value() {
    let geometry = Geometry::single_die(8, 4, 512).unwrap();
    let most = |config: &Config| Dftl::max_logical_pages(&geometry, &Rules::default(), config);
    // Without the reserve, two frontiers and three blocks of the map one block is left, of which a page must be invalid.
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
    ] {
        let error = most(&config).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
    let nand: Flash = flash(geometry, Rules::default());
    let error = Lab::mount(nand, 4, &Config::default()).unwrap_err();
    assert!(matches!(error, FtlError::Config(text) if text.starts_with("4 logical pages are more")));
}

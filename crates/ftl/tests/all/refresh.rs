//! The page map rewrites blocks before their bit errors grow past the ECC. Expected figures are closed forms.

use crate::lab::{device, mount, Lab};
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::page::{Config, PageMap};
use nandlab_ftl::{Ftl, FtlError};
use nandlab_nand::aging::{Aging, Config as Errors};
use nandlab_nand::counting::Full;
use nandlab_nand::plain::WithContent;
use nandlab_nand::{Cause, Cell, Counting, Geometry, Rules};

const BLOCKS: u32 = 32;
const PAGES: u32 = 16;
/// Exported pages; all are written, so each block is full of valid ones.
const LOGICAL: u32 = 20 * PAGES;

/// Reads after which a block's pages have half as many errors as the ECC corrects: each read adds an eighth of a bit
/// per codeword, and 8 bits are corrected.
const READS: u64 = 32;

type Device = Aging<WithContent<Counting<Full>>>;

fn disk(refresh_percent: u32) -> Lab {
    disk_with(refresh_percent, 0.0)
}

/// A device with this error rate from the start.
fn disk_with(refresh_percent: u32, rber: f64) -> Lab {
    let errors = Errors {
        rber,
        initial_pe_cycles: 1000,
        read_disturb: (-15_f64).exp2(),
        read_disturb_wear_exponent: 0.0,
        codeword_bytes: 512,
        ..Errors::new(8)
    };
    let counting = Counting::new(Geometry::single_die(BLOCKS, PAGES, 512).unwrap(), Rules::default());
    let config = Config { refresh_percent, ..Config::default() };
    let nand: Device = Aging::new(WithContent::new(counting), errors).unwrap();
    let mut disk = mount(nand, LOGICAL, &config);
    (0..LOGICAL).for_each(|at| write(&mut disk, at));
    disk
}

fn write(disk: &mut Lab, at: u32) {
    disk.submit(&Request::new(Op::Write, at.into(), 1), Payload::None).unwrap();
}

fn read(disk: &mut Lab, at: u32) {
    disk.submit(&Request::new(Op::Read, at.into(), 1), Payload::None).unwrap();
}

fn refreshes(disk: &Lab) -> u64 {
    disk.events().refreshes
}

fn under(disk: &mut Lab, wanted: Cause) -> Cell {
    disk.ctx().matrix().sum(|_, cause| cause == wanted)
}

/// After `READS` other reads in a block the next one marks it. This read and the following ones move a page each, the
/// page just read first. Then reads go to the new block, so there are `READS + 1` reads from one mark to the next.
#[test]
fn a_block_is_rewritten_each_time_its_reads_add_up() {
    let mut disk = disk(50);
    let moved = u64::from(PAGES) - 1;
    for reads in 1..=1_000 {
        read(&mut disk, 0);
        let expected = u64::saturating_sub(reads, moved) / (READS + 1);
        assert_eq!(refreshes(&disk), expected, "after {reads} reads");
    }
    let refresh = under(&mut disk, Cause::Refresh);
    let done = refreshes(&disk);
    assert!(done > 25, "{done}");
    assert_eq!(refresh.erases(), done as f64);
    assert_eq!(
        refresh.copies,
        done * u64::from(PAGES) + refresh.copies % u64::from(PAGES),
        "whole blocks, and one begun"
    );
    assert_eq!(device::<Device>(&mut disk).counts().retries, 0, "no page came to what the ECC corrects");
    assert_eq!(under(&mut disk, Cause::Gc), Cell::default());
    disk.check();
}

/// A freshly programmed page has half the errors that the ECC corrects. At that threshold a rewritten block would be
/// due again with its first read, and more worn.
#[test]
fn a_block_whose_wear_alone_is_at_the_threshold_is_not_rewritten() {
    let after_100_reads = |percent| {
        let mut disk = disk_with(percent, (-10_f64).exp2());
        (0..100).for_each(|_| read(&mut disk, 0));
        refreshes(&disk)
    };
    assert_eq!((after_100_reads(40), after_100_reads(50)), (0, 0));
    // Sixteen reads add a quarter, and the next one finds it.
    let moved = u64::from(PAGES) - 1;
    assert_eq!(after_100_reads(75), (100 - moved) / 17);
}

/// The same reads without refresh: the first repeated read comes after twice as many.
#[test]
fn without_it_reads_are_repeated_and_nothing_is_rewritten() {
    let mut disk = disk(0);
    (0..2 * READS + 1).for_each(|_| read(&mut disk, 0));
    assert_eq!(device::<Device>(&mut disk).counts().retries, 0);
    read(&mut disk, 0);
    assert_eq!(device::<Device>(&mut disk).counts().retries, 1);
    (0..100).for_each(|_| read(&mut disk, 0));
    assert_eq!((refreshes(&disk), under(&mut disk, Cause::Refresh)), (0, Cell::default()));
}

/// A block that is still being filled ages too: it is closed as it is.
#[test]
fn a_block_that_is_being_filled_is_rewritten_too() {
    let mut disk = disk(50);
    (0..3).for_each(|at| write(&mut disk, at));
    (0..READS).for_each(|_| read(&mut disk, 1));
    assert_eq!(refreshes(&disk), 0);
    (0..3).for_each(|_| read(&mut disk, 1));
    assert_eq!(refreshes(&disk), 1, "three pages, moved by three reads");
    disk.check();
    (0..LOGICAL).for_each(|at| write(&mut disk, at));
    disk.check();
}

/// Reads and writes in turn on a full device: the writes find room, and everything stays consistent.
#[test]
fn writes_find_room_beside_it() {
    let mut disk = disk(25);
    let mut random = nandlab_nand::random::Random::new(5);
    for step in 0..40_000_u32 {
        let at = random.below(LOGICAL.into()) as u32;
        if random.chance(0.3) {
            write(&mut disk, at);
        } else {
            read(&mut disk, at % 40);
        }
        if step % 1_000 == 0 {
            disk.check();
        }
    }
    let (refresh, gc) = (under(&mut disk, Cause::Refresh), under(&mut disk, Cause::Gc));
    assert!(refreshes(&disk) > 500 && gc.erases() > 300.0, "{} refreshes, {} erases", refreshes(&disk), gc.erases());
    assert!(refresh.erases() >= refreshes(&disk) as f64);
    assert_eq!(device::<Device>(&mut disk).counts().uncorrectable_reads, 0);
    disk.check();
}

#[test]
fn more_than_the_ecc_corrects_is_refused() {
    let geometry = Geometry::single_die(16, 16, 512).unwrap();
    let most = |refresh_percent| {
        let config = Config { refresh_percent, ..Config::default() };
        PageMap::max_logical_pages(&geometry, &Rules::default(), &config)
    };
    assert!(most(100).is_ok());
    let Err(FtlError::Config(why)) = most(101) else { panic!("101 per cent") };
    assert_eq!(why, "ftl.page.refresh_percent = 101: it is at least 0 and at most 100");
}

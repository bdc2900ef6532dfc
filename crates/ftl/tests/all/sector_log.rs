//! The sector log: counts by hand and by closed forms, lost pages, and refused options.

use crate::lab::{faulty_flash, flash, mount, submit, Lab};
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_ftl::dftl;
use nandlab_ftl::sector_log::{Config, LogVictim, SectorLog};
use nandlab_ftl::{Ftl, FtlError};
use nandlab_nand::faulty::{BitErrors, Config as Faults};
use nandlab_nand::random::Random;
use nandlab_nand::{Cause, Cell, Geometry, Rules};

/// Sectors per page; a log page takes 7 and their list.
const SECTORS: u64 = 8;

/// Blocks of 8 pages, with `pages` logical pages that are all written.
fn filled(blocks: u32, pages: u32, config: &Config) -> Lab {
    let geometry = Geometry::single_die(blocks, 8, 4096).unwrap();
    let mut lab = mount(flash(geometry, Rules::default()), pages, config);
    (0..u64::from(pages)).for_each(|page| submit(&mut lab, Op::Write, SECTORS * page, SECTORS as u32));
    lab
}

/// The cost of `work`, without the mounts.
fn spent(disk: &mut Lab, is_counted: impl Fn(Cause) -> bool, work: impl FnOnce(&mut Lab)) -> Cell {
    let before = disk.ctx().matrix().clone();
    work(disk);
    let spent = disk.ctx().matrix().since(&before);
    disk.check();
    spent.sum(|_, cause| !matches!(cause, Cause::Mount | Cause::Reerase) && is_counted(cause))
}

fn all(_: Cause) -> bool {
    true
}

/// Writes one sector in each page.
fn write_small(lab: &mut Lab, pages: impl IntoIterator<Item = u64>) {
    pages.into_iter().for_each(|page| submit(lab, Op::Write, SECTORS * page + page % SECTORS, 1));
}

#[test]
fn small_writes_share_a_page_of_the_log_and_read_nothing() {
    let mut lab = filled(40, 130, &Config::default());
    let gathered = spent(&mut lab, all, |lab| write_small(lab, [0, 20, 40, 60, 80, 100, 40]));
    assert_eq!(gathered.page_programs, 0, "40 was in the buffer, so six sectors are");
    let full = spent(&mut lab, all, |lab| write_small(lab, [120]));
    assert_eq!((full.page_programs, full.meta_programs, full.page_reads), (1, 1, 0));
    let reads = |lab: &mut Lab, first, sectors| spent(lab, all, |lab| submit(lab, Op::Read, first, sectors)).page_reads;
    assert_eq!(reads(&mut lab, 0, 8), 2, "the page and its sector in the log");
    assert_eq!(reads(&mut lab, 0, 1), 1, "the sector in the log alone");
    assert_eq!(reads(&mut lab, 1, 7), 1, "the page alone");
    let whole = spent(&mut lab, all, |lab| submit(lab, Op::Write, 0, 8));
    assert_eq!((whole.page_programs, whole.page_reads, reads(&mut lab, 0, 8)), (1, 0, 1));
    write_small(&mut lab, [20]);
    assert_eq!(reads(&mut lab, 20 * SECTORS + 4, 1), 0, "it waits in the buffer");
    let flushed = spent(&mut lab, all, |lab| submit(lab, Op::Flush, 0, 0));
    assert_eq!((flushed.page_programs, flushed.meta_programs), (1, 1));
    lab.remount().unwrap();
    assert_eq!((reads(&mut lab, 0, 8), reads(&mut lab, 20 * SECTORS, 8), reads(&mut lab, 8, 8)), (1, 2, 1));
}

#[test]
fn part_of_a_page_without_a_copy_is_programmed_as_a_page() {
    let geometry = Geometry::single_die(40, 8, 4096).unwrap();
    let mut lab = mount(flash(geometry, Rules::default()), 130, &Config::default());
    let first = spent(&mut lab, all, |lab| submit(lab, Op::Write, 3, 1));
    assert_eq!((first.page_programs, first.meta_programs, first.page_reads), (1, 0, 0));
    assert_eq!(spent(&mut lab, all, |lab| submit(lab, Op::Write, 4, 1)).page_programs, 0, "that one is gathered");
    submit(&mut lab, Op::Trim, 0, 8);
    assert_eq!(spent(&mut lab, all, |lab| submit(lab, Op::Write, 5, 1)).page_programs, 1);
    assert_eq!(spent(&mut lab, all, |lab| submit(lab, Op::Flush, 0, 0)).page_programs, 1, "a note of the trim before");
}

/// Two blocks with 8 pages of 7 sectors: the 113th sector waits for a merge of the first 56.
#[test]
fn a_block_of_the_log_is_merged_page_by_page() {
    let config = Config::default();
    let mut lab = filled(40, 130, &config);
    let fill = spent(&mut lab, all, |lab| write_small(lab, 0..112));
    assert_eq!((fill.page_programs, fill.page_reads, fill.erases()), (16, 0, 0.0));
    let merge = spent(&mut lab, all, |lab| write_small(lab, 112..119));
    assert_eq!(merge.page_programs, 1 + 56, "a page of the log, and 56 pages of data");
    assert_eq!(merge.page_reads, 8 + 56, "each page of the victim once, and the page below each sector");
    assert_eq!((merge.erases(), lab.events().gc_runs, lab.events().folded_pages), (1.0, 1, 56));
    // Sectors 57 to 112 are in the other block; those of pages 60 to 67 are superseded.
    (60..68).for_each(|page| submit(&mut lab, Op::Write, SECTORS * page, SECTORS as u32));
    write_small(&mut lab, 0..49);
    let merge = spent(&mut lab, all, |lab| write_small(lab, 49..56));
    assert_eq!((merge.page_programs, merge.page_reads), (1 + 48, 8 + 48));
}

#[test]
fn a_page_of_which_all_sectors_are_in_the_log_is_not_read_below() {
    let mut lab = filled(40, 130, &Config::default());
    let halves = (0..14).flat_map(|page| [SECTORS * page, SECTORS * page + 4]);
    halves.for_each(|first| submit(&mut lab, Op::Write, first, 4));
    let merge = spent(&mut lab, all, |lab| write_small(lab, 20..27));
    assert_eq!((merge.page_programs, merge.page_reads), (1 + 7, 8), "56 sectors are seven pages");
}

/// FIFO merges the log block filled first, greedy the one with the fewest valid sectors.
#[test]
fn the_log_is_merged_in_the_order_that_is_asked_for() {
    let merged = |log_victim| {
        let mut lab = filled(60, 130, &Config { log_victim, ..Config::default() });
        // Three blocks; the third overwrites the second.
        write_small(&mut lab, (0..112).chain(56..112));
        spent(&mut lab, all, |lab| write_small(lab, 112..119)).page_programs
    };
    assert_eq!((merged(LogVictim::Fifo), merged(LogVictim::Greedy)), (1 + 56, 1));
}

/// Uniform one-sector writes to `hot` pages. A log page holds 7 different sectors, so it lacks a given one with
/// probability 1 - 7 / hot. The log is merged in order. A sector in the victim's page j is merged if no later log page
/// has it; there are j + 1 fewer of these than log pages.
#[test]
fn merges_of_uniform_writes_are_those_of_the_closed_form() {
    for hot in [200, 400, 800] {
        // 15 log blocks, and so much room for data that collection hardly moves anything.
        let mut lab = filled(300, 800, &Config::default());
        let log_pages = 15 * 8;
        let survive = |behind: u32| (1.0 - 7.0 / hot as f64).powi(behind as i32);
        let expected = (0..8).map(|j| survive(log_pages - 1 - j)).sum::<f64>() / 8.0;
        let mut random = Random::new(hot);
        let mut write = |lab: &mut Lab, count: u32| write_small(lab, (0..count).map(|_| random.below(hot)));
        write(&mut lab, 8_000);
        let merges = lab.events().folded_pages;
        let log = spent(&mut lab, |cause| cause == Cause::Host, |lab| write(lab, 60_000));
        let merges = (lab.events().folded_pages - merges) as f64;
        let found = merges / (7.0 * log.page_programs as f64);
        println!("{hot} pages: {found:.4} merges for a sector of the log, expected {expected:.4}");
        assert!((found / expected - 1.0).abs() < 0.03, "{hot} pages: {found} and not {expected}");
        let per_log_page = 60_000.0 / log.page_programs as f64;
        assert!((7.0..7.3).contains(&per_log_page), "sectors that are written again in the buffer: {per_log_page}");
    }
}

/// Small writes that fit in the log are hardly ever merged: they cost a page per 7 sectors and no more.
#[test]
fn what_stays_in_the_log_costs_a_seventh_of_a_page() {
    let mut lab = filled(300, 800, &Config::default());
    let mut random = Random::new(4);
    let mut write = |lab: &mut Lab| (0..40_000).for_each(|_| submit(lab, Op::Write, random.below(20 * SECTORS), 1));
    write(&mut lab);
    let cost = spent(&mut lab, all, write);
    let programs = (cost.page_programs + cost.copies) as f64 / 40_000.0;
    assert!(programs < 1.02 / 7.0 && programs > 0.93 / 7.0, "{programs}");
}

/// Writes random whole pages, 12 times the page count.
fn write_whole(disk: &mut Lab, pages: u32) {
    let mut random = Random::new(7);
    (0..12 * pages).for_each(|_| submit(disk, Op::Write, SECTORS * random.below(pages.into()), SECTORS as u32));
}

/// Greedy collection with 64 pages per block and 20 % over-provisioning, not counting the log, the reserve and the open
/// blocks: write amplification 3.0528 by the mean field for many blocks.
#[test]
fn whole_pages_cost_what_the_closed_form_of_a_page_map_says() {
    let geometry = Geometry::single_die(2000, 64, 4096).unwrap();
    let pages = (2000 - 100 - 2 - 2) * 64 * 10 / 12;
    let mut lab = mount(flash(geometry, Rules::default()), pages, &Config::default());
    (0..u64::from(pages)).for_each(|page| submit(&mut lab, Op::Write, SECTORS * page, SECTORS as u32));
    write_whole(&mut lab, pages);
    let cost = spent(&mut lab, all, |lab| write_whole(lab, pages));
    let found = (cost.page_programs + cost.copies) as f64 / f64::from(12 * pages);
    println!("write amplification {found:.4}");
    assert!((found / 3.0528 - 1.0).abs() < 0.01, "{found}");
}

/// A DFTL with all entries in memory and a map quota equal to the log's does the same, but for the time of collection: it moves
/// some pages with each write.
#[test]
fn whole_pages_cost_what_they_cost_with_another_page_map() {
    // 67 map pages fill a block; with 1 for the rest, 1 open block and 10 spare ones it takes 13 blocks, 1 percent.
    let geometry = Geometry::single_die(1300, 64, 4096).unwrap();
    let pages = (1300 - 13 - 2 - 2) * 64 * 10 / 12;
    let paged = dftl::Config { cmt_entries: pages, map_spare_percent: 1000, ..dftl::Config::default() };
    let mut other = mount(flash(geometry, Rules::default()), pages, &paged);
    let config = Config { log_percent: 1, ..Config::default() };
    let mut lab = mount(flash(geometry, Rules::default()), pages, &config);
    let ours = spent(&mut lab, all, |lab| write_whole(lab, pages));
    let others = spent(&mut other, all, |other| write_whole(other, pages));
    assert_eq!((ours.page_programs, ours.page_reads), (others.page_programs, others.page_reads));
    let part = ours.copies as f64 / others.copies as f64;
    assert!((0.99..1.01).contains(&part), "{} copies, and {} with DFTL", ours.copies, others.copies);
    assert!(ours.copies > u64::from(pages), "nothing was collected");
}

/// An unreadable page is an error, never other bytes, also after a merge and if only a part was lost.
#[test]
fn what_bit_errors_take_reads_as_an_error() {
    let errors = BitErrors { rber: 1.0e-3, growth: 0, ecc_bits: 10, codeword_bytes: 512 };
    let faults = Faults { bit_errors: Some(errors), seed: 3, ..Faults::default() };
    let geometry = Geometry::single_die(60, 8, 4096).unwrap();
    let nand = faulty_flash(geometry, Rules::default(), faults);
    let sectors = 100 * SECTORS;
    let mut disk = mount(nand, 100, &Config::default());
    let mut random = Random::new(5);
    let mut model = vec![0; sectors as usize];
    let (mut unreadable, mut read) = (0, 0);
    for round in 1..=8_000_u32 {
        let (at, count) = match random.below(4) {
            0 => (random.below(100) * SECTORS, SECTORS),
            _ => (random.below(sectors), 1),
        };
        let bytes = vec![round as u8; 512 * count as usize];
        disk.submit(&Request::new(Op::Write, at, count as u32), Payload::Write(&bytes)).unwrap();
        model[at as usize..(at + count) as usize].fill(round as u8);
        let at = random.below(sectors);
        let mut bytes = [0; 512];
        match disk.submit(&Request::new(Op::Read, at, 1), Payload::Read(&mut bytes)) {
            Ok(_) => {
                assert_eq!(bytes, [model[at as usize]; 512], "sector {at} in round {round}");
                read += 1;
            }
            Err(error) => {
                assert_eq!(error, Error::Unreadable { sector: at });
                unreadable += 1;
            }
        }
        if round % 500 == 0 {
            disk.check();
        }
    }
    let events = disk.events();
    println!("{unreadable} reads failed, {read} did not, {} pages lost in moves and merges", events.lost_pages);
    assert!(events.lost_pages > 10 && unreadable > 50 && read > 1_000, "{events:?}, {unreadable}, {read}");
}

#[test]
fn options_that_cannot_work_are_refused_with_a_sentence() {
    let geometry = Geometry::single_die(40, 8, 4096).unwrap();
    let most = |config: Config| SectorLog::max_logical_pages(&geometry, &Rules::default(), &config);
    let refused = |config: Config| match most(config) {
        Err(FtlError::Config(why)) => why,
        other => panic!("{other:?}"),
    };
    let usual = Config::default;
    assert_eq!(
        refused(Config { log_percent: 0, ..usual() }),
        "ftl.sector_log.log_percent = 0: it is at least 1 and at most 90; without a log take ftl.page"
    );
    assert_eq!(
        refused(Config { log_percent: 91, ..usual() }),
        "ftl.sector_log.log_percent = 91: it is at least 1 and at most 90"
    );
    assert_eq!(
        refused(Config { merge_buffers: 0, ..usual() }),
        "ftl.sector_log.merge_buffers = 0: it is at least 1 and at most 65536"
    );
    for reserve_blocks in [0, 36, u32::MAX] {
        let why = refused(Config { reserve_blocks, ..usual() });
        assert!(why.starts_with(&format!("ftl.sector_log.reserve_blocks = {reserve_blocks} would deadlock")), "{why}");
    }
    // 40 blocks less 2 log blocks, 2 in reserve and 2 open; a page is kept invalid, and 2 are for notes.
    assert_eq!(most(usual()), Ok((40 - 2 - 2 - 2) * 8 - 1 - 2));
    assert_eq!(most(Config { reserve_blocks: 35, ..usual() }), Ok(8 - 1 - 2));
}

/// 64 GiB in 32 KiB pages: 8 bytes per log sector and 4 per list with about two. A full sector map has 4 per sector.
#[test]
fn the_sector_map_is_as_small_as_the_log() {
    let geometry = Geometry::single_die(640, 128, 32_768).unwrap();
    let lab = mount(flash(geometry, Rules::default()), 70_000, &Config::default());
    let ram = lab.ram();
    // 32 blocks with 128 pages of 63 sectors; lists in a power of two.
    assert_eq!(ram.dram["sector_map"], 32 * 128 * 63 * 8 + 4 * (1 << 17));
    assert_eq!((ram.dram["map"], ram.dram["merge_buffers"]), (4 * 70_000, 1 << 20));
    assert_eq!(ram.sram["lists"], 32 * 63 * 4);
}

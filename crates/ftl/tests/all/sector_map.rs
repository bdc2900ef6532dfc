//! The sector map on examples worked by hand.

use crate::lab::{cost, device, flash, mount, submit, timed_flash, Flash, Lab};
use nandlab_block::Op;
use nandlab_ftl::sector_map::Config;
use nandlab_nand::profile::Timing;
use nandlab_nand::random::Random;
use nandlab_nand::{Cause, Geometry, Rules, Shape};

/// Blocks with 8 pages of 8 sectors; a map page has 1024 entries.
fn disk(pages: u32, config: &Config) -> Lab {
    let geometry = Geometry::single_die(200, 8, 4096).unwrap();
    mount(flash(geometry, Rules::default()), pages, config)
}

#[test]
fn small_writes_share_a_page_and_its_list() {
    let mut disk = disk(400, &Config::default());
    let gathered = cost(&mut disk, |disk| (0..6).for_each(|at| submit(disk, Op::Write, 100 * at, 1)));
    assert_eq!(gathered.page_programs, 0, "a page takes seven and the list");
    submit(&mut disk, Op::Write, 300, 1);
    let full = cost(&mut disk, |disk| submit(disk, Op::Write, 700, 1));
    assert_eq!((full.page_programs, full.meta_programs, full.page_reads), (1, 1, 0), "300 was in the buffer");
    submit(&mut disk, Op::Write, 5, 1);
    let flushed = cost(&mut disk, |disk| submit(disk, Op::Flush, 0, 0));
    assert_eq!(flushed.page_programs, 1, "no map page is written for a flush");
}

#[test]
fn each_sector_is_read_for_itself_unless_neighbours_join() {
    for (coalesce, reads) in [(false, 8), (true, 2)] {
        let mut disk = disk(400, &Config { coalesce, ..Config::default() });
        submit(&mut disk, Op::Write, 0, 14);
        let cost = cost(&mut disk, |disk| submit(disk, Op::Read, 0, 8));
        assert_eq!(cost.page_reads, reads, "7 sectors lie in a page, the eighth begins the next");
    }
}

#[test]
fn a_unit_that_leaves_memory_is_written_and_the_next_is_read() {
    // Units of two map pages are 2048 sectors. A flash with 800 pages has 6400 sectors, 4 units.
    let mut disk = disk(800, &Config { cmt_units: 1, cmt_unit_bytes: 8192, ..Config::default() });
    let map = |disk: &mut Lab, sector: u64| {
        let before = disk.ctx().matrix().clone();
        (0..7).for_each(|at| submit(disk, Op::Write, sector + at, 1));
        let cost = disk.ctx().matrix().since(&before).sum(|_, cause| cause == Cause::Map);
        (cost.page_reads, cost.page_programs)
    };
    assert_eq!(map(&mut disk, 0), (0, 0), "nothing was written there before");
    assert_eq!(map(&mut disk, 2048), (0, 2));
    assert_eq!(map(&mut disk, 0), (2, 2));
    assert_eq!(map(&mut disk, 100), (0, 0), "it is in memory");
    let events = disk.events();
    assert_eq!((events.map_misses, events.map_dirty_evictions, events.map_hits), (3, 2, 25));
}

#[test]
fn collection_reads_a_page_and_its_list_at_once() {
    let mut disk = disk(400, &Config::default());
    let before = disk.ctx().matrix().clone();
    let mut random = Random::new(9);
    (0..30_000).for_each(|_| submit(&mut disk, Op::Write, random.below(3_200), 1));
    disk.check();
    let gc = disk.ctx().matrix().since(&before).sum(|_, cause| cause == Cause::Gc);
    let collected = disk.events().gc_runs;
    assert!(collected > 300, "{collected}");
    assert_eq!(gc.page_reads, gc.meta_reads, "no page is read a second time for its contents");
    assert!(gc.page_reads <= 8 * collected, "{} reads of {collected} blocks", gc.page_reads);
}

/// Two dies with 20 blocks of 8 pages of 8 sectors. The map may take two blocks on die 0 and one on die 1.
fn two_dies() -> Geometry {
    Geometry::two_dies(20, 8, 4096).unwrap()
}

/// Each die's busy time.
fn busy_ns(disk: &mut Lab) -> Vec<u64> {
    device::<Flash>(disk).inner().inner().unit_busy_ns().to_vec()
}

#[test]
fn a_die_collects_and_the_other_does_not_know() {
    let timed = timed_flash(two_dies(), Rules::default(), &Timing::array(1.0, 10.0, 100.0));
    let mut disk = mount(timed, 170, &Config::default());
    let mut random = Random::new(4);
    let mut collections = [0; 2];
    for _ in 0..40_000 {
        let (busy, runs) = (busy_ns(&mut disk), disk.events().gc_runs);
        submit(&mut disk, Op::Write, random.below(170 * 8), 1);
        let now = busy_ns(&mut disk);
        let worked: Vec<usize> = (0..2).filter(|&die| now[die] > busy[die]).collect();
        assert!(worked.len() <= 1, "a page and what it takes to make room for it are on one die");
        if disk.events().gc_runs > runs {
            collections[worked[0]] += 1;
        }
    }
    disk.check();
    assert!(collections.iter().all(|&count| count > 300), "{collections:?}");
}

#[test]
fn a_die_where_all_is_valid_is_passed_over() {
    let mut disk = mount(flash(two_dies(), Rules::default()), 170, &Config::default());
    // Die 0 keeps two blocks in reserve and two for the map; all pages in the others are written once.
    let lasting = (20 - 4) * 8;
    let hot = |disk: &mut Lab, page: u64| {
        (0..7).for_each(|at| submit(disk, Op::Write, 1200 + page % 8 * 7 + at, 1));
    };
    for page in 0..lasting {
        (0..7).for_each(|at| submit(&mut disk, Op::Write, page * 7 + at, 1));
        hot(&mut disk, page);
    }
    let before = disk.events();
    let cost = cost(&mut disk, |disk| (0..2000).for_each(|page| hot(disk, page)));
    // Die 1 erases blocks without valid sectors once its seventeenth is full: it keeps two in reserve, one for the map.
    let (runs, empty) = (disk.events().gc_runs - before.gc_runs, disk.events().empty_gc_runs);
    assert_eq!((cost.page_programs, cost.page_reads, runs), (2000, 0, 2000 / 8 - 1));
    assert_eq!(disk.events().gc_runs, empty, "nothing was moved");
}

/// 32 map pages on 13 blocks shared by four dies: three times as much flash as they need.
#[test]
fn the_map_collects_its_emptiest_blocks() {
    let shape = Shape { dies_per_channel: 2, blocks_per_plane: 200, ..*two_dies().shape() };
    let nand: Flash = flash(Geometry::new(shape).unwrap(), Rules::default());
    let config = Config { cmt_units: 1, cmt_unit_bytes: 4096, ..Config::default() };
    let mut disk = mount(nand, 4096, &config);
    let mut random = Random::new(5);
    (0..30_000).for_each(|_| submit(&mut disk, Op::Write, random.below(4096 * 8), 1));
    disk.check();
    let events = disk.events();
    assert!(events.map_dirty_evictions > 25_000 && events.map_gc_runs > 1_000, "{events:?}");
    assert!(events.map_gc_copies < events.map_dirty_evictions / 8, "{events:?}");
}

#[test]
fn a_trimmed_sector_is_noted_by_its_map_page() {
    let mut disk = disk(400, &Config::default());
    submit(&mut disk, Op::Write, 0, 7);
    submit(&mut disk, Op::Trim, 3, 1);
    let before = disk.ctx().matrix().clone();
    submit(&mut disk, Op::Flush, 0, 0);
    let cost = disk.ctx().matrix().since(&before);
    assert_eq!(cost.sum(|_, cause| cause == Cause::Trim).page_programs, 1);
    disk.remount().unwrap();
    disk.check();
    assert_eq!(cost_of_read(&mut disk, 3), 0);
    assert_eq!(cost_of_read(&mut disk, 4), 1);
}

fn cost_of_read(disk: &mut Lab, sector: u64) -> u64 {
    submit(disk, Op::Read, 0, 1);
    let before = disk.ctx().matrix().clone();
    submit(disk, Op::Read, sector, 1);
    disk.ctx().matrix().since(&before).sum(|_, cause| cause == Cause::Host).page_reads
}

#[test]
fn memory_is_that_of_the_paper() {
    let shape = nandlab_nand::Shape {
        channels: 4,
        dies_per_channel: 2,
        planes_per_die: 1,
        blocks_per_plane: 160,
        pages_per_block: 128,
        page_bytes: 32_768,
        spare_bytes: 1744,
    };
    let nand: Flash = flash(nandlab_nand::Geometry::new(shape).unwrap(), Rules::default());
    let ftl = mount(nand, 131_072, &Config::default());
    let ram = ftl.ram();
    // Section 3 of the paper: 32 MB for the map of 4 GB, 1 MB of merge buffers.
    assert_eq!((ram.dram["cmt"], ram.dram["merge_buffers"]), (32 << 20, 1 << 20));
    assert_eq!((ram.sram["lists"], ram.sram["cmt_directory"]), (32 * 63 * 4, 4 * 32));
}

#[test]
fn memory_holds_no_more_of_the_map_than_there_is() {
    // 400 pages with 8 sectors have 12,800 bytes of map: twelve units of 1 KiB, and half a unit.
    let cmt = |cmt_units, cmt_unit_bytes| {
        let config = Config { cmt_units, cmt_unit_bytes, ..Config::default() };
        disk(400, &config).ram().dram["cmt"]
    };
    assert_eq!([cmt(1, 1 << 20), cmt(32, 1 << 20), cmt(0, 1 << 20)], [12_800; 3]);
    assert_eq!([cmt(2, 1024), cmt(12, 1024), cmt(13, 1024), cmt(14, 1024)], [2048, 12_288, 12_800, 12_800]);
}

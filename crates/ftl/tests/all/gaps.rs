//! The page map's collection in gaps between requests, against the closed form: a step begins while the gap lasts and
//! goes on to its end.

use crate::lab::{free_blocks, mount, Lab};
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::page::{Collect, Config, Idle};
use nandlab_nand::counting::Full;
use nandlab_nand::plain::WithContent;
use nandlab_nand::profile::Timing;
use nandlab_nand::timed::Timed;
use nandlab_nand::{Counting, Geometry, Rules, Shape, Time};

const PROGRAM: Time = 300_000;
const COPY: Time = 325_000;
const ERASE: Time = 2_000_000;
const PAGES_PER_BLOCK: u64 = 8;

/// `dies` dies, each on its own channel, with 40 of 68 blocks exported. Every page was written, and then every second
/// one on each die again, so the blocks filled first are half valid. Nothing was collected.
fn half_invalid(dies: u32, config: &Config) -> Lab {
    let timing = Timing::array(25.0, 300.0, 2000.0);
    let shape = Shape {
        channels: dies,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 68,
        pages_per_block: PAGES_PER_BLOCK as u32,
        page_bytes: 512,
        spare_bytes: 64,
    };
    let counting = Counting::<Full>::new(Geometry::new(shape).unwrap(), Rules::default());
    let nand = Timed::new(WithContent::new(counting), &timing);
    let pages = dies * 40 * PAGES_PER_BLOCK as u32;
    let mut disk = mount(nand, pages, config);
    let dies = u64::from(dies);
    for at in 0..u64::from(pages) {
        write(&mut disk, at, 0);
    }
    // Consecutive pages are on different dies.
    for at in (0..u64::from(pages)).filter(|at| at / dies % 2 == 0) {
        write(&mut disk, at, 0);
    }
    // An open block on each die.
    (0..dies).for_each(|at| assert_eq!(write(&mut disk, at, 0), PROGRAM));
    assert_eq!(disk.events().gc_runs, 0, "nothing was collected yet");
    disk
}

/// Writes a page `gap` after the device came to rest; returns its latency.
fn write(disk: &mut Lab, at: u64, gap: Time) -> Time {
    let time = disk.ctx().horizon() + gap;
    write_at(disk, at, time) - time
}

/// Writes a page; returns when it is done.
fn write_at(disk: &mut Lab, at: u64, time: Time) -> Time {
    disk.submit(&Request { time, ..Request::new(Op::Write, at, 1) }, Payload::None).unwrap().done
}

fn copies_and_erases(disk: &mut Lab) -> (u64, f64) {
    let total = disk.ctx().matrix().total();
    (total.copies, total.erases())
}

fn idle(blocks: u32, after_us: u32) -> Config {
    Config { idle: Idle::Collect(Collect { blocks, after_us }), ..Config::default() }
}

#[test]
fn a_step_begins_before_the_end_of_a_gap_and_not_at_it() {
    let half = PAGES_PER_BLOCK / 2;
    // A victim is four copies and an erase.
    let cases = [
        (0, 0, 0, 0),
        (1, 1, 0, COPY - 1),
        (COPY, 1, 0, 0),
        (COPY + 1, 2, 0, COPY - 1),
        (half * COPY, half, 0, 0),
        (half * COPY + 1, half, 1, ERASE - 1),
        (half * COPY + ERASE, half, 1, 0),
        (half * COPY + ERASE + 1, half + 1, 1, COPY - 1),
    ];
    for (rest_us, rest) in [(0, 0), (50, 50_000)] {
        for (gap, copies, erases, wait) in cases {
            let mut disk = half_invalid(1, &idle(10, rest_us));
            let took = write(&mut disk, 1, rest + gap);
            let expected = (copies, erases as f64);
            assert_eq!(copies_and_erases(&mut disk), expected, "a gap of {gap} ns after {rest_us} us");
            assert_eq!(took, wait + PROGRAM, "a gap of {gap} ns after {rest_us} us");
            disk.check();
        }
    }
}

#[test]
fn dies_collect_side_by_side() {
    let mut disk = half_invalid(3, &idle(10, 0));
    write(&mut disk, 1, 2 * COPY + 1);
    assert_eq!(copies_and_erases(&mut disk), (9, 0.0));
}

#[test]
fn a_long_gap_makes_room_that_writes_use_without_waiting() {
    let blocks = 10;
    let config = idle(blocks, 0);
    let enough = (config.reserve_blocks + blocks) as usize;
    let mut disk = half_invalid(1, &config);
    assert!(free_blocks(&disk) < enough);
    write(&mut disk, 1, 10_000_000_000);
    assert_eq!(free_blocks(&disk), enough);
    let events = disk.events();
    assert!(events.idle_gc_runs >= 4 && events.idle_gc_runs == events.gc_runs, "{events:?}");
    let room = u64::from(blocks) * PAGES_PER_BLOCK - 2;
    // One page of each block after the other.
    let page = |at| at % 40 * PAGES_PER_BLOCK + 3 + 2 * (at / 40);
    let burst = |disk: &mut Lab| {
        let start = disk.ctx().horizon();
        (0..room).fold(start, |time, at| write_at(disk, page(at), time)) - start
    };
    assert_eq!(burst(&mut disk), room * PROGRAM, "nobody waits");
    assert_eq!(disk.events().gc_runs, events.gc_runs);
    disk.check();

    let mut without = half_invalid(1, &Config::default());
    write(&mut without, 1, 10_000_000_000);
    assert_eq!(copies_and_erases(&mut without).0, 0);
    assert!(burst(&mut without) > room * (PROGRAM + COPY / 2), "the host pays for collection");
}

/// A victim begun in a gap goes on in the next one; the host does not pay for it while there is room.
#[test]
fn a_victim_that_is_not_empty_waits_for_the_next_gap() {
    let mut disk = half_invalid(1, &idle(10, 0));
    write(&mut disk, 1, 1);
    for at in 0..3 {
        assert_eq!(write(&mut disk, 203 + 2 * at, 0), PROGRAM);
    }
    assert_eq!(copies_and_erases(&mut disk), (1, 0.0));
    write(&mut disk, 211, 3 * COPY + 1);
    assert_eq!(copies_and_erases(&mut disk), (4, 1.0));
}

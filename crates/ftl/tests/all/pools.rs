//! Two pools of blocks: their separation, also over mounts, and refused options.

use crate::lab::{blocks_in_use, mount, mount_again, submit, Lab};
use nandlab_block::Op;
use nandlab_ftl::page::{Config, PageMap};
use nandlab_ftl::parts::placement::{Placement, TwoPools};
use nandlab_ftl::parts::victim::Victim;
use nandlab_ftl::parts::wear::{Threshold, Wear};
use nandlab_ftl::{Ftl, FtlError};
use nandlab_nand::counting::Full;
use nandlab_nand::plain::WithContent;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Rules, Shape};

const PAGES: u32 = 16;
const HOT: u32 = 200;

fn geometry(dies: u32) -> Geometry {
    Geometry::new(Shape {
        channels: dies,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 128,
        pages_per_block: PAGES,
        page_bytes: 512,
        spare_bytes: 64,
    })
    .unwrap()
}

fn device(dies: u32) -> WithContent<Counting<Full>> {
    WithContent::new(Counting::new(geometry(dies), Rules::default()))
}

fn pools(blocks: u32) -> Config {
    with_pools(HOT, blocks)
}

fn with_pools(pages: u32, blocks: u32) -> Config {
    Config { placement: Placement::Pools(TwoPools { pages, blocks }), ..Config::default() }
}

/// By pool: blocks with only its pages. Fails if a block has pages from both.
fn blocks_by_pool(disk: &mut Lab) -> [u32; 2] {
    let geometry = *disk.nand().geometry();
    let mut blocks = [0, 0];
    for block in blocks_in_use(disk) {
        let nand = disk.nand_mut();
        let of = |page| nand.read_spare(geometry.page(block, page)).unwrap().map(|oob| usize::from(oob.lpn.0 >= HOT));
        let pools: Vec<usize> = (0..PAGES).filter_map(of).collect();
        let Some(&pool) = pools.first() else { continue };
        assert!(pools.iter().all(|&other| other == pool), "{block} has pages of both pools");
        blocks[pool] += 1;
    }
    blocks
}

/// Nine of ten writes to the first pool.
fn write(disk: &mut Lab, random: &mut Random, count: u32) {
    let cold = u64::from(disk.logical_pages() - HOT);
    for _ in 0..count {
        let hot = random.chance(0.9);
        let at = if hot { random.below(HOT.into()) } else { u64::from(HOT) + random.below(cold) };
        submit(disk, Op::Write, at, 1);
    }
}

#[test]
fn pages_are_kept_apart_and_each_pool_has_its_part() {
    for (dies, part, victim) in [(1, 30, Victim::Greedy), (1, 60, Victim::Fifo), (2, 20, Victim::Greedy)] {
        let config = Config { victim, ..pools(part) };
        let logical = 1000 * dies;
        let mut disk = mount(device(dies), logical, &config);
        for at in 0..logical {
            submit(&mut disk, Op::Write, at.into(), 1);
        }
        let mut random = Random::new(7);
        for round in 0..5 {
            write(&mut disk, &mut random, 20_000);
            let [hot, cold] = blocks_by_pool(&mut disk);
            // One block more or less on each die while a victim is being emptied.
            let what = format!("{dies} dies, {part} blocks, round {round}: {hot} and {cold}");
            assert!(hot.abs_diff(dies * part) <= dies, "{what}");
            assert!(cold.abs_diff(dies * (128 - 2 - part)) <= 2 * dies, "{what}");
            disk.check();
            // A mount knows the pools again.
            disk = mount_again(disk, logical, &config);
        }
    }
}

/// The boundary may have moved since, and pages find their pool when they are moved or written.
#[test]
fn pages_that_were_mixed_are_parted() {
    let mut random = Random::new(8);
    let mut disk = mount(device(1), 1500, &Config::default());
    for at in (0..1500).rev() {
        submit(&mut disk, Op::Write, at * 7 % 1500, 1);
    }
    let mut disk = mount_again(disk, 1500, &pools(40));
    write(&mut disk, &mut random, 200_000);
    disk.check();
    let [hot, cold] = blocks_by_pool(&mut disk);
    assert!(hot.abs_diff(40) <= 1, "{hot} and {cold}");
}

/// Parts are goals: if all a pool's pages are valid, the other pool is emptied instead, and nothing is refused.
#[test]
fn a_part_that_a_die_cannot_keep_stops_nothing() {
    // 13 blocks hold the hot pages, spread over both dies as they come.
    let config = with_pools(208, 8);
    let mut disk = mount(device(2), 3700, &config);
    let mut random = Random::new(9);
    for _ in 0..100_000 {
        submit(&mut disk, Op::Write, random.below(3700), 1);
    }
    disk.check();
}

fn refused(config: &Config) -> String {
    match PageMap::max_logical_pages(&geometry(1), &Rules::default(), config) {
        Err(FtlError::Config(why)) => why,
        other => panic!("{config:?}: {other:?}"),
    }
}

#[test]
fn pools_that_make_no_sense_are_refused() {
    for (config, says) in [
        (with_pools(0, 20), "pages = 0: it is at least 1"),
        (pools(1), "with blocks = 1: the first pool has at least 2 and at most 124 of the 126 blocks"),
        (pools(125), "at most 124"),
        (pools(13), "with pages = 200: 13 blocks of each die (blocks) hold at most 191 pages"),
        (
            Config { wear: Wear::Threshold(Threshold::default()), ..pools(20) },
            "ftl.page.wear would move cold data of both",
        ),
    ] {
        let why = refused(&config);
        assert!(why.starts_with("ftl.page.placement.pools") && why.contains(says), "{why}");
    }
    // The second pool's room bounds the device as well: one of 106 blocks is being filled.
    let most = |config: &Config| PageMap::max_logical_pages(&geometry(1), &Rules::default(), config).unwrap();
    let notes = Config { durable_trim: false, ..pools(20) };
    assert_eq!(most(&notes), HOT + 106 * PAGES - 1);
    let told = |logical| PageMap::notices(&pools(20), &geometry(1), logical).unwrap();
    assert!(told(200)[0].contains("keeps nothing apart") && told(201).is_empty());
}

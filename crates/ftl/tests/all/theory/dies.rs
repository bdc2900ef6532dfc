//! Each die collects its own blocks, and costs what the closed form has: several dies cost the same as one.

use super::{forms, mount, totals, waf_of, Lab};
use crate::lab::Options;
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_ftl::dftl::{self, Allocation};
use nandlab_ftl::parts::victim::{DChoices, Victim};
use nandlab_ftl::{page, sector_log};
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Rules, Shape};

/// Blocks on the device, pages per block, bytes per page.
const BLOCKS: u32 = 2048;
const PAGES: u32 = 64;
const PAGE: u32 = 4096;

fn lab(dies: u32, logical: u32, config: &impl Options) -> Lab {
    let shape = Shape {
        channels: dies,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: BLOCKS / dies,
        pages_per_block: PAGES,
        page_bytes: PAGE,
        spare_bytes: 64,
    };
    let nand = Counting::new(Geometry::new(shape).expect("a plain shape"), Rules::default());
    mount(nand, logical, config)
}

/// Dies of the devices, and how far the write amplification may be from the closed form, which is for infinitely many
/// blocks: 32 dies have 64 each.
const DIES: [(u32, f64); 3] = [(1, 0.02), (8, 0.02), (32, 0.04)];

/// Logical pages with this over-provisioning, without `others` blocks, and without so many on each die that are kept free
/// or open.
fn logical(dies: u32, kept: u32, others: u32, over_provisioning: f64) -> u32 {
    let data = f64::from(BLOCKS - others - dies * kept) * f64::from(PAGES);
    (data / (1.0 + over_provisioning)) as u32
}

/// The same if collection begins when the host needs a block: its frontier is full then, and the one for moved pages is half
/// full in the mean; on several dies its rest counts as a part of the reserve.
fn kept_late(dies: u32, reserve_blocks: u32) -> u32 {
    if dies == 1 {
        reserve_blocks + 1
    } else {
        reserve_blocks
    }
}

/// Programs per written page, once random page writes have reached a steady state.
fn random_pages(mut lab: Lab) -> f64 {
    let logical = u64::from(lab.logical_pages());
    let (mut at, mut random) = (0, Random::new(1));
    waf_of(&mut lab, logical, || {
        at = (at + 1) % logical;
        at
    });
    waf_of(&mut lab, 4 * logical, || random.below(logical));
    waf_of(&mut lab, 4 * logical, || random.below(logical))
}

fn near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let error = measured / expected - 1.0;
    println!("{what}: {measured:.4} against {expected:.4} ({:+.2} %)", 100.0 * error);
    assert!(error.abs() < tolerance, "{what}: {measured} against {expected}");
}

/// Blocks of DFTL's map: with fewer than 128 pages it fills one block and part of another; one is spare, and one is being
/// filled.
const MAP: u32 = 4;

/// DFTL with its whole map in memory, so it programs only data; the map's quota stays free.
fn of_dftl(dies: u32, over_provisioning: f64, config: &dftl::Config) -> f64 {
    let logical = logical(dies, config.reserve_blocks + 1, MAP, over_provisioning);
    random_pages(lab(dies, logical, &dftl::Config { cmt_entries: logical, ..config.clone() }))
}

/// The closed form if some dies have one block less, which belongs to something else: each die holds as many pages as the
/// others.
fn greedy_beside(dies: u32, kept: u32, others: u32, over_provisioning: f64) -> f64 {
    let of_each = f64::from(logical(dies, kept, others, over_provisioning)) / f64::from(dies);
    let of_die = |die: u32| {
        let own = others / dies + u32::from(die < others % dies);
        let data = f64::from(BLOCKS / dies - kept - own) * f64::from(PAGES);
        forms::greedy(PAGES, data / of_each - 1.0)
    };
    (0..dies).map(of_die).sum::<f64>() / f64::from(dies)
}

/// As the page map does, which the closed form has, but for the map's blocks.
#[test]
fn dftl_collects_on_several_dies_as_on_one() {
    for (dies, tolerance) in DIES {
        let page = page::Config::default();
        let kept = page.reserve_blocks + 1;
        let pages = random_pages(lab(dies, logical(dies, kept, 0, 0.12), &page));
        let expected = pages * greedy_beside(dies, kept, MAP, 0.12) / forms::greedy(PAGES, 0.12);
        for allocation in [Allocation::Dynamic, Allocation::Static] {
            let config = dftl::Config { allocation, ..Default::default() };
            let found = of_dftl(dies, 0.12, &config);
            near(&format!("{allocation:?}, {dies} dies"), found, expected, tolerance / 2.0);
        }
    }
}

/// The page map pays a few pages at a time, and both its frontiers are half full in the mean meanwhile.
#[test]
fn the_page_map_collects_on_several_dies_as_on_one() {
    for (victim, expected) in [(Victim::Greedy, forms::greedy(PAGES, 0.12)), (Victim::Fifo, forms::fifo(0.12))] {
        for (dies, tolerance) in DIES {
            let config = page::Config { victim, ..Default::default() };
            let logical = logical(dies, config.reserve_blocks + 1, 0, 0.12);
            near(&format!("{victim:?}, {dies} dies"), random_pages(lab(dies, logical, &config)), expected, tolerance);
        }
    }
}

#[test]
fn policies_pick_among_the_blocks_of_a_die() {
    let rho = 1.0 / 1.2;
    for (victim, expected) in [
        (Victim::Fifo, forms::fifo(0.2)),
        (Victim::Random, 1.0 / (1.0 - rho)),
        (Victim::DChoices(DChoices { choices: 5 }), forms::d_choices(PAGES, 0.2, 5)),
    ] {
        for (dies, tolerance) in DIES {
            let config = dftl::Config { victim, ..Default::default() };
            near(&format!("{victim:?}, {dies} dies"), of_dftl(dies, 0.2, &config), expected, tolerance);
        }
    }
}

#[test]
fn the_sector_log_collects_whole_pages_on_several_dies_as_on_one() {
    let config = sector_log::Config { log_percent: 1, ..Default::default() };
    for (dies, tolerance) in DIES {
        let log = BLOCKS.div_ceil(100);
        let kept = kept_late(dies, config.reserve_blocks);
        let expected = greedy_beside(dies, kept, log, 0.12);
        let logical = logical(dies, kept, log, 0.12);
        near(&format!("{dies} dies"), random_pages(lab(dies, logical, &config)), expected, tolerance);
    }
}

/// Single sectors go through the log, and merges write the pages. The host's frontiers take whole pages and keep their
/// blocks meanwhile; each log frontier shortens the log's 103 blocks by half a block.
#[test]
fn the_sector_log_merges_on_several_dies_as_on_one() {
    let config = sector_log::Config { log_percent: 5, ..Default::default() };
    let of = |dies| {
        let log = BLOCKS.div_ceil(20);
        let logical = logical(dies, kept_late(dies, config.reserve_blocks), log + dies / 2, 0.2);
        let mut lab = lab(dies, logical, &config);
        let (mut at, sectors) = (0, lab.sectors());
        waf_of(&mut lab, logical.into(), || {
            at = (at + 1) % u64::from(logical);
            at
        });
        let (mut clock, mut random) = (HostClock::closed_loop(1), Random::new(3));
        let mut write = |lab: &mut Lab, count: u64| {
            let before = totals(lab).programs();
            for _ in 0..count / 1024 {
                let batch: Vec<_> = (0..1024).map(|_| Request::new(Op::Write, random.below(sectors), 1)).collect();
                lab.submit_batch(&batch, &mut clock, &mut Vec::new()).expect("the device has no faults");
            }
            (totals(lab).programs() - before) as f64 / count as f64
        };
        write(&mut lab, 3 * u64::from(logical));
        write(&mut lab, 2 * u64::from(logical))
    };
    let one = of(1);
    for dies in [4, 8] {
        near(&format!("{dies} dies"), of(dies), one, 0.03);
    }
}

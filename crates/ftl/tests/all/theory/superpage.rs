//! The Jasmine board's super-page map against the closed form, with its firmware's constants.

use super::{forms, mount, totals, waf_of};
use nandlab_ftl::superpage::Config;
use nandlab_nand::counting::Lean;
use nandlab_nand::profile::Profile;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Shape};

/// The firmware's own blocks per bank: one for garbage collection, and 32 for its code, its log and its map.
fn firmware() -> Config {
    Config { reserve_blocks: 1, firmware_blocks: 32, ..Config::default() }
}

/// The firmware exports 93 in 100 sectors from 64 GiB, shared by its 8 banks.
fn logical_pages(banks: u32) -> u64 {
    let pages = u64::from(134_217_728u32 / 100 * 93).div_ceil(64);
    assert_eq!(pages, 1_950_351);
    pages / u64::from(8 / banks)
}

/// Page writes in some of the board's banks: data programs per written page, the same with lists, and writes per
/// second.
fn measured(banks: u32) -> (f64, f64, f64) {
    let profile: Profile =
        toml::from_str(include_str!("../../../../../profiles/jasmine.toml")).expect("the profile is sound");
    let shape = Shape { channels: 1, dies_per_channel: banks, ..profile.shape };
    let geometry = Geometry::new(shape).expect("a part of the board");
    let logical = logical_pages(banks);
    let nand = Counting::<Lean>::new(geometry, profile.rules);
    let mut disk = mount(nand, logical as u32, &firmware());
    let mut at = 0;
    waf_of(&mut disk, logical, || {
        at = (at + 1) % logical;
        at
    });
    let mut random = Random::new(1);
    waf_of(&mut disk, 4 * logical, || random.below(logical));
    let lists = totals(&mut disk).meta_programs;
    let started = std::time::Instant::now();
    let with_lists = waf_of(&mut disk, 6 * logical, || random.below(logical));
    let speed = with_lists * 6.0 * logical as f64 / started.elapsed().as_secs_f64();
    let lists = totals(&mut disk).meta_programs - lists;
    assert!(disk.events().gc_runs > 10_000);
    (with_lists - lists as f64 / (6 * logical) as f64, with_lists, speed)
}

/// The block kept for garbage collection never holds collectable pages, so 2,043 of 2,044 count. 127 of their 128 pages
/// take data.
fn expected() -> f64 {
    forms::greedy(127, 2043.0 * 127.0 * 8.0 / logical_pages(8) as f64 - 1.0)
}

#[test]
fn greedy_of_the_board_agrees_with_the_closed_form_within_one_percent() {
    assert!((expected() - 7.95).abs() < 0.005, "{}", expected());
    // The banks do not know each other, so one stands for all.
    let banks = if std::env::var_os("NANDLAB_LONG").is_some() { 8 } else { 1 };
    let (data, with_lists, speed) = measured(banks);
    println!(
        "{banks} banks: {data:.4} of data, {with_lists:.4} with lists, {:.4} and {:.4} expected; {:.1} M programs a second",
        expected(),
        expected() * 128.0 / 127.0,
        speed / 1e6
    );
    assert!((data / expected() - 1.0).abs() < 0.01, "{data} against {}", expected());
    assert!(
        (with_lists / (expected() * 128.0 / 127.0) - 1.0).abs() < 0.01,
        "{with_lists}, of which lists are one in 128"
    );
}

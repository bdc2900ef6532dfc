//! Persistently isolated handles. Greedy takes the emptiest unit of all, so it makes equal the valid pages of the victims of
//! all handles, and with them the spare space by page. Each handle then costs what a device written uniformly costs, however
//! often it is written (pools in proportion to their pages; Desnoyers 2014).

use super::{forms, mount};
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_ftl::page::{Config, FdpOptions, Handles, Placement};
use nandlab_ftl::sector_map::{self, SectorHandles};
use nandlab_ftl::HandleUse;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, PlacementId, Rules};

const BLOCKS: u32 = 16_384;
const PAGES: u32 = 32;

/// Each handle's write amplification: a share `r` of the writes goes to the first one, with a share `f` of the pages.
fn measured(r: f64, f: f64, op: f64) -> [f64; 2] {
    let config = Config {
        placement: Placement::Fdp(FdpOptions { handles: 2, persistent: Handles::ALL, ..FdpOptions::default() }),
        ..Config::default()
    };
    // Of the four open blocks two are full on average.
    let usable = f64::from((BLOCKS - config.reserve_blocks - 2) * PAGES);
    let logical = (usable / (1.0 + op)) as u64;
    let first = (f * logical as f64).round() as u64;
    let geometry = Geometry::single_die(BLOCKS, PAGES, 4096).expect("a plain shape");
    let mut lab = mount(Counting::new(geometry, Rules::default()), logical as u32, &config);
    let (mut random, mut clock, mut done) = (Random::new(3), HostClock::closed_loop(1), Vec::new());
    let mut write = |lab: &mut super::Lab, count: u64, next: &mut dyn FnMut(&mut Random, u64) -> u64| {
        for batch in 0..count / 1024 {
            let request = |step| {
                let page = next(&mut random, 1024 * batch + step);
                let placement = PlacementId::of(u8::from(page >= first));
                Request { placement, ..Request::new(Op::Write, page * 8, 8) }
            };
            let requests: Vec<Request> = (0..1024).map(request).collect();
            done.clear();
            lab.submit_batch(&requests, &mut clock, &mut done).expect("the device has no faults");
        }
    };
    write(&mut lab, logical + 1024, &mut |_, step| step % logical);
    write(&mut lab, 3 * logical, &mut |random, _| random.below(logical));
    let mut chosen = |random: &mut Random, _| match random.chance(r) {
        true => random.below(first),
        false => first + random.below(logical - first),
    };
    write(&mut lab, 3 * logical, &mut chosen);
    let before = lab.uses().placement.expect("the host places").handles;
    write(&mut lab, 4 * logical, &mut chosen);
    let after = lab.uses().placement.expect("the host places").handles;
    let waf = |before: HandleUse, after: HandleUse| {
        1.0 + (after.moved_pages - before.moved_pages) as f64 / (after.host_pages - before.host_pages) as f64
    };
    [waf(before[0], after[0]), waf(before[1], after[1])]
}

#[test]
fn isolated_handles_cost_what_pools_in_proportion_to_their_pages_cost() {
    for (r, f, op) in [(0.5, 0.5, 0.2), (0.8, 0.2, 0.2), (0.7, 0.4, 0.1)] {
        let (measured, expected) = (measured(r, f, op), forms::greedy(PAGES, op));
        let errors = measured.map(|waf| 100.0 * (waf / expected - 1.0));
        println!("r = {r}, f = {f}, OP = {op}: {measured:.4?} against {expected:.4} ({errors:+.2?} %)");
        assert!(errors.iter().all(|error| error.abs() < 0.5), "r = {r}, f = {f}: {measured:?} against {expected}");
    }
}

/// Blocks, pages and sectors of a device whose sectors gather, and its handles.
const GATHERED: (u32, u32, u32, u32) = (512, 64, 32, 2);

/// Sectors programmed for each one that the host writes, by handle: a share `r` of the writes of one sector goes to the first,
/// with a share `f` of the sectors; and what the closed form says.
fn gathered(r: f64, f: f64, op: f64) -> ([f64; 2], f64) {
    let (blocks, pages, sectors, handles) = GATHERED;
    let placing = SectorHandles { handles, ..SectorHandles::default() };
    let config = sector_map::Config { cmt_units: 0, fdp: Some(placing), ..sector_map::Config::default() };
    // The map is not written, but six blocks are kept for it. The open block of one handle is full when a victim is chosen,
    // that of the other half full on average.
    let with_data = blocks - config.reserve_blocks - 6;
    let usable = f64::from(with_data * pages * (sectors - 1));
    let valid = (usable / (1.0 + op)) as u64 / u64::from(sectors) * u64::from(sectors);
    let geometry = Geometry::single_die(blocks, pages, 512 * sectors).expect("a plain shape");
    let mut lab = mount(Counting::new(geometry, Rules::default()), (valid / u64::from(sectors)) as u32, &config);
    let first = (f * valid as f64).round() as u64;
    let (mut random, mut clock, mut done) = (Random::new(5), HostClock::closed_loop(1), Vec::new());
    let mut write = |lab: &mut super::Lab, count: u64, next: &mut dyn FnMut(&mut Random, u64) -> u64| {
        for batch in 0..count.div_ceil(1024) {
            let request = |step| {
                let sector = next(&mut random, 1024 * batch + step);
                let placement = PlacementId::of(u8::from(sector >= first));
                Request { placement, ..Request::new(Op::Write, sector, 1) }
            };
            done.clear();
            let requests: Vec<Request> = (0..1024).map(request).collect();
            lab.submit_batch(&requests, &mut clock, &mut done).expect("the device has no faults");
        }
    };
    write(&mut lab, valid, &mut |_, step| step % valid);
    write(&mut lab, 3 * valid, &mut |random, _| random.below(valid));
    let mut chosen = |random: &mut Random, _| match random.chance(r) {
        true => random.below(first),
        false => first + random.below(valid - first),
    };
    write(&mut lab, 4 * valid, &mut chosen);
    let before = lab.uses().placement.expect("the host places").handles;
    write(&mut lab, 3 * valid, &mut chosen);
    let after = lab.uses().placement.expect("the host places").handles;
    assert_eq!(lab.events().map_dirty_evictions, 0, "the map is in memory");
    let of = |before: HandleUse, after: HandleUse| {
        let host = (after.host_pages - before.host_pages) * u64::from(sectors);
        let moved = (after.moved_pages - before.moved_pages) * u64::from(sectors);
        (host + moved) as f64 / (host - (after.merged_sectors - before.merged_sectors)) as f64
    };
    let of_half_a_block = f64::from(with_data) / (f64::from(with_data) - 0.5);
    let expected = forms::gathered(with_data, pages, sectors - 1, valid as f64 * of_half_a_block);
    ([of(before[0], after[0]), of(before[1], after[1])], expected)
}

/// A block acts like one with a page for each gathered sector (`sectors.rs`), and handles share the spare space as above.
#[test]
fn handles_that_gather_sectors_cost_what_large_blocks_cost() {
    for (r, f, op) in [(0.5, 0.5, 0.3), (0.8, 0.2, 0.3)] {
        let (measured, expected) = gathered(r, f, op);
        let errors = measured.map(|waf| 100.0 * (waf / expected - 1.0));
        println!("r = {r}, f = {f}, OP = {op}: {measured:.4?} against {expected:.4} ({errors:+.2?} %)");
        assert!(errors.iter().all(|error| error.abs() < 1.0), "r = {r}, f = {f}: {measured:?} against {expected}");
    }
}

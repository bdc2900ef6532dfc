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

/// Writes one place of so many `sectors` at a time, through the first handle below `first` and through the second above.
struct Host {
    places: u64,
    first: u64,
    sectors: u32,
    /// The share of the writes that goes to the first handle.
    r: f64,
}

impl Host {
    /// Fills the device, writes it uniformly, and then with the share, each so often; returns the use of the handles before the
    /// last stretch and after it.
    fn play(&self, lab: &mut super::Lab, seed: u64, times: [u64; 3]) -> [Vec<HandleUse>; 2] {
        let Self { places, first, sectors, r } = *self;
        let (mut random, mut clock, mut done) = (Random::new(seed), HostClock::closed_loop(1), Vec::new());
        let mut write = |lab: &mut super::Lab, count: u64, next: &mut dyn FnMut(&mut Random, u64) -> u64| {
            for batch in 0..count / 1024 {
                let request = |step| {
                    let place = next(&mut random, 1024 * batch + step);
                    let placement = PlacementId::of(u8::from(place >= first));
                    Request { placement, ..Request::new(Op::Write, place * u64::from(sectors), sectors) }
                };
                let requests: Vec<Request> = (0..1024).map(request).collect();
                done.clear();
                lab.submit_batch(&requests, &mut clock, &mut done).expect("the device has no faults");
            }
        };
        let used = |lab: &super::Lab| lab.uses().placement.expect("the host places").handles;
        write(lab, places + 1024, &mut |_, step| step % places);
        write(lab, times[0] * places, &mut |random, _| random.below(places));
        let mut chosen = |random: &mut Random, _| match random.chance(r) {
            true => random.below(first),
            false => first + random.below(places - first),
        };
        write(lab, times[1] * places, &mut chosen);
        let before = used(lab);
        write(lab, times[2] * places, &mut chosen);
        [before, used(lab)]
    }
}

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
    let host = Host { places: logical, first, sectors: 8, r };
    let [before, after] = host.play(&mut lab, 3, [3, 3, 4]);
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
    let host = Host { places: valid, first, sectors: 1, r };
    let [before, after] = host.play(&mut lab, 5, [3, 4, 3]);
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

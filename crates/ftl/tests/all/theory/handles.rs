//! Persistently isolated handles. Greedy takes the emptiest unit of all, so it makes equal the valid pages of the victims of
//! all handles, and with them the spare space by page. Each handle then costs what a device written uniformly costs, however
//! often it is written (pools in proportion to their pages; Desnoyers 2014).

use super::{forms, mount};
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_ftl::page::{Config, FdpOptions, Handles, Placement};
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

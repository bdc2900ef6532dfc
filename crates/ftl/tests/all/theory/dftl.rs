//! DFTL against closed forms, and against the page map.

use super::{forms, mount, totals, waf_of, Lab};
use crate::lab::Options;
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_ftl::dftl::{Config, Dftl};
use nandlab_ftl::page;
use nandlab_ftl::parts::placement::{Dac, Placement};
use nandlab_ftl::parts::victim::Victim;
use nandlab_ftl::parts::wear::{Threshold, Wear};
use nandlab_ftl::{Events, Ftl};
use nandlab_nand::random::Random;
use nandlab_nand::{Cause, Cell, Counting, Geometry, Matrix, Rules};

/// Bytes per page, and map entries per page.
const PAGE: u32 = 512;
const ENTRIES: u32 = PAGE / 4;

fn lab(blocks: u32, b: u32, logical: u32, config: &impl Options) -> Lab {
    let geometry = Geometry::single_die(blocks, b, PAGE).expect("a plain shape");
    mount(Counting::new(geometry, Rules::default()), logical, config)
}

/// Writes every page in order, `warm_up` times as many at random, and then `count` more; returns the counts of the
/// last.
fn random_writes(lab: &mut Lab, warm_up: u64, count: u64) -> (Matrix, Events) {
    let logical = lab.sectors();
    let mut random = Random::new(1);
    let mut write = |lab: &mut Lab, count: u64, in_order: bool| {
        let (mut clock, mut done) = (HostClock::closed_loop(1), Vec::new());
        for first in (0..count).step_by(1024) {
            let at = |n| if in_order { n } else { random.below(logical) };
            let writes: Vec<_> =
                (first..count.min(first + 1024)).map(at).map(|at| Request::new(Op::Write, at, 1)).collect();
            done.clear();
            lab.submit_batch(&writes, &mut clock, &mut done).expect("the device has no faults");
        }
    };
    write(lab, logical, true);
    write(lab, warm_up * logical, false);
    let (before, did) = (lab.ctx().matrix().clone(), lab.events());
    write(lab, count, false);
    let events = lab.events();
    let events = Events {
        map_hits: events.map_hits - did.map_hits,
        map_misses: events.map_misses - did.map_misses,
        map_dirty_evictions: events.map_dirty_evictions - did.map_dirty_evictions,
        gc_runs: events.gc_runs - did.gc_runs,
        map_gc_runs: events.map_gc_runs - did.map_gc_runs,
        ..Events::default()
    };
    (lab.ctx().matrix().since(&before), events)
}

fn of(matrix: &Matrix, cause: Cause) -> Cell {
    matrix.sum(|_, found| found == cause)
}

fn near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let error = measured / expected - 1.0;
    println!("{what}: {measured:.4} against {expected:.4} ({:+.2} %)", 100.0 * error);
    assert!(error.abs() < tolerance, "{what}: {measured} against {expected}");
}

/// Gupta et al.: besides garbage collection a host write costs 1 P + m (R + d (R + P)) with a miss rate m and a share d
/// of changed entries among the evicted. Uniform writes make all entries in memory equally likely, so m = 1 - C / U,
/// and every entry has changed.
#[test]
fn a_write_costs_what_misses_and_changed_entries_cost() {
    let (blocks, b, logical) = (1024, 64, 48_000);
    for share in [0.01, 0.1, 0.5] {
        let cmt_entries = (share * f64::from(logical)) as u32;
        let config = Config { cmt_entries, batch_write_back: false, ..Config::default() };
        let writes = 4 * u64::from(logical);
        let (matrix, events) = random_writes(&mut lab(blocks, b, logical, &config), 2, writes);
        let (host, map) = (of(&matrix, Cause::Host), of(&matrix, Cause::Map));
        assert_eq!((host.programs(), host.reads()), (writes, 0), "1 P");
        assert_eq!(map.reads(), events.map_misses + events.map_dirty_evictions, "R for each of them");
        assert_eq!(map.programs(), events.map_dirty_evictions, "P for each of them");
        let (m, d) = (1.0 - share, 1.0);
        let per_write = |count: u64| count as f64 / writes as f64;
        near(&format!("C / U = {share}: map reads"), per_write(map.reads()), m * (1.0 + d), 0.01);
        near(&format!("C / U = {share}: map programs"), per_write(map.programs()), m * d, 0.01);
        assert!(events.gc_runs > 10_000, "{} victims", events.gc_runs);
    }
}

/// A batch writes a changed entry with the others of its map page. An entry that comes into memory later leaves,
/// changed, after C evictions at the earliest. C / M of these are of this map page; then the next one needs a write. So
/// one eviction in 1 + C / M finds a changed entry. Collection writes map pages too and is left out.
#[test]
fn a_batch_saves_programs() {
    let (blocks, b, logical, cmt_entries) = (8192, 64, 48_000, 4_800);
    let config = Config { cmt_entries, ..Config::default() };
    let (matrix, events) = random_writes(&mut lab(blocks, b, logical, &config), 2, 200_000);
    let map = of(&matrix, Cause::Map);
    assert_eq!((map.programs(), map.reads() - map.programs()), (events.map_dirty_evictions, events.map_misses));
    assert_eq!(events.gc_runs, events.map_gc_runs, "no block of data is collected");
    let of_map_page = f64::from(cmt_entries) / f64::from(logical.div_ceil(ENTRIES));
    let share = events.map_dirty_evictions as f64 / events.map_misses as f64;
    near("share of changed entries", share, 1.0 / (1.0 + of_map_page), 0.1);
}

/// Data collection follows the mean field in the space left by the map and the reserve. With each victim go the map
/// pages of its moved pages that are not in memory, each of M equally likely: M (1 - (1 - 1 / M)^moved).
#[test]
fn collection_costs_what_the_closed_form_has() {
    let (blocks, b) = (4096, 64);
    for over_provisioning in [0.2, 0.5] {
        let geometry = Geometry::single_die(blocks, b, PAGE).expect("a plain shape");
        let config = Config { cmt_entries: 4096, ..Config::default() };
        // The quota: the blocks that hold the map once, as many spare ones, one more, and the open block.
        let logical_of =
            |map_blocks: f64| f64::from(b) * (f64::from(blocks) - 4.0 - map_blocks) / (1.0 + over_provisioning);
        let map_blocks = |logical: f64| 2.0 * (logical / f64::from(ENTRIES) / f64::from(b)).floor() + 2.0;
        let logical = logical_of(map_blocks(logical_of(0.0))) as u32;
        assert!(logical <= Dftl::max_logical_pages(&geometry, &Rules::default(), &config).expect("it fits"));
        let writes = 4 * u64::from(logical);
        let (matrix, events) = random_writes(&mut lab(blocks, b, logical, &config), 4, writes);
        let gc = of(&matrix, Cause::Gc);
        let a = forms::greedy(b, over_provisioning);
        near(&format!("OP {over_provisioning}: WAF of data"), 1.0 + gc.copies as f64 / writes as f64, a, 0.01);
        let victims = (events.gc_runs - events.map_gc_runs) as f64 / writes as f64;
        near("victims by write", victims, a / f64::from(b), 0.01);
        let moved = f64::from(b) * (1.0 - 1.0 / a) * (1.0 - 4096.0 / f64::from(logical));
        let m = f64::from(logical.div_ceil(ENTRIES));
        let map_pages = m * (1.0 - (1.0 - 1.0 / m).powf(moved));
        // Map victims' pages are written once more; the spare blocks are one and a half more than the map's blocks.
        let again = forms::greedy(b, 1.0);
        let updates = gc.page_programs as f64 / writes as f64;
        let of_host = of(&matrix, Cause::Map).programs() as f64 / writes as f64;
        let expected = again * (of_host + victims * map_pages) - of_host;
        near("map programs of collection by write", updates, expected, 0.05);
    }
}

/// With the whole map in memory no map page is written, and data collection matches the page map's. The victims' pages
/// differ, since the page map empties a victim while the host goes on writing.
#[test]
fn with_the_whole_map_in_memory_it_is_a_page_map() {
    let (blocks, b, logical) = (2048, 64, 100_000);
    let config = Config { cmt_entries: logical, ..Config::default() };
    let writes = 4 * u64::from(logical);
    let (matrix, events) = random_writes(&mut lab(blocks + 26, b, logical, &config), 3, writes);
    assert_eq!((matrix.total().meta_programs, matrix.total().meta_reads, events.map_misses), (0, 0, 0));
    // 782 map pages: 12 blocks, as many spare ones, one more and the open block.
    let mut page = lab(blocks, b, logical, &page::Config::default());
    let (of_page, _) = random_writes(&mut page, 3, writes);
    near("programs", matrix.total().programs() as f64, of_page.total().programs() as f64, 0.005);
    assert!(totals(&mut page).erases() > 1000.0);
}

/// The map's blocks on a die, if it has 50 pages and blocks have 32.
const MAP_BLOCKS: u32 = 4;

fn whole() -> Config {
    Config { cmt_entries: 1 << 20, ..Config::default() }
}

/// Programs for each of the host's, nine of ten of which go to a tenth of 6,400 pages.
fn skewed(mut lab: Lab) -> f64 {
    let logical = u64::from(lab.logical_pages());
    let (mut at, mut random) = (0, Random::new(3));
    waf_of(&mut lab, logical, || {
        at = (at + 1) % logical;
        at
    });
    let hot = logical / 10;
    let mut next = || if random.chance(0.9) { random.below(hot) } else { hot + random.below(logical - hot) };
    waf_of(&mut lab, 4 * logical, &mut next);
    waf_of(&mut lab, 6 * logical, &mut next)
}

/// The cache holds the whole map, and the device has the map's blocks beside the page map's.
#[test]
fn a_placement_gains_as_much_as_in_the_page_map() {
    let victim = Victim::CostBenefit;
    let [two, dac] = [Placement::Two, Placement::Dac(Dac { regions: 3 })].map(|placement| {
        let paged = skewed(lab(256 + MAP_BLOCKS, 32, 6400, &Config { placement, victim, ..whole() }));
        let page = skewed(lab(256, 32, 6400, &page::Config { placement, victim, ..page::Config::default() }));
        near(&format!("{placement:?}"), paged, page, 0.02);
        paged
    });
    assert!(dac < 0.95 * two, "{dac} with regions, {two} without");
}

/// Without it the blocks with data that is never written again are never erased.
#[test]
fn wear_levelling_moves_cold_data() {
    let spread = |wear| {
        let mut lab = lab(64 + MAP_BLOCKS, 32, 1500, &Config { wear, ..whole() });
        let (mut at, mut random) = (0, Random::new(4));
        waf_of(&mut lab, 1500, || {
            at = (at + 1) % 1500;
            at
        });
        waf_of(&mut lab, 40_000, || random.below(150));
        let erases = lab.chip().pe_cycles();
        let (least, most) = (erases.iter().min().copied(), erases.iter().max().copied());
        (most.unwrap_or(0) - least.unwrap_or(0), lab.events().wear_moves)
    };
    let (uneven, moves) = spread(Wear::None);
    assert!(uneven > 50 && moves == 0, "{uneven} erases between blocks, {moves} moves");
    let (even, moves) = spread(Wear::Threshold(Threshold { erases: 8 }));
    assert!(even <= 12 && moves > 10, "{even} erases between blocks, {moves} moves");
}

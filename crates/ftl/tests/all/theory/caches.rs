//! DFTL's caches of the map against closed forms, each with the bytes that its head comment counts.

use super::{mount, Lab};
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_ftl::dftl::{Allocation, Cache, Cdftl, Config, GroupOptions, Leaftl, Learned, Sftl, Tpftl};
use nandlab_ftl::Events;
use nandlab_nand::random::Random;
use nandlab_nand::{Cause, Counting, Geometry, Rules};

/// Bytes per page, and map entries per page.
const PAGE: u32 = 512;
const ENTRIES: u32 = PAGE / 4;
/// Pages of the host, in whole map pages.
const MAP_PAGES: u32 = 375;
const LOGICAL: u32 = MAP_PAGES * ENTRIES;

fn lab(cache: Cache, cmt_entries: u32) -> Lab {
    lab_on(1024, cache, cmt_entries)
}

fn lab_on(blocks: u32, cache: Cache, cmt_entries: u32) -> Lab {
    let geometry = Geometry::single_die(blocks, 64, PAGE).expect("a plain shape");
    let config = Config { cache, cmt_entries, ..Config::default() };
    mount(Counting::new(geometry, Rules::default()), LOGICAL, &config)
}

/// Requests of `pages` pages each; returns the events since before.
fn play(lab: &mut Lab, op: Op, pages: u32, firsts: impl Iterator<Item = u32>) -> Events {
    let before = lab.events();
    let (mut clock, mut done) = (HostClock::closed_loop(1), Vec::new());
    for first in firsts {
        done.clear();
        let request = Request::new(op, first.into(), pages);
        lab.submit_batch(&[request], &mut clock, &mut done).expect("the device has no faults");
    }
    let after = lab.events();
    Events {
        map_hits: after.map_hits - before.map_hits,
        map_misses: after.map_misses - before.map_misses,
        map_dirty_evictions: after.map_dirty_evictions - before.map_dirty_evictions,
        map_double_reads: after.map_double_reads - before.map_double_reads,
        ..Events::default()
    }
}

/// Every page once, in order.
fn in_order(lab: &mut Lab, op: Op, pages: u32) -> Events {
    play(lab, op, pages, (0..LOGICAL).step_by(pages as usize))
}

fn at_random(lab: &mut Lab, op: Op, count: usize) -> Events {
    let mut random = Random::new(7);
    play(lab, op, 1, std::iter::repeat_with(|| random.below(LOGICAL.into()) as u32).take(count))
}

/// Uniform reads find an entry with the share of the map that memory holds, whatever leaves: misses are 1 - share. Pages
/// that were written at random have no runs, so S-FTL keeps each map page at full size, but for chance.
#[test]
fn uniform_reads_miss_what_memory_lacks() {
    let budget = |entries: u32| f64::from(8 * entries);
    let (whole, map_pages) = (f64::from(LOGICAL), f64::from(MAP_PAGES));
    let pages_only = Cdftl { pages_percent: 99 };
    let page = f64::from(4 * ENTRIES + 8);
    for (cache, cmt_entries, share) in [
        (Cache::Segmented, 4_800, 4_800.0 / whole),
        // Six bytes an entry, eight a map page, of which every one has an entry.
        (Cache::Tpftl(Tpftl::default()), 4_800, (budget(4_800) - 8.0 * map_pages) / 6.0 / whole),
        (Cache::Tpftl(Tpftl::default()), 12_000, (budget(12_000) - 8.0 * map_pages) / 6.0 / whole),
        (Cache::Cdftl(pages_only), 6_000, (0.99 * budget(6_000) / page).floor() / map_pages),
        (Cache::Sftl(Sftl { buffer_percent: 0, ..Sftl::default() }), 12_000, {
            let page = f64::from(8 + 4 * ENTRIES + ENTRIES / 4);
            (budget(12_000) / page).floor() / map_pages
        }),
    ] {
        let mut lab = lab(cache, cmt_entries);
        in_order(&mut lab, Op::Write, 1);
        at_random(&mut lab, Op::Write, 4 * LOGICAL as usize);
        at_random(&mut lab, Op::Read, LOGICAL as usize);
        let events = at_random(&mut lab, Op::Read, 2 * LOGICAL as usize);
        let missed = events.map_misses as f64 / (events.map_misses + events.map_hits) as f64;
        println!("{cache:?}: misses {missed:.4}, without what memory has {:.4}", 1.0 - share);
        assert!((missed / (1.0 - share) - 1.0).abs() < 0.01, "{cache:?}: {missed} against {}", 1.0 - share);
        assert_eq!(events.map_double_reads, events.map_misses, "every map page was written, and every page is mapped");
    }
}

/// Read in order, a map page in memory as a whole is read once. With TPFTL's prefetch on, each miss doubles what is
/// cached in front of the next: log2 of a map page's entries, and the first.
#[test]
fn reads_in_order_miss_once_for_what_is_loaded_together() {
    let all_off = Tpftl { selective_prefetch: false, request_prefetch: false, ..Tpftl::default() };
    let doublings = u64::from(ENTRIES.ilog2()) + 1;
    for (cache, pages, of_map_page) in [
        (Cache::Segmented, 16, u64::from(ENTRIES)),
        (Cache::Cdftl(Cdftl::default()), 16, 1),
        (Cache::Sftl(Sftl::default()), 16, 1),
        (Cache::Tpftl(all_off), 16, u64::from(ENTRIES)),
        (Cache::Tpftl(Tpftl { selective_prefetch: true, ..all_off }), 1, doublings),
    ] {
        let mut lab = lab(cache, 1_000);
        in_order(&mut lab, Op::Write, 16);
        // Single reads leave many small nodes, which go when the reads in order come.
        at_random(&mut lab, Op::Read, 10_000);
        in_order(&mut lab, Op::Read, pages);
        let events = in_order(&mut lab, Op::Read, pages);
        assert_eq!(events.map_misses, of_map_page * u64::from(MAP_PAGES), "{cache:?}");
        assert_eq!(events.map_double_reads, events.map_misses);
    }
}

/// A miss loads the rest of its request: one in 16 pages as long as there is room. A full cache loads no more than the
/// coldest node leaves room for. Requests of 16 pages end with nodes, so this costs one miss more a map page at most.
#[test]
fn a_request_misses_once() {
    let options = Tpftl { selective_prefetch: false, ..Tpftl::default() };
    let of_map_page = u64::from(ENTRIES) / 16;
    let misses = |cmt_entries| in_order(&mut lab(Cache::Tpftl(options), cmt_entries), Op::Read, 16).map_misses;
    assert_eq!(misses(LOGICAL), of_map_page * u64::from(MAP_PAGES));
    let full = misses(1_000);
    println!("{full} misses with a full cache");
    assert!((of_map_page..=of_map_page + 1).contains(&full.div_ceil(MAP_PAGES.into())), "{full} misses");
}

/// Written in order on one die, a map page is one run, so S-FTL has the whole map in 44 bytes a map page.
#[test]
fn runs_hold_a_sequential_map_in_a_few_bytes() {
    let bytes = MAP_PAGES * (8 + 4 + ENTRIES / 4);
    let cache = Cache::Sftl(Sftl { buffer_percent: 0, ..Sftl::default() });
    // Beside it, a few more runs: a block that ends in a map page cuts its run only if the next block's number is another.
    let mut lab = lab(cache, bytes / 8 + 400);
    in_order(&mut lab, Op::Write, 16);
    in_order(&mut lab, Op::Read, 16);
    let events = at_random(&mut lab, Op::Read, 50_000);
    assert_eq!((events.map_misses, events.map_hits), (0, 50_000));
}

/// Written in order, a map page is one segment of eight bytes, so LeaFTL has the whole map in 16 bytes a map page. No
/// segment misses a page.
#[test]
fn segments_hold_a_sequential_map_in_fewer_bytes() {
    let options = Leaftl { learned_at: ENTRIES, ..Leaftl::default() };
    let waiting = 8 * ENTRIES;
    let mut lab = lab(Cache::Leaftl(options), (MAP_PAGES * (8 + 8) + waiting) / 8 + 20);
    in_order(&mut lab, Op::Write, 16);
    in_order(&mut lab, Op::Read, 16);
    let events = at_random(&mut lab, Op::Read, 50_000);
    assert_eq!((events.map_misses, events.map_hits, events.map_double_reads), (0, 50_000, 0));
}

/// Written in order, every page is on a line, so LearnedFTL reads no map page. Of `written` pages written once more, each
/// anywhere, those that memory has no entry for miss: `(written - entries) / all`.
#[test]
fn pages_written_again_have_no_line() {
    let (lines, cmt_entries) = (MAP_PAGES * (64 + ENTRIES / 8), 6_000);
    let mut lab = lab(Cache::Learned(Learned::default()), cmt_entries);
    in_order(&mut lab, Op::Write, 16);
    let events = at_random(&mut lab, Op::Read, 50_000);
    assert_eq!((events.map_misses, events.map_double_reads), (0, 0));
    let written = LOGICAL / 5;
    // Each fifth page, in an order without neighbours.
    play(
        &mut lab,
        Op::Write,
        1,
        (0..written).map(|at| u64::from(at) * 7_919 % u64::from(written)).map(|at| 5 * at as u32),
    );
    at_random(&mut lab, Op::Read, LOGICAL as usize);
    let events = at_random(&mut lab, Op::Read, 2 * LOGICAL as usize);
    let missed = events.map_misses as f64 / f64::from(2 * LOGICAL);
    let entries = f64::from(8 * cmt_entries - lines - 8 * MAP_PAGES) / 6.0;
    let expected = (f64::from(written) - entries) / f64::from(LOGICAL);
    println!("misses {missed:.4}, without what has a line or an entry {expected:.4}");
    assert!((missed / expected - 1.0).abs() < 0.02, "{missed} against {expected}");
    assert_eq!(events.map_double_reads, events.map_misses);
}

/// A page without a line was written after its group was last collected. Its former copy is still on flash, so there are
/// no more such pages than spare ones. Without groups hardly any page has a line after random writes.
#[test]
fn collected_groups_have_lines() {
    let missed = |allocation| {
        let geometry = Geometry::single_die(1024, 64, PAGE).expect("a plain shape");
        let cache = Cache::Learned(Learned::default());
        let config = Config { cache, cmt_entries: 6_000, allocation, ..Config::default() };
        let mut lab = mount(Counting::new(geometry, Rules::default()), LOGICAL, &config);
        in_order(&mut lab, Op::Write, 16);
        at_random(&mut lab, Op::Write, 3 * LOGICAL as usize);
        let events = at_random(&mut lab, Op::Read, LOGICAL as usize);
        events.map_double_reads as f64 / f64::from(LOGICAL)
    };
    let spare = f64::from(1024 * 64 - LOGICAL) / f64::from(LOGICAL);
    let (grouped, not) = (missed(Allocation::Groups(GroupOptions::default())), missed(Allocation::Dynamic));
    println!("double reads {grouped:.3} with groups, {not:.3} without, {spare:.3} spare");
    assert!(grouped < spare && spare < 0.5 * not, "{grouped} with groups, {not} without, {spare} spare");
}

/// With the whole map in memory no cache reads or writes a map page, as none of the forms has a term for it.
#[test]
fn with_the_whole_map_in_memory_no_map_page_is_written() {
    let caches = [
        (Cache::Tpftl(Tpftl::default()), 6 * LOGICAL + 8 * MAP_PAGES),
        (Cache::Cdftl(Cdftl::default()), 2 * MAP_PAGES * (4 * ENTRIES + 8)),
        (Cache::Sftl(Sftl { buffer_percent: 0, ..Sftl::default() }), MAP_PAGES * (8 + 4 * ENTRIES + ENTRIES / 4)),
        (Cache::Leaftl(Leaftl::default()), MAP_PAGES * (8 + 8 * ENTRIES) + 8 * 256),
        (Cache::Learned(Learned::default()), 6 * LOGICAL + MAP_PAGES * (8 + 64 + ENTRIES / 8)),
    ];
    for (cache, bytes) in caches {
        let mut lab = lab(cache, bytes.div_ceil(8));
        in_order(&mut lab, Op::Write, 1);
        at_random(&mut lab, Op::Write, 3 * LOGICAL as usize);
        let cell = lab.ctx().matrix().total();
        assert_eq!((cell.meta_programs, cell.meta_reads), (0, 0), "{cache:?}");
    }
}

/// A batch writes a marked entry with the others of its map page, as `a_batch_saves_programs` derives for DFTL: one
/// eviction in 1 + C / M finds a marked entry. TPFTL's batch is the same, for its C.
#[test]
fn a_batch_of_a_node_saves_as_many_programs() {
    let options = Tpftl { clean_first: false, ..Tpftl::default() };
    let mut lab = lab_on(8192, Cache::Tpftl(options), 4_800);
    in_order(&mut lab, Op::Write, 1);
    at_random(&mut lab, Op::Write, 2 * LOGICAL as usize);
    let events = at_random(&mut lab, Op::Write, 200_000);
    let cached = (8.0 * 4_800.0 - 8.0 * f64::from(MAP_PAGES)) / 6.0;
    let share = events.map_dirty_evictions as f64 / events.map_misses as f64;
    let expected = 1.0 / (1.0 + cached / f64::from(MAP_PAGES));
    println!("share of marked entries {share:.4} against {expected:.4}");
    assert!((share / expected - 1.0).abs() < 0.1, "{share} against {expected}");
}

/// At an equal budget TPFTL reads and writes no more map pages for requests than DFTL does, as the paper measures: under
/// skewed and uniform requests, reads, writes and both. Collection is left out. With 128 entries in a map page it writes
/// one for nearly each page that it moves, whatever memory has.
#[test]
fn two_levels_cost_no_more_than_single_entries() {
    for (read_share, skew) in [(0.0, 1), (0.5, 1), (0.0, 3), (0.5, 3), (1.0, 3)] {
        let [dftl, tpftl] = [Cache::Segmented, Cache::Tpftl(Tpftl::default())].map(|cache| {
            let mut lab = lab(cache, 4_800);
            in_order(&mut lab, Op::Write, 16);
            let mut random = Random::new(11);
            let mut before = lab.ctx().matrix().clone();
            let (mut clock, mut done) = (HostClock::closed_loop(1), Vec::new());
            for round in 0..250_000 {
                if round == 50_000 {
                    // What filling the device had marked has left memory.
                    before = lab.ctx().matrix().clone();
                }
                // The smallest of `skew` draws, spread over the map by a step without a common divisor.
                let rank = (0..skew).map(|_| random.below(LOGICAL.into())).min().expect("one draw at least");
                let at = rank * 7_919 % u64::from(LOGICAL);
                let op = if (random.below(1_000) as f64) < 1_000.0 * read_share { Op::Read } else { Op::Write };
                done.clear();
                lab.submit_batch(&[Request::new(op, at, 1)], &mut clock, &mut done).expect("no faults");
            }
            let matrix = lab.ctx().matrix().since(&before);
            let of = |asked: Cause| matrix.sum(|_, cause| cause == asked);
            println!("{read_share} {skew} {cache:?}: collection {:?}", of(Cause::Gc).meta_programs);
            (of(Cause::Map).meta_reads, of(Cause::Map).meta_programs)
        });
        println!("reads {read_share}, skew {skew}: DFTL {dftl:?}, TPFTL {tpftl:?} map reads and programs");
        assert!(tpftl.0 <= dftl.0 && tpftl.1 <= dftl.1, "reads {read_share}, skew {skew}: {tpftl:?} against {dftl:?}");
    }
}

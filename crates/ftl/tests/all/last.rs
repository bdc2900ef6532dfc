//! Costs by hand, for logical blocks of b = 8 valid pages: a sequential log block ends in a switch (1 erase), a partial
//! merge (b - k copies, 1 erase) or a full merge (b copies, 2 erases); a dead log block costs 1 erase and no copy; any
//! other log block costs b copies and 1 erase for each of its logical blocks, and 1 erase of its own.

use crate::lab::{cost, cost_of, erased, filled, logical_block_in, merges, submit, write, Lab, ORDERS, PAGES};
use nandlab_block::Op;
use nandlab_ftl::last::{Config, Last};
use nandlab_ftl::Ftl;
use nandlab_nand::{Geometry, ProgramOrder, Rules};

/// Costs of requests, each with its first page and its pages: host programs, copies and erases.
fn cost_of_runs(lab: &mut Lab, runs: &[(u64, u32)]) -> (u64, u64, u64) {
    let cost = cost(lab, |lab| runs.iter().for_each(|&(first, pages)| submit(lab, Op::Write, first, pages)));
    (cost.page_programs, cost.copies, cost.erases() as u64)
}

/// Small requests alone; a page counts as hot within the last `hot_window` pages.
fn small(random_blocks: u32, hot_blocks: u32, hot_window: u32) -> Config {
    Config { sequential_blocks: 0, random_blocks, hot_blocks, hot_window, adapt: false, ..Config::default() }
}

#[test]
fn large_requests_end_in_a_switch_a_partial_or_a_full_merge() {
    for order in ORDERS {
        for (runs, copies, erases, expected) in [
            // All pages in order, and the request that finds the log block full.
            (&[(8, 8), (8, 4)][..], 0, 1, (1, 0, 0)),
            (&[(8, 4), (12, 4), (8, 4)], 0, 1, (1, 0, 0)),
            // A prefix, and another logical block needs the log block.
            (&[(8, 5), (16, 4)], PAGES - 5, 1, (0, 1, 0)),
            // Not in order.
            (&[(12, 4), (8, 4), (8, 4)], PAGES, 2, (0, 0, 1)),
        ] {
            let mut lab: Lab = filled(order, 4, &Config { sequential_blocks: 1, ..Config::default() });
            let pages: u32 = runs.iter().map(|&(_, pages)| pages).sum();
            assert_eq!(cost_of_runs(&mut lab, runs), (pages.into(), copies, erases), "{order:?} {runs:?}");
            assert_eq!(merges(&lab), expected, "{order:?} {runs:?}");
        }
    }
}

#[test]
fn the_size_of_a_request_chooses_the_log() {
    for (pages, large) in [(3, false), (4, true), (5, true)] {
        let mut lab: Lab = filled(ProgramOrder::Ascending, 4, &Config::default());
        // One request for each of two logical blocks: a log block for each, or one for both.
        assert_eq!(cost_of_runs(&mut lab, &[(0, pages), (8, pages)]), (2 * u64::from(pages), 0, 0));
        assert_eq!(lab.log_blocks().len(), if large { 2 } else { 1 }, "{pages} pages");
    }
    // A request over the end of a logical block counts for each of its parts.
    let mut lab: Lab = filled(ProgramOrder::Ascending, 4, &Config::default());
    assert_eq!(cost_of_runs(&mut lab, &[(6, 8)]), (8, 0, 0));
    let of_blocks: Vec<_> = lab.log_blocks().into_iter().map(|block| logical_block_in(&mut lab, block)).collect();
    assert_eq!(of_blocks, [Some(0), Some(1)], "the shared log block, and the sequential one of logical block 1");
}

#[test]
fn a_small_write_over_a_sequential_page_makes_its_merge_a_full_one() {
    let config = Config { sequential_blocks: 1, random_blocks: 2, hot_blocks: 0, ..Config::default() };
    let mut lab: Lab = filled(ProgramOrder::Ascending, 4, &config);
    assert_eq!(cost_of_runs(&mut lab, &[(8, 4), (9, 1), (12, 4)]), (9, 0, 0));
    assert_eq!(cost_of_runs(&mut lab, &[(16, 4)]), (4, PAGES, 2));
    assert_eq!(merges(&lab), (0, 0, 1));
    // The merge has taken the page out of the shared log block: dead, it costs one erase.
    assert_eq!(cost_of(&mut lab, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]), (16, 0, 1));
}

#[test]
fn a_dead_log_block_costs_one_erase_and_goes_before_all_others() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 8, &small(3, 0, 0));
        // The first log block has pages of four logical blocks; the second one's are all superseded in the third.
        let first = [1, 9, 17, 25, 2, 10, 18, 26];
        let again = [33, 34, 35, 36, 37, 38, 39, 33];
        assert_eq!(cost_of(&mut lab, first.into_iter().chain(again).chain(again)), (24, 0, 0), "{order:?}");
        let before = lab.events();
        assert_eq!(cost_of(&mut lab, [41]), (1, 0, 1), "{order:?}");
        let events = lab.events();
        assert_eq!(events.empty_gc_runs - before.empty_gc_runs, 1, "{order:?}");
        assert_eq!(merges(&lab), (0, 0, 0), "{order:?}");
    }
}

#[test]
fn without_a_dead_one_the_cold_log_block_that_costs_least_goes() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 8, &small(3, 0, 0));
        // Log blocks with pages of four, one and two logical blocks; then a page that needs another one.
        let pages = [1, 9, 17, 25, 2, 10, 18, 26].into_iter().chain(32..40).chain([41, 42, 43, 44, 49, 50, 51, 52]);
        assert_eq!(cost_of(&mut lab, pages), (24, 0, 0), "{order:?}");
        assert_eq!(cost_of(&mut lab, [57]), (1, PAGES, 2), "{order:?}");
        assert_eq!(merges(&lab), (0, 0, 1), "{order:?}");
    }
}

#[test]
fn pages_written_again_soon_fill_log_blocks_of_their_own_and_die_there() {
    // Every second write goes to one of four pages, the others to ever new ones. The last copy of one of the four is the
    // eighth page back, so with a window of 8 pages each one after the first is hot.
    let writes = (0..20).flat_map(|at| [1 + at % 4, 64 + 2 * at]);
    // 16 hot writes fill two log blocks and 24 cold ones three; without hot pages 40 cold writes fill five. The next write
    // needs a sixth: the older hot one is dead, but each mixed one has newest pages of a logical block.
    for (hot_window, copies, erases) in [(8, 0, 1), (7, PAGES / 2, 2)] {
        let mut lab: Lab = erased(ProgramOrder::Ascending, 32, 160, &small(5, 2, hot_window));
        write(&mut lab, (0..8).chain((0..20).map(|at| 64 + 2 * at)));
        assert_eq!(cost_of(&mut lab, writes.clone()), (40, 0, 0), "{hot_window}");
        assert_eq!(cost_of(&mut lab, [1]), (1, copies, erases), "{hot_window}");
    }
}

#[test]
fn pages_that_were_never_written_are_not_copied() {
    for order in [ProgramOrder::Any, ProgramOrder::Ascending] {
        let mut lab: Lab = erased(order, 15, 24, &small(1, 0, 0));
        write(&mut lab, [0, 2, 5, 8, 9]);
        assert_eq!(cost_of(&mut lab, [2, 9, 2, 9, 2, 9, 2, 9]), (8, 0, 0), "{order:?}");
        assert_eq!(cost_of(&mut lab, [5]), (1, 3 + 2, 3), "{order:?}");
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let geometry = Geometry::single_die(20, PAGES as u32, 512).unwrap();
    let usual = Config::default;
    for (config, expected) in [
        (Config { random_blocks: 0, ..usual() }, "ftl.last.random_blocks = 0: it is at least 1"),
        (Config { sequential_pages: 0, ..usual() }, "ftl.last.sequential_pages = 0: it is at least 1"),
        (Config { hot_blocks: 8, ..usual() }, "ftl.last.hot_blocks = 8: it is at most 7"),
    ] {
        let error = Last::max_logical_pages(&geometry, &Rules::default(), &config).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

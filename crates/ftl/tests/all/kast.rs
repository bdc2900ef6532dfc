//! Costs by hand, for logical blocks of b = 8 valid pages: a reclaim of a log block with newest pages of m logical
//! blocks costs m times b copies and m + 1 erases, and m is never more than K; a sequence ends in a switch (1 erase) or
//! in a partial merge (b - k copies, 1 erase).

use crate::lab::{cost_of, erased, filled, merges, write, Lab, ORDERS, PAGES};
use nandlab_ftl::kast::{Config, Kast, Share};
use nandlab_ftl::Ftl;
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::{Geometry, ProgramOrder, Rules};

/// No sequences.
fn random(log_blocks: u32, associativity: u32) -> Config {
    Config { log_blocks, associativity, sequential_blocks: 0, ..Config::default() }
}

#[test]
fn a_reclaim_costs_a_merge_for_each_logical_block_of_the_log_block_and_one_erase() {
    for order in ORDERS {
        for blocks in [1, 2, 4, 8] {
            let mut lab: Lab = filled(order, 9, &random(1, 8));
            let each = PAGES / blocks;
            let pages: Vec<u64> = (0..blocks).flat_map(|block| (0..each).map(move |at| 8 * block + at)).collect();
            assert_eq!(cost_of(&mut lab, pages), (PAGES, 0, 0), "{order:?}");
            assert_eq!(cost_of(&mut lab, [67]), (1, blocks * PAGES, blocks + 1), "{order:?}");
            assert_eq!(merges(&lab), (0, 0, blocks), "{order:?}");
        }
    }
}

#[test]
fn no_write_costs_more_than_k_merges_and_some_write_costs_as_much() {
    // Random writes to 24 logical blocks; a log block has room for 8 of them.
    for associativity in [1, 2, 3, 5, 8] {
        for share in [Share::First, Share::Last] {
            let mut lab: Lab = filled(ProgramOrder::Ascending, 24, &Config { share, ..random(4, associativity) });
            let mut draws = Random::of(7, Stream::Requests);
            let mut worst = (0, 0);
            for _ in 0..4_000 {
                let (programs, copies, erases) = cost_of(&mut lab, [draws.below(24 * PAGES)]);
                assert_eq!(programs, 1);
                worst = (worst.0.max(copies), worst.1.max(erases));
            }
            let most = u64::from(associativity);
            // Of four log blocks the one with the fewest logical blocks goes, so eight in each of them are too rare.
            let reached = if most < PAGES { most } else { worst.1 - 1 };
            assert_eq!(worst, (reached * PAGES, reached + 1), "K = {associativity}, {share:?}");
            assert!(reached <= most);
        }
    }
}

#[test]
fn the_next_log_block_is_the_one_that_the_order_of_choices_says() {
    for (share, blocks) in [(Share::First, [1, 1, 2, 2]), (Share::Last, [1, 2, 3, 3])] {
        let mut lab: Lab = filled(ProgramOrder::Ascending, 8, &Config { share, ..random(3, 2) });
        for (page, blocks) in [1, 9, 17, 25].into_iter().zip(blocks) {
            assert_eq!(cost_of(&mut lab, [page]), (1, 0, 0));
            assert_eq!(lab.log_blocks().len(), blocks, "{share:?}, page {page}");
        }
    }
}

#[test]
fn a_logical_block_stays_in_its_log_block_while_there_is_room() {
    // The log blocks: one with logical blocks 0 and 1, one with 2 and 3. Another logical block finds none.
    let mut lab: Lab = filled(ProgramOrder::Ascending, 8, &random(2, 2));
    assert_eq!(cost_of(&mut lab, [1, 9, 17, 25, 2, 10, 18, 26]), (8, 0, 0));
    assert_eq!(lab.log_blocks().len(), 2);
    // The older of the two goes: logical blocks 0 and 1 are merged.
    assert_eq!(cost_of(&mut lab, [33]), (1, 2 * PAGES, 3));
    assert_eq!(merges(&lab), (0, 0, 2));
    // Its log block has one logical block, so it takes a second.
    assert_eq!(cost_of(&mut lab, [41]), (1, 0, 0));
    // A superseded page costs nothing more: 2 and 3 are in the log block that goes next.
    assert_eq!(cost_of(&mut lab, [17, 25, 17, 25, 49]), (5, 2 * PAGES, 3));
    assert_eq!(merges(&lab), (0, 0, 4));
}

#[test]
fn several_sequences_end_in_switches() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 4, &Config::default());
        let pages = (0..PAGES).flat_map(|at| [at, 8 + at]);
        assert_eq!(cost_of(&mut lab, pages), (2 * PAGES, 0, 2), "{order:?}");
        assert_eq!(merges(&lab), (2, 0, 0), "{order:?}");
        // With room for one sequence alone the second one ends the first, which has one page, and every page after it
        // goes to the log block of its logical block.
        let mut lab: Lab = filled(order, 4, &Config { sequential_blocks: 1, ..Config::default() });
        assert_eq!(cost_of(&mut lab, [0, 8]), (2, PAGES - 1, 1), "{order:?}");
        assert_eq!(merges(&lab), (0, 1, 0), "{order:?}");
    }
}

#[test]
fn a_sequence_with_a_prefix_is_completed() {
    for order in ORDERS {
        for prefix in 1..PAGES {
            let mut lab: Lab = filled(order, 4, &Config { sequential_blocks: 1, ..Config::default() });
            let expected = (prefix + 1, PAGES - prefix, 1);
            assert_eq!(cost_of(&mut lab, (8..8 + prefix).chain([0])), expected, "{order:?}");
            assert_eq!(merges(&lab), (0, 1, 0), "{order:?}");
        }
    }
}

#[test]
fn a_sequence_out_of_order_becomes_a_random_log_block() {
    for order in ORDERS {
        let config = Config { log_blocks: 2, associativity: 2, sequential_blocks: 1, ..Config::default() };
        let mut lab: Lab = filled(order, 5, &config);
        // Pages 8 and 9 in order, then 13: the same log block takes it, and a page of another logical block.
        assert_eq!(cost_of(&mut lab, [8, 9, 13, 1]), (4, 0, 0), "{order:?}");
        assert_eq!(lab.log_blocks().len(), 1, "{order:?}");
        // It is a sequence no more: the first page of its logical block goes there too. Four more pages fill it.
        assert_eq!(cost_of(&mut lab, [8, 2, 3, 10]), (4, 0, 0), "{order:?}");
        assert_eq!(lab.log_blocks().len(), 1, "{order:?}");
        // The second log block takes two logical blocks; a third one reclaims the full one, for two full merges.
        assert_eq!(cost_of(&mut lab, [17, 25]), (2, 0, 0), "{order:?}");
        assert_eq!(cost_of(&mut lab, [33]), (1, 2 * PAGES, 3), "{order:?}");
        assert_eq!(merges(&lab), (0, 0, 2), "{order:?}");
    }
}

#[test]
fn pages_that_were_never_written_are_not_copied() {
    for order in [ProgramOrder::Any, ProgramOrder::Ascending] {
        let mut lab: Lab = erased(order, 15, 24, &random(1, 2));
        write(&mut lab, [0, 2, 5, 8, 9]);
        assert_eq!(cost_of(&mut lab, [2, 9, 2, 9, 2, 9, 2, 9]), (8, 0, 0), "{order:?}");
        assert_eq!(cost_of(&mut lab, [5]), (1, 3 + 2, 3), "{order:?}");
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let geometry = Geometry::single_die(20, PAGES as u32, 512).unwrap();
    for (config, expected) in [
        (random(0, 4), "ftl.kast.log_blocks = 0 cannot work"),
        (random(4, 0), "ftl.kast.associativity = 0 cannot work"),
        (Config { sequential_blocks: 8, ..Config::default() }, "ftl.kast.sequential_blocks = 8: it is at most 7"),
    ] {
        let error = Kast::max_logical_pages(&geometry, &Rules::default(), &config).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

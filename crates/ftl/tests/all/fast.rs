//! Costs by hand, for logical blocks of b = 8 valid pages: the sequential log block ends in a switch (1 erase),
//! a partial merge (b - k copies, 1 erase) or, with the pending page, a full merge (b - 1 copies, 2 erases); a
//! victim with newest pages of m logical blocks costs m times b copies and 1 erase, and 1 erase of its own; a
//! migration of v valid pages costs v copies and 1 erase.

use crate::lab::{cost_of, erased, filled, merges, submit, write, Lab, ORDERS, PAGES};
use nandlab_block::Op;
use nandlab_ftl::fast::{Config, Fast, FirstWrite, SequentialMerge, SwRule};
use nandlab_ftl::Ftl;
use nandlab_nand::{Geometry, ProgramOrder, Rules};

/// No sequential log block.
fn random(log_blocks: u32) -> Config {
    Config { log_blocks, sequential_block: false, ..Config::default() }
}

#[test]
fn a_sequential_log_block_ends_as_its_next_page_says() {
    // Pages of the second logical block, beginning with its first page.
    for (pages, copies, erases, expected) in [
        // All pages: a switch. A prefix, and then the start of another logical block: the other pages are
        // copied.
        ((8..16).collect(), 0, 1, (1, 0, 0)),
        (vec![8, 9, 10, 16], PAGES - 3, 1, (0, 1, 0)),
        // A page further on is written, and all others are copied.
        (vec![8, 9, 13], PAGES - 3, 1, (0, 1, 0)),
        // An already held page is written into the merged block.
        (vec![8, 9, 10, 9], PAGES - 1, 2, (0, 0, 1)),
        // Its own first page starts the next sequential log block.
        (vec![8, 9, 8], PAGES - 2, 1, (0, 1, 0)),
    ] {
        for order in ORDERS {
            let mut lab: Lab = filled(order, 3, &Config::default());
            let programs = pages.len() as u64;
            assert_eq!(cost_of(&mut lab, pages.iter().copied()), (programs, copies, erases), "{order:?} {pages:?}");
            assert_eq!(merges(&lab), expected, "{order:?} {pages:?}");
        }
    }
}

#[test]
fn pages_that_were_never_written_are_in_no_ones_way() {
    // A partial merge copies the valid unwritten pages, and skips the others; a chip without gaps pads these.
    // Nothing to copy: a switch.
    for (mapped, pages, gaps, copies, expected) in [
        (&[0, 1, 4, 5, 6, 7][..], &[0, 1, 5][..], 2, 3, (0, 1, 0)),
        (&[0, 1, 4, 5, 6, 7], &[0, 5], 2, 4, (0, 1, 0)),
        (&[0, 1, 4, 5, 6, 7], &[0, 1, 4, 5, 6, 7], 2, 3, (0, 1, 0)),
        (&[0, 1, 4, 5, 6, 7], &[0, 1, 8], 2, 4, (0, 1, 0)),
        (&[0, 3, 6], &[0, 6], 4, 1, (0, 1, 0)),
        (&[0, 1, 6], &[0, 1, 6], 4, 0, (1, 0, 0)),
        (&[0, 1, 2], &[0, 1, 2, 8], 0, 0, (1, 0, 0)),
        // The last page of the logical block comes after copies: no switch.
        (&[0, 1, 2, 3, 4, 5, 6, 7], &[0, 1, 7], 0, 5, (0, 1, 0)),
    ] {
        for (order, sequential_merge) in ORDERS.into_iter().flat_map(|order| {
            [SequentialMerge::DataBlock, SequentialMerge::Newest].map(|sequential_merge| (order, sequential_merge))
        }) {
            let dense = order == ProgramOrder::AscendingDense;
            if dense && sequential_merge == SequentialMerge::DataBlock {
                // Pages after a gap are in the log: see the next test.
                continue;
            }
            let mut lab: Lab = erased(order, 15, 24, &Config { sequential_merge, ..Config::default() });
            write(&mut lab, mapped.iter().copied().chain([8]));
            let programs = pages.len() as u64 + if dense { gaps } else { 0 };
            let cost = cost_of(&mut lab, pages.iter().copied());
            assert_eq!(cost, (programs, copies, 1), "{order:?} {sequential_merge:?} {mapped:?} {pages:?}");
            assert_eq!(merges(&lab), expected, "{order:?} {sequential_merge:?} {mapped:?} {pages:?}");
        }
    }
}

#[test]
fn pages_that_only_the_log_holds_stay_there() {
    // On a chip without gaps the data block takes 0 and 1, and the log 4 to 7. The sequential log block takes 0, 1 and
    // 5, with padding at 2, 3 and 4. There is nothing to copy: a switch.
    let mut lab: Lab = erased(ProgramOrder::AscendingDense, 15, 24, &Config { log_blocks: 1, ..Config::default() });
    write(&mut lab, [0, 1, 4, 5, 6, 7, 8]);
    assert_eq!(cost_of(&mut lab, [0, 1, 5]), (3 + 3, 0, 1));
    assert_eq!(merges(&lab), (1, 0, 0));
    // The log block is full after four writes of 9. The victim still holds the newest 4, 6 and 7: six copies
    // with padding at 2 and 3, two copies of the other logical block, and the erases of two data blocks and its
    // own.
    write(&mut lab, [9, 9, 9, 9, 9]);
    assert_eq!(cost_of(&mut lab, [9]), (1 + 2, 6 + 2, 3));
    assert_eq!(merges(&lab), (1, 0, 2));
}

#[test]
fn trimmed_pages_of_a_sequence_do_not_end_it() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 3, &Config::default());
        write(&mut lab, [8, 9, 10]);
        submit(&mut lab, Op::Trim, 9, 1);
        submit(&mut lab, Op::Trim, 14, 1);
        // 8 and 10 stay, 11, 12, 13 and 15 are copied; a chip without gaps pads 14. The data block is erased,
        // with the trimmed copies, so a note records the trims.
        let padding = u64::from(order == ProgramOrder::AscendingDense);
        assert_eq!(cost_of(&mut lab, [16]), (1 + 1 + padding, 4, 1), "{order:?}");
        assert_eq!(merges(&lab), (0, 1, 0), "{order:?}");
    }
}

#[test]
fn a_victim_costs_a_merge_for_each_of_its_logical_blocks_and_one_erase() {
    for order in ORDERS {
        for blocks in [1, 2, 4, 8] {
            let mut lab: Lab = filled(order, 8, &random(1));
            let each = PAGES / blocks;
            let pages: Vec<u64> = (0..blocks).flat_map(|block| (0..each).map(move |at| 8 * block + at)).collect();
            assert_eq!(cost_of(&mut lab, pages), (PAGES, 0, 0), "{order:?}");
            assert_eq!(cost_of(&mut lab, [3]), (1, blocks * PAGES, blocks + 1), "{order:?}");
            assert_eq!(merges(&lab), (0, 0, blocks), "{order:?}");
        }
    }
}

#[test]
fn a_merge_takes_pages_from_all_log_blocks() {
    let mut lab: Lab = filled(ProgramOrder::Ascending, 4, &random(2));
    // Both log blocks hold pages of the same two logical blocks; the second one is stale when its turn comes.
    let first = (0..4).chain(8..12);
    let second = (4..8).chain(12..16);
    assert_eq!(cost_of(&mut lab, first.chain(second)), (2 * PAGES, 0, 0));
    assert_eq!(cost_of(&mut lab, 16..24), (PAGES, 2 * PAGES, 3));
    assert_eq!(cost_of(&mut lab, [16]), (1, 0, 1));
    assert_eq!(merges(&lab), (0, 0, 2));
}

#[test]
fn a_victim_completes_the_sequential_log_block_of_a_logical_block_that_it_holds() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 4, &Config { log_blocks: 1, ..Config::default() });
        // The log block gets a page of the second logical block and seven of the first; then comes the second
        // one's first page.
        assert_eq!(cost_of(&mut lab, [11].into_iter().chain(1..8).chain([8])), (9, 0, 0), "{order:?}");
        // Seven pages behind the sequential one and a data block; a full merge; the log block.
        assert_eq!(cost_of(&mut lab, [17]), (1, 7 + PAGES, 1 + 1 + 1), "{order:?}");
        assert_eq!(merges(&lab), (0, 1, 1), "{order:?}");
        assert_eq!(lab.log_blocks().len(), 1, "no sequential log block is left");
    }
}

#[test]
fn a_stale_victim_costs_its_erase_alone_unless_it_is_merged_all_the_same() {
    for (skip_stale, blocks) in [(true, 0), (false, 4)] {
        let config = Config { skip_stale, ..random(2) };
        let mut lab: Lab = filled(ProgramOrder::Ascending, 4, &config);
        let pages = || (0..4).flat_map(|block| [8 * block + 1, 8 * block + 2]);
        assert_eq!(cost_of(&mut lab, pages().chain(pages())), (2 * PAGES, 0, 0));
        assert_eq!(cost_of(&mut lab, [5]), (1, blocks * PAGES, blocks + 1), "skip_stale = {skip_stale}");
    }
}

#[test]
fn a_victim_that_is_less_than_half_valid_is_renewed_for_its_valid_pages_and_one_erase() {
    let config = Config { migrate: true, ..random(1) };
    for (pages, copies, erases, migrations) in [
        (vec![1, 2, 1, 2, 1, 2, 1, 2], 2, 1, 1),
        (vec![1, 2, 3, 1, 2, 3, 1, 2], 3, 1, 1),
        (vec![1, 2, 3, 4, 1, 2, 3, 4], PAGES, 2, 0),
    ] {
        let mut lab: Lab = filled(ProgramOrder::Ascending, 3, &config);
        assert_eq!(cost_of(&mut lab, pages.iter().copied()), (PAGES, 0, 0));
        assert_eq!(cost_of(&mut lab, [9]), (1, copies, erases), "{pages:?}");
        assert_eq!(lab.events().migrations, migrations, "{pages:?}");
    }
    // At most half a log block's pages, 4, in a row: the log takes 8 pages and, renewed with the 2 valid ones,
    // 6 more each time; the next reclaim merges the one logical block, for 8 copies and the erases of the data
    // block and of the log block.
    let mut lab: Lab = filled(ProgramOrder::Ascending, 3, &config);
    let half = PAGES / 2;
    let taken = 8 + half * 6;
    assert_eq!(cost_of(&mut lab, (0..taken).map(|at| 1 + at % 2)), (taken, half * 2, half));
    assert_eq!((lab.events().migrations, merges(&lab).2), (half, 0));
    assert_eq!(cost_of(&mut lab, [1]), (1, PAGES, 2));
    assert_eq!((lab.events().migrations, merges(&lab).2), (half, 1));
    // The count starts again with the merge.
    assert_eq!(cost_of(&mut lab, (1..taken).map(|at| 1 + at % 2)), (taken - 1, half * 2, half));
    assert_eq!((lab.events().migrations, merges(&lab).2), (2 * half, 1));
}

#[test]
fn the_rule_says_which_first_page_starts_a_sequence() {
    for (sw_rule, first, in_log) in [
        (SwRule::Always, (1, 0, 0), (1, 0, 0)),
        (SwRule::IfNotInLog, (1, 0, 0), (0, 0, 0)),
        (SwRule::Never, (0, 0, 0), (0, 0, 0)),
    ] {
        let config = Config { sw_rule, ..Config::default() };
        let mut lab: Lab = filled(ProgramOrder::Ascending, 3, &config);
        assert_eq!(cost_of(&mut lab, 8..16), (PAGES, 0, first.0), "{sw_rule:?}");
        assert_eq!(merges(&lab), first, "{sw_rule:?}");
        let mut lab: Lab = filled(ProgramOrder::Ascending, 3, &config);
        assert_eq!(cost_of(&mut lab, [9].into_iter().chain(8..16)), (PAGES + 1, 0, in_log.0), "{sw_rule:?}");
        assert_eq!(merges(&lab), in_log, "{sw_rule:?}");
    }
}

#[test]
fn a_log_without_blocks_is_refused() {
    let geometry = Geometry::single_die(20, PAGES as u32, 512).unwrap();
    let config = Config { log_blocks: 0, ..Config::default() };
    let error = Fast::max_logical_pages(&geometry, &Rules::default(), &config).unwrap_err().to_string();
    assert!(error.starts_with("ftl.fast.log_blocks = 0 cannot work"), "{error}");
}

#[test]
fn the_option_says_whether_newer_pages_stay_in_the_log_when_a_sequence_ends() {
    // The log block: page 3 of the second logical block and seven pages of the first. Then the second one's
    // first two pages, and the end of this sequence: the other six are copied either way.
    for (sequential_merge, merged) in [(SequentialMerge::Newest, 1), (SequentialMerge::DataBlock, 2)] {
        for order in ORDERS {
            let mut lab: Lab = filled(order, 4, &Config { log_blocks: 1, sequential_merge, ..Config::default() });
            assert_eq!(cost_of(&mut lab, [11].into_iter().chain(1..8)), (8, 0, 0), "{order:?}");
            assert_eq!(cost_of(&mut lab, [8, 9, 16]), (3, 6, 1), "{order:?} {sequential_merge:?}");
            assert_eq!(merges(&lab), (0, 1, 0), "{order:?}");
            // The victim costs a merge for each logical block with newest pages in it.
            assert_eq!(cost_of(&mut lab, [25]), (1, merged * PAGES, merged + 1), "{order:?} {sequential_merge:?}");
            assert_eq!(merges(&lab), (0, 1, merged), "{order:?}");
        }
    }
}

#[test]
fn every_first_write_goes_to_the_log_where_the_option_says_so() {
    for order in ORDERS {
        let config = Config { first_write: FirstWrite::Log, ..random(1) };
        let mut lab: Lab = erased(order, 15, 24, &config);
        assert_eq!(cost_of(&mut lab, [1, 9, 17, 2, 10, 18, 3, 11]), (8, 0, 0), "{order:?}");
        // Three logical blocks without data blocks are gathered; a chip without gaps pads page 0 of each.
        let padding = if order == ProgramOrder::AscendingDense { 3 } else { 0 };
        assert_eq!(cost_of(&mut lab, [4]), (1 + padding, 8, 1), "{order:?}");
        assert_eq!(merges(&lab), (0, 0, 3), "{order:?}");
    }
}

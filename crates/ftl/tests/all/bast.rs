//! Costs by hand, for a logical block of b = 8 valid pages: a switch erases the data block; a partial merge of
//! a log block with a prefix of k pages copies the other b - k and erases the data block; a full merge copies
//! all b to a new block and erases the data block and the log block. The triggering write is programmed in
//! addition.

use crate::lab::{cost_of, erased, filled, logical_block_in, merges, write, Lab, ORDERS, PAGES};
use nandlab_ftl::bast::{Bast, Config, FirstWrite, Victim};
use nandlab_ftl::parts::store::EraseWhen;
use nandlab_ftl::Ftl;
use nandlab_nand::{Geometry, ProgramOrder, Rules};

fn one_log() -> Config {
    Config { log_blocks: 1, ..Config::default() }
}

#[test]
fn a_log_block_in_order_switches_for_one_erase() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 3, &Config::default());
        assert_eq!(cost_of(&mut lab, 8..16), (PAGES, 0, 0), "{order:?}: the log block is full and waits");
        assert_eq!(cost_of(&mut lab, [9]), (1, 0, 1), "{order:?}");
        assert_eq!(merges(&lab), (1, 0, 0), "{order:?}");
    }
}

#[test]
fn a_log_block_with_a_prefix_is_completed_for_the_other_pages_and_one_erase() {
    for order in ORDERS {
        for prefix in 1..PAGES {
            let mut lab: Lab = filled(order, 3, &one_log());
            let expected = (prefix + 1, PAGES - prefix, 1);
            assert_eq!(cost_of(&mut lab, (8..8 + prefix).chain([0])), expected, "{order:?}");
            assert_eq!(merges(&lab), (0, 1, 0), "{order:?}");
        }
    }
    let mut lab: Lab = filled(ProgramOrder::Any, 3, &Config { partial_merge: false, ..one_log() });
    assert_eq!(cost_of(&mut lab, [8, 9, 0]), (3, PAGES, 2));
    assert_eq!(merges(&lab), (0, 0, 1));
}

#[test]
fn any_other_log_block_costs_every_valid_page_and_two_erases() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 3, &Config::default());
        // A repeated page, or one out of order, and then the write that finds the log block full.
        assert_eq!(cost_of(&mut lab, [8, 9, 10, 11, 12, 13, 14, 14, 8]), (PAGES + 1, PAGES, 2), "{order:?}");
        assert_eq!(merges(&lab), (0, 0, 1), "{order:?}");
        // Never-written pages are not copied.
        let mut lab: Lab = erased(order, 12, 24, &one_log());
        let expected = (5 + 1 + 1 + 1, 5, 2);
        assert_eq!(cost_of(&mut lab, [0, 1, 2, 3, 4, 3, 8, 8]), expected, "{order:?}");
    }
}

/// The logical blocks that have a log block.
fn logged(lab: &mut Lab) -> Vec<u64> {
    let logs = lab.log_blocks();
    logs.into_iter().map(|block| logical_block_in(lab, block).expect("a log block holds pages")).collect()
}

#[test]
fn the_option_names_the_victim() {
    let copies = |victim, pages: &[u64]| {
        let config = Config { log_blocks: 2, victim, ..Config::default() };
        let mut lab: Lab = filled(ProgramOrder::Ascending, 4, &config);
        let (_, copies, _) = cost_of(&mut lab, pages.iter().copied().chain([16]));
        assert_eq!((merges(&lab), lab.log_blocks().len()), ((0, 1, 0), 2), "{victim:?}");
        copies
    };
    // The first logical block has the older log block, but its last write is the latest. A prefix of k leaves 8
    // - k copies.
    let second_is_fuller = [0, 8, 9, 10, 11, 1];
    let first_is_fuller = [0, 8, 9, 1, 2, 3];
    for (victim, expected) in [(Victim::Lru, (4, 6)), (Victim::Fifo, (6, 4)), (Victim::Fullest, (4, 4))] {
        assert_eq!((copies(victim, &second_is_fuller), copies(victim, &first_is_fuller)), expected, "{victim:?}");
    }
}

#[test]
fn a_random_victim_is_the_least_recently_written_one_in_half_of_the_cases() {
    let config = Config { log_blocks: 2, victim: Victim::Random, ..Config::default() };
    let mut lab: Lab = filled(ProgramOrder::Ascending, 4, &config);
    let (mut oldest_first, mut victims) = (0, 0);
    // By logical block: the round that wrote it last.
    let mut written = [0; 4];
    for round in 0..2000 {
        let before = logged(&mut lab);
        write(&mut lab, [round % 4 * 8]);
        let after = logged(&mut lab);
        let oldest = before.iter().min_by_key(|&&group| written[group as usize]);
        written[round as usize % 4] = round;
        if before.len() == 2 && before.iter().any(|group| !after.contains(group)) {
            victims += 1;
            oldest_first += u32::from(oldest.is_some_and(|oldest| !after.contains(oldest)));
        }
    }
    // Six standard deviations of a fair coin.
    let (share, deviation) = (f64::from(oldest_first) / f64::from(victims), 0.5 / f64::from(victims).sqrt());
    assert!(victims > 500 && (share - 0.5).abs() < 6.0 * deviation, "{oldest_first} of {victims}");
}

#[test]
fn random_victims_follow_the_seed() {
    let groups = |seed| {
        let mut config = Config { log_blocks: 4, victim: Victim::Random, ..Config::default() };
        Bast::set_seed(&mut config, seed);
        let mut lab: Lab = filled(ProgramOrder::Ascending, 8, &config);
        write(&mut lab, (0..200).map(|round| round % 8 * 8));
        logged(&mut lab)
    };
    assert_eq!(groups(1), groups(1));
    assert!((2..10).any(|seed| groups(seed) != groups(1)));
}

#[test]
fn a_first_write_may_go_to_the_log() {
    for (first_write, switches) in [(FirstWrite::Data, 0), (FirstWrite::Log, 1)] {
        let config = Config { first_write, ..Config::default() };
        let mut lab: Lab = erased(ProgramOrder::Ascending, 14, 24, &config);
        // There is no data block for a switch to erase.
        assert_eq!(cost_of(&mut lab, (0..8).chain([3])), (PAGES + 1, 0, 0), "{first_write:?}");
        assert_eq!(merges(&lab), (switches, 0, 0), "{first_write:?}");
    }
}

#[test]
fn erases_wait_until_the_block_is_taken_where_the_option_says_so() {
    let config = Config { erase_when: EraseWhen::OnAlloc, ..one_log() };
    let mut lab: Lab = filled(ProgramOrder::Ascending, 3, &config);
    let used = cost_of(&mut lab, (8..16).chain([9]));
    assert_eq!((used, merges(&lab)), ((PAGES + 1, 0, 0), (1, 0, 0)));
    // 15 blocks, 3 of them for data; after the first pass through the rest, each newly taken block is erased.
    let rounds = 40;
    let (_, copies, erases) = cost_of(&mut lab, (0..rounds).flat_map(|_| (8..16).rev()));
    let mut eager: Lab = filled(ProgramOrder::Ascending, 3, &one_log());
    let (_, eager_copies, eager_erases) = cost_of(&mut eager, (0..rounds).flat_map(|_| (8..16).rev()));
    assert_eq!(copies, eager_copies + PAGES, "the page before was out of order");
    assert!(erases < eager_erases && erases + 15 > eager_erases, "{erases} against {eager_erases}");
}

#[test]
fn a_log_without_blocks_is_refused() {
    let geometry = Geometry::single_die(20, PAGES as u32, 512).unwrap();
    let config = Config { log_blocks: 0, ..Config::default() };
    let error = Bast::max_logical_pages(&geometry, &Rules::default(), &config).unwrap_err().to_string();
    assert!(error.starts_with("ftl.bast.log_blocks = 0 cannot work"), "{error}");
}

#[test]
fn every_first_write_goes_to_the_log_where_the_option_says_so() {
    for order in ORDERS {
        let config = Config { first_write: FirstWrite::Log, ..one_log() };
        let mut lab: Lab = erased(order, 14, 24, &config);
        // Three pages in order, and no data block: the switch costs nothing.
        assert_eq!(cost_of(&mut lab, [0, 1, 2, 8]), (4, 0, 0), "{order:?}");
        assert_eq!(merges(&lab), (1, 0, 0), "{order:?}");
        // In the data block, page 5's place is erased, and stays so.
        assert_eq!(cost_of(&mut lab, [5]), (1, 0, 0), "{order:?}");
        assert_eq!(merges(&lab), (2, 0, 0), "{order:?}");
        // Its log block is not in order: four pages are gathered, with padding for two on a chip without gaps.
        let padding = if order == ProgramOrder::AscendingDense { 2 } else { 0 };
        assert_eq!(cost_of(&mut lab, [9]), (1 + padding, 4, 2), "{order:?}");
        assert_eq!(merges(&lab), (2, 0, 1), "{order:?}");
    }
}

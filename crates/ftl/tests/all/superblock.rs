//! Costs by hand, for blocks of b = 8 pages: a compaction copies the v valid pages of the emptiest block and erases it;
//! a block without valid pages costs its erase alone.

use crate::lab::{blocks_in_use, cost_of, erased, filled, logical_pages_in, write, Lab, ORDERS, PAGES};
use nandlab_ftl::superblock::{Config, SuperBlock};
use nandlab_ftl::Ftl;
use nandlab_nand::{Geometry, ProgramOrder, Rules};

fn config(superblock_blocks: u32, update_blocks: u32) -> Config {
    Config { superblock_blocks, update_blocks, ..Config::default() }
}

#[test]
fn a_compaction_copies_the_valid_pages_of_the_emptiest_block() {
    for order in ORDERS {
        for overwritten in 1..PAGES {
            // A superblock of 4 logical blocks, full. Its update block takes `overwritten` pages of the third logical
            // block, the last of them again until it is full: so many are valid there, and the others in the old block.
            let mut lab: Lab = filled(order, 4, &config(4, 1));
            let again = std::iter::repeat_n(15 + overwritten, (PAGES - overwritten) as usize);
            assert_eq!(cost_of(&mut lab, (16..16 + overwritten).chain(again)), (PAGES, 0, 0), "{order:?}");
            let fewest = overwritten.min(PAGES - overwritten);
            assert_eq!(cost_of(&mut lab, [0]), (1, fewest, 1), "{order:?} {overwritten}");
            assert_eq!(lab.events().gc_runs, 1, "{order:?}");
        }
    }
}

#[test]
fn the_update_block_itself_can_be_the_emptiest_one() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 4, &config(4, 1));
        // Eight writes of one page: one of them is valid, and seven pages of its first block.
        assert_eq!(cost_of(&mut lab, [5; 8]), (PAGES, 0, 0), "{order:?}");
        assert_eq!(cost_of(&mut lab, [5]), (1, 1, 1), "{order:?}");
    }
}

#[test]
fn a_block_without_valid_pages_costs_its_erase() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 4, &config(4, 1));
        assert_eq!(cost_of(&mut lab, 8..16), (PAGES, 0, 0), "{order:?}");
        assert_eq!(cost_of(&mut lab, 8..16), (PAGES, 0, 1), "{order:?}");
        assert_eq!(lab.events().empty_gc_runs, 1, "{order:?}");
    }
}

#[test]
fn a_superblock_takes_no_more_than_its_blocks_and_the_update_blocks() {
    for update_blocks in [1, 2, 3] {
        let mut lab: Lab = filled(ProgramOrder::Ascending, 8, &config(4, update_blocks));
        let most = 4 + update_blocks as usize;
        // Every page of the first superblock in turn, so that its blocks stay evenly valid.
        for round in 0..40 {
            write(&mut lab, [(round * 11) % 32]);
            let of_first = |lab: &mut Lab, block| logical_pages_in(lab, block).first().is_some_and(|&page| page < 32);
            let blocks = blocks_in_use(&lab);
            let count = blocks.into_iter().filter(|&block| of_first(&mut lab, block)).count();
            assert!(count <= most, "{count} blocks with K = {update_blocks}");
        }
    }
}

#[test]
fn pages_of_a_superblock_are_never_merged_into_place() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 4, &config(4, 2));
        let events = lab.events();
        write(&mut lab, (0..512).map(|at| at * 13 % 32));
        assert_eq!(lab.events().full_merges + lab.events().partial_merges + lab.events().switch_merges, 0, "{order:?}");
        assert!(lab.events().gc_runs > events.gc_runs, "{order:?}");
    }
}

#[test]
fn hot_pages_gather_and_cost_little() {
    // Two of 32 pages are written all the time. After the first compactions each victim is the update block before,
    // with the two pages. A log-block FTL would copy a whole logical block for each 8 writes.
    let mut lab: Lab = filled(ProgramOrder::Ascending, 4, &config(4, 1));
    write(&mut lab, (0..64).map(|at| at % 2));
    let (programs, copies, erases) = cost_of(&mut lab, (0..60).map(|at| at % 2));
    assert_eq!(programs, 60);
    // Each victim costs 2 copies, and the next block has 6 pages for the host.
    assert_eq!((copies, erases), (20, 10));
}

#[test]
fn without_free_blocks_another_superblock_gives_its_own_back() {
    for order in ORDERS {
        // 4 superblocks of 2 logical blocks, and one block more than data, reserve and notes need: only one superblock
        // can have an update block at a time.
        let mut lab: Lab = erased(order, 8 + 1 + 3 + 1, 64, &config(2, 1));
        write(&mut lab, 0..64);
        for first in [0, 16, 32, 48] {
            // Half a logical block written again, then on to the next superblock.
            let (programs, copies, erases) = cost_of(&mut lab, first..first + 4);
            assert_eq!(programs, 4, "{order:?}");
            // Three blocks with 16 valid pages: the half-empty one moves to the update block.
            assert_eq!((copies, erases), if first == 0 { (0, 0) } else { (4, 1) }, "{order:?} {first}");
        }
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let geometry = Geometry::single_die(20, PAGES as u32, 512).unwrap();
    for (config, expected) in [
        (config(0, 1), "ftl.superblock.superblock_blocks = 0: it is at least 1"),
        (config(1, 0), "ftl.superblock.update_blocks = 0: it is at least 1"),
    ] {
        let error = SuperBlock::max_logical_pages(&geometry, &Rules::default(), &config).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

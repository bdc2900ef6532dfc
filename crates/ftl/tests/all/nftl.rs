//! Costs by hand, for a chain of n blocks with b = 8 valid pages: a fold out of place copies all but the
//! pending page and erases n blocks; a fold in place copies the pages missing in the last block and erases n -
//! 1.

use crate::lab::{blocks_in_use, cost_of, erased, filled, logical_block_in, merges, write, Lab, ORDERS, PAGES};
use nandlab_ftl::nftl::Config;
use nandlab_nand::ProgramOrder;

/// Blocks in the chain of each logical block.
fn chains(lab: &mut Lab) -> Vec<usize> {
    let groups: Vec<_> = blocks_in_use(lab).into_iter().map(|block| logical_block_in(lab, block)).collect();
    let logical_blocks = u64::from(lab.logical_pages()) / PAGES;
    (0..logical_blocks).map(|group| groups.iter().filter(|&&of| of == Some(group)).count()).collect()
}

/// Three logical blocks, written once, on a device with room for one more block.
fn short_of_blocks(order: ProgramOrder) -> Lab {
    let mut lab = erased(order, 3 + 1 + 1 + 2, 24, &Config::default());
    write(&mut lab, 0..24);
    lab
}

#[test]
fn a_chain_grows_while_there_are_blocks() {
    let mut lab: Lab = filled(ProgramOrder::Any, 3, &Config::default());
    assert_eq!(cost_of(&mut lab, [9; 5]), (5, 0, 0));
    assert_eq!(chains(&mut lab)[1], 6);
    assert_eq!(cost_of(&mut lab, [10; 5]), (5, 0, 0), "the places of the other pages are free");
    assert_eq!(chains(&mut lab)[1], 6);
}

#[test]
fn a_fold_out_of_place_copies_all_but_the_pending_page_and_erases_the_chain() {
    for order in ORDERS {
        for length in 1..5 {
            let config = Config { max_chain: length as u32, ..Config::default() };
            let mut lab: Lab = filled(order, 3, &config);
            assert_eq!(cost_of(&mut lab, (1..length).map(|_| 8)), (length - 1, 0, 0), "{order:?}");
            assert_eq!(cost_of(&mut lab, [8]), (1, PAGES - 1, length), "{order:?}, {length} blocks");
            assert_eq!((merges(&lab), chains(&mut lab)[1]), ((0, 0, 1), 1), "{order:?}");
        }
    }
}

#[test]
fn a_fold_in_place_copies_what_the_last_block_lacks_and_erases_the_others() {
    for order in ORDERS {
        for prefix in 1..=PAGES {
            let mut lab = short_of_blocks(order);
            assert_eq!(cost_of(&mut lab, 8..8 + prefix), (prefix, 0, 0), "{order:?}");
            assert_eq!(cost_of(&mut lab, [16]), (1, PAGES - prefix, 1), "{order:?}, {prefix} pages");
            assert_eq!((merges(&lab), lab.events().gc_runs), ((0, 1, 0), 1), "{order:?}");
        }
    }
}

#[test]
fn the_order_of_the_chip_decides_whether_the_last_block_takes_what_it_lacks() {
    for (order, copies, erases, expected) in
        [(ProgramOrder::Any, PAGES - 1, 1, (0, 1, 0)), (ProgramOrder::Ascending, PAGES, 2, (0, 0, 1))]
    {
        let mut lab = short_of_blocks(order);
        assert_eq!(cost_of(&mut lab, [11, 16]), (2, copies, erases), "{order:?}");
        assert_eq!(merges(&lab), expected, "{order:?}");
    }
}

#[test]
fn the_longest_chain_is_folded_the_first_of_equal_ones() {
    // 12 blocks: 5 of data, 1 for notes, 2 kept free; 4 more for chains.
    let mut lab: Lab = erased(ProgramOrder::Any, 12, 40, &Config::default());
    write(&mut lab, 0..40);
    assert_eq!(cost_of(&mut lab, [0, 16, 16, 24]), (4, 0, 0));
    assert_eq!(chains(&mut lab), [2, 1, 3, 2, 1]);
    // The chain of three, in place: its last block holds one page.
    assert_eq!(cost_of(&mut lab, [8]), (1, PAGES - 1, 2));
    assert_eq!(chains(&mut lab), [2, 2, 1, 2, 1]);
    assert_eq!(cost_of(&mut lab, [32, 32]), (2, PAGES - 1, 1), "one of the two blocks was free");
    assert_eq!(chains(&mut lab), [1, 2, 1, 2, 3]);
}

#[test]
fn pages_that_were_never_written_are_not_copied() {
    let mut lab: Lab = erased(ProgramOrder::Any, 12, 24, &Config { max_chain: 1, ..Config::default() });
    assert_eq!(cost_of(&mut lab, [0, 3, 5, 3]), (4, 2, 1));
}

#[test]
fn a_chip_without_gaps_pads_up_to_the_place_of_a_page() {
    let mut lab: Lab = filled(ProgramOrder::AscendingDense, 3, &Config::default());
    assert_eq!(cost_of(&mut lab, [13]), (6, 0, 0), "five pages of nothing below the place");
    assert_eq!(cost_of(&mut lab, [15]), (2, 0, 0));
    assert_eq!(cost_of(&mut lab, [12]), (5, 0, 0), "its turn has passed: one block more");
    assert_eq!(chains(&mut lab)[1], 3);
}

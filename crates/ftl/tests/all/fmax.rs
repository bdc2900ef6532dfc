//! Costs by hand, for a logical block of b = 8 valid pages: a switch erases the data block; a merge with the
//! pending page copies the other b - 1, a merge without it all b, and both erase the data block and the mirror.

use crate::lab::{cost_of, erased, filled, merges, write, Lab, ORDERS, PAGES};
use nandlab_ftl::fmax::Config;
use nandlab_nand::ProgramOrder;

#[test]
fn a_complete_simple_mirror_switches_for_one_erase() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 3, &Config::default());
        assert_eq!(cost_of(&mut lab, 8..16), (PAGES, 0, 0), "{order:?}: the mirror is complete and waits");
        assert_eq!(cost_of(&mut lab, [12]), (1, 0, 1), "{order:?}");
        assert_eq!(merges(&lab), (1, 0, 0), "{order:?}");
    }
    let mut lab: Lab = filled(ProgramOrder::Any, 3, &Config::default());
    assert_eq!(cost_of(&mut lab, [11, 15, 8, 9, 14, 10, 13, 12, 8]), (PAGES + 1, 0, 1), "any order, each in its place");
    let mut lab: Lab = filled(ProgramOrder::Any, 3, &Config { switch: false, ..Config::default() });
    assert_eq!(cost_of(&mut lab, (8..16).chain([12])), (PAGES + 1, PAGES - 1, 2));
    assert_eq!(merges(&lab), (0, 0, 1));
}

#[test]
fn a_compound_mirror_is_merged_by_the_write_that_finds_it_full() {
    for (merge_includes_pending, copies) in [(true, PAGES - 1), (false, PAGES)] {
        let config = Config { merge_includes_pending, ..Config::default() };
        for order in ORDERS {
            let mut lab: Lab = filled(order, 3, &config);
            let pages = || [8, 8, 9, 10, 8, 15, 9, 8];
            assert_eq!(cost_of(&mut lab, pages()), (PAGES, 0, 0), "{order:?}");
            assert_eq!(cost_of(&mut lab, [8]), (1, copies, 2), "{order:?}");
            assert_eq!(merges(&lab), (0, 0, 1), "{order:?}");
            // A pending page outside the merge becomes the first page of a new mirror.
            let left = if merge_includes_pending { PAGES } else { PAGES - 1 };
            let next = cost_of(&mut lab, std::iter::repeat_n(8, left as usize));
            assert_eq!(next, (left, 0, 0), "{order:?}");
            assert_eq!(cost_of(&mut lab, [9]), (1, copies, 2), "{order:?}");
        }
    }
}

#[test]
fn pages_that_were_never_written_are_not_copied() {
    let mut lab: Lab = erased(ProgramOrder::Ascending, 12, 24, &Config::default());
    write(&mut lab, 0..5);
    assert_eq!(cost_of(&mut lab, [0; PAGES as usize + 1]), (PAGES + 1, 4, 2));
}

#[test]
fn a_compound_mirror_in_strict_order_takes_pages_behind_its_last_one_only() {
    // The first page goes to place 5.
    for (order, strict_order, room) in
        [(ProgramOrder::Any, false, PAGES), (ProgramOrder::Any, true, 3), (ProgramOrder::Ascending, false, 3)]
    {
        let config = Config { strict_order, ..Config::default() };
        let mut lab: Lab = filled(order, 3, &config);
        let full = cost_of(&mut lab, std::iter::repeat_n(13, room as usize));
        assert_eq!(full, (room, 0, 0), "{order:?}, strict_order = {strict_order}");
        assert_eq!(cost_of(&mut lab, [13]), (1, PAGES - 1, 2), "{order:?}, strict_order = {strict_order}");
    }
}

#[test]
fn where_blocks_run_short_the_cheapest_mirror_goes_first() {
    // 12 blocks: 5 of data, 1 for notes, 2 kept free; 4 mirrors.
    let mut lab: Lab = erased(ProgramOrder::Any, 12, 40, &Config::default());
    write(&mut lab, 0..40);
    assert_eq!(cost_of(&mut lab, (0..8).map(|at| 16 + at).chain([0, 8, 24])), (PAGES + 3, 0, 0));
    assert_eq!(cost_of(&mut lab, [32]), (1, 0, 1), "the complete mirror switches");
    assert_eq!(cost_of(&mut lab, [16]), (1, PAGES, 2), "the first of those that are gathered");
    assert_eq!((merges(&lab), lab.events().gc_runs), ((1, 0, 1), 2));
}

//! Costs by hand, for a block of b = 8 pages with a data area of d: s = b - d overwrites fill the spare area, the next
//! one merges with d - 1 copies and 1 erase, and leaves the spare area empty: a cycle of s + 1 overwrites.

use crate::lab::{cost, cost_of, erased, flash, merges, mount, newest, rules, submit, write, Lab, ORDERS, PAGES};
use nandlab_block::Op;
use nandlab_ftl::mtbs::{Config, Mtbs};
use nandlab_ftl::Ftl;
use nandlab_nand::{Geometry, Lpn, ProgramOrder, Rules};

#[test]
fn a_merge_comes_with_every_overwrite_that_finds_the_spare_area_full() {
    for (data_pages, area) in [(0, PAGES / 2), (3, 3), (7, 7), (1, 1)] {
        for order in ORDERS {
            let config = Config { data_pages, ..Config::default() };
            let mut lab: Lab = erased(order, 16, 3 * area, &config);
            write(&mut lab, 0..3 * area);
            let cycle = PAGES - area + 1;
            for rounds in 1..4 {
                // Pages in the second logical block in some order, with repetitions.
                let pages = || (0..cycle - 1).map(|at| area + at * at % area);
                assert_eq!(cost_of(&mut lab, pages()), (cycle - 1, 0, 0), "{order:?}, {data_pages}");
                assert_eq!(cost_of(&mut lab, [area]), (1, area - 1, 1), "{order:?}, {data_pages}");
                assert_eq!(merges(&lab), (0, 0, rounds), "{order:?}, {data_pages}");
            }
        }
    }
}

#[test]
fn pages_that_were_never_written_are_not_copied_and_find_their_places() {
    let mut lab: Lab = erased(ProgramOrder::Any, 16, 12, &Config::default());
    assert_eq!(cost_of(&mut lab, [1, 1, 1, 1, 1, 1]), (6, 0, 1), "the only page is the one that is written");
    assert_eq!(cost_of(&mut lab, [0, 2, 3, 0, 0, 0, 0]), (7, 0, 0), "3 places and the spare area");
    // In ascending order the data area closes with the spare area's first page.
    let mut lab: Lab = erased(ProgramOrder::Ascending, 16, 12, &Config::default());
    assert_eq!(cost_of(&mut lab, [1, 1, 0, 2, 3]), (5, 0, 0), "the spare area takes what the data area does not");
    assert_eq!(cost_of(&mut lab, [0]), (1, 3, 1));
}

#[test]
fn a_long_request_is_cut_between_logical_blocks_only() {
    // Logical blocks of 512 pages, 512 pages of spare area each.
    let geometry = Geometry::single_die(8, 1024, 512).unwrap();
    let mut lab = mount(flash(geometry, rules(ProgramOrder::Ascending)), 1024, &Config::default());
    submit(&mut lab, Op::Write, 0, 1024);
    submit(&mut lab, Op::Write, 0, 412);
    submit(&mut lab, Op::Write, 512, 412);
    // 100 pages are left in each spare area. Each logical block is merged once with all its pages of the
    // request.
    let both = cost(&mut lab, |lab| submit(lab, Op::Write, 100, 900));
    assert_eq!((both.page_programs, both.copies, both.erases()), (900, 100 + 24, 2.0));
    assert_eq!(merges(&lab), (0, 0, 2));
    // A request that fits one run.
    submit(&mut lab, Op::Write, 0, 512);
    let one = cost(&mut lab, |lab| submit(lab, Op::Write, 0, 300));
    assert_eq!((one.page_programs, one.copies), (300, 212));
}

#[test]
fn the_pages_of_a_request_are_placed_together_or_one_by_one() {
    let geometry = Geometry::single_die(16, PAGES as u32, 512).unwrap();
    // Two pages are left in the spare area, and three come: the third one by itself leaves three to copy.
    for (whole_requests, copies) in [(true, 1), (false, 3)] {
        let config = Config { whole_requests, ..Config::default() };
        let mut lab = mount(flash(geometry, rules(ProgramOrder::Ascending)), 12, &config);
        submit(&mut lab, Op::Write, 0, 12);
        submit(&mut lab, Op::Write, 4, 2);
        let before = lab.ctx().matrix().clone();
        submit(&mut lab, Op::Write, 5, 3);
        let cost = lab.ctx().matrix().since(&before).total();
        assert_eq!((cost.page_programs, cost.copies, cost.erases() as u64), (3, copies, 1), "{whole_requests}");
        lab.check();
    }
}

#[test]
fn a_request_over_several_logical_blocks_is_cut_at_their_borders() {
    let geometry = Geometry::single_die(16, PAGES as u32, 512).unwrap();
    let mut lab = mount(flash(geometry, rules(ProgramOrder::Ascending)), 12, &Config::default());
    submit(&mut lab, Op::Write, 0, 12);
    let before = lab.ctx().matrix().clone();
    // Each time 3, 4 and 1 pages: the first two logical blocks are merged the second time, the last one is not.
    (0..2).for_each(|_| submit(&mut lab, Op::Write, 1, 8));
    let cost = lab.ctx().matrix().since(&before).total();
    assert_eq!((cost.page_programs, cost.copies, cost.erases() as u64), (16, 1, 2));
    lab.check();
}

#[test]
fn the_data_area_takes_what_it_can_before_the_spare_area_closes_it() {
    let geometry = Geometry::single_die(16, PAGES as u32, 512).unwrap();
    // Two of the four pages are written, then all four at once: two overwrites and two first writes. Then four
    // pages twice: they do not fit into the remaining two pages, and then fit into the spare area together.
    for order in ORDERS {
        let mut lab = mount(flash(geometry, rules(order)), 12, &Config::default());
        submit(&mut lab, Op::Write, 4, 2);
        for (merges, erases) in [(0, 0), (1, 1), (1, 1), (2, 2)] {
            submit(&mut lab, Op::Write, 4, 4);
            let total = lab.ctx().matrix().total();
            assert_eq!(
                (lab.events().full_merges, total.copies, total.erases() as u64),
                (merges, 0, erases),
                "{order:?}"
            );
        }
        let places: Vec<u32> = (4..8).map(|at| geometry.page_in_block(newest(&mut lab, Lpn(at)))).collect();
        assert_eq!(places, [0, 1, 2, 3], "{order:?}");
        lab.check();
    }
}

#[test]
fn a_gap_in_the_data_area_is_padded_where_the_chip_forbids_it() {
    for (order, programs) in [(ProgramOrder::Any, 1), (ProgramOrder::Ascending, 1), (ProgramOrder::AscendingDense, 3)] {
        let mut lab: Lab = erased(order, 16, 12, &Config::default());
        assert_eq!(cost_of(&mut lab, [6]), (programs, 0, 0), "{order:?}");
    }
}

#[test]
fn a_block_without_a_spare_area_is_refused() {
    let geometry = Geometry::single_die(20, PAGES as u32, 512).unwrap();
    for data_pages in [8, 9, u32::MAX] {
        let config = Config { data_pages, ..Config::default() };
        let error = Mtbs::max_logical_pages(&geometry, &Rules::default(), &config).unwrap_err().to_string();
        assert!(error.starts_with(&format!("ftl.mtbs.data_pages = {data_pages} cannot work")), "{error}");
        assert!(error.contains("expected 1 to 7"), "{error}");
    }
}

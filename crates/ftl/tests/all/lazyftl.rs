//! Costs by hand: a host page costs one program until its block is converted; a conversion costs a program for each map
//! page that the block's pages have uncommitted entries in, and no copy.

use crate::lab::{cost, erased, submit, write, Lab};
use nandlab_block::Op;
use nandlab_ftl::lazyftl::{Config, LazyFtl};
use nandlab_ftl::Ftl;
use nandlab_nand::{Cause, Geometry, ProgramOrder, Rules};

/// Entries in a map page of 512 bytes.
const ENTRIES: u64 = 128;

/// 8 map pages of data on blocks with 8 pages, all written once, and so many free blocks that none is collected.
fn lab(config: &Config) -> Lab {
    let mut lab: Lab = erased(ProgramOrder::Ascending, 400, 8 * ENTRIES, config);
    write(&mut lab, 0..8 * ENTRIES);
    lab
}

fn small(update_blocks: u32) -> Config {
    Config { update_blocks, cold_blocks: 1, cached_map_pages: 1, ..Config::default() }
}

/// Map pages written for the host, host pages written, and pages copied, for writes of these pages.
fn cost_of(lab: &mut Lab, pages: impl IntoIterator<Item = u64>) -> (u64, u64, u64) {
    let before = lab.ctx().matrix().clone();
    let all = cost(lab, |lab| write(lab, pages));
    let mut of = |wanted: Cause| lab.ctx().matrix().since(&before).sum(|_, cause| cause == wanted);
    (of(Cause::Map).page_programs, of(Cause::Host).page_programs, all.copies)
}

#[test]
fn a_conversion_writes_each_map_page_once_and_copies_nothing() {
    for map_pages in [1, 2, 4] {
        let mut lab = lab(&small(1));
        // A block of pages of the last map page, so that the next conversion is that of this block.
        cost_of(&mut lab, 7 * ENTRIES..7 * ENTRIES + 8);
        // The first page of the next block converts it: one map page.
        let pages = (0..8).map(|at| at % map_pages * ENTRIES + at);
        assert_eq!(cost_of(&mut lab, pages), (1, 8, 0), "{map_pages}");
        assert_eq!(cost_of(&mut lab, [6 * ENTRIES]), (map_pages, 1, 0), "{map_pages}");
    }
}

#[test]
fn without_batches_each_page_of_a_converted_block_costs_a_map_page() {
    let mut lab = lab(&Config { batch_conversion: false, ..small(1) });
    cost_of(&mut lab, 7 * ENTRIES..7 * ENTRIES + 8);
    assert_eq!(cost_of(&mut lab, (0..8).map(|at| at % 2 * ENTRIES + at)), (8, 8, 0));
    assert_eq!(cost_of(&mut lab, [6 * ENTRIES]), (8, 1, 0));
}

#[test]
fn a_map_page_takes_what_all_waiting_blocks_know() {
    // Two blocks wait, with pages of the same two map pages; the conversion of the first commits both.
    let mut lab = lab(&small(2));
    cost_of(&mut lab, 7 * ENTRIES..7 * ENTRIES + 16);
    // Converted here: two blocks with pages of one map page, committed with the first one.
    assert_eq!(cost_of(&mut lab, (0..16).map(|at| at % 2 * ENTRIES + at)), (1, 16, 0));
    assert_eq!(cost_of(&mut lab, 6 * ENTRIES..6 * ENTRIES + 8), (2, 8, 0));
    assert_eq!(cost_of(&mut lab, 6 * ENTRIES + 8..6 * ENTRIES + 16), (0, 8, 0));
}

#[test]
fn pages_written_again_while_they_wait_cost_no_map_page() {
    // Eight pages again and again: each block that is converted has no entry left in the update map.
    let mut lab = lab(&small(2));
    cost_of(&mut lab, 0..24);
    assert_eq!(cost_of(&mut lab, (0..80).map(|at| at % 8)).0, 1);
}

#[test]
fn a_write_reads_nothing_and_its_older_copy_counts_until_the_conversion() {
    let mut lab = lab(&small(2));
    let valid = |lab: &Lab| lab.blocks().iter().map(|block| u64::from(block.valid)).sum::<u64>();
    let pages = || 3 * ENTRIES..3 * ENTRIES + 8;
    // The same eight pages: all older copies in the update area are known, and the first ones count.
    write(&mut lab, pages().chain(pages()));
    let counted = valid(&lab);
    let writes = cost(&mut lab, |lab| write(lab, pages().take(7)));
    assert_eq!((writes.reads(), valid(&lab)), (0, counted), "known older copies are invalid at once");
    // Other pages: their older copies count.
    let mut lab = self::lab(&small(2));
    write(&mut lab, pages());
    let counted = valid(&lab);
    let writes = cost(&mut lab, |lab| write(lab, 8..16));
    assert_eq!((writes.page_programs, writes.copies, writes.reads()), (8, 0, 0), "the block converted was committed");
    assert_eq!(valid(&lab), counted + 8);
    // Two blocks later, the first one is converted and the second one, with the third in the same map page: 24 older
    // copies are found, and those of the last block count.
    write(&mut lab, (16..24).chain(4 * ENTRIES..4 * ENTRIES + 8));
    assert_eq!(valid(&lab), counted + 8 + 16 - 24);
}

#[test]
fn a_look_up_reads_a_map_page_unless_it_is_in_memory() {
    let mut lab = lab(&small(1));
    // Both are in data blocks: all blocks but the youngest one are converted.
    let reads = |lab: &mut Lab, page: u64| cost(lab, |lab| submit(lab, Op::Read, page, 1)).reads();
    assert_eq!(reads(&mut lab, 0), 2, "the map page and the page");
    assert_eq!(reads(&mut lab, 1), 1, "the same map page");
    assert_eq!(reads(&mut lab, ENTRIES), 2, "another one, in its place");
    assert_eq!(reads(&mut lab, 0), 2);
    // The last block is in the update area.
    assert_eq!(reads(&mut lab, 8 * ENTRIES - 1), 1);
}

#[test]
fn blocks_whose_pages_were_all_written_again_cost_no_copy() {
    // 32 blocks of data on 60: every page is written twice more in the same order, so the victims have no newest copy.
    let mut lab: Lab = erased(ProgramOrder::Ascending, 60, 2 * ENTRIES, &Config::default());
    write(&mut lab, 0..2 * ENTRIES);
    let cost = cost_of(&mut lab, (0..4 * ENTRIES).map(|at| at % (2 * ENTRIES)));
    assert_eq!((cost.1, cost.2), (4 * ENTRIES, 0));
}

#[test]
fn options_out_of_range_are_refused() {
    let geometry = Geometry::single_die(40, 8, 512).unwrap();
    let usual = Config::default;
    for (config, expected) in [
        (Config { update_blocks: 0, ..usual() }, "ftl.lazyftl.update_blocks = 0: it is at least 1"),
        (Config { cold_blocks: 0, ..usual() }, "ftl.lazyftl.cold_blocks = 0: it is at least 1"),
        (Config { cached_map_pages: 0, ..usual() }, "ftl.lazyftl.cached_map_pages = 0: it is at least 1"),
        (Config { map_spare_percent: 1001, ..usual() }, "ftl.lazyftl.map_spare_percent = 1001"),
    ] {
        let error = LazyFtl::max_logical_pages(&geometry, &Rules::default(), &config).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

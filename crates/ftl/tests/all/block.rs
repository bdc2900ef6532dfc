use crate::lab::{
    blocks_in_use, cost, device, faulty_flash, filled, flash, free_blocks, is_mapped, logical_block_in, merges, mount,
    mount_again, mounted, restored, rules, submit, write, Flash, Lab, ORDERS, PAGES,
};
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_ftl::block::{BlockMap, Config};
use nandlab_ftl::{Ftl, FtlError};
use nandlab_nand::faulty::{BitErrors, Config as Faults};
use nandlab_nand::power_cut::{CutPlan, Form};
use nandlab_nand::random::Random;
use nandlab_nand::{BlockId, Cause, Geometry, Nand, Origin, ProgramOrder, Rules};

#[test]
fn rewriting_in_order_switches_and_copies_nothing() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 10, &Config::default());
        let cost = cost(&mut lab, |lab| (0..3).for_each(|_| write(lab, 0..10 * PAGES)));
        assert_eq!((cost.programs(), cost.copies), (30 * PAGES, 0));
        let unmerged = lab.log_blocks().len() as u64;
        assert_eq!(merges(&lab), (30 - unmerged, 0, 0), "{order:?}");
    }
}

#[test]
fn a_prefix_is_completed() {
    for order in ORDERS {
        let mut lab: Lab = filled(order, 3, &Config::default());
        let cost = cost(&mut lab, |lab| write(lab, [8, 9, 10, 8]));
        assert_eq!((cost.page_programs, cost.copies, cost.erases() as u64), (4, PAGES - 3, 1), "{order:?}");
        assert_eq!(merges(&lab), (0, 1, 0), "{order:?}");
    }
}

#[test]
fn the_order_of_the_chip_decides_when_a_block_is_gathered() {
    // Any order: both pages find their place. Ascending: the second comes too late, and is gathered with the
    // rest. Dense: the pages below the first are copied ahead of it, which completes the block, and again for
    // the second.
    for (order, copies, erases, expected) in [
        (ProgramOrder::Any, 0, 0, (0, 0, 0)),
        (ProgramOrder::Ascending, PAGES - 1, 2, (0, 0, 1)),
        (ProgramOrder::AscendingDense, 5 + 2 + 3, 1, (0, 1, 0)),
    ] {
        let mut lab: Lab = filled(order, 3, &Config::default());
        let cost = cost(&mut lab, |lab| write(lab, [5, 3]));
        assert_eq!((cost.page_programs, cost.copies, cost.erases() as u64), (2, copies, erases), "{order:?}");
        assert_eq!(merges(&lab), expected, "{order:?}");
    }
}

#[test]
fn gaps_are_padded_where_the_chip_forbids_them() {
    for (order, padding) in [(ProgramOrder::Ascending, 0), (ProgramOrder::AscendingDense, 3)] {
        let geometry = Geometry::single_die(10, PAGES as u32, 512).unwrap();
        let mut lab = mount(flash(geometry, rules(order)), 24, &Config::default());
        let cost = cost(&mut lab, |lab| write(lab, [3]));
        assert_eq!(cost.page_programs, 1 + padding, "{order:?}");
        let by_ftl = lab.ctx().matrix().cell(Origin::FTL, Cause::PartialMerge).page_programs;
        assert_eq!(by_ftl, padding);
        // A padding page is no copy: after a mount the pages are still unmapped.
        let mut lab = mount_again(lab, 24, &Config::default());
        lab.check();
        assert!((0..3).all(|page| !is_mapped(&mut lab, page)));
    }
}

#[test]
fn the_cheapest_logical_block_is_merged_when_the_pool_is_full() {
    let config = Config { replacement_blocks: 3, ..Config::default() };
    let mut lab: Lab = filled(ProgramOrder::Ascending, 5, &config);
    // A prefix of 2 costs 6 copies, a prefix of 5 costs 3, twice; the lower number goes first.
    write(&mut lab, (0..2).chain(8..13).chain(16..21));
    let cost = cost(&mut lab, |lab| write(lab, [24]));
    assert_eq!((cost.copies, merges(&lab), lab.events().gc_runs), (3, (0, 1, 0), 1));
    let replaced = lab.log_blocks().into_iter().map(|block| logical_block_in(&mut lab, block));
    assert_eq!(replaced.collect::<Vec<_>>(), [Some(0), Some(2), Some(3)]);
}

#[test]
fn without_replacement_blocks_every_page_written_again_gathers_its_block() {
    let config = Config { replacement_blocks: 0, ..Config::default() };
    let mut lab: Lab = filled(ProgramOrder::Ascending, 3, &config);
    let cost = cost(&mut lab, |lab| write(lab, [5, 20, 5]));
    assert_eq!((cost.page_programs, cost.copies, cost.erases() as u64), (3, 3 * (PAGES - 1), 3));
    assert_eq!(merges(&lab), (0, 0, 3));
}

#[test]
fn a_trimmed_logical_block_is_freed_without_a_copy_but_for_the_last() {
    let mut lab: Lab = filled(ProgramOrder::Ascending, 2, &Config::default());
    write(&mut lab, [3]);
    let free = free_blocks(&lab);
    // The note about the trimmed logical block precedes the erases, and takes a block.
    let cost = cost(&mut lab, |lab| submit(lab, Op::Trim, 0, PAGES as u32));
    assert_eq!((cost.programs(), cost.copies, cost.erases() as u64), (1, 0, 2));
    assert_eq!(free_blocks(&lab), free + 2 - 1);
    submit(&mut lab, Op::Trim, PAGES, PAGES as u32);
    lab.check();
    assert_eq!(blocks_in_use(&lab).len(), 1, "flash that was written does not look blank");
    submit(&mut lab, Op::Flush, 0, 0);
    let mut lab = mount_again(lab, 16, &Config::default());
    lab.check();
    assert_eq!(blocks_in_use(&lab).len(), 1, "the block of the note is left");
}

#[test]
fn a_block_left_by_a_torn_erase_takes_no_more_pages() {
    // With notes the trim is on flash before the erase; without them the torn block holds the newest remaining
    // copies.
    for (durable_trim, operation, left) in [(true, 2, vec![]), (false, 1, vec![4, 5])] {
        let config = Config { durable_trim, ..Config::default() };
        for order in [ProgramOrder::Any, ProgramOrder::Ascending] {
            let geometry = Geometry::single_die(10, PAGES as u32, 512).unwrap();
            let nand = flash(geometry, rules(order));
            let mut disk = mount(nand, 24, &config);
            write(&mut disk, (0..6).chain([8]));
            device::<Flash>(&mut disk).arm(CutPlan { operation, form: Form::TornErasePrefix });
            let trim = disk.submit(&Request::new(Op::Trim, 0, PAGES as u32), Payload::None);
            assert_eq!(trim, Err(Error::PowerLost));
            let mut disk = mount(restored(disk), 24, &config);
            let survivors = (0..8).filter(|&page| is_mapped(&mut disk, page));
            assert_eq!(survivors.collect::<Vec<_>>(), left, "durable_trim = {durable_trim}");
            // The device panics if a block is programmed after an interrupted erase.
            write(&mut disk, [6, 7, 0, 4]);
            disk.check();
        }
    }
}

/// Programs per written page for random single-page writes to one logical block.
fn random_waf(order: ProgramOrder, pages_per_block: u32) -> f64 {
    let geometry = Geometry::single_die(8, pages_per_block, 512).unwrap();
    let mut disk = mount(flash(geometry, rules(order)), pages_per_block, &Config::default());
    let mut random = Random::new(5);
    let mut write = |page: u64| {
        disk.submit(&Request::new(Op::Write, page, 1), Payload::None).unwrap();
    };
    (0..pages_per_block.into()).for_each(&mut write);
    let writes = 200_000;
    (0..writes).for_each(|_| write(random.below(pages_per_block.into())));
    let total = disk.ctx().matrix().total();
    (total.programs() - u64::from(pages_per_block)) as f64 / writes as f64
}

#[test]
fn random_writes_cost_what_the_first_repeat_says() {
    // Any order: a replacement block takes random places until the first repeat, after Q(b) draws on average
    // (Ramanujan's function; Knuth, The Art of Computer Programming 1, 1.2.11.3), and then costs b programs in all.
    for b in [16, 64] {
        let draws = f64::from(b);
        let (mut term, mut q) = (1.0, 0.0);
        for k in 1..=b {
            q += term;
            term *= 1.0 - f64::from(k) / draws;
        }
        let waf = random_waf(ProgramOrder::Any, b);
        assert!((waf / (draws / q) - 1.0).abs() < 0.01, "b = {b}: {waf} against {}", draws / q);
    }
}

#[test]
fn random_writes_on_ascending_chips_cost_what_the_first_descent_says() {
    // A replacement block takes random places while they ascend: k draws all ascend with the probability
    // C(b, k) / b^k, so it takes (1 + 1/b)^b - 1 on average; one more is gathered with b - 1 copies. A block with a
    // bare prefix is completed instead, but this is rarer than 1 / b^2.
    for b in [16, 64] {
        let pages = f64::from(b);
        let taken = (1.0 + 1.0 / pages).powi(b as i32) - 1.0;
        let expected = (taken + pages) / (taken + 1.0);
        let waf = random_waf(ProgramOrder::Ascending, b);
        assert!((waf / expected - 1.0).abs() < 0.01, "b = {b}: {waf} against {expected}");
    }
}

/// Blocks that are not marked bad.
fn good_blocks(disk: &mut Lab) -> usize {
    let counting = device::<Flash>(disk).inner().inner().inner().inner();
    (0..counting.geometry().blocks()).filter(|&block| !counting.is_bad(BlockId(block))).count()
}

#[test]
fn a_block_is_retired_whatever_was_programmed_there() {
    // The first program of this write gathers a block. The failing program is the host's, a copy to the
    // replacement block, or a copy to the gathered block.
    for (prepare, page, program) in [(vec![], 8, 1), (vec![9], 8, 1), (vec![8, 9], 8, 1), (vec![13], 9, 3)] {
        let geometry = Geometry::single_die(16, PAGES as u32, 512).unwrap();
        let nand = flash(geometry, Rules::default());
        let mut disk = mount(nand, 32, &Config::default());
        write(&mut disk, (0..32).chain(prepare.iter().copied()));
        device::<Flash>(&mut disk).inner_mut().fail_program(program);
        write(&mut disk, [page]);
        disk.check();
        assert_eq!((disk.events().retired_blocks, good_blocks(&mut disk)), (1, 15), "{prepare:?}");
        write(&mut disk, (0..3).flat_map(|_| 0..32));
        disk.check();
    }
}

#[test]
fn a_page_lost_in_a_merge_reads_as_an_error_for_good() {
    let errors = BitErrors { rber: 2e-3, growth: 0, ecc_bits: 12, codeword_bytes: 512 };
    let faults = Faults { bit_errors: Some(errors), seed: 1, ..Faults::default() };
    let geometry = Geometry::single_die(16, PAGES as u32, 512).unwrap();
    let nand = faulty_flash(geometry, Rules::default(), faults);
    let mut disk = mount(nand, 64, &Config::default());
    let write = |disk: &mut Lab, page: u64| {
        disk.submit(&Request::new(Op::Write, page, 1), Payload::Write(&[page as u8; 512])).unwrap();
    };
    (0..64).for_each(|page| write(&mut disk, page));
    let readable = |disk: &mut Lab, page: u64| {
        let mut bytes = [0; 512];
        match disk.submit(&Request::new(Op::Read, page, 1), Payload::Read(&mut bytes)) {
            Ok(_) => {
                assert_eq!(bytes, [page as u8; 512], "page {page}");
                true
            }
            Err(error) => {
                assert_eq!(error, Error::Unreadable { sector: page });
                false
            }
        }
    };
    let lost: Vec<u64> = (0..64).filter(|&page| !readable(&mut disk, page)).collect();
    assert!(lost[0] > 0);
    let over_all = disk.submit(&Request::new(Op::Read, 0, 64), Payload::Read(&mut [0; 64 * 512]));
    assert_eq!(over_all.unwrap_err(), Error::Unreadable { sector: lost[0] }, "a long request names the lost page");
    // The pages below the written one are gathered with it.
    (0..8).for_each(|block| [7, 6].into_iter().for_each(|place| write(&mut disk, 8 * block + place)));
    let moved = lost.iter().filter(|&&page| page % 8 < 6).count() as u64;
    assert_eq!(disk.events().lost_pages, moved);
    assert!(moved > 0 && moved < 48, "{moved} pages were lost");
    disk.check();
    for page in lost.iter().copied().filter(|page| page % 8 < 6) {
        assert!(!readable(&mut disk, page), "page {page} was lost");
    }
    write(&mut disk, lost[0]);
    let mut disk = mount_again(disk, 64, &Config::default());
    disk.check();
    for page in lost.iter().copied().filter(|page| page % 8 < 6).skip(1) {
        assert!(!readable(&mut disk, page), "page {page} was lost before the mount");
    }
}

#[test]
fn configurations_that_would_deadlock_are_refused_with_the_value() {
    let geometry = Geometry::single_die(5, 4, 512).unwrap();
    let most = |config: &Config| BlockMap::max_logical_pages(&geometry, &Rules::default(), config);
    assert_eq!(most(&Config::default()), Ok(4));
    assert_eq!(most(&Config { durable_trim: false, ..Config::default() }), Ok(8));
    assert_eq!(most(&Config { replacement_blocks: 0, ..Config::default() }), Ok(8));
    for reserve_blocks in [0, 3, u32::MAX] {
        let error = most(&Config { reserve_blocks, ..Config::default() }).unwrap_err().to_string();
        assert!(error.starts_with(&format!("ftl.block.reserve_blocks = {reserve_blocks} would deadlock")), "{error}");
    }
    let nand = flash(geometry, Rules::default());
    let error = mounted(nand, 5, &Config::default()).map(drop).unwrap_err();
    assert!(matches!(error, FtlError::Config(text) if text.starts_with("5 logical pages are more")));
}

//! Two lost programs on a die, an erase under way, and blocks that read differently after each power-up.

use super::{block, cut, look, program, two_dies, Page, FULL, LOST};
use crate::support::{geometry, oob, read, rules};
use nandlab_nand::backed::Backed;
use nandlab_nand::operation::Operation;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::{BlockId, Nand, NandError, Ppa, ProgramOrder, Rules};

#[test]
fn each_die_loses_its_last_two_programs_with_a_cache_register() {
    let mut device = PowerCut::new(two_dies());
    for at in [0, 1, 16, 17, 18, 2] {
        program(&mut device, at).unwrap();
    }
    device.arm(CutPlan { operation: 1, form: Form::LostTailTwo });
    assert_eq!(device.erase(BlockId(7)), Err(LOST));
    device.restore();
    let seen = [0, 1, 2, 16, 17, 18].map(|at| look(&mut device, at));
    assert_eq!(seen[..3], [Page::Holds(0), Page::Unreadable, Page::Unreadable]);
    assert_eq!(seen[3..], [Page::Holds(16), Page::Unreadable, Page::Unreadable]);
}

#[test]
fn an_erase_without_a_fence_may_be_under_way() {
    let cut = |act: &dyn Fn(&mut PowerCut<Backed>)| {
        let mut device = PowerCut::new(two_dies());
        [0, 16].into_iter().for_each(|at| program(&mut device, at).unwrap());
        device.erase(BlockId(0)).unwrap();
        act(&mut device);
        device.arm(CutPlan { operation: 1, form: Form::LostErase });
        assert_eq!(program(&mut device, 20), Err(LOST));
        device.restore();
        (block(&mut device, 0), look(&mut device, 16))
    };
    let other_die = |device: &mut PowerCut<Backed>| program(device, 17).unwrap();
    assert_eq!(cut(&other_die), ([Page::Unreadable; 4], Page::Holds(16)));
    let fence = |device: &mut PowerCut<Backed>| {
        device.ctx().fence();
    };
    assert_eq!(cut(&fence), ([Page::Erased; 4], Page::Holds(16)));
    let same_die = |device: &mut PowerCut<Backed>| program(device, 4).unwrap();
    assert_eq!(cut(&same_die), ([Page::Erased; 4], Page::Holds(16)));
}

#[test]
fn an_unstable_block_shows_old_pages_from_the_second_power_up_on() {
    let mut device = cut(Form::UnstableErase, Operation::Erase, |device| device.erase(BlockId(0)).map(drop));
    assert_eq!(block(&mut device, 0), [Page::Erased; 4]);
    let mut shown = Vec::new();
    for _ in 0..20 {
        device.restore();
        let pages = block(&mut device, 0);
        assert_eq!(pages, block(&mut device, 0), "the reads of one power-up are alike");
        assert!(pages.iter().zip(FULL).all(|(page, old)| [Page::Erased, old].contains(page)), "{pages:?}");
        shown.push(pages);
    }
    shown.sort_by_key(|pages| format!("{pages:?}"));
    shown.dedup();
    assert!(shown.len() > 5, "each power-up draws anew: {shown:?}");
    device.erase(BlockId(0)).unwrap();
    (0..4).for_each(|at| program(&mut device, at).unwrap());
    assert_eq!(block(device.restore(), 0), FULL);
}

#[test]
#[should_panic(expected = "program of page 0: the erase of block 0 was cut by a power loss, erase it again first")]
fn an_unstable_block_takes_no_program_before_an_erase() {
    let mut device = cut(Form::UnstableErase, Operation::Erase, |device| device.erase(BlockId(0)).map(drop));
    let _ = program(&mut device, 0);
}

/// A chip with unstable pages, after a cut in `form` of what `act` does behind page 5.
fn on_unstable(form: Form, act: impl Fn(&mut PowerCut<Backed>) -> Result<(), NandError>) -> PowerCut<Backed> {
    let rules = Rules { unstable_pages: true, ..rules(ProgramOrder::Ascending) };
    let mut device = PowerCut::new(Backed::ram(geometry(8, 4), rules));
    (0..6).for_each(|at| program(&mut device, at).unwrap());
    device.ctx().fence();
    device.arm(CutPlan { operation: 1, form });
    assert_eq!(act(&mut device), Err(LOST));
    device.restore();
    device
}

#[test]
fn an_unstable_page_reads_well_at_about_half_of_the_reads() {
    let unstable = || on_unstable(Form::UnstablePage, |device| program(device, 6));
    let (mut device, mut again) = (unstable(), unstable());
    let mut good = 0;
    for _ in 0..1_000 {
        assert!(device.read_spare(Ppa(6)).unwrap().is_some(), "the spare area is readable");
        let found = read(&mut device, 6);
        assert_eq!(found, read(&mut again, 6), "the same reads answer the same");
        match found {
            Ok((_, fill)) => {
                assert_eq!(fill, 6);
                good += 1;
            }
            Err(error) => assert_eq!(error, NandError::Uncorrectable(Ppa(6))),
        }
    }
    // Four standard deviations of 1,000 fair draws.
    assert!((437..=563).contains(&good), "{good} of 1,000 reads");
    assert!(!device.is_settled(Ppa(6)) && !device.is_known_erased());
    device.restore();
    let later: Vec<bool> = (0..20).map(|_| read(&mut device, 6).is_ok()).collect();
    assert!(later.contains(&true) && later.contains(&false), "it stays so after a power-up");
    device.erase(BlockId(1)).unwrap();
    (4..8).for_each(|at| program(&mut device, at).unwrap());
    (0..20).for_each(|_| assert_eq!(look(&mut device, 6), Page::Holds(6), "the erase ends it"));
}

#[test]
fn an_unstable_copy_is_copied_in_turn_or_refused() {
    let copied = |device: &mut PowerCut<Backed>| device.copy(Ppa(1), Ppa(6), oob(1, 9)).map(drop);
    let mut device = on_unstable(Form::UnstablePage, copied);
    let answers: Vec<bool> = (8..28).map(|to| device.copy(Ppa(6), Ppa(to), oob(1, 9)).is_ok()).collect();
    assert!(answers.contains(&true) && answers.contains(&false), "{answers:?}");
    assert_eq!(look(&mut device, 1), Page::Holds(1));
}

#[test]
fn repeated_reads_are_counted_and_find_an_unstable_page() {
    let mut device = on_unstable(Form::UnstablePage, |device| program(device, 6));
    device.ctx().read_again(20);
    let before = device.ctx().matrix().total().page_reads;
    (0..100).for_each(|_| assert!(read(&mut device, 6).is_ok()));
    let reads = device.ctx().matrix().total().page_reads - before;
    // Two reads a try are expected.
    assert!((150..=260).contains(&reads), "{reads}");
    let mut torn = on_unstable(Form::TornPage, |device| program(device, 6));
    torn.ctx().read_again(20);
    let before = torn.ctx().matrix().total().page_reads;
    assert!(read(&mut torn, 6).is_err());
    assert_eq!(torn.ctx().matrix().total().page_reads - before, 21);
}

#[test]
fn a_chip_without_unstable_pages_knows_no_such_form() {
    for (form, rests) in [(Form::Clean, Page::Erased), (Form::UnstablePage, Page::Erased), (Form::Done, Page::Holds(6))]
    {
        let mut device = cut(form, Operation::Program, |device| program(device, 6));
        assert_eq!(look(&mut device, 6), rests, "{form:?}");
    }
    assert_eq!(look(&mut on_unstable(Form::TornPage, |device| program(device, 6)), 6), Page::NoData);
}

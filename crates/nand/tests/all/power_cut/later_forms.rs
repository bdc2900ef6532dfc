//! Two lost programs on a die, an erase under way, and blocks that read differently after each power-up.

use super::{block, cut, look, program, two_dies, Page, FULL, LOST};
use nandlab_nand::backed::Backed;
use nandlab_nand::operation::Operation;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::{BlockId, Nand};

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

//! A page with a cut program reads as erased, and takes no program before the erase of its block.

use crate::support::{geometry, oob, program, read, rules};
use nandlab_nand::backed::Backed;
use nandlab_nand::operation::Operation;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::{BlockId, Nand, NandError, Ppa, ProgramOrder};

type Device = PowerCut<Backed>;

const LOST: NandError = NandError::PowerLost;

/// Pages 0 to 5 are programmed, and the program of page 6 by `act` is cut.
fn cut(order: ProgramOrder, act: impl Fn(&mut Device) -> Result<(), NandError>) -> Device {
    let mut device = PowerCut::new(Backed::ram(geometry(8, 4), rules(order)));
    (0..6).for_each(|at| program(&mut device, at).unwrap());
    device.arm(CutPlan { operation: 1, form: Form::WeakPage });
    assert_eq!(act(&mut device), Err(LOST));
    device.restore();
    assert_eq!(device.read_spare(Ppa(6)), Ok(None), "the page reads as erased");
    device
}

fn programmed(order: ProgramOrder) -> Device {
    cut(order, |device| program(device, 6))
}

#[test]
#[should_panic(expected = "program of page 6: its last program was cut by a power loss, erase block 1 first")]
fn a_weak_page_takes_no_program() {
    let _ = program(&mut programmed(ProgramOrder::Ascending), 6);
}

#[test]
#[should_panic(expected = "program of page 6: its last program was cut by a power loss, erase block 1 first")]
fn a_weak_page_takes_no_copy() {
    let copy = |device: &mut Device| device.copy(Ppa(1), Ppa(6), oob(1, 9)).map(drop);
    let mut device = cut(ProgramOrder::Ascending, copy);
    let _ = copy(&mut device);
}

#[test]
#[should_panic(expected = "read of page 6")]
fn a_weak_page_is_read_no_more_than_an_erased_one() {
    let _ = read(&mut programmed(ProgramOrder::Ascending), 6);
}

/// The next page is no way out on a chip without gaps.
#[test]
#[should_panic(expected = "program of page 3 in block 1: this chip programs without gaps, page 2 is next")]
fn a_weak_page_ends_its_block_on_a_chip_without_gaps() {
    let _ = program(&mut programmed(ProgramOrder::AscendingDense), 7);
}

#[test]
fn an_erase_makes_a_weak_page_whole() {
    let mut device = programmed(ProgramOrder::AscendingDense);
    device.erase(BlockId(1)).unwrap();
    (4..8).for_each(|at| program(&mut device, at).unwrap());
    assert!((4..8).all(|at| read(&mut device, at).is_ok()));
}

#[test]
fn a_blank_device_whose_first_program_was_cut_does_not_know_that_it_is_blank() {
    for form in Form::ALL {
        let mut device = PowerCut::new(Backed::ram(geometry(8, 4), rules(ProgramOrder::Ascending)));
        assert!(device.is_known_erased());
        device.arm(CutPlan { operation: 1, form });
        assert_eq!(program(&mut device, 0), Err(LOST));
        device.restore();
        // A chip without pairs and without unstable pages.
        let is_clean = matches!(form, Form::Clean | Form::PairedPage | Form::UnstablePage);
        let loses_others = matches!(form, Form::LostTail | Form::LostTailTwo | Form::LostErase);
        let is_blank = is_clean || loses_others || !form.applies_to(Operation::Program);
        assert_eq!(device.is_known_erased(), is_blank, "{form}");
        device.erase(BlockId(0)).unwrap();
        assert!(device.is_known_erased(), "{form}: the erase makes the page whole");
    }
}
